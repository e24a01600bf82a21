"""Which words a unit has, and the weight it gives to each of them in a private vocabulary."""

from __future__ import annotations

from discreet._types import BoolArray, Int32Array, IntArray
from discreet.kernels.compile import kernel


@kernel
def distinct_words(
    words: Int32Array,
    offsets: IntArray,
    order: IntArray,
    units: IntArray,
    last_seen: IntArray,
    unit_words: Int32Array,
    ends: IntArray,
) -> int:
    """Write each unit's words, every one once, and return how many there are in all.

    ``order`` lists the documents so that those of a unit lie together, ``units`` holds the unit of each document, and
    ``ends`` (zeros before the call) the place after each unit's last word. ``last_seen`` is -1 for every word before
    the call.
    """
    place = 0
    for d in order:
        unit = units[d]
        for i in range(offsets[d], offsets[d + 1]):
            word = words[i]
            if last_seen[word] != unit:
                last_seen[word] = unit
                unit_words[place] = word
                place += 1
        ends[unit] = place
    return place


@kernel
def add_weights(
    unit_words: Int32Array, ends: IntArray, max_words: int, wanted: BoolArray, weights: IntArray, out: IntArray
) -> None:
    """Each unit adds ``weights[t]`` to each of its t ≤ ``max_words`` words that are still wanted.

    Its first ``max_words`` words count, wanted or not. ``weights[t]`` is in whole steps of the grid.
    """
    start = 0
    for end in ends:
        stop = min(end, start + max_words)  # [cap]
        t = 0
        for i in range(start, stop):
            if wanted[unit_words[i]]:
                t += 1
        for i in range(start, stop):
            if wanted[unit_words[i]]:
                out[unit_words[i]] += weights[t]  # [own] depends on its own words, and on what was decided about them
        start = end
