"""Poisson sampling: a unit takes part when 32 random bits of its own are below a threshold.

A rate is part of what is charged, so it is computed here, next to the noise: the rate in an event is that of the
threshold.
"""

from __future__ import annotations

import math


def coin_threshold(rate: float) -> int:
    """The smallest threshold whose rate is not below ``rate``."""
    return math.ceil(rate * 2**32)


def coin_rate(threshold: int) -> float:
    """The probability that 32 random bits are below ``threshold``, exactly."""
    return threshold / 2**32
