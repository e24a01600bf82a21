"""``discreet fit`` with the local models: clients are played, and both guarantees are printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.privacy import Basis, Unit
from discreet.release.release import Release
from tests.support.command import Run

FIT = ("fit", "texts.jsonl", "--text", "body", "--vocabulary", "words.txt", "-k", 2, "--sweeps", 4, "-o", "new")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    kinds = ("rain wind storm cloud rain", "piano violin music concert piano")
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"body": kinds[i % 2]}) + "\n" for i in range(40)))
    (tmp_path / "words.txt").write_text(
        "\n".join(["cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind"])
    )
    return tmp_path


@pytest.mark.parametrize("published", [(), ("--as-published",)])
@pytest.mark.parametrize("method", ["local", "online-local"])
def test_the_local_models(here: Path, run: Run, method: str, published: tuple[str, ...]) -> None:
    ran = run(*FIT, "--method", method, "--epsilon-bit", 1.5, "--report-words", 3, *published)
    assert ran.code == 0, ran.err
    line = next(text for text in ran.out.splitlines() if text.startswith("guarantee: "))
    whole = "for a whole report replaced by another it is ε = 9 (6 bits of ε = 1.5 each)"
    assert line.startswith(f"guarantee: ε = 2.72878, δ = 0 for one bit (replace); {whole}; seen by")  # not at the end
    assert "40 documents" not in ran.out + ran.err
    release = Release.load(here / "new")
    assert (release.method, release.guarantee.unit, release.guarantee.basis) == (method, Unit.BIT, Basis.PROVEN)
    assert release.guarantee.epsilon == pytest.approx(2.7288, abs=1e-4)  # ln(1 + 3/4 (e³ − 1))
    assert release.parameters["report_words"] == 3


def test_epsilon_bit_alone_means_local(here: Path, run: Run) -> None:
    assert run(*FIT, "--epsilon-bit", 2).code == 0
    release = Release.load(here / "new")
    assert (release.method, release.guarantee.epsilon) == ("local", pytest.approx(2.0))


@pytest.mark.parametrize(("method", "more"), [("online", ()), ("online-local", ("--epsilon-bit", 2))])
def test_the_size_of_a_batch(here: Path, run: Run, method: str, more: tuple[object, ...]) -> None:
    ran = run(*FIT, "--method", method, "--batch", 15, *more)
    assert ran.code == 0, ran.err
    assert Release.load(here / "new").parameters["batch_size"] == 15


def test_a_seed_promises_nothing(here: Path, run: Run) -> None:
    ran = run(*FIT, "--epsilon-bit", 2, "--seed", 1)
    assert ran.code == 0, ran.err
    assert "guarantee: none: seeded" in ran.out


WRONG = {
    "no epsilon": (("--method", "local"), "'local' needs --epsilon-bit, the epsilon of one word of a report"),
    "an epsilon of a run": (
        ("--method", "local", "--epsilon", 1, "--epsilon-bit", 1),
        "local takes no --epsilon .*Give --epsilon-bit, the epsilon of one word of a report",
    ),
    "a budget": (("--epsilon-bit", 1, "--budget", "b"), "local takes no --budget: each client spends on its own"),
    "a delta": (("--epsilon-bit", 1, "--delta", 1e-6), "local takes no --delta"),
    "no noise": (("--epsilon-bit", "0"), "--epsilon-bit must be a positive number; found 0"),
    "only noise": (("--epsilon-bit", "1e-10"), "--epsilon-bit must be at least 1e-09.*; found 1e-10"),
    "no words": (("--epsilon-bit", 1, "--report-words", 0), "--report-words"),
    "a batch of local": (
        ("--epsilon-bit", 1, "--batch", 9),
        "local takes no --batch .*online or online-local",
    ),
    "a stream with epsilon": (("--method", "online", "--epsilon", 1), "online takes no epsilon"),
    "epsilon-bit of lda": (("--method", "lda", "--epsilon-bit", 1), "lda takes no --epsilon-bit"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_requests_are_one_line(here: Path, run: Run, name: str) -> None:
    options, message = WRONG[name]
    ran = run(*FIT, *options)
    assert ran.code == 2
    assert not (here / "new").exists()
    assert re.search(message, ran.err), ran.err


def test_words_of_the_private_text_are_refused(here: Path, run: Run) -> None:
    ran = run("fit", "texts.jsonl", "--text", "body", "--epsilon-bit", 1, "-o", "new")
    assert ran.code == 2
    assert "Name a public word list with --vocabulary" in ran.err
