"""From noisy word frequencies to adapted topics: post-processing of released numbers and of public ones.

The frequency of a word in the private text is expected to be that of a mixture of public topics, times a ratio of its
own. Both are learnt from the same noisy frequencies:

1. Given an expected frequency of each word, the distribution of ratios is estimated from all words of about the same
   frequency, and each word's ratio is its posterior mean (non-parametric empirical Bayes, Robbins 1956).
2. A few EM steps move the shares of the topics so that their mixture explains the frequencies found. A few, because the
   noise would be explained too: to stop early is to shrink towards the public shares.

Then every topic's words are scaled, each by one factor, so that the mixture has the frequencies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import FloatArray

RATIOS = np.exp(np.linspace(-5.0, 5.0, 161))
"""By how much a word may differ from its expected frequency: a grid for the distribution of ratios."""

SMOOTHING = 2.0
"""The distribution of ratios is smoothed by this many steps of the grid after each EM step."""

RATIO_STEPS = 60
BAND = 250
"""EM steps for a distribution of ratios; each is that of about this many words of similar frequency."""

MOST_BANDS = 10

TURNS, SHARE_STEPS = 3, 5
"""How often the shares of topics are moved, and EM steps each time."""

SCALING_STEPS = 100

WINDOW = 8
"""Bins of a histogram of sizes: norms within a factor of four."""


class WordUse(NamedTuple):
    """What the noisy word frequencies say."""

    frequencies: FloatArray
    """Of each word in the private text; they sum to 1."""
    errors: FloatArray
    """The deviation of the noise in each, before shrinking."""
    shares: FloatArray
    """Of the public topics: half from the private words, half from the public text. They sum to 1."""


def middle_bin(noisy: FloatArray, deviation: float) -> int:
    """The bin of the median unit in a noisy histogram of sizes.

    Of the bins that stand out from the noise, if they hold most units; otherwise of the `WINDOW` bins in a row that
    hold most, since a few hundred units do not stand out in any single bin.
    """
    kept = np.where(noisy > 3 * deviation, noisy, 0.0)
    if kept.sum() < noisy.sum() / 2 or not kept.any():
        first = int(np.convolve(noisy, np.ones(WINDOW), "valid").argmax())
        kept = np.zeros_like(noisy)
        kept[first : first + WINDOW] = np.maximum(noisy[first : first + WINDOW], 0.0)
    return int(np.searchsorted(np.cumsum(kept), kept.sum() / 2))


def word_use(
    noisy: FloatArray, deviation: FloatArray, expected: FloatArray, topics: FloatArray, shares: FloatArray
) -> WordUse:
    """Word frequencies from ``noisy`` ones, up to a constant, where ``expected``, ``topics`` (topic × word) and
    ``shares`` are those of the public text."""
    apart = expected / np.maximum(shares @ topics, 1e-300)  # by which the topics miss the public frequencies
    prior, moved = expected, shares
    for turn in range(TURNS + 1):
        found, total = _shrunk(noisy, deviation, prior)
        if turn < TURNS:
            for _ in range(SHARE_STEPS):
                moved = moved * (topics @ (found / np.maximum(moved @ topics, 1e-300)))
                moved /= moved.sum()
            prior = (moved @ topics) * apart
            prior /= prior.sum()
    return WordUse(found, deviation / total, (moved + shares) / 2)


def _shrunk(noisy: FloatArray, deviation: FloatArray, expected: FloatArray) -> tuple[FloatArray, float]:
    """Frequencies, and what they have to be multiplied with to be like ``noisy``."""
    # weighted by precision: the expected frequencies times this are the noisy ones, on the whole
    total = float((noisy * expected / deviation**2).sum() / (expected**2 / deviation**2).sum())
    total = max(total, float(deviation.min()))  # nothing but noise
    ratio, spread = noisy / (total * expected), deviation / (total * expected)
    n_bands = min(max(len(noisy) // BAND, 1), MOST_BANDS)
    band = np.argsort(np.argsort(expected, kind="stable")) * n_bands // len(noisy)
    found = np.empty_like(ratio)
    for number in range(n_bands):
        of = band == number
        found[of] = _posterior_mean(ratio[of], spread[of])
    found *= expected
    return found / found.sum(), total * float(found.sum())


def _posterior_mean(ratio: FloatArray, spread: FloatArray) -> FloatArray:
    """Of each word's ratio given a noisy one, under the distribution of ratios that explains all of them best (a
    smoothed non-parametric maximum of the likelihood, on a grid, by EM)."""
    off = ((ratio[:, None] - RATIOS) / spread[:, None]) ** 2 / -2
    likelihood = np.exp(off - off.max(axis=1, keepdims=True))
    kernel = np.exp((np.arange(-8, 9) / SMOOTHING) ** 2 / -2)
    share = np.exp(np.log(RATIOS) ** 2 / -2)
    for _ in range(RATIO_STEPS):
        belief = likelihood * (share / share.sum())
        share = np.convolve((belief / belief.sum(axis=1, keepdims=True)).sum(axis=0) + 1e-9, kernel, "same")
    belief = likelihood * share
    return np.asarray(belief @ RATIOS / belief.sum(axis=1))


def adapted(topics: FloatArray, shares: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Topics whose words are scaled, each by one factor in all topics, so that the mixture of all topics by their
    ``shares`` has the ``frequencies`` (iterative proportional fitting)."""
    factors = np.ones(topics.shape[1])
    for _ in range(SCALING_STEPS):
        mixture = factors * ((shares / (topics @ factors)) @ topics)
        factors *= np.clip(frequencies / np.maximum(mixture, 1e-300), 0.1, 10.0)
    scaled = topics * factors
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))
