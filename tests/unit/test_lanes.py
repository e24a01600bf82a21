"""Sixteen lanes: every operation compiled against its Python body, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit
from numba.core.errors import TypingError
from numpy.testing import assert_array_equal

from discreet.kernels.lanes import (
    LANES,
    add_up,
    add_up_rows,
    as_float,
    at_least,
    fused,
    gather,
    load,
    low_bits,
    passed,
    rotate_left,
    splat,
    square_root,
    store,
    transpose,
    truncate,
    unit_interval,
    where,
    whole_32,
    whole_53,
    widen,
)

# Not cached: numba's cache would not notice a change of lanes.py.


@njit
def float_operations(f, u, start, out):
    """Everything whose result is a float; result ``i`` lands in ``out[start + 16 * i:]``."""
    a, b = load(f, start), load(f, start + LANES)
    store(out, start, a)
    store(out, start + 16, a + b)
    store(out, start + 32, a - b)
    store(out, start + 48, a * b)
    store(out, start + 64, gather(f, start, load(u, start)))
    store(out, start + 80, splat(f[start]))
    store(out, start + 96, as_float(load(u, start + LANES)))
    store(out, start + 112, unit_interval(load(u, start + LANES)))
    store(out, start + 128, where(load(u, start + 2 * LANES), a, b))
    store(out, start + 144, truncate(a))
    store(out, start + 160, splat(add_up(b)))
    store(out, start + 176, a / b)
    store(out, start + 192, at_least(a, b))
    store(out, start + 208, fused(a, b, load(f, start + 2 * LANES)))
    store(out, start + 224, square_root(a * a))


@njit
def whole_operations(f, u, start, out):
    """Everything whose result is a whole number."""
    a, b = load(u, start), load(u, start + LANES)
    store(out, start, a)
    store(out, start + 16, a + b)
    store(out, start + 32, a * b)
    store(out, start + 48, a ^ b)
    store(out, start + 64, gather(u, start, load(u, start + 2 * LANES)))
    store(out, start + 80, splat(u[start]))
    store(out, start + 96, rotate_left(a, 1))
    store(out, start + 112, rotate_left(a, 7))
    store(out, start + 128, rotate_left(a, 16))
    store(out, start + 144, rotate_left(a, 31))
    store(out, start + 160, passed(load(f, start), load(f, start + LANES), load(f, start + 2 * LANES)))
    store(out, start + 176, low_bits(a))


@njit
def double_operations(f, u, start, out):
    """Everything that works on float64; what is loaded from ``out`` was stored there before."""
    a, b = widen(load(f, start)), widen(load(f, start + LANES))
    store(out, start, a)
    store(out, start + 16, a + b)
    store(out, start + 32, a - b)
    store(out, start + 48, a * b)
    store(out, start + 64, whole_53(load(u, start), load(u, start + LANES)))
    store(out, start + 80, splat(out[start + 16]))
    store(out, start + 96, where(load(u, start + 2 * LANES), a, load(out, start + 16)))
    store(out, start + 112, gather(out, start, load(u, start + 2 * LANES)))
    store(out, start + 128, where(passed(a, b, splat(out[start + 16])), a, b))
    store(out, start + 144, splat(add_up(b)))
    store(out, start + 160, a / b)
    store(out, start + 176, at_least(a, b))


@njit
def sums_of_rows(f, doubles, start, out, doubles_out):
    store(out, start, add_up_rows(f, start))
    store(doubles_out, start, add_up_rows(doubles, start))


@njit
def in_32_bits(f, out):
    store(out, 0, whole_32(load(f, 0)))


@njit
def transpositions(f, u, doubles, start):
    transpose(f, start)
    transpose(u, start)
    transpose(doubles, start)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, 3e38, 2.0**24, 2.0**24 + 2, 1 / 3, np.inf, -np.inf], np.float32)
WHOLE = np.array([0, 1, 2, 255, 2**24 - 1, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 128, 2**32 - 1], np.uint32)

floats = st.one_of(st.floats(width=32, allow_nan=False), st.sampled_from(SPECIAL.tolist()))
wholes = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(WHOLE.tolist()))
places = st.integers(0, 3 * LANES - 1)
starts = st.integers(0, 5)
checked = settings(max_examples=100, deadline=None)


def both(function, f, u, start, dtype):
    """The results of the compiled function and of its Python body, with untouched cells around."""
    compiled, python = (np.full(start + 16 * LANES, 7, dtype) for _ in range(2))
    f, u = (np.concatenate([np.zeros(start, part.dtype), part]) for part in (f, u))
    function(f, u, start, compiled)
    with np.errstate(all="ignore"):
        function.py_func(f, u, start, python)
    return compiled, python


def same_bits(a, b):
    """Equal bit for bit; a NaN (here from ∞ − ∞ or 0 · ∞) is equal to any other NaN."""
    if a.dtype.kind == "f":
        assert_array_equal(np.isnan(a), np.isnan(b))
        a, b = (np.where(np.isnan(x), a.dtype.type(0), x) for x in (a, b))
    assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@given(
    arrays(np.float32, 3 * LANES, elements=floats),
    arrays(np.uint32, LANES, elements=places),
    arrays(np.uint32, LANES, elements=wholes),
    arrays(np.uint32, LANES, elements=st.sampled_from([0, 1, 2**31, 2**32 - 1])),
    starts,
)
@checked
def test_float_operations(f, at, u, flags, start):
    same_bits(*both(float_operations, f, np.concatenate([at, u, flags]), start, np.float32))


@given(
    arrays(np.float32, 2 * LANES, elements=floats),
    arrays(np.uint32, 2 * LANES, elements=wholes),
    arrays(np.uint32, LANES, elements=places),
    starts,
)
@checked
def test_double_operations(f, u, at, start):
    same_bits(*both(double_operations, f, np.concatenate([u, at]), start, np.float64))


@given(
    arrays(np.float32, 3 * LANES, elements=floats),
    arrays(np.uint32, 2 * LANES, elements=wholes),
    arrays(np.uint32, LANES, elements=places),
    starts,
)
@checked
def test_whole_number_operations(f, u, at, start):
    same_bits(*both(whole_operations, f, np.concatenate([u, at]), start, np.uint32))


def test_every_pair_of_special_values():
    """Hypothesis may miss a pair; here are all of them."""
    rng = np.random.default_rng(1)
    at = rng.integers(0, 3 * LANES, LANES).astype(np.uint32)
    for shift in range(len(SPECIAL)):
        f = np.concatenate([np.resize(SPECIAL, LANES), np.resize(np.roll(SPECIAL, shift), LANES), np.ones(LANES, "f4")])
        flags = rng.integers(0, 2, LANES).astype(np.uint32)
        same_bits(*both(float_operations, f, np.concatenate([at, np.resize(WHOLE, LANES), flags]), 0, np.float32))
        u = np.concatenate([np.resize(WHOLE, LANES), np.resize(np.roll(WHOLE, shift), LANES), at])
        same_bits(*both(whole_operations, f, u, 0, np.uint32))


@pytest.mark.parametrize("start", [0, 3])
def test_add_up_rows(start):
    """Lane i is what :func:`add_up` makes of row i."""
    doubles = np.random.default_rng(start).standard_normal(LANES * LANES + 8)
    f = doubles.astype(np.float32)
    compiled, python = ((np.zeros(32, np.float32), np.zeros(32)) for _ in range(2))
    sums_of_rows(f, doubles, start, *compiled)
    sums_of_rows.py_func(f, doubles, start, *python)
    for rows, one, other in zip((f, doubles), compiled, python, strict=True):
        same_bits(one, other)
        wanted = [add_up(rows[start + LANES * i : start + LANES * (i + 1)]) for i in range(LANES)]
        assert_array_equal(one[start : start + LANES], wanted)


def test_fused_rounds_once():
    """In 10,000 random triples and some chosen ones, against whole numbers of any size; rounding twice is caught."""
    rng = np.random.default_rng(3)
    a, b, c = (np.ldexp(rng.standard_normal(10_000), rng.integers(-20, 20, 10_000)).astype(np.float32) for _ in "abc")
    a[0], b[0], c[0] = 1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60  # a tie of the product, which the summand breaks
    a[1], b[1], c[1] = 1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-60)

    def exact(x: float, y: float, z: float) -> np.float32:
        from fractions import Fraction

        true = Fraction(x) * Fraction(y) + Fraction(z)
        near = np.float32(float(true))
        candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
        return min(candidates, key=lambda one: (abs(Fraction(float(one)) - true), one.view(np.uint32) & 1))

    wanted = np.array([exact(*map(float, triple)) for triple in zip(a, b, c, strict=True)], np.float32)
    assert_array_equal(fused(a, b, c), wanted)
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert (twice != wanted).any()


@pytest.mark.parametrize("start", [0, 3])
def test_transpose(start):
    rng = np.random.default_rng(start)
    f = rng.standard_normal(LANES * LANES + 8).astype(np.float32)
    u = rng.integers(0, 2**32, LANES * LANES + 8, dtype=np.uint32)
    given = (f, u, rng.standard_normal(LANES * LANES + 8))
    compiled, python = (tuple(part.copy() for part in given) for _ in range(2))
    transpositions(*compiled, start)
    transpositions.py_func(*python, start)
    for before, one, other in zip(given, compiled, python, strict=True):
        same_bits(one, other)
        stop = start + LANES * LANES
        assert_array_equal(one[start:stop].reshape(LANES, LANES), before[start:stop].reshape(LANES, LANES).T)
        assert_array_equal(np.delete(one, np.s_[start:stop]), np.delete(before, np.s_[start:stop]))


def test_unit_interval_reaches_both_ends_and_no_further():
    ends = np.zeros(LANES, np.uint32)
    ends[1:] = 2**32 - 1
    u = unit_interval(ends)
    assert (u[0], u[1]) == (0.0, 1 - 2**-24)


def test_a_mark_at_the_total_stays_in_the_last_place_with_weight():
    """Running sums 1, 3, 3, 3 and a mark of 3: the second place is the last that has weight, so one sum is passed."""
    total = np.full(LANES, 3, np.float32)
    flags = [passed(np.full(LANES, s, np.float32), total, total)[0] for s in (1, 3, 3, 3)]
    assert flags == [1, 0, 0, 0]


def test_wrong_types_do_not_compile():
    @njit
    def by_a_variable(u, n, out):
        store(out, 0, rotate_left(load(u, 0), n))

    @njit
    def long_whole_numbers(x, out):
        store(out, 0, load(x, 0))

    u = np.zeros(LANES, np.uint32)
    with pytest.raises(TypingError):
        by_a_variable(u, 3, u)
    with pytest.raises((TypingError, KeyError)):
        long_whole_numbers(np.zeros(LANES, np.int64), np.zeros(LANES, np.int64))


def test_whole_numbers_with_a_sign_fit_32_bits():
    whole = np.float32([0, -0.0, 1, -1, 7, -7, 2**24 + 2, -(2**24) - 2, 2**26, -(2**26), 2**30, -(2**30), 3, -3, 5, -5])
    compiled, python = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
    in_32_bits(whole, compiled)
    in_32_bits.py_func(whole, python)
    assert_array_equal(compiled.view(np.int32), whole.astype(np.int64))
    assert_array_equal(python, compiled)
