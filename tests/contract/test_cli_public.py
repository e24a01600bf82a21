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
