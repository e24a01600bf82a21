"""A bar with the bytes read so far, or the steps done, for what takes long. On a terminal only: a log needs no bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0
"""Seconds without a bar: most files are read by then, and importing the bar would take part of that time."""


@contextmanager
def reading(quiet: bool) -> Iterator[None]:
    """Show what is read in this block."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from discreet.corpus.lines import watched_by

    bar = _Bar()
    try:
        with watched_by(bar):
            yield
    finally:
        bar.close()


class _Bar:
    def __init__(self) -> None:
        self._from = time.monotonic() + PATIENCE
        self._progress: Any = None
        self._what = ""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if self._progress is None or what != self._what:
            if time.monotonic() < self._from:
                return
            self.close()
            self._open(what)
        self._progress.update(self._task, completed=done, total=total)

    def _open(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        from discreet.corpus.lines import READING

        so_far = DownloadColumn() if what == READING else MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), so_far, TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        self._task, self._what = self._progress.add_task(what, total=None), what

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
