"""A budget on disk: one file for one data set, across runs and people.

JSON lines, only ever appended: a header, then one line for each charge. Each line carries a digest of itself and of
everything before it, so that an edit, a lost line or a merge of two copies is found (but not lost *last* lines).

- **A charge is on disk before it counts.** Under an exclusive lock: read everything, check, append one line, fsync,
  return. Noise is drawn after that, so a run killed at any point leaves the budget charged, never uncharged.
- **The lock is the kernel's**, on the file itself: it ends with the process that held it, however that ends.
- **An incomplete last line** (the machine lost power while a charge was written, or the disk was full) means that the
  charge never returned, so its noise was never drawn — if the disk kept its word about fsync. That is for a person to
  judge: nothing is read, shown as spent or charged until they have, and the message says what to do. Ignoring it could
  lose a charge; charging everything would let one full disk end the data set.

A copy of the file is a second budget: keep one, and back it up only to read. The file holds planned parameters and no
data. On network disks the lock is as good as theirs (NFSv4 and SMB keep it between machines).
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
from discreet._files import BINARY, lock, sync_folder
from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation

FORMAT = 1
_HEADER = {"discreet_budget", "epsilon", "delta", "unit", "relation", "created", "id"}
_CHARGE = {"time", "by", "entries", "digest"}


@dataclass(frozen=True)
class Charge:
    """One line of the file: a plan that was charged at once."""

    time: str
    by: str
    entries: tuple[Entry, ...]


class BudgetFile:
    """The budget in ``path``, which `create` made. Opening reads it once: it learns its unit and finds damage early."""

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
    ) -> BudgetFile:
        """A new file. Refuses to touch one that exists: that would give its budget back."""
        checked = Ledger(Budget(epsilon, delta), unit=unit, relation=relation)
        header = {
            "discreet_budget": FORMAT,
            **Budget(epsilon, delta).to_json(),
            "unit": str(checked.unit),
            "relation": str(checked.relation),
            "created": _now(),
            "id": secrets.token_hex(8),
        }
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        except FileExistsError:
            raise InputError(f"{path} exists already. Choose another name: a budget is never made anew.") from None
        try:
            _append(descriptor, header)
        except BaseException:  # a full disk: nothing half-made stays
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

    def ledger(self) -> Ledger:
        """A record of what the file holds now."""
        return self.ledger_of(self.charges())

    def ledger_of(self, charges: Sequence[Charge]) -> Ledger:
        return Ledger.record(self.budget, self.unit, self.relation, [e for c in charges for e in c.entries])

    @property
    def identity(self) -> str:
        """The same wherever the file is moved to, and no other's, unless it is a copy."""
        return json.dumps(self._header, sort_keys=True)

    def is_the_same_as(self, other: BudgetFile) -> bool:
        """Whether a charge to one is a charge to the other. Not so of a copy, nor of a new file in an old place."""
        return self.identity == other.identity and self.path.resolve() == other.path.resolve()

    def __repr__(self) -> str:
        return f"<BudgetFile {self.path}: {self.budget} per {self.unit}>"

    # --- charging ---------------------------------------------------------------------------------------------------

    def charge(self, event: Event, count: int = 1, *, label: str) -> Reservation:
        """Charge ``count`` times ``event``, or raise and change nothing. On disk when it returns."""
        return self.reserve([Entry(event, count, label)])

    def reserve(self, plan: Sequence[Entry]) -> Reservation:
        """Charge a whole plan as one line, or raise and change nothing. On disk when it returns."""
        entries = tuple(plan)
        Ledger(unit=self.unit, relation=self.relation).fits(entries)  # what is wrong with the plan itself needs no lock
        with self._locked(writing=True) as descriptor:
            _, charges, content = self._read(descriptor)
            self.ledger_of(charges).fits(entries)
            line = {"time": _now(), "by": _who(), "entries": [entry.to_json() for entry in entries]}
            _append(descriptor, {**line, "digest": _digest(hashlib.sha256(content), line)})
            self._still_there(descriptor)
        return Reservation(entries)

    # --- the file ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self, *, writing: bool = False) -> Iterator[int]:
        """The open file, which nobody else is writing (and, for ``writing``, nobody reads). Waits for whoever is."""
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
            os.close(descriptor)  # ends the lock too

    def _still_there(self, descriptor: int) -> None:
        """A charge to a file that nobody will find again is none."""
        if not _is_still(self.path, descriptor):
            raise InputError(f"{self.path} was replaced by another file meanwhile. Try again.")

    def _read(self, descriptor: int) -> tuple[dict[str, Any], tuple[Charge, ...], bytes]:
        """Header, charges, and the bytes that hold them."""
        content = _content(descriptor)
        *lines, rest = content.split(b"\n")
        if rest:
            ours = bool(lines) and set(_object(lines[0])) == _HEADER
            raise InputError(self._torn(len(lines) if ours else 0, len(content) - len(rest)))
        header: dict[str, Any] = {}
        charges = []
        before = hashlib.sha256()
        for number, line in enumerate(lines, 1):
            found = _object(line)
            if number == 1:
                if set(found) != _HEADER or found["discreet_budget"] != FORMAT:
                    break
                header = found
            elif set(found) != _CHARGE or found.pop("digest") != _digest(before, found):
                raise InputError(
                    f"{self.path} is damaged: line {number} of {len(lines)} does not follow what stands before it "
                    "(edited, merged, or lines lost). What was spent is unknown, so nothing more is. "
                    "Restore the original."
                )
            else:
                entries = tuple(Entry.from_json(entry) for entry in found["entries"])
                charges.append(Charge(str(found["time"]), str(found["by"]), entries))
            before.update(line + b"\n")
        if self._header and header != self._header:
            raise InputError(f"{self.path} has become another budget since it was opened. Open it again.")
        if not header:
            raise InputError(
                f"{self.path} is not a budget file of this version: its first line is not a budget's. Make one with "
                "`discreet budget FILE --create`."
            )
        return header, tuple(charges), content

    def _torn(self, complete: int, length: int) -> str:
        if complete == 0:
            return (
                f"{self.path} is not a budget file, or its making was cut off. If it is new, remove it and create it "
                "again."
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


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    blocks = []
    while block := os.read(descriptor, 1 << 20):
        blocks.append(block)
    return b"".join(blocks)


def _append(descriptor: int, line: Mapping[str, Any]) -> None:
    """One write, then fsync: when this returns, the line is on disk. A short write leaves a torn line, to be found."""
    data = json.dumps(line, allow_nan=False).encode() + b"\n"
    os.lseek(descriptor, 0, os.SEEK_END)
    written = os.write(descriptor, data)
    if written != len(data):
        raise OSError(f"only {written} of {len(data)} bytes of a charge could be written: the disk may be full")
    os.fsync(descriptor)


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(before: Any, line: Mapping[str, Any]) -> str:
    """Of the line, which has none yet, after everything before it."""
    digest = before.copy()
    digest.update(json.dumps(line).encode())
    return str(digest.hexdigest()[:16])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "unknown"
    return f"{user}@{platform.node()}"
