"""What one unit contributes to the prevalence of topics: its proportions, clipped, as whole numbers on a grid."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import kernel
from discreet.kernels.measures.likelihood import mixture_of_tokens
from discreet.kernels.sums.contributions import LARGEST_CLIP, TRIES


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

    Unit ``m`` owns the tokens from ``unit_ends[m - 1]`` (0 for the first) to ``unit_ends[m]``. Its proportions θ are
    those of all its tokens as one document, without the prior: the mean of q_ik over its tokens i, which sums to 1. A
    unit without tokens contributes nothing. The contribution is ``scale`` · θ, shrunk to norm ``clip`` where it is
    longer, each cell truncated to a whole number. The guarantee depends on the check of these whole numbers, as in
    ``contributions.add_contributions``.
    """
    usable = clip >= 0.0 and clip <= LARGEST_CLIP  # false for NaN
    limit = np.int64(math.floor(clip * clip)) if usable else np.int64(-1)
    n_topics = word_topics.shape[1]
    place = np.full(word_topics.shape[0], -1, np.int64)
    theta = np.empty(n_topics)
    prior = 0.0
    for k in range(n_topics):
        prior += alpha[k]
    for unit in range(first, last):
        tokens = words[unit_ends[unit - 1] if unit > 0 else 0 : unit_ends[unit]]
        if tokens.shape[0] == 0:
            continue
        mixture_of_tokens(word_topics, tokens, place, alpha, 0.0, tolerance, max_steps, theta)
        squares = 0.0
        for k in range(n_topics):
            theta[k] = max(theta[k] * (prior + tokens.shape[0]) - alpha[k], 0.0) / tokens.shape[0]
            squares += theta[k] * theta[k]
        norm = scale * math.sqrt(squares)
        finite = usable and norm < math.inf  # false for NaN
        shrink = clip / norm if finite and norm > clip else 1.0
        fits = False
        for _ in range(TRIES if finite else 0):  # [check-proportions] integers only
            whole = np.int64(0)
            for k in range(n_topics):
                real = shrink * scale * theta[k]
                if not (real >= 0.0 and real <= clip + 1.0):  # also refuses NaN
                    whole = limit + 1
                elif whole <= limit:
                    whole += np.int64(real) * np.int64(real)
            if whole <= limit:
                fits = True
                break
            shrink *= 1.0 - 1e-6
        if fits:
            for k in range(n_topics):
                out[k] += np.int64(shrink * scale * theta[k])
