"""A budget file may only grow: an older state of it, put in its place, is refused."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet._errors import InputError
from discreet.cli import main
from discreet.privacy import Entry, Ledger
from discreet.privacy import budget as budget_module
from discreet.privacy.budget import BudgetFile
from discreet.privacy.events import PureRelease

FIT = PureRelease(epsilon=0.9)
SMALL = PureRelease(epsilon=0.1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mails.budget"


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere" / "mails.counter"


def in_a_new_process(path: Path) -> str:
    """Charge 0.9 from a process that has never seen the file; its error, or nothing."""
    script = (
        "import sys\nfrom discreet.privacy.budget import BudgetFile\nfrom discreet.privacy.events import PureRelease\n"
        "from discreet._errors import DiscreetError\n"
        "try:\n    BudgetFile(sys.argv[1]).charge(PureRelease(epsilon=0.9), label='fit')\n"
        "except DiscreetError as error:\n    sys.exit(str(error))"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script, path], capture_output=True, text=True)
    return ran.stderr.strip()


# --- within one process -----------------------------------------------------------------------------------------------


def by_writing(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def by_renaming(path: Path, content: bytes) -> None:
    path.with_name("old").write_bytes(content)
    path.with_name("old").replace(path)


@pytest.mark.parametrize("put_back", [by_writing, by_renaming])
def test_the_process_that_charged_it_refuses_an_older_state(
    path: Path, put_back: Callable[[Path, bytes], None]
) -> None:
    """Four fits of 0.9 would otherwise fit into 1.6."""
    file = BudgetFile.create(path, 1.6, 0.0)
    before = path.read_bytes()
    file.charge(FIT, label="first")
    newest = path.read_bytes()
    put_back(path, before)
    attempts = (lambda: file.charge(FIT, label="second"), lambda: Ledger(file=file).charge(FIT, label="second"))
    for attempt in (*attempts, file.charges, lambda: BudgetFile(path)):
        with pytest.raises(InputError, match=r"rolled back.* 1 charge\b") as caught:
            attempt()
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    put_back(path, newest)  # the way out that the message names
    assert len(file.charges()) == 1


def test_what_another_process_charged_is_remembered_once_it_was_read(path: Path) -> None:
    file = BudgetFile.create(path, 1.6, 0.0)
    before = path.read_bytes()
    assert in_a_new_process(path) == ""
    assert len(file.charges()) == 1
    path.write_bytes(before)
    with pytest.raises(InputError, match="rolled back"):
        file.charge(FIT, label="mine")


def test_a_copy_under_another_name_is_the_same_budget(path: Path, tmp_path: Path) -> None:
    file = BudgetFile.create(path, 1.6, 0.0)
    shutil.copy(path, tmp_path / "copy")
    copy = BudgetFile(tmp_path / "copy")
    file.charge(FIT, label="first")
    with pytest.raises(InputError, match="rolled back"):
        copy.charge(FIT, label="first of the copy")


def test_another_history_of_the_same_length_is_refused(path: Path, tmp_path: Path) -> None:
    """Neither length nor content of the plan would tell: equal charges to two copies are two charges."""
    file = BudgetFile.create(path, 9.0, 0.0)
    shutil.copy(path, tmp_path / "copy")
    assert in_a_new_process(tmp_path / "copy") == ""
    file.charge(FIT, label="fit")
    shutil.copy(tmp_path / "copy", path)
    for _ in range(2):
        with pytest.raises(InputError, match="rolled back"):
            file.charges()
        assert in_a_new_process(path) == ""  # the second time it is longer than what this process saw


def test_an_unpickled_file_knows_what_its_sender_had_seen(path: Path) -> None:
    file = BudgetFile.create(path, 1.6, 0.0)
    before = path.read_bytes()
    file.charge(FIT, label="first")
    sent = path.with_name("sent")
    sent.write_bytes(pickle.dumps(file))
    path.write_bytes(before)
    script = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')).charges()"
    ran = subprocess.run([sys.executable, "-c", script, sent], capture_output=True, text=True)
    assert "rolled back" in ran.stderr


def test_a_charge_that_failed_may_be_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the message on a torn line advises is no rollback."""
    file = BudgetFile.create(path, 1.6, 0.0)
    length, write = path.stat().st_size, os.write
    with monkeypatch.context() as short:
        short.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:10]))
        with pytest.raises(OSError, match="disk may be full"):
            file.charge(FIT, label="x")
    os.truncate(path, length)
    file.charge(FIT, label="x")


