"""What one unit contributes to word frequencies and to the prevalence of topics: roots of counts, and proportions."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import kernel
from discreet.kernels.measures.likelihood import mixture_of_tokens
from discreet.kernels.sums.clipped import add_clipped


@kernel
def add_roots(
    words: Int32Array,
    unit_ends: IntArray,
    first: Int,
    last: Int,
    word_weights: FloatArray,
    clip: float,
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, one cell per word.

    Unit ``m`` owns the tokens from ``unit_ends[m - 1]`` (0 for the first) to ``unit_ends[m]``. Its contribution is
    word_weights[w] · √(how often it has w), clipped and cut to whole numbers (`add_clipped`).
    """
    counts = np.zeros(word_weights.shape[0], np.int64)
    cells = np.empty(word_weights.shape[0], np.int64)
    values = np.empty(word_weights.shape[0])
    for unit in range(first, last):
        tokens = words[unit_ends[unit - 1] if unit > 0 else 0 : unit_ends[unit]]
        n = 0
        for word in tokens:
            if counts[word] == 0:
                cells[n] = word
                n += 1
            counts[word] += 1
        for i in range(n):
            values[i] = word_weights[cells[i]] * math.sqrt(np.float64(counts[cells[i]]))
            counts[cells[i]] = 0
        add_clipped(values, cells, n, clip, out)


@kernel
def add_proportions(
    word_topics: FloatArray,
    words: Int32Array,
    unit_ends: IntArray,
    first: Int,
    last: Int,
    alpha: FloatArray,
    tolerance: float,
    max_steps: Int,
    scale: float,
    clip: float,
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, one cell per topic.

    The proportions θ of a unit are those of all its tokens as one document, without the prior: the mean of q_ik over
    its tokens i, which sums to 1. A unit without tokens contributes nothing. The contribution is ``scale`` · θ, clipped
    and cut to whole numbers (`add_clipped`).
    """
    n_topics = word_topics.shape[1]
    place = np.full(word_topics.shape[0], -1, np.int64)
    cells = np.arange(n_topics)
    theta = np.empty(n_topics)
    prior = alpha.sum()
    for unit in range(first, last):
        tokens = words[unit_ends[unit - 1] if unit > 0 else 0 : unit_ends[unit]]
        n = tokens.shape[0]
        if n == 0:
            continue
        mixture_of_tokens(word_topics, tokens, place, alpha, 0.0, tolerance, max_steps, theta)
        for k in range(n_topics):
            theta[k] = scale * max(theta[k] * (prior + n) - alpha[k], 0.0) / n
        add_clipped(theta, cells, n_topics, clip, out)
