"""The token loop of SUB-LDA (Huang and Chen 2021, Algorithm 1): each visited token adds noise to the counts."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import BoolArray, FloatArray, Int, Int32Array, IntArray, UInt16Array, UInt32Array
from discreet.kernels.compile import kernel
from discreet.kernels.lanes import LANES
from discreet.kernels.stream import BLOCK, GROUP, fill_document
from discreet.kernels.sweeps.choice import ROW, choose

_WINDOW = 4 * GROUP
"""32-bit draws made at a time, two for each token."""


@kernel
def sweep_noisy(
    words: Int32Array,
    offsets: IntArray,
    topics: UInt16Array,
    visited: BoolArray,
    first: Int,
    last: Int,
    noise: IntArray,
    step: float,
    word_topic: FloatArray,
    topic_totals: FloatArray,
    doc_topic: FloatArray,
    alpha: FloatArray,
    beta: float,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    clip: float = math.inf,
) -> None:
    """As :func:`~discreet.kernels.sweeps.sequential.sweep_sequential`, for the documents ``first`` to ``last``
    (excluded), and

        n[w, k] ← n[w, k] + step · noise

    for every topic k before a token w is drawn. The noise stays in ``word_topic`` and in ``topic_totals``: visits add
    up. ``noise`` holds whole numbers, a row of topics for each visited token, in the order of visits. Without noise the
    two sweeps agree to the bit.
    """
    n_topics = alpha.shape[0]
    mass = beta * (word_topic.shape[0] // n_topics)
    row_ends = np.empty((n_topics + ROW - 1) // ROW)
    chances = np.zeros(ROW * row_ends.shape[0])
    draws, places = np.empty(_WINDOW, np.uint32), np.empty(2 * LANES, np.uint32)
    visit = 0
    for d in range(first, last):
        start, length = offsets[d], offsets[d + 1] - offsets[d]
        for i in range(length):
            at = 2 * i % _WINDOW
            if at == 0:
                wanted = min(_WINDOW, (2 * (length - i) + GROUP - 1) // GROUP * GROUP)
                fill_document(key, purpose, sweep, np.uint32(d), 2 * i // BLOCK, places, 0, draws, 0, wanted)
            if not visited[start + i]:
                continue
            row, old = words[start + i] * n_topics, topics[start + i]
            word_topic[row + old] -= 1.0
            topic_totals[old] -= 1.0
            doc_topic[d, old] -= 1.0
            its_row, its_noise = np.uint64(row), np.uint64(visit * n_topics)
            for topic in range(n_topics):
                k = np.uint64(topic)  # an index that might be negative would keep the loop from running in lanes
                extra = step * noise[its_noise + k]
                word_topic[its_row + k] += extra
                topic_totals[k] += extra
                word = max(min(word_topic[its_row + k], clip), 0.0) + beta
                inverse = 1.0 / (max(topic_totals[k], 0.0) + mass)
                chances[k] = word * inverse * (max(doc_topic[d, k], 0.0) + alpha[k])
            visit += 1
            bits = (np.uint64(draws[at]) << np.uint64(21)) | (np.uint64(draws[at + 1]) >> np.uint64(11))
            new = choose(chances, row_ends, n_topics, np.float64(bits) * 2.0**-53)
            topics[start + i] = new
            word_topic[row + new] += 1.0
            topic_totals[new] += 1.0
            doc_topic[d, new] += 1.0
