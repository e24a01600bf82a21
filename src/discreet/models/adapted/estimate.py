"""From noisy word frequencies to adapted topics: post-processing of released numbers and of public ones.

The frequency of a word in the private text is expected to be that of a mixture of public topics, times a ratio of its
own. Both are learnt from the same noisy frequencies:

1. Given an expected frequency of each word, the distribution of ratios is estimated from all words of about the same
   frequency, and each word's ratio is its posterior mean (non-parametric empirical Bayes, Robbins 1956).
2. A few EM steps move the shares of the topics so that their mixture explains the frequencies found. A few, because the
   noise would be explained too: to stop early is to shrink towards the public shares.

Then every topic's words are scaled, each by one factor: which topics a word belongs to is what the public text says.
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
BAND, MOST_BANDS = 250, 10
"""EM steps for a distribution of ratios; each is that of about so many words of similar frequency, in so many bands."""

TURNS, SHARE_STEPS = 3, 5
"""How often the shares of topics are moved, and EM steps each time."""

PER_BAND, PER_TURN = 3.0, 5.0
"""Where the noise is so large that the expected frequencies, as a whole, stand out by few deviations, there is one band
for every `PER_BAND` of these, and one turn for every `PER_TURN`: ten bands would learn noise."""

WINDOW, USUAL = 8, 8
"""Bins of a histogram of sizes, norms within a factor of four; and the bin of a norm of four tokens."""


class WordUse(NamedTuple):
    """What the noisy word frequencies say."""

    frequencies: FloatArray
    """Of each word in the private text; they sum to 1."""
    errors: FloatArray
    """The deviation of the noise in each, before shrinking."""


def middle_bin(noisy: FloatArray, deviation: float) -> int:
    """The bin of the median unit in a noisy histogram of sizes.

    Of the bins that stand out from the noise, if they hold most units; otherwise of the `WINDOW` bins in a row that
    hold most, since a few hundred units do not stand out in any single bin. If not even these stand out, `USUAL`: a
    clip that is too small costs little, since units are then scaled to the same norm.
    """
    kept, enough = np.where(noisy > 3 * deviation, noisy, 0.0), 4 * deviation * WINDOW**0.5
    if kept.sum() < max(noisy.sum() / 2, enough):
        together = np.convolve(noisy, np.ones(WINDOW), "valid")
        first = int(together.argmax())
        if together[first] < enough:
            return USUAL
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
    clear = float((noisy * expected / deviation**2).sum() / np.sqrt((expected**2 / deviation**2).sum()))
    n_bands = max(int(min(MOST_BANDS, len(noisy) / BAND, clear / PER_BAND)), 1)
    n_turns = max(int(min(TURNS, clear / PER_TURN)), 0)
    for turn in range(n_turns + 1):
        found, total = _shrunk(noisy, deviation, prior, n_bands)
        if turn < n_turns:
            for _ in range(SHARE_STEPS):
                moved = moved * (topics @ (found / np.maximum(moved @ topics, 1e-300)))
                moved /= moved.sum()
            prior = (moved @ topics) * apart
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


def adapted(topics: FloatArray, shares: FloatArray, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Topics and their shares, adapted to word ``frequencies``: how much of each word belongs to each topic stays as in
    the public text, p(k | v) = share_k φ_kv / Σ_l share_l φ_lv, and the word is as frequent as in the private text. So
    the mixture of the adapted topics by the adapted shares has the frequencies."""
    scaled = shares[:, None] * topics * (frequencies / np.maximum(shares @ topics, 1e-300))
    sizes = np.maximum(scaled.sum(axis=1), 1e-300)
    return np.ascontiguousarray(scaled / sizes[:, None]), np.asarray(sizes / sizes.sum())
