"""How likely whole documents are under given topics, with the mixture of each integrated out."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import kernel


@kernel
def left_to_right(
    word_topics: FloatArray,
    words: Int32Array,
    offsets: IntArray,
    first: Int,
    last: Int,
    alpha: FloatArray,
    excess: float,
    uniform: FloatArray,
    out: FloatArray,
) -> None:
    """Estimate log p(words of document d | collection c) into ``out``, document × collection, for some documents.

    Row c · V + w of ``word_topics`` holds the probability of word w of collection c in each topic. Particles go through
    the document from left to right: each holds the topics of the tokens so far, the next word has probability Σ_k A[w,
    k] · (n_k + α_k) / (n + Σα) under it, and then its topic is drawn from the terms of that sum. The evidence is the
    product of the weighted means of these probabilities over particles: unbiased for any number of particles, and exact
    for infinitely many. When the effective number of particles is less than half, they are resampled by their weights,
    evenly spaced.

    Under a Beta-Liouville prior, ``excess`` = a − Λ is not 0, and all topics but the last have the factor
    (a + n_{<K}) / (Λ + n_{<K}) before n_k + α_k, n_{<K} being how many tokens so far have one of them; the chances sum
    to 1 over n + Σα + excess.

    ``uniform`` is step × (particle + 1), numbers from 0 to 1; every document and collection reads the same, so that its
    evidence does not depend on the others. Documents with more tokens than steps start again with the first step.
    """
    n_collections = out.shape[1]
    n_words, n_topics = word_topics.shape[0] // n_collections, word_topics.shape[1]
    n_steps, n_particles = uniform.shape[0], uniform.shape[1] - 1
    counts, copied = np.empty((n_topics, n_particles)), np.empty((n_topics, n_particles))
    mass, weights, chosen = np.empty(n_particles), np.empty(n_particles), np.empty(n_particles, np.int64)
    factor = np.ones(n_particles)  # of all topics but the last
    prior, final = alpha.sum(), n_topics - 1
    for d in range(first, last):
        for c in range(n_collections):
            for k in range(n_topics):
                counts[k] = alpha[k]
            weights[:] = 1.0 / n_particles
            evidence = 0.0
            for i in range(offsets[d + 1] - offsets[d]):
                row = word_topics[c * n_words + words[offsets[d] + i]]
                mass[:] = 0.0
                for k in range(final):
                    for p in range(n_particles):
                        mass[p] += row[k] * counts[k, p]
                for p in range(n_particles):
                    if excess != 0.0:
                        inner = prior + i - counts[final, p]  # Λ + n_{<K}
                        factor[p] = (inner + excess) / inner
                    mass[p] = mass[p] * factor[p] + row[final] * counts[final, p]
                probability = 0.0
                for p in range(n_particles):
                    probability += weights[p] * mass[p]
                if not probability > 0.0:
                    evidence = -np.inf
                    break
                evidence += math.log(probability / (prior + excess + i))
                squares = 0.0
                for p in range(n_particles):
                    weights[p] *= mass[p] / probability
                    squares += weights[p] * weights[p]
                    chosen[p] = p
                if squares * n_particles > 2.0:
                    _resample(weights, uniform[i % n_steps, n_particles], chosen)
                    for k in range(n_topics):
                        for p in range(n_particles):
                            copied[k, p] = counts[k, chosen[p]]
                    counts[:] = copied
                for p in range(n_particles):
                    k, before = 0, factor[chosen[p]]
                    left = uniform[i % n_steps, p] * mass[chosen[p]] - before * (row[0] * counts[0, p])
                    while left >= 0.0 and k < final:
                        k += 1
                        left -= before * (row[k] * counts[k, p])
                    counts[k, p] += 1.0
            out[d, c] = evidence


@kernel
def _resample(weights: FloatArray, uniform: float, chosen: IntArray) -> None:
    """Choose the particles that continue, each about in proportion to its weight; the weights become equal."""
    n = len(weights)
    p, sum_so_far = 0, weights[0]
    for i in range(n):
        while sum_so_far < (i + uniform) / n and p < n - 1:
            p += 1
            sum_so_far += weights[p]
        chosen[i] = p
    weights[:] = 1.0 / n
