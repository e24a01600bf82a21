"""Word moments of documents: singles, pairs and whitened triples, from sparse counts and never from a dense tensor.

A document of length ℓ ≥ 3 with word counts c has the unbiased moments (of its first, second and third token, x₁ x₂ x₃)

    M₁ = c / ℓ
    M₂ = (c⊗c − diag c) / ℓ(ℓ−1)
    M₃ = (c⊗c⊗c − Σᵤ cᵤ [eᵤ⊗eᵤ⊗c + eᵤ⊗c⊗eᵤ + c⊗eᵤ⊗eᵤ] + 2 Σᵤ cᵤ eᵤ⊗eᵤ⊗eᵤ) / ℓ(ℓ−1)(ℓ−2):

the share of each word, and of each ordered pair and triple of *different* tokens. Projected by y, a short vector for
each word, with a = Σᵤ cᵤ yᵤ and Q = Σᵤ cᵤ yᵤyᵤᵀ, the third becomes

    M₃(y, y, y) = (a⊗a⊗a − [Q⊗a in its three orders] + 2 Σᵤ cᵤ yᵤ⊗yᵤ⊗yᵤ) / ℓ(ℓ−1)(ℓ−2).

Both M₂ and M₃ are symmetric, so each entry is kept once: pairs u ≤ v at v(v+1)/2 + u, triples i ≤ j ≤ h in rising
order. Documents come in compressed rows, words rising, and those with fewer than three tokens must have been emptied. A
unit owns the documents from ``units[m]`` to ``units[m + 1] - 1``, and its moments are the sums over them.
"""

from __future__ import annotations

import math

import numpy as np

from discreet._types import AnyArray, FloatArray, Int, Int32Array, IntArray
from discreet.kernels.compile import bare_kernel, part
from discreet.kernels.sums.contributions import LARGEST_CLIP, TRIES

LARGEST_FACTOR = 1e100
"""Values whose squares are rounded to zero must remain small after multiplication."""


def n_triples(k: int) -> int:
    """Entries i ≤ j ≤ h of a k×k×k tensor."""
    return k * (k + 1) * (k + 2) // 6


# --- singles and pairs ------------------------------------------------------------------------------------------------


