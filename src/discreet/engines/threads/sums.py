"""Sums of units' contributions: 32-bit whole numbers, moved into 64-bit sums before they could overflow.

They need half the memory of 64 bits, so that they stay in a core's own cache together with the tables of a round:
besides its sweeps, a private round spends much of its time on adding contributions to cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet._types import IntArray, UInt32Array
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
