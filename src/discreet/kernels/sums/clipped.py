"""A unit's contribution as whole numbers within a clip: the last step of kernels whose units contribute few cells."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, IntArray
from discreet.kernels.compile import kernel
from discreet.kernels.sums.contributions import LARGEST_CLIP, TRIES


@kernel
def add_clipped(values: FloatArray, cells: IntArray, n: Int, clip: float, out: IntArray) -> None:
    """Add ``values[i]`` to ``out[cells[i]]`` for the first ``n``, shrunk to ℓ₂ norm ``clip`` where they are longer and
    truncated to whole numbers. ``clip`` is in steps of the grid, and so are the values, which are not negative.

    The guarantee does not depend on the arithmetic, which is rounded, but on the whole numbers that result: their
    squares are added up as integers, and if the sum exceeds ⌊clip²⌋ the unit is shrunk again; after a few tries, or if
    anything is negative or not finite, it contributes nothing. No float is converted to a whole number before it is
    known to lie between 0 and clip + 1, and nothing is added to a sum of squares that has passed the limit.
    """
    if not (clip >= 0.0 and clip <= LARGEST_CLIP):  # also for NaN
        return
    limit = np.int64(math.floor(clip * clip))
    squares = 0.0
    for i in range(n):
        squares += values[i] * values[i]
    norm = math.sqrt(squares)
    if not norm < math.inf:  # also for NaN
        return
    shrink = clip / norm if norm > clip else 1.0
    for _ in range(TRIES):  # [check-clipped] integers only: no rounding lets a unit exceed the clip
        whole = np.int64(0)
        for i in range(n):
            real = shrink * values[i]
            if not (real >= 0.0 and real <= clip + 1.0):  # also refuses NaN
                whole = limit + 1
            elif whole <= limit:
                whole += np.int64(real) * np.int64(real)
        if whole <= limit:
            for i in range(n):
                out[cells[i]] += np.int64(shrink * values[i])
            return
        shrink *= 1.0 - 1e-6
