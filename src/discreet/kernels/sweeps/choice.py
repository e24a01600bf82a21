"""One draw from a few weights ("chances") that were just computed, for the token loops of the papers."""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray, Int
from discreet.kernels.compile import part

ROW = 8
"""Chances are added up in rows of eight: sums of rows are independent, while in one running sum each addition waits."""


@part
def choose(chances: FloatArray, row_ends: FloatArray, n_topics: Int, uniform: float) -> int:
    """The topic at ``uniform`` of the way through the chances, which need not sum to 1.

    ``chances`` is zero from ``n_topics`` on and as long as ``row_ends``, which is overwritten, times eight. Sums are in
    rising order: within each row, then over rows.
    """
    total = 0.0
    for row in range(row_ends.shape[0]):
        at = np.uint64(ROW * row)
        total += (
            chances[at]
            + chances[at + np.uint64(1)]
            + chances[at + np.uint64(2)]
            + chances[at + np.uint64(3)]
            + chances[at + np.uint64(4)]
            + chances[at + np.uint64(5)]
            + chances[at + np.uint64(6)]
            + chances[at + np.uint64(7)]
        )
        row_ends[row] = total
    mark = uniform * total
    row = 0
    while row < row_ends.shape[0] - 1 and row_ends[row] <= mark:
        row += 1
    running = row_ends[row - 1] if row > 0 else 0.0
    topic, last = ROW * row, min(ROW * row + ROW, n_topics) - 1
    while topic < last and running + chances[topic] <= mark:
        running += chances[topic]
        topic += 1
    return topic
