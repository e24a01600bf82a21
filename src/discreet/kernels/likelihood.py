"""How likely tokens are under given topics, once each document's mixture has been estimated."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet._types import FloatArray, Int32Array, IntArray


@njit(nogil=True, cache=True)
def mixture_weights(
    rows: FloatArray,
    columns: FloatArray,
    counts: FloatArray,
    alpha: FloatArray,
    tolerance: float,
    max_steps: int,
    theta: FloatArray,
) -> int:
    """EM for the topic proportions of one document, from uniform ``theta`` until Σ|Δθ| < ``tolerance``; returns steps.

    θ_k ← (α_k + Σ_i n_i q_ik) / norm with q_ik = θ_k φ_kw(i) / Σ_l θ_l φ_lw(i), ``n_i`` being ``counts``. ``rows`` is φ
    as distinct word × topic and ``columns`` the same transposed: each of the two inner loops then runs along contiguous
    memory and adds to independent cells, so it uses vector instructions although the order of additions is fixed. A
    word to which no topic gives any probability says nothing about θ and is passed over.
    """
    n_distinct, n_topics = rows.shape
    mass = np.empty(n_distinct)
    update = np.empty(n_topics)
    theta[:] = 1.0 / n_topics
    for step in range(max_steps):
        mass[:] = 0.0
        for k in range(n_topics):
            weight = theta[k]
            for i in range(n_distinct):
                mass[i] += weight * columns[k, i]
        update[:] = 0.0
        for i in range(n_distinct):
            if mass[i] > 0.0:
                ratio = counts[i] / mass[i]
                for k in range(n_topics):
                    update[k] += ratio * rows[i, k]
        total = 0.0
        for k in range(n_topics):
            update[k] = alpha[k] + theta[k] * update[k]
            total += update[k]
        moved = 0.0
        for k in range(n_topics):
            weight = update[k] / total
            moved += abs(weight - theta[k])
            theta[k] = weight
        if moved < tolerance:
            return step + 1
    return max_steps


@njit(nogil=True, cache=True)
def score_documents(
    word_topics: FloatArray,
    words: Int32Array,
    offsets: IntArray,
    observed: IntArray,
    scored_from: IntArray,
    first: int,
    last: int,
    alpha: FloatArray,
    tolerance: float,
    max_steps: int,
    out: FloatArray,
) -> None:
    """Write Σ log Σ_k θ_k φ_kw of the documents ``first`` to ``last`` (excluded) into ``out``.

    ``word_topics`` is φ as word × topic. In document ``d`` the first ``observed[d]`` tokens estimate θ and the tokens
    from ``scored_from[d]`` on are scored; −∞ when one of them has no probability, 0 when there is none.
    """
    n_words, n_topics = word_topics.shape
    place = np.full(n_words, -1, np.int64)
    theta = np.empty(n_topics)
    for d in range(first, last):
        start, end = offsets[d], offsets[d + 1]
        split = start + observed[d]
        n_distinct = 0
        for i in range(start, split):
            if place[words[i]] < 0:
                place[words[i]] = n_distinct
                n_distinct += 1
        rows = np.empty((n_distinct, n_topics))
        columns = np.empty((n_topics, n_distinct))
        counts = np.zeros(n_distinct)
        for i in range(start, split):
            j = place[words[i]]
            if counts[j] == 0.0:
                for k in range(n_topics):
                    rows[j, k] = word_topics[words[i], k]
                    columns[k, j] = word_topics[words[i], k]
            counts[j] += 1.0
        for i in range(start, split):
            place[words[i]] = -1
        mixture_weights(rows, columns, counts, alpha, tolerance, max_steps, theta)
        log_likelihood = 0.0
        for i in range(start + scored_from[d], end):
            probability = 0.0
            for k in range(n_topics):
                probability += theta[k] * word_topics[words[i], k]
            log_likelihood += math.log(probability) if probability > 0.0 else -np.inf
        out[d] = log_likelihood
