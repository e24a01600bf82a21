"""The frozen sweep with draws that a guarantee can rest on: float64 sums, 53 random bits, now and then a uniform topic.

The plan of ``kernels/sweeps/dense.py`` (sixteen documents in step, topic ``k`` in lane ``k % 16``, lanes added in
rising order) with three differences. Products are float32 and wrong by a *relative* 2^-24, which moves no probability
ratio by much more than that; sums are float64, because what a sum loses is lost absolutely. A draw is a whole number r
< 2^53, from two 32-bit words. And **r < 2^33, which has probability γ = 2^-20, draws a topic uniformly** (from the
second word), so that every topic has at least about γ/K and what remains of rounding is small against it. Otherwise r −
2^33, which is uniform too, finds the topic. How far the draw is from the ideal one is proved in
``models/hybrid/proof.md``.
"""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, FloatArray, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import bare_kernel, part
from discreet.kernels.lanes import (
    LANES,
    gather,
    load,
    passed,
    splat,
    store,
    transpose,
    where,
    whole_53,
    widen,
)
from discreet.kernels.sweeps.dense import count_document
from discreet.kernels.sweeps.slots import (
    BITS_SIZE,
    CHOSEN,
    END,
    NOW,
    PLACE,
    ROWS,
    SLOTS_SIZE,
    TOKEN,
    WORD_ROW,
    aligned,
    open_slots,
    start_document,
    step_on,
)

UNIFORM_BITS = 20
"""−log₂ γ."""

_UNIFORM_BELOW = np.uint32(2 ** (32 - UNIFORM_BITS))
"""First words below this draw uniformly."""

_SKIPPED = np.float64(2 ** (53 - UNIFORM_BITS))
_SHARE = np.float64(1 / (2**53 - 2 ** (53 - UNIFORM_BITS)))

_LOW = BITS_SIZE  # in `bits`: the second word of each slot's draw
_TALLY = _LOW + LANES  # 2 × width: a document's topics as it starts, even and odd tokens apart


def exact_scratch(width: Int) -> tuple[Float32Array, FloatArray, UInt32Array, UInt64Array]:
    """Working memory of one thread; its contents mean nothing between calls.

    16 × width topic counts and as many products; running sums of one lane for each document and 16 × 16 lane sums; for
    the others see ``kernels/sweeps/slots.py``.
    """
    bits = aligned(_TALLY + 2 * width, np.uint32)
    bits[ROWS : ROWS + LANES] = np.arange(LANES) * width
    sums = aligned(width + LANES * LANES, np.float64)
    return aligned(2 * LANES * width, np.float32), sums, bits, aligned(SLOTS_SIZE, np.uint64)


@part
def _enter(
    slot: Int,
    words: Int32Array,
    topics: UInt16Array,
    width: Int,
    rows: Float32Array,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Make the slot's token ready to be drawn: its word, its two random words, and itself out of the counts."""
    i, place = slots[TOKEN + slot] >> np.uint64(1), slots[PLACE + slot]
    slots[WORD_ROW + slot] = np.uint64(words[i]) * np.uint64(width)
    bits[NOW + slot] = bits[place]
    bits[_LOW + slot] = bits[place + np.uint64(1)]
    rows[np.uint64(slot) * np.uint64(width) + np.uint64(topics[i])] -= np.float32(1)


@part
def _count_slot(
    slot: Int, topics: UInt16Array, width: Int, rows: Float32Array, bits: UInt32Array, slots: UInt64Array
) -> None:
    """Count the topics of the document in this slot, which has two draws for each token."""
    start, stop = np.int64(slots[TOKEN + slot]) // 2, np.int64(slots[END + slot]) // 2
    count_document(slot * width, topics, start, stop, width, rows, _TALLY, bits)


@bare_kernel
def sweep_exact(
    words: Int32Array,
    draw_offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    weights: Float32Array,
    alpha: Float32Array,
    n_topics: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    rows: Float32Array,
    sums: FloatArray,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Draw the topics of documents ``first`` to ``last - 1`` anew, each from (1 − γ)·p + γ/K, p as in ``sweep_dense``.

    ``draw_offsets`` are twice the documents' offsets: slots count 32-bit words of the stream, and token i of a document
    takes the words 2i and 2i + 1. ``weights`` and ``alpha`` as in ``sweep_dense``, positive for every topic. The last
    four arguments come from :func:`exact_scratch`.
    """
    width = alpha.shape[0]
    wide, one = np.uint64(width), np.uint64(1)
    products, lanes = LANES * width, width
    nothing = splat(np.float64(0))
    skipped, share = splat(_SKIPPED), splat(_SHARE)
    open_slots(first, 1, slots)
    for slot in range(LANES):
        if start_document(slot, draw_offsets, numbers, last, key, purpose, sweep, bits, slots):
            _count_slot(slot, topics, width, rows, bits, slots)
            _enter(slot, words, topics, width, rows, bits, slots)

    active = 1
    while active > 0:
        # 1. Sixteen documents, one token each: lane sums of the topics' weights.
        for slot in range(LANES):
            row, word = slot * width, np.int64(slots[WORD_ROW + slot])
            total = nothing
            for k in range(0, width, LANES):
                weight = load(weights, word + k) * (load(rows, row + k) + load(alpha, k))
                store(rows, products + row + k, weight)
                total = total + widen(weight)
            store(sums, lanes + slot * LANES, total)

        # 2. One document a lane: find the mark among the lane sums, then within its lane.
        transpose(sums, lanes)
        total = nothing
        for lane in range(lanes, lanes + LANES * LANES, LANES):
            total = total + load(sums, lane)
            store(sums, lane, total)
        mark = (whole_53(load(bits, NOW), load(bits, _LOW)) - skipped) * (total * share)
        chosen, below = splat(np.uint32(0)), nothing
        for lane in range(lanes, lanes + LANES * LANES, LANES):
            running = load(sums, lane)
            flag = passed(running, mark, total)
            chosen = chosen + flag
            below = where(flag, running, below)
        mark = mark - below
        at, total = load(bits, ROWS) + chosen, nothing
        for k in range(0, width, LANES):  # the lane's running sums once more: cheaper than keeping those of all lanes
            total = total + widen(gather(rows, products + k, at))
            store(sums, k, total)
        for k in range(0, width - LANES, LANES):
            chosen = chosen + passed(load(sums, k), mark, total) * splat(np.uint32(LANES))
        store(bits, CHOSEN, chosen)

        # 3. Book the draws and step on. The next token leaves its counts here, long before step 1 reads them.
        active = 0
        for slot in range(LANES):
            i = slots[TOKEN + slot]
            if i == slots[END + slot]:
                continue
            active += 1
            topic = np.uint64(bits[CHOSEN + slot])
            if bits[NOW + slot] < _UNIFORM_BELOW:  # [uniform]
                topic = (np.uint64(bits[_LOW + slot]) * np.uint64(n_topics)) >> np.uint64(32)
            topics[i >> np.uint64(1)] = topic
            slots[TOKEN + slot] += one  # to the second word, which lies in the same window
            slots[PLACE + slot] += one
            if step_on(slot, draw_offsets, numbers, key, purpose, sweep, bits, slots):
                rows[np.uint64(slot) * wide + topic] += np.float32(1)
            elif start_document(slot, draw_offsets, numbers, last, key, purpose, sweep, bits, slots):
                _count_slot(slot, topics, width, rows, bits, slots)
            else:
                continue
            _enter(slot, words, topics, width, rows, bits, slots)
