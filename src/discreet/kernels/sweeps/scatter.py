"""Expected topic counts of a document, scattered as drawn counts would be.

Drawn topics scatter a document's counts around their expectation; expected counts do not scatter, and collapsed steps
then stop in a poorer place, above all with short documents. So after a step each expected count n is replaced by

    ⌊n + min(n, √(3n)) · (2v − 1) + u⌋,    u and v uniform on [0, 1),

a whole number of expectation n. From n = 3 on its variance is n, and about n below, as if n were a sum of many drawn
topics. That takes two draws per document and topic, and none per token; sixteen random bits give both.
"""

from __future__ import annotations

import numpy as np

from discreet._types import Float32Array, Int, UInt32Array
from discreet.kernels.compile import at, bare_kernel, part
from discreet.kernels.lanes import (
    LANES,
    F32Lanes,
    U32Lanes,
    as_float,
    at_least,
    load,
    low_bits,
    rotate_left,
    splat,
    square_root,
    store,
    truncate,
)
from discreet.kernels.stream import BLOCK, GROUP, fill_group
from discreet.kernels.sweeps.slots import aligned

KOROBOV = np.uint32(40503)
"""u is r / 2^16 and v is r · KOROBOV / 2^16 modulo 1, for sixteen random bits r. The 2^16 points (u, v) are a lattice
that covers the unit square evenly."""

_PLACES = GROUP


def scatter_scratch() -> UInt32Array:
    """Working memory of one thread: sixteen blocks of random words, then their documents and numbers."""
    bits: UInt32Array = aligned(GROUP + 2 * LANES, np.uint32)
    return bits


@part
def _scattered(n: F32Lanes, r: U32Lanes) -> F32Lanes:
    half, unit = splat(np.float32(0.5)), splat(np.float32(2.0**-16))
    u = (as_float(r) + half) * unit
    v = (as_float(low_bits(r * splat(KOROBOV))) + half) * unit
    nothing = splat(np.float32(0))
    far = nothing - at_least(nothing - n, nothing - square_root(n * splat(np.float32(3))))  # the smaller of the two
    return truncate(n + far * (v + v - splat(np.float32(1))) + u)


@bare_kernel
def scatter_counts(
    numbers: UInt32Array,
    expected: Float32Array,
    first: Int,
    last: Int,
    width: Int,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    bits: UInt32Array,
) -> None:
    """Scatter the rows of documents ``first`` to ``last - 1`` of ``expected``, flat document × width.

    A block of sixteen words serves 32 topics: topic 32b + i takes the low half of word i of block b, topic
    32b + 16 + i its high half. A document's draws belong to its number.
    """
    n_blocks = (width + 2 * BLOCK - 1) // (2 * BLOCK)
    d, block = np.int64(first), np.int64(0)
    while d < last:
        begun, begun_block = d, block
        for lane in range(LANES):
            bits[at(_PLACES + lane)] = numbers[at(min(d, last - 1))]  # after the last: never used
            bits[at(_PLACES + LANES + lane)] = block
            block += 1
            if block == n_blocks:
                d, block = d + 1, np.int64(0)
        fill_group(key, purpose, sweep, bits, _PLACES, bits, 0)
        d, block = begun, begun_block
        for lane in range(LANES):
            if d < last:
                words, row = load(bits, BLOCK * lane), d * width + 2 * BLOCK * block
                store(expected, row, _scattered(load(expected, row), low_bits(words)))
                if 2 * BLOCK * block + LANES < width:
                    high = low_bits(rotate_left(words, 16))
                    store(expected, row + LANES, _scattered(load(expected, row + LANES), high))
            block += 1
            if block == n_blocks:
                d, block = d + 1, np.int64(0)
