"""Every estimator at the ends of what its parameters may be, as its table of constraints states them.

The ends are read from the tables: a parameter that gets a wider range, or a new one, is tried at its own ends. A fit
must then either refuse, before anything is charged, or give topics that are probabilities; and what one unit moves must
stay within what was charged, as the proofs say of any accepted parameters.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from sklearn.utils._param_validation import Interval

from discreet import (
    LDA,
    Corpus,
    HybridCrossLBLA,
    HybridLDA,
    LaplaceCrossLBLA,
    LaplaceLDA,
    PrivateLDA,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
)
from discreet._errors import DiscreetError
from discreet.corpus import Vocabulary, lda_corpus
from discreet.kernels.sweeps.last_topic import LastTopic
from discreet.models.vectorizer import PrivateVectorizer
from discreet.privacy.ledger import Ledger
from tests.support.exact_draw import Draw
from tests.support.hybrid_runs import N_WORDS, NEW_WORD, WORD, pair, pair_of_collections
from tests.support.hybrid_runs import fit as hybrid_fit
from tests.support.neighbours import Run, faults_of_flow, is_too_long, recorded

N_TOPICS = 3

ROUNDS: dict[str, Any] = {"n_rounds": 3, "sampling_rate": 0.5}
FORMS: dict[str, tuple[type, dict[str, Any]]] = {
    "LDA": (LDA, {"n_sweeps": 3}),
    "LDA that learns": (LDA, {"n_sweeps": 30, "learn_alpha": True, "learn_beta": True}),
    "HybridLDA": (HybridLDA, {"n_sweeps": 2, "epsilon_laplace": 1.0, "epsilon_inherent": 4.0}),
    "HybridLDA, a total": (HybridLDA, {"n_sweeps": 2, "epsilon": 4.0}),
    "HybridLDA as published": (
        HybridLDA,
        {"n_sweeps": 2, "epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "as_published": True},
    ),
    "HybridCrossLBLA": (HybridCrossLBLA, {"n_sweeps": 2, "epsilon_laplace": 1.0, "epsilon_inherent": 4.0}),
    "HybridCrossLBLA as published": (
        HybridCrossLBLA,
        {"n_sweeps": 2, "epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "as_published": True},
    ),
    "LaplaceLDA": (LaplaceLDA, {"n_sweeps": 2, "as_published": True}),
    "LaplaceCrossLBLA": (LaplaceCrossLBLA, {"n_sweeps": 2, "as_published": True}),
    "PrivateLDA": (PrivateLDA, {**ROUNDS, "epsilon": 2.0}),
    "SubsampledLDA": (SubsampledLDA, {**ROUNDS, "epsilon": 2.0}),
    "SubsampledLDA as published": (SubsampledLDA, {**ROUNDS, "epsilon": 2.0, "as_published": True}),
    "VariationalLDA": (VariationalLDA, ROUNDS),
    "VariationalLDA, private": (VariationalLDA, {**ROUNDS, "epsilon": 2.0}),
    "VariationalLDA, plain": (VariationalLDA, {**ROUNDS, "as_published": True, "clip": 5.0, "noise_multiplier": 1.0}),
    "SpectralLDA": (SpectralLDA, {}),
    "SpectralLDA, private": (SpectralLDA, {"epsilon": 4.0}),
}
BY_UNITS = ("PrivateLDA", "SubsampledLDA", "VariationalLDA, private", "VariationalLDA, plain", "SpectralLDA, private")
NOT_WITH: dict[str, set[str]] = {
    "HybridLDA": {"epsilon"},
    "HybridLDA, a total": {"epsilon_laplace", "epsilon_inherent"},
    "HybridLDA as published": {"epsilon"},
    "HybridCrossLBLA": {"epsilon"},
    "HybridCrossLBLA as published": {"epsilon"},
    "VariationalLDA": {"epsilon", "noise_multiplier"},
    "VariationalLDA, private": {"noise_multiplier"},
    "VariationalLDA, plain": {"epsilon"},
    "SpectralLDA": {"epsilon"},
}
"""Parameters that a form does not take, or that would make another of it."""
SLOW = {"sampling_rate"}
"""The smallest takes the calibration a quarter of a minute. (What depends on it is float64, and grows by 10⁶.)"""
MOST = 3
"""Parameters at an end in one fit: with more of them nearly every fit is refused."""


def ends(row: list[Any]) -> list[float]:
    """The smallest and the largest number that a row of a table accepts."""
    found = []
    for interval in (one for one in row if isinstance(one, Interval) and one.type is Real):
        left = -1e300 if interval.left is None else float(interval.left)
        right = 1e300 if interval.right is None else float(interval.right)
        open_left, open_right = interval.closed in ("right", "neither"), interval.closed in ("left", "neither")
        found += [math.nextafter(left, right) if open_left else left]
        found += [math.nextafter(right, left) if open_right and interval.right is not None else right]
    return found


def extremes(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Some parameters of a form, each at an end of its range; α for each topic, or one for all."""
    kind, given_ = FORMS[name]
    rows = {key: ends(row) for key, row in kind._parameter_constraints.items()}
    rows = {key: row for key, row in rows.items() if row and key not in SLOW | NOT_WITH.get(name, set())}
    chosen: dict[str, Any] = {key: st.sampled_from(row) for key, row in rows.items()}
    if "alpha" in chosen:
        each = st.lists(st.sampled_from([*rows["alpha"], 0.1]), min_size=N_TOPICS, max_size=N_TOPICS)
        chosen["alpha"] = st.one_of(chosen["alpha"], each)
    if "split" in kind._parameter_constraints:
        chosen["split"] = st.tuples(*[st.sampled_from([1e-300, 1e-9, 1.0, 1e300])] * 3)
    names = st.lists(st.sampled_from(sorted(chosen)), min_size=1, max_size=MOST, unique=True)
    drawn = names.flatmap(lambda keys: st.fixed_dictionaries({key: chosen[key] for key in keys}))
    return drawn.map(lambda few: {**given_, **few})


