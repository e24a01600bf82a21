"""One random stream for everything: ChaCha20 (RFC 8439), read at any place, sixteen blocks at a time.

A 32-bit draw is a pure function of ``(key, purpose, sweep, document, position)``: the RFC's nonce is
``(purpose, sweep, document)`` and its block counter is ``position // 16``. So a draw does not depend on the number of
threads or on the order in which documents are visited, and nobody without the key can predict it.
"""

from __future__ import annotations

import numpy as np

from discreet._types import Int, UInt32Array
from discreet.kernels.compile import bare_kernel, part
from discreet.kernels.lanes import LANES, U32Lanes, load, rotate_left, splat, store, transpose

BLOCK = 16
"""Draws in one ChaCha block."""

GROUP = BLOCK * LANES
"""Draws that one call of :func:`fill_group` makes: sixteen blocks of sixteen words."""


@part
def _quarter_round(a: U32Lanes, b: U32Lanes, c: U32Lanes, d: U32Lanes) -> tuple[U32Lanes, U32Lanes, U32Lanes, U32Lanes]:
    a = a + b
    d = rotate_left(d ^ a, 16)
    c = c + d
    b = rotate_left(b ^ c, 12)
    a = a + b
    d = rotate_left(d ^ a, 8)
    c = c + d
    b = rotate_left(b ^ c, 7)
    return a, b, c, d


@bare_kernel
def fill_group(
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    places: UInt32Array,
    places_start: Int,
    out: UInt32Array,
    start: Int,
) -> None:
    """Sixteen blocks, one per lane. From ``places_start`` on, ``places`` holds sixteen documents, then sixteen blocks.

    The sixteen words of lane ``j`` are written to ``out[start + 16 * j:]``, so consecutive blocks give consecutive
    draws.
    """
    n1, n2, n3, ctr = splat(purpose), splat(sweep), load(places, places_start), load(places, places_start + LANES)
    c0, c1 = splat(np.uint32(0x61707865)), splat(np.uint32(0x3320646E))
    c2, c3 = splat(np.uint32(0x79622D32)), splat(np.uint32(0x6B206574))
    k0, k1, k2, k3 = splat(key[0]), splat(key[1]), splat(key[2]), splat(key[3])
    k4, k5, k6, k7 = splat(key[4]), splat(key[5]), splat(key[6]), splat(key[7])
    x0, x1, x2, x3, x4, x5, x6, x7 = c0, c1, c2, c3, k0, k1, k2, k3
    x8, x9, x10, x11, x12, x13, x14, x15 = k4, k5, k6, k7, ctr, n1, n2, n3
    for _ in range(10):
        x0, x4, x8, x12 = _quarter_round(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter_round(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter_round(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter_round(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter_round(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter_round(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter_round(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter_round(x3, x4, x9, x14)
    store(out, start, x0 + c0)
    store(out, start + 16, x1 + c1)
    store(out, start + 32, x2 + c2)
    store(out, start + 48, x3 + c3)
    store(out, start + 64, x4 + k0)
    store(out, start + 80, x5 + k1)
    store(out, start + 96, x6 + k2)
    store(out, start + 112, x7 + k3)
    store(out, start + 128, x8 + k4)
    store(out, start + 144, x9 + k5)
    store(out, start + 160, x10 + k6)
    store(out, start + 176, x11 + k7)
    store(out, start + 192, x12 + ctr)
    store(out, start + 208, x13 + n1)
    store(out, start + 224, x14 + n2)
    store(out, start + 240, x15 + n3)
    transpose(out, start)


@bare_kernel
def fill_document(
    key: UInt32Array,
    purpose: np.uint32,
    sweep: np.uint32,
    document: np.uint32,
    first_block: Int,
    places: UInt32Array,
    places_start: Int,
    out: UInt32Array,
    start: Int,
    stop: Int,
) -> None:
    """Fill ``out[start:stop]``, a multiple of 256 long, with the draws of one document from ``first_block`` on.

    ``places`` is scratch space for 32 numbers, as in :func:`fill_group`.
    """
    for at in range(start, stop, GROUP):
        for lane in range(LANES):
            places[places_start + lane] = document
            places[places_start + LANES + lane] = np.uint32(first_block + (at - start) // BLOCK + lane)
        fill_group(key, purpose, sweep, places, places_start, out, at)
