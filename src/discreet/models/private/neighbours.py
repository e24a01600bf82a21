"""Words that are used alike, and how the noisy profile of a word is pulled towards theirs.

Which words are used alike is public knowledge: from public text, from public topics, from word vectors, or from the
spelling of words (``stems.py``). How much of it is true of the private text is fitted to released numbers, for rare and
frequent words apart. Where neighbours say nothing, nothing is taken from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from discreet._types import FloatArray, IntArray
from discreet.corpus.corpus import Corpus

DIMENSIONS = 60
"""Of the vectors of words."""

NEIGHBOURS = 15
"""Most neighbours of a word."""

FEWEST = 3
"""Public documents that must have a word; fewer say nothing about it."""

BANDS = 10
"""Bands of words of similar frequency, with as many words each."""

MOST = 1.0
"""The largest ρ of a band."""

FLOOR = 0.05
"""No cell of a target falls below this share of the expectation without topics."""


def vectors_of_text(text: Corpus) -> FloatArray:
    """A vector for each word: the positive pointwise mutual information of words in one document, reduced to
    `DIMENSIONS` (Levy and Goldberg, "Neural Word Embedding as Implicit Matrix Factorization", 2014; the context's
    frequency has the exponent 3/4). Zero for a word of fewer than `FEWEST` documents."""
    from scipy.sparse.linalg import svds

    there = text.to_counts().astype(np.float64)
    there.data[:] = 1.0
    together = (there.T @ there).tocoo()
    apart = together.row != together.col
    one, other, count = together.row[apart], together.col[apart], together.data[apart]
    totals = np.bincount(one, count, minlength=text.n_words)
    usual = totals**0.75
    information = np.log(count * usual.sum() / (totals[one] * usual[other]))
    positive = information > 0
    table = sp.csr_matrix((information[positive], (one[positive], other[positive])), shape=together.shape)
    n = min(DIMENSIONS, text.n_words - 1)
    if n < 1 or not table.nnz:
        return np.zeros((text.n_words, 1))
    left, values, _ = svds(table, k=n, v0=np.ones(text.n_words))
    found = left * np.sqrt(np.maximum(values, 0.0))
    found[np.asarray(there.sum(axis=0)).ravel() < FEWEST] = 0.0
    return np.asarray(found)


def vectors_of_topics(topics: FloatArray, shares: FloatArray) -> FloatArray:
    """A vector for each word from public topics (topic × word): the square roots of how it is spread over them, beyond
    how all text is spread."""
    spread = topics.T * shares
    total = spread.sum(axis=1, keepdims=True)
    found = np.sqrt(spread / np.where(total > 0, total, 1.0)) - np.sqrt(shares / shares.sum())
    return np.asarray(np.where(total > 0, found, 0.0))


def nearest(vectors: FloatArray, n: int = NEIGHBOURS) -> sp.csr_matrix:
    """Word × word: the cosine of each word with its ``n`` nearest, where that is above zero. A word without a vector
    has no neighbours, and is none. (Cosines have three digits: more would differ from run to run.)"""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = lengths[:, 0] > 0
    n_words, n = len(vectors), min(n, max(len(vectors) - 1, 0))
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    rows, columns, values = [], [], []
    for start in range(0, n_words if n else 0, 1024):  # in chunks: a whole word × word table may be large
        some = np.arange(start, min(start + 1024, n_words))
        cosine = unit[some] @ unit.T
        cosine[:, ~known] = -1.0
        cosine[np.arange(len(some)), some] = -1.0
        best = np.argpartition(-cosine, n - 1, axis=1)[:, :n]
        found = np.round(np.take_along_axis(cosine, best, axis=1), 3)
        kept = (found > 0) & known[some, None]
        rows.append(np.repeat(some, kept.sum(axis=1)))
        columns.append(best[kept])
        values.append(found[kept])
    if not rows:
        return sp.csr_matrix((n_words, n_words))
    cells = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_matrix((np.concatenate(values), cells), shape=(n_words, n_words))


def bands(frequencies: FloatArray, n: int = BANDS) -> IntArray:
    """The band of each word, 0 for the most frequent."""
    found = np.empty(len(frequencies), np.int64)
    found[np.argsort(-frequencies, kind="stable")] = np.arange(len(frequencies)) * n // max(len(frequencies), 1)
    return found


def expected(links: sp.csr_matrix, noisy: FloatArray, flat: FloatArray) -> FloatArray:
    """By how much the neighbours of each word say that it differs from ``flat``, word × topic: ``flat`` times the mean
    of their ratios to it, which is weighted by frequency, minus one."""
    usual = links @ flat
    there = usual > 0
    return np.asarray(np.where(there, (links @ noisy) / np.where(there, usual, 1.0) - 1.0, 0.0) * flat)


def fitted(
    noisy: FloatArray, variance: FloatArray, flat: FloatArray, says: Sequence[FloatArray], band: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The table that words are pulled towards, flat + Σ ρ · ``says``, and the ρ of each band and source.

    ρ is that of least squares, weighted by the noise, not below 0, and with a sum of at most `MOST`. The noise of a
    word is not in what its neighbours say; so on average nothing is taken from neighbours that know nothing, and the
    noise of what they say lowers ρ by itself.
    """
    from scipy.optimize import nnls

    n, m = int(band.max(initial=-1)) + 1, len(says)
    above, below = np.zeros((n, m)), np.zeros((n, m, m))
    for i, one in enumerate(says):
        weighted = one / variance
        above[:, i] = np.bincount(band, (weighted * (noisy - flat)).sum(axis=1), minlength=n)
        for j in range(i, m):
            below[:, i, j] = below[:, j, i] = np.bincount(band, (weighted * says[j]).sum(axis=1), minlength=n)
    rho = np.zeros((n, m))
    for b in range(n):
        heard = np.diagonal(below[b]) > 0
        if heard.any():
            inner = below[b][np.ix_(heard, heard)]
            root = np.linalg.cholesky(inner + 1e-9 * np.trace(inner) * np.eye(len(inner)))
            rho[b, heard] = nnls(root.T, np.linalg.solve(root, above[b, heard]))[0]
    rho /= np.maximum(rho.sum(axis=1, keepdims=True) / MOST, 1.0)
    target = flat + sum((rho[band, i, None] * one for i, one in enumerate(says)), np.zeros_like(flat))
    return np.maximum(target, FLOOR * flat), rho
