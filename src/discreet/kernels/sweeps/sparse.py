"""The frozen sweep for many topics: a draw reads only the topics present in the document.

p(k) ∝ weights[w, k] · (n[d, k] + alpha[k]) is split in two (as Yao, Mimno and McCallum, KDD 2009, split it): the part
with n[d, k] has as many terms as the document has topics; the part with alpha does not depend on the document, so its
sum is one number per word, computed once per sweep, and its row is read only when the mark falls there.

Each slot keeps the document's topics as a short list (topic, count) in no particular order: a topic that is removed is
replaced by the last one. Otherwise as in ``dense.py``: sixteen documents in step, lane sums, one transposition.
"""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import bare_kernel, inlined_part, outlined_part, part
from discreet.kernels.lanes import LANES, gather, load, passed, prefetch, splat, store, transpose, unit_interval, where
from discreet.kernels.sweeps.last_topic import LastTopic, count_last, return_last, take_last
from discreet.kernels.sweeps.slots import BITS_SIZE, CHOSEN, NOW, SLOTS_SIZE, WORD_ROW, aligned, book_draws, fill_slots

_PRESENT = SLOTS_SIZE  # in `slots`: how many topics each document has
_SMOOTH_FLAG = BITS_SIZE  # in `bits`: 1 where the mark fell into the alpha part
_IDS = _SMOOTH_FLAG + LANES  # 16 × capacity: the topics present, then 16 × width: 1 + place of each topic, 0 if absent


def sparse_scratch(width: Int, capacity: Int) -> tuple[Float32Array, UInt32Array, UInt64Array]:
    """Working memory of one thread, for documents of at most ``capacity`` different topics (a multiple of 16), the last
    one always counted in under a Beta-Liouville prior.

    The first array holds 16 × capacity counts, as many running sums, 16 × 16 lane sums, and a few rows of sixteen.
    """
    return (
        aligned(2 * LANES * capacity + LANES * LANES + 3 * LANES, np.float32),
        aligned(_IDS + LANES * (capacity + width), np.uint32),
        aligned(SLOTS_SIZE + LANES, np.uint64),
    )


@bare_kernel
def smooth_sums(
    weights: Float32Array, alpha: Float32Array, first_word: Int, last_word: Int, smooth: Float32Array
) -> None:
    """Running sums of weights[w, k] · alpha[k], one for each sixteen topics, for a range of words."""
    width = alpha.shape[0]
    n_blocks = width // LANES
    for w in range(first_word, last_word):
        running = np.float32(0)
        for block in range(n_blocks):
            total = np.float32(0)
            for k in range(block * LANES, block * LANES + LANES):
                total += weights[w * width + k] * alpha[k]
            running += total
            smooth[w * n_blocks + block] = running


@part
def _draw_smooth(word: Int, mark: np.float32, weights: Float32Array, alpha: Float32Array, smooth: Float32Array) -> int:
    """The topic at ``mark`` in the running sum of weights · alpha: first the block of sixteen, then within it.

    If rounding has raised the mark past the end of its block, the last topic with any weight is chosen.
    """
    width = alpha.shape[0]
    n_blocks = width // LANES
    row = word // LANES
    low, high = 0, n_blocks - 1  # the first block whose running sum exceeds the mark, or equals the total
    total = smooth[row + n_blocks - 1]
    while low < high:
        middle = (low + high) // 2
        if smooth[row + middle] <= mark and smooth[row + middle] < total:
            low = middle + 1
        else:
            high = middle
    if low > 0:
        mark -= smooth[row + low - 1]
    topic, running = low * LANES, np.float32(0)
    for k in range(low * LANES, low * LANES + LANES):
        weight = weights[word + k] * alpha[k]
        if weight > 0:
            topic = k
            running += weight
            if running > mark:
                break
    return topic


# A document's topics are a list (see ``kernels/sweeps/slots.py``).


