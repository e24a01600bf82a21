"""In how many sliding windows words occur, alone and together."""

from __future__ import annotations

import numpy as np

from discreet._types import Int, Int32Array, IntArray
from discreet.kernels.compile import kernel


@kernel
def count_windows(
    words: Int32Array, offsets: IntArray, slot: Int32Array, window: Int, forgetful: bool, together: IntArray
) -> int:
    """Fill ``together[a, b]``, zero before, with the number of windows that hold both ``a`` and ``b``, on its diagonal
    one word.

    Only words with ``slot[word] >= 0`` are counted, in that row and column. A window of ``window`` tokens moves by one
    token per step; a shorter document, even an empty one, is one window. Returns the number of windows.

    A word is present over intervals of windows, and counts change only when an interval ends, so the work is
    proportional to the tokens of counted words, not to windows × pairs. With ``forgetful`` an interval ends as soon as
    any occurrence of its word leaves the window, although another may still be inside, and begins again with the next
    one that enters; otherwise it ends when the last one leaves.
    """
    n_slots = together.shape[0]
    present = np.empty(n_slots, np.int64)  # the words inside, in no order
    place = np.full(n_slots, -1, np.int64)  # the place of a word in ``present``
    since = np.zeros(n_slots, np.int64)  # the window in which its interval began
    inside = np.zeros(n_slots, np.int64)  # its occurrences in the window
    n_present, n_windows = 0, 0
    for d in range(offsets.shape[0] - 1):
        start, length = offsets[d], offsets[d + 1] - offsets[d]
        n_here = max(1, length - window + 1)
        n_windows += n_here
        for token in range(length):
            now = max(0, token - window + 1)  # the first window that holds this token
            if token >= window:
                a = slot[words[start + token - window]]
                if a >= 0:
                    inside[a] -= 1
                    if place[a] >= 0 and (forgetful or inside[a] == 0):
                        for i in range(n_present):
                            b = present[i]
                            together[a, b] += now - max(since[a], since[b])
                        n_present -= 1
                        tail = present[n_present]
                        present[place[a]] = tail
                        place[tail] = place[a]
                        place[a] = -1
            a = slot[words[start + token]]
            if a >= 0:
                inside[a] += 1
                if place[a] < 0:
                    place[a] = n_present
                    present[n_present] = a
                    since[a] = now
                    n_present += 1
        while n_present > 0:
            a = present[n_present - 1]
            for i in range(n_present):
                together[a, present[i]] += n_here - max(since[a], since[present[i]])
            n_present -= 1
            place[a] = -1
        for token in range(max(0, length - window), length):
            a = slot[words[start + token]]
            if a >= 0:
                inside[a] = 0
    for a in range(n_slots):  # a pair was counted in the row of the word that left first
        for b in range(a):
            both = together[a, b] + together[b, a]
            together[a, b] = both
            together[b, a] = both
    return n_windows
