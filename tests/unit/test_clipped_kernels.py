"""What a unit contributes to a round of PrivateLDA or VariationalLDA: the formula, the clip in whole numbers, and what
would break them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import psi

from discreet.kernels.sums import residuals, variational
from discreet.kernels.sums.residuals import add_residuals, residual_scratch
from discreet.kernels.sums.variational import FINE, add_expected, add_variational, exp_digamma, variational_scratch

K, WIDTH, STEPS = 5, 16, 4


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

    def narrow(self, name):
        """A word × topic table in float64, without its padding."""
        return getattr(self, name).reshape(-1, WIDTH)[:, :K].astype(float)


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


# --- the two kernels --------------------------------------------------------------------------------------------------


def given_topics(g, d):
    """Σ p_i(k) over the tokens of each word of document d, under the topics that its tokens have."""
    table, mine = g.narrow("table"), slice(g.offsets[d], g.offsets[d + 1])
    counts = np.bincount(g.topics[mine], minlength=K) + g.alpha[:K].astype(float)
    found = np.zeros_like(table)
    for word, topic in zip(g.words[mine], g.topics[mine], strict=True):
        p = table[word] * (counts - (np.arange(K) == topic))
        found[word] += p / p.sum()
    return found


def by_steps(g, d):
    """count(w) · φ_wk of document d after STEPS steps, with scipy's digamma."""
    table, alpha = g.narrow("table"), g.alpha[:K].astype(float)
    counts = np.bincount(g.words[g.offsets[d] : g.offsets[d + 1]], minlength=len(table))
    gamma = np.ones(K)
    for _ in range(STEPS):
        phi = table * np.exp(psi(gamma) - psi(gamma.sum()))
        gamma = alpha + (counts[:, None] * phi / phi.sum(axis=1, keepdims=True)).sum(axis=0)
    phi = table * np.exp(psi(gamma) - psi(gamma.sum()))
    return counts[:, None] * phi / phi.sum(axis=1, keepdims=True)


