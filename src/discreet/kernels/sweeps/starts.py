"""First topics: uniform ones, independent of the words, or topics drawn for each word from a table."""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array, UInt32Array, UInt64Array
from discreet.kernels.compile import at, bare_kernel
from discreet.kernels.lanes import LANES, add_up, as_float, load, passed, splat
from discreet.kernels.sweeps.slots import PLACE, TOKEN, open_slots, start_document, step_on


@bare_kernel
def first_topics(
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    n_topics: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Uniform topics, independent of the words: ``floor(r · n_topics / 2^32)`` with r the token's 32-bit draw."""
    open_slots(first, 1, slots)
    slot = 0
    while start_document(slot, offsets, numbers, last, key, purpose, sweep, bits, slots):
        on = True
        while on:
            draw = np.uint64(bits[slots[PLACE + slot]])
            topics[slots[TOKEN + slot]] = (draw * np.uint64(n_topics)) >> np.uint64(32)
            on = step_on(slot, offsets, numbers, key, purpose, sweep, bits, slots)


@bare_kernel
def running_sums(table: Float32Array, alpha: Float32Array, out: Float32Array) -> None:
    """For each word the running sums of table[w, k] · alpha[k] over its topics, flat word × width like the table."""
    width = alpha.shape[0]
    for row in range(0, table.shape[0], width):
        total = np.float32(0)
        for k in range(width):
            total += table[row + k] * alpha[k]
            out[row + k] = total


@bare_kernel
def topics_by_word(
    words: Int32Array,
    offsets: IntArray,
    numbers: UInt32Array,
    topics: UInt16Array,
    first: Int,
    last: Int,
    sums: Float32Array,
    width: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
    slots: UInt64Array,
) -> None:
    """Each token's topic from p(k) ∝ table[w, k] · alpha[k], whose :func:`running_sums` are given.

    The topic is the number of running sums that the mark u · total has passed, as in a sweep (``lanes.passed``). All of
    them are compared, sixteen at a time: 7 ns per token at 20 topics, where binary search takes 31, because the
    processor mispredicts half of its branches. u has 24 random bits.
    """
    wide = at(width)
    open_slots(first, 1, slots)
    slot = 0
    while start_document(slot, offsets, numbers, last, key, purpose, sweep, bits, slots):
        on = True
        while on:
            token = slots[TOKEN + slot]
            row = np.int64(at(words[token]) * wide)
            total = sums[at(row) + wide - at(1)]
            mark = np.float32(bits[slots[PLACE + slot]] >> np.uint32(8)) * np.float32(2.0**-24) * total
            marks, totals, n_passed = splat(mark), splat(total), splat(np.uint32(0))
            for k in range(row, row + width, LANES):
                n_passed = n_passed + passed(load(sums, k), marks, totals)
            topics[token] = add_up(as_float(n_passed))
            on = step_on(slot, offsets, numbers, key, purpose, sweep, bits, slots)
