"""Sixteen document slots that advance in step, and the random draws of the documents in them.

Documents enter the slots in rising order, each into the first slot that becomes free. A slot holds one window of its
document's draws at a time. ChaCha blocks come sixteen at once, so the blocks of short documents are made together, in
the order in which the documents will start; a long document makes its own further windows. A document may be visited
several times before the slot takes the next: its draws then continue, so that the visit v of token i, both from 0,
takes the draw at position v · length + i.

Draws belong to a document's number, ``numbers[d]``, not to its place in the arrays: its draws are the same whichever
other documents are swept together with it.

Working memory is two flat arrays with named places, not a tuple of many: in compiled code each read of a tuple's field
costs an atomic reference count.

How a document's topics are stored is up to the kernel. It passes ``tables`` and four functions that use them:

* ``choose(slot, *tables, bits, slots)``: the topic that was drawn for the token in this slot;
* ``take_document(slot, topics, start, stop, *tables, bits, slots)``: count the topics of the slot's new document;
* ``take_token(slot, topic, *tables, bits, slots)``: take the topic of the token that is drawn next out of the counts;
* ``return_token(slot, topic, *tables, bits, slots)``: count the topic that was drawn.

Functions and tables are known when a kernel is compiled, so that they cost nothing (``benchmarks/sweep_kernels.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet._types import AnyArray, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import inlined_part, outlined_part, part
from discreet.kernels.lanes import LANES, load, store
from discreet.kernels.stream import BLOCK, GROUP, fill_document, fill_group

WINDOW = 1024
"""Draws kept ready for each document."""

STRIDE = WINDOW + BLOCK
"""The distance from one slot's draws to the next. Not a power of two, or sixteen documents in step would share one
cache set."""

# Places in `bits` (uint32):
DRAWS = 0  # 16 windows
_AHEAD = DRAWS + LANES * STRIDE  # sixteen blocks of documents that start next
_PLACES = _AHEAD + LANES * LANES  # their documents and block numbers
NOW = _PLACES + 2 * LANES  # the draw that each slot uses now
ROWS = NOW + LANES  # where each slot's row starts
CHOSEN = ROWS + LANES  # the topics drawn
LOW = CHOSEN + LANES  # if a draw takes two words, the second word that each slot uses now
BITS_SIZE = LOW + LANES

# Places in `slots` (uint64):
WORD_ROW = 0  # where the row of the token's word starts
TOKEN = WORD_ROW + LANES  # the token that each slot is at
END = TOKEN + LANES  # the end of its document; a slot is idle when token == end
PLACE = END + LANES  # where in `bits` its draw lies
_DOCUMENT = PLACE + LANES
_AGAIN = _DOCUMENT + LANES  # how many more visits its document gets
_WINDOW_BLOCK = _AGAIN + LANES  # the first block of its next window
_VISITS = _WINDOW_BLOCK + LANES  # of each document
_NEXT = _VISITS + 1  # the next document to start
_AHEAD_DOCUMENT = _NEXT + 1  # the next block to make
_AHEAD_BLOCK = _AHEAD_DOCUMENT + 1
_AHEAD_USED = _AHEAD_BLOCK + 1  # blocks already taken
N_LAST = _AHEAD_USED + 1  # under a Beta-Liouville prior: how many tokens of the document have the last topic
N_OTHER = N_LAST + LANES  # and how many others there are beside each token
SLOTS_SIZE = N_OTHER + LANES


def aligned(size: Int, dtype: type) -> AnyArray:
    """Zeros that start on a 64-byte boundary, so that no vector straddles two cache lines."""
    itemsize = np.dtype(dtype).itemsize
    array: AnyArray = np.zeros(size + 64 // itemsize, dtype)
    start = (-array.ctypes.data % 64) // itemsize
    return array[start : start + size]


@part
def open_slots(first: Int, n_visits: Int, slots: UInt64Array) -> None:
    """Begin with document ``first``; every slot is idle. Each document is visited ``n_visits`` times, at least once."""
    slots[:] = 0
    slots[_VISITS] = n_visits
    slots[_NEXT], slots[_AHEAD_DOCUMENT], slots[_AHEAD_USED] = first, first, LANES


@outlined_part
def start_document(
    slot: Int,
    offsets: IntArray,
    numbers: UInt32Array,
    last: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> bool:
    """Put the next non-empty document into this slot. If there is none, the slot is idle and the result False."""
    document = np.int64(slots[_NEXT])
    while document < last and offsets[document] == offsets[document + 1]:
        document += 1
    slots[_NEXT] = document + 1
    if document >= last:
        slots[TOKEN + slot] = slots[END + slot] = 0
        return False
    n_draws = np.int64(slots[_VISITS]) * (offsets[document + 1] - offsets[document])
    slots[TOKEN + slot], slots[END + slot] = offsets[document], offsets[document + 1]
    slots[_DOCUMENT + slot], slots[PLACE + slot] = document, DRAWS + slot * STRIDE
    slots[_AGAIN + slot], slots[_WINDOW_BLOCK + slot] = slots[_VISITS] - np.uint64(1), WINDOW // BLOCK
    for start in range(DRAWS + slot * STRIDE, DRAWS + slot * STRIDE + min(n_draws, WINDOW), BLOCK):
        if slots[_AHEAD_USED] == LANES:
            _make_blocks_ahead(offsets, numbers, last, key, purpose, sweep, bits, slots)
        used = np.int64(slots[_AHEAD_USED])
        store(bits, start, load(bits, _AHEAD + used * BLOCK))
        slots[_AHEAD_USED] = used + 1
    return True


@part
def _make_blocks_ahead(
    offsets: IntArray,
    numbers: UInt32Array,
    last: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    document, block, visits = np.int64(slots[_AHEAD_DOCUMENT]), np.int64(slots[_AHEAD_BLOCK]), np.int64(slots[_VISITS])
    for lane in range(LANES):
        while document < last and block * BLOCK >= min(visits * (offsets[document + 1] - offsets[document]), WINDOW):
            document, block = document + 1, np.int64(0)
        bits[_PLACES + lane] = numbers[document] if document < last else np.uint32(0)  # after the last: never used
        bits[_PLACES + LANES + lane] = block
        block += 1
    fill_group(key, purpose, sweep, bits, _PLACES, bits, _AHEAD)
    slots[_AHEAD_DOCUMENT], slots[_AHEAD_BLOCK], slots[_AHEAD_USED] = document, block, 0


@inlined_part
def step_on(
    slot: Int,
    offsets: IntArray,
    numbers: UInt32Array,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> bool:
    """Go to the next token of the document, or to its first if it is to be visited again. After its last visit, do
    nothing and return False."""
    token = slots[TOKEN + slot] + np.uint64(1)
    if token == slots[END + slot]:
        if slots[_AGAIN + slot] == 0:
            return False
        slots[_AGAIN + slot] -= np.uint64(1)
        token = np.uint64(offsets[slots[_DOCUMENT + slot]])
    slots[TOKEN + slot] = token
    slots[PLACE + slot] += np.uint64(1)
    if slots[PLACE + slot] == np.uint64(DRAWS + slot * STRIDE + WINDOW):
        _fill_window(slot, offsets, numbers, key, purpose, sweep, bits, slots)
    return True


@part
def _fill_window(
    slot: Int,
    offsets: IntArray,
    numbers: UInt32Array,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """The next draws of the slot's document: a window of them, or as many as it still needs."""
    document, block = np.int64(slots[_DOCUMENT + slot]), np.int64(slots[_WINDOW_BLOCK + slot])
    left = np.int64(slots[_AGAIN + slot]) * (offsets[document + 1] - offsets[document])
    left += np.int64(slots[END + slot] - slots[TOKEN + slot])
    start = DRAWS + slot * STRIDE
    stop = start + min((left + GROUP - 1) // GROUP * GROUP, WINDOW)
    fill_document(key, purpose, sweep, numbers[document], block, bits, _PLACES, bits, start, stop)
    slots[PLACE + slot], slots[_WINDOW_BLOCK + slot] = start, block + WINDOW // BLOCK


@inlined_part
def enter_token(
    slot: Int,
    doubled: Int,
    words: Int32Array,
    topics: UInt16Array,
    width: Int,
    take_token: Callable[..., None],
    tables: tuple[Any, ...],
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Prepare the draw of the slot's token: its word, its random bits, and its topic removed from the counts."""
    i, place = slots[TOKEN + slot] >> np.uint64(doubled), slots[PLACE + slot]
    slots[WORD_ROW + slot] = np.uint64(words[i]) * np.uint64(width)
    bits[NOW + slot] = bits[place]
    if doubled:
        bits[LOW + slot] = bits[place + np.uint64(1)]
    take_token(slot, np.uint64(topics[i]), *tables, bits, slots)


@inlined_part
def fill_slots(
    first: Int,
    last: Int,
    n_visits: Int,
    doubled: Int,
    words: Int32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    width: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    take_document: Callable[..., None],
    take_token: Callable[..., None],
    tables: tuple[Any, ...],
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Put the first documents into the slots, ready for the first draws.

    ``doubled`` is 1 if a draw takes two words of the stream, else 0: ``offsets`` are then twice those of the tokens,
    and token i of a document takes the words 2i and 2i + 1. ``width`` is that of a row of weights.
    """
    open_slots(first, n_visits, slots)
    for slot in range(LANES):
        if start_document(slot, offsets, numbers, last, key, purpose, sweep, bits, slots):
            start, stop = np.int64(slots[TOKEN + slot]) >> doubled, np.int64(slots[END + slot]) >> doubled
            take_document(slot, topics, start, stop, *tables, bits, slots)
            enter_token(slot, doubled, words, topics, width, take_token, tables, bits, slots)


@inlined_part
def book_draws(
    last: Int,
    doubled: Int,
    words: Int32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    width: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    choose: Callable[..., Any],
    take_document: Callable[..., None],
    take_token: Callable[..., None],
    return_token: Callable[..., None],
    tables: tuple[Any, ...],
    bits: UInt32Array,
    slots: UInt64Array,
) -> int:
    """Write the topics that were drawn and go to the next tokens. Returns how many slots had a token.

    The next token is removed from the counts here, long before the sums over topics read them.
    """
    active, double = 0, np.uint64(doubled)
    for slot in range(LANES):
        i = slots[TOKEN + slot]
        if i == slots[END + slot]:
            continue
        active += 1
        topic = choose(slot, *tables, bits, slots)
        topics[i >> double] = topic
        if doubled:  # to the second word, which lies in the same window
            slots[TOKEN + slot] += double
            slots[PLACE + slot] += double
        if step_on(slot, offsets, numbers, key, purpose, sweep, bits, slots):
            return_token(slot, topic, *tables, bits, slots)
        elif start_document(slot, offsets, numbers, last, key, purpose, sweep, bits, slots):
            start, stop = np.int64(slots[TOKEN + slot]) >> doubled, np.int64(slots[END + slot]) >> doubled
            take_document(slot, topics, start, stop, *tables, bits, slots)
        else:
            continue
        enter_token(slot, doubled, words, topics, width, take_token, tables, bits, slots)
    return active