def call_residuals(kernel, g, first, last, clip, out):
    scratch = residual_scratch(len(out) // WIDTH, WIDTH, min(len(g.words), len(out) // WIDTH))
    documents = (g.words, g.topics, g.offsets, g.first_document, first, last)
    kernel(*documents, g.table, g.alpha, g.weights, g.background, clip, *scratch, out)
    return scratch[1]


def call_variational(kernel, g, first, last, clip, out):
    scratch = variational_scratch(len(out) // WIDTH, WIDTH, min(len(g.words), len(out) // WIDTH), np.float32)
    documents = (g.words, g.offsets, g.first_document, np.arange(g.n_units), first, last)
    kernel(*documents, K, STEPS, g.table, g.alpha, g.weights, g.background, clip, *scratch, out)
    return scratch[1]


class Kind(NamedTuple):
    module: ModuleType
    compiled: Any
    call: Callable[..., np.ndarray]
    expected: Callable[[Given, int], np.ndarray]
    apart: tuple[tuple[str, str], ...]
    """Changes that clip each document by itself."""

    def run(self, g, clip, first=0, last=None, kernel=None, **changes):
        g = g._replace(**changes)
        out = np.zeros(len(g.table), np.uint32)
        with np.errstate(all="ignore"):
            places = self.call(kernel or self.compiled, g, first, g.n_units if last is None else last, clip, out)
        assert not places[: len(out) // WIDTH].any()  # every word has lost its place again
        return out.view(np.int32).astype(np.int64)

    def one_by_one(self, g, clip, **changes):
        return [self.run(g, clip, m, m + 1, **changes) for m in range(g.n_units)]

    def exceeds(self, g, clip, **changes):
        limit = math.floor(clip * clip)
        return [m for m, out in enumerate(self.one_by_one(g, clip, **changes)) if sum(int(x) ** 2 for x in out) > limit]

    def broken(self, *changes):
        source = inspect.getsource(residuals.add_clipped) + inspect.getsource(self.compiled.py_func)
        for old, new in changes:
            assert old in source, old
            source = source.replace(old, new)
        names = {**vars(residuals), **vars(self.module), "bare_kernel": lambda function: function}
        exec(compile(source, "broken", "exec"), names)
        return names[self.compiled.__name__]


LAST = ("if d + 1 < first_document[unit + 1]:", "if False:")
SWEEPS = Kind(
    residuals,
    add_residuals,
    call_residuals,
    given_topics,
    (
        ("for unit in range(first, last):", "for unit in range(first_document[first], first_document[last]):"),
        ("for d in range(first_document[unit], first_document[unit + 1]):", "for d in (unit,):"),
        LAST,
    ),
)
VARIATIONAL = Kind(
    variational,
    add_variational,
    call_variational,
    by_steps,
    (
        ("for m in range(first, last):", "for d in range(first_document[first], first_document[last]):"),
        ("        unit = units[m]\n", ""),
        ("for d in range(first_document[unit], first_document[unit + 1]):", "for d in (d,):"),
        LAST,
    ),
)
kinds = pytest.mark.parametrize(
    "kind", [pytest.param(SWEEPS, id="sweeps"), pytest.param(VARIATIONAL, id="variational")]
)


# --- both of them -----------------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("users", [True, False])
@pytest.mark.parametrize("clip", [40.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_is_the_formula_clipped_and_truncated(kind, seed, clip, users):
    g = given(seed, users=users)
    weights, background = g.narrow("weights"), g.narrow("background")
    for unit, found in enumerate(kind.one_by_one(g, clip)):
        exact = np.zeros_like(weights)
        for d in range(g.first_document[unit], g.first_document[unit + 1]):
            mine = kind.expected(g, d)
            exact += weights * (mine - mine.sum(axis=1, keepdims=True) * background)
        norm = math.sqrt((exact**2).sum())
        wanted = exact * min(1.0, clip / norm) if norm else exact
        found = found.reshape(-1, WIDTH)
        assert not found[:, K:].any()
        off = np.abs(found[:, :K] - np.trunc(wanted)).max(initial=0)
        assert off <= 1  # float32 may fall on the other side of a step
        assert np.abs(found[:, :K] - wanted).max(initial=0) < 1.01
        assert (np.sign(found[:, :K]) * np.sign(wanted) >= 0).all()


@kinds
@pytest.mark.parametrize("seed", range(3))
def test_compiled_is_the_python_body_and_units_add_up(kind, seed):
    g = given(seed)
    for clip in (30.0, 1e5):
        found = kind.run(g, clip)
        assert_array_equal(found, kind.run(g, clip, kernel=kind.compiled.py_func))
        assert_array_equal(found, sum(kind.one_by_one(g, clip)))


BAD = [math.nan, math.inf, -math.inf, -3.0, 0.0, 1e-38, 1e10, 1e30, 3e38]


@kinds
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("field", ["weights", "background", "table", "alpha"])
def test_no_input_makes_a_contribution_longer_than_the_clip(kind, field, bad):
    g = given(5)
    for where in (slice(None), slice(0, None, 7), slice(0, 1)):
        changed = getattr(g, field).copy()
        changed[where] = bad
        for clip in (17.3, 2000.0):
            assert kind.exceeds(g, clip, **{field: changed}) == []


@kinds
@pytest.mark.parametrize("clip", [math.nan, math.inf, -1.0, 2.0**27])
def test_an_unusable_clip_lets_nothing_through(kind, clip):
    assert not kind.run(given(6), clip).any()


@kinds
def test_the_largest_clip_is_kept_in_whole_numbers(kind):
    g = given(7)
    assert kind.exceeds(g, 2.0**26, weights=g.weights * np.float32(1e8)) == []


@kinds
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("norm > clip else 1.0", "norm > math.inf else 1.0"), id="never shrunk"),
        pytest.param(("clip / norm if", "1.05 * clip / norm if"), id="shrunk too little"),
    ],
)
def test_the_integer_check_is_what_keeps_the_clip(kind, change):
    """A wrong norm alone does no harm; without the check it does, and this test sees it."""
    g = given(8)
    assert kind.exceeds(g, 60.0, kernel=kind.broken(change)) == []
    unchecked = kind.broken(change, ("if add_up(whole) <= limit:", "if True:"))
    assert kind.exceeds(g, 60.0, kernel=unchecked) != []


@kinds
def test_clipping_documents_apart_is_caught(kind):
    assert kind.exceeds(given(9), 25.0, kernel=kind.broken(*kind.apart)) != []


# --- variational steps ------------------------------------------------------------------------------------------------


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
    wanted = sum(by_steps(g, d) for d in chosen)
    assert_allclose(out.reshape(-1, WIDTH)[:, :K] / FINE, wanted, atol=1e-8)
    assert not out.reshape(-1, WIDTH)[:, K:].any()
    assert out.sum() / FINE == pytest.approx(np.diff(g.offsets)[chosen].sum(), abs=1e-6)  # every token once
