"""Delays Ctrl-C until the current step has ended, so that a run that has been paid for loses nothing."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Paused(KeyboardInterrupt):
    """Ctrl-C was pressed, and the run stopped where it can be resumed: nothing will be repeated or charged again."""


_active: Callable[[], bool] | None = None
"""Set by the outermost `finishing` and shared by nested ones. (In the main thread only.)"""


@contextmanager
def finishing(step: str, *, wanted: bool = True) -> Iterator[Callable[[], bool]]:
    """Inside the block, the first Ctrl-C lets the current ``step`` end; the yielded function says whether there was
    one.

    A second Ctrl-C stops at once. Nothing changes if not ``wanted``, outside the main thread (which alone receives
    signals), or if another handler than Python's own is installed.
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