@part
def fill_pairs(
    first: Int,
    last: Int,
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    word_weights: FloatArray,
    places: Int32Array,
    distinct: Int32Array,
    singles: FloatArray,
    pairs: FloatArray,
) -> int:
    """M₁ and M₂, weighted by word, of the documents ``first`` to ``last - 1`` together. Returns how many words they
    have.

    The words are listed in ``distinct``, and entries are numbered by the place in that list. ``places`` is −1
    throughout, before and after.
    """
    m = 0
    for p in range(offsets[first], offsets[last]):
        if places[words[p]] < 0:
            places[words[p]] = m
            distinct[m] = words[p]
            singles[m] = 0.0
            m += 1
    for i in range(m * (m + 1) // 2):
        pairs[i] = 0.0
    for n in range(first, last):
        length = 0.0
        for p in range(offsets[n], offsets[n + 1]):
            length += counts[p]
        if length < 3.0:
            continue
        one, two = 1.0 / length, 1.0 / (length * (length - 1.0))
        for q in range(offsets[n], offsets[n + 1]):
            weight = word_weights[words[q]]
            value, b = counts[q] * weight, places[words[q]]
            singles[b] += one * value
            pairs[b * (b + 1) // 2 + b] += two * value * (counts[q] - 1.0) * weight
            for p in range(offsets[n], q):
                a = places[words[p]]
                cell = b * (b + 1) // 2 + a if a < b else a * (a + 1) // 2 + b
                pairs[cell] += two * value * (counts[p] * word_weights[words[p]])
    for i in range(m):
        places[distinct[i]] = -1
    return m


@part
def norm_of(values: FloatArray, size: Int) -> float:
    squares = 0.0
    for i in range(size):
        squares += values[i] * values[i]
    return math.sqrt(squares)


@part
def fits(values: AnyArray, size: Int, norm: float, factor: float, clip: float) -> bool:
    """Whether ``factor`` · values, truncated towards zero to whole numbers, has a norm of at most ``clip``.

    Their squares are added up as integers. No float is converted to a whole number before ``norm``, the norm of the
    values, shows that all of them are within clip + 1: then neither they nor the sum of their squares can wrap round to
    a small number.
    """
    if not (factor * norm <= clip + 1.0 and factor <= LARGEST_FACTOR):  # also refuses NaN
        return False
    total = np.int64(0)
    for i in range(size):
        whole = np.int64(factor * values[i])  # [toward-zero] signed: rounding down could lengthen it
        total += whole * whole
    return bool(total <= np.int64(math.floor(clip * clip)))


@bare_kernel
def add_directions(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    units: IntArray,
    first: Int,
    last: Int,
    clip: float,
    places: Int32Array,
    distinct: Int32Array,
    singles: FloatArray,
    out: IntArray,
) -> None:
    """Add M₁ of units ``first`` to ``last - 1``, each scaled to norm ``clip``, in whole steps of a grid."""
    for unit in range(first, last):
        m = 0
        for n in range(units[unit], units[unit + 1]):
            length = 0.0
            for p in range(offsets[n], offsets[n + 1]):
                length += counts[p]
            for p in range(offsets[n], offsets[n + 1]):
                if places[words[p]] < 0:
                    places[words[p]] = m
                    distinct[m] = words[p]
                    singles[m] = 0.0
                    m += 1
                singles[places[words[p]]] += counts[p] / length
        norm = norm_of(singles, m)
        good = clip >= 0.0 and clip <= LARGEST_CLIP and norm > 0.0 and norm < math.inf
        factor = clip / norm if good else 0.0
        if good and not fits(singles, m, norm, factor, clip):
            factor *= 1.0 - 1e-6
            good = fits(singles, m, norm, factor, clip)  # [check-directions]
        for i in range(m):
            if good:
                out[distinct[i]] += np.int64(factor * singles[i])
            places[distinct[i]] = -1


@bare_kernel
def moment_norms(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    units: IntArray,
    first: Int,
    last: Int,
    word_weights: FloatArray,
    places: Int32Array,
    distinct: Int32Array,
    singles: FloatArray,
    pairs: FloatArray,
    norms: FloatArray,
) -> None:
    """‖M₁‖ and ‖M₂‖ (each pair once) of units ``first`` to ``last - 1``, at 2m and 2m + 1 of ``norms``."""
    for unit in range(first, last):
        m = fill_pairs(
            units[unit], units[unit + 1], offsets, words, counts, word_weights, places, distinct, singles, pairs
        )
        norms[2 * unit] = norm_of(singles, m)
        norms[2 * unit + 1] = norm_of(pairs, m * (m + 1) // 2)


@bare_kernel
def add_moments(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    units: IntArray,
    first: Int,
    last: Int,
    word_weights: FloatArray,
    steps_one: float,
    clip_one: float,
    steps_two: float,
    clip_two: float,
    places: Int32Array,
    distinct: Int32Array,
    singles: FloatArray,
    pairs: FloatArray,
    unit_weights: FloatArray,
    out_one: IntArray,
    out_two: IntArray,
) -> None:
    """Add w·M₁ and w·M₂ of units ``first`` to ``last - 1`` in whole steps of two grids, and write each w.

    One w per unit serves both (and the third moment later): the largest up to 1 with ‖w·M₁‖ ≤ ``clip_one`` and ‖w·M₂‖ ≤
    ``clip_two``, both in steps; ``steps_one`` and ``steps_two`` are the numbers of steps that make 1. What is added is
    what was checked, as integers; a unit that fails the check a few times, or is not finite, adds nothing and has w =
    0.
    """
    usable = clip_one >= 0.0 and clip_one <= LARGEST_CLIP and clip_two >= 0.0 and clip_two <= LARGEST_CLIP
    for unit in range(first, last):
        m = fill_pairs(
            units[unit], units[unit + 1], offsets, words, counts, word_weights, places, distinct, singles, pairs
        )
        size = m * (m + 1) // 2
        one, two = norm_of(singles, m), norm_of(pairs, size)
        weight = 1.0
        if steps_one * one > clip_one:
            weight = clip_one / (steps_one * one)
        if steps_two * two * weight > clip_two:
            weight = clip_two / (steps_two * two)
        good = False
        for _ in range(TRIES if usable and one < math.inf and two < math.inf else 0):
            # [check-pairs] integers only: no rounding lets a unit exceed what was charged
            good = fits(singles, m, one, weight * steps_one, clip_one)
            good = good and fits(pairs, size, two, weight * steps_two, clip_two)
            if good:
                break
            weight *= 1.0 - 1e-6
        unit_weights[unit] = weight if good else 0.0
        if not good:
            continue
        for b in range(m):
            out_one[distinct[b]] += np.int64(weight * steps_one * singles[b])
            for a in range(b + 1):
                low, high = min(distinct[a], distinct[b]), max(distinct[a], distinct[b])
                cell = np.int64(high) * (np.int64(high) + 1) // 2 + low
                out_two[cell] += np.int64(weight * steps_two * pairs[b * (b + 1) // 2 + a])


# --- triples ----------------------------------------------------------------------------------------------------------


@part
def project(
    first: Int, last: Int, words: Int32Array, counts: FloatArray, table: FloatArray, k: Int, a: FloatArray
) -> float:
    """a = Σ c·y over the places ``first`` to ``last - 1``, and their length Σ c. ``table``: y, flat word × k."""
    length = 0.0
    for i in range(k):
        a[i] = 0.0
    for p in range(first, last):
        length += counts[p]
        row = words[p] * k
        for i in range(k):
            a[i] += counts[p] * table[row + i]
    return length


@bare_kernel
def triple_sizes(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    units: IntArray,
    first: Int,
    last: Int,
    table: FloatArray,
    k: Int,
    unit_weights: FloatArray,
    a: FloatArray,
    sizes: FloatArray,
) -> None:
    """About ‖w·M₃(y, y, y)‖ of each unit, each triple once: Σ ‖a/ℓ‖³/√6, which needs no tensor."""
    for unit in range(first, last):
        total = 0.0
        for n in range(units[unit], units[unit + 1]):
            length = project(offsets[n], offsets[n + 1], words, counts, table, k, a)
            if length >= 3.0:
                norm = norm_of(a, k) / length
                total += norm * norm * norm
        sizes[unit] = unit_weights[unit] * total / math.sqrt(6.0)


@bare_kernel
def add_cubes(
    offsets: IntArray,
    words: Int32Array,
    counts: FloatArray,
    first: Int,
    last: Int,
    table: FloatArray,
    k: Int,
    a: FloatArray,
    out: FloatArray,
    by_word: FloatArray,
    shares: FloatArray,
) -> None:
    """The cubes a⊗a⊗a of whole documents, exact sums; the terms of single words are collected word by word.

    With s = 1/ℓ(ℓ−1)(ℓ−2): ``by_word`` gets Σ s·cᵤ·a for each word (flat, word × k) and ``shares`` Σ s·cᵤ. From these
    `add_word_cubes` computes the other two terms, once per word instead of once per word and document.
    """
    for n in range(first, last):
        length = project(offsets[n], offsets[n + 1], words, counts, table, k, a)
        if length < 3.0:
            continue
        share = 1.0 / (length * (length - 1.0) * (length - 2.0))
        for p in range(offsets[n], offsets[n + 1]):
            factor, row = share * counts[p], words[p] * k
            shares[words[p]] += factor
            for i in range(k):
                by_word[row + i] += factor * a[i]
        place = 0
        for i in range(k):
            for j in range(i, k):
                factor = share * a[i] * a[j]
                for h in range(j, k):
                    out[place + h - j] += factor * a[h]
                place += k - j


@bare_kernel
def add_word_cubes(
    first: Int, last: Int, table: FloatArray, k: Int, by_word: FloatArray, shares: FloatArray, out: FloatArray
) -> None:
    """For words ``first`` to ``last - 1`` and their b of `add_cubes`: 2·Σ s·c·y⊗y⊗y − [y⊗y⊗b in its three orders]."""
    for word in range(first, last):
        row, place = word * k, 0
        for i in range(k):
            for j in range(i, k):
                yi, yj = table[row + i], table[row + j]
                both = 2.0 * shares[word] * yi * yj - yi * by_word[row + j] - yj * by_word[row + i]
                for h in range(j, k):
                    out[place + h - j] += both * table[row + h] - yi * yj * by_word[row + h]
                place += k - j
