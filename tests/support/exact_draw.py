"""The draw of the exact sweep, read a second time: scalar, and over all of its random bits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.kernels.lanes import LANES
from discreet.kernels.sums.counts import padded
from discreet.kernels.sweeps.exact import UNIFORM_BITS

SKIPPED = 2 ** (53 - UNIFORM_BITS)
"""Draws that give a uniform topic."""
GAMMA = Fraction(1, 2**UNIFORM_BITS)


def uniform(n_topics: int) -> list[Fraction]:
    """Share of the 2^32 second words that name each topic: floor(word · K / 2^32)."""
    starts = [-(-(k << 32) // n_topics) for k in range(n_topics + 1)]
    return [Fraction(b - a, 2**32) for a, b in pairwise(starts)]


class Draw:
    """A second, scalar reading of a draw: float32 products, float64 sums by lane, then the search for the mark."""

    def __init__(self, products: np.ndarray) -> None:
        wide = np.zeros(padded(len(products)))
        wide[: len(products)] = products
        self.running = np.cumsum(wide.reshape(-1, LANES), axis=0)  # within a lane, in rising order of topics
        self.lanes = np.cumsum(self.running[-1])
        self.n_topics = len(products)
        order = np.arange(len(wide)).reshape(-1, LANES).T.ravel()
        self.order = [k for k in order.tolist() if k < self.n_topics]
        """Topics as the mark passes them."""

    def topic(self, r: int) -> int:
        total = self.lanes[-1]
        mark = np.float64(r - SKIPPED) * (total * np.float64(1 / (2**53 - SKIPPED)))
        lane = int(((self.lanes <= mark) & (self.lanes < total)).sum())
        left = mark - (self.lanes[lane - 1] if lane else 0.0)
        column = self.running[:, lane]
        return LANES * int(((column <= left) & (column < column[-1])).sum()) + lane

    def chances(self) -> list[Fraction]:
        """Of each topic, uniform draws included, exactly: bisection finds where one topic gives way to the next."""
        place = {k: i for i, k in enumerate(self.order)}
        starts = []
        for i in range(self.n_topics):
            low, high = SKIPPED, 2**53  # the first r whose topic is at place i or later
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if place[self.topic(middle)] >= i else (middle + 1, high)
            starts.append(low)
        sizes = np.diff([*starts, 2**53]).tolist()
        drawn = {k: Fraction(size, 2**53) for k, size in zip(self.order, sizes, strict=True)}
        return [drawn[k] + GAMMA * share for k, share in enumerate(uniform(self.n_topics))]
