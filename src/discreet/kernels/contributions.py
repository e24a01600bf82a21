"""What one unit contributes to a round: its topic counts, weighted, clipped and put on a grid of whole numbers."""

from __future__ import annotations

import math

import numpy as np

from discreet._types import Float32Array, Int, Int32Array, IntArray, UInt16Array
from discreet.kernels.compile import bare_kernel


@bare_kernel
def add_contributions(
    words: Int32Array,
    samples: UInt16Array,
    unit_ends: IntArray,
    first: Int,
    last: Int,
    width: Int,
    word_weights: Float32Array,
    clip: float,
    tally: Int32Array,
    out: IntArray,
) -> None:
    """Add the contributions of units ``first`` to ``last - 1`` to ``out``, flat word × width.

    ``samples`` holds R topics for each token, one sample after another; unit ``m`` owns the tokens from
    ``unit_ends[m - 1]`` (0 for the first) to ``unit_ends[m]``. Its contribution is v[w, k] = word_weights[w] · (how
    often its tokens w have topic k) / R, shrunk to ‖v‖₂ ≤ ``clip`` where it is longer, each cell truncated towards
    zero. ``clip`` is in steps of the grid and so are the word weights.

    What counts for the guarantee is not the arithmetic above, which is rounded, but the whole numbers that come out of
    it: their squares are added up as integers, and if the sum exceeds ⌊clip²⌋ the unit is shrunk again; after a few
    tries, or if anything is not finite, it contributes nothing. ``tally`` is a word × width of zeros, before and after.
    """
    n_tokens = words.shape[0]
    n_samples = samples.shape[0] // max(n_tokens, 1)
    limit = np.int64(math.floor(clip * clip))
    for unit in range(first, last):
        start = unit_ends[unit - 1] if unit > 0 else 0
        stop = unit_ends[unit]
        for r in range(n_samples):
            for i in range(start, stop):
                tally[words[i] * width + samples[r * n_tokens + i]] += np.int32(1)
        squares = 0.0  # a cell that has been seen is marked by its sign
        for r in range(n_samples):
            for i in range(start, stop):
                cell = words[i] * width + samples[r * n_tokens + i]
                count = tally[cell]
                if count > 0:
                    value = word_weights[words[i]] * (count / n_samples)
                    squares += value * value
                    tally[cell] = -count
        norm = math.sqrt(squares)
        shrink = 1.0 if norm <= clip else clip / norm
        fits = False
        for _ in range(4):  # [check] integers only: rounding above cannot let a unit exceed the clip
            if not (shrink >= 0.0 and shrink <= 1.0):  # also refuses NaN
                break
            whole = np.int64(0)
            for r in range(n_samples):
                for i in range(start, stop):
                    cell = words[i] * width + samples[r * n_tokens + i]
                    if tally[cell] < 0:
                        value = np.int64(shrink * word_weights[words[i]] * (-tally[cell] / n_samples))
                        whole += value * value
                        tally[cell] = -tally[cell]
            for r in range(n_samples):
                for i in range(start, stop):
                    cell = words[i] * width + samples[r * n_tokens + i]
                    if tally[cell] > 0:
                        tally[cell] = -tally[cell]
            if whole <= limit:
                fits = True
                break
            shrink *= 1.0 - 1e-6
        for r in range(n_samples):
            for i in range(start, stop):
                cell = words[i] * width + samples[r * n_tokens + i]
                if tally[cell] < 0:
                    if fits:
                        out[cell] += np.int64(shrink * word_weights[words[i]] * (-tally[cell] / n_samples))
                    tally[cell] = np.int32(0)
