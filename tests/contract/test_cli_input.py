"""The command line's ways in and out: standard input, lines, arrays, ids, and rows that are too large."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.corpus import lda_corpus
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.release.release import Release
from tests.support.command import Run


def test_a_huge_row_of_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Two thousand million tokens in one row: 8 GB, if they were expanded. It must not stop a private run."""
    monkeypatch.chdir(tmp_path)
    counts = lda_corpus(40, 8, 2, mean_length=20, seed=1).corpus.to_counts()
    huge = sp.csr_matrix(([1_999_999_000, 1_000], ([0, 0], [0, 1])), shape=counts.shape)
    sp.save_npz("counts.npz", sp.csr_matrix(counts + huge))
    ran = run("fit", "counts.npz", "-k", 2, "--epsilon", 2, "-q", "-o", "private")
    assert ran.code == 0, ran.err
    ran = run("fit", "counts.npz", "-k", 2, "-q", "-o", "plain")
    assert ran.code == 2
    assert "counts.npz: row 0 holds 2,000,000,0" in ran.err
    assert not Path("plain").exists()


WORDS = ("cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind")
KINDS = ("rain wind storm cloud rain", "piano violin music concert piano")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with forty small documents of two kinds in every form, and a model of them."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": KINDS[i % 2], "who": f"user{i % 5}", "key": f"a,{i}"} for i in range(40)]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("texts.json").write_text(json.dumps(rows, indent=1))
    Path("texts.csv").write_text("key;who;text\n" + "".join(f'"{r["key"]}";{r["who"]};{r["text"]}\n' for r in rows))
    Path("texts.txt").write_text("".join(row["text"] + "\n" for row in rows))
    topics = 0.999 * np.array([[1, 0, 0, 0, 2, 1, 0, 1], [0, 1, 1, 2, 0, 0, 1, 0]]) / 5 + 0.001 / 8
    none = Guarantee.none(EXACT_COUNTS)
    Release(topics, WORDS, np.array([0.1, 0.1]), 0.01, "lda", {"n_topics": 2}, none).save("model")
    return tmp_path


FORMS = ("texts.jsonl", "texts.json", "texts.csv", "texts.txt")


def pipe(monkeypatch: pytest.MonkeyPatch, file: str | bytes) -> None:
    content = Path(file).read_bytes() if isinstance(file, str) else file
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_fitted_transformed_and_evaluated(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, form: str, piped: bool
) -> None:
    column = ("--text", "text") if form == "texts.csv" else ()

    def source() -> str:
        if piped:
            pipe(monkeypatch, form)
        return "-" if piped else form

    ran = run("fit", source(), *column, "-k", 2, "--sweeps", 5, "--seed", 1, "-o", "new")
    assert ran.code == 0, ran.err
    assert "40 documents, 8 words, 200 tokens" in ran.err
    ran = run("transform", "model", source(), *column, "-o", "-")
    assert ran.code == 0, ran.err
    assert "only their curator may see it" in ran.err
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert (len(rows), list(rows[0])) == (40, ["document", "topic0", "topic1"])
    assert all(float(row[f"topic{i % 2}"]) > 0.9 for i, row in enumerate(rows))
    ran = run("evaluate", "model", source(), *column, "--json")
    assert json.loads(ran.out)["scored_documents"] == 40


def test_ids_are_carried_through(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in FORMS[:3]:
        ran = run("transform", "model", form, "--id", "key", "-o", "-")
        assert ran.code == 0, ran.err
        rows = list(csv.DictReader(ran.out.splitlines()))
        assert list(rows[0]) == ["document", "id", "topic0", "topic1"]
        assert [row["id"] for row in rows] == [f"a,{i}" for i in range(40)]
    for _ in range(2):
        ran = run("transform", "model", "texts.jsonl", "--id", "key", "-o", "out.jsonl", "--overwrite")
        assert ran.code == 0, ran.err
        ran = run("transform", "model", "texts.jsonl", "--id", "key", "-o", "out.csv", "--overwrite")
        assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"a,{i}" for i in range(40)]
    pipe(monkeypatch, b'{"text": "rain", "key": 7}\n{"text": "piano", "key": 8}\n')
    assert [
        line.split(",")[1] for line in run("transform", "model", "-", "--id", "key", "-o", "-").out.splitlines()
    ] == [
        "id",
        "7",
        "8",
    ]


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "a model on standard output": (("fit", "texts.jsonl", "-o", "-"), "a model is a folder"),
    "ids in numbers": (("transform", "model", "texts.jsonl", "--id", "key", "-o", "x.npy"), "no place for --id"),
    "no such id": (("transform", "model", "texts.jsonl", "--id", "kez", "-o", "x.csv"), "no column 'kez'"),
    "ids of lines": (("transform", "model", "texts.txt", "--id", "key", "-o", "x.csv"), "texts.txt has none"),
    "ids of a set": (("transform", "model", "dataset:kos", "--id", "key", "-o", "x.csv"), "Leave --id out"),
    "columns of lines": (
        ("fit", "texts.txt", "--group", "who", "-o", "new"),
        "texts.txt has no columns, so --group 'who' cannot",
    ),
    "other columns": (("fit", "texts.csv", "--text", "body", "-o", "new"), "its columns are 'key;who;text'"),
    "nothing in the pipe": (("fit", "-", "-o", "new"), "standard input is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_writes_nothing(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pipe(monkeypatch, b"")
    arguments, message = BAD[name]
    before = sorted(here.rglob("*"))
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(here.rglob("*")) == before


def test_a_pipe_in_a_shell(here: Path) -> None:
    """Standard input and output as a shell makes them, in a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "discreet", "transform", "model", "-", "-o", "-"]
    with open("texts.txt", "rb") as texts:
        ran = subprocess.run(command, stdin=texts, capture_output=True, check=True)
    assert ran.stdout.count(b"\n") == 41
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"rain\n")
        process.stdin.flush()
        out, _ = process.communicate(b"piano\n")
    assert (process.returncode, out.count(b"\n")) == (0, 3)


def test_a_reader_that_goes_away(here: Path) -> None:
    Path("many.txt").write_text("rain wind\n" * 20_000)
    command = [sys.executable, "-m", "discreet", "transform", "model", "many.txt", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
    assert process.returncode == 1
    assert told == b""


@pytest.mark.parametrize("command", [("fit", "-k", 2, "--sweeps", 2, "-o", "new"), ("evaluate", "model")])
def test_a_bar_shows_what_was_read(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[object, ...]
) -> None:
    monkeypatch.setattr("discreet.cli.progress.PATIENCE", 0.0)
    arguments = (*command, "texts.jsonl")
    assert "reading" not in run(*arguments).err  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    ran = run(*arguments, *(("--overwrite",) if command[0] == "fit" else ()))
    assert ran.code == 0, ran.err
    assert "reading" in ran.err
    assert re.search(r"\d\.\d/\d\.\d kB", ran.err)
    if command[0] == "fit":
        assert "reading" not in run(*arguments, "--overwrite", "--quiet").err
    monkeypatch.setattr("discreet.cli.progress.PATIENCE", 1000.0)
    assert "reading" not in run("evaluate", "model", "texts.jsonl").err
