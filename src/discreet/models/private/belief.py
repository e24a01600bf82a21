"""How much of the topics is believed, judged by released counts.

Let φ be the topics that a round works with, and c the expected counts of words in topics that its units contribute: a
token i of word w in a document adds p_i(k) = φ[w, k]·θ_i[k] / Σ_k φ[w, k]·θ_i[k] to c[w, k], where θ_i is the mixture
of topics of the document's other tokens. The likelihood of the tokens, each given the others of its document, is
L = Σ_i log Σ_k φ[w_i, k]·θ_i[k], so that

    ∂L/∂φ[w, k] = c[w, k] / φ[w, k].

The counts that a round releases are thus a noisy gradient of L, and the noise of a round is independent of the topics
that it works with. We ask it one question: would the topics predict better if they were pulled towards word
frequencies? For the table t = flat + κ·(candidate − flat), with κ one number for each band of words of similar
frequency, the gradient by κ, its noise and its curvature (the Fisher information) are sums over cells. A Kalman filter
follows κ over some rounds. Where topics carry nothing, κ falls to 0: they predict no worse than word frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet._types import FloatArray, IntArray

COMMON, OWN = 1.0, 0.2
"""Deviations of κ from 1 before the first round: what all bands have in common, and what each has of its own."""

DRIFT = 0.03
"""The same, from round to round: the best κ depends on the topics that documents are read with, and so on κ."""

LEAST = 1e-100
"""Less information than this is none: its square would be 0."""

LARGEST_STEP = 0.3
"""The largest change of κ in one round: the curvature is that of the present κ."""


@dataclass
class Belief:
    """κ of each band, from 0 to 1, and their covariance."""

    kappa: FloatArray
    variance: FloatArray

    @classmethod
    def full(cls, n_bands: int) -> Belief:
        return cls(np.ones(n_bands), COMMON**2 + OWN**2 * np.eye(n_bands))

    def mixed(self, flat: FloatArray, candidate: FloatArray, band: IntArray) -> FloatArray:
        return np.asarray(candidate - (1 - self.kappa[band, None]) * (candidate - flat))  # exact where κ = 1

    def learn(
        self,
        counts: FloatArray,
        noise: FloatArray,
        table: FloatArray,
        apart: FloatArray,
        band: IntArray,
    ) -> None:
        """From the released ``counts`` of a round, whose cells have the variances ``noise``, and the ``table`` that it
        worked with; ``apart`` is candidate − flat."""
        gradient, information, variance = along(counts, noise, table, apart, band, len(self.kappa))
        covariance = self.variance + DRIFT**2 * (1 + np.eye(len(self.kappa)))
        step = np.zeros_like(self.kappa)
        # Kalman's update, one band after another: no linear algebra whose last digits depend on the machine
        for b in np.flatnonzero(information > LEAST):  # a band whose topics are flat says nothing
            told = gradient[b] / information[b]  # what this round says of κ*[b] − κ[b]
            gain = covariance[:, b] / (covariance[b, b] + variance[b] / information[b] ** 2)
            step = step + gain * (told - step[b])
            covariance = covariance - gain[:, None] * covariance[b]
        self.kappa = np.clip(self.kappa + np.clip(step, -LARGEST_STEP, LARGEST_STEP), 0.0, 1.0)
        self.variance = (covariance + covariance.T) / 2


def along(
    counts: FloatArray, noise: FloatArray, table: FloatArray, apart: FloatArray, band: IntArray, n_bands: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The gradient of L by κ of each band, its Fisher information, and the noise variance of the gradient.

    Topics are the columns of ``table`` divided by their sums; so a change of a band changes all words of a topic a
    little, which the second term of each line stands for.
    """

    def by_band(cells: FloatArray) -> FloatArray:
        found = np.zeros((n_bands, cells.shape[1]))
        np.add.at(found, band, cells)
        return found

    sizes, relative, moved = table.sum(axis=0), apart / table, by_band(apart)
    shift = moved / sizes
    gradient = by_band(counts * relative).sum(axis=1) - (shift * counts.sum(axis=0)).sum(axis=1)
    scale = max(float(counts.sum()), 1e-300) / float(table.sum())  # counts that the table predicts, per unit of it
    information = scale * (by_band(apart * relative) - shift * moved).sum(axis=1)
    noisy = noise * relative
    variance = (by_band(noisy * relative) - 2 * shift * by_band(noisy) + shift**2 * noise.sum(axis=0)).sum(axis=1)
    return gradient, np.maximum(information, 0.0), variance
