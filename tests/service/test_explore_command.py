"""``discreet explore`` as a process: what it prints, how it ends, what it leaves, and what it refuses."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

from discreet.cli import explore as command
from discreet.corpus import installed, read
from discreet.corpus.phrases import JOINT
from tests.contract.conftest import run  # noqa: F401 (a fixture)
from tests.support.command import Run
from tests.support.exploring import WORDS, Site, model, notes


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and two hundred notes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    model().save("model")
    notes(tmp_path / "notes.jsonl")
    (tmp_path / "temporary").mkdir()
    return tmp_path


NOTES = ("model", "notes.jsonl", "--text", "body")


class Process:
    """A running explorer, with warnings as errors. Its address is known when it listens."""

    def __init__(self, here: Path, *arguments: str, stdin: Any = subprocess.DEVNULL) -> None:
        command = [sys.executable, "-W", "error", "-m", "discreet", "explore", *arguments, "--no-browser"]
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell would have it ignored
        try:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=stdin,
                text=True,
                env={**os.environ, "TMPDIR": str(here / "temporary")},
            )
        finally:
            signal.signal(signal.SIGINT, before)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.fullmatch(r"exploring at (http://127\.0\.0\.1:\d+/[\w-]{43}/)\n", self.said)
        assert found is not None, (self.said, self.process.communicate())
        self.address = found[1]
        self.port = int(self.address.split(":")[2].split("/")[0])

    def get(self, path: str = "") -> str:
        with urlopen(self.address + path) as answer:
            return str(answer.read().decode())

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """The exit code, and what was printed to stderr."""
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@contextmanager
def exploring(here: Path, *arguments: str, **options: Any) -> Iterator[Process]:
    running = Process(here, *arguments, **options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGTERM)


def check_that_others_get_nothing(running: Process) -> None:
    """It listens on 127.0.0.1 alone, and answers neither another name nor another key."""
    open_ports = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()]
    mine = [row[1] for row in open_ports if row[1].endswith(f":{running.port:04X}") and row[3] == "0A"]
    assert mine == [f"0100007F:{running.port:04X}"]
    assert "Topics" in running.get()
    with pytest.raises(HTTPError, match="421"):
        urlopen(Request(running.address, headers={"Host": "example.org"}))
    with pytest.raises(HTTPError, match="403"):
        urlopen(running.address[:-10])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_nothing_is_left(here: Path, how: signal.Signals) -> None:
    """Private data lies in files that no folder has and only their owner can read; they end with the process."""
    before = sorted(p.name for p in here.rglob("*"))
    with exploring(here, *NOTES, "--label", "kind") as running:
        check_that_others_get_nothing(running)
        descriptors = Path(f"/proc/{running.process.pid}/fd")
        kept = [fd for fd in descriptors.iterdir() if os.readlink(fd).startswith(str(here / "temporary"))]
        assert kept != []
        assert all(os.readlink(fd).endswith(" (deleted)") for fd in kept)
        assert all(os.stat(fd).st_mode & 0o777 == 0o600 for fd in kept)
        assert sorted(p.name for p in here.rglob("*")) == before
        code, err = running.end(how)
    assert (code, err) == (-9 if how is signal.SIGKILL else 0, "")
    assert sorted(p.name for p in here.rglob("*")) == before


def test_ctrl_c_while_measures_are_computed_does_not_wait_for_them(here: Path) -> None:
    """Also with a browser's open connection."""
    with exploring(here, *NOTES, "--with", "model") as running:
        waiting = socket.create_connection(("127.0.0.1", running.port))
        waiting.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")  # and never the rest
        running.get("measures")
        assert running.end(signal.SIGINT) == (0, "")
        waiting.close()


def packed(here: Path, name: str) -> str:
    text = (here / "notes.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    if name.endswith(".gz"):
        (here / name).write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".bz2"):
        (here / name).write_bytes(bz2.compress(text.encode()))
    elif name.endswith(".json"):
        (here / name).write_text(json.dumps(rows))
    elif name.endswith(".csv"):
        lines = [f'"{row["body"]}\n second line, ""quoted""",{row["kind"]}' for row in rows]
        (here / name).write_text("body,kind\n" + "\n".join(lines))
    elif name.endswith(".parquet"):
        import polars as pl

        pl.DataFrame(rows).write_parquet(here / name)
    return name


