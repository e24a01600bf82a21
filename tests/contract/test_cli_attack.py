"""``discreet attack``: what it prints and writes, and one clear line for whatever is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.command import Run

FEW = ("--shadows", 8, "--topics", 2, "--processes", 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    words = [f"{a}{b}at" for a in "bcdfghjk" for b in "aeiou"]
    texts = [" ".join(words[i] for i in rng.integers(0, 40, 30)) for _ in range(30)]
    rows = [
        {"body": text, "side": ("east", "west")[i % 2], "rare": "once" if i == 7 else "often"}
        for i, text in enumerate(texts)
    ]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_an_attack_prints_rates_and_draws_them(here: Path, run: Run) -> None:
    done = run("attack", "lda", "texts.jsonl", "--text", "body", *FEW, "--parameter", "n_sweeps=3", "-o", "roc.svg")
    assert done.code == 0, done.err
    assert "LiRA online" in done.out
    assert "cost: 8 of 9 models to train" in done.err
    assert "9 targets with 8 shadows each" in done.err
    assert "less than one document" in done.err
    assert ElementTree.parse(here / "roc.svg").getroot().tag.endswith("svg")
    again = run("attack", "lda", "texts.jsonl", "--text", "body", *FEW, "--parameter", "n_sweeps=3")
    assert "cost: 0 of 9" in again.err
    assert again.out == done.out


def test_a_private_method_has_its_bound_beside_it(here: Path, run: Run) -> None:
    options = ("--epsilon", 1, "--delta", 1e-3, "--parameter", "n_rounds=2", "--work", "kept", "--json", "-q")
    done = run("attack", "private", "texts.jsonl", "--text", "body", *FEW, *options)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["claim"] == {"epsilon": 1.0, "delta": 1e-3}
    first = found["attacks"]["LiRA online"]["tpr"][0]
    assert math.isclose(first["bound"], math.e * 1e-3 + 1e-3)
    assert first["clopper_pearson"][0] <= first["tpr"] <= first["clopper_pearson"][1]
    assert len(list((here / "kept").glob("*/model-*.npz"))) == 9
    assert done.err == ""


def test_methods_that_compare_collections(here: Path, run: Run) -> None:
    """The bound of PrivateCrossLDA is that of documents; the ε of HybridCrossLBLA is of a word."""
    common = ("texts.jsonl", "--text", "body", "--collection", "side", *FEW, "--json", "-q")
    private = run("attack", "private-cross", *common, "--epsilon", 1, "--parameter", "n_rounds=2")
    assert private.code == 0, private.err
    assert json.loads(private.out)["claim"]["epsilon"] == 1.0
    word = run("attack", "hybrid-cross", *common, "--epsilon", 8, "--parameter", "n_sweeps=2")
    assert word.code == 0, word.err
    assert json.loads(word.out)["claim"] is None


def test_words_of_the_target_and_scikit_learn(here: Path, run: Run) -> None:
    options = ("--words-from", "target", "--max-words", 30, "--seed", 3, "--json")
    done = run("attack", "scikit-learn", "texts.jsonl", "--text", "body", *FEW, *options)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["n_targets"] == 1
    assert found["claim"] is None


def test_published_forms_have_no_bound(here: Path, run: Run) -> None:
    """A word's ε says nothing that could bound the recognition of a document."""
    options = ("--as-published", "--epsilon", 1, "--parameter", "n_sweeps=2", "--json")
    done = run("attack", "laplace", "texts.jsonl", "--text", "body", *FEW, *options)
    assert done.code == 0, done.err
    assert json.loads(done.out)["claim"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("attack", "ldaa", "texts.jsonl"), "there is no method 'ldaa'"),
        (("attack", "private", "texts.jsonl"), "needs --epsilon"),
        (("attack", "lda", "texts.jsonl", "--epsilon", 1), "epsilon"),
        (("attack", "scikit-learn", "texts.jsonl", "--epsilon", 1), "has no privacy"),
        (("attack", "cross-lda", "texts.jsonl"), "needs --collection"),
        (("attack", "cross-lda", "dataset:nips"), "has none"),
        (("attack", "lda", "texts.jsonl", "--collection", "side"), "compares no collections"),
        (("attack", "cross-lda", "texts.jsonl", "--text", "body", "--collection", "rare"), "'once'"),
        (("attack", "lda", "texts.jsonl", "--parameter", "n_sweeps"), "NAME=VALUE"),
        (("attack", "lda", "texts.jsonl", "--parameter", "sweeeps=3"), "cannot be made"),
        (("attack", "lda", "texts.jsonl", "--words-from", "me"), "public or target"),
        (("attack", "lda", "texts.jsonl", "-o", "roc.png"), "must end in .svg"),
        (("attack", "lda", "texts.jsonl", "-o", "nowhere/roc.svg"), "no folder"),
        (("attack", "lda", "texts.jsonl", "--work", "texts.jsonl"), "is not a folder"),
        (("attack", "lda", "absent.jsonl"), "absent.jsonl"),
        (("attack", "lda", "texts.jsonl", "--shadows", 2), "shadows"),
    ],
)
def test_bad_input_is_one_line(here: Path, run: Run, arguments: tuple[object, ...], said: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (here / "cache").exists()


def test_a_figure_is_not_replaced_unasked(here: Path, run: Run) -> None:
    (here / "roc.svg").write_text("mine")
    common = ("attack", "lda", "texts.jsonl", "--text", "body", *FEW, "--parameter", "n_sweeps=2", "-o", "roc.svg")
    assert run(*common).code == 2
    assert (here / "roc.svg").read_text() == "mine"
    assert run(*common, "--overwrite").code == 0
    assert (here / "roc.svg").read_text().startswith("<svg")
