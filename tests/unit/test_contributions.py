"""What a unit contributes: against its Python body, a slow oracle, and the one bound that the guarantee rests on."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from discreet.kernels.sums import contributions
from discreet.kernels.sums.contributions import (
    LARGEST_CLIP,
    TRIES,
    add_contributions,
    contribution_scratch,
    squared_norms,
)

WIDTH = 16


class Units(NamedTuple):
    words: np.ndarray
    topics: np.ndarray
    ends: np.ndarray
    n_words: int


def units(seed, n_units=9, n_words=12, mean=20):
    """Random units, one of them empty."""
    rng = np.random.default_rng(seed)
    lengths = rng.poisson(mean, n_units)
    lengths[n_units // 2] = 0
    n_tokens = int(lengths.sum())
    words = rng.integers(0, n_words, n_tokens).astype(np.int32)
    topics = rng.integers(0, rng.integers(1, WIDTH + 1), n_tokens).astype(np.uint16)
    return Units(words, topics, np.cumsum(lengths), n_words)


def run(kernel, given, weights, clip, first=0, last=None):
    """What ``kernel`` adds to a table of zeros; it must leave its tally as it found it."""
    size = given.n_words * WIDTH
    tally, out = contribution_scratch(given.n_words, WIDTH, given.topics.size), np.zeros(size, np.int64)
    last = len(given.ends) if last is None else last
    kernel(given.words, given.topics, given.ends, first, last, WIDTH, weights, clip, tally, out)
    assert not tally[:size].any()
    return out


def one_by_one(kernel, given, weights, clip):
    return [run(kernel, given, weights, clip, m, m + 1) for m in range(len(given.ends))]


def oracle(given, weights, clip):
    """The formula of the docstring, unit by unit, with exact whole numbers."""
    out = np.zeros(given.n_words * WIDTH, np.int64)
    for m, end in enumerate(given.ends):
        mine = slice(given.ends[m - 1] if m else 0, end)
        table = np.zeros((given.n_words, WIDTH))
        np.add.at(table, (given.words[mine], given.topics[mine]), 1)
        table = weights.astype(float)[:, None] * table
        norm = math.sqrt((table**2).sum())
        shrink = clip / norm if norm > clip else 1.0
        for _ in range(TRIES):
            cells = [int(shrink * value) for value in table.ravel()]
            if sum(cell**2 for cell in cells) <= math.floor(clip * clip):
                out += cells
                break
            shrink *= 1 - 1e-6
    return out


def exceeds(kernel, given, weights, clip):
    """Units whose contribution is longer than the clip, in whole numbers of any size. What the guarantee forbids."""
    limit = math.floor(clip * clip)
    return [
        m for m, out in enumerate(one_by_one(kernel, given, weights, clip)) if sum(int(x) ** 2 for x in out) > limit
    ]


def broken(*changes):
    """The kernel's Python body with some of its text changed."""
    source = inspect.getsource(add_contributions.py_func)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names = dict(vars(contributions), bare_kernel=lambda function: function)
    exec(compile(source, "broken", "exec"), names)
    return names["add_contributions"]


@pytest.mark.parametrize("clip", [0.0, 0.9, 5.0, 57.3, 400.0, 1e6])
def test_kernel_python_body_and_oracle_agree(clip):
    given = units(1)
    weights = np.random.default_rng(2).gamma(2.0, 20.0, given.n_words).astype(np.float32)
    found = run(add_contributions, given, weights, clip)
    assert_array_equal(found, run(add_contributions.py_func, given, weights, clip))
    off = np.abs(found - oracle(given, weights, clip))  # the norm is added up in another order:
    assert off.max(initial=0) <= 1  # a cell on the edge may fall to either side
    assert (off > 0).mean() < 0.01


def test_units_add_up_and_none_is_missing():
    given = units(3)
    weights = np.full(given.n_words, 7, np.float32)
    assert_array_equal(
        run(add_contributions, given, weights, 30.0), sum(one_by_one(add_contributions, given, weights, 30.0))
    )
    assert_array_equal(run(add_contributions, given, weights, 1e5), oracle(given, weights, 1e5))
    assert run(add_contributions, given, weights, 1e5).sum() > 0


