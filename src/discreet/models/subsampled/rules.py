"""Rules of SUB-LDA (Huang and Chen 2021) that depend only on their arguments."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from discreet._types import BoolArray, FloatArray


def frequent_cells(table: FloatArray, share: float) -> BoolArray:
    """Word × topic: whether the word is one of the topic's frequent ones (the set in Eq. 10).

    The fewest words that together hold the ``share`` (the paper's q) of the topic's counts; ties by the order of words.
    Counts below zero, which noise can make, are zero. A topic without counts has no frequent word.
    """
    counts = np.maximum(table, 0.0)
    order = np.argsort(-counts, axis=0, kind="stable")
    sorted_counts = np.take_along_axis(counts, order, axis=0)
    before = np.cumsum(sorted_counts, axis=0) - sorted_counts
    wanted = (before < share * counts.sum(axis=0)) & (sorted_counts > 0)
    found = np.zeros(table.shape, bool)
    np.put_along_axis(found, order, wanted, axis=0)
    return found


def size_ratio(boost: float, share: float) -> float:
    """Eq. 11: E|G_sub| / E|Ḡ_sub| = 1/(vq) = η, uniform over adaptive, if frequent cells hold just ``share`` of all
    tokens (the paper's q; ``boost`` is v)."""
    return 1 / (boost * share)


def variance_ratio(rate: float, boost: float, share: float) -> float:
    """Eq. 12: Var|G_sub| / Var|Ḡ_sub| = (1 − γ)/(qv(1 − vγ)), under the same condition; ``rate`` is γ."""
    return (1 - rate) / (share * boost * (1 - boost * rate))


class Converged:
    """Eq. 9: |per_i − per_{i−1}| ≤ D̂ for i = T, …, T + s."""

    def __init__(self, tolerance: float, patience: int) -> None:
        self.tolerance = tolerance
        self._last: deque[float] = deque(maxlen=patience + 2)  # s + 1 differences are s + 2 values

    def __call__(self, perplexity: float) -> bool:
        self._last.append(perplexity)
        values = list(self._last)
        still = all(abs(b - a) <= self.tolerance for a, b in pairwise(values))
        return len(values) == self._last.maxlen and still