def corpus() -> Corpus:
    made = lda_corpus(24, 12, N_TOPICS, mean_length=10, seed=3).corpus
    words = np.concatenate([made.words, np.zeros(200, np.int32), np.arange(12, dtype=np.int32)])
    collections = np.arange(made.n_documents + 1) % 3 // 2
    return Corpus(words, [*made.offsets, len(words)], Vocabulary(made.vocabulary, "public"), collections=collections)


D = corpus()
WITHOUT = D[list(range(24))]
"""The last document, long and monotonous, has left."""


def unfitted(name: str, options: dict[str, Any]) -> tuple[Any, Ledger]:
    kind = FORMS[name][0]
    hybrid = issubclass(kind, HybridLDA)
    ledger = Ledger(unit="word" if hybrid else "document")
    if name in BY_UNITS or (hybrid and not options.get("as_published")):
        options = {**options, "ledger": ledger}
    return kind(N_TOPICS, **options, n_threads=1, random_state=5), ledger


@contextmanager
def strict() -> Iterator[None]:
    """What our models warn of is fine here; what numpy warns of (overflow, NaN) is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        yield


def check_topics(model: Any) -> None:
    assert np.isfinite(model.components_).all()
    assert (model.components_ >= 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


@pytest.mark.parametrize("name", FORMS)
def test_a_fit_refuses_for_nothing_or_gives_topics(name):
    fitted = []

    @seed(14)
    @settings(max_examples=40, deadline=None, database=None)
    @given(extremes(name))
    def check(options):
        model, ledger = unfitted(name, options)
        try:
            with strict():
                model.fit(D)
        except DiscreetError:
            assert not ledger.entries
        else:
            check_topics(model)
            fitted.append(options)

    check()
    assert len(fitted) > 10  # the ranges are not so wide that nothing can be fitted at their ends


@pytest.mark.parametrize("name", BY_UNITS)
def test_a_unit_moves_no_more_than_was_charged(name):
    def run(options, documents, answers=None):
        found = Run()
        with recorded(found, answers), strict():
            found.train(unfitted(name, options)[0], documents)
        return found

    @seed(14)
    @settings(max_examples=40, deadline=None, database=None)
    @given(extremes(name))
    def check(options):
        try:
            d = run(options, D)
        except DiscreetError:
            return  # the test above sees to these
        d1 = run(options, WITHOUT, d.noisy)
        assert faults_of_flow(d, d1) == set()
        for event, a, b in zip(d.events, d.exact, d1.exact, strict=True):
            assert not is_too_long(event, a - b)
        moved.append(max((a != b).sum() for a, b in zip(d.exact, d1.exact, strict=True)))

    moved: list[int] = []
    check()
    assert sum(n > 0 for n in moved) > 10  # the comparison saw the unit


def factors(counts: list[int], alpha: np.ndarray, rest: float | None) -> np.ndarray:
    """What a document multiplies the weights of each topic by, as the kernel computes it."""
    if rest is None:
        return np.float32(counts) + alpha
    last, m = LastTopic.of(alpha.astype(float), rest), float(sum(counts[:-1]))
    ratio = (last.inner + m) / (last.a + m)
    row, around = np.float32(counts), alpha.copy()
    row[-1] = np.float32(counts[-1] * ratio + last.beta * (ratio - last.least))
    around[-1] = last.least * last.beta
    return row + around


@pytest.mark.parametrize("name", ["HybridLDA", "HybridCrossLBLA"])
def test_draws_stay_within_the_range_that_was_charged(name):
    """The chance of every topic, exactly as implemented, for the replaced word and for the one put in."""
    kind = FORMS[name][0]
    d, first = (pair_of_collections()[0], N_WORDS) if kind is HybridCrossLBLA else (pair()[0], 0)

    @seed(14)
    @settings(max_examples=60, deadline=None, database=None)
    @given(extremes(name))
    def check(options):
        try:
            with strict():
                run = hybrid_fit(d, kind=kind, **options)
        except DiscreetError:
            return
        eta = next(entry.event.eta for entry in run.charged if hasattr(entry.event, "eta"))
        alpha = np.broadcast_to(np.float32(options.get("alpha", 0.1)), N_TOPICS)
        for (table,) in run.inputs:
            for counts in ([0, 0, 0], [131_000, 0, 0], [0, 3, 7]):
                around = factors(counts, alpha, options.get("alpha_rest"))
                p, p1 = (Draw(table[first + word] * around).chances() for word in (WORD, NEW_WORD))
                ratios = [math.log(a) - math.log(b) for a, b in zip(p, p1, strict=True)]
                assert max(ratios) - min(ratios) <= eta
                used.append((max(ratios) - min(ratios)) / eta)

    used: list[float] = []
    check()
    assert len(used) > 100
    assert max(used) > 0.5


def test_an_overflow_would_be_seen():
    """What α = 2·10³² did: one product is infinite, its topic is always drawn, and only uniform draws give others."""
    table = np.array([[1.0, 1.0, 1e6], [1e6, 1.0, 1.0]], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        p, p1 = (Draw(row * np.full(3, 2e32, np.float32)).chances() for row in table)
    ratios = [math.log(a) - math.log(b) for a, b in zip(p, p1, strict=True)]
    assert max(ratios) - min(ratios) > 14


@pytest.mark.parametrize("alpha", [2e32, [0.1, 2e32, 0.1], [0.1, 0.1, 1e-7], math.nan, [math.inf, 1, 1]])
def test_priors_beyond_float32_are_refused(alpha):
    ledger = Ledger(unit="word")
    with pytest.raises(DiscreetError, match="alpha"):
        HybridLDA(3, epsilon_laplace=0.1, epsilon_inherent=0.1, alpha=alpha, ledger=ledger).fit(D)
    assert not ledger.entries


SELECTION = {key: ends(PrivateVectorizer._parameter_constraints[key]) for key in ("epsilon", "delta", "share")}


@seed(14)
@settings(max_examples=20, deadline=None, database=None)
@given(st.fixed_dictionaries({}, optional={key: st.sampled_from(row) for key, row in SELECTION.items()}))
def test_words_are_selected_or_refused(options):
    """No word may stand out of the noise: then the selection was charged, and the message says so."""
    ledger = Ledger(unit="document")
    vectorizer = PrivateVectorizer(**options, ledger=ledger, random_state=1)
    try:
        with strict():
            vectorizer.fit(["apple banana"] * 50 + ["cherry"])
    except DiscreetError as error:
        refused = str(error)
    else:
        refused = ""
        assert 0 < vectorizer.plan().epsilon <= vectorizer.epsilon
    assert not refused or not ledger.entries or "has been charged" in refused
