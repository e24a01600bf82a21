"""M̂₂ and M̂₃ of Lemma 21: the moments of LDA without bias: products of different documents only, never of a document
with itself.

DeCarolis, Ram, Esmaeili, Wang and Huang (ICML 2020), appendix C. With N documents, a = α₀/(α₀+1), b = −α₀/(α₀+2), c =
2α₀²/((α₀+1)(α₀+2)), a document's own moments M₁ⁿ M₂ⁿ M₃ⁿ (``kernels/sums/moments.py``), and n, m, p always different,

    M̂₂ = 1/N Σ M₂ⁿ − a/N(N−1) Σ M₁ⁿ⊗M₁ᵐ
    M̂₃ = 1/N Σ M₃ⁿ + b/N(N−1) Σ [M₂ⁿ⊗M₁ᵐ in its three orders] + c/N(N−1)(N−2) Σ M₁ⁿ⊗M₁ᵐ⊗M₁ᵖ.

Differences from the paper. Eq. (8) and (9) sum over equal n, m, p too, while the proof of Lemma 22 leaves them out:
here they are left out. Eq. (7) has a factor α₀(α₀+1)(α₀+2)/2 that Lemma 3 does not have: left out. Documents with fewer
than three words have no third moment and count as zero in all sums, but as documents in N. M̂₃ is only ever computed
multiplied by a d×k matrix on each side.

``sensitivities`` and ``sensitivities_in_cells`` are ours: the paper's do not hold (``models/spectral/proof.md``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_moments
from discreet.models.spectral.tensor import from_unique

FEWEST = 3
"""The fewest documents that M̂₃ needs."""

ROWS = 4096
"""Documents whose cubes are added at a time."""


class Coefficients(NamedTuple):
    """Lemma 21's a, b and c."""

    a: float
    b: float
    c: float

    @classmethod
    def of(cls, alpha0: float) -> Coefficients:
        return cls(alpha0 / (alpha0 + 1), -alpha0 / (alpha0 + 2), 2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)))


def sensitivities(alpha0: float) -> tuple[float, float]:
    """N times the most, in ℓ₂, by which M̂₂ and M̂₃ move when one document is replaced. Both are reached.

    `[replaced]` in ``models/spectral/proof.md``: a document is a mean over its ordered triples of tokens, so the worst
    is one of finitely many patterns of equal words, and these are the largest of them.
    """
    a, b, c = Coefficients.of(alpha0)
    third = max(
        2 + 6 * b**2 + 6 * (b + c) ** 2,  # all others have one word
        2 + 6 * b**2 + 3 * c**2,  # two others, two words
        2 + 12 * b + 18 * b**2 + 6 * c**2,  # two others, with the words replaced and put in
    )
    return math.sqrt(2 + 4 * a**2), math.sqrt(third)  # [replaced]


def sensitivities_in_cells(alpha0: float) -> tuple[float, float]:
    """N times the most, in ℓ₁ over different cells (u ≤ v, u ≤ v ≤ w), by which M̂₂ and M̂₃ move. For Laplace noise.

    `[cells]` in ``models/spectral/proof.md``. M̂₂ reaches it with any number of documents, M̂₃ in the limit of many.
    """
    a, b, c = Coefficients.of(alpha0)
    return 2 + 2 * a, 2 - 4 * b + c  # [cells]


class LdaMoments:
    """Private: functions of the exact documents."""

    def __init__(self, corpus: Corpus, alpha0: float, *, n_threads: int | None = None) -> None:
        if corpus.n_documents < FEWEST:
            raise InputError(
                f"these moments need at least {FEWEST} documents; found n_samples={corpus.n_documents}. Pass more."
            )
        self.engine = open_moments(corpus, n_threads=n_threads)
        self.n, self.n_words, self.alpha0 = corpus.n_documents, corpus.n_words, float(alpha0)
        self.coefficients = Coefficients.of(self.alpha0)
        self._lengths = np.maximum(self.engine.lengths.astype(np.float64), 2.0)  # the empty ones have no counts
        self._counts = self.engine.matrix()
        self._two = 1 / (self._lengths * (self._lengths - 1))

    def close(self) -> None:
        self.engine.close()

    def second(self) -> FloatArray:
        """M̂₂, d×d."""
        counts, n = self._counts, self.n
        pairs = (counts.T @ counts.multiply(self._two[:, None]).tocsr()).toarray()
        pairs[np.diag_indices(self.n_words)] -= counts.T @ self._two
        own = (counts.T @ counts.multiply(self._lengths[:, None] ** -2).tocsr()).toarray()
        first = counts.T @ (1 / self._lengths)
        found = pairs / n - self.coefficients.a / (n * (n - 1)) * (np.outer(first, first) - own)
        return np.asarray((found + found.T) / 2)

    def third(self, table: FloatArray) -> FloatArray:
        """M̂₃(y, y, y), k×k×k; ``table`` is y, word × k."""
        counts, n, k = self._counts, self.n, table.shape[1]
        _, b, c = self.coefficients
        seen = np.asarray(counts @ table) / self._lengths[:, None]  # M₁ⁿ through y, document × k
        total = seen.sum(axis=0)
        ratio = self._lengths**2 * self._two
        pairs = seen.T @ (seen * ratio[:, None]) - table.T @ (table * (counts.T @ self._two)[:, None])
        beside = np.asarray(counts.T @ (seen * self._two[:, None]))
        itself = _cubes(seen, ratio) - np.einsum("ui,uj,uh->ijh", table, table, beside, optimize=True)
        together = three_orders(np.einsum("ij,h->ijh", pairs, total) - itself)
        singles = np.einsum("i,j,h->ijh", total, total, total) + 2 * _cubes(seen, np.ones(len(seen)))
        singles -= three_orders(np.einsum("ij,h->ijh", seen.T @ seen, total))
        found = from_unique(self.engine.cubes(table), k) / n
        found += b / (n * (n - 1)) * together
        found += c / (n * (n - 1) * (n - 2)) * singles
        return np.asarray(found)


def three_orders(tensor: FloatArray) -> FloatArray:
    """T + its two other orders, for T that is symmetric in its first two places."""
    return np.asarray(tensor + tensor.transpose(0, 2, 1) + tensor.transpose(2, 0, 1))


def _cubes(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ w·r⊗r⊗r over rows."""
    k = rows.shape[1]
    total = np.zeros((k * k, k))
    for at in range(0, len(rows), ROWS):
        some = rows[at : at + ROWS]
        squares = (some[:, :, None] * some[:, None, :]).reshape(len(some), k * k)
        total += squares.T @ (some * weights[at : at + ROWS, None])
    return total.reshape(k, k, k)


def singular(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The vectors (columns) of the ``k`` largest singular values of a symmetric matrix, and the values.

    An SVD leaves the sign of a vector open: here its largest entry is positive."""
    d = len(matrix)
    if d <= 2_000:
        values, vectors = np.linalg.eigh(matrix)
    else:
        from scipy.sparse.linalg import eigsh

        start = np.random.default_rng(0).standard_normal(d)
        values, vectors = eigsh(matrix, k, which="LM", v0=start, ncv=min(d, 2 * k + 40), tol=1e-6)
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    vectors = vectors[:, order]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(order))])
    return np.ascontiguousarray(vectors * signs), np.abs(values[order])
