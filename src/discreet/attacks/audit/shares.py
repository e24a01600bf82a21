"""Many independent runs with many canaries each: the strongest bound that assumes nothing about a mechanism.

Canaries of one run may influence each other in any way, so they are not counted one by one. A run gives two numbers,
with s_i and b_i the score and the bit of canary i, and S a set of scores:

    x = (1/n)·#{i: b_i = 1, s_i ∈ S},      y = (1/n)·#{i: b_i = 0, s_i ∈ S}.

Bits are fair and independent, so (ε, δ) for each canary, added up and divided by 2n, says E[x] ≤ e^ε·E[y] + δ/2. Runs
are independent: E[x] is bounded from below and E[y] from above by the means of numbers in [0, 1] (`mean_at_least`). A
run of a thousand canaries has x and y a thousand times less variable than a run of one, at hardly more than its cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet._types import BoolArray, FloatArray
from discreet.attacks.audit.bounds import ManyRuns, Test, at_least, at_most, candidates, log_ratio

CAREFUL = 0.9
"""The largest share of the wealth that is staked."""


def mean_at_least(values: FloatArray, failure_probability: float) -> float:
    """The mean of independent numbers in [0, 1] with one law is at least this, but for ``failure_probability``.

    By betting (Waudby-Smith and Ramdas 2024). Against "the mean is m or less" stake λ_t ≥ 0 on each number: the wealth
    Π(1 + λ_t·(x_t − m)) starts at 1, stays positive as long as λ_t·m < 1, and cannot grow in expectation if λ_t was
    fixed before x_t was seen. So it reaches 1/γ with probability γ at most (Markov), and an m at which it does is too
    small. λ_t is what would be best for the spread of the numbers before t; a bad choice costs tightness only. The
    wealth falls as m grows, so the bound is found by halving.
    """
    n, target = len(values), -math.log(failure_probability)
    before = np.arange(1, n + 1)
    mean = (0.5 + np.concatenate([[0.0], np.cumsum(values)[:-1]])) / before
    spread = (0.25 + np.concatenate([[0.0], np.cumsum((values - mean) ** 2)[:-1]])) / before
    stakes = np.sqrt(2 * target / (n * spread))
    low, high = 0.0, float(values.mean())
    for _ in range(40):
        m = (low + high) / 2
        wealth = np.log1p(np.minimum(stakes, CAREFUL / max(m, 1e-12)) * (values - m)).sum()
        low, high = (m, high) if wealth >= target else (low, m)
    return low


def mean_at_most(values: FloatArray, failure_probability: float) -> float:
    """The same from above."""
    return 1.0 - mean_at_least(1.0 - values, failure_probability)


def many_canaries(
    scores: FloatArray,
    inside: BoolArray,
    *,
    delta: float,
    failure_probability: float,
    worth: Callable[[float, float], float] | None = None,
) -> ManyRuns:
    """The bound from ``scores`` and bits (runs × canaries). Every fourth run chooses the set, the others measure.

    ``worth`` says what bounds on the two shares are worth when the set is chosen: by default the ε that they refute.
    """
    chooses = np.arange(len(scores)) % 4 == 0
    value = worth or (lambda more, less: log_ratio(more, less, delta))
    few, bits = scores[chooses], inside[chooses]
    n_runs, n_canaries = int((~chooses).sum()), scores.shape[1]
    margin = -math.log(failure_probability / 2) / n_runs

    def expected(test: Test) -> float:
        """As if canaries were independent, but for a run that goes wrong as a whole."""
        n = n_runs * n_canaries // 2
        hits = [(test.hits(few[side]) + 0.5) / (side.sum() + 1) * n for side in (bits, ~bits)]
        ours, others = hits if test.above else hits[::-1]
        more, less = (at_least(ours, n, failure_probability / 2), at_most(others, n, failure_probability / 2))
        return value(max(more - margin, 0.0), min(less + margin, 1.0))

    test = max(candidates(few[bits], few[~bits]), key=expected)
    measured, truth = scores[~chooses], inside[~chooses]
    within = measured > test.threshold if test.above else measured <= test.threshold
    ours = truth if test.above else ~truth
    more = 2 * mean_at_least((within & ours).mean(axis=1), failure_probability / 2)
    less = min(1.0, 2 * mean_at_most((within & ~ours).mean(axis=1), failure_probability / 2))
    return ManyRuns(max(0.0, log_ratio(more, less, delta)), test, more, less, n_runs, n_runs)
