"""What one unit contributes to a round of PrivateLDA: expected topic counts minus what was released already.

A unit's tokens have topics from Gibbs sweeps. Each token contributes its conditional distribution over topics in place
of the one topic it drew (Rao-Blackwellisation: the same mean, less variance):

    p_i(k) ∝ φ̃[w, k] · (n[d, k] − [z_i = k] + α_k)

and the unit contributes

    c[w, k] = weight[w, k] · (Σ_{its tokens i of word w} p_i(k) − count(w) · background[w, k])

for each of its words and every topic. The background is a share of the released profile of the word, so that the norm,
which the clip limits, is used for what is new in the unit.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, Float32Array, Int, Int32Array, IntArray, UInt16Array, UInt32Array
from discreet.kernels.compile import at, bare_kernel, part
from discreet.kernels.lanes import LANES, add_up, load, prefetch, splat, store, truncate, whole_32, widen
from discreet.kernels.sums.contributions import TRIES
from discreet.kernels.sweeps.slots import aligned

LARGEST_CLIP = float(2**26)
"""In steps of the grid. Its square is below 2^53; up to there float64 adds whole numbers without rounding."""


def residual_scratch(n_words: Int, width: Int, n_places: Int) -> tuple[Float32Array, Int32Array]:
    """Working memory of one thread, for units of up to ``n_places`` different words.

    Floats: the counts of a document (width), for each place its row, then its total and its sum of inverses. Integers:
    the place of each word (0: none yet), then for each place its word, its count, the last document that had it, and
    its turn in the document.
    """
    return (
        aligned(width + n_places * width + 2 * n_places, np.float32),
        np.zeros(n_words + 4 * n_places, np.int32),
    )


@part
def add_document(
    n_turns: Int,
    rows: Int,
    given: Int,
    shares: Int,
    its_word: Int,
    turn: Int,
    width: Int,
    table: AnyArray,
    floats: AnyArray,
    integers: Int32Array,
) -> None:
    """Add the expected counts of a document's ``n_turns`` words to their rows: a share of the document's topic weights,
    which start at ``given``, times the table. The places of its words are in ``integers`` from ``turn`` on."""
    for j in range(n_turns):
        place = np.int64(integers[at(turn + j)])
        row, word_row = rows + place * width, np.int64(integers[at(its_word + place)]) * width
        share = splat(floats[at(shares + place)])
        floats[at(shares + place)] = 0.0
        for k in range(0, width, LANES):
            store(floats, row + k, load(floats, row + k) + share * load(floats, given + k) * load(table, word_row + k))


@part
def add_clipped(
    n: Int,
    rows: Int,
    given: Int,
    shares: Int,
    its_word: Int,
    its_count: Int,
    width: Int,
    table: Float32Array,
    cell_weights: Float32Array,
    background: Float32Array,
    clip: float,
    floats: Float32Array,
    integers: Int32Array,
    out: UInt32Array,
) -> None:
    """Add the contribution of one unit of ``n`` words to ``out``, and clear the places of these words.

    The expected counts of the word at place j are a row of ``floats``, from ``rows`` on, and what its last document
    adds to it: a share, ``floats[shares + j]``, of this document's topic weights, which start at ``given``, times the
    table. ``integers`` has the words, and how often the unit has them, from ``its_word`` and ``its_count`` on. A
    contribution longer than ``clip`` in ℓ₂ is shrunk to it, and each cell is truncated towards zero.

    The guarantee depends only on the resulting whole numbers: their squares are added up, in float64, which is
    exact up to 2^53 and cannot fall back below it, and if the sum exceeds ⌊clip²⌋ the unit is shrunk again; after a few
    tries, or if anything is not finite (no comparison with it is true), it contributes nothing. The sums in ``out`` are
    32-bit whole numbers, the negative ones as two's complement: the caller moves them to 64 bits before units × clip
    reaches 2^31 (``engines/threads/sums.py``).
    """
    usable = clip >= 0.0 and clip <= LARGEST_CLIP  # false for NaN
    limit = math.floor(clip * clip) if usable else -1
    squares = splat(np.float32(0))
    for j in range(n):
        row, word_row = rows + j * width, np.int64(integers[at(its_word + j)]) * width
        count, share = splat(np.float32(integers[at(its_count + j)])), splat(floats[at(shares + j)])
        for k in range(0, width, LANES):
            expected = load(floats, row + k) + share * load(floats, given + k) * load(table, word_row + k)
            value = load(cell_weights, word_row + k) * (expected - count * load(background, word_row + k))
            store(floats, row + k, value)
            squares = squares + value * value
    norm = math.sqrt(np.float64(add_up(squares)))
    finite = usable and norm < math.inf  # false for NaN
    shrink = np.float32(clip / norm if finite and norm > clip else 1.0)
    fits = False
    for _ in range(TRIES if finite else 0):  # [check-residual] whole numbers only, added without rounding
        factor = splat(shrink)
        whole = splat(0.0)
        for i in range(rows, rows + n * width, LANES):
            cells = truncate(load(floats, i) * factor)
            store(floats, i, cells)
            exact = widen(cells)
            whole = whole + exact * exact
        if add_up(whole) <= limit:
            fits = True
            break
        shrink = np.float32(1.0 - 1e-5)  # of whole numbers: each loses a step at least
    for j in range(n):
        word = np.int64(integers[at(its_word + j)])
        integers[at(word)] = 0
        if fits:
            row, word_row = rows + j * width, word * width
            for k in range(0, width, LANES):
                store(out, word_row + k, load(out, word_row + k) + whole_32(load(floats, row + k)))


@bare_kernel
def add_residuals(
    words: Int32Array,
    topics: UInt16Array,
    offsets: IntArray,
    first_document: IntArray,
    first: Int,
    last: Int,
    table: Float32Array,
    alpha: Float32Array,
    cell_weights: Float32Array,
    background: Float32Array,
    clip: float,
    floats: Float32Array,
    integers: Int32Array,
    out: UInt32Array,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, flat word × width.

    Unit ``m`` has the documents from ``first_document[m]`` to ``first_document[m + 1]``. ``table``, ``cell_weights``
    and ``background`` are flat, word × width, zero beyond the last topic; ``clip`` and the weights are in steps of the
    grid. Clip, check and sums are those of :func:`add_clipped`.
    """
    width = alpha.shape[0]
    n_words = table.shape[0] // width
    n_places = (integers.shape[0] - n_words) // 4
    rows = width
    totals = rows + n_places * width
    inverses = totals + n_places
    its_word = n_words
    its_count = its_word + n_places
    seen_in = its_count + n_places
    turn = seen_in + n_places
    nothing, one, tiny = splat(np.float32(0)), np.float32(1), np.float32(1e-30)

    for unit in range(first, last):
        n = 0
        for d in range(first_document[unit], first_document[unit + 1]):
            for k in range(0, width, LANES):
                store(floats, k, load(alpha, k))
            for i in range(offsets[d], offsets[d + 1]):
                floats[at(topics[at(i)])] += one
            n_turns = 0
            for i in range(offsets[d], offsets[d + 1]):
                word, topic = np.int64(words[at(i)]), np.int64(topics[at(i)])
                place = np.int64(integers[at(word)]) - 1
                if place < 0:
                    place = np.int64(n)
                    n += 1
                    integers[at(word)] = n
                    integers[at(its_word + place)] = word
                    integers[at(its_count + place)] = 0
                    integers[at(seen_in + place)] = -1
                    floats[at(inverses + place)] = np.float32(0)
                    for k in range(0, width, LANES):
                        store(floats, rows + place * width + k, nothing)
                        prefetch(cell_weights, word * width + k)  # loaded by the time the unit has been read
                        prefetch(background, word * width + k)
                        prefetch(out, word * width + k)
                if integers[at(seen_in + place)] != d:
                    integers[at(seen_in + place)] = d
                    integers[at(turn + n_turns)] = place
                    n_turns += 1
                    total = nothing
                    for k in range(0, width, LANES):
                        total = total + load(floats, k) * load(table, word * width + k)
                    floats[at(totals + place)] = add_up(total)
                integers[at(its_count + place)] += 1
                own = table[at(word * width + topic)]  # what the token itself adds to the total
                inverse = one / max(floats[at(totals + place)] - own, tiny)
                floats[at(inverses + place)] += inverse
                floats[at(rows + place * width + topic)] -= own * inverse
            if d + 1 < first_document[unit + 1]:  # the last document is added while clipping
                add_document(n_turns, rows, 0, inverses, its_word, turn, width, table, floats, integers)
        places = (n, rows, 0, inverses, its_word, its_count, width)
        add_clipped(*places, table, cell_weights, background, clip, floats, integers, out)
