"""A budget on disk: charged before it counts, by one process at a time, and never less than what was drawn."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet._errors import BudgetExceeded, DataNotFound, InputError, Overdrawn
from discreet.cli import main
from discreet.privacy import Budget, Entry, Ledger, Relation, Unit, accounting
from discreet.privacy import budget as budget_module
from discreet.privacy.budget import BudgetFile
from discreet.privacy.events import GaussianRelease, NonPrivate, PureRelease

TENTH = PureRelease(epsilon=0.1)
ROUND = GaussianRelease(sigma=4.0, sampling_rate=0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mails.budget"


def python(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of its own, warnings being errors."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE)


# --- one process ------------------------------------------------------------------------------------------------------


def test_it_keeps_what_was_charged(path: Path) -> None:
    made = BudgetFile.create(path, 1.0, 1e-6, "user")
    assert (made.budget, made.unit, made.relation) == (Budget(1.0, 1e-6), Unit.USER, Relation.ADD_REMOVE)
    made.charge(ROUND, 100, label="Monday").draw(100)
    again = BudgetFile(path)
    assert repr(again) == f"<BudgetFile {path}: ε = 1, δ = 1e-06 per user>"
    again.reserve([Entry(ROUND, 50, "Tuesday"), Entry(TENTH, 1, "Tuesday")])
    assert [entry.label for entry in again.ledger().entries] == ["Monday", "Tuesday", "Tuesday"]
    assert [len(charge.entries) for charge in made.charges()] == [1, 2]
    assert made.ledger().spent() == accounting.spent([Entry(ROUND, 150), Entry(TENTH)], 1e-6)
    assert len(path.read_text().splitlines()) == 3


def test_it_refuses_to_overspend_and_writes_nothing(path: Path) -> None:
    file = BudgetFile.create(path, 0.25, 0.0)
    file.charge(TENTH, 2, label="most of it")
    before = path.read_bytes()
    for charge in (lambda: file.charge(TENTH, label="x"), lambda: file.charge(NonPrivate(), label="x")):
        with pytest.raises(BudgetExceeded, match=r"budget is ε = 0\.25"):
            charge()
    assert path.read_bytes() == before


def test_it_only_appends(path: Path) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    for i in range(5):
        before = path.read_bytes()
        file.charge(TENTH, label=f"line {i}\nand \ud800 more")
        assert path.read_bytes().startswith(before)
    assert len(file.charges()) == 5


def test_a_plan_that_cannot_be_is_refused(path: Path) -> None:
    words = BudgetFile.create(path, 1.0, 0.0, "word")
    with pytest.raises(InputError, match="add or remove"):
        words.charge(ROUND, label="")
    with pytest.raises(InputError, match="nothing to charge"):
        words.reserve([])
    with pytest.raises(InputError):
        words.charge(TENTH, 0, label="")
    assert words.charges() == ()


def test_it_is_never_made_anew(path: Path) -> None:
    BudgetFile.create(path, 1.0, 0.0)
    with pytest.raises(InputError, match="exists already"):
        BudgetFile.create(path, 100.0, 0.0)
    for wrong in ((0.0, 0.0, "user"), (1.0, 1.0, "user"), (1.0, 0.0, "family")):
        with pytest.raises(InputError):
            BudgetFile.create(path.with_name("new"), *wrong)
    assert not path.with_name("new").exists()


def test_files_that_are_none(path: Path) -> None:
    with pytest.raises(DataNotFound, match=r"--create"):
        BudgetFile(path)
    with pytest.raises(InputError):
        BudgetFile(path.parent)
    for content in (b"", b"{}", b"{}\n", b"hello\n", b'{"discreet_budget": 3}\n', b"[]\n", b"\xff\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a budget file"):
            BudgetFile(path)


# --- a ledger in front of it ------------------------------------------------------------------------------------------


def test_a_ledger_charges_the_file_first(path: Path) -> None:
    file = BudgetFile.create(path, 0.5, 0.0, "user")
    ledger = Ledger(Budget(0.3), file=file)
    assert (ledger.unit, ledger.relation) == (file.unit, file.relation)
    ledger.charge(TENTH, 2, label="mine")
    with pytest.raises(BudgetExceeded, match=r"budget is ε = 0\.3"):
        ledger.charge(TENTH, 2, label="mine")
    Ledger(file=file).charge(TENTH, 3, label="another's")
    with pytest.raises(BudgetExceeded, match=r"budget is ε = 0\.5"):
        ledger.charge(TENTH, label="the file has no more")
    assert [entry.count for entry in ledger.entries] == [2]
    assert [entry.count for entry in file.ledger().entries] == [2, 3]
    with pytest.raises(InputError, match="unit"):
        Ledger(unit="document", file=file)


def test_a_copy_in_another_process_charges_the_same_file(path: Path) -> None:
    ledger = Ledger(file=BudgetFile.create(path, 0.2, 0.0))
    pickle.loads(pickle.dumps(ledger)).charge(TENTH, label="worker")
    ledger.charge(TENTH, label="here")
    with pytest.raises(BudgetExceeded):
        ledger.charge(TENTH, label="too much")


# --- damage -----------------------------------------------------------------------------------------------------------


def damaged(path: Path, change: Callable[[bytes], bytes]) -> BudgetFile:
    file = BudgetFile.create(path, 1.0, 0.0)
    for label in "abc":
        file.charge(TENTH, label=label)
    path.write_bytes(change(path.read_bytes()))
    return file


def test_a_copy_with_a_budget_of_its_own_is_a_record(path: Path) -> None:
    """The file would let it charge, but of its own budget every copy would have the whole."""
    file = BudgetFile.create(path, 10.0, 1e-6)
    copy = pickle.loads(pickle.dumps(Ledger(Budget(1.0, 1e-6), file=file)))
    with pytest.raises(InputError, match="copy"):
        copy.charge(PureRelease(epsilon=0.5), label="one")
    assert file.charges() == ()


def test_a_ledger_in_front_of_a_file_speaks_for_both(path: Path) -> None:
    ledger = Ledger(file=BudgetFile.create(path, 1.0, 1e-6))
    Ledger(file=BudgetFile(path)).charge(PureRelease(epsilon=0.75), label="somebody else")
    assert ledger.remaining() == pytest.approx(0.25, abs=1e-5)  # at δ = 1e-6 a little less is spent
    assert f"budget file {path}" in str(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.check(PureRelease(epsilon=0.5))
    assert ledger.check(PureRelease(epsilon=0.2)) is None
    assert len(BudgetFile(path).charges()) == 1
    narrow = Ledger(Budget(0.1), file=BudgetFile(path))
    assert narrow.remaining() == pytest.approx(0.1)
    assert "budget ε = 0.1, δ = 0, budget file" in str(narrow)


def test_files_made_at_once_are_different_budgets(path: Path, tmp_path: Path) -> None:
    one, other = BudgetFile.create(path, 1.0, 1e-6), BudgetFile.create(tmp_path / "other", 1.0, 1e-6)
    assert one.identity != other.identity
    assert one.is_the_same_as(BudgetFile(path))
    assert not one.is_the_same_as(other)
    path.unlink()
    assert not one.is_the_same_as(BudgetFile.create(path, 1.0, 1e-6))


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_line_is_for_a_person_to_judge(path: Path, cut: int) -> None:
    """Never ignored (a charge may be lost), never charged in full; the message is the way out, and it works."""
    file = damaged(path, lambda content: content + content.splitlines(True)[-1][:-cut])
    for attempt in (file.charges, lambda: file.charge(TENTH, label="x"), lambda: BudgetFile(path)):
        with pytest.raises(InputError, match=r"last line .* is incomplete") as caught:
            attempt()
    command = str(caught.value).partition("complete lines: ")[2].partition(". ")[0]
    subprocess.run(command.split(), check=True)
    assert [entry.label for entry in BudgetFile(path).ledger().entries] == ["a", "b", "c"]
    file.charge(TENTH, label="d")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b'"a"', b'"z"'),  # edited
        lambda content: content.replace(b'"count": 1', b'"count": 0', 1),
        lambda content: content.replace(b"0.1}", b"0.01}").replace(b"0.01}", b"0.1}", 2),  # the last line only
        lambda content: b"".join(line for line in content.splitlines(True) if b'"b"' not in line),  # a line lost
        lambda content: content + content.splitlines(True)[1],  # a line repeated
        lambda content: content + b"\0" * 30 + b"\n",  # what some disks leave after a power loss
        lambda content: content + b"{}\n",
        lambda content: content.replace(b'"epsilon": 1.0', b'"epsilon": 9.0', 1),  # a larger budget
    ],
)
def test_damage_is_found(path: Path, change: Callable[[bytes], bytes]) -> None:
    file = damaged(path, change)
    for attempt in (file.charges, lambda: file.charge(TENTH, label="x"), lambda: BudgetFile(path)):
        with pytest.raises(InputError, match="damaged"):
            attempt()


def test_a_full_disk_spends_nothing_silently(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    write = os.write
    with monkeypatch.context() as short:
        short.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:10]))
        with pytest.raises(OSError, match="disk may be full"):
            file.charge(TENTH, label="x")
    with pytest.raises(InputError, match="incomplete"):
        file.charge(TENTH, label="y")


def test_a_file_replaced_under_our_hands_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    lock = budget_module.lock

    def slow(descriptor: int, *, alone: bool) -> None:
        path.rename(path.with_suffix(".old"))
        lock(descriptor, alone=alone)

    monkeypatch.setattr(budget_module, "lock", slow)
    with pytest.raises(InputError, match="was replaced"):
        file.charge(TENTH, label="x")


def test_another_budget_in_its_place_is_noticed(path: Path) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    path.unlink()
    BudgetFile.create(path, 100.0, 0.0)
    with pytest.raises(InputError, match="has become another budget"):
        file.charge(TENTH, 20, label="x")


def test_the_line_is_on_disk_before_the_charge_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    done: list[str] = []
    write, fsync = os.write, os.fsync

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            done.append(name)
            return call(*arguments)

        return run

    monkeypatch.setattr(budget_module.os, "write", noted("write", write))
    monkeypatch.setattr(budget_module.os, "fsync", noted("fsync", fsync))
    file.charge(TENTH, label="x")
    assert done == ["write", "fsync"]


# --- many processes ---------------------------------------------------------------------------------------------------

RACE = """
    import sys
    from discreet.privacy import accounting
    from discreet.privacy.budget import BudgetFile
    from discreet.privacy.events import Entry, PureRelease
    from discreet._errors import BudgetExceeded
    file, me, won = BudgetFile(sys.argv[1]), sys.argv[2], 0
    file.ledger().spent()
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(12):
        try:
            file.charge(PureRelease(epsilon=0.1), label=me)
            won += 1
        except BudgetExceeded:
            pass
    print(won)
