"""What one unit contributes to a round of PrivateLDA: expected topic counts less what the others have said already.

A unit's tokens have topics from Gibbs sweeps. Each token gives its conditional distribution over topics in place of the
one topic it drew (Rao and Blackwell: the same mean, less variance):

    p_i(k) ∝ φ̃[w, k] · (n[d, k] − [z_i = k] + α_k)

and the unit contributes

    c[w, k] = weight[w, k] · (Σ_{its tokens i of word w} p_i(k) − count(w) · background[w, k])

for each of its words and every topic. The background is a share of the released profile of the word, so that the norm,
which is what a clip spends, goes to what the unit has to say beyond it.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array
from discreet.kernels.compile import bare_kernel, part
from discreet.kernels.contributions import LARGEST_CLIP, TRIES
from discreet.kernels.lanes import LANES, load, splat, store


def residual_scratch(n_words: Int, width: Int, n_places: Int) -> tuple[Float32Array, Int32Array]:
    """Working memory of one thread, for units of up to ``n_places`` different words.

    Floats: the counts of a document (width), sixteen lanes, for each place a total and a sum of inverses, and its row.
    Integers: the place of each word (0: none yet), then for each place its word, count, last document, its turn in the
    document, and its row in whole steps.
    """
    return (
        np.zeros(width + LANES + n_places * (2 + width), np.float32),
        np.zeros(n_words + n_places * (4 + width), np.int32),
    )


@part
def _sum_of_lanes(floats: Float32Array, at: Int) -> float:
    """Of sixteen neighbours, which are overwritten; halves are added to halves, always in this order."""
    for half in (8, 4, 2, 1):
        for lane in range(half):
            floats[at + lane] += floats[at + half + lane]
    return floats[at]  # type: ignore[no-any-return]


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
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, flat word × width.

    Unit ``m`` has the documents from ``first_document[m]`` to ``first_document[m + 1]``. ``table``, ``cell_weights``
    and ``background`` are flat, word × width, zero beyond the last topic; ``clip`` and the weights are in steps of the
    grid. A contribution longer than ``clip`` in ℓ₂ is shrunk to it, and each cell is truncated towards zero.

    As in ``contributions.py``, what counts for the guarantee is the whole numbers: their squares are added up as
    integers, and if the sum exceeds ⌊clip²⌋ the unit is shrunk again; after a few tries, or if anything is not finite,
    it contributes nothing. No float becomes an integer before the norm of its unit is known to be finite; shrunk, it is
    then no larger than the clip but for rounding, which is below 2^31, and its square fits 64 bits.
    """
    width = alpha.shape[0]
    n_words = table.shape[0] // width
    n_places = (integers.shape[0] - n_words) // (4 + width)
    lanes = width
    totals = lanes + LANES
    inverses = totals + n_places
    rows = inverses + n_places
    its_word = n_words
    its_count = its_word + n_places
    seen_in = its_count + n_places
    turn = seen_in + n_places
    whole_rows = turn + n_places
    usable = clip >= 0.0 and clip <= LARGEST_CLIP  # false for NaN
    limit = np.int64(math.floor(clip * clip)) if usable else np.int64(-1)
    nothing, one, tiny = splat(np.float32(0)), np.float32(1), np.float32(1e-30)

    for unit in range(first, last):
        n = 0
        for d in range(first_document[unit], first_document[unit + 1]):
            for k in range(0, width, LANES):
                store(floats, k, load(alpha, k))
            for i in range(offsets[d], offsets[d + 1]):
                floats[topics[i]] += one
            n_turns = 0
            for i in range(offsets[d], offsets[d + 1]):
                word, topic = np.int64(words[i]), np.int64(topics[i])
                place = np.int64(integers[word]) - 1
                if place < 0:
                    place = np.int64(n)
                    n += 1
                    integers[word] = n
                    integers[its_word + place] = word
                    integers[its_count + place] = 0
                    integers[seen_in + place] = -1
                    for k in range(0, width, LANES):
                        store(floats, rows + place * width + k, nothing)
                if integers[seen_in + place] != d:
                    integers[seen_in + place] = d
                    integers[turn + n_turns] = place
                    n_turns += 1
                    total = nothing
                    for k in range(0, width, LANES):
                        total = total + load(floats, k) * load(table, word * width + k)
                    store(floats, lanes, total)
                    floats[totals + place] = _sum_of_lanes(floats, lanes)
                    floats[inverses + place] = np.float32(0)
                integers[its_count + place] += 1
                own = table[word * width + topic]  # what the token itself adds to the total
                inverse = one / max(floats[totals + place] - own, tiny)
                floats[inverses + place] += inverse
                floats[rows + place * width + topic] -= own * inverse
            for j in range(n_turns):
                place = np.int64(integers[turn + j])
                row, word_row = rows + place * width, np.int64(integers[its_word + place]) * width
                share = splat(floats[inverses + place])
                for k in range(0, width, LANES):
                    store(floats, row + k, load(floats, row + k) + share * load(floats, k) * load(table, word_row + k))

        squares = nothing
        for j in range(n):
            row, word_row = rows + j * width, np.int64(integers[its_word + j]) * width
            count = splat(np.float32(integers[its_count + j]))
            for k in range(0, width, LANES):
                value = load(cell_weights, word_row + k) * (
                    load(floats, row + k) - count * load(background, word_row + k)
                )
                store(floats, row + k, value)
                squares = squares + value * value
        store(floats, lanes, squares)
        norm = math.sqrt(np.float64(_sum_of_lanes(floats, lanes)))
        finite = usable and norm < math.inf  # false for NaN
        shrink = np.float32(clip / norm if finite and norm > clip else 1.0)
        fits = False
        for _ in range(TRIES if finite else 0):  # [check-residual] integers only
            whole = np.int64(0)
            for i in range(n * width):
                cell = np.int32(floats[rows + i] * shrink)
                integers[whole_rows + i] = cell
                whole += np.int64(cell) * np.int64(cell)
            if whole <= limit:
                fits = True
                break
            shrink *= np.float32(1.0 - 1e-5)
        for j in range(n):
            word = np.int64(integers[its_word + j])
            integers[word] = 0
            if fits:
                row, word_row = whole_rows + j * width, word * width
                for k in range(width):
                    out[word_row + k] += integers[row + k]
