"""What one unit contributes to a round: its topic counts, weighted, clipped and put on a grid of whole numbers."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, Float32Array, Int, Int32Array, IntArray, UInt16Array
from discreet.kernels.compile import at, bare_kernel
from discreet.kernels.lanes import LANES, prefetch

LARGEST_CLIP = float(2**30)
"""In steps of the grid. The sum of two squares of it fits easily in 64 bits."""

TRIES = 4
"""How often a unit is shrunk before it is left out. Once is nearly always enough."""


def contribution_scratch(n_words: int, n_topics: int, n_cells: int) -> Int32Array:
    """Working memory of one thread: a word × topic table, and the places of up to ``n_cells`` cells of one unit."""
    return np.zeros(n_words * n_topics + 2 * n_cells, np.int32)


AHEAD = 8
"""How many documents ahead are prefetched: they are far apart in memory, and each load would have to wait."""


@bare_kernel
def copy_documents(tokens: AnyArray, starts: IntArray, offsets: IntArray, first: Int, last: Int, out: AnyArray) -> None:
    """One value per token, of documents ``first`` to ``last - 1`` of a batch: from ``starts[d]`` to ``offsets[d]``."""
    for d in range(first, last):
        ahead = min(d + AHEAD, last - 1)
        for i in range(starts[ahead], starts[ahead] + offsets[ahead + 1] - offsets[ahead], LANES):
            prefetch(tokens, i)
        source, target = starts[d], offsets[d]
        for i in range(offsets[d + 1] - target):
            out[at(target + i)] = tokens[at(source + i)]


@bare_kernel
def return_documents(
    tokens: UInt16Array, starts: IntArray, offsets: IntArray, first: Int, last: Int, out: UInt16Array
) -> None:
    """The reverse of `copy_documents`: from ``offsets[d]`` of the batch to ``starts[d]``."""
    for d in range(first, last):
        ahead = min(d + AHEAD, last - 1)
        for i in range(starts[ahead], starts[ahead] + offsets[ahead + 1] - offsets[ahead], 2 * LANES):
            prefetch(out, i)
        source, target = offsets[d], starts[d]
        for i in range(offsets[d + 1] - source):
            out[at(target + i)] = tokens[at(source + i)]


@bare_kernel
def squared_norms(words: Int32Array, unit_ends: IntArray, tally: Int32Array, out: IntArray) -> None:
    """The squared ℓ₂ norm of each unit's word counts; unit ``m`` owns tokens ``unit_ends[m]`` to ``unit_ends[m + 1]``.

    ``tally`` has a cell for each word, zero before and after.
    """
    for unit in range(out.shape[0]):
        squares = np.int64(0)
        for i in range(unit_ends[unit], unit_ends[unit + 1]):
            squares += 2 * np.int64(tally[words[i]]) + 1  # (c + 1)² − c²
            tally[words[i]] += np.int32(1)
        for i in range(unit_ends[unit], unit_ends[unit + 1]):
            tally[words[i]] = np.int32(0)
        out[unit] = squares


@bare_kernel
def add_contributions(
    words: Int32Array,
    topics: UInt16Array,
    unit_ends: IntArray,
    first: Int,
    last: Int,
    n_topics: Int,
    word_weights: Float32Array,
    clip: float,
    tally: Int32Array,
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, flat word × topic.

    Unit ``m`` owns the tokens from ``unit_ends[m - 1]`` (0 for the first) to ``unit_ends[m]``. Its contribution is
    v[w, k] = word_weights[w] · (how often its tokens w have topic k), shrunk to ‖v‖₂ ≤ ``clip`` where it is longer,
    each cell truncated towards zero. ``clip`` is in steps of the grid and so are the word weights.

    The guarantee does not depend on the arithmetic above, which is rounded, but on the whole numbers that result: their
    squares are added up as integers, and if the sum exceeds ⌊clip²⌋ the unit is shrunk again; after a few tries, or if
    anything is negative or not finite, it contributes nothing. No float is converted to a whole number before it is
    known to lie between 0 and clip + 1, and nothing is added to a sum of squares that has passed the limit: both could
    wrap round to a small number. ``tally`` comes from :func:`contribution_scratch`; its table is zero before and after.
    """
    usable = clip >= 0.0 and clip <= LARGEST_CLIP  # false for NaN
    limit = np.int64(math.floor(clip * clip)) if usable else np.int64(-1)
    cells = word_weights.shape[0] * n_topics  # after the table: the cells of the unit, then their words
    its_words = cells + (tally.shape[0] - cells) // 2
    for unit in range(first, last):
        start = unit_ends[unit - 1] if unit > 0 else 0
        stop = unit_ends[unit]
        n_cells = 0
        for i in range(start, stop):
            cell = words[i] * n_topics + topics[i]
            if tally[cell] == 0:
                tally[cells + n_cells] = cell
                tally[its_words + n_cells] = words[i]
                n_cells += 1
            tally[cell] += np.int32(1)
        squares = 0.0
        for j in range(n_cells):
            value = word_weights[tally[its_words + j]] * np.float64(tally[tally[cells + j]])
            squares += value * value
        norm = math.sqrt(squares)
        finite = usable and norm < math.inf  # false for NaN
        shrink = clip / norm if finite and norm > clip else 1.0
        fits = False
        for _ in range(TRIES if finite else 0):  # [check] integers only: no rounding lets a unit exceed the clip
            whole = np.int64(0)
            for j in range(n_cells):
                real = shrink * word_weights[tally[its_words + j]] * np.float64(tally[tally[cells + j]])
                if not (real >= 0.0 and real <= clip + 1.0):  # also refuses NaN
                    whole = limit + 1
                elif whole <= limit:
                    whole += np.int64(real) * np.int64(real)
            if whole <= limit:
                fits = True
                break
            shrink *= 1.0 - 1e-6
        for j in range(n_cells):
            cell = tally[cells + j]
            if fits:
                out[cell] += np.int64(shrink * word_weights[tally[its_words + j]] * np.float64(tally[cell]))
            tally[cell] = np.int32(0)
