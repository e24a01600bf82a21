"""Ctrl-C between two steps, not within one: so that a run that has been paid for loses nothing."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Paused(KeyboardInterrupt):
    """Ctrl-C was pressed, and the run stopped where it can go on: nothing will be repeated or charged again."""


_active: Callable[[], bool] | None = None
"""Of the outermost `finishing`, which those within share. (In the main thread only.)"""


@contextmanager
def finishing(step: str, *, wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C lets the current ``step`` end; the function that this gives says whether there was one.

    A second Ctrl-C stops at once. Signals are heard in the main thread only, and where another handler than Python's
    own is installed it stays: then, and if it is not ``wanted``, nothing changes.
    """
    global _active
    earlier, asked = signal.getsignal(signal.SIGINT), False
    in_main = threading.current_thread() is threading.main_thread()
    if wanted and in_main and _active is not None:
        yield _active
        return
    if not (wanted and in_main and earlier is signal.default_int_handler):
        yield lambda: False
        return

    def first(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, earlier)
        print(f"\nstopping after this {step}; Ctrl-C again stops at once", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, first)
    _active = lambda: asked  # noqa: E731
    try:
        yield _active
    finally:
        _active = None
        signal.signal(signal.SIGINT, earlier)
