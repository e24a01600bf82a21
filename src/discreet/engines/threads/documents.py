"""Independent work on many documents, shared out to threads in pieces that do not depend on their number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.workers import Workers

PIECE = 64
"""Documents in one piece of work."""

TOLERANCE = 1e-6
"""EM for a document's mixture stops when Σ_k |Δθ_k| falls below this,"""

MAX_STEPS = 500
"""or here at the latest."""


def each_piece(n_documents: int, work: Callable[[int, int], None], n_threads: int | None) -> None:
    """Call ``work(first, last)`` for pieces that cover all documents."""
    workers = Workers(n_threads)
    starts = range(0, n_documents, PIECE)
    workers.share(lambda _, i: work(starts[i], min(starts[i] + PIECE, n_documents)), len(starts))
    workers.close()


def mixtures(topics: FloatArray, alpha: FloatArray, corpus: Corpus, n_threads: int | None = None) -> FloatArray:
    """Topic proportions of each document: the fixed point of θ_k ∝ α_k + Σ_i q_ik with q_ik ∝ θ_k φ_kw(i).

    A document without a token gets the prior's mean.
    """
    from discreet.kernels.measures.likelihood import mix_documents

    word_topics = np.ascontiguousarray(topics.T)
    theta = np.empty((corpus.n_documents, len(topics)))
    prior = np.array(alpha, dtype=np.float64)

    def work(first: int, last: int) -> None:
        mix_documents(word_topics, corpus.words, corpus.offsets, first, last, prior, TOLERANCE, MAX_STEPS, theta)

    each_piece(corpus.n_documents, work, n_threads)
    return theta
