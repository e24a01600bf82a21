"""``discreet report``: what it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import Release
from tests.support.command import Run
from tests.support.releases import make_release, nasty_release


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models."""
    monkeypatch.chdir(tmp_path)
    make_release().save("model")
    nasty_release().save("nasty")
    return tmp_path


def test_a_page_of_a_model(here: Path, run: Run) -> None:
    ran = run("report", "model", "-o", "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "wrote page.html"
    assert ran.out.splitlines()[1].startswith("guarantee: ε = ")
    text = Path("page.html").read_text("utf-8")
    assert "<title>model</title>" in text
    assert Release.load("model").n_topics == 4  # nothing was added to the folder


def test_options(here: Path, run: Run) -> None:
    Path("names.txt").write_text("2 gas & contracts\n")
    ran = run("report", "model", "--names", "names.txt", "--title", "Letters <1990", "-n", "3")
    assert ran.code == 0, ran.err
    text = Path("report.html").read_text("utf-8")
    assert "<h1>Letters &lt;1990</h1>" in text
    assert "gas &amp; contracts" in text
    assert text.count('<th scope="row">word') == 4 * 3
    assert run("report", "model").code == 2  # it is there already
    assert run("report", "nasty", "--overwrite").code == 0
    assert "<title>nasty</title>" in Path("report.html").read_text("utf-8")


def test_names_beside_the_model_are_found(here: Path, run: Run) -> None:
    Path("model.names.txt").write_text("0 weather\n")
    ran = run("report", "model/")
    assert ran.code == 0
    assert "names of topics from" in ran.err
    assert " weather</h3>" in Path("report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none",), "none does not exist"),
        (("model", "-o", "page.pdf"), "must end in .html"),
        (("model", "-o", "mine.html", "--overwrite"), "is not an earlier report"),
        (("model", "-o", "model/page.html"), "in the model's folder"),
        (("model", "-o", "no/page.html"), "its folder does not exist"),
        (("model", "--names", "bad.txt"), "bad.txt, line 2: there is no topic 4"),
        (("model", "--names", "none.txt"), "none.txt is not there"),
        (("model", "--words", "0"), "words"),
        (("model", "--nam", "x"), "Did you mean --names?"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(here: Path, run: Run, arguments: tuple[str, ...], words: str) -> None:
    Path("mine.html").write_text("<p>mine")
    Path("bad.txt").write_text("0 weather\n4 music\n")
    before = sorted(path for path in here.rglob("*"))
    ran = run("report", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert sorted(path for path in here.rglob("*")) == before
    assert Path("mine.html").read_text() == "<p>mine"
