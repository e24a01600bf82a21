"""From the statistics of a bank to scores: LiRA, online and offline, and the global thresholds it replaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet._types import BoolArray, FloatArray, IntArray
from discreet.attacks.membership.statistics import DEVIATION, ENTROPY, LARGEST, LIKELIHOOD, NAMES

ONLINE, OFFLINE, INVERTED = "LiRA online", "LiRA offline", "LiRA offline, inverted"
PER_TOKEN = "likelihood per token"

ATTACKS = (ONLINE, OFFLINE, INVERTED, PER_TOKEN, LARGEST, ENTROPY, DEVIATION)

FEWEST = 2
"""Shadows with a document, and without it, that a Gaussian needs."""


@dataclass(frozen=True)
class Moments:
    """Number, mean and variance of a document's statistic over some shadows; one column per document."""

    n: IntArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, values: FloatArray, where: BoolArray) -> Moments:
        """Over models (rows) where ``where``. The variance divides by n − 1."""
        n = where.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(where, values, 0.0).sum(axis=0) / n
            variance = np.where(where, (values - mean) ** 2, 0.0).sum(axis=0) / (n - 1)
        return cls(n, mean, variance)

    def without(self, value: FloatArray, where: BoolArray) -> Moments:
        """Without one model's value, for the documents ``where``. (Welford's update, backwards.)"""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (self.n * self.mean - value) / (self.n - 1)
            variance = ((self.n - 1) * self.variance - (value - self.mean) * (value - mean)) / (self.n - 2)
        return Moments(
            np.where(where, self.n - 1, self.n),
            np.where(where, mean, self.mean),
            np.where(where, np.maximum(variance, 0.0), self.variance),
        )

    def standard(self, value: FloatArray) -> FloatArray:
        """How many standard deviations above the mean."""
        return (value - self.mean) / np.sqrt(self.floored)

    def log_density(self, value: FloatArray) -> FloatArray:
        """Of the Gaussian, without its constant."""
        return -0.5 * np.log(self.floored) - 0.5 * self.standard(value) ** 2

    @property
    def floored(self) -> FloatArray:
        """No variance at all (a document without known words) would divide by zero."""
        return np.maximum(self.variance, 1e-12)


def scores_of(shadows: FloatArray, members: BoolArray, target: FloatArray, lengths: IntArray) -> dict[str, FloatArray]:
    """Attack → one score per document of one target; a larger score speaks for membership.

    ``shadows`` is model × statistic × document, ``members`` model × document, ``target`` statistic × document,
    ``lengths`` the tokens of each document. NaN: too few shadows with or without the document.

    *Online* LiRA fits a Gaussian to the statistic over the shadows trained with the document and another over those
    trained without it, and takes the logarithm of the ratio of their densities at the target's statistic. *Offline* has
    only those without it, and takes the standard score: a document that the target explains better than such models do
    is a member. *Inverted* is the negative of it, the direction of the published code. The other attacks have no
    shadows and compare all documents with one threshold.
    """
    values = shadows[:, NAMES.index(LIKELIHOOD)]
    inside, outside = Moments.of(values, members), Moments.of(values, ~members)
    return _scores(inside, outside, target, lengths)


def scores_of_each(statistics: FloatArray, members: BoolArray, lengths: IntArray) -> dict[str, FloatArray]:
    """Every model of a bank is the target in turn, all others its shadows: attack → target × document."""
    values = statistics[:, NAMES.index(LIKELIHOOD)]
    inside, outside = Moments.of(values, members), Moments.of(values, ~members)
    found = [
        _scores(inside.without(values[i], members[i]), outside.without(values[i], ~members[i]), statistics[i], lengths)
        for i in range(len(statistics))
    ]
    return {name: np.stack([one[name] for one in found]) for name in ATTACKS}


def _scores(inside: Moments, outside: Moments, target: FloatArray, lengths: IntArray) -> dict[str, FloatArray]:
    likelihood = target[NAMES.index(LIKELIHOOD)]
    enough = (inside.n >= FEWEST) & (outside.n >= FEWEST)
    online = np.where(enough, inside.log_density(likelihood) - outside.log_density(likelihood), np.nan)
    offline = np.where(enough, outside.standard(likelihood), np.nan)
    found = {ONLINE: online, OFFLINE: offline, INVERTED: -offline}
    found[PER_TOKEN] = likelihood / np.maximum(lengths, 1)
    for name in (LARGEST, ENTROPY, DEVIATION):
        found[name] = target[NAMES.index(name)]
    return found
