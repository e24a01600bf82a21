"""Collapsed Gibbs sampling of a cross-collection model: topic and switch of each token are kept, and every draw moves
the counts that the next one reads.

Luo et al. 2023, Algorithm 1, which alternates topic and switch, and beside it the draw of both together, which the
model asks for (``tests/exact/test_cross_sequential.py`` compares both with the posterior). One thread must do it. Their
Algorithm 2 (HPP-ccLBLA) adds noise to counts inside the token loop and draws from counts that are clipped.
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
"""32-bit draws made at a time, four for each token."""

# Which prior a row of ``rests`` belongs to. A row holds the weight of all entries but the last together (a), and the
# sum of their numbers (Λ); both are the same for a Dirichlet prior.
DOCUMENT, COMMON, OWN = 0, 1, 2


@part
def _predictive(
    n: float, last: float, total: float, prior: float, last_prior: float, rest: float, inner: float
) -> float:
    """Of an entry that is not the last, which has the count ``last`` and the prior ``last_prior``."""
    others = max(total - max(last, 0.0), 0.0)
    return (prior + n) * (rest + others) / ((inner + others) * (rest + last_prior + max(total, 0.0)))


@part
def _read(n: float, clip: float) -> float:
    """A count as draws read it: noise may have made it negative."""
    return max(min(n, clip), 0.0)


@part
def fill_word_chances(
    word: Int,
    collection: Int,
    common: FloatArray,
    common_totals: FloatArray,
    own: FloatArray,
    own_totals: FloatArray,
    beta: FloatArray,
    own_beta: FloatArray,
    rests: FloatArray,
    clip: float,
    out: FloatArray,
) -> None:
    """φ[k, w] into the first row of ``out`` and σ[c, k, w] into the second, from the counts of all other tokens.

    The count of the word itself is cut at ``clip`` and at 0, totals at 0.
    """
    end = len(beta) - 1
    for k in range(common_totals.shape[0]):
        if word == end:
            whole = max(common_totals[k], 0.0) + rests[COMMON, 0] + beta[end]
            own_whole = max(own_totals[collection, k], 0.0) + rests[OWN, 0] + own_beta[end]
            out[0, k] = (_read(common[end, k], clip) + beta[end]) / whole
            out[1, k] = (_read(own[collection, end, k], clip) + own_beta[end]) / own_whole
        else:
            out[0, k] = _predictive(
                _read(common[word, k], clip),
                common[end, k],
                common_totals[k],
                beta[word],
                beta[end],
                rests[COMMON, 0],
                rests[COMMON, 1],
            )
            out[1, k] = _predictive(
                _read(own[collection, word, k], clip),
                own[collection, end, k],
                own_totals[collection, k],
                own_beta[word],
                own_beta[end],
                rests[OWN, 0],
                rests[OWN, 1],
            )


@part
def fill_topic_chances(
    counts: FloatArray, alpha: FloatArray, rests: FloatArray, words: FloatArray, switch: FloatArray, out: FloatArray
) -> None:
    """Θ[d, k] · (the row of ``words``) · (the row of ``switch``), a row of K numbers of ``out`` for each row.

    ``counts`` are the topics of the document's other tokens. Θ is Beta-Liouville, up to a factor for all topics:
    n_k + α_k, and (n_K + α_K) · (Λ + n_{<K}) / (a + n_{<K}) for the last.
    """
    n_topics = alpha.shape[0]
    others = 0.0
    for k in range(n_topics - 1):
        others += max(counts[k], 0.0)
    rest, inner = rests[DOCUMENT, 0], rests[DOCUMENT, 1]
    last = 1.0 if rest == inner else (inner + others) / (rest + others)
    for x in range(words.shape[0]):
        for k in range(n_topics):
            out[x * n_topics + k] = (max(counts[k], 0.0) + alpha[k]) * words[x, k] * switch[x, k]
        out[x * n_topics + n_topics - 1] *= last


@kernel
def sweep_cross(
    words: Int32Array,
    offsets: IntArray,
    topics: UInt16Array,
    coins: BoolArray,
    first: Int,
    last: Int,
    noise: IntArray,
    step: float,
    common: FloatArray,
    common_totals: FloatArray,
    own: FloatArray,
    own_totals: FloatArray,
    by_switch: FloatArray,
    doc_topic: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    own_beta: FloatArray,
    rests: FloatArray,
    gamma: FloatArray,
    joint: bool,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    clip: float = math.inf,
) -> None:
    """Draw topic and switch (``coins``) of the tokens of documents ``first`` to ``last - 1`` anew, and move the counts.

    ``words`` are c · V + w. Counts of tokens are ``common``, word × topic, of those with x = 0; ``own``, collection ×
    word × topic, of those with x = 1; their sums over words, ``common_totals`` and ``own_totals``; ``by_switch``, N0
    and N1, each collection × topic; and ``doc_topic``, document × topic, of all tokens. A token leaves the counts,
    draws from

        p(k) ∝ Θ[d, k] · (φ[k, w] if x = 0, σ[c, k, w] if x = 1), and then
        p(x = 0) ∝ (N0[c, k] + γ0) · φ[k, w],  p(x = 1) ∝ (N1[c, k] + γ1) · σ[c, k, w]

    or, if ``joint``, from p(k, x) ∝ Θ[d, k] · (N_x[c, k] + γ_x) / (N[c, k] + γ0 + γ1) · (φ or σ), and enters the counts
    of what it drew. A draw takes 53 bits: the 32-bit draws 4i to 4i + 3 of (key, purpose, sweep, document), i being the
    token's place in its document.

    **With noise** (Algorithm 2), before a token of word w and switch x is drawn, step · noise is added to the counts of
    w for every topic, and to their sums: ``common`` if x = 0, ``own`` of its collection if x = 1. It stays there.
    ``noise`` holds whole numbers, a row of topics for each token, from the first token of document ``first``; an empty
    array means no noise. N0 and N1 get none. Draws read the counts of w cut at ``clip``; a count below zero is read as
    zero.
    """
    n_topics, n_words = alpha.shape[0], beta.shape[0]
    n_cells = 2 * n_topics if joint else n_topics
    row_ends = np.empty((n_cells + ROW - 1) // ROW)
    chances = np.zeros(ROW * row_ends.shape[0])
    by_word, switch = np.empty((2, n_topics)), np.ones((2, n_topics))
    draws, places = np.empty(_WINDOW, np.uint32), np.empty(2 * LANES, np.uint32)
    visit = 0
    for d in range(first, last):
        start, length = offsets[d], offsets[d + 1] - offsets[d]
        for i in range(length):
            at = 4 * i % _WINDOW
            if at == 0:
                wanted = min(_WINDOW, (4 * (length - i) + GROUP - 1) // GROUP * GROUP)
                fill_document(key, purpose, sweep, np.uint32(d), 4 * i // BLOCK, places, 0, draws, 0, wanted)
            c, w = words[start + i] // n_words, words[start + i] % n_words
            k, x = int(topics[start + i]), int(coins[start + i])
            _move(-1.0, d, c, w, k, x, common, common_totals, own, own_totals, by_switch, doc_topic)
            if noise.shape[0] > 0:
                for topic in range(n_topics):
                    extra = step * noise[visit * n_topics + topic]
                    if x == 1:
                        own[c, w, topic] += extra
                        own_totals[c, topic] += extra
                    else:
                        common[w, topic] += extra
                        common_totals[topic] += extra
                visit += 1
            fill_word_chances(w, c, common, common_totals, own, own_totals, beta, own_beta, rests, clip, by_word)
            if joint:
                for topic in range(n_topics):
                    n0, n1 = by_switch[0, c, topic], by_switch[1, c, topic]
                    below = 1.0 / (n0 + n1 + gamma[0] + gamma[1])
                    switch[0, topic] = (n0 + gamma[0]) * below
                    switch[1, topic] = (n1 + gamma[1]) * below
                fill_topic_chances(doc_topic[d], alpha, rests, by_word, switch, chances)
                cell = choose(chances, row_ends, n_cells, _uniform(draws, at))
                k, x = cell % n_topics, cell // n_topics
            else:
                its = slice(x, x + 1)
                fill_topic_chances(doc_topic[d], alpha, rests, by_word[its], switch[its], chances)
                k = choose(chances, row_ends, n_cells, _uniform(draws, at))
                shared = (by_switch[0, c, k] + gamma[0]) * by_word[0, k]
                mine = (by_switch[1, c, k] + gamma[1]) * by_word[1, k]
                x = 1 if _uniform(draws, at + 2) * (shared + mine) < mine else 0
            topics[start + i], coins[start + i] = k, x == 1
            _move(1.0, d, c, w, k, x, common, common_totals, own, own_totals, by_switch, doc_topic)


@part
def _move(
    by: float,
    d: Int,
    c: Int,
    w: Int,
    k: Int,
    x: Int,
    common: FloatArray,
    common_totals: FloatArray,
    own: FloatArray,
    own_totals: FloatArray,
    by_switch: FloatArray,
    doc_topic: FloatArray,
) -> None:
    """A token into the counts, or out of them."""
    doc_topic[d, k] += by
    by_switch[x, c, k] += by
    if x == 1:
        own[c, w, k] += by
        own_totals[c, k] += by
    else:
        common[w, k] += by
        common_totals[k] += by


@part
def _uniform(draws: UInt32Array, at: Int) -> float:
    """53 bits, from 0 to 1."""
    bits = (np.uint64(draws[at]) << np.uint64(21)) | (np.uint64(draws[at + 1]) >> np.uint64(11))
    return np.float64(bits) * 2.0**-53
