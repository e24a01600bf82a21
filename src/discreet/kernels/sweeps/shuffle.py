"""Documents in another order, and a secret order of the tokens within each."""

from __future__ import annotations

import numpy as np

from discreet._types import Int32Array, IntArray, UInt32Array
from discreet.kernels.compile import kernel
from discreet.kernels.lanes import LANES
from discreet.kernels.stream import GROUP, fill_document


@kernel
def gather_documents(words: Int32Array, offsets: IntArray, order: IntArray, out: Int32Array) -> None:
    """The tokens of the documents ``order``, one document after another."""
    place = 0
    for d in order:
        for i in range(offsets[d], offsets[d + 1]):
            out[place] = words[i]
            place += 1


@kernel
def shuffle_numbered(
    words: Int32Array,
    offsets: IntArray,
    numbers: IntArray,
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
) -> None:
    """Fisher and Yates within each document, in place. The number of a document determines its draws.

    The partner of slot ``i`` is ``floor(r (i + 1) / 2^64)`` with ``r`` the 64 bits at positions ``2i`` and ``2i + 1``;
    no partner is more likely than another by more than a factor ``1 + (i + 1) / 2^64``.
    """
    longest = 0
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    draws = np.empty((2 * longest + GROUP - 1) // GROUP * GROUP, np.uint32)
    places = np.empty(2 * LANES, np.uint32)
    low_half = np.uint64(0xFFFFFFFF)
    for d in range(offsets.shape[0] - 1):
        start, length = offsets[d], offsets[d + 1] - offsets[d]
        fill_document(
            key,
            purpose,
            sweep,
            np.uint32(numbers[d]),
            0,
            places,
            0,
            draws,
            0,
            (2 * length + GROUP - 1) // GROUP * GROUP,
        )
        for i in range(length - 1, 0, -1):
            bound = np.uint64(i + 1)
            high, low = np.uint64(draws[2 * i]), np.uint64(draws[2 * i + 1])
            carried = high * bound + ((low * bound) >> np.uint64(32))
            partner = np.int64((carried >> np.uint64(32)) & low_half)
            words[start + i], words[start + partner] = words[start + partner], words[start + i]


@kernel
def shuffle_documents(
    words: Int32Array, offsets: IntArray, key: UInt32Array, purpose: np.uint32, sweep: np.uint32
) -> None:
    """As `shuffle_numbered`, with documents numbered by their place."""
    shuffle_numbered(words, offsets, np.arange(offsets.shape[0] - 1), key, purpose, sweep)
