"""Tables from which integer noise is drawn: cumulative probabilities of the magnitude, correct to 191 binary places.

A draw is an inversion: let U be uniform on [0, 1) and B_j = P(|x| ≤ j); the magnitude is the number of j with B_j ≤ U.
Only B_j is stored, cut (never rounded) after 191 places: 63 of them in ``boundaries``, 128 more in ``finer``. The first
63 places of U decide unless they equal those of a boundary; then the next 128 do (``kernels/noise/draws.py``). All 191
agree with probability 2^-191 for each boundary; only then can a draw differ from exact inversion.

- **Discrete Laplace**, p(x) ∝ q^|x| with q = e^(-1/scale): P(|x| ≤ j) = 1 - 2 q^(j+1) / (1 + q). The table ends where
  about 2^-12 of the mass remains. Given |x| ≥ n, the excess |x| - n is geometric, P(≤ j) = 1 - q^(j+1), and a geometric
  number that is at least n is n plus another such number: the second table is used repeatedly, and nothing is cut off.
- **Discrete Gaussian**, p(x) ∝ e^(-x²/(2 scale²)): one table, to the first magnitude that leaves less than 2^-160 of
  the mass (14.9 scales, or a little more); that mass, ``tail_mass``, is cut off and the rest normalised.

So the law of a drawn value is within total-variation distance ``n · 2^-191 + tail_mass`` of the named one, where n <
2^21 is the number of boundaries: less than :data:`DISTANCE` for every scale.

**Why every stored place is correct.** Numbers are Python integers in units of u = 2^-P, products are cut to a multiple
of u, and |ab - a'b'| ≤ |a - a'| + |b - b'| in [0, 1]. ``decimal`` gives q, or the factors of the Gaussian's recurrence
w_(m+1) = w_m r_m, r_(m+1) = r_m c, to within u. By induction r_m is within (2m + 1) u, 2 w_m within (2m² + m) u, their
sum to L within (L + 1)³ u, and its quotient by the total, which is at least 1, within 8 (L + 2)³ u; the Laplace
products are within (2j + 3) u. P puts 64 places between these bounds and the places that are kept. Unless those 64 are
all zeros or all ones, the error cannot reach the kept ones; if they ever are, P grows and the table is made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet._types import UInt32Array, UInt64Array

DISTANCE = 2.0**-159
"""An upper bound on the total-variation distance of one drawn value from its law; for n values, n times this.

