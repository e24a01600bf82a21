"""From moments to topics: whitening, the corrected third moment, and back.

The symbols are those of DeCarolis, Ram, Esmaeili, Wang and Huang ("An end-to-end differentially private LDA using a
spectral algorithm", ICML 2020: μᵢ topics, α₀ = Σ αᵢ, d words, k topics, W whitening) after Anandkumar, Foster, Hsu,
Kakade and Liu (NIPS 2012). With E₂ = E[x₁⊗x₂] and E₃ = E[x₁⊗x₂⊗x₃] of three tokens of one document, and M₁ = E[x₁],

    M₂ = E₂ − α₀/(α₀+1) · M₁⊗M₁                                        = Σ pᵢ μᵢ⊗μᵢ,            pᵢ = αᵢ / α₀(α₀+1)
    M₃ = E₃ − α₀/(α₀+2) · [E₂⊗M₁ in its three orders]
            + 2α₀²/((α₀+1)(α₀+2)) · M₁⊗M₁⊗M₁                           = Σ 2pᵢ/(α₀+2) μᵢ⊗μᵢ⊗μᵢ.

(Lemma 3 and appendix E of the paper print 1/(α₀+2) for the second coefficient; that is wrong unless α₀ = 1.) For W with
WᵀM₂W = I the vectors vᵢ = √pᵢ Wᵀμᵢ are orthonormal and M₃(W, W, W) = Σ λᵢ vᵢ⊗vᵢ⊗vᵢ with λᵢ = 2/((α₀+2)√pᵢ). Because
E₂(W, W) = I + α₀/(α₀+1)·mmᵀ with m = WᵀM₁, the correction needs nothing of the size of d:

    M₃(W, W, W) = E₃(W, W, W) − α₀/(α₀+2) · [I⊗m in its three orders] − α₀²/((α₀+1)(α₀+2)) · m⊗m⊗m.

**Word weights.** All of this is linear in the words, so it may be done with each word u multiplied by a gᵤ > 0 (M₂
becomes GM₂G and topics Gμᵢ) and undone in the end. Exact moments give the same topics for any g; with noise or few
documents the eigenvectors then follow topical words, not the commonest ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet._errors import InputError, counted
from discreet._types import FloatArray
from discreet.models.spectral.tensor import Decomposition, from_unique

USABLE = 1e-9
"""As a share of the largest eigenvalue of M₂: a smaller eigenvalue cannot be distinguished from rounding errors."""


class Topics(NamedTuple):
    """Topics and their prior, from the moments."""

    topics: FloatArray
    """topic × word, as they come out: rows sum to 1, entries may be negative."""
    alpha: FloatArray


@dataclass(frozen=True)
class Whitening:
    """The k leading eigenvectors (columns) and eigenvalues of GM₂G, and g."""

    vectors: FloatArray
    values: FloatArray
    word_weights: FloatArray

    @property
    def table(self) -> FloatArray:
        """y, word × k: GW, to be applied to plain counts."""
        return np.asarray(self.word_weights[:, None] * self.vectors / np.sqrt(self.values))

    def tensor(self, triples: FloatArray, first: FloatArray, alpha0: float) -> FloatArray:
        """M₃(W, W, W) from E₃(W, W, W), each entry once, and M₁."""
        k = len(self.values)
        mean = self.table.T @ first
        three = np.einsum("ij,l->ijl", np.eye(k), mean)
        three = three + three.transpose(0, 2, 1) + three.transpose(2, 0, 1)
        cube = np.einsum("i,j,l->ijl", mean, mean, mean)
        corrected = from_unique(triples, k) - alpha0 / (alpha0 + 2) * three
        return np.asarray(corrected - alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)) * cube)

    def recover(self, found: Decomposition, alpha0: float) -> Topics:
        """Undo the whitening: μᵢ ∝ G⁻¹UΣ^½vᵢ, αᵢ from λᵢ."""
        raw = (self.vectors * np.sqrt(self.values)) @ found.vectors / self.word_weights[:, None]
        sums = raw.sum(axis=0)
        raw = raw * np.where(sums < 0, -1.0, 1.0)  # noise may flip the sign of a vector; a topic is positive
        sums = np.maximum(np.abs(sums), 1e-3 * np.abs(raw).sum(axis=0))
        weights = (2 / ((alpha0 + 2) * np.maximum(found.values, 1e-300))) ** 2
        floor = 1e-3 / len(weights)
        weights = np.maximum(weights / weights.sum(), floor)
        return Topics(np.ascontiguousarray((raw / np.maximum(sums, 1e-300)).T), alpha0 * weights / weights.sum())


def check_rank(values: FloatArray, n_topics: int) -> None:
    """Refuse more topics than M₂ has usable eigenvalues, and say how many it has."""
    usable = int((values > USABLE * max(float(values.max(initial=0.0)), 0.0)).sum())
    if usable < n_topics:
        raise InputError(
            f"the second moment has {counted(usable, 'usable eigenvalue')}, so {counted(n_topics, 'topic')} cannot be "
            f"distinguished. Ask for at most {counted(usable, 'topic')}, or use more documents of at least three words,"
            " more words, or a smaller alpha0."
        )


def to_simplex(rows: FloatArray) -> FloatArray:
    """Probabilities: what is negative becomes 0, and the rest is scaled to sum to 1.

    Not the nearest probabilities in ℓ₂, which would subtract one amount from all entries, and so remove rare words: on
    arXiv that cost 5 to 54 points of perplexity in four settings.
    """
    positive = np.maximum(rows, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def smoothed(topics: FloatArray, frequencies: FloatArray, share: float) -> FloatArray:
    """Mix a little of the word frequencies into every topic: an entry of zero would exclude the word completely."""
    return np.asarray((1 - share) * topics + share * frequencies)