"""


def race(path: Path, racers: int) -> list[int]:
    """All start at one signal and grab as much as they can."""
    running = [python(RACE, path, i) for i in range(racers)]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    results = [one.communicate(timeout=60) for one in running]
    assert all(one.returncode == 0 for one in running), [err for _, err in results]
    return [int(out) for out, _ in results]


def test_processes_cannot_both_spend_the_last_of_it(path: Path) -> None:
    file = BudgetFile.create(path, 1.0, 0.0)
    won = race(path, 3)
    assert sum(won) == 10 == len(file.charges())
    assert file.ledger().remaining() == 0


KILLED = """
    import os, random, signal, sys, time
    from discreet.privacy import budget
    from discreet.privacy.budget import BudgetFile
    from discreet.privacy.events import PureRelease
    path, drawn, mode, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    file = BudgetFile(path)
    file.charge(PureRelease(epsilon=1e-3), label="first")  # everything is loaded now
    noise = os.open(drawn, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(noise, b"x")

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def child():
        write, fsync = os.write, os.fsync
        if mode == "before write":
            budget.os.write = lambda *a: die()
        elif mode == "torn write":
            budget.os.write = lambda d, data: (write(d, data[: len(data) // 2]), die())
        elif mode == "before fsync":
            budget.os.fsync = lambda d: die()
        elif mode == "after fsync":
            budget.os.fsync = lambda d: (fsync(d), die())
        elif mode == "uncharged":  # a broken copy, which draws first
            os.write(noise, b"x")
            die()
        while True:
            file.charge(PureRelease(epsilon=1e-3), label="child")
            write(noise, b"x")  # the noise is drawn only now

    random.seed(7)
    for _ in range(times):
        before, patience = os.fstat(noise).st_size, time.monotonic() + 30
        pid = os.fork()
        if pid == 0:
            child()
        if mode == "any time":
            while os.fstat(noise).st_size == before and time.monotonic() < patience:
                time.sleep(0.001)  # until the child is at work, however busy the machine
            time.sleep(random.uniform(0, 0.02))
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
"""


def run_killed(path: Path, mode: str, times: int) -> int:
    """How many draws of noise there were."""
    drawn = path.with_name("drawn")
    process = python(KILLED, path, drawn, mode, times)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return len(drawn.read_bytes())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
@pytest.mark.parametrize(
    ("mode", "times", "charged"),
    [("before write", 2, 1), ("before fsync", 3, 4), ("after fsync", 3, 4), ("any time", 15, None)],
)
def test_a_run_killed_at_any_point_leaves_the_budget_charged(
    path: Path, mode: str, times: int, charged: int | None
) -> None:
    file = BudgetFile.create(path, 1000.0, 0.0)
    drawn = run_killed(path, mode, times)
    found = len(file.charges())  # the lock died with its holder, and no line is torn
    assert found >= drawn
    if charged is not None:
        assert (found, drawn) == (charged, 1)
    else:
        assert drawn >= times  # the killing did not come before anything happened
        assert found - drawn <= times


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_run_killed_within_a_write_is_noticed(path: Path) -> None:
    file = BudgetFile.create(path, 1000.0, 0.0)
    assert run_killed(path, "torn write", 1) == 1
    with pytest.raises(InputError, match="incomplete"):
        file.charges()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_broken_copy_that_draws_first_would_be_seen(path: Path) -> None:
    file = BudgetFile.create(path, 1000.0, 0.0)
    assert run_killed(path, "uncharged", 3) > len(file.charges())


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_many_kills(path: Path) -> None:
    file = BudgetFile.create(path, 1e6, 0.0)
    drawn = run_killed(path, "any time", 300)
    assert drawn <= len(file.charges()) <= drawn + 301
    assert signal.SIGKILL


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_makes_and_shows_a_budget(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", str(path), "--create", "--epsilon", "1", "--delta", "1e-6", "--unit", "user"]) == 0
    assert capfd.readouterr().out == f"wrote {path}: ε = 1, δ = 1e-06 per user (add-remove)\n"
    assert main(["budget", str(path)]) == 0
    assert capfd.readouterr().out.splitlines()[1] == "spent: ε = 0 (nothing), left: 1"
    BudgetFile(path).charge(TENTH, 3, label="vocabulary")
    assert main(["budget", str(path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split("\t") == ["date", "model", "ε alone", "released", "by"]
    assert lines[1].split("\t")[1:4] == ["-", "0.3", "3 × vocabulary"]
    assert lines[2:4] == ["budget: ε = 1, δ = 1e-06 per user (add-remove)", "spent: ε = 0.3 (rdp), left: 0.7"]
    assert main(["budget", str(path), "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["epsilon"], told["unit"], told["method"]) == (1.0, "user", "rdp")
    assert told["spent"] + told["left"] == pytest.approx(1.0)
    assert told["charges"][0]["entries"] == [Entry(TENTH, 3, "vocabulary").to_json()]


def test_the_history_is_one_line_for_each_run(
    path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(file=BudgetFile.create(path, 1.0, 0.0))
    ledger.reserve([Entry(TENTH, 1, "vocabulary")], run="a", method="PrivateVectorizer")
    ledger.reserve([Entry(TENTH, 1, "sizes"), Entry(TENTH, 2, "rounds")], run="b", method="PrivateLDA")
    ledger.reserve([Entry(TENTH, 1, "rounds")], run="c", method="SubsampledLDA")
    monkeypatch.setattr(budget_module, "_today", lambda: "2100-01-01")
    ledger.reserve([Entry(TENTH, 3, "rounds")], run="b", method="PrivateLDA")
    assert main(["budget", str(path)]) == 0
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()[1:4]]
    assert [row[1:4] for row in rows] == [
        ["PrivateVectorizer", "0.1", "vocabulary"],
        ["PrivateLDA", "0.6", "sizes, 5 × rounds"],
        ["SubsampledLDA", "0.1", "rounds"],
    ]
    assert rows[1][0].endswith(" to 2100-01-01")
    assert main(["budget", str(path), "--json"]) == 0
    charges = json.loads(capfd.readouterr().out)["charges"]
    assert [charge["run"] for charge in charges] == ["a", "b", "c", "b"]
    assert charges[1]["entries"] == [Entry(TENTH, 1, "sizes").to_json(), Entry(TENTH, 2, "rounds").to_json()]


def test_delta_is_that_of_fit_unless_said(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", str(path), "--create", "--epsilon", "3"]) == 0
    assert capfd.readouterr().out == f"wrote {path}: ε = 3, δ = 1e-06 per document (add-remove)\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no budget file"),
        (["--epsilon", "2"], "Add --create"),
        (["--counter", "x"], "Add --create"),
        (["--create"], "needs --epsilon"),
        (["--create", "--delta", "1e-6"], "needs --epsilon"),
        (["--create", "--epsilon", "0", "--delta", "0"], "positive, finite epsilon"),
        (["--create", "--epsilon", "nan", "--delta", "0"], "positive, finite epsilon"),
        (["--create", "--epsilon", "1", "--delta", "1"], "delta < 1"),
        (["--create", "--epsilon", "1", "--delta", "0", "--unit", "family"], "unit must be one of"),
    ],
)
def test_the_command_refuses_in_one_line(
    path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["budget", str(path), *arguments]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not path.exists()


def test_help_ends_with_an_example(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", "--help"]) == 0
    assert capfd.readouterr().out.rstrip().splitlines()[-1].startswith("  Example:  discreet budget ")


def test_an_overdrawn_reservation_of_a_file(path: Path) -> None:
    reservation = BudgetFile.create(path, 1.0, 0.0).charge(TENTH, 2, label="x")
    reservation.draw(2)
    with pytest.raises(Overdrawn):
        reservation.draw()
