"""Collapsed steps: every token has a distribution over topics in place of one topic (CVB0, Asuncion et al. 2009).

Under weights φ̃[w, k] = (n[w, k] + β) · scale_k, which are frozen, each of the c tokens of word w in document d has

    q_k ∝ max(φ̃[w, k] − c · p_k · scale_k, β · scale_k) · max(n[d, k] + α_k − p_k, α_k)
    p_k ∝ φ̃[w, k] · (n[d, k] + α_k)

p is the share of one token in the counts, which is taken out of those of the document, as a draw takes out its own
topic; and all c tokens of the pair of document and word are taken out of the counts of the word. The shares that the
step before computed are not kept: they would be as many numbers as pairs times topics, to be read and written in every
step. p, computed anew, is nearly the same. So a step reads and writes one row n[d, ·] per document, and pairs are
independent of each other.

A batch of pairs, also of several documents, is computed together: the sums over topics of sixteen pairs become one
vector, with one division for all (``lanes.add_up_rows``). Otherwise each pair would wait for two sums and two
divisions.

Sums over documents are whole numbers, so threads may add them in any order. Word w counts in steps of 1 / scale[w], a
power of two for which all of its tokens stay below 2^30. A document rounds each number down after adding a fraction
that runs through [0, 1) from document to document: shares that are smaller than a step are then not lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import Float32Array, FloatArray, Int, Int32Array, IntArray, UInt32Array
from discreet.kernels.compile import at, bare_kernel, part
from discreet.kernels.lanes import LANES, F32Lanes, add_up_rows, at_least, fused, load, splat, store, whole_32
from discreet.kernels.sweeps.slots import aligned

MOST = 2**30
"""The largest sum of a word, in its steps; rounding adds at most one step for each of its documents."""

_GOLDEN = np.uint64(2654435769)
"""2^32 divided by the golden ratio: its multiples, modulo 2^32, spread evenly."""


def collapsed_scratch(width: Int) -> tuple[Float32Array, IntArray]:
    """Working memory of one thread, for a batch of 32 pairs, or 16 where rows are long.

    Floats: unnormalised shares of each pair, the factors of its document, the new counts of one document, lane sums,
    and three numbers for each pair. Integers: where the row of each pair's word starts; of each document in the batch
    its place, and where its pairs end.
    """
    batch = LANES if width > 128 else 2 * LANES
    return aligned((2 * batch + 1) * width + batch * (LANES + 3), np.float32), np.zeros(3 * batch, np.int64)


class OwnWords(NamedTuple):
    """How the tokens of a pair are taken out of the weights of their word; None if weights are not of this kind."""

    scale: Float32Array
    """What one token adds to the weight of its word in each topic."""
    least: Float32Array
    """The smallest weight of a word in each topic."""


class LastShare(NamedTuple):
    """How the last topic is weighed under a Beta-Liouville prior; kernels take None in its place for a Dirichlet
    prior."""

    mark: Float32Array
    """One for the last topic, zero for the others."""
    more: Float32Array
    """For each document by how much its factor differs from 1: (Λ + m) / (a + m) − 1."""

    @classmethod
    def of(cls, alpha: FloatArray, rest: float, lengths: IntArray, expected: Float32Array) -> LastShare:
        """From the document prior, the documents' lengths and their expected counts, document × width.

        m counts the other tokens with other topics, as in ``last_topic.py``. A token's own share in it is taken to be
        that of an average token, so that m is the same for all tokens of a document.
        """
        topic = len(alpha) - 1
        mark = aligned(expected.shape[1], np.float32)
        mark[topic] = 1.0
        inner, n = float(alpha[:-1].sum()), np.maximum(lengths, 1)
        m = (n - 1) * np.clip(1.0 - expected[:, topic] / n, 0.0, 1.0)
        return cls(mark, ((inner - rest) / (rest + m)).astype(np.float32))


@part
def _fraction(number: np.uint32) -> np.float32:
    """In [0, 1), a multiple of 2^-24."""
    mixed = (np.uint64(number) * _GOLDEN >> np.uint64(8)) & np.uint64(0xFFFFFF)
    return np.float32(mixed) * np.float32(2.0**-24)


@part
def _tilted(factor: F32Lanes, last_share: LastShare | None, document: Int, k: Int) -> F32Lanes:
    """The factors of topics k to k + 15; of the last topic under the Beta-Liouville prior, if that is given."""
    if last_share is None:
        return factor
    more: F32Lanes = load(last_share.mark, k) * splat(last_share.more[at(document)])
    return factor + factor * more


@bare_kernel
def collapse_documents(
    words: Int32Array,
    counts: Float32Array,
    steps: Float32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    expected: Float32Array,
    first: Int,
    last: Int,
    weights: Float32Array,
    alpha: Float32Array,
    own_words: OwnWords | None,
    last_share: LastShare | None,
    floats: Float32Array,
    integers: IntArray,
    sums: UInt32Array,
) -> None:
    """One step of documents ``first`` to ``last - 1``: new rows in ``expected``, and the same added to ``sums``.

    ``words`` and ``counts`` hold the different words of each document, which start at ``offsets``, and ``steps`` the
    counts times the scale of the word. ``expected``, document × width, ``weights`` and ``sums``, word × width, are
    flat; width is a multiple of 16, and weights beyond the last topic are zero. Sixteen more pairs can be read after
    the last. ``own_words`` is None if a pair's tokens cannot be taken out of the weights; ``last_share`` is None for a
    Dirichlet prior.
    """
    width = alpha.shape[0]
    batch = np.int64(integers.shape[0] // 3)
    its_document, its_end = batch, 2 * batch
    factors = batch * width
    new = factors + batch * width
    totals = new + width
    inverses = totals + batch * LANES
    shares = inverses + batch
    whole_shares = shares + batch
    nothing, one = splat(np.float32(0)), splat(np.float32(1))
    d, start, stop = np.int64(first), offsets[at(first)], offsets[at(last)]
    while start < stop:
        n = min(batch, stop - start)
        # 1. The totals of sixteen pairs: of each its word's weights times the factors of its document.
        i = np.int64(0)
        n_runs = 0
        place = factors
        while i < n:
            while offsets[at(d + 1)] <= start + i:
                d += 1
            end = min(n, offsets[at(d + 1)] - start)
            integers[at(its_document + n_runs)], integers[at(its_end + n_runs)] = d, end
            n_runs += 1
            for k in range(0, width, LANES):
                store(floats, place + k, load(expected, d * width + k) + load(alpha, k))
            for j in range(i, end, 2):
                m = min(j + 1, end - 1)
                row, next_row = np.int64(words[at(start + j)]) * width, np.int64(words[at(start + m)]) * width
                integers[at(j)], integers[at(m)] = row, next_row
                total, next_total = nothing, nothing
                for k in range(0, width, LANES):
                    factor = _tilted(load(floats, place + k), last_share, d, k)
                    total = fused(load(weights, row + k), factor, total)
                    next_total = fused(load(weights, next_row + k), factor, next_total)
                store(floats, totals + LANES * j, total)
                store(floats, totals + LANES * m, next_total)
            place += width
            i = end
        for j in range(0, n, LANES):
            store(floats, inverses + j, one / add_up_rows(floats, totals + LANES * j))

        # 2. The same without the token's own share.
        i, place = np.int64(0), factors
        for run in range(n_runs):
            document, end = integers[at(its_document + run)], integers[at(its_end + run)]
            for j in range(i, end, 2):
                m = min(j + 1, end - 1)
                row, next_row = integers[at(j)], integers[at(m)]
                inverse, next_inverse = floats[at(inverses + j)], floats[at(inverses + m)]
                less, next_less = splat(-inverse), splat(-next_inverse)
                all_less = splat(-inverse * counts[at(start + j)])
                all_next_less = splat(-next_inverse * counts[at(start + m)])
                total, next_total = nothing, nothing
                for k in range(0, width, LANES):
                    factor, prior = load(floats, place + k), load(alpha, k)
                    tilted = _tilted(factor, last_share, document, k)
                    weight, next_weight = load(weights, row + k), load(weights, next_row + k)
                    left = at_least(fused(tilted, weight * less, factor), prior)
                    next_left = at_least(fused(tilted, next_weight * next_less, factor), prior)
                    if own_words is not None:
                        step, least = tilted * load(own_words.scale, k), load(own_words.least, k)
                        weight = at_least(fused(weight, step * all_less, weight), least)
                        next_weight = at_least(fused(next_weight, step * all_next_less, next_weight), least)
                    share = weight * _tilted(left, last_share, document, k)
                    next_share = next_weight * _tilted(next_left, last_share, document, k)
                    store(floats, j * width + k, share)
                    store(floats, m * width + k, next_share)
                    total, next_total = total + share, next_total + next_share
                store(floats, totals + LANES * j, total)
                store(floats, totals + LANES * m, next_total)
            place += width
            i = end
        for j in range(0, n, LANES):
            inverse = one / add_up_rows(floats, totals + LANES * j)
            store(floats, shares + j, load(counts, start + j) * inverse)
            store(floats, whole_shares + j, load(steps, start + j) * inverse)

        # 3. Add them up, for the document and for the word: two pairs at a time, to load a document's counts once.
        i = np.int64(0)
        for run in range(n_runs):
            document, end = integers[at(its_document + run)], integers[at(its_end + run)]
            fraction = splat(_fraction(numbers[at(document)]))
            if offsets[at(document)] == start + i:
                for k in range(0, width, LANES):
                    store(floats, new + k, nothing)
            for j in range(i, end, 2):
                m = min(j + 1, end - 1)
                row, next_row = integers[at(j)], integers[at(m)]
                each, step = splat(floats[at(shares + j)]), splat(floats[at(whole_shares + j)])
                next_each, next_step = splat(floats[at(shares + m)]), splat(floats[at(whole_shares + m)])
                if m == j:  # there is no second pair: it adds nothing
                    next_each, next_step = nothing, nothing
                for k in range(0, width, LANES):
                    share, next_share = load(floats, j * width + k), load(floats, m * width + k)
                    store(floats, new + k, fused(next_share, next_each, fused(share, each, load(floats, new + k))))
                    whole, next_whole = fused(share, step, fraction), fused(next_share, next_step, fraction)
                    store(sums, row + k, load(sums, row + k) + whole_32(whole))
                    store(sums, next_row + k, load(sums, next_row + k) + whole_32(next_whole))
            i = end
            if offsets[at(document + 1)] == start + end:
                for k in range(0, width, LANES):
                    store(expected, document * width + k, load(floats, new + k))
        start += n
