"""Independent work on many documents, divided among threads in pieces that do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.workers import Workers

PIECE = 64
"""Documents in one piece of work."""

TOLERANCE = 1e-6
"""EM for a document's mixture stops when Σ_k |Δθ_k| falls below this,"""

MAX_STEPS = 500
"""or after this many steps."""

PARTICLES = 32
"""Particles of the estimate of a document's evidence."""

MOST_EVIDENCE_STEPS = 1 << 14
"""Tokens after which this estimate reads the same random numbers again."""


def each_piece(n_documents: int, work: Callable[[int, int], None], n_threads: int | None) -> None:
    """Call ``work(first, last)`` for pieces that cover all documents."""
    workers = Workers(n_threads)
    starts = range(0, n_documents, PIECE)
    workers.share(lambda _, i: work(starts[i], min(starts[i] + PIECE, n_documents)), len(starts))
    workers.close()


def excess(alpha: FloatArray, alpha_rest: float | None) -> float:
    """a − Λ of a Beta-Liouville prior, 0 of a Dirichlet one."""
    return 0.0 if alpha_rest is None else float(alpha_rest - np.sum(alpha[:-1]))


def mixtures(
    topics: FloatArray,
    alpha: FloatArray,
    corpus: Corpus,
    n_threads: int | None = None,
    *,
    alpha_rest: float | None = None,
) -> FloatArray:
    """Topic proportions of each document: the fixed point of θ_k ∝ α_k + Σ_i q_ik with q_ik ∝ θ_k φ_kw(i).

    A document without a token gets the prior's mean. With ``alpha_rest`` the prior is Beta-Liouville, as in a sweep,
    and θ its posterior mean given the counts Σ_i q_ik.
    """
    from discreet.kernels.measures.likelihood import mix_documents

    word_topics = np.ascontiguousarray(topics.T)
    theta = np.empty((corpus.n_documents, len(topics)))
    prior, over = np.array(alpha, dtype=np.float64), excess(alpha, alpha_rest)

    def work(first: int, last: int) -> None:
        mix_documents(word_topics, corpus.words, corpus.offsets, first, last, prior, over, TOLERANCE, MAX_STEPS, theta)

    each_piece(corpus.n_documents, work, n_threads)
    return theta


def evidences(
    topics: FloatArray,
    alpha: FloatArray,
    corpus: Corpus,
    n_collections: int,
    *,
    alpha_rest: float | None = None,
    n_particles: int = PARTICLES,
    n_threads: int | None = None,
) -> FloatArray:
    """log p(words | collection) of each document under each collection, with its mixture integrated out.

    ``topics`` is topic × (collection · n_words + word). Estimated from left to right (``kernels/measures/evidence.py``)
    with random numbers that are the same on every run.
    """
    from discreet.kernels.measures.evidence import left_to_right

    word_topics = np.ascontiguousarray(topics.T)
    found = np.empty((corpus.n_documents, n_collections))
    prior, over = np.array(alpha, dtype=np.float64), excess(alpha, alpha_rest)
    n_steps = min(int(corpus.lengths.max(initial=1)), MOST_EVIDENCE_STEPS)
    bits = Key.from_seed(0).bits(Purpose.EVIDENCE, 0, 0, n_steps * (n_particles + 1))
    uniform = bits.reshape(n_steps, -1).astype(np.float64) * 2.0**-32

    def work(first: int, last: int) -> None:
        left_to_right(word_topics, corpus.words, corpus.offsets, first, last, prior, over, uniform, found)

    each_piece(corpus.n_documents, work, n_threads)
    return found
