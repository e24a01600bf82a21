"""The contributions of PrivateLDA's rounds: the formula, the clip in whole numbers, and what would break them."""

from __future__ import annotations

import inspect
import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet.kernels import residuals
from discreet.kernels.residuals import add_residuals, residual_scratch

K, WIDTH = 5, 16


class Given(NamedTuple):
    words: np.ndarray
    topics: np.ndarray
    offsets: np.ndarray
    first_document: np.ndarray
    table: np.ndarray
    alpha: np.ndarray
    weights: np.ndarray
    background: np.ndarray

    @property
    def n_units(self):
        return len(self.first_document) - 1


def padded(table):
    wide = np.zeros((len(table), WIDTH), np.float32)
    wide[:, :K] = table
    return wide.ravel()


def given(seed, n_units=7, n_words=12, users=True):
    """Random units of several documents (or of one), an empty document and a unit without a document among them."""
    rng = np.random.default_rng(seed)
    per_unit = rng.integers(1, 4, n_units) if users else np.ones(n_units, int)
    if users:
        per_unit[n_units // 2] = 0
    lengths = rng.poisson(9, per_unit.sum())
    lengths[0] = 0
    n = int(lengths.sum())
    alpha = np.zeros(WIDTH, np.float32)
    alpha[:K] = rng.uniform(0.05, 1, K)
    profile = rng.dirichlet(np.ones(K), n_words)
    return Given(
        rng.integers(0, n_words, n).astype(np.int32),
        rng.integers(0, K, n).astype(np.uint16),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([[0], np.cumsum(per_unit)]),
        padded(rng.dirichlet(np.ones(n_words), K).T),
        alpha,
        padded(rng.uniform(20, 90, (n_words, K))),
        padded(0.75 * profile),
    )


def run(kernel, g, clip, first=0, last=None, **changes):
    g = g._replace(**changes)
    n_words = len(g.table) // WIDTH
    scratch = residual_scratch(n_words, WIDTH, min(len(g.words), n_words))
    out = np.zeros(n_words * WIDTH, np.uint32)
    documents = (g.words, g.topics, g.offsets, g.first_document)
    last = g.n_units if last is None else last
    with np.errstate(all="ignore"):
        kernel(*documents, first, last, g.table, g.alpha, g.weights, g.background, clip, *scratch, out)
    assert not scratch[1][:n_words].any()  # every word has lost its place again
    return out.view(np.int32).astype(np.int64)


def one_by_one(kernel, g, clip, **changes):
    return [run(kernel, g, clip, m, m + 1, **changes) for m in range(g.n_units)]


def formula(g, unit):
    """c[w, k] of the docstring in float64, token by token, before it is clipped."""
    table, weights, background = (x.reshape(-1, WIDTH)[:, :K].astype(float) for x in (g.table, g.weights, g.background))
    c = np.zeros_like(table)
    for d in range(g.first_document[unit], g.first_document[unit + 1]):
        mine = slice(g.offsets[d], g.offsets[d + 1])
        counts = np.bincount(g.topics[mine], minlength=K) + g.alpha[:K].astype(float)
        for word, topic in zip(g.words[mine], g.topics[mine], strict=True):
            p = table[word] * (counts - (np.arange(K) == topic))
            c[word] += p / p.sum() - background[word]
    return weights * c


@pytest.mark.parametrize("users", [True, False])
@pytest.mark.parametrize("clip", [40.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_is_the_formula_clipped_and_truncated(seed, clip, users):
    g = given(seed, users=users)
    for unit, found in enumerate(one_by_one(add_residuals, g, clip)):
        exact = formula(g, unit)
        norm = math.sqrt((exact**2).sum())
        wanted = exact * min(1.0, clip / norm) if norm else exact
        found = found.reshape(-1, WIDTH)
        assert not found[:, K:].any()
        assert (
            np.abs(found[:, :K] - np.trunc(wanted)).max(initial=0) <= 1
        )  # float32 may fall on the other side of a step
        assert np.abs(found[:, :K] - wanted).max(initial=0) < 1.01
        assert (np.sign(found[:, :K]) * np.sign(wanted) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_compiled_is_the_python_body_and_units_add_up(seed):
    g = given(seed)
    for clip in (30.0, 1e5):
        found = run(add_residuals, g, clip)
        assert_array_equal(found, run(add_residuals.py_func, g, clip))
        assert_array_equal(found, sum(one_by_one(add_residuals, g, clip)))


def exceeds(kernel, g, clip, **changes):
    limit = math.floor(clip * clip)
    return [m for m, out in enumerate(one_by_one(kernel, g, clip, **changes)) if sum(int(x) ** 2 for x in out) > limit]


BAD = [math.nan, math.inf, -math.inf, -3.0, 0.0, 1e-38, 1e10, 1e30, 3e38]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("field", ["weights", "background", "table", "alpha"])
def test_no_input_makes_a_contribution_longer_than_the_clip(field, bad):
    g = given(5)
    for where in (slice(None), slice(0, None, 7), slice(0, 1)):
        changed = getattr(g, field).copy()
        changed[where] = bad
        for clip in (17.3, 2000.0):
            assert exceeds(add_residuals, g, clip, **{field: changed}) == []


@pytest.mark.parametrize("clip", [math.nan, math.inf, -1.0, 2.0**27])
def test_an_unusable_clip_lets_nothing_through(clip):
    assert not run(add_residuals, given(6), clip).any()


def test_the_largest_clip_is_kept_in_whole_numbers():
    g = given(7)
    assert exceeds(add_residuals, g, 2.0**26, weights=g.weights * np.float32(1e8)) == []


def broken(*changes):
    source = inspect.getsource(residuals.add_clipped) + inspect.getsource(add_residuals.py_func)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names = dict(vars(residuals), bare_kernel=lambda function: function)
    exec(compile(source, "broken", "exec"), names)
    return names["add_residuals"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("norm > clip else 1.0", "norm > math.inf else 1.0"), id="never shrunk"),
        pytest.param(("clip / norm if", "1.05 * clip / norm if"), id="shrunk too little"),
    ],
)
def test_the_integer_check_is_what_keeps_the_clip(change):
    """A wrong norm alone does no harm; without the check it does, and this test sees it."""
    g = given(8)
    assert exceeds(broken(change), g, 60.0) == []
    assert exceeds(broken(change, ("if add_up(whole) <= limit:", "if True:")), g, 60.0) != []


def test_clipping_documents_apart_is_caught():
    g = given(9)
    apart = broken(
        ("for unit in range(first, last):", "for unit in range(first_document[first], first_document[last]):"),
        ("for d in range(first_document[unit], first_document[unit + 1]):", "for d in (unit,):"),
        ("if d + 1 < first_document[unit + 1]:", "if False:"),
    )
    assert exceeds(apart, g, 25.0) != []
