"""``discreet plan``, and what ``discreet fit`` says of it before it charges."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command import Run

PLAN = ("plan", "--documents", 3400, "--words-per-document", 160, "--epsilon", 4)
FEW = ("rain", "clouds", "storm", "wind", "piano", "concert", "violin", "opera")


def test_a_plan_is_printed(run: Run):
    done = run(*PLAN)
    assert done.code == 0
    assert "No private document was read" in done.out
    assert "Other ε:" in done.out
    assert done.err == ""


def test_json_and_picture(run: Run, tmp_path: Path):
    done = run(*PLAN, "--json", "-o", tmp_path / "plan.svg", "--users", 1000, "--words", 500, "--public", "near")
    found = json.loads(done.out)
    assert found["facts"]["users"] is True
    assert found["facts"]["n_units"] == 1000
    assert found["facts"]["n_words"] == 500
    assert found["facts"]["public"] == "near"
    ElementTree.fromstring((tmp_path / "plan.svg").read_text("utf-8"))


def test_topics_are_chosen(run: Run):
    done = run(*PLAN, "-k", "auto", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["facts"]["n_topics"] == found["best_topics"] == 10


def test_advice_names_options(run: Run):
    done = run(*PLAN, "--epsilon", 0.001)
    assert done.code == 0, done.err
    assert "For useful topics: --epsilon " in done.out
    assert "epsilon=" not in done.out


def test_a_share_is_given_or_chosen(run: Run):
    assert json.loads(run(*PLAN, "--words-share", 0.4, "--json").out)["expected"]["share"] == 0.4
    assert 0.03 <= json.loads(run(*PLAN, "--json", "--topics", 10).out)["expected"]["share"] <= 0.2


def test_public_text_is_read_only_when_named(run: Run, tmp_path: Path):
    text = tmp_path / "public.txt"
    text.write_text("\n".join(f"{FEW[i % 8]} {FEW[i % 5]} {FEW[i % 3]} sun" for i in range(50)), "utf-8")
    done = run("plan", "--documents", 5000, "--like", text, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["expected"]["covered"]["expected"] == pytest.approx(1, abs=0.01)  # nine words, all of them selected
    assert found["facts"]["words_per_unit"] == pytest.approx(8)  # four that are no stop words: half of the words
    as_large = json.loads(run("plan", "--like", text, "--json").out)
    assert as_large["facts"]["n_units"] == 50
    assert run("plan", "--documents", 5000, "--like", tmp_path / "none.txt").code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--documents"),
        (("--documents", 100), "--words-per-document"),
        ((*PLAN[1:], "--epsilon", -1), "--epsilon must"),
        ((*PLAN[1:], "--topics", 0), "--topics must"),
        ((*PLAN[1:], "--topics", "many"), "or auto"),
        ((*PLAN[1:], "--documents", 0), "--documents must"),
        ((*PLAN[1:], "--words", 1), "--words must"),
        ((*PLAN[1:], "--words-per-document", 0), "--words-per-document must"),
        ((*PLAN[1:], "--delta", 2), "--delta must"),
        ((*PLAN[1:], "--words-share", 2), "--words-share must"),
        ((*PLAN[1:], "--public", "elsewhere"), "near"),
        ((*PLAN[1:], "--output", "plan.png"), ".svg"),
    ],
)
def test_bad_input_is_one_line(run: Run, options, said):
    done = run("plan", *options)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


# --- fit -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    rows = ({"text": " ".join(FEW[:4] if i % 2 else FEW[4:])} for i in range(200))
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    (tmp_path / "words.txt").write_text("\n".join([*FEW, *(f"none{chr(97 + i)}" for i in range(22))]), "utf-8")
    return path


def fit(texts: Path, *options: object) -> tuple[str, ...]:
    words, model = texts.parent / "words.txt", texts.parent / "model"
    arguments = ("fit", texts, "--vocabulary", words, "--epsilon", 0.05, "--units", 200, "-k", 5, "-o", model, *options)
    return tuple(str(one) for one in arguments)


def test_a_fit_says_what_to_expect_and_goes_on(run: Run, texts: Path):
    """Without a terminal it asks nothing."""
    done = run(*fit(texts))
    assert done.code == 0
    assert "plan: Expect nothing of topics" in done.err
    assert (texts.parent / "model").exists()
    assert "plan:" not in run(*fit(texts, "--overwrite", "--seed", 1, "--epsilon", 1e3)[:-2], "-q", "--epsilon", 90).err


def test_a_warning_comes_before_the_charge(run: Run, texts: Path):
    budget = texts.parent / "texts.budget"
    assert run("budget", budget, "--create", "--epsilon", 1, "--delta", 1e-6).code == 0
    done = run(*fit(texts, "--budget", budget))
    assert done.code == 0, done.err
    warned = done.err.index("warning: nothing is to be expected of these topics, and the budget will be charged")
    assert warned < done.err.index("has been charged")
    assert "warning: nothing is to be expected" in run(*fit(texts, "--overwrite", "-q")).err
    assert "nothing is to be expected" not in run(*fit(texts, "--overwrite", "--yes")).err


def test_a_length_is_said_or_guessed(run: Run, texts: Path):
    assert "(For documents of about 180 words, as abstracts have;" in run(*fit(texts, "-k", 1)).err
    told = run(*fit(texts, "-k", 1, "--overwrite", "--words-per-document", 20)).err
    assert "(For documents of about 20 words; from public facts" in told
    done = run(*fit(texts, "-k", 1, "--overwrite", "--words-per-document", 0))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--words-per-document must be above 0" in done.err
    arguments = [one for one in fit(texts, "--words-per-document", 20) if one not in ("--units", "200")]
    assert "needs --units" in run(*arguments).err


def test_a_fit_without_units_says_nothing(run: Run, texts: Path):
    arguments = [one for one in fit(texts) if one not in ("--units", "200")]
    assert "plan:" not in run(*arguments).err


@pytest.mark.parametrize(("answer", "trained"), [("n", False), ("\n", False), ("y", True)])
def test_a_terminal_is_asked_before_anything_is_charged(texts: Path, answer: str, trained: bool):
    budget = texts.parent / "texts.budget"
    command = [sys.executable, "-m", "discreet"]
    subprocess.run([*command, "budget", str(budget), "--create", "--epsilon", "1", "--delta", "1e-6"], check=True)
    before = budget.read_bytes()
    code, said = at_a_terminal([*command, *fit(texts, "--budget", budget)], answer)
    assert "Train all the same?" in said
    assert (texts.parent / "model").exists() is trained
    assert (budget.read_bytes() != before) is trained
    assert code == (0 if trained else 1)
    assert ("nothing was charged" in said) is not trained


def test_yes_is_not_asked(texts: Path):
    code, said = at_a_terminal([sys.executable, "-m", "discreet", *fit(texts, "--yes")], "")
    assert code == 0
    assert "Train all the same?" not in said


def at_a_terminal(command: list[str], answer: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        said, sent = b"", False
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            said += part
            if b"[y/N]" in said and not sent:
                os.write(ours, answer.encode() + b"\n")
                sent = True
        process.wait(timeout=120)
    os.close(ours)
    return process.returncode, said.decode()


def test_as_many_topics_as_the_noise_can_carry(run: Run, texts: Path):
    few = run(*fit(texts, "--topics", "auto", "--json", "-q"))
    assert few.code == 0, few.err
    assert json.loads(few.out)["n_topics"] == 1
    many = run(*fit(texts, "--topics", "auto", "--json", "--overwrite", "--epsilon", 30, "--seed", 1))
    assert json.loads(many.out)["n_topics"] >= 5
    assert "as many as the noise can carry" in many.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--topics", "many"), "--topics must be a whole number from 1 to 65,535, or auto"),
        (("--topics", "0"), "--topics must be a whole number from 1 to 65,535, or auto"),
        (("--topics", "auto", "--method", "variational"), "--topics auto is for --method private"),
        (("--topics", "auto", "--delta", 0.01), "--delta must be far below one over --units"),
        (("--words-share", 0.2), "--words-share is for words that are selected privately"),
    ],
)
def test_bad_options_of_a_fit_are_refused_free(run: Run, texts: Path, options, said):
    done = run(*fit(texts, *options))
    assert done.code == 2
    assert said in done.err
    assert not (texts.parent / "model").exists()


def test_auto_needs_the_number_of_units(run: Run, texts: Path):
    arguments = [one for one in fit(texts, "--topics", "auto") if one not in ("--units", "200")]
    done = run(*arguments)
    assert done.code == 2
    assert "Give --units" in done.err


def test_the_share_for_words_can_be_given(run: Run, texts: Path):
    arguments = ["fit", texts, "--epsilon", 30, "-k", 2, "--seed", 3, "-o", texts.parent / "model"]
    assert run(*arguments, "--words-share", 2).code == 2
    done = run(*arguments, "--words-share", 0.5, "--json", "-q")
    assert done.code == 0, done.err
    assert json.loads(done.out)["n_words"] == len(FEW)


def test_public_text_chooses_the_method(run: Run, texts: Path):
    public = texts.parent / "public.txt"
    public.write_text("\n".join(" ".join(FEW[i % 3 + 1 : i % 3 + 5]) for i in range(60)), "utf-8")
    arguments = ("fit", texts, "--epsilon", 1, "--units", 200, "--public", public, "-o", texts.parent / "model")
    done = run(*arguments, "--seed", 1, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["method"] == "adapted"
    assert "method: adapted; neither adapted public topics nor private ones are expected to say more than" in done.err
    many = [2_000_000 if one == 200 else one for one in arguments]
    done = run(*many, "--delta", 1e-9, "--seed", 1, "--json", "--overwrite")
    assert "method: private; private topics are expected to keep more" in done.err


def test_the_most_topics_are_those_of_the_engine():
    from discreet.cli.foresee import MAX_TOPICS
    from discreet.engines import interface

    assert interface.MAX_TOPICS == MAX_TOPICS
