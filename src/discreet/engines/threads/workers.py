"""Threads that share pieces of work. The caller is one of them: waking a sleeping thread costs time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray


def count_threads(n_threads: int | None) -> int:
    """All cores for None."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_threads < 1:
        raise InputError(f"n_threads must be at least 1; found {n_threads}. Leave it out to use every core.")
    return int(n_threads)


ROUNDS = 3
"""Rounds of pieces: half of the work, then a quarter, then the rest. There are few pieces, since each costs its start
and idle slots at its end. The last ones are small, so that other threads do not wait long for a core that other
programs slow down."""


def shares(n_threads: int) -> FloatArray:
    """Where to cut work into pieces for ``n_threads`` threads, as shares of all work."""
    if n_threads == 1:
        return np.array([0.0, 1.0])
    sizes = 0.5 ** np.minimum(np.arange(1, ROUNDS + 1), ROUNDS - 1)
    return np.concatenate([[0.0], np.cumsum(np.repeat(sizes / n_threads, n_threads))])


class Workers:
    """``n_threads`` threads, the caller's own included. Work runs in parallel only while it has released Python's
    lock."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = count_threads(n_threads)
        self._others = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def share(self, work: Callable[[int, int], None], n_pieces: int) -> None:
        """Call ``work(thread, piece)`` for every piece. A thread takes the pieces thread, thread + n_threads, … and
        then those that other threads have not begun: what it used in one call is in its core's cache in the next."""
        queues = [iter(range(first, n_pieces, self.n_threads)) for first in range(self.n_threads)]
        taking = Lock()

        def run(thread: int) -> None:
            for queue in (*queues[thread:], *queues[:thread]):
                while True:
                    with taking:  # each piece goes to one thread, also in Python without a global lock
                        piece = next(queue, None)
                    if piece is None:
                        break
                    work(thread, piece)

        helping = min(self.n_threads, n_pieces) - 1
        if self._others is None or helping < 1:
            run(0)
            return
        others = [self._others.submit(run, thread) for thread in range(1, helping + 1)]
        try:
            run(0)
        finally:
            wait(others)  # also after Ctrl-C: no thread may still write into the caller's arrays
        for other in others:
            other.result()

    def close(self) -> None:
        """End the threads."""
        if self._others is not None:
            self._others.shutdown()
