"""``discreet fit --epsilon --public``: public text helps a private model at no cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.release.release import Release
from tests.support.command import Run

KINDS = ("rain wind storm cloud", "piano violin music concert")


def write(path: Path, n: int, extra: str) -> None:
    path.write_text("".join(json.dumps({"text": f"{KINDS[i % 2]} {extra}{i % 3}"}) + "\n" for i in range(n)))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.jsonl", 60, "mine")
    write(tmp_path / "public.jsonl", 40, "other")
    (tmp_path / "words.txt").write_text("\n".join(" ".join(KINDS).split()))
    return tmp_path


FIT = (
    "fit",
    "mine.jsonl",
    "--method",
    "private",
    "-k",
    2,
    "--epsilon",
    50,
    "--vocabulary",
    "words.txt",
    "--quiet",
    "-o",
)


@pytest.mark.filterwarnings("ignore:these topics are unlikely")
def test_public_text_and_a_model_of_it(here: Path, run: Run) -> None:
    """The model of public text may have another number of topics."""
    assert run(*FIT, "alone").code == 0
    assert run(*FIT, "helped", "--public", "public.jsonl").code == 0
    assert run("fit", "public.jsonl", "-k", 3, "--vocabulary", "words.txt", "--quiet", "-o", "public-model").code == 0
    assert run(*FIT, "by-model", "--public", "public-model").code == 0
    alone, *others = (Release.load(name).guarantee for name in ("alone", "helped", "by-model"))
    for guarantee, what in zip(others, ("text", "model"), strict=True):
        assert guarantee.epsilon == alone.epsilon
        assert any(f"the {what} given as public= is public" in reason for reason in guarantee.reasons)
    assert not any("public=" in reason for reason in alone.reasons)


def test_the_private_text_is_no_public_text(here: Path, run: Run) -> None:
    ran = run(*FIT, "model", "--public", "mine.jsonl")
    assert ran.code == 2
    assert not (here / "model").exists()


def test_lda_takes_no_public_text(here: Path, run: Run) -> None:
    ran = run("fit", "mine.jsonl", "-o", "model", "--public", "public.jsonl")
    assert ran.code == 2
    assert "--public" in ran.err


@pytest.mark.filterwarnings("ignore:these topics are unlikely")
def test_a_column_of_public_text_and_its_topics_beside_the_model(here: Path, run: Run) -> None:
    rows = (json.dumps({"title": "sun", "body": KINDS[i % 2]}) for i in range(40))
    (here / "columns.jsonl").write_text("\n".join(rows))
    public = ("--public", "columns.jsonl")
    assert run(*FIT, "unnamed", *public).code == 2
    assert run(*FIT, "model", *public, "--public-text", "body").code == 0
    ran = run("evaluate", "model", "mine.jsonl", *public, "--public-text", "body", "--json")
    found = json.loads(ran.out)
    assert found["public_perplexity"] < found["unigram_perplexity"]
    assert "public_perplexity" not in json.loads(run("evaluate", "model", "mine.jsonl", "--json").out)


@pytest.mark.parametrize("options", [(), ("--public", "english"), ("--public", "model")])
def test_a_public_column_needs_public_text(here: Path, run: Run, options: tuple[str, ...]) -> None:
    assert run("fit", "public.jsonl", "-k", 2, "--quiet", "-o", "model").code == 0
    ran = run(*FIT, "other", *options, "--public-text", "body")
    assert ran.code == 2
    assert "--public-text" in ran.err
    assert not (here / "other").exists()
