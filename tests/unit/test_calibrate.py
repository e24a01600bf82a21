"""Calibrated noise spends the budget, never more, and hardly less."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet._errors import BudgetExceeded, InputError
from discreet.mechanisms.sampling import coin_rate, coin_threshold
from discreet.privacy import Budget, Entry, Ledger, accounting
from discreet.privacy.calibrate import (
    FINEST_SCALE,
    discrete_laplace,
    gaussian,
    on_grid,
    rising,
    vocabulary_threshold,
)
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    GaussianRelease,
    NonPrivate,
    PureRelease,
    ThresholdedVocabulary,
)

RELAXED = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def spends_it(found: Any, budget: Budget, alongside: Any = ()) -> None:
    spent = accounting.epsilon([*alongside, *found.plan], budget.delta)
    assert spent == found.epsilon
    assert 0.99 * budget.epsilon <= spent <= budget.epsilon  # left: accuracy not thrown away; right: privacy
    ledger = Ledger(budget, unit="word" if isinstance(found.plan[0].event, DiscreteLaplacePair) else "document")
    for entry in alongside:
        ledger.reserve([entry])
    ledger.reserve(found.plan)  # a ledger with that budget takes it


@RELAXED
@given(
    epsilon=st.floats(0.05, 12),
    delta=st.sampled_from([1e-5, 1e-6, 1e-9]),
    rounds=st.integers(1, 500),
    rate=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
)
def test_gaussian_noise(epsilon: float, delta: float, rounds: int, rate: float) -> None:
    budget = Budget(epsilon, delta)
    found = gaussian(budget, rounds=rounds, sampling_rate=rate)
    spends_it(found, budget)
    assert found.plan == (Entry(GaussianRelease(sigma=found.noise, sampling_rate=rate), rounds, "noise"),)


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    epsilon=st.floats(0.01, 30),
    delta=st.floats(1e-10, 1e-3),
    rounds=st.integers(1, 2000),
    rate=st.floats(0.005, 1),
    cells=st.sampled_from([None, 40_000]),
)
def test_gaussian_noise_far_and_wide(epsilon: float, delta: float, rounds: int, rate: float, cells: int | None) -> None:
    budget = Budget(epsilon, delta)
    spends_it(gaussian(budget, rounds=rounds, sampling_rate=rate, cells=cells), budget)


@RELAXED
@given(
    epsilon=st.floats(0.05, 60),
    delta=st.sampled_from([0.0, 1e-6]),
    rounds=st.integers(1, 300),
)
def test_discrete_laplace_noise(epsilon: float, delta: float, rounds: int) -> None:
    budget = Budget(epsilon, delta)
    found = discrete_laplace(budget, rounds=rounds)
    spends_it(found, budget)
    assert found.plan == (Entry(DiscreteLaplacePair(epsilon=2 / found.noise), rounds, "noise"),)


def test_without_delta_the_scale_is_that_of_the_sum() -> None:
    assert discrete_laplace(Budget(1.0), rounds=101).noise == pytest.approx(202, rel=0.01)


def test_one_gaussian_by_its_exact_curve() -> None:
    """Balle and Wang (2018) for ε = 1, δ = 1e-6."""
    found = gaussian(Budget(1.0, 1e-6))
    mu = 1 / found.noise
    exact = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
    assert 0.9e-6 < exact <= 1e-6


def test_a_profile_gives_each_round_its_own_noise() -> None:
    budget = Budget(1.0, 1e-6)
    profile = rising(300, 0.4, 1.6, levels=4)
    found = gaussian(budget, profile=profile, sampling_rate=0.05)
    spends_it(found, budget)
    sigmas = [entry.event.sigma for entry in found.plan]  # type: ignore[attr-defined]
    assert sigmas == pytest.approx([found.noise / math.sqrt(w) for w, _ in profile])
    assert sum(entry.count for entry in found.plan) == 300
    flat = gaussian(budget, rounds=300, sampling_rate=0.05)
    assert flat.noise < found.noise < 1.2 * flat.noise


def test_profiles_rise() -> None:
    weights, rounds = zip(*rising(300, 0.4, 1.6, levels=4), strict=True)
    assert weights == pytest.approx((0.55, 0.85, 1.15, 1.45))
    assert rounds == (75, 75, 75, 75)
    assert sum(n for _, n in rising(301)) == 301
    assert sum(w * n for w, n in rising(800)) == pytest.approx(800)
    assert [n for _, n in rising(2, levels=8)] == [1, 1]
    for wrong in ((0, 0.4, 1.6, 8), (10, 0.0, 1.6, 8), (10, 0.4, 1.6, 0)):
        with pytest.raises(InputError, match="profile"):
            rising(*wrong)


def test_discrete_plans_share_one_scale_and_follow_with_the_grid() -> None:
    budget = Budget(2.0, 1e-6)
    found = gaussian(
        budget, profile=rising(100, levels=3), sampling_rate=0.1, cells=40_000, scale=2048.0, label="topics"
    )
    spends_it(found, budget)
    for (weight, n), entry in zip(rising(100, levels=3), found.plan, strict=True):
        event = entry.event
        assert isinstance(event, DiscreteGaussianRelease)
        assert (event.scale, event.cells, event.sampling_rate) == (2048.0, 40_000, 0.1)
        assert event.sigma == pytest.approx(found.noise / math.sqrt(weight), rel=1e-12)
        assert (entry.count, entry.label) == (n, "topics")


def test_one_release_on_the_grid() -> None:
    assert on_grid(2.5, 7).sigma == pytest.approx(2.5, rel=1e-12)


def test_the_rest_of_a_budget_is_spent_beside_what_is_charged() -> None:
    budget = Budget(1.0, 1e-6)
    vocabulary = (Entry(ThresholdedVocabulary(sigma=12.0, delta_threshold=2e-7, max_words=50, scale=4096.0)),)
    found = gaussian(budget, rounds=300, sampling_rate=0.05, alongside=vocabulary)
    spends_it(found, budget, vocabulary)
    alone = accounting.epsilon(vocabulary, 1e-6)
    shares = gaussian(Budget(1 - alone, 8e-7), rounds=300, sampling_rate=0.05)
    assert found.noise < shares.noise  # one composition is tighter than shares
    draws = (Entry(BoundedRangeDraw(eta=0.05), 100),)
    spends_it(discrete_laplace(Budget(10.0, 1e-6), rounds=101, alongside=draws), Budget(10.0, 1e-6), draws)


def test_a_small_rest_is_used_too() -> None:
    """99% of the budget are spent before: leaving the rest would still be within 1% of it."""
    budget = Budget(1.0, 1e-6)
    nearly = (Entry(PureRelease(epsilon=0.99)),)
    found = gaussian(budget, alongside=nearly)
    assert accounting.epsilon((*nearly, *found.plan), 1e-6) > 0.9995
    quieter = GaussianRelease(sigma=found.noise * 0.98)
    assert accounting.epsilon((*nearly, Entry(quieter)), 1e-6) > 1.0


def test_a_spent_budget_is_refused() -> None:
    with pytest.raises(BudgetExceeded, match="no noise is large enough"):
        gaussian(Budget(1.0, 1e-6), alongside=[Entry(PureRelease(epsilon=1.5))])
    with pytest.raises(BudgetExceeded):
        gaussian(Budget(1.0, 1e-6), alongside=[Entry(NonPrivate())])
    eats_delta = ThresholdedVocabulary(sigma=1e6, delta_threshold=1e-6, max_words=1)
    with pytest.raises((BudgetExceeded, InputError)):
        gaussian(Budget(1.0, 1e-6), alongside=[Entry(eats_delta)])


def test_gaussian_noise_needs_delta() -> None:
    with pytest.raises(InputError, match="delta > 0"):
        gaussian(Budget(1.0))


@pytest.mark.parametrize("options", [{"rounds": 0}, {"profile": []}, {"profile": [(0.0, 3)]}, {"profile": [(1.0, 0)]}])
def test_a_plan_without_rounds(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="at least one round"):
        gaussian(Budget(1.0, 1e-6), **options)


def test_a_result_is_computed_once() -> None:
    budget = Budget(1.25, 1e-6)
    assert gaussian(budget, rounds=3) is gaussian(Budget(1.25, 1e-6), rounds=3)


# --- the vocabulary's threshold ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_words", [1, 10, 1000])
def test_the_threshold_keeps_what_one_unit_has_alone(max_words: int) -> None:
    sigma, delta = 3.0, 1e-7
    rho = vocabulary_threshold(sigma, delta, max_words)
    passing = [-math.expm1(t * norm.logcdf((rho - 1 / math.sqrt(t)) / sigma)) for t in range(1, max_words + 1)]
    assert max(passing) == pytest.approx(delta, rel=1e-6)


def test_the_cap_is_not_optional() -> None:
    """vocabulary.proof.md: the threshold of one word, used for 1,000 of one unit, breaks δ₂ several times over."""
    sigma, delta = 1.0, 1e-6
    rho = vocabulary_threshold(sigma, delta, 1)
    broken = -math.expm1(1000 * norm.logcdf((rho - 1 / math.sqrt(1000)) / sigma))
    assert 3 < broken / delta < 1000


def test_a_discrete_threshold_by_its_exact_tail() -> None:
    scale, sigma, delta = 1000.0, 2.0, 1e-5
    rho = vocabulary_threshold(sigma, delta, 1, scale=scale)
    k = np.arange(-20_000, 20_001)
    law = np.exp(-(k**2) / (2 * scale**2))
    step = sigma / scale
    weight = math.floor(1 / step)
    passing = law[(weight + k) * step > rho].sum() / law.sum()
    assert 0.97 * delta < passing <= delta
    with pytest.raises(InputError, match="threshold"):
        vocabulary_threshold(1.0, 0.0, 3)


@pytest.mark.parametrize(
    ("steps", "scale"), [(0.0, 1024.0), (100.0, 1024.0), (101.0, FINEST_SCALE), (1e9, FINEST_SCALE)]
)
def test_a_clip_of_too_few_steps_takes_the_finest_grid(steps: float, scale: float) -> None:
    """All rounds share the scale, also where one alone has too few steps."""
    multiplier = math.sqrt(1024.0**2 - 4) / 100
    event = on_grid(multiplier, 5, scale=1024.0, steps=steps)
    assert event.scale == scale
    assert math.sqrt(event.scale**2 - 4) / event.sensitivity == pytest.approx(multiplier)
    budget, profile = Budget(1.0, 1e-6), [(1.0, 2), (4.0, 2)]
    usual = gaussian(budget, profile=profile, cells=5, scale=1024.0)
    sizes = [entry.event.sensitivity for entry in usual.plan]  # type: ignore[attr-defined]
    for least, expected in ((min(sizes), 1024.0), (max(sizes), FINEST_SCALE)):
        found = gaussian(budget, profile=profile, cells=5, scale=1024.0, steps=least)
        assert {entry.event.scale for entry in found.plan} == {expected}  # type: ignore[attr-defined]


@given(st.floats(0, 1, exclude_min=True))
def test_the_rate_of_a_threshold_is_not_below_the_one_asked_for(rate: float) -> None:
    threshold = coin_threshold(rate)
    assert 1 <= threshold <= 2**32
    assert coin_rate(threshold - 1) < rate <= coin_rate(threshold)