For (ε, δ): add ``(1 + e^ε) · n · DISTANCE`` to δ."""

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-6, 2.0**16
"""Below this range, noise is nearly always zero; above it, tables are larger than any cache (24 bytes × 15 scales)."""

FIRST = 63
"""Places of a boundary in its first word; the 64th bit of a draw is the sign."""

HEAD = 32
"""Places of a boundary that a draw is compared with first."""

PLACES = FIRST + 128
"""Places of a boundary that are kept."""

_SPARE = 64
_LAPLACE_TAIL = 12 * math.log(2)
_GAUSSIAN_TAIL = 2.0**-160


@dataclass(frozen=True)
class NoiseTable:
    """What a draw looks up; shared by all threads and never written.

    ``boundaries`` ends with a number above every draw. ``guide[i]`` is the first boundary that is not below the
    draws whose leading bits are i, ``shift`` the number of bits to drop from a draw to get them. ``heads`` are the
    first 32 places of the boundaries: half the memory, and enough for all but a few draws. After the last of them come
    two zeros, which decide nothing.
    """

    boundaries: UInt64Array
    heads: UInt32Array
    finer: UInt64Array
    guide: UInt32Array
    shift: np.uint64
    tail_boundaries: UInt64Array
    tail_finer: UInt64Array
    tail_mass: float


@lru_cache(maxsize=16)
def laplace_table(scale: float) -> NoiseTable:
    """The table of p(x) ∝ exp(-|x| / scale), where ``scale`` is the exact rational value of the float."""
    n = math.ceil(scale * _LAPLACE_TAIL)
    main = _cut(lambda spare: _laplace_boundaries(scale, n, spare, two_sided=True))
    tail = _cut(lambda spare: _laplace_boundaries(scale, n, spare, two_sided=False))
    return _table(main, tail, scale, tail_mass=0.0)


@lru_cache(maxsize=16)
def gaussian_table(scale: float) -> NoiseTable:
    """The table of p(x) ∝ exp(-x² / (2 scale²)), where ``scale`` is the exact rational value of the float."""
    last = _last_magnitude(scale)
    words = _cut(lambda spare: _gaussian_boundaries(scale, last, spare))
    one = np.array([[1 << FIRST, 0, 0]], np.uint64)
    return _table(np.concatenate([words, one]), one[:0], scale, tail_mass=gaussian_tail(scale, last))


def gaussian_tail(scale: float, last: int) -> float:
    """An upper bound of P(|x| > last): the ratio of neighbouring terms falls, so a geometric series bounds them.

    The sum of all terms is at least 1. The last factor covers the rounding; a result too small for a float becomes the
    smallest float.
    """
    first = math.exp(-((last + 1) ** 2) / (2 * scale**2))
    return max(2 * first / -math.expm1(-(2 * last + 3) / (2 * scale**2)) * (1 + 1e-9), 5e-324)


def _last_magnitude(scale: float) -> int:
    """The smallest magnitude beyond which less than 2^-160 of the mass lies."""
    last = int(scale * math.sqrt(-2 * math.log(_GAUSSIAN_TAIL)))
    while gaussian_tail(scale, last) > _GAUSSIAN_TAIL:
        last += 1
    while last > 0 and gaussian_tail(scale, last - 1) <= _GAUSSIAN_TAIL:
        last -= 1
    return last


# --- exact arithmetic -----------------------------------------------------------------------------------------------


def exp_minus(x: Fraction, bits: int) -> int:
    """exp(-x) for x > 0 in units of 2^-bits, to within one unit.

    ``decimal`` rounds its quotient and its exp correctly: with ten digits to spare the error before the last cut is
    below 10^-9 units (which the bounds above leave room for).
    """
    context = Context(prec=int(bits * 0.30103) + 12)
    minus_x = context.divide(Decimal(-x.numerator), Decimal(x.denominator))  # the operator / would keep 28 digits
    return int(context.multiply(context.exp(minus_x), Decimal(1 << bits)))


def _laplace_boundaries(scale: float, n: int, spare: int, *, two_sided: bool) -> list[int]:
    """1 - a q^(j+1) for j < n, a = 2/(1+q) for the magnitude, 1 for a geometric number: PLACES + ``spare`` places."""
    below = (8 * (n + 1)).bit_length()
    bits = PLACES + spare + below
    one = 1 << bits
    q = exp_minus(1 / Fraction(scale), bits)
    rest = 2 * q * one // (one + q) if two_sided else q
    boundaries = []
    for _ in range(n):
        boundaries.append(one - rest >> below)
        rest = rest * q >> bits
    return boundaries


def _gaussian_boundaries(scale: float, last: int, spare: int) -> list[int]:
    """P(|x| ≤ j given |x| ≤ last) for j < last, PLACES + ``spare`` places. (For j = last it is one.)"""
    below = (8 * (last + 2) ** 3).bit_length()
    bits = PLACES + spare + below
    exponent = 1 / (2 * Fraction(scale) ** 2)
    ratio, change = exp_minus(exponent, bits), exp_minus(2 * exponent, bits)
    weight = total = 1 << bits
    sums = []
    weight *= 2  # both signs
    for _ in range(last):
        sums.append(total)
        weight = weight * ratio >> bits
        ratio = ratio * change >> bits
        total += weight
    inverse = (1 << 2 * bits) // total
    drop = bits + below
    return [partial * inverse >> drop for partial in sums]


def _cut(boundaries: Callable[[int], list[int]]) -> UInt64Array:
    """Rows of three words, the first of 63 bits: the boundaries cut after PLACES places, each of them certainly
    correct."""
    spare = _SPARE
    while (words := certain_words(boundaries(spare), spare)) is None:
        spare += 64
    return words


def certain_words(boundaries: list[int], spare: int) -> UInt64Array | None:
    """Numbers below one in units of 2^-(PLACES + spare), ``spare`` a multiple of 64, cut; None if a place is uncertain.

    The numbers may be off by one unit: this affects the kept places only if all spare bits are equal.
    """
    size = (1 + PLACES + spare) // 8
    packed = b"".join([number.to_bytes(size, "big") for number in boundaries])
    words = np.frombuffer(packed, ">u8").reshape(len(boundaries), size // 8).astype(np.uint64)
    rest = words[:, 3:]
    if (rest == 0).all(axis=1).any() or (rest == np.uint64(2**64 - 1)).all(axis=1).any():
        return None
    return words[:, :3]


# --- layout ---------------------------------------------------------------------------------------------------------


def _table(main: UInt64Array, tail: UInt64Array, scale: float, tail_mass: float) -> NoiseTable:
    boundaries, finer = _columns(main)
    tail_boundaries, tail_finer = _columns(tail)
    bits = min(max(math.ceil(math.log2(8 * scale)), 10), 17)  # at the centre most cells have no boundary
    shift = FIRST - bits
    cells = np.arange(1 << bits, dtype=np.uint64) << np.uint64(shift)
    guide = np.searchsorted(boundaries, cells).astype(np.uint32)
    heads = np.zeros(boundaries.size + 1, np.uint32)
    heads[:-2] = np.minimum(boundaries[:-1] >> np.uint64(FIRST - HEAD), 2**HEAD - 1)
    guide.flags.writeable = heads.flags.writeable = False
    return NoiseTable(boundaries, heads, finer, guide, np.uint64(shift), tail_boundaries, tail_finer, tail_mass)


def _columns(words: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
    boundaries = np.append(words[:, 0], np.uint64(2**64 - 1))
    finer = words[:, 1:].ravel()
    boundaries.flags.writeable = finer.flags.writeable = False
    return boundaries, finer
