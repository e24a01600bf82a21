"""The mixture of topics that explains a document best: no prior, no penalty."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import kernel

LONGEST = 16.0
"""The longest step, in steps of EM."""

LONGER = 1.4
"""By how much a step grows after one that went up."""

LEAST = 1e-10
"""The least share of a topic: one that reached 0 could never come back."""


@kernel
def best_mixtures(
    word_topics: FloatArray,
    words: Int32Array,
    counts: FloatArray,
    offsets: IntArray,
    first: Int,
    last: Int,
    tolerance: float,
    max_steps: Int,
    theta: FloatArray,
    best: FloatArray,
    gap: FloatArray,
) -> None:
    """max over θ of f(θ) = Σ_i n_i log Σ_k θ_k φ_kw(i) for the documents ``first`` to ``last`` (excluded).

    Document d has the distinct words ``words[offsets[d]:offsets[d + 1]]``, n_i times each (``counts``); ``word_topics``
    is φ as word × topic. f is concave, and with g its gradient, f(θ*) − f(θ) ≤ max_k g_k − Σ_k θ_k g_k = max_k g_k − N:
    the step ends when this ``gap`` is ``tolerance`` or less, so that the result is too low by that much at most.

    The step is θ_k ← θ_k · (g_k / N)^η, normalised (mirror ascent with the entropy as its map): η = 1 is EM, which
    never goes down, and longer steps need fewer. After a step up η grows; after a step down it is taken back, and η is
    1 again.
    """
    n_topics = word_topics.shape[1]
    widest = 1
    for d in range(first, last):
        widest = max(widest, offsets[d + 1] - offsets[d])
    rows, columns = np.empty((widest, n_topics)), np.empty((n_topics, widest))
    mass = np.empty(widest)
    slope, tried = np.empty(n_topics), np.empty(n_topics)
    kept, kept_slope = np.empty(n_topics), np.empty(n_topics)
    for d in range(first, last):
        start, n_distinct = offsets[d], offsets[d + 1] - offsets[d]
        total = 0.0
        for i in range(n_distinct):
            total += counts[start + i]
            for k in range(n_topics):
                rows[i, k] = word_topics[words[start + i], k]
                columns[k, i] = rows[i, k]
        tried[:] = 1.0 / n_topics
        kept[:] = tried
        kept_slope[:] = total
        value, length = -np.inf, 1.0
        for _ in range(max_steps):
            mass[:n_distinct] = 0.0
            for k in range(n_topics):
                weight = tried[k]
                for i in range(n_distinct):
                    mass[i] += weight * columns[k, i]
            slope[:] = 0.0
            found = 0.0
            for i in range(n_distinct):
                found += counts[start + i] * math.log(mass[i])
                ratio = counts[start + i] / mass[i]
                for k in range(n_topics):
                    slope[k] += ratio * rows[i, k]
            if found < value and length > 1.0:
                length = 1.0
            else:
                value = found
                kept[:] = tried
                kept_slope[:] = slope
                length = min(length * LONGER, LONGEST)
                if slope.max() - total <= tolerance:
                    break
            mass_of_all = 0.0
            for k in range(n_topics):
                tried[k] = max(kept[k] * (kept_slope[k] / total) ** length, LEAST)
                mass_of_all += tried[k]
            for k in range(n_topics):
                tried[k] /= mass_of_all
        theta[d] = kept
        best[d] = value if n_distinct else 0.0
        gap[d] = kept_slope.max() - total if n_distinct else 0.0
