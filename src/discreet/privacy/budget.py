"""A budget on disk: one file for one data set, across runs and people.

JSON lines, only ever appended: a header, then one line for each charge. Each line carries a digest of itself and of
everything before it, so that an edit, a lost line or a merge of two copies is detected. Lost *last* lines, as in a
restored backup, are detected by a process that has seen them, and by every process if the budget has a counter in a
second place (`rollback.py`).

- **A charge is on disk before it counts.** Under an exclusive lock: read everything, check, append one line, fsync,
  advance the counter, return. Noise is drawn after that, so a run killed at any point leaves the budget charged, never
  uncharged.
- **The lock is the operating system's**, on the file itself: it is released when the process that holds it exits.
- **An incomplete last line** (the machine lost power while a charge was written, or the disk was full) means that the
  charge never returned, so its noise was never drawn — if the disk really wrote what fsync confirmed. A person must
  judge this: until then nothing is read, shown as spent or charged, and the message says what to do. Ignoring the line
  could lose a charge; counting the whole budget as spent would let one full disk make the data set unusable.

A copy of the file is a second budget: keep one, and back it up only to read. The file holds planned parameters and no
data; it holds dates but no times, since how long the stages of a run took depends on private data. On network disks the
lock is as reliable as theirs (NFSv4 and SMB enforce it between machines).

Format 2 added ``counter`` to the header and ``id``, ``run`` and ``method`` to charges, and replaced their ``time`` by
``date``. Files of format 1 are read and charged; their new lines are of format 2, which earlier programs refuse.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet._errors import DataNotFound, InputError
from discreet._files import BINARY, append_line, lock, read_all, sync_folder
from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation
from discreet.privacy.rollback import Counter, Mark, newest, remember, require_growth

FORMAT = 2
_FIRST_HEADER = {"discreet_budget", "epsilon", "delta", "unit", "relation", "created", "id"}
_HEADERS = {1: _FIRST_HEADER, 2: {*_FIRST_HEADER, "counter"}}
_CHARGES = ({"time", "by", "entries", "digest"}, {"date", "by", "id", "run", "method", "entries", "digest"})


@dataclass(frozen=True)
class Charge:
    """One line of the file: a plan that was charged at once; where known, the run and the model it was for."""

    date: str
    by: str
    entries: tuple[Entry, ...]
    run: str | None = None
    method: str | None = None


class BudgetFile:
    """The budget in ``path``, which `create` made. Opening reads it once, to know its unit and to find damage early."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._header: dict[str, Any] = {}
        with self._locked() as descriptor:
            header, _, _ = self._read(descriptor)
        self._header = header
        self.budget = Budget(header["epsilon"], header["delta"])
        checked = Ledger(unit=header["unit"], relation=header["relation"])
        self.unit, self.relation = checked.unit, checked.relation

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        unit: Unit | str = Unit.DOCUMENT,
        relation: Relation | str | None = None,
        *,
        counter: str | os.PathLike[str] | None = None,
    ) -> BudgetFile:
        """A new file. Refuses to replace one that exists: that would restore its budget.

        ``counter`` names a second file, which must not exist either: on another disk, or where backups do not restore
        it. With it, every process notices a budget file that was rolled back to an older state.
        """
        checked = Ledger(Budget(epsilon, delta), unit=unit, relation=relation)
        second = None if counter is None else Path(counter).absolute()
        if second is not None and second == Path(path).absolute():
            raise InputError(f"the counter must be another file than the budget; found {path} for both.")
        header = {
            "discreet_budget": FORMAT,
            **Budget(epsilon, delta).to_json(),
            "unit": str(checked.unit),
            "relation": str(checked.relation),
            "created": _today(),
            "id": secrets.token_hex(8),
            "counter": None if second is None else str(second),
        }
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        except FileExistsError:
            raise InputError(f"{path} exists already. Choose another name: a budget is never replaced.") from None
        try:
            append_line(descriptor, header)
            if second is not None:
                Counter.create(second, str(header["id"]))
        except BaseException:  # a full disk: leave no incomplete file
            os.unlink(path)
            raise
        finally:
            os.close(descriptor)
        sync_folder(Path(path).absolute().parent)
        return cls(path)

    # --- reading ----------------------------------------------------------------------------------------------------

    def charges(self) -> tuple[Charge, ...]:
        """Everything that was ever charged, in order."""
        with self._locked() as descriptor:
            return self._read(descriptor)[1]

    def entries_of(self, run: str) -> tuple[Entry, ...]:
        """Everything that was charged in one run, by whichever process."""
        if not run:
            raise InputError("the name of a run must be a non-empty text.")
        return tuple(entry for charge in self.charges() if charge.run == run for entry in charge.entries)

    def ledger(self) -> Ledger:
        """A record of what the file holds now."""
        return self.ledger_of(self.charges())

    def ledger_of(self, charges: Sequence[Charge]) -> Ledger:
        return Ledger.record(self.budget, self.unit, self.relation, [e for c in charges for e in c.entries])

    @property
    def identity(self) -> str:
        """An id that stays the same when the file is moved. Only copies of the file share it."""
        return _identity(self._header)

    @property
    def counter(self) -> Path | None:
        """The second file, which shows whether this file is in an older state, if the budget was made with one."""
        counter = _counter_of(self._header)
        return None if counter is None else counter.path

    def is_the_same_as(self, other: BudgetFile) -> bool:
        """Whether a charge to one is a charge to the other. False for a copy, and for a new file at the same path."""
        return self.identity == other.identity and self.path.resolve() == other.path.resolve()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_newest": newest(self.identity)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        mark = state.pop("_newest")
        self.__dict__.update(state)
        remember(self.identity, mark)

    def __repr__(self) -> str:
        return f"<BudgetFile {self.path}: {self.budget} per {self.unit}>"

    # --- charging ---------------------------------------------------------------------------------------------------

    def charge(self, event: Event, count: int = 1, *, label: str) -> Reservation:
        """Charge ``count`` times ``event``, or raise and change nothing. On disk when it returns."""
        return self.reserve([Entry(event, count, label)])

    def mark(self, *, run: str, after: int) -> bool:
        """Write a line of ``run`` that charges nothing: it is resumed, and draws what it was charged for earlier.

        Writes nothing and returns False unless the run has exactly ``after`` lines now: somebody else has resumed it.
        """
        with self._locked(writing=True) as descriptor:
            if sum(charge.run == run for charge in self._read(descriptor)[1]) != after:
                return False
            self._append(descriptor, (), run, None)
        return True

    def reserve(self, plan: Sequence[Entry], *, run: str | None = None, method: str | None = None) -> Reservation:
        """Charge a whole plan as one line, or raise and change nothing. On disk when it returns.

        `entries_of` finds the charge by ``run`` (see `ledger.new_run`); ``method``, the model's name, is for people.
        """
        entries = tuple(plan)
        Ledger(unit=self.unit, relation=self.relation).fits(entries)  # errors of the plan itself need no lock
        with self._locked(writing=True) as descriptor:
            self._append(descriptor, entries, run, method)
        return Reservation(entries)

    def _append(self, descriptor: int, entries: tuple[Entry, ...], run: str | None, method: str | None) -> None:
        """Append one line. The caller holds the exclusive lock."""
        _, charges, content = self._read(descriptor)
        if entries:
            self.ledger_of(charges).fits(entries)
        counter = _counter_of(self._header)
        if counter is not None:
            counter.require_writable()
        line = {
            "date": _today(),
            "by": _who(),
            "id": secrets.token_hex(8),  # without it, equal charges to two copies would be equal lines
            "run": run,
            "method": method,
            "entries": [entry.to_json() for entry in entries],
        }
        content += append_line(descriptor, {**line, "digest": _digest(hashlib.sha256(content), line)})
        self._still_there(descriptor)
        remember(self.identity, Mark.of(content))
        if counter is not None:
            counter.advance(self.path, content)

    # --- the file ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self, *, writing: bool = False) -> Iterator[int]:
        """The open file under a shared lock, or an exclusive one for ``writing``. Waits until the lock is free."""
        if self.path.is_dir():
            raise InputError(f"{self.path} is a folder, not a budget file.")
        try:
            descriptor = os.open(self.path, (os.O_RDWR | os.O_APPEND if writing else os.O_RDONLY) | BINARY)
        except FileNotFoundError:
            raise DataNotFound(
                f"there is no budget file {self.path}. To make it: "
                f"discreet budget {self.path} --create --epsilon E --delta D."
            ) from None
        try:
            lock(descriptor, alone=writing)
            self._still_there(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)  # releases the lock too

    def _still_there(self, descriptor: int) -> None:
        """Refuse a file that has been removed or replaced: a charge to it would be lost."""
        if not _is_still(self.path, descriptor):
            raise InputError(f"{self.path} was replaced by another file meanwhile. Try again.")

    def _read(self, descriptor: int) -> tuple[dict[str, Any], tuple[Charge, ...], bytes]:
        """Header, charges, and the bytes that hold them."""
        content = read_all(descriptor)
        *lines, rest = content.split(b"\n")
        if rest:
            ours = bool(lines) and _is_header(_object(lines[0]))
            raise InputError(self._torn(len(lines) if ours else 0, len(content) - len(rest)))
        header: dict[str, Any] = {}
        charges = []
        before = hashlib.sha256()
        for number, line in enumerate(lines, 1):
            found = _object(line)
            if number == 1:
                if not _is_header(found):
                    break
                header = found
            elif set(found) not in _CHARGES or found.pop("digest") != _digest(before, found):
                raise InputError(
                    f"{self.path} is damaged: line {number} of {len(lines)} does not match the lines before it "
                    "(edited, merged, or lines lost). What was spent is unknown, so nothing more may be spent. "
                    "Restore the original."
                )
            else:
                entries = tuple(Entry.from_json(entry) for entry in found["entries"])
                date = str(found["date"] if "date" in found else found["time"])[: len("2026-11-16")]
                charges.append(Charge(date, str(found["by"]), entries, found.get("run"), found.get("method")))
            before.update(line + b"\n")
        if self._header and header != self._header:
            raise InputError(f"{self.path} has become another budget since it was opened. Open it again.")
        if not header:
            raise InputError(
                f"{self.path} is not a budget file of this version: its first line is not a budget's. Make one with "
                "`discreet budget FILE --create`."
            )
        require_growth(self.path, _identity(header), content)
        if (counter := _counter_of(header)) is not None:
            counter.check(self.path, content)
        return header, tuple(charges), content

    def _torn(self, complete: int, length: int) -> str:
        if complete == 0:
            return (
                f"{self.path} is not a budget file, or its creation was interrupted. If it is new, remove it and "
                "create it again."
            )
        return (
            f"the last line of {self.path} is incomplete: the machine or the disk stopped while a charge was written. "
            f"That run drew no noise if the disk kept every write that it had confirmed. If you are sure that it "
            f"released nothing, cut the file to its {complete} complete lines: truncate -s {length} {self.path}. "
            "If not, count the budget as spent."
        )


# --- the operating system ---------------------------------------------------------------------------------------------


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(before: Any, line: Mapping[str, Any]) -> str:
    """The digest of the line (which holds none yet) and of everything before it."""
    digest = before.copy()
    digest.update(json.dumps(line).encode())
    return str(digest.hexdigest()[:16])


def _is_header(line: Mapping[str, Any]) -> bool:
    return set(line) == _HEADERS.get(line.get("discreet_budget"))  # type: ignore[arg-type]


def _counter_of(header: Mapping[str, Any]) -> Counter | None:
    named = header.get("counter")
    return None if named is None else Counter(Path(named), header["id"])


def _identity(header: Mapping[str, Any]) -> str:
    return json.dumps(header, sort_keys=True)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"
    return f"{user}@{platform.node()}"
