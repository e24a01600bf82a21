"""The documentation is run: every python and console block, every link, every table that repeats what code says."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType, ModuleType
from typing import NamedTuple

import numpy as np
import pytest
import typer
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import discreet
from discreet import LDA, Release
from discreet.cli import main
from discreet.cli.app import app
from discreet.corpus import installed, lda_corpus
from discreet.evaluation import match_topics
from discreet.experiments import PAPERS
from discreet.training import own_ledger
from tests.support import spark
from tests.support.rounded import Rounded

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def loaded(path: Path) -> ModuleType:
    """A file of ours as a module, wherever it lies."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # dataclasses look up the module of a class
    spec.loader.exec_module(module)
    return module


# --- blocks that run -------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    text: str
    shown: list[str]
    """What the page says that it prints; may be empty, or a part."""


def commands(block: str) -> Iterator[Command]:
    """``$ `` begins a command, ``> `` continues it, and other lines are what it prints."""
    text: list[str] = []
    shown: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            if text:
                yield Command("\n".join(text), shown)
            text, shown = [line[2:]], []
        elif line.startswith("> ") and not shown:
            text.append(line[2:])
        else:
            shown.append(line)
    yield Command("\n".join(text), shown)


def missing(shown: list[str], printed: str) -> list[str]:
    """The lines that were promised and not printed. Blanks and colours do not count, and … stands for anything."""
    lines = [" ".join(line.split()) for line in re.sub(r"\x1b\[[\d;]*m", "", printed).splitlines()]

    def found(line: str) -> bool:
        pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        return any(re.fullmatch(pattern, candidate) for candidate in lines)

    return [line for line in shown if not found(line)]


def promised_by(python: str) -> list[str]:
    """``# → text`` says what the lines above it print."""
    return re.findall(r"^# → (.*)$", python, re.MULTILINE)


def run_command(text: str) -> int:
    """Ours run in this process, which is much faster; the rest is for a shell."""
    if text.startswith("discreet ") and "\n" not in text:
        return main(shlex.split(text)[1:])
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # a pipe finds our command beside this Python
    return subprocess.run(["bash", "-c", text], check=False, env={**os.environ, "PATH": path}).returncode


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")  # of so few words and documents
@pytest.mark.filterwarnings("ignore:only .* words were selected from the text")  # of so few docstrings
@every_page
def test_blocks_do_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a page are one session in an empty folder. Docstrings are read from a few of the modules."""
    if page.name == "spark.md" and (reason := spark.missing()) is not None:
        pytest.skip(f"no Spark: {reason}")
    every_module = installed._modules
    monkeypatch.setattr(installed, "_modules", lambda: islice(every_module(), 0, None, 16))
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)  # tables, as people see them,
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")  # and each row on one line
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for language, body in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            exec(compile(body, str(page), "exec"), names)
            printed = capfd.readouterr()
            assert missing(promised_by(body), printed.out) == []
        elif language == "console":
            for command in commands(body):
                own_ledger._RUNS.clear()  # a command is a process of its own, which has made no fit yet
                code = run_command(command.text)
                printed = capfd.readouterr()
                assert code == 0, f"{command.text}: {printed.err}"
                assert missing(command.shown, printed.out + printed.err) == [], command.text


def test_the_readme_has_ten_lines_of_each() -> None:
    blocks = dict(reversed(BLOCK.findall((ROOT / "README.md").read_text("utf-8"))))  # the first of each language
    code = [line for line in blocks["python"].splitlines() if line.strip()]
    assert 8 <= len(code) <= 12
    assert 8 <= len([line for line in blocks["console"].splitlines() if line.startswith(("$ ", "> "))]) <= 12


def test_the_runner_sees_what_was_not_printed() -> None:
    printed = "topic  words\n    0  rain wind\ntrained in 0.31 s, wrote x\n"
    assert missing(["topic words", "0 rain wind", "trained in … s, wrote x"], printed) == []
    assert missing(["0 rain", "trained in … m, wrote x"], printed) == ["0 rain", "trained in … m, wrote x"]
    assert list(commands("$ a\n> b\nout\n$ c\n")) == [Command("a\nb", ["out"]), Command("c", [])]
    assert promised_by("print(1)\n# → 1\nprint(2)  # → not this\n") == ["1"]
    assert run_command("false") != 0


# --- what pages point to ---------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Headings as links spell them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for path in re.findall(r"`((?:src|tests|docs|benchmarks|\.ci)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:kernels|corpus|models|engines|privacy|evaluation|cli)/\w+\.py)`", text):
        assert (ROOT / "src/discreet" / path).exists(), path


def test_every_result_of_a_paper_is_on_the_page_of_papers() -> None:
    page = (ROOT / "docs/papers.md").read_text("utf-8")
    papers = set(PAPERS) - {"private"}  # our own
    for paper in papers:
        assert f"`{paper}`" in page, paper
    results = [path.name for path in (ROOT / "docs/results").glob("*.md") if path.name.split("-")[0] in papers]
    assert len(results) > 10
    for name in results:
        assert f"(results/{name})" in page, name


@every_page
def test_targets_of_make_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE):
        assert target in targets, target


# --- tables and lists that repeat what code says ---------------------------------------------------------------------


def leaves(command: typer.core.TyperGroup, path: str = "discreet") -> Iterator[tuple[str, list[str]]]:
    """Each command, and the long names of its options."""
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from leaves(child, f"{path} {name}")
        else:
            options = [o for p in child.params if not getattr(p, "hidden", False) for o in p.opts if o.startswith("--")]
            yield f"{path} {name}", options


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (discreet \w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    found = list(leaves(typer.main.get_command(app)))
    assert len(found) >= 6
    for command, options in found:
        assert f"$ {command}" in page, command
        section = sections[" ".join(command.split()[:2])]
        for option in options:
            assert f"`{option}`" in section, f"{command} {option}"


def test_the_table_of_rooms_is_the_one_that_is_kept() -> None:
    rooms = loaded(ROOT / "tests/contract/test_rooms.py")
    rows = re.findall(r"^\| (`\w+`) \|.*\| ([^|]+) \|$", (ROOT / "docs/design.md").read_text("utf-8"), re.MULTILINE)
    above: list[str] = []
    for cell, allowed in rows:
        name = cell.strip("`")
        if allowed == "everything above":
            expected = set(above)
        else:
            expected = set(re.findall(r"`([\w.*]+)`", allowed))
            if "_*" in expected:
                expected = expected - {"_*"} | set(rooms.LEDGE)
        assert set(rooms.ROOMS[name]) - {""} == expected, name
        above.append(name)
    assert set(above) == set(rooms.ROOMS)


def calls_of(commands: list[list[str]], wanted: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The calls of ``wanted`` functions, (file, qualified name), while the commands run: threads and kernels too."""
    home, calls = f"{Path(discreet.__file__).parent}/", []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            call = frame.f_code.co_filename.removeprefix(home), frame.f_code.co_qualname
            if call in wanted and call not in calls[-1:]:
                calls.append(call)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        for command in commands:
            assert main(command) == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")  # of nine words
