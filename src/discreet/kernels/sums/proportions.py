"""What one unit contributes to word frequencies and to shares of topics: roots of counts, and proportions."""

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
    piece_ends: IntArray,
    piece_slices: IntArray,
    unit_ends: IntArray,
    first: Int,
    last: Int,
    alpha: FloatArray,
    excess: float,
    tolerance: float,
    max_steps: Int,
    scale: float,
    half: float,
    clip: float,
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, one cell per slice and topic.

    Unit ``m`` owns the pieces of text from ``unit_ends[m - 1]`` (0 for the first) to ``unit_ends[m]``, each in another
    slice, and piece ``p`` the tokens from ``piece_ends[p - 1]`` to ``piece_ends[p]``. The proportions θ of a piece are
    those of all its tokens as one document, without the prior: the mean of q_ik over its tokens i, which sums to 1. A
    piece without tokens contributes nothing. A unit with n such pieces contributes ``scale`` · θ / √n of each: as a
    proportion is no longer than 1, all of them together are no longer than ``scale``. They are clipped and cut to whole
    numbers as one (`add_clipped`), after ``half`` was added: 0.5 rounds them to the nearest number.

    ``excess`` is a − Λ of a Beta-Liouville prior, 0 of a Dirichlet prior (`mixture_weights`).
    """
    n_topics = word_topics.shape[1]
    place = np.full(word_topics.shape[0], -1, np.int64)
    theta = np.empty(n_topics)
    most = 1
    for unit in range(first, last):
        most = max(most, unit_ends[unit] - (unit_ends[unit - 1] if unit > 0 else 0))
    values = np.empty(most * n_topics)
    cells = np.empty(most * n_topics, np.int64)
    prior = alpha.sum()
    for unit in range(first, last):
        filled = 0
        for piece in range(unit_ends[unit - 1] if unit > 0 else 0, unit_ends[unit]):
            tokens = words[piece_ends[piece - 1] if piece > 0 else 0 : piece_ends[piece]]
            n = tokens.shape[0]
            if n == 0:
                continue
            mixture_of_tokens(word_topics, tokens, place, alpha, excess, tolerance, max_steps, theta)
            whole = prior + n + excess
            if excess != 0.0:  # all topics but the last were divided by this
                rest = prior + n - theta[n_topics - 1] * whole
                for k in range(n_topics - 1):
                    theta[k] *= rest / (rest + excess)
            for k in range(n_topics):
                values[filled + k] = scale * max(theta[k] * whole - alpha[k], 0.0) / n
                cells[filled + k] = piece_slices[piece] * n_topics + k
            filled += n_topics
        share = 1.0 / math.sqrt(max(filled // n_topics, 1))
        for i in range(filled):
            values[i] = share * values[i] + half
        add_clipped(values, cells, filled, clip, out)
