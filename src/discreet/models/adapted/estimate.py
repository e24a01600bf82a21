"""From noisy word frequencies to adapted topics: post-processing of released numbers and of public ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import FloatArray

RATIOS = np.exp(np.linspace(-5.0, 5.0, 161))
"""How much more frequent a word may be in the private text than in the public one: a grid for its distribution."""

SMOOTHING = 2.0
"""The distribution of ratios is smoothed by this many steps of the grid after each EM step."""

EM_STEPS, SCALING_STEPS = 60, 100

UNKNOWN = 0.5
"""Words that the public text does not have are expected as often as those that it has this many times, for a start."""


class WordUse(NamedTuple):
    """Private word frequencies, which sum to 1, and the deviation of the noise in each, before shrinking."""

    frequencies: FloatArray
    errors: FloatArray


def word_use(noisy: FloatArray, deviation: FloatArray, expected: FloatArray) -> WordUse:
    """Word frequencies from noisy ones, given the frequencies ``expected`` without them.

    The posterior mean of each word's ratio to its expected frequency, under the distribution of ratios that explains
    all noisy frequencies best (a smoothed non-parametric maximum of the likelihood, on a grid, by EM).
    """
    # precision-weighted: the expected frequencies times this are the noisy ones, on the whole
    total = max(float((noisy * expected / deviation**2).sum() / (expected**2 / deviation**2).sum()), 1e-300)
    ratio, spread = noisy / (total * expected), deviation / (total * expected)
    off = ((ratio[:, None] - RATIOS) / spread[:, None]) ** 2 / -2
    likelihood = np.exp(off - off.max(axis=1, keepdims=True))
    kernel = np.exp((np.arange(-8, 9) / SMOOTHING) ** 2 / -2)
    kernel /= kernel.sum()
    share = np.exp(np.log(RATIOS) ** 2 / -2)
    share /= share.sum()
    for _ in range(EM_STEPS):
        belief = likelihood * share
        share = np.convolve((belief / belief.sum(axis=1, keepdims=True)).sum(axis=0) + 1e-9, kernel, "same")
        share /= share.sum()
    belief = likelihood * share
    found = expected * (belief @ RATIOS) / belief.sum(axis=1)
    return WordUse(found / found.sum(), deviation / (total * found.sum()))


def adapted(topics: FloatArray, shares: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Topics whose words are scaled, each by one factor in all topics, so that the mixture of all topics by their
    ``shares`` has the ``frequencies`` (iterative proportional fitting)."""
    factors = np.ones(topics.shape[1])
    for _ in range(SCALING_STEPS):
        mixture = factors * ((shares / (topics @ factors)) @ topics)
        factors *= np.clip(frequencies / np.maximum(mixture, 1e-300), 0.1, 10.0)
    scaled = topics * factors
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))
