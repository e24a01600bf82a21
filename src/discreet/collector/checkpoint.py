"""Copying SQLite's write-ahead log into the database, without making a commit wait for it.

By default SQLite does this inside the commit that makes the log long, and every request of that transaction waits while
megabytes are written. Here a thread copies, with a connection of its own, while the writer goes on; SQLite allows that
(a PASSIVE checkpoint). The log begins anew only when all of it has been copied and nobody appends meanwhile: so when it
has become long, the writer copies what little is left, between two transactions.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

from discreet.collector.engine import connect

PAUSE_SECONDS = 1.0
WORTHWHILE = 4 << 20
"""Bytes of the log below which nothing is copied."""
LONG = 96 << 20
"""Bytes above which the writer helps."""


def log_size(path: Path) -> int:
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:
        return 0


def copy_log(connection: sqlite3.Connection) -> None:
    """Copy what can be copied without waiting for anyone. (A full disk is no reason to stop: commits will say so.)"""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


class Checkpoints:
    """The thread that copies. For other databases there is none."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._stopping = path, threading.Event()
        self._thread = threading.Thread(target=self._run, name="collector-checkpoints", daemon=True)
        if path is not None:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _run(self) -> None:
        assert self._path is not None
        while not self._stopping.wait(PAUSE_SECONDS):
            if log_size(self._path) > WORTHWHILE:
                # a new connection each time: the file may have been taken away and put back
                with suppress(sqlite3.Error, OSError), closing(connect(self._path)) as connection:
                    copy_log(connection)
