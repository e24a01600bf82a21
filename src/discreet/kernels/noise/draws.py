"""Integer noise from a table: discrete Laplace and discrete Gaussian in a few nanoseconds per value, exactly.

Cell c reads the stream of ``(key, purpose, release, c // CELLS)``. With i = c % CELLS, its 64 first bits are the words
2i and 2i + 1; 256 further words of its own follow after the first bits of all cells of the block. So a value depends on
the place of its cell and on nothing else, threads included, and no two cells read the same bit.

The lowest of the 64 bits is the sign, the other 63 are the first places of U, and the magnitude is the number of
boundaries ≤ U (``tables.py``). Nearly all draws are decided by the guide and one boundary, with 32 places only. The
others, one in fifty, are left to a second pass with all 63. Two rare cases there read further words: U shares its 63
places with a boundary (probability n · 2^-63), or it lies beyond the table (discrete Laplace, 2^-12).
"""

from __future__ import annotations

import numpy as np

from discreet._types import Int, IntArray, UInt32Array, UInt64Array
from discreet.kernels.compile import at, bare_kernel, part
from discreet.kernels.lanes import LANES
from discreet.kernels.noise.tables import FIRST, HEAD
from discreet.kernels.stream import BLOCK, GROUP, fill_document

CELLS = 1024
"""Cells that share a stream: their bits, 8 kB, stay in the fastest cache until they are used."""

_FURTHER = 2 * CELLS  # where in the scratch a cell's further words lie
_SPACE = _FURTHER + GROUP  # room that the stream needs
_LEFT = _SPACE + 2 * LANES  # cells that the first pass leaves to the second
SCRATCH_SIZE = _LEFT + CELLS

_ONE = np.uint64(1)
_BELOW_HEAD = np.uint64(FIRST - HEAD)


@part
def _join(words: UInt32Array, start: Int) -> np.uint64:
    return (np.uint64(words[at(start)]) << np.uint64(32)) | np.uint64(words[at(start + 1)])


@part
def _signed(magnitude: np.int64, lower_half: np.uint32) -> np.int64:
    sign = np.int64(lower_half & np.uint32(1))
    return (magnitude ^ -sign) + sign


@part
def _settle(
    places: np.uint64, second: np.uint64, third: np.uint64, boundaries: UInt64Array, finer: UInt64Array
) -> np.int64:
    """The number of boundaries ≤ U, given 63 + 64 + 64 places of U; if U equals B in all of them, it counts as ≥ B."""
    low, high = 0, boundaries.shape[0] - 1  # the last boundary is above every draw
    while low < high:
        middle = (low + high) // 2
        if boundaries[middle] < places:
            low = middle + 1
        else:
            high = middle
    while boundaries[low] == places and (
        finer[2 * low] < second or (finer[2 * low] == second and finer[2 * low + 1] <= third)
    ):
        low += 1
    return np.int64(low)


@bare_kernel
def resolve(
    places: np.uint64,
    words: UInt32Array,
    start: Int,
    boundaries: UInt64Array,
    finer: UInt64Array,
    tail_boundaries: UInt64Array,
    tail_finer: UInt64Array,
) -> np.int64:
    """The magnitude whose first 63 places of U are ``places``, with 256 further words from ``start`` on.

    Four words decide ties in the table. Beyond it, six words make a draw from the tail's table, and six more whenever
    that draw lies beyond it too. Words for 42 such draws are there; all 42 lie beyond with probability below 2^-500.
    """
    n, n_tail = boundaries.shape[0] - 1, tail_boundaries.shape[0] - 1
    magnitude = _settle(places, _join(words, start), _join(words, start + 2), boundaries, finer)
    if magnitude == n:
        for place in range(start + 4, start + GROUP - 5, 6):
            first, second, third = _join(words, place), _join(words, place + 2), _join(words, place + 4)
            more = _settle(first >> _ONE, second, third, tail_boundaries, tail_finer)
            magnitude += more
            if more < n_tail:
                break
    return magnitude


@bare_kernel
def add_from_bits(
    cells: IntArray,
    start: Int,
    stop: Int,
    block: Int,
    boundaries: UInt64Array,
    heads: UInt32Array,
    finer: UInt64Array,
    guide: UInt32Array,
    shift: np.uint64,
    tail_boundaries: UInt64Array,
    tail_finer: UInt64Array,
    key: UInt32Array,
    purpose: np.uint32,
    release: np.uint32,
    scratch: UInt32Array,
) -> None:
    """Add noise to the cells ``start`` to ``stop`` of one block, whose first bits are in ``scratch``."""
    n_left = 0
    to_guide = np.uint32(shift - _BELOW_HEAD)
    for i in range(stop - start):
        head = scratch[at(2 * i)]
        j = guide[at(head >> to_guide)]
        j += np.uint32(heads[at(j)] < head)  # no branch to mispredict
        if heads[at(j)] > head:
            cells[at(start + i)] += _signed(np.int64(j), scratch[at(2 * i + 1)])
        else:
            scratch[at(_LEFT + n_left)] = np.uint32(i)
            n_left += 1
    n = np.uint64(boundaries.shape[0] - 1)
    for left in range(n_left):
        cell = np.int64(scratch[at(_LEFT + left)])
        places = _join(scratch, 2 * cell) >> _ONE
        k = np.uint64(guide[at(places >> shift)])
        while boundaries[k] < places:
            k += _ONE
        magnitude = np.int64(k)
        if boundaries[k] == places or k == n:
            further, stop_at = (2 * CELLS + cell * GROUP) // BLOCK, _FURTHER + GROUP
            stream = (key, purpose, release, np.uint32(block))
            fill_document(*stream, further, scratch, _SPACE, scratch, _FURTHER, stop_at)
            magnitude = resolve(places, scratch, _FURTHER, boundaries, finer, tail_boundaries, tail_finer)
        cells[at(start + cell)] += _signed(magnitude, scratch[at(2 * cell + 1)])


@bare_kernel
def add_noise(
    cells: IntArray,
    first_block: Int,
    last_block: Int,
    boundaries: UInt64Array,
    heads: UInt32Array,
    finer: UInt64Array,
    guide: UInt32Array,
    shift: np.uint64,
    tail_boundaries: UInt64Array,
    tail_finer: UInt64Array,
    key: UInt32Array,
    purpose: np.uint32,
    release: np.uint32,
    scratch: UInt32Array,
) -> None:
    """Add noise to all cells of the blocks from ``first_block`` up to, not including, ``last_block``."""
    table = (boundaries, heads, finer, guide, shift, tail_boundaries, tail_finer)
    for block in range(first_block, last_block):
        start, stop = block * CELLS, min((block + 1) * CELLS, cells.shape[0])
        needed = (2 * (stop - start) + GROUP - 1) // GROUP * GROUP
        fill_document(key, purpose, release, np.uint32(block), 0, scratch, _SPACE, scratch, 0, needed)
        add_from_bits(cells, start, stop, block, *table, key, purpose, release, scratch)
