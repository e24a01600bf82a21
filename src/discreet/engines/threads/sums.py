"""Sums of units' contributions over threads.

Sums of rounds are 32-bit whole numbers, moved into 64-bit sums before they could overflow. They need half the memory of
64 bits, so that they stay in a core's own cache together with the tables of a round:
besides its sweeps, a private round spends much of its time on adding contributions to cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet._types import IntArray, UInt32Array
from discreet.engines.threads.workers import Workers, shares
from discreet.kernels.sweeps.slots import aligned

LIMIT = 2**31
"""Beyond the range of signed 32-bit numbers."""


class Sums:
    """The sum of contributions of one thread. No unit has a cell beyond ``clip``."""

    def __init__(self, n_cells: int, clip: float) -> None:
        self.total: IntArray = np.zeros(n_cells, np.int64)
        self._cells: UInt32Array = aligned(n_cells, np.uint32)
        self._at_once = max(1, (LIMIT - 1) // max(1, math.ceil(clip)))  # [sums]

    def add(self, work: Callable[[int, int, UInt32Array], None], first: int, last: int) -> None:
        """Call ``work(first, last, cells)`` for as many units at a time as fit."""
        for start in range(first, last, self._at_once):
            work(start, min(start + self._at_once, last), self._cells)
            self.total += self._cells.view(np.int32)
            self._cells[:] = 0


def added_up(
    workers: Workers, token_ends: IntArray, n_cells: int, add: Callable[[int, int, IntArray], None]
) -> IntArray:
    """What ``add(first, last, out)`` adds to ``out`` for all units, in pieces with similar numbers of tokens. Unit m
    ends at token ``token_ends[m]``."""
    n_units = len(token_ends)
    cuts = np.searchsorted(token_ends, token_ends[-1] * shares(workers.n_threads)) if n_units else np.zeros(2, np.int64)
    cuts[0], cuts[-1] = 0, n_units
    out = np.zeros((workers.n_threads, n_cells), np.int64)
    workers.share(lambda thread, piece: add(cuts[piece], cuts[piece + 1], out[thread]), len(cuts) - 1)
    return np.asarray(out.sum(axis=0))
