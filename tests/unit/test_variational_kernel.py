"""Variational steps inside a document, and contributions made of them: the formulas, the clip, what breaks them."""

from __future__ import annotations

import inspect
import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from discreet.kernels import residuals, variational
from discreet.kernels.variational import FINE, add_expected, add_variational, exp_digamma, variational_scratch

K, WIDTH, STEPS = 5, 16, 4


class Given(NamedTuple):
    words: np.ndarray
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
    alpha = np.zeros(WIDTH, np.float32)
    alpha[:K] = rng.uniform(0.05, 1, K)
    return Given(
        rng.integers(0, n_words, int(lengths.sum())).astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([[0], np.cumsum(per_unit)]),
        padded(rng.dirichlet(np.ones(n_words), K).T),
        alpha,
        padded(rng.uniform(20, 90, (n_words, K))),
        padded(0.75 * rng.dirichlet(np.ones(K), n_words)),
    )


def expected(g, d):
    """count(w) · φ_wk of document d after STEPS steps, in float64 and with scipy's digamma."""
    table, alpha = g.table.reshape(-1, WIDTH)[:, :K].astype(float), g.alpha[:K].astype(float)
    counts = np.bincount(g.words[g.offsets[d] : g.offsets[d + 1]], minlength=len(table))
    gamma = np.ones(K)
    for _ in range(STEPS):
        phi = table * np.exp(psi(gamma) - psi(gamma.sum()))
        gamma = alpha + (counts[:, None] * phi / phi.sum(axis=1, keepdims=True)).sum(axis=0)
    phi = table * np.exp(psi(gamma) - psi(gamma.sum()))
    return counts[:, None] * phi / phi.sum(axis=1, keepdims=True)


def run(kernel, g, clip, units=None, **changes):
    g = g._replace(**changes)
    n_words = len(g.table) // WIDTH
    scratch = variational_scratch(n_words, WIDTH, min(len(g.words), n_words), np.float32)
    out = np.zeros(n_words * WIDTH, np.uint32)
    units = np.arange(g.n_units) if units is None else np.array(units)
    documents = (g.words, g.offsets, g.first_document, units, 0, len(units))
    with np.errstate(all="ignore"):
        kernel(*documents, K, STEPS, g.table, g.alpha, g.weights, g.background, clip, *scratch, out)
    assert not scratch[1][:n_words].any()  # every word has lost its place again
    return out.view(np.int32).astype(np.int64)


def one_by_one(kernel, g, clip, **changes):
    return [run(kernel, g, clip, [m], **changes) for m in range(g.n_units)]


def test_digamma_is_scipys():
    points = np.geomspace(1e-2, 1e7, 4000)
    found = np.log([exp_digamma(x) for x in points])
    assert_allclose(found, psi(points), rtol=1e-10, atol=1e-10)


def test_exact_counts_are_the_formula():
    g = given(1, users=False)
    wide = [x.astype(np.float64) for x in (g.table, g.alpha)]
    chosen = np.array([0, 2, 3, 6])
    found = {}
    for kernel in (add_expected, add_expected.py_func):
        out = np.zeros(len(g.table), np.int64)
        scratch = variational_scratch(12, WIDTH, 12, np.float64)
        kernel(g.words, g.offsets, chosen, 0, 4, K, STEPS, *wide, *scratch, out)
        assert not scratch[1][:12].any()
        found[kernel] = out
    assert_array_equal(*found.values())
    wanted = sum(expected(g, d) for d in chosen)
    assert_allclose(out.reshape(-1, WIDTH)[:, :K] / FINE, wanted, atol=1e-8)
    assert not out.reshape(-1, WIDTH)[:, K:].any()
    assert out.sum() / FINE == pytest.approx(np.diff(g.offsets)[chosen].sum(), abs=1e-6)  # every token once


@pytest.mark.parametrize("users", [True, False])
@pytest.mark.parametrize("clip", [40.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_is_the_formula_clipped_and_truncated(seed, clip, users):
    g = given(seed, users=users)
    weights, background = (x.reshape(-1, WIDTH)[:, :K].astype(float) for x in (g.weights, g.background))
    for unit, found in enumerate(one_by_one(add_variational, g, clip)):
        exact = np.zeros_like(weights)
        for d in range(g.first_document[unit], g.first_document[unit + 1]):
            mine = expected(g, d)
            exact += weights * (mine - mine.sum(axis=1, keepdims=True) * background)
        norm = math.sqrt((exact**2).sum())
        wanted = exact * min(1.0, clip / norm) if norm else exact
        found = found.reshape(-1, WIDTH)
        assert not found[:, K:].any()
        assert np.abs(found[:, :K] - wanted).max(initial=0) < 1.01  # truncated, and float32 may miss a step
        assert (np.sign(found[:, :K]) * np.sign(wanted) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_compiled_is_the_python_body_and_units_add_up(seed):
    g = given(seed)
    for clip in (30.0, 1e5):
        found = run(add_variational, g, clip)
        assert_array_equal(found, run(add_variational.py_func, g, clip))
        assert_array_equal(found, sum(one_by_one(add_variational, g, clip)))


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
            assert exceeds(add_variational, g, clip, **{field: changed}) == []


@pytest.mark.parametrize("clip", [math.nan, math.inf, -1.0, 2.0**27])
def test_an_unusable_clip_lets_nothing_through(clip):
    assert not run(add_variational, given(6), clip).any()


def broken(*changes):
    source = inspect.getsource(residuals.add_clipped) + inspect.getsource(add_variational.py_func)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names = {**vars(residuals), **vars(variational), "bare_kernel": lambda function: function}
    exec(compile(source, "broken", "exec"), names)
    return names["add_variational"]


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
        ("for m in range(first, last):", "for d in range(first_document[units[0]], first_document[units[-1] + 1]):"),
        ("        unit = units[m]\n", ""),
        ("for d in range(first_document[unit], first_document[unit + 1]):", "for d in (d,):"),
        ("if d + 1 < first_document[unit + 1]:", "if False:"),
    )
    assert exceeds(apart, g, 25.0) != []
