"""From noisy released statistics to topics: post-processing, which costs nothing.

A noisy table of word × topic is averaged over rounds. Then each word's profile over topics is shrunk towards that of a
word without any topic (its released frequency times the size of each topic): during the rounds by a linear rule, at the
end by a posterior mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet._types import FloatArray

FLOOR = 0.05
"""No cell falls below this share of its expectation without topics: a zero would never change again."""

TRUST = 0.8
"""The noise variance that the linear rule assumes during the rounds, as a share of the true one: sharper topics improve
local inference, and later rounds average out the noise of one round."""

SHAPES = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 80.0, 1000.0)
"""How unevenly a word may be spread over topics: the shapes of Gamma distributions of mean 1, from one topic to all."""

STEPS = 8
"""EM steps for the share of words with each shape."""


@dataclass
class Average:
    """A weighted mean of noisy tables, and the noise variance of each of its cells."""

    value: FloatArray
    variance: FloatArray

    @classmethod
    def nothing(cls, n_words: int, n_topics: int) -> Average:
        return cls(np.zeros((n_words, n_topics)), np.zeros((n_words, n_topics)))

    def move(self, table: FloatArray, variance: FloatArray, step: float) -> None:
        """Move the mean by the share ``step`` of its distance to the new table."""
        self.value = (1 - step) * self.value + step * table
        self.variance = (1 - step) ** 2 * self.variance + step**2 * variance


def seeded(prior: FloatArray, counts: FloatArray) -> FloatArray:
    """How much of each word is expected in each topic because of its ``prior``, word × topic: a row sums to the share
    of the prior's weights, which are numbers of tokens, in these weights plus the word's own count."""
    return np.asarray(prior / (prior.sum(axis=1) + np.maximum(counts, 1e-300))[:, None])


def without_topics(noisy: FloatArray, frequencies: FloatArray, seeds: FloatArray | None = None) -> FloatArray:
    """What the table would be if no word had a topic: frequency of the word × size of the topic. For seed words, the
    share `seeded` is in the topics that their prior names."""
    sizes = np.maximum(noisy.sum(axis=0), 0)
    if not sizes.sum() > 0:
        sizes = np.ones(noisy.shape[1])
    expected = np.broadcast_to(sizes, noisy.shape)
    if seeds is not None:
        expected = (1 - seeds.sum(axis=1, keepdims=True)) * expected + seeds * sizes.sum()
    flat = frequencies[:, None] * expected
    return np.asarray(np.maximum(flat, flat.max() * 1e-9))


Rule: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""How a noisy table is pulled towards an expected one: of the noisy table, its variance and the expected table."""


def shrunk(noisy: FloatArray, variance: FloatArray, flat: FloatArray) -> FloatArray:
    """The linear rule (empirical Bayes, James and Stein's in spirit): a word keeps the share τ²/(τ² + v) of its
    deviation from the expected table ``flat``, for instance `without_topics`, where v is the noise variance of the cell
    and τ² the variance of the word's profile beyond the noise."""
    apart = noisy - flat
    signal = np.maximum((apart**2 - variance).mean(axis=1), 0)[:, None]
    keep = signal / np.maximum(signal + variance, 1e-300)
    return np.asarray(np.maximum(flat + keep * apart, FLOOR * flat))


def posterior(noisy: FloatArray, variance: FloatArray, flat: FloatArray) -> FloatArray:
    """The posterior mean of each cell given its noisy value. The prior of its ratio to the expected table ``flat`` is
    Gamma(a, a), with the same a for all cells of a word, one of `SHAPES`; the share of words with each shape is
    estimated from all words (EM)."""
    ratios, masses = _ratios()
    n_words = len(noisy)
    parts = [slice(start, start + 256) for start in range(0, n_words, 256)]  # all ratios of all cells would be many

    def likelihoods(part: slice) -> tuple[FloatArray, FloatArray]:
        """Of each cell, ratio and then shape."""
        off = (noisy[part, :, None] - flat[part, :, None] * ratios) ** 2 / (-2 * variance[part, :, None])
        found = np.exp(off - off.max(axis=2, keepdims=True))
        return found, found @ masses.T + 1e-30

    evidence = np.concatenate([np.log(likelihoods(part)[1]).sum(axis=1) for part in parts])
    share = np.full(len(SHAPES), 1 / len(SHAPES))
    for _ in range(STEPS):
        belief = evidence + np.log(share)
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
        share = (belief.sum(axis=0) + 0.1) / (n_words + 0.1 * len(SHAPES))
    ratio = np.empty_like(flat)
    for part in parts:
        found, likelihood = likelihoods(part)
        ratio[part] = ((found @ (masses * ratios).T) / likelihood * belief[part, None, :]).sum(axis=2)
    return np.asarray(flat * ratio)


def _ratios() -> tuple[FloatArray, FloatArray]:
    """Ratios on a logarithmic grid, and the mass that Gamma(a, a) has around each, shape × ratio."""
    from scipy.special import gammainc

    ratios = np.concatenate([[0.004], 1.22 ** np.arange(-22.0, 21.0)])
    between = np.sqrt(ratios[1:] * ratios[:-1])
    shapes = np.array(SHAPES)[:, None]
    below = np.hstack([np.zeros_like(shapes), gammainc(shapes, shapes * between), np.ones_like(shapes)])
    return ratios, np.diff(below, axis=1)


def as_frequent(table: FloatArray, frequencies: FloatArray) -> FloatArray:
    """The table with each word as frequent as given, in the same proportions of topics."""
    counts = table.sum(axis=1)
    return np.asarray(table * (frequencies * (counts.sum() / counts))[:, None])


def topics(table: FloatArray) -> FloatArray:
    """φ̃: columns that sum to 1."""
    return np.asarray(table / table.sum(axis=0))


def shares(table: FloatArray) -> FloatArray:
    """The share of each topic in all tokens."""
    return np.asarray(table.sum(axis=0) / table.sum())


def profiles(table: FloatArray) -> FloatArray:
    """The share of each topic in a word: rows that sum to 1."""
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def frequencies(noisy: FloatArray, deviation: FloatArray | float) -> FloatArray:
    """Word frequencies from noisy counts, whose noise has one ``deviation`` or one for each word: the posterior mean of
    each count given its noisy value, under the distribution of counts that explains all noisy counts best (a
    non-parametric maximum of the likelihood, on a grid, by EM). A count far above the noise is taken as it is."""
    deviation = np.broadcast_to(deviation, noisy.shape)
    least = float(deviation.min())
    top = max(float(noisy.max()), least)
    counts = np.geomspace(min(least / 30, top / 2), 1.2 * top, 300)
    off = ((noisy[:, None] - counts) / deviation[:, None]) ** 2 / -2
    likelihood = np.exp(off - off.max(axis=1, keepdims=True))
    share = np.full(len(counts), 1 / len(counts))
    for _ in range(60):
        share *= (1 / (likelihood @ share)) @ likelihood / len(noisy)
    found = likelihood @ (share * counts) / (likelihood @ share)
    found = np.where(noisy > 30 * deviation, noisy, found)
    return np.asarray(found / found.sum())
