"""How well topics can explain documents at best: max over θ of log p(d | θ, φ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.documents import each_piece
from discreet.evaluation.perplexity import _probabilities
from discreet.kernels.measures.best_mixture import best_mixtures

TOLERANCE = 0.01
"""Nats by which a document's maximum may be too low: differences between models are several nats."""

MAX_STEPS = 2000


@dataclass(frozen=True)
class BestMixtures:
    """For each document, the most that topics can make of it."""

    log_likelihood: FloatArray
    """max over θ of Σ_i log Σ_k θ_k φ_kw(i), in nats."""
    theta: FloatArray
    """Where it is reached: document × topic."""
    gap: FloatArray
    """By how much the maximum may be higher, computed from the gradient."""


def best_log_likelihood(
    topics: Any,
    corpus: Corpus,
    *,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
    n_threads: int | None = None,
) -> BestMixtures:
    """max over θ of log p(d | θ, φ) for each document d: no prior on θ, no held-out half.

    It says nothing about how good topics are, for θ has seen every token; it is the statistic of membership attacks.
    ``topics`` is topic × word with rows that sum to 1; a word with probability 0 in every topic makes it −∞.
    """
    phi = np.ascontiguousarray(_probabilities(topics, corpus).T)
    counts = corpus.to_counts()
    words, offsets = counts.indices.astype(np.int32), counts.indptr.astype(np.int64)
    times = counts.data.astype(np.float64)
    n = corpus.n_documents
    theta, best, gap = np.empty((n, phi.shape[1])), np.empty(n), np.empty(n)

    def work(first: int, last: int) -> None:
        best_mixtures(phi, words, times, offsets, first, last, tolerance, max_steps, theta, best, gap)

    each_piece(n, work, n_threads)
    return BestMixtures(best, theta, gap)