@contextmanager
def site(model: str, file: str, **options: Any) -> Iterator[Site]:
    """What the command would show, in this process."""
    columns = {column: options.pop(column, None) for column in ("text", "label", "group", "collection")}
    with closing(command.opened(Path(model), options.pop("other", None), file, None, columns, 1)) as found:
        yield Site(found)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.bz2", "a.json", "a.csv", "a.parquet", "-"])
def test_every_kind_of_table(here: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with open(here / "notes.jsonl") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with site("model", packed(here, name), text="body", label="kind") as shown:
            assert "number 196" in shown.text("document/196")
            assert "kind0" in shown.text("by/label")
            if name == "a.csv":
                assert "second line, &#34;quoted&#34;" in shown.text("document/0")


def test_folders_lines_and_counts(here: Path) -> None:
    (here / "lines.txt").write_text("rain and wind\n\npiano, violin\n")
    with site("model", "lines.txt") as shown:
        assert "piano</mark>, " in shown.text("document/2")
        assert "No word of the model" in shown.text("document/1")
    for name, text in (("a/1", "rain wind"), ("b/2", "piano music")):
        (here / "folder" / name).parent.mkdir(parents=True)
        (here / "folder" / f"{name}.txt").write_text(text)
    with site("model", "folder") as shown:
        assert re.search(r"<bdi>b</bdi>.*piano music", shown.text("documents"), re.S)
    np.save(here / "counts.npy", np.eye(8, dtype=int) * 3)
    names = read("counts.npy").vocabulary
    model(tuple(names)).save("counted")
    with site("counted", "counts.npy", other=Path("model")) as shown:
        assert f"<bdi>{names[4]}</bdi> ×3" in shown.text("document/4")
        assert isinstance(shown.explorer.other.measures.ask(30), str)  # no word of the second model is there
        assert "could not be measured" in shown.text("measures")


def test_names_of_topics_come_from_a_file(here: Path, run: Run) -> None:  # noqa: F811
    (here / "model.names.txt").write_text("0 beside the model\n")
    (here / "other.txt").write_text("1 by option\n")
    for options, name in ((), "beside the model"), (("--names", "other.txt"), "by option"):
        with exploring(here, *NOTES, *options) as running:
            page = running.get()
            assert name in page
            assert ("beside" in page) == (options == ())
            assert ("names of topics from" in running.end(signal.SIGINT)[1]) == (options == ())
    (here / "other.txt").write_text("7 too many\n")
    ran = run("explore", *NOTES, "--no-browser", "--names", "other.txt")
    assert ran.code == 2
    assert "line 1: there is no topic 7" in ran.err


def test_named_sets_have_their_own_columns(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few docstrings of this Python: groups are modules, labels are packages."""
    every_module = installed._modules
    monkeypatch.setattr(installed, "_modules", lambda: islice(every_module(), 0, None, 12))
    model(("array", "class", "list", "name", "number", "return", "string", "value")).save("code")
    with site("code", "dataset:docstrings") as shown:
        assert "numpy" in shown.text("by/label")
        assert "By group" in shown.text()


def test_phrases_of_a_model_are_marked(here: Path, run: Run) -> None:  # noqa: F811
    (here / "york.jsonl").write_text('{"text": "The rain in New York falls on New York."}\n' * 30)
    (here / "phrases.txt").write_text("new york\n")
    assert run("fit", "york.jsonl", "--phrases", "phrases.txt", "-k", 2, "--sweeps", 5, "-q", "-o", "york").code == 0
    assert f"new{JOINT}york" in (here / "york" / "vocabulary.txt").read_text()
    with site("york", "york.jsonl") as shown:
        assert len(re.findall(r">New York</mark>", shown.text("document/0"))) == 2


def test_collections_are_compared(here: Path, run: Run) -> None:  # noqa: F811
    fit = ("fit", "notes.jsonl", "--text", "body", "--method", "cross-lda", "--collection", "kind", "-k", 2)
    assert run(*fit, "--sweeps", 10, "-q", "-o", "cross").code == 0
    with site("cross", "notes.jsonl", text="body", collection="kind", other=Path("model")) as shown:
        assert "kind1" in shown.text("by/collection")
        assert "Its words in each collection" in shown.text("topic/0")
        assert "<mark" in shown.text("document/0")
        assert "Two models" in shown.text("compare")
    with site("model", "notes.jsonl", text="body", collection="kind", other=Path("cross")) as shown:
        assert isinstance(shown.explorer.other.measures.ask(60), tuple)
    for arguments in (("cross", *NOTES[1:]), (*NOTES, "--with", "cross")):
        ran = run("explore", *arguments)
        assert ran.code == 2
        assert "cross needs --collection COLUMN" in ran.err


# --- what it refuses --------------------------------------------------------------------------------------------------

REFUSED = {
    "a typo in the file": (("model", "note.jsonl"), r"there is no file or folder note\.jsonl\. Did you mean 'notes"),
    "a typo in the model": (("modle", "notes.jsonl", "--text", "body"), "modle"),
    "a typo in a column": (("model", "notes.jsonl", "--text", "boddy"), "has no column 'boddy'.*Did you mean 'body'"),
    "a typo in the label": ((*NOTES, "--label", "knd"), "has no column 'knd'.*Did you mean 'kind'"),
    "a typo in an option": ((*NOTES, "--lable", "kind"), "No such option: --lable. Did you mean --label"),
    "an empty file": (("model", "empty.jsonl"), "empty.jsonl is empty"),
    "no documents": (("model",), "no documents were given"),
    "other words": (("model", "other.txt"), "no document holds a word of model"),
    "a second model that is none": ((*NOTES, "--with", "notes.jsonl"), "notes.jsonl"),
    "columns of lines": (("model", "other.txt", "--label", "kind"), "has no columns"),
    "a port that is none": ((*NOTES, "--port", "70000"), "it must be at most 65535"),
    "a collection of a model without": ((*NOTES, "--collection", "kind"), "has no collections"),
    "broken JSON": (("model", "broken.jsonl"), "line 2 is not JSON"),
    "a fixed column": (("model", "dataset:docstrings", "--label", "kind"), "has fixed columns"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_line_and_exit_code_2(here: Path, run: Run, name: str) -> None:  # noqa: F811
    (here / "empty.jsonl").write_text("")
    (here / "other.txt").write_text("Regen und Schnee\n")
    (here / "broken.jsonl").write_text('{"text": "rain"}\n{"text": \n')
    arguments, message = REFUSED[name]
    ran = run("explore", *arguments, "--no-browser")
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1, ran.err
    assert ran.err.startswith("discreet: ")
    assert re.search(message, ran.err), ran.err


def test_a_port_in_use_is_told_before_anything_is_read(here: Path, run: Run) -> None:  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("explore", "nothing", "nothing.jsonl", "--port", port)
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in ran.err


def test_a_missing_package_is_named(here: Path) -> None:
    script = "import sys; sys.modules['jinja2'] = None; from discreet.cli import main; sys.exit(main(sys.argv[1:]))"
    ran = subprocess.run([sys.executable, "-c", script, "explore", *NOTES], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.endswith("needs the package jinja2. Install it with: pip install 'discreet[explore]'.\n")


def test_ctrl_c_while_it_reads(here: Path) -> None:
    """Nothing has been shown yet, so it counts as interrupted."""
    os.mkfifo(here / "slow.txt")
    words = [sys.executable, "-m", "discreet", "explore", "model", "slow.txt", "--no-browser"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with suppress(BrokenPipeError), open(here / "slow.txt", "w") as pipe:  # waits until it is read
        pipe.write("rain\n" * 10)
        pipe.flush()
        process.send_signal(signal.SIGINT)
        pipe.write("rain\n" * 1_000_000)  # a signal just before Python waits for input is noticed when some arrives
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: nothing was written\n"


def test_the_browser_is_opened_by_a_link_that_works_once(
    here: Path,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    for screen, options, expected in ((":0", (), 1), ("", (), 1), (":0", ("--no-browser",), 1)):
        monkeypatch.setenv("DISPLAY", screen)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        ran = run("explore", *NOTES, *options)
        assert ran.code == 0, ran.err
        assert len(opened) == expected
    assert signal.getsignal(signal.SIGINT) is handler
    assert "/open/" in opened[0]
    key = re.search(r"127\.0\.0\.1:\d+/([\w-]+)/", ran.out)
    assert key is not None
    assert key[1] not in opened[0]
    assert all(word not in ran.out + ran.err for word in WORDS)
