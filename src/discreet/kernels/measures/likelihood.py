"""How likely tokens are under given topics, once each document's mixture has been estimated."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import kernel


@kernel
def mixture_weights(
    rows: FloatArray,
    columns: FloatArray,
    counts: FloatArray,
    alpha: FloatArray,
    excess: float,
    tolerance: float,
    max_steps: Int,
    theta: FloatArray,
) -> Int:
    """EM for the topic proportions of one document, from uniform ``theta`` until Σ|Δθ| < ``tolerance``; returns steps.

    θ_k ← (α_k + Σ_i n_i q_ik) / norm with q_ik = θ_k φ_kw(i) / Σ_l θ_l φ_lw(i), where ``n_i`` is ``counts``. ``rows``
    is φ as distinct word × topic and ``columns`` the same transposed: each of the two inner loops then runs along
    contiguous memory and adds to independent cells, so it uses vector instructions although the order of additions is
    fixed. A word to which no topic gives any probability says nothing about θ and is skipped.

    ``excess`` is a − Λ of a Beta-Liouville prior, 0 of a Dirichlet prior: the share of the last topic is then
    multiplied by S / (S + excess), S = Σ_{k<K} (α_k + Σ_i n_i q_ik), so that θ is the posterior mean given the counts
    Σ_i n_i q_ik.
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
            if k == n_topics - 1 and excess != 0.0:
                update[k] *= total / (total + excess)
            total += update[k]
        moved = 0.0
        for k in range(n_topics):
            weight = update[k] / total
            moved += abs(weight - theta[k])
            theta[k] = weight
        if moved < tolerance:
            return step + 1
    return max_steps


@kernel
def mixture_of_tokens(
    word_topics: FloatArray,
    tokens: Int32Array,
    place: IntArray,
    alpha: FloatArray,
    excess: float,
    tolerance: float,
    max_steps: Int,
    theta: FloatArray,
) -> None:
    """θ of one document given its tokens. ``place`` is scratch space for one number per word, -1 before and after."""
    n_topics = word_topics.shape[1]
    n_distinct = 0
    for word in tokens:
        if place[word] < 0:
            place[word] = n_distinct
            n_distinct += 1
    rows = np.empty((n_distinct, n_topics))
    columns = np.empty((n_topics, n_distinct))
    counts = np.zeros(n_distinct)
    for word in tokens:
        j = place[word]
        if counts[j] == 0.0:
            for k in range(n_topics):
                rows[j, k] = word_topics[word, k]
                columns[k, j] = word_topics[word, k]
        counts[j] += 1.0
    for word in tokens:
        place[word] = -1
    mixture_weights(rows, columns, counts, alpha, excess, tolerance, max_steps, theta)


@kernel
def mix_documents(
    word_topics: FloatArray,
    words: Int32Array,
    offsets: IntArray,
    first: Int,
    last: Int,
    alpha: FloatArray,
    excess: float,
    tolerance: float,
    max_steps: Int,
    out: FloatArray,
) -> None:
    """θ of the documents ``first`` to ``last`` (excluded) into the rows of ``out``."""
    place = np.full(word_topics.shape[0], -1, np.int64)
    for d in range(first, last):
        tokens = words[offsets[d] : offsets[d + 1]]
        mixture_of_tokens(word_topics, tokens, place, alpha, excess, tolerance, max_steps, out[d])


@kernel
def score_mixtures(
    word_topics: FloatArray, words: Int32Array, offsets: IntArray, theta: FloatArray, out: FloatArray
) -> None:
    """Σ log Σ_k θ_dk φ_kw over the tokens of each document, given its row of ``theta``.

    Four running sums, each of every fourth topic: with one sum, each addition would wait for the last.
    """
    n_topics = word_topics.shape[1]
    whole = n_topics - n_topics % 4
    for d in range(len(offsets) - 1):
        log_likelihood = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            word = words[i]
            a = b = c = e = 0.0
            for k in range(0, whole, 4):
                a += theta[d, k] * word_topics[word, k]
                b += theta[d, k + 1] * word_topics[word, k + 1]
                c += theta[d, k + 2] * word_topics[word, k + 2]
                e += theta[d, k + 3] * word_topics[word, k + 3]
            for k in range(whole, n_topics):
                a += theta[d, k] * word_topics[word, k]
            log_likelihood += math.log((a + b) + (c + e))
        out[d] = log_likelihood


@kernel
def score_documents(
    word_topics: FloatArray,
    words: Int32Array,
    offsets: IntArray,
    observed: IntArray,
    scored_from: IntArray,
    first: Int,
    last: Int,
    alpha: FloatArray,
    excess: float,
    tolerance: float,
    max_steps: Int,
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
        mixture_of_tokens(word_topics, words[start:split], place, alpha, excess, tolerance, max_steps, theta)
        log_likelihood = 0.0
        for i in range(start + scored_from[d], end):
            probability = 0.0
            for k in range(n_topics):
                probability += theta[k] * word_topics[words[i], k]
            log_likelihood += math.log(probability) if probability > 0.0 else -np.inf
        out[d] = log_likelihood
