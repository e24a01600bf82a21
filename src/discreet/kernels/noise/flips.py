"""Randomised response on packed bits: each bit flips with the same probability, at the cost of the bits that flip.

Report m reads the stream of ``(key, purpose, 0, m)``. A draw of 64 bits, the first places of a uniform U, gives the
number g of bits that stay before the next one that flips: P(g ≥ j) = q^j with q the probability that a bit stays, so
g is the number of powers q¹, q², … above U. The table holds q¹ … q^n in 64 places. When U is below all of them, n bits
stay and the next draw decides about the bits after them (the law has no memory). When the 64 places of U equal those
of a power, they cannot decide: the loop stops and says where, and the caller settles this one comparison exactly
(``mechanisms/local.py``).
"""

from __future__ import annotations

import numpy as np

from discreet._types import Int, Int32Array, IntArray, UInt8Array, UInt32Array, UInt64Array
from discreet.kernels.compile import bare_kernel, kernel
from discreet.kernels.lanes import LANES
from discreet.kernels.stream import BLOCK, GROUP, fill_document

SCRATCH_SIZE = GROUP + 2 * LANES

REPORT, PLACE, DRAWS, TIE = 0, 1, 2, 3
"""What the state of a run holds: the report, the next bit, the draws made for this report, and where U equals a power
(or -1)."""


@kernel
def set_bits(words: Int32Array, starts: IntArray, stops: IntArray, packed: UInt8Array) -> None:
    """Bit w of report m is 1 for every w in ``words[starts[m]:stops[m]]``."""
    for m in range(starts.shape[0]):
        for i in range(starts[m], stops[m]):
            packed[m, words[i] >> 3] |= np.uint8(1 << (words[i] & 7))


@bare_kernel
def flip_bits(
    packed: UInt8Array,
    n_words: Int,
    powers: UInt64Array,
    guide: IntArray,
    key: UInt32Array,
    purpose: np.uint32,
    state: IntArray,
    scratch: UInt32Array,
) -> None:
    """Go on from ``state`` until all reports are done (``state[REPORT]`` is their number) or a draw cannot decide.

    ``powers`` fall; ``guide[i]`` is the number of them above every U whose first eight places are i.
    """
    n = powers.shape[0]
    m, place, draws = state[REPORT], state[PLACE], state[DRAWS]
    state[TIE] = -1
    while m < packed.shape[0]:
        filled = -1
        while place < n_words:
            group = (2 * draws) // GROUP
            if group != filled:
                first_block = group * (GROUP // BLOCK)
                fill_document(key, purpose, np.uint32(0), np.uint32(m), first_block, scratch, GROUP, scratch, 0, GROUP)
                filled = group
            at = 2 * draws - group * GROUP
            u = (np.uint64(scratch[at]) << np.uint64(32)) | np.uint64(scratch[at + 1])
            draws += 1
            g = guide[np.int64(u >> np.uint64(56))]
            while g < n and u < powers[g]:
                g += 1
            if g < n and u == powers[g]:
                state[REPORT], state[PLACE], state[DRAWS], state[TIE] = m, place, draws, g
                return
            place += g
            if g < n and place < n_words:
                packed[m, place >> 3] ^= np.uint8(1 << (place & 7))
                place += 1
        m, place, draws = m + 1, 0, 0
    state[REPORT], state[PLACE], state[DRAWS] = m, place, draws
