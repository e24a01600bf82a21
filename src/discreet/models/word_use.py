"""How frequent words are in private text, from noisy numbers and public text: post-processing, which costs nothing.

The frequency of a word in the private text is expected to be that of a mixture of public topics, times a ratio of its
own. Both are learnt from the same noisy frequencies:

1. Given an expected frequency of each word, the distribution of ratios is estimated from all words of about the same
   frequency, and each word's ratio is its posterior mean (non-parametric empirical Bayes, Robbins 1956).
2. A few EM steps move the shares of the topics so that their mixture explains the frequencies found. A few, because the
   noise would be explained too: to stop early is to shrink towards the public shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.models.knowledge import PublicKnowledge

RATIOS = np.exp(np.linspace(-5.0, 5.0, 161))
"""By how much a word may differ from its expected frequency: a grid for the distribution of ratios."""

SMOOTHING = 2.0
"""The distribution of ratios is smoothed by this many steps of the grid after each EM step."""

RATIO_STEPS = 60
BAND, MOST_BANDS = 250, 10
"""EM steps for a distribution of ratios; each is that of about so many words of similar frequency, in so many bands."""

TURNS, SHARE_STEPS = 3, 5
"""How often the shares of topics are moved, and EM steps each time."""

PER_BAND, PER_TURN = 3.0, 5.0
"""Where the noise is so large that the expected frequencies, as a whole, stand out by few deviations, there is one band
for every `PER_BAND` of these, and one turn for every `PER_TURN`: ten bands would learn noise."""

SURE = 30.0
"""A frequency of so many deviations is taken as it is: the grid is coarser, and ends."""

LEAST = 0.02
"""No word is expected less often than this share of the mean frequency, also if the public text does not have it."""


class WordUse(NamedTuple):
    """What the noisy word frequencies say."""

    frequencies: FloatArray
    """Of each word in the private text; they sum to 1."""
    errors: FloatArray
    """The deviation of the noise in each, before shrinking."""


class Expected(NamedTuple):
    """What public text says of the words of a fit, without zeros."""

    frequencies: FloatArray
    topics: FloatArray
    """Topic × word; rows sum to 1."""
    shares: FloatArray
    """Of the topics in the public text."""

    @classmethod
    def of(cls, known: PublicKnowledge) -> Expected:
        frequencies = np.maximum(known.frequencies, LEAST / len(known.frequencies))
        frequencies /= frequencies.sum()
        topics = np.where(known.known, known.topics, frequencies)  # a word without a topic is in all of them
        return cls(frequencies, topics / topics.sum(axis=1, keepdims=True), known.shares)


def word_use(noisy: FloatArray, deviation: FloatArray, public: Expected) -> WordUse:
    """Word frequencies from ``noisy`` ones, up to a constant."""
    expected, topics, shares = public
    apart = expected / np.maximum(shares @ topics, 1e-300)  # by which the topics miss the public frequencies
    prior, moved = expected, shares
    clear = float((noisy * expected / deviation**2).sum() / np.sqrt((expected**2 / deviation**2).sum()))
    n_bands = max(int(min(MOST_BANDS, len(noisy) / BAND, clear / PER_BAND)), 1)
    n_turns = max(int(min(TURNS, clear / PER_TURN)), 0)
    for turn in range(n_turns + 1):
        found, total = _shrunk(noisy, deviation, prior, n_bands)
        if turn < n_turns:
            for _ in range(SHARE_STEPS):
                moved = moved * (topics @ (found / np.maximum(moved @ topics, 1e-300)))
                moved /= moved.sum()
            prior = np.maximum((moved @ topics) * apart, LEAST / len(noisy))
            prior /= prior.sum()
    return WordUse(found, deviation / total)


def _shrunk(noisy: FloatArray, deviation: FloatArray, expected: FloatArray, n_bands: int) -> tuple[FloatArray, float]:
    """Frequencies, and what they have to be multiplied with to be like ``noisy``."""
    # weighted by precision: the expected frequencies times this are the noisy ones, on the whole
    total = float((noisy * expected / deviation**2).sum() / (expected**2 / deviation**2).sum())
    total = max(total, float(deviation.min()))  # nothing but noise
    ratio, spread = noisy / (total * expected), deviation / (total * expected)
    band = np.argsort(np.argsort(expected, kind="stable")) * n_bands // len(noisy)
    found = np.empty_like(ratio)
    for number in range(n_bands):
        of = band == number
        found[of] = _posterior_mean(ratio[of], spread[of])
    found = np.where(noisy > SURE * deviation, ratio, found) * expected
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