def test_a_document_goes_the_way_that_the_page_of_design_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mails = ("Rain and wind, then a storm; dark clouds.", "A violin and a piano opened the concert.")
    Path("mails.jsonl").write_text("".join(json.dumps({"text": mail}) + "\n" for mail in mails * 300))
    page = (ROOT / "docs/design.md").read_text("utf-8")
    hops = [(file, name) for name, file in re.findall(r"^\| \d+ \| `([\w.]+)` \| `([\w./]+)` \|", page, re.MULTILINE)]
    assert 20 < len(hops) < 40
    fit = ["fit", "mails.jsonl", "--epsilon", "8", "-k", "2", "-o", "mails-model", "--threads", "1"]
    calls = iter(calls_of([fit, ["topics", "mails-model"]], set(hops)))
    for hop in hops:
        assert hop in calls, hop  # consumes the calls before it: the order counts


@pytest.mark.parametrize("algorithm", ["sampled", "collapsed"])
def test_counts_can_be_computed_back_from_the_release_of_an_ordinary_model(tmp_path: Path, algorithm: str) -> None:
    """docs/guarantees.md says so. Should it ever fail, that page has good news to tell. Collapsed, counts are expected
    ones, but those of a word still add up to a whole number."""
    corpus = lda_corpus(100, 200, 4, seed=3).corpus
    LDA(4, n_sweeps=15, algorithm=algorithm).fit(corpus).release().save(tmp_path / "model")
    release = Release.load(tmp_path / "model")
    sums = release.beta / release.topics.min(axis=1, keepdims=True)  # each topic has a word that it never drew
    counts = release.topics * sums - release.beta
    assert np.abs(counts.sum(axis=0) - corpus.word_counts).max() < (1e-6 if algorithm == "sampled" else 1e-3)
    if algorithm == "collapsed":
        return
    tenfold = counts * release.parameters["n_average"]
    assert np.abs(tenfold - np.rint(tenfold)).max() < 1e-6


# --- the skeleton ----------------------------------------------------------------------------------------------------

CoarseLDA = loaded(ROOT / "docs/skeletons/model.py").CoarseLDA


def test_the_skeleton_is_short() -> None:
    assert len(inspect.getsourcelines(CoarseLDA)[0]) < 60


def test_the_skeleton_is_a_model(tmp_path: Path) -> None:
    known = lda_corpus(400, 100, 4, seed=1)
    model = CoarseLDA(4, n_sweeps=50, random_state=2).fit(known.corpus)
    assert match_topics(known.topics, model.components_).mean < 0.2
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    again = clone(model).set_params(n_threads=3).fit(known.corpus.to_counts())
    assert again.components_.shape == model.components_.shape
    threads = clone(model).set_params(n_threads=3).fit(known.corpus)
    np.testing.assert_array_equal(threads.components_, model.components_)
    assert model.history_ == {}
    assert model.guarantee_.summary().startswith("none: counts are rounded, not noised")
    assert "seeded" in model.guarantee_.summary()
    saved = Release.load(model.release().save(tmp_path / "model"))
    assert (saved.method, saved.parameters["grid"]) == ("coarse", 2)
    finer = clone(model).set_params(grid=1).fit(known.corpus)
    assert not np.array_equal(finer.components_, model.components_)
    with pytest.raises(ValueError, match="grid"):
        clone(model).set_params(grid=0).fit(known.corpus)


def test_the_skeleton_is_as_short_as_it_says() -> None:
    source = (ROOT / "docs/skeletons/model.py").read_text("utf-8")
    assert len(source[source.index("class CoarseLDA") :].splitlines()) < 60


class RoundedCoarseLDA(Rounded, CoarseLDA):
    pass


def test_scikit_learn_contract_of_the_skeleton() -> None:
    check_estimator(RoundedCoarseLDA(n_topics=2, n_sweeps=2, n_threads=1), on_skip=None)


def test_sections_of_docstrings_have_lines_of_their_own():
    """A tool that fills paragraphs joins a heading with its underline and all that follows."""
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"(Parameters|Attributes|References) -{4,}", path.read_text("utf-8")), path
