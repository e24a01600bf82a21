"""``discreet audit``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from discreet.cli import main

SMALL = ["audit", "--method", "local", "--epsilon", "1", "--runs", "40", "--canaries", "50", "--seed", "1", "--quiet"]


def test_it_prints_claim_bound_confidence_and_verdict(capsys):
    assert main(SMALL) == 0
    printed = capsys.readouterr().out
    for part in ("method       local, unit bit", "claimed      ε = 1 at δ = 0", "confidence   0.999", "seed 1"):
        assert part in printed
    assert printed.rstrip().endswith("verdict      not refuted, which proves nothing")


def test_json_and_picture(capsys, tmp_path):
    picture = tmp_path / "audit.svg"
    options = ["--json", "-o", str(picture), "--failure-probability", "0.01", "--unit", "report", "--delta", "1e-6"]
    assert main([*SMALL, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == "report"
    assert found["confidence"] == pytest.approx(0.99)
    assert found["claimed"] == pytest.approx(4.0, rel=1e-6)
    assert 0 < found["lower_bound"] < 4
    assert found["seed"] == 1
    drawn = "".join(ET.parse(picture).getroot().itertext())
    assert "measured" in drawn
    assert "allowed by" in drawn


def test_a_seed_repeats_an_audit(capsys):
    outputs = []
    for _ in range(2):
        main(SMALL)
        outputs.append(capsys.readouterr().out)
    main([*SMALL[:-2], "2", "--quiet"])
    assert outputs[0] == outputs[1] != capsys.readouterr().out


def test_black_box(capsys):
    assert main(["audit", "--black-box", "--runs", "2", "--canaries", "40", "--seed", "1", "-q"]) == 0
    assert "seen: the topics" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "lda"], "there is no audit of 'lda'"),
        (["--method", "spectral", "--canaries", "3"], "one canary in a run; found 3"),
        (["--epsilon", "0"], "epsilon must be positive"),
        (["--delta", "2"], "delta must lie between 0 and 1"),
        (["--unit", "word"], "protects document or user; found unit 'word'"),
        (["--runs", "0"], "at least 1 runs; found 0"),
        (["--canaries", "0"], "at least one canary"),
        (["--canaries", "1", "--runs", "5"], "at least 20 runs; found 5"),
        (["--failure-probability", "1"], "failure-probability must lie between 0 and 1"),
        (["--seed", "-1"], "must not be negative"),
        (["-o", "audit.png"], "ends in .svg"),
        (["-o", "not/there/audit.svg"], "there is no folder"),
    ],
)
def test_bad_input_is_one_line(options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "--quiet", *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == 1
    assert message.replace("-", "") in printed.err.replace("-", "").replace("_", "")
    assert list(tmp_path.iterdir()) == []
