"""Is the file that SQLite has open still the file that has its name?

SQLite goes on writing into a file that was deleted or replaced: it would acknowledge reports that are lost as soon as
the process ends. So the writer asks before and after each commit. It costs two system calls.
"""

from __future__ import annotations

import os
from pathlib import Path


class Lost(OSError):
    """The database file, or its log, was deleted or replaced under the open connection."""


class Place:
    """The identity of a SQLite file and of its write-ahead log. For other databases it checks nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._log = None if path is None else Path(f"{path}-wal")
        self._known: tuple[int, int] | None = None
        self._known_log: tuple[int, int] | None = None

    def check(self, *, written: bool = False) -> None:
        """Raise if the file is not the one of the last check. ``written``: a commit has been made, so a log exists."""
        if self.path is None or self._log is None:
            return
        self._known = self._same(self.path, self._known)
        if written or self._known_log is not None:
            self._known_log = self._same(self._log, self._known_log)

    def forget(self) -> None:
        """The connection was closed: the next one may find a file that was put back."""
        self._known = self._known_log = None

    @staticmethod
    def _same(path: Path, known: tuple[int, int] | None) -> tuple[int, int]:
        try:
            found = os.stat(path)
        except OSError as error:
            raise Lost(error.errno, "the database file is gone") from error
        identity = (found.st_dev, found.st_ino)
        if known is not None and identity != known:
            raise Lost("the database file was replaced")
        return identity
