"""From topic counts to sampling weights, likelihood and the priors' updates."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, Float32Array, FloatArray, Int, Int32Array, IntArray, UInt16Array
from discreet.kernels.compile import at, bare_kernel, kernel
from discreet.kernels.lanes import LANES


@bare_kernel
def count_topics(
    words: Int32Array, topics: UInt16Array, first_token: Int, last_token: Int, n_topics: Int, counts: Int32Array
) -> None:
    """Add the tokens ``first_token`` to ``last_token - 1`` to ``counts``, flat word × topic."""
    row = at(n_topics)
    for i in range(first_token, last_token):
        counts[at(words[at(i)]) * row + at(topics[at(i)])] += np.int32(1)


@kernel
def topic_totals(statistic: AnyArray) -> FloatArray:
    """Column sums of a word × topic ``statistic``, in rising order of words."""
    n_words, n_topics = statistic.shape
    totals = np.zeros(n_topics)
    for w in range(n_words):
        for k in range(n_topics):
            totals[k] += statistic[w, k]
    return totals


@kernel
def sampling_weights(
    statistic: AnyArray, prior: FloatArray, scale: FloatArray, first_word: Int, last_word: Int, weights: Float32Array
) -> None:
    """φ̃[w, k] = (statistic[w, k] + prior) · scale[k], rounded once to float32, for a range of words.

    ``statistic`` is word × topic, and ``prior`` too, or a single cell. ``weights`` is word × width; its columns beyond
    the last topic are not changed.
    """
    n_topics = scale.shape[0]
    step = 0 if prior.size == 1 else 1
    for w in range(first_word, last_word):
        for k in range(n_topics):
            weights[w, k] = np.float32((statistic[w, k] + prior[step * w, step * k]) * scale[k])


@kernel
def log_likelihood(counts: Int32Array, totals: FloatArray, prior: FloatArray, table: FloatArray) -> float:
    """log p(w | z): Griffiths and Steyvers (2004), Eq. 2, of ``counts``, word × topic.

    ``prior`` is word × topic or a single cell. ``table[n]`` is log Γ(n + β) − log Γ(β) for small n and one β for all
    cells; an empty table means that nothing is looked up.
    """
    n_words, n_topics = counts.shape
    step = 0 if prior.size == 1 else 1
    total = 0.0
    for k in range(n_topics):
        mass = n_words * prior[0, 0]
        if step == 1:
            mass = 0.0
            for w in range(n_words):
                mass += prior[w, k]
        total += math.lgamma(mass) - math.lgamma(totals[k] + mass)
    for w in range(n_words):
        part = 0.0
        for k in range(n_topics):
            n = counts[w, k]
            if n == 0:
                continue
            if n < table.shape[0]:
                part += table[n]
            else:
                beta = prior[step * w, step * k]
                part += math.lgamma(n + beta) - math.lgamma(beta)
        total += part
    return total


@kernel
def rising_sum(n: float, prior: float) -> float:
    """ψ(n + prior) − ψ(prior) for whole n ≥ 0: Σ 1 / (prior + j) for j < n, long sums by the asymptotic series."""
    total = 0.0
    j = 0.0
    while j < n and j < 32.0:
        total += 1.0 / (prior + j)
        j += 1.0
    if j < n:
        total += _digamma_above_thirty(n + prior) - _digamma_above_thirty(j + prior)
    return total


@kernel
def _digamma_above_thirty(x: float) -> float:
    inverse = 1.0 / (x * x)
    return math.log(x) - 0.5 / x - inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse / 252.0))


@kernel
def alpha_statistics(
    offsets: IntArray, topics: UInt16Array, first: Int, last: Int, alpha: FloatArray, numerators: FloatArray
) -> float:
    """Sums for Minka's fixed point over some documents: adds Σ_d ψ(n_dk + α_k) − ψ(α_k) to ``numerators`` and returns
    Σ_d ψ(n_d + α₀) − ψ(α₀)."""
    counts = np.zeros(alpha.shape[0], np.int64)
    total, denominator = alpha.sum(), 0.0
    for d in range(first, last):
        start, stop = offsets[d], offsets[d + 1]
        if start == stop:
            continue
        for i in range(start, stop):
            counts[topics[i]] += 1
        for i in range(start, stop):
            k = topics[i]
            if counts[k] > 0:
                numerators[k] += rising_sum(counts[k], alpha[k])
                counts[k] = 0
        denominator += rising_sum(stop - start, total)
    return denominator


@kernel
def beta_statistics(counts: Int32Array, beta: float) -> float:
    """Σ over cells of ψ(n_kw + β) − ψ(β): the numerator of the fixed point for a symmetric β."""
    total = 0.0
    for w in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            if counts[w, k] > 0:
                total += rising_sum(counts[w, k], beta)
    return total


def padded(n_topics: Int) -> int:
    """The width of a row that holds ``n_topics``: the next multiple of sixteen."""
    return -(-n_topics // LANES) * LANES
