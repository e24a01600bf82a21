"""The moments of SpectralLDA without noise: nothing of the size of words × words, let alone its cube, is ever built."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.engines.interface import SHORTEST, MomentEngine
from discreet.models.spectral.moments import Whitening, check_rank


class Whitened(NamedTuple):
    """The input of the decomposition."""

    whitening: Whitening
    first: FloatArray
    """M₁"""
    triples: FloatArray
    """E₃(W, W, W), each entry once."""


def exact_moments(engine: MomentEngine, n_topics: int, alpha0: float, word_power: float) -> Whitened:
    """Mean moments over all documents that have three tokens, whitened by the leading eigenvectors of M₂."""
    lengths = engine.lengths.astype(np.float64)
    used = lengths > 0
    n = int(used.sum())
    if n == 0:
        raise InputError(
            f"no document has {SHORTEST} words, which a third moment needs. Use longer documents or more words."
        )
    counts = engine.matrix()
    one = np.divide(1.0, lengths * n, where=used, out=np.zeros_like(lengths))
    two = np.divide(1.0, lengths * (lengths - 1) * n, where=used, out=np.zeros_like(lengths))
    first = counts.T @ one
    common = np.where(first > 0, first * engine.n_words, 1.0)  # any weight will do for a word that never occurs
    weights = common**word_power
    diagonal, mean = weights**2 * (counts.T @ two), weights * first
    transposed = counts.T.tocsr()  # rows of words: both products then read memory in order

    def times(vector: FloatArray) -> FloatArray:
        """GM₂G · vector."""
        vector = vector.ravel()
        together = weights * (transposed @ (two * (counts @ (weights * vector))))
        return np.asarray(together - diagonal * vector - alpha0 / (alpha0 + 1) * mean * (mean @ vector))

    values, vectors = leading(times, engine.n_words, n_topics)
    check_rank(values, n_topics)
    whitening = Whitening(vectors, values, weights)
    triples = engine.cubes(whitening.table) / n
    return Whitened(whitening, first, triples)


def leading(times: Callable[[FloatArray], FloatArray], d: int, k: int) -> tuple[FloatArray, FloatArray]:
    """The up to ``k`` largest eigenvalues of a symmetric d×d operator, and their vectors as columns."""
    if d <= max(64, 2 * k + 2):  # too small for a Krylov space
        values, vectors = np.linalg.eigh(np.stack([times(e) for e in np.eye(d)], axis=1))
    else:
        operator = LinearOperator((d, d), matvec=times, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(d)  # the same at each run
        values, vectors = eigsh(operator, k, which="LA", v0=start, ncv=min(d, 2 * k + 20), tol=1e-7)
    order = np.argsort(-values, kind="stable")[:k]
    vectors = vectors[:, order]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return values[order], np.ascontiguousarray(vectors * signs)
