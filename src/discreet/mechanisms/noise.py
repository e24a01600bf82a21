"""Discrete Laplace and discrete Gaussian noise for arrays of whole numbers.

>>> import numpy as np
>>> from discreet._random import Key
>>> counts = np.zeros(1000, np.int64)
>>> add_discrete_gaussian(counts, scale=2000.0, key=Key.fresh(), release=0)

**Exactness.** ``scale`` is read as the exact rational value of the float. Given uniform random bits, each value is
within total-variation distance :data:`DISTANCE` = 2^-159 of its law and independent of all others; the proof is in
``kernels/noise/tables.py``. A guarantee that counts n values adds (1 + e^ε) · n · DISTANCE to its δ. The bits come from
ChaCha20 under a secret key, so the guarantee is computational. The time that a draw takes depends on its value.

**Use each release number once.** A value is a function of (key, release, place of the cell): the same release number
used twice with one key adds the same noise twice, and the difference of the two results is the difference of the data.
Number releases consecutively, Laplace and Gaussian together.

**Scales.** From 1/64 to 65,536; 10³ to 10⁴ is best: the grid is fine enough to cost nothing, and the table fits a
cache. A table is made once per scale and kept (about 1 µs per entry, 15 or 17 entries per step of the scale). Rounds
that differ in noise should share a scale and choose the grid accordingly (grid = σC / scale): one table then serves
them all.

**Overflow.** Sums are modulo 2^64, as everywhere in numpy. Wrapping is the same function of the noisy value whatever
the data, so it costs accuracy, never privacy.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import IntArray
from discreet.kernels.noise.draws import CELLS, SCRATCH_SIZE, add_noise
from discreet.kernels.noise.tables import (
    DISTANCE,
    LARGEST_SCALE,
    SMALLEST_SCALE,
    NoiseTable,
    gaussian_table,
    laplace_table,
)
from discreet.kernels.sweeps.slots import aligned

__all__ = [
    "DISTANCE",
    "LARGEST_SCALE",
    "SMALLEST_SCALE",
    "add_discrete_gaussian",
    "add_discrete_laplace",
    "sample_discrete_gaussian",
    "sample_discrete_laplace",
]

_SMALL = 1 << 17
"""With fewer cells, a second thread costs more than it saves."""

_PIECES = 4
"""Pieces of work per thread: a core that other programs slow down takes fewer."""


def add_discrete_laplace(cells: IntArray, scale: float, key: Key, release: int, n_threads: int = 1) -> None:
    """Add to every cell, in place, its own x with p(x) ∝ exp(-|x| / scale)."""
    _check(cells, scale, release, n_threads)
    _add(cells, laplace_table(float(scale)), key, release, n_threads)


def add_discrete_gaussian(cells: IntArray, scale: float, key: Key, release: int, n_threads: int = 1) -> None:
    """Add to every cell, in place, its own x with p(x) ∝ exp(-x² / (2 scale²))."""
    _check(cells, scale, release, n_threads)
    _add(cells, gaussian_table(float(scale)), key, release, n_threads)


def sample_discrete_laplace(out: IntArray, scale: float, key: Key, release: int, n_threads: int = 1) -> None:
    """Fill ``out`` with the noise alone."""
    _check(out, scale, release, n_threads)
    out[...] = 0
    add_discrete_laplace(out, scale, key, release, n_threads)


def sample_discrete_gaussian(out: IntArray, scale: float, key: Key, release: int, n_threads: int = 1) -> None:
    """Fill ``out`` with the noise alone."""
    _check(out, scale, release, n_threads)
    out[...] = 0
    add_discrete_gaussian(out, scale, key, release, n_threads)


def _add(cells: IntArray, table: NoiseTable, key: Key, release: int, n_threads: int) -> None:
    flat = cells.reshape(-1)
    n_blocks = -(-flat.size // CELLS)

    main = (table.boundaries, table.heads, table.finer, table.guide, table.shift)
    laws = (*main, table.tail_boundaries, table.tail_finer)
    purpose, stream = np.uint32(Purpose.NOISE), np.uint32(release)

    def work(first: int, last: int) -> None:
        add_noise(flat, first, last, *laws, key.words, purpose, stream, aligned(SCRATCH_SIZE, np.uint32))

    if n_threads == 1 or flat.size < _SMALL:
        work(0, n_blocks)
        return
    n_pieces = _PIECES * n_threads
    cuts = [n_blocks * piece // n_pieces for piece in range(n_pieces + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))


def _check(cells: IntArray, scale: float, release: int, n_threads: int) -> None:
    """Refuse before anything is drawn or written."""
    if not isinstance(scale, Real) or not float(scale) > 0 or float(scale) == float("inf"):
        raise InputError(f"the noise's scale must be a positive finite number; found {scale!r}.")
    if float(scale) > LARGEST_SCALE:
        raise InputError(
            f"the noise's scale must be at most {LARGEST_SCALE:,.0f} grid steps; found {float(scale):,.6g}. "
            "Choose a coarser grid, so that the scale is 1,000 to 10,000 steps."
        )
    if float(scale) < SMALLEST_SCALE:
        raise InputError(
            f"the noise's scale must be at least {SMALLEST_SCALE:g} grid steps; found {float(scale):.6g}, "
            "whose noise is always zero. Choose a finer grid, so that the scale is 1,000 to 10,000 steps."
        )
    if not isinstance(cells, np.ndarray) or cells.dtype != np.int64:
        found = cells.dtype if isinstance(cells, np.ndarray) else type(cells).__name__
        raise InputError(f"noise is added to an int64 array; found {found}. Convert it with astype(np.int64).")
    if not cells.flags.c_contiguous or not cells.flags.writeable:
        raise InputError("noise is added in place, to a contiguous array that may be written. Pass a copy.")
    if not isinstance(release, Integral) or not 0 <= release < 2**32:
        raise InputError(f"release must be a whole number from 0 to 2^32 - 1; found {release!r}. Use each once.")
    if not isinstance(n_threads, Integral) or n_threads < 1:
        raise InputError(f"n_threads must be at least 1; found {n_threads!r}.")
