"""Copying SQLite's write-ahead log into the database, without making a commit wait for it.

By default SQLite does this inside the commit that makes the log long, and every request of that transaction waits while
megabytes are written. Here a thread copies, with a connection of its own, while the writer goes on; SQLite allows that
(a PASSIVE checkpoint). The log begins anew only when all of it has been copied and nobody appends meanwhile. So when
the thread finds that the log has become long, it asks the writer to copy what little is left, once, between two
transactions. The size of the file says nothing about that: SQLite begins anew inside the file and never shortens it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

from discreet.collector.store.engine import connect

PAUSE_SECONDS = 1.0
WORTHWHILE = 4 << 20
"""Bytes of the log below which nothing is copied."""
LONG = 32 << 20
"""Bytes in use above which the writer helps."""


class Log:
    """The write-ahead log of a SQLite file; of another database there is none (``path`` is None)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._help = threading.Event()
        self.n_helped = 0
        """How often the writer copied."""

    def size(self) -> int:
        """Of the file, in bytes."""
        try:
            return os.stat(f"{self.path}-wal").st_size
        except OSError:
            return 0

    def copy(self) -> None:
        """In the thread that copies: what can be copied without waiting for anyone."""
        if self.path is None or self.size() <= WORTHWHILE:
            return
        # a new connection each time: the file may have been taken away and put back
        with suppress(sqlite3.Error, OSError), closing(connect(self.path)) as connection:
            pages = _copy(connection)
            if pages * int(connection.execute("PRAGMA page_size").fetchone()[0]) > LONG:
                self._help.set()

    def after_commit(self, connection: sqlite3.Connection) -> None:
        """In the writer, between two transactions: copy the rest if asked."""
        if self._help.is_set():
            self._help.clear()
            self.n_helped += 1
            with suppress(sqlite3.Error):
                _copy(connection)


def _copy(connection: sqlite3.Connection) -> int:
    """The pages in the log, copied or not. (A full disk is no reason to stop: commits will say so.)"""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)


class Checkpoints:
    """The thread that copies. For other databases there is none."""

    def __init__(self, log: Log) -> None:
        self._log, self._stopping = log, threading.Event()
        self._thread = threading.Thread(target=self._run, name="collector-checkpoints", daemon=True)
        if log.path is not None:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_SECONDS):
            self._log.copy()
