"""Whitened triples of each unit, clipped and in whole numbers: the third moment for private models.

The formulas are in ``kernels/sums/moments.py``; here they are computed in full for each document, because the norm of
each unit's share must be known before it is added. That takes k³/6 products per word of a document, so sixteen are
computed at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet._types import Float32Array, FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import bare_kernel, part
from discreet.kernels.lanes import LANES, load, splat, store, widen
from discreet.kernels.sums.contributions import LARGEST_CLIP, TRIES
from discreet.kernels.sums.moments import fits


@part
def fill_triples(
    first: Int,
    last: Int,
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    table: Float32Array,
    k: Int,
    mask: Float32Array,
    scratch: Float32Array,
    triples: Float32Array,
) -> None:
    """M₃(y, y, y) of the documents ``first`` to ``last - 1`` together, in the layout of `triple_mask`.

    ``table`` is y in rows of whole lanes (`padded_table`). (float32 is enough: contributions are truncated to a grid
    later, and the check is made there.)
    """
    width = -(-k // LANES) * LANES
    nothing = splat(np.float32(0))
    for place in range(0, mask.shape[0], LANES):
        store(triples, place, nothing)
    mean, square, factors = 0, width, width + width * width  # places in scratch: a, Q, and one factor per word
    for n in range(first, last):
        start, m = offsets[n], offsets[n + 1] - offsets[n]
        length = 0.0
        for p in range(m):
            length += counts[start + p]
        if length < 3.0:
            continue
        share = np.float32(1.0 / (length * (length - 1.0) * (length - 2.0)))
        many = -(-m // LANES) * LANES  # words, padded
        own = factors + many  # this document's y, word by word
        turned = own + many * width  # and topic by topic
        counted = turned + many * k  # times the count
        for p in range(many):
            count = np.float32(counts[start + p]) if p < m else np.float32(0)
            for b in range(0, width, LANES):
                store(scratch, own + p * width + b, load(table, words[start + p] * width + b) if p < m else nothing)
            for i in range(k):
                scratch[turned + i * many + p] = scratch[own + p * width + i]
                scratch[counted + i * many + p] = count * scratch[own + p * width + i]
            scratch[factors + p] = count
        for b in range(0, width, LANES):
            store(scratch, mean + b, weighted_sum(scratch, factors, own + b, many, width))
            for i in range(k):
                store(scratch, square + i * width + b, weighted_sum(scratch, counted + i * many, own + b, many, width))
        place = 0
        for i in range(k):
            left = splat(share * scratch[mean + i])
            for j in range(i, k):
                for p in range(0, many, LANES):
                    both = load(scratch, counted + i * many + p) * load(scratch, turned + j * many + p)
                    store(scratch, factors + p, both)
                right = splat(share * scratch[mean + j])
                rest = splat(share * (scratch[mean + i] * scratch[mean + j] - scratch[square + i * width + j]))
                for b in range(j // LANES * LANES, k, LANES):
                    cubes = weighted_sum(scratch, factors, own + b, many, width)
                    found = splat(share) * (cubes + cubes) + rest * load(scratch, mean + b)
                    found = found - left * load(scratch, square + j * width + b)
                    found = found - right * load(scratch, square + i * width + b)
                    store(triples, place, load(triples, place) + found * load(mask, place))
                    place += LANES


@part
def weighted_sum(scratch: Float32Array, factors: Int, rows: Int, many: Int, width: Int) -> Any:
    """Σ factor · row over ``many`` rows, sixteen entries of each; four separate sums, since each addition to one sum
    waits for the last."""
    one, two = splat(np.float32(0)), splat(np.float32(0))
    three, four = splat(np.float32(0)), splat(np.float32(0))
    for p in range(0, many, 4):
        at = rows + p * width
        one = one + splat(scratch[factors + p]) * load(scratch, at)
        two = two + splat(scratch[factors + p + 1]) * load(scratch, at + width)
        three = three + splat(scratch[factors + p + 2]) * load(scratch, at + 2 * width)
        four = four + splat(scratch[factors + p + 3]) * load(scratch, at + 3 * width)
    return (one + two) + (three + four)


@part
def lane_norm(values: Float32Array, sums: FloatArray) -> float:
    """‖values‖, sixteen sums side by side in float64. ``sums`` is scratch for them."""
    squares = splat(0.0)
    for place in range(0, values.shape[0], LANES):
        wide = widen(load(values, place))
        squares = squares + wide * wide
    store(sums, 0, squares)
    total = 0.0
    for lane in range(LANES):
        total += sums[lane]
    return math.sqrt(total)


def padded_table(table: FloatArray) -> Float32Array:
    """y for `add_triples`: rows padded with zeros to a whole number of lanes, flat."""
    d, k = table.shape
    rows = np.zeros((d, -(-k // LANES) * LANES), np.float32)
    rows[:, :k] = table
    return rows.ravel()


def triple_mask(k: int) -> Float32Array:
    """The layout of triples in `add_triples`: 1 at each entry i ≤ j ≤ h, in rising order, and 0 in between.

    For each i ≤ j there are whole lanes of h, from the one that holds j.
    """
    rows = []
    for i in range(k):
        for j in range(i, k):
            last = np.arange(j // LANES * LANES, -(-k // LANES) * LANES)
            rows.append((last >= j) & (last < k))
    return np.concatenate(rows).astype(np.float32)


def triple_scratch(k: int, most_words: int) -> Float32Array:
    """Working memory for `add_triples`, with documents of up to ``most_words`` distinct words."""
    width, many = -(-k // LANES) * LANES, -(-most_words // LANES) * LANES
    return np.zeros(width + width * width + many * (1 + width + 2 * k), np.float32)


@bare_kernel
def add_triples(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    units: IntArray,
    first: Int,
    last: Int,
    table: Float32Array,
    k: Int,
    unit_weights: FloatArray,
    steps: float,
    clip: float,
    mask: Float32Array,
    scratch: Float32Array,
    sums: FloatArray,
    triples: Float32Array,
    out: IntArray,
) -> None:
    """Add w·M₃(y, y, y) of units ``first`` to ``last - 1``, shrunk to norm ``clip``, in whole steps of a grid.

    w are the weights that `add_moments` wrote. As there, what is added is what was checked, as integers. Triples and
    ``out`` have the layout of ``mask`` (`triple_mask`); cells between them are 0.
    """
    usable = clip >= 0.0 and clip <= LARGEST_CLIP
    for unit in range(first, last):
        if not unit_weights[unit] > 0.0:
            continue
        fill_triples(units[unit], units[unit + 1], offsets, words, counts, table, k, mask, scratch, triples)
        norm = lane_norm(triples, sums)
        factor = steps * unit_weights[unit]
        if norm * factor > clip:
            factor = clip / norm
        good = False
        for _ in range(TRIES if usable and norm < math.inf else 0):
            good = fits(triples, mask.shape[0], norm, factor, clip)  # [check-triples]
            if good:
                break
            factor *= 1.0 - 1e-6
        if good:
            for i in range(mask.shape[0]):
                out[i] += np.int64(factor * triples[i])
