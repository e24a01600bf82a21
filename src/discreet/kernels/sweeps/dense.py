"""The frozen sweep: a new topic for every token, sixteen documents at a time.

Each token's topic is drawn from ``p(k) ∝ weights[w, k] · (n[d, k] + alpha[k])``, where the weights do not change during
the sweep and ``n[d, ·]`` counts the topics of the document's other tokens. Given the weights documents are independent,
and this is what makes the kernel fast: a draw within one document waits for the draw before it, so sixteen documents
advance in step, one token each. Their sums over topics are vector work on contiguous rows; then one transposition turns
sixteen rows of sixteen partial sums into sixteen lanes, one per document, and the choice of a topic is vector work too.

Order of additions (the same for every machine and number of threads): topic ``k`` sits in lane ``k % 16``; a lane adds
up its topics in rising order; the lanes are added in rising order; the mark ``u · total`` is found first among the
lanes, then within its lane. All in float32 with 24 random bits: a topic's probability is correct to about 2^-24, so a
topic with a smaller one may never be drawn, or be drawn with probability 2^-24 (if it is the first of the sum).
"""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import at, bare_kernel, inlined_part, part
from discreet.kernels.lanes import LANES, as_float, gather, load, passed, splat, store, transpose, unit_interval, where
from discreet.kernels.sweeps.last_topic import LastTopic, count_last, return_last, take_last
from discreet.kernels.sweeps.slots import (
    BITS_SIZE,
    CHOSEN,
    NOW,
    ROWS,
    SLOTS_SIZE,
    WORD_ROW,
    aligned,
    book_draws,
    fill_slots,
)

_TALLY = BITS_SIZE  # in `bits`, 2 × width: a document's topics as it starts


def dense_scratch(width: Int) -> tuple[Float32Array, UInt32Array, UInt64Array]:
    """Working memory of one thread; nothing in it is kept between calls.

    The first array holds 16 × width topic counts, 16 × width running sums and 16 × 16 lane sums; for the others see
    ``kernels/sweeps/slots.py``.
    """
    bits = aligned(_TALLY + 2 * width, np.uint32)
    bits[ROWS : ROWS + LANES] = np.arange(LANES) * width
    return aligned(2 * LANES * width + LANES * LANES, np.float32), bits, aligned(SLOTS_SIZE, np.uint64)


# A document's topics are counted in its slot's row of ``rows`` (see ``kernels/sweeps/slots.py``). Under a
# Beta-Liouville prior the last topic's place holds something else (``kernels/sweeps/last_topic.py``).


@part
def count_document(
    slot: Int,
    topics: UInt16Array,
    start: Int,
    stop: Int,
    width: Int,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Two tallies, for even and odd tokens: with one, additions for equal neighbours would wait for each other."""
    for k in range(_TALLY, _TALLY + 2 * width, LANES):
        store(bits, k, splat(np.uint32(0)))
    even, odd = at(_TALLY), at(_TALLY + width)
    for i in range(start, stop - 1, 2):
        bits[even + at(topics[at(i)])] += np.uint32(1)
        bits[odd + at(topics[at(i + 1)])] += np.uint32(1)
    if (stop - start) % 2 == 1:
        bits[even + at(topics[at(stop - 1)])] += np.uint32(1)
    for k in range(0, width, LANES):
        store(rows, slot * width + k, as_float(load(bits, _TALLY + k) + load(bits, _TALLY + width + k)))
    if last_topic is not None:
        count_last(slot, topics, start, stop, last_topic, slots)


@inlined_part
def chosen_topic(
    slot: Int, width: Int, rows: Float32Array, last_topic: LastTopic | None, bits: UInt32Array, slots: UInt64Array
) -> np.uint64:
    return np.uint64(bits[CHOSEN + slot])


@inlined_part
def take_token(
    slot: Int,
    topic: np.uint64,
    width: Int,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    rows[np.uint64(slot) * np.uint64(width) + topic] -= np.float32(1)
    if last_topic is not None:
        rows[np.uint64(slot) * np.uint64(width) + np.uint64(last_topic.topic)] = take_last(
            slot, topic, last_topic, slots
        )


@inlined_part
def return_token(
    slot: Int,
    topic: np.uint64,
    width: Int,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    rows[np.uint64(slot) * np.uint64(width) + topic] += np.float32(1)
    if last_topic is not None:
        return_last(slot, topic, last_topic, slots)


@bare_kernel
def sweep_dense(
    words: Int32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    weights: Float32Array,
    alpha: Float32Array,
    last_topic: LastTopic | None,
    n_visits: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    rows: Float32Array,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Draw the topics of documents ``first`` to ``last - 1`` anew, ``n_visits`` times over.

    The visits of a document follow each other at once: with frozen weights it makes no difference whether others are
    visited in between, and its topics are counted only once.

    ``weights`` is flat, one row of ``width`` per word, where width is a multiple of 16; weights and alpha beyond the
    number of topics are zero. With a Beta-Liouville prior, ``last_topic`` says how the last topic is drawn, and the
    alpha of that topic is least · β; otherwise it is None. The last three arguments come from :func:`dense_scratch`.
    """
    width = alpha.shape[0]
    partial, sums = LANES * width, 2 * LANES * width
    nothing = splat(np.float32(0))
    documents = (words, offsets, numbers, topics, width, key, purpose, sweep)
    tables = (width, rows, last_topic)
    functions = (chosen_topic, count_document, take_token, return_token)
    fill_slots(first, last, n_visits, 0, *documents, count_document, take_token, tables, bits, slots)
    active = 1
    while active > 0:
        # 1. Sixteen documents, one token each: lane sums of the topics' weights.
        for slot in range(LANES):
            row, word = slot * width, np.int64(slots[WORD_ROW + slot])
            total = nothing
            for k in range(0, width, LANES):
                total = total + load(weights, word + k) * (load(rows, row + k) + load(alpha, k))
                store(rows, partial + row + k, total)
            store(rows, sums + slot * LANES, total)

        # 2. One document per lane: find the mark among the lane sums, then within its lane.
        transpose(rows, sums)
        total = nothing
        for lane in range(sums, sums + LANES * LANES, LANES):
            total = total + load(rows, lane)
            store(rows, lane, total)
        mark = unit_interval(load(bits, NOW)) * total
        chosen, below = splat(np.uint32(0)), nothing
        for lane in range(sums, sums + LANES * LANES, LANES):
            running = load(rows, lane)
            flag = passed(running, mark, total)
            chosen = chosen + flag
            below = where(flag, running, below)
        mark = mark - below
        places = load(bits, ROWS) + chosen
        total = gather(rows, partial + width - LANES, places)
        for k in range(partial, partial + width - LANES, LANES):
            chosen = chosen + passed(gather(rows, k, places), mark, total) * splat(np.uint32(LANES))
        store(bits, CHOSEN, chosen)

        # 3. Record the draws and go to the next tokens.
        active = book_draws(last, 0, *documents, *functions, tables, bits, slots)