def test_a_long_unit_is_shrunk_to_just_below_the_clip():
    given = units(4, mean=200)
    weights = np.full(given.n_words, 100, np.float32)
    norms = [math.sqrt((out**2).sum()) for out in one_by_one(add_contributions, given, weights, 500.0)]
    lengths = np.diff(given.ends, prepend=0)
    assert all(460 < norm <= 500 for norm, n in zip(norms, lengths, strict=True) if n)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    clip=st.floats(0, 1e6) | st.sampled_from([1.0, math.sqrt(2), 3.0, 1e9, LARGEST_CLIP]),
    scale=st.floats(1e-3, 1e30),
    spread=st.floats(0, 20),
)
def test_no_unit_exceeds_the_clip(seed, clip, scale, spread):
    given = units(seed)
    with np.errstate(over="ignore"):
        weights = (scale * np.exp(spread * np.random.default_rng(seed).normal(size=given.n_words))).astype(np.float32)
    assert exceeds(add_contributions, given, weights, clip) == []


@pytest.mark.parametrize("hostile", [math.inf, -math.inf, math.nan, -1.0, -3e38])
@pytest.mark.parametrize("kernel", [add_contributions, add_contributions.py_func], ids=["compiled", "python"])
@pytest.mark.parametrize("clip", [0.5, 1000.0, LARGEST_CLIP])
def test_hostile_weights_contribute_nothing(kernel, hostile, clip):
    given = units(5)
    weights = np.full(given.n_words, 2, np.float32)
    weights[3] = hostile
    ends = np.concatenate([[0], given.ends])
    with np.errstate(all="ignore"):
        for m, out in enumerate(one_by_one(kernel, given, weights, clip)):
            if 3 in given.words[ends[m] : ends[m + 1]]:
                assert not out.any()
            assert sum(int(x) ** 2 for x in out) <= math.floor(clip * clip)


@pytest.mark.parametrize("weight", [3e38, 1e30, 1e19])
def test_huge_finite_weights_stay_within_the_clip(weight):
    given = units(6)
    weights = np.full(given.n_words, weight, np.float32)
    for clip in (1.0, 777.7, LARGEST_CLIP):
        assert exceeds(add_contributions, given, weights, clip) == []


@pytest.mark.parametrize("clip", [math.nan, math.inf, -1.0, 2 * LARGEST_CLIP, 1e19, 1e300])
def test_a_clip_that_cannot_be_checked_lets_nothing_through(clip):
    given = units(7)
    assert not run(add_contributions, given, np.ones(given.n_words, np.float32), clip).any()


ANYTHING_FITS = ("if whole <= limit:\n                fits", "if True:\n                fits")
BROKEN = {
    "no clip": [("shrink = clip / norm if finite and norm > clip else 1.0", "shrink = 1.0"), ANYTHING_FITS],
    "a rounded clip, not checked": [("clip / norm if", "(1 + 1e-4) * clip / norm if"), ANYTHING_FITS],
    "infinity let through": [("norm < math.inf", "True"), ("real <= clip + 1.0", "True"), ("real >= 0.0 and", "")],
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_copies_are_caught(name):
    """The check above is worth something: it finds each of these."""
    kernel, given, caught = broken(*BROKEN[name]), units(8, n_units=30, mean=40), []
    for weight in (10.0, 1e7, math.inf):
        for clip in (5.0, 50.0, 1e6):
            with np.errstate(all="ignore"):
                caught += exceeds(kernel, given, np.full(given.n_words, weight, np.float32), clip)
    assert caught


@pytest.mark.parametrize("kernel", [squared_norms, squared_norms.py_func], ids=["compiled", "python"])
def test_squared_norms(kernel):
    given = units(5)
    bounds, tally = np.concatenate([[0], given.ends]), np.zeros(given.n_words, np.int32)
    out = np.empty(len(given.ends), np.int64)
    kernel(given.words, bounds, tally, out)
    counts = [np.bincount(given.words[a:b], minlength=given.n_words) for a, b in itertools.pairwise(bounds)]
    assert_array_equal(out, [(c**2).sum() for c in counts])
    assert not tally.any()
