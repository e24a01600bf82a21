"""Detects a budget file that was rolled back. It may only grow: its earlier content must remain its beginning, or
charges would be lost.

A `Mark` identifies what a file held by its length and digest. Marks are kept in two places.

- **This process** remembers the newest state of each budget that it has read or written (`require_growth`). It notices
  an older state that was put in place of the file, and a copy under another name.
- **A counter**, if the budget was made with one: a second file, on another disk or in a folder that backups do not
  restore. It gets a mark after each charge is on disk and before the charge counts. A crash between the two leaves the
  counter behind, which is safe, because what the file holds is counted as spent. The counter is never ahead, unless the
  budget file was rolled back; so that is refused, in every process.

Without a counter, a process that has not seen the file before cannot tell an older state from the newest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet._files import BINARY, append_line, lock, read_all, sync_folder

FORMAT = 1
_NEWEST: dict[str, Mark] = {}
"""The newest state of each budget that this process has seen, by its identity. Read and set under the file's lock."""


@dataclass(frozen=True)
class Mark:
    """A state of a budget file."""

    charges: int
    length: int
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Mark:
        return cls(content.count(b"\n") - 1, len(content), hashlib.sha256(content).hexdigest())

    def begins(self, content: bytes) -> bool:
        return self == Mark.of(content[: self.length])


def newest(identity: str) -> Mark | None:
    """The newest state of a budget that this process has seen, to be pickled with it for another process."""
    return _NEWEST.get(identity)


def remember(identity: str, mark: Mark | None) -> None:
    known = _NEWEST.get(identity)
    if mark is not None and (known is None or known.length < mark.length):
        _NEWEST[identity] = mark


def require_growth(path: Path, identity: str, content: bytes) -> None:
    """Refuse a state that does not begin with what this process has seen of the same budget; otherwise remember it."""
    known = _NEWEST.get(identity)
    if known is not None and not known.begins(content):
        raise InputError(_refusal(path, known, "this process has seen in it"))
    remember(identity, Mark.of(content))


class Counter:
    """The marks of one budget in a file of their own. Only ever appended."""

    def __init__(self, path: Path, budget: str) -> None:
        self.path, self._budget = path, budget

    @classmethod
    def create(cls, path: Path, budget: str) -> Counter:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        except FileExistsError:
            raise InputError(f"{path} exists already. Choose another name for the counter.") from None
        except OSError as error:
            raise InputError(f"the counter {path} cannot be made: {error.strerror}. Choose another place.") from None
        try:
            append_line(descriptor, cls._header(budget))
        except BaseException:  # a full disk: leave no incomplete file
            os.unlink(path)
            raise
        finally:
            os.close(descriptor)
        sync_folder(path.parent)
        return cls(path, budget)

    def check(self, file: Path, content: bytes) -> None:
        """Refuse a state of the budget that does not begin with what the counter has seen."""
        with self._locked(os.O_RDONLY) as descriptor:
            self._check(self._last(read_all(descriptor)), file, content)

    def require_writable(self) -> None:
        """Called before a charge is written, which could not be undone."""
        with self._locked(os.O_RDWR | os.O_APPEND):
            pass

    def advance(self, file: Path, content: bytes) -> None:
        """Mark the state that the budget has now. On disk when this returns."""
        with self._locked(os.O_RDWR | os.O_APPEND) as descriptor:
            marks = read_all(descriptor)
            self._check(self._last(marks), file, content)  # again: a copy of the file may have been charged meanwhile
            os.ftruncate(descriptor, marks.rfind(b"\n") + 1)  # an incomplete line: its charge never counted
            append_line(descriptor, asdict(Mark.of(content)))

    @staticmethod
    def _header(budget: str) -> dict[str, Any]:
        return {"discreet_counter": FORMAT, "budget": budget}

    def _check(self, last: Mark | None, file: Path, content: bytes) -> None:
        if last is not None and not last.begins(content):
            raise InputError(_refusal(file, last, f"its counter {self.path} has seen"))

    def _last(self, content: bytes) -> Mark | None:
        first, *lines = content.split(b"\n")[:-1] or [b""]
        try:
            if json.loads(first) != self._header(self._budget):
                raise InputError(f"{self.path} is not the counter of this budget. Restore the right one.")
            return Mark(**json.loads(lines[-1])) if lines else None
        except (ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the counter {self.path} is damaged, so nobody can tell whether the budget file is complete. "
                "Restore the counter."
            ) from None

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        """The open file, with its own lock, since copies of a budget file have different locks."""
        try:
            descriptor = os.open(self.path, flags | BINARY)
        except OSError as error:
            raise InputError(self._missing(error)) from None
        try:
            lock(descriptor, alone=flags != os.O_RDONLY)
            yield descriptor
        finally:
            os.close(descriptor)

    def _missing(self, error: OSError) -> str:
        if not isinstance(error, FileNotFoundError):
            return f"the counter {self.path} of this budget cannot be opened: {error.strerror}. Make it accessible."
        anew = f"echo {shlex.quote(json.dumps(self._header(self._budget)))} > {shlex.quote(str(self.path))}"
        return (
            f"the counter {self.path} of this budget is missing, so nobody can tell whether the budget file is "
            "complete. Restore the counter. If it is lost and you are sure that no charge is missing from the file, "
            f"make a new one: {anew}"
        )


def _refusal(path: Path, mark: Mark, seen: str) -> str:
    charges = "1 charge" if mark.charges == 1 else f"{mark.charges} charges"
    return (
        f"{path} was rolled back: it does not begin with the {charges} that {seen}, so it is an older state or a copy. "
        "What was spent stays spent, and nothing more is charged. Restore the newest file."
    )