# --- across processes: a counter in a second place --------------------------------------------------------------------


def test_without_a_counter_a_new_process_cannot_know(path: Path) -> None:
    """The limit that docs/running.md states; should this fail, the page has to change."""
    BudgetFile.create(path, 1.6, 0.0)
    before = path.read_bytes()
    for _ in range(2):
        assert in_a_new_process(path) == ""
        path.write_bytes(before)


def test_a_counter_tells_a_new_process(path: Path, counter: Path) -> None:
    BudgetFile.create(path, 1.6, 0.0, counter=counter)
    before = path.read_bytes()
    assert in_a_new_process(path) == ""
    newest = path.read_bytes()
    path.write_bytes(before)
    told = in_a_new_process(path)
    assert "rolled back" in told
    assert str(counter) in told
    assert path.read_bytes() == before
    path.write_bytes(newest)
    assert "the budget is ε = 1.6" in in_a_new_process(path)


def test_the_counter_is_written_after_the_file_and_before_the_charge_returns(
    path: Path, counter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two leaves the file ahead, which is safe: what it holds is counted as spent."""
    file = BudgetFile.create(path, 1.6, 0.0, counter=counter)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(budget_module.Counter, "advance", crash)
        with pytest.raises(KeyboardInterrupt):
            file.charge(FIT, label="lost")
    assert len(file.charges()) == 1
    assert len(counter.read_bytes().splitlines()) == 1
    file.charge(SMALL, label="next")
    assert json.loads(counter.read_bytes().splitlines()[-1])["charges"] == 2


def test_a_charge_whose_counter_cannot_be_written_does_not_count(
    path: Path, counter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = BudgetFile.create(path, 1.6, 0.0, counter=counter)
    write, charge = os.write, len(b"{")

    def full(descriptor: int, data: bytes) -> int:
        return write(descriptor, data if b"entries" in data else data[:charge])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="disk may be full"):
            file.charge(SMALL, label="x")
    file.charge(SMALL, label="y")  # what the full disk left of the counter's line is dropped
    assert [json.loads(line) for line in counter.read_bytes().splitlines()][-1]["charges"] == 2


def test_a_counter_that_may_not_be_written_costs_no_charge(
    path: Path, counter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = BudgetFile.create(path, 1.6, 0.0, counter=counter)
    opened = os.open

    def read_only(name: Any, flags: int, *more: int) -> int:  # chmod would not stop root
        if Path(name) == counter and flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied")
        return opened(name, flags, *more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        with pytest.raises(InputError, match="cannot be opened: Permission denied"):
            file.charge(SMALL, label="x")
    assert file.charges() == ()


def test_copies_cannot_share_a_counter(path: Path, counter: Path, tmp_path: Path) -> None:
    BudgetFile.create(path, 9.0, 0.0, counter=counter)
    shutil.copy(path, tmp_path / "copy")
    assert in_a_new_process(path) == ""
    assert "rolled back" in in_a_new_process(tmp_path / "copy")


def test_a_counter_that_is_lost_or_anothers_is_refused(path: Path, counter: Path, tmp_path: Path) -> None:
    file = BudgetFile.create(path, 9.0, 0.0, counter=counter)
    file.charge(SMALL, label="x")
    kept = counter.read_bytes()
    counter.unlink()
    with pytest.raises(InputError, match=r"counter .* is missing") as caught:
        file.charge(SMALL, label="y")
    command = str(caught.value).partition("make a new one: ")[2]
    subprocess.run(["sh", "-c", command], check=True)  # for somebody who is sure that the file is complete
    file.charge(SMALL, label="y")
    BudgetFile.create(tmp_path / "other", 9.0, 0.0, counter=counter.with_name("other"))
    counter.write_bytes(counter.with_name("other").read_bytes())
    with pytest.raises(InputError, match="is not the counter of"):
        file.charge(SMALL, label="z")
    counter.write_bytes(kept.replace(b'"charges"', b'"chargse"'))
    with pytest.raises(InputError, match="is damaged"):
        file.charge(SMALL, label="z")


def test_a_counter_is_made_with_its_file_or_not_at_all(path: Path, counter: Path) -> None:
    for wrong in (counter.parent / "no" / "where", path):
        with pytest.raises(InputError, match="counter"):
            BudgetFile.create(path, 1.0, 0.0, counter=wrong)
        assert not path.exists()
    counter.write_bytes(b"something")
    with pytest.raises(InputError, match="exists already"):
        BudgetFile.create(path, 1.0, 0.0, counter=counter)
    assert not path.exists()
    assert counter.read_bytes() == b"something"


def test_the_command_says_what_would_notice_a_rollback(
    path: Path, counter: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["budget", str(path), "--create", "--epsilon", "1"]) == 0
    capfd.readouterr()
    assert main(["budget", str(path)]) == 0
    assert "no counter" in capfd.readouterr().out
    other = path.with_name("other.budget")
    monkeypatch.chdir(path.parent)
    assert main(["budget", "other.budget", "--create", "--epsilon", "1", "--counter", "elsewhere/mails.counter"]) == 0
    capfd.readouterr()
    BudgetFile(other).charge(SMALL, label="x")
    assert main(["budget", str(other)]) == 0
    assert f"counter: {counter} agrees" in capfd.readouterr().out
    assert main(["budget", str(other), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["counter"] == str(counter)


# --- which run, and when ----------------------------------------------------------------------------------------------


def test_charges_of_a_run_are_found_again(path: Path) -> None:
    file = BudgetFile.create(path, 9.0, 0.0)
    ledger = Ledger(file=file)
    reservation = ledger.reserve([Entry(SMALL, 1, "words")], run="a1", method="PrivateLDA")
    ledger.reserve([Entry(SMALL, 2, "other")], run="b2", method="SpectralLDA")
    ledger.extend(reservation, [Entry(SMALL, 3, "rounds")], run="a1", method="PrivateLDA")
    file.charge(SMALL, 4, label="no run")
    again = BudgetFile(path)
    assert [entry.count for entry in again.entries_of("a1")] == [1, 3]
    assert [entry.count for entry in again.entries_of("b2")] == [2]
    assert again.entries_of("c3") == ()
    assert [(c.run, c.method) for c in again.charges()][1:] == [
        ("b2", "SpectralLDA"),
        ("a1", "PrivateLDA"),
        (None, None),
    ]
    with pytest.raises(InputError, match="run"):
        again.entries_of("")


def test_it_keeps_the_date_and_no_time(path: Path) -> None:
    """How long each stage of a private run took says something about the documents."""
    BudgetFile.create(path, 9.0, 0.0).charge(SMALL, label="x")
    header, line = (json.loads(line) for line in path.read_text().splitlines())
    for found in (header["created"], line["date"], BudgetFile(path).charges()[0].date):
        assert len(found) == len("2026-11-16")
        assert ":" not in found
    assert "time" not in line


FIRST_FORMAT = (
    '{"discreet_budget": 1, "epsilon": 1.0, "delta": 0.0, "unit": "document", "relation": "add-remove", '
    '"created": "2026-11-15T10:00:00+00:00", "id": "0123456789abcdef"}\n'
    '{"time": "2026-11-15T11:22:33+00:00", "by": "ann@host", "entries": [{"label": "x", "count": 3, "event": '
    '{"kind": "PureRelease", "epsilon": 0.1}}], "digest": "DIGEST"}\n'
)


def test_files_of_the_first_format_are_read_and_charged(path: Path) -> None:
    import hashlib

    header, line = FIRST_FORMAT.splitlines(keepends=True)
    unsigned = line.replace(', "digest": "DIGEST"', "").strip()
    digest = hashlib.sha256((header + unsigned).encode()).hexdigest()[:16]
    path.write_text(FIRST_FORMAT.replace("DIGEST", digest))
    file = BudgetFile(path)
    assert [(c.date, c.by, c.run) for c in file.charges()] == [("2026-11-15", "ann@host", None)]
    Ledger(file=file).reserve([Entry(SMALL, 2, "y")], run="a1", method="PrivateLDA")
    assert sum(entry.count for entry in BudgetFile(path).ledger().entries) == 5
    assert [entry.label for entry in file.entries_of("a1")] == ["y"]