@inlined_part
def chosen_topic(
    slot: int,
    capacity: int,
    weights: Float32Array,
    alpha: Float32Array,
    smooth: Float32Array,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> np.uint64:
    partial, smooth_now = LANES * capacity, 2 * LANES * capacity + LANES * LANES
    rest, rest_smooth = smooth_now + LANES, smooth_now + 2 * LANES
    if bits[_SMOOTH_FLAG + slot] != 0:
        word = np.int64(slots[WORD_ROW + slot])
        return np.uint64(_draw_smooth(word, rows[rest_smooth + slot], weights, alpha, smooth))
    place = slot * capacity + np.int64(bits[CHOSEN + slot])
    end = place + (np.int64(slots[_PRESENT + slot]) - 1) // LANES * LANES
    while place < end and rows[partial + place] <= rows[rest + slot] and rows[partial + place] < rows[partial + end]:
        place += LANES
    return np.uint64(bits[_IDS + place])


@inlined_part
def _place(slot: Int, topic: np.uint64, capacity: Int, width: Int, bits: UInt32Array, slots: UInt64Array) -> np.uint64:
    """Where the topic stands in the slot's list, at its end if it was not there."""
    at = np.uint64(_IDS + LANES * capacity + slot * width) + topic
    place = bits[at]
    if place == 0:
        place = np.uint32(slots[_PRESENT + slot] + np.uint64(1))
        slots[_PRESENT + slot] = place
        bits[at] = place
        bits[np.uint64(_IDS + slot * capacity) + np.uint64(place) - np.uint64(1)] = topic
    return np.uint64(slot * capacity) + np.uint64(place) - np.uint64(1)


@inlined_part
def _drop(
    slot: Int,
    topic: np.uint64,
    capacity: Int,
    width: Int,
    rows: Float32Array,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """The last topic of the list takes the place of one that leaves."""
    places = np.uint64(_IDS + LANES * capacity + slot * width)
    ids, counts = np.uint64(_IDS + slot * capacity), np.uint64(slot * capacity)
    place = np.uint64(bits[places + topic]) - np.uint64(1)
    end = slots[_PRESENT + slot] - np.uint64(1)
    moved = bits[ids + end]
    bits[ids + place] = moved
    rows[counts + place] = rows[counts + end]
    bits[places + np.uint64(moved)] = place + np.uint64(1)
    bits[places + topic] = 0
    bits[ids + end] = 0
    rows[counts + end] = np.float32(0)
    slots[_PRESENT + slot] = end


@inlined_part
def return_token(
    slot: Int,
    topic: np.uint64,
    capacity: Int,
    weights: Float32Array,
    alpha: Float32Array,
    smooth: Float32Array,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    rows[_place(slot, topic, capacity, alpha.shape[0], bits, slots)] += np.float32(1)
    if last_topic is not None:
        return_last(slot, topic, last_topic, slots)


@inlined_part
def take_token(
    slot: Int,
    topic: np.uint64,
    capacity: Int,
    weights: Float32Array,
    alpha: Float32Array,
    smooth: Float32Array,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Also store the sum of the alpha part of its word, and prefetch the weights that the draw will read."""
    width = alpha.shape[0]
    word, one = slots[WORD_ROW + slot], np.uint64(1)
    rows[2 * LANES * capacity + LANES * LANES + slot] = smooth[(word + np.uint64(width)) // np.uint64(LANES) - one]
    place = np.uint64(bits[np.uint64(_IDS + LANES * capacity + slot * width) + topic])
    place = np.uint64(slot * capacity) + place - one
    rows[place] -= np.float32(1)
    if rows[place] == np.float32(0):
        _drop(slot, topic, capacity, width, rows, bits, slots)
    if last_topic is not None:
        _set_last(slot, topic, capacity, width, rows, last_topic, bits, slots)
    for j in range(_IDS + slot * capacity, _IDS + slot * capacity + np.int64(slots[_PRESENT + slot])):
        prefetch(weights, np.int64(word) + np.int64(bits[j]))


@inlined_part
def _set_last(
    slot: Int,
    topic: np.uint64,
    capacity: Int,
    width: Int,
    rows: Float32Array,
    last_topic: LastTopic,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Under a Beta-Liouville prior the last topic may be in the list although no token has it."""
    number, value = np.uint64(last_topic.topic), take_last(slot, topic, last_topic, slots)
    if value > np.float32(0):
        rows[_place(slot, number, capacity, width, bits, slots)] = value
    elif bits[np.uint64(_IDS + LANES * capacity + slot * width) + number] != 0:
        _drop(slot, number, capacity, width, rows, bits, slots)


@outlined_part
def list_document(
    slot: Int,
    topics: UInt16Array,
    start: Int,
    stop: Int,
    capacity: Int,
    weights: Float32Array,
    alpha: Float32Array,
    smooth: Float32Array,
    rows: Float32Array,
    last_topic: LastTopic | None,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Remove the topics of the slot's last document and list those of the new one."""
    width = alpha.shape[0]
    for place in range(np.int64(slots[_PRESENT + slot])):
        topic = np.uint64(bits[_IDS + slot * capacity + place])
        bits[np.uint64(_IDS + LANES * capacity + slot * width) + topic] = 0
        bits[_IDS + slot * capacity + place] = 0
        rows[slot * capacity + place] = np.float32(0)
    slots[_PRESENT + slot] = 0
    for i in range(start, stop):
        return_token(slot, np.uint64(topics[i]), capacity, weights, alpha, smooth, rows, last_topic, bits, slots)
    if last_topic is not None:
        count_last(slot, topics, start, stop, last_topic, slots)


@bare_kernel
def sweep_sparse(
    words: Int32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    weights: Float32Array,
    alpha: Float32Array,
    last_topic: LastTopic | None,
    smooth: Float32Array,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    rows: Float32Array,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Draw the topics of documents ``first`` to ``last - 1`` anew.

    As :func:`~discreet.kernels.sweeps.dense.sweep_dense`, with ``smooth`` from :func:`smooth_sums` and the last three
    arguments from :func:`sparse_scratch`.
    """
    width = alpha.shape[0]
    capacity = (rows.shape[0] - LANES * LANES - 3 * LANES) // (2 * LANES)
    partial, sums = LANES * capacity, 2 * LANES * capacity
    smooth_now = sums + LANES * LANES
    rest, rest_smooth = smooth_now + LANES, smooth_now + 2 * LANES
    nothing = splat(np.float32(0))
    documents = (words, offsets, numbers, topics, width, key, purpose, sweep)
    tables = (capacity, weights, alpha, smooth, rows, last_topic)
    functions = (chosen_topic, list_document, take_token, return_token)
    rows[:] = 0
    bits[_IDS:] = 0
    fill_slots(first, last, 1, 0, *documents, list_document, take_token, tables, bits, slots)
    active = 1
    while active > 0:
        # 1. Sixteen documents, one token each: lane sums over the topics present.
        for slot in range(LANES):
            word, row = np.int64(slots[WORD_ROW + slot]), slot * capacity
            total = nothing
            for j in range(row, row + np.int64(slots[_PRESENT + slot]), LANES):
                total = total + gather(weights, word, load(bits, _IDS + j)) * load(rows, j)
                store(rows, partial + j, total)
            store(rows, sums + slot * LANES, total)

        # 2. One document per lane: does the mark fall into the alpha part? If not, in which lane?
        transpose(rows, sums)
        present = nothing
        for lane in range(sums, sums + LANES * LANES, LANES):
            present = present + load(rows, lane)
            store(rows, lane, present)
        total = present + load(rows, smooth_now)
        mark = unit_interval(load(bits, NOW)) * total
        store(bits, _SMOOTH_FLAG, passed(present, mark, total))
        store(rows, rest_smooth, mark - present)
        chosen, below = splat(np.uint32(0)), nothing
        for lane in range(sums, sums + LANES * LANES, LANES):
            running = load(rows, lane)
            flag = passed(running, mark, present)
            chosen = chosen + flag
            below = where(flag, running, below)
        store(rows, rest, mark - below)
        store(bits, CHOSEN, chosen)

        # 3. Find each topic, record it and go to the next token.
        active = book_draws(last, 0, *documents, *functions, tables, bits, slots)
