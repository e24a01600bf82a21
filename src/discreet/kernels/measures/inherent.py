"""How much each topic draw of a frozen sweep can change when tokens are removed from the topic totals (Zhao 2019,
Algorithm 1)."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, FloatArray, Int, Int32Array, IntArray, UInt16Array
from discreet.kernels.compile import kernel


@kernel
def add_draw_losses(
    words: Int32Array,
    offsets: IntArray,
    before: UInt16Array,
    after: UInt16Array,
    first: Int,
    last: Int,
    statistic: AnyArray,
    prior: FloatArray,
    mass: FloatArray,
    alpha: FloatArray,
    grown: FloatArray,
    losses: FloatArray,
) -> None:
    """Add the ε of each token's draw to ``losses`` (level × token), for the documents ``first`` to ``last`` (excluded).

    The sweep is replayed: when token i was drawn, the tokens of its document before i had their topic ``after`` the
    sweep and those after it the one ``before``; the word counts (``statistic``, word × topic) did not change. So

        r_k = (statistic[w, k] + prior) / mass[k] · (n[d, k] + α_k),    p = r / Σ r

    is the distribution that the token was drawn from. ``grown[level, k]`` is mass[k] / (mass[k] − what may leave topic
    k). If all of it leaves topic k, then p_k grows by the factor grown / (1 + p_k (grown − 1)) and every other topic's
    share shrinks by 1 + p_k (grown − 1); ε is twice the logarithm of the largest of these factors over all k. The first
    is written as 1 / (left + p_k (1 − left)) with left = 1 / grown, so that no topic needs a division.
    """
    n_topics = alpha.shape[0]
    counts, chances = np.zeros(n_topics), np.empty(n_topics)
    left, share = 1.0 / grown, 1.0 / mass
    step = 0 if prior.size == 1 else 1  # one number for all cells
    for d in range(first, last):
        counts[:] = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            counts[before[i]] += 1.0
        for i in range(offsets[d], offsets[d + 1]):
            counts[before[i]] -= 1.0
            w, total = words[i], 0.0
            for k in range(n_topics):
                chances[k] = (statistic[w, k] + prior[step * w, step * k]) * share[k] * (counts[k] + alpha[k])
                total += chances[k]
            for k in range(n_topics):
                chances[k] /= total
            for level in range(grown.shape[0]):
                others, own = 0.0, 1.0
                for k in range(n_topics if n_topics > 1 else 0):  # a single topic is always drawn
                    others = max(others, chances[k] * (grown[level, k] - 1.0))
                    own = min(own, left[level, k] + chances[k] * (1.0 - left[level, k]))
                losses[level, i] += 2.0 * math.log(max(1.0 + others, 1.0 / own))
            counts[after[i]] += 1.0
