"""``--public`` and ``--method adapted``: public text or a model of it beside private text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet import LDA, Release
from discreet.corpus import Corpus

SUBJECTS = ("rain wind storm cloud snow frost", "piano violin cello flute harp drum")


def lines(n: int, seed: int, more: str = "") -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice((SUBJECTS[i % 2] + more).split(), 12)) for i in range(n)]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "private.txt").write_text("\n".join(lines(400, 1, " comet")))
    (tmp_path / "public.txt").write_text("\n".join(lines(200, 2)))
    LDA(2, n_sweeps=30, random_state=0).fit(Corpus.from_texts(lines(200, 2))).release().save(tmp_path / "public-model")
    return tmp_path


def test_public_text_and_a_model_of_it(run, files):
    for public, more in (("public.txt", ("--topics", 2)), ("public-model", ())):
        model = files / f"of-{public}"
        done = run(
            *("fit", files / "private.txt", "--method", "adapted", "--public", files / public, *more),
            *("--epsilon", 8, "-q", "-o", model),
        )
        assert done.code == 0, done.err
        assert "given as public= is public" in done.out
        release = Release.load(model)
        assert (release.method, release.n_topics) == ("adapted", 2)
        assert set(release.vocabulary) == set(" ".join(SUBJECTS).split())
        assert "public" not in release.parameters


def test_shares_and_unknown_words_are_shown(run, files, monkeypatch):
    monkeypatch.setattr("discreet.cli.fit.MOST_TOPICS", 1)
    words = files / "words.txt"
    words.write_text("\n".join([*" ".join(SUBJECTS).split(), "comet"]))
    fit = (
        "fit",
        files / "private.txt",
        "--vocabulary",
        words,
        "--method",
        "adapted",
        "--public",
        files / "public-model",
    )
    done = run(*fit, "--epsilon", 20, "-o", files / "model")
    assert done.code == 0, done.err
    assert done.out.count("±") == 1
    assert "1 more topics: discreet topics" in done.err
    shown = run("topics", files / "model")
    assert shown.out.count("±") == 2
    assert "comet" in shown.err
    found = json.loads(run("topics", files / "model", "--json").out)
    assert sum(found["shares"]) == pytest.approx(1)
    assert found["present"] == [True, True]
    assert found["unknown_words"][0][0] == "comet"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "adapted", "--epsilon", 1), "needs --public"),
        (("--method", "adapted", "--public", "public.txt"), "needs --epsilon"),
        (("--public", "public.txt"), "--public is for private models"),
        (("--method", "adapted", "--epsilon", 1, "--public", "private.txt"), "private documents themselves"),
        (("--method", "adapted", "--epsilon", 1, "--public", "copy.txt"), "--public holds the documents of this fit"),
        (("--method", "adapted", "--epsilon", 1, "--public", "-"), "cannot be standard input"),
        (("--method", "adapted", "--epsilon", 1, "--public", "nowhere"), "nowhere"),
        (("--method", "adapted", "--epsilon", 1, "--public", "public-model", "--topics", 7), "has 2 topics"),
    ],
)
def test_what_cannot_work_is_one_line(run, files, monkeypatch, options, message):
    monkeypatch.chdir(files)
    (files / "copy.txt").write_bytes((files / "private.txt").read_bytes())
    done = run("fit", "private.txt", *options, "-q", "-o", files / "model")
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (files / "model").exists()
