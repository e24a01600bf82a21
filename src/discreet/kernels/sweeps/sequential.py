"""The sweep of the papers: collapsed Gibbs sampling in which every draw changes the counts that the next one reads.

Griffiths and Steyvers (2004), Eq. 5, as Zhao 2019, Zhao 2021 and Huang and Chen 2021 use it. Only the ``as_published``
forms run it: a draw depends on all tokens drawn before it in every document, so nothing is proved about it, and it runs
on one thread. The token loop of SUB-LDA (Huang and Chen 2021, Algorithm 1) adds noise to the counts at each visit.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import BoolArray, FloatArray, Int, Int32Array, IntArray, UInt16Array, UInt32Array
from discreet.kernels.compile import kernel, part
from discreet.kernels.lanes import LANES
from discreet.kernels.stream import BLOCK, GROUP, fill_document
from discreet.kernels.sweeps.choice import ROW, choose

_WINDOW = 4 * GROUP
"""32-bit draws made at a time, two for each token."""


@part
def _chance(word: float, inverse: float, document: float, alpha: float, beta: float, clip: float) -> float:
    """The weight of one topic from its counts n[w, k] and n[d, k]; ``inverse`` is 1/(n[k] + V·β)."""
    return (max(min(word, clip), 0.0) + beta) * inverse * (max(document, 0.0) + alpha)


@kernel
def sweep_sequential(
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
    """Draw the topics of the visited tokens of documents ``first`` to ``last`` (excluded) anew, and update the counts.

    A token w of document d leaves the counts of its topic, draws from

        p(k) ∝ (min(n[w, k], clip) + β) / (n[k] + V·β) · (n[d, k] + α[k])

    and enters those of the new one. ``word_topic`` (flat, word × topic), ``topic_totals`` and ``doc_topic`` (document ×
    topic) hold n[w, k], n[k] and n[d, k], including the token's own count; each changes by exactly ±1, and the clip
    applies to a copy only (Zhao 2021, Algorithm 1, lines 12 and 15). They need not be whole numbers, nor agree with
    each other: noise may have been added. **A count below zero is read as zero**, separately for each of the three, so
    that no noise can make a weight negative. The papers do not say how they treat this case.

    If there is ``noise``, n[w, k] ← n[w, k] + step · noise for every topic k before a token w is drawn. It stays in
    ``word_topic`` and in ``topic_totals``: visits add up. ``noise`` holds whole numbers, a row of topics for each
    visited token, in the order of visits; an empty array means no noise.

    Tokens that are not visited keep their topics and stay in the counts. Chances and their sums are float64. A draw
    takes 53 bits: the 32-bit draws 2i and 2i + 1 of (key, purpose, sweep, document), where i is the token's place in
    its document, counting tokens that are not visited too.
    """
    n_topics = alpha.shape[0]
    mass = beta * (word_topic.shape[0] // n_topics)
    inverse = 1.0 / (np.maximum(topic_totals, 0.0) + mass)
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
            inverse[old] = 1.0 / (max(topic_totals[old], 0.0) + mass)
            its_row, its_noise = np.uint64(row), np.uint64(visit * n_topics)
            visit += 1
            for topic in range(n_topics if noise.shape[0] > 0 else 0):
                k = np.uint64(topic)  # an index that might be negative would prevent vectorisation
                extra = step * noise[its_noise + k]
                word_topic[its_row + k] += extra
                topic_totals[k] += extra
                below = 1.0 / (max(topic_totals[k], 0.0) + mass)
                chances[k] = _chance(word_topic[its_row + k], below, doc_topic[d, k], alpha[k], beta, clip)
            for topic in range(n_topics if noise.shape[0] == 0 else 0):
                k = np.uint64(topic)
                chances[k] = _chance(word_topic[its_row + k], inverse[k], doc_topic[d, k], alpha[k], beta, clip)
            bits = (np.uint64(draws[at]) << np.uint64(21)) | (np.uint64(draws[at + 1]) >> np.uint64(11))
            new = choose(chances, row_ends, n_topics, np.float64(bits) * 2.0**-53)
            topics[start + i] = new
            word_topic[row + new] += 1.0
            topic_totals[new] += 1.0
            doc_topic[d, new] += 1.0
            inverse[new] = 1.0 / (max(topic_totals[new], 0.0) + mass)
