"""Accounting: laws that hold for every event, and figures from other sources for each."""

from __future__ import annotations

import ast
import hashlib
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

import discreet.privacy.costs as costs
from discreet._errors import InputError
from discreet.kernels.noise import tables as noise_tables
from discreet.privacy import accounting
from discreet.privacy.accounting import delta, epsilon, spent
from discreet.privacy.calibrate import gaussian
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    Entry,
    Event,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    PureRelease,
    ThresholdedVocabulary,
)
from discreet.privacy.ledger import Budget

D = 1e-6
PROOF = Path(costs.__file__).with_name("accounting.proof.md")


def any_event() -> st.SearchStrategy[Event]:
    sigmas, rates, small = (
        st.sampled_from([0.8, 2.0, 11.0]),
        st.sampled_from([0.01, 0.2, 1.0]),
        st.sampled_from([0.02, 1.3]),
    )
    return st.one_of(
        st.builds(GaussianRelease, sigma=sigmas, sampling_rate=rates),
        st.builds(
            DiscreteGaussianRelease,
            scale=st.just(4096.0),
            sensitivity=st.sampled_from([300.0, 2000.0]),
            cells=st.just(10**5),
            sampling_rate=rates,
        ),
        st.builds(ThresholdedVocabulary, sigma=sigmas, delta_threshold=st.just(1e-9), max_words=st.just(20)),
        st.builds(LaplaceRelease, scale=st.sampled_from([1.5, 40.0])),
        st.builds(DiscreteLaplacePair, epsilon=small),
        st.builds(
            DiscreteLaplaceRelease, scale=st.just(4096.0), sensitivity=st.sampled_from([90.0, 5e3]), cells=st.just(820)
        ),
        st.builds(BoundedRangeDraw, eta=small),
        st.builds(PureRelease, epsilon=small),
        st.just(NonPrivate()),
    )


def gaussian_epsilon(sigma: float, at: float) -> float:
    """Balle and Wang (2018), theorem 8."""

    def excess(eps: float) -> float:
        first = norm.logcdf(0.5 / sigma - eps * sigma)
        second = eps + norm.logcdf(-0.5 / sigma - eps * sigma)
        if second >= first:  # rounding, far in the tail
            return -math.inf
        return float(first + math.log(-math.expm1(second - first)) - math.log(at))

    low, high = 1e-9, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def two_point_epsilon(each: float, times: int, at: float) -> float:
    """``times`` randomised responses, summed over the binomial."""
    k = np.arange(times + 1)
    p, loss = binom.pmf(k, times, 1 / (1 + math.exp(each))), each * (times - 2 * k)

    def excess(eps: float) -> float:
        return float((p * np.maximum(0, -np.expm1(np.minimum(0, eps - loss)))).sum()) - at

    return float(brentq(excess, 0, times * each))


# --- laws -------------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(event=any_event(), other=any_event(), n=st.integers(1, 50))
def test_a_count_of_n_costs_what_n_charges_cost(event: Event, other: Event, n: int) -> None:
    together = spent([Entry(event, n), Entry(other)], D)
    assert spent([*[Entry(event)] * (n - 1), Entry(other), Entry(event)], D) == together
    assert (
        spent([Entry(event, n - 1), Entry(other), Entry(event)] if n > 1 else [Entry(other), Entry(event)], D)
        == together
    )


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(event=any_event(), n=st.integers(2, 50))
def test_the_count_is_not_forgotten(event: Event, n: int) -> None:
    """Merged counts could all be wrong alike: composing by hand, one after the other, must agree."""
    whole = accounting._total(accounting._parts([Entry(event, n)]))
    one = accounting._total(accounting._parts([Entry(event)]))
    if isinstance(event, NonPrivate):
        assert epsilon([Entry(event, n)], D) == math.inf
        return
    assert np.allclose(whole._rdp, n * one._rdp)
    assert whole.pure == pytest.approx(n * one.pure) if math.isfinite(one.pure) else whole.pure == math.inf
    assert whole.outside_delta == pytest.approx(n * one.outside_delta)
    assert whole.outside_epsilon == pytest.approx(n * one.outside_epsilon)
    stepwise = by_hand = one._distribution
    for _ in range(n - 1):
        stepwise = stepwise.compose(by_hand)
    assert whole.pld_epsilon(D) == pytest.approx(stepwise.get_epsilon_for_delta(D), rel=0.02)


def test_a_forgotten_count_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect that dp-accounting once had: the same law, on a copy that forgets to multiply, fails."""
    once = epsilon([Entry(GaussianRelease(sigma=3.0, sampling_rate=0.2), 40)], D)
    accounting._spent.cache_clear()
    monkeypatch.setattr(accounting, "_parts", lambda entries: tuple((e.event, 1) for e in entries))
    assert epsilon([Entry(GaussianRelease(sigma=3.0, sampling_rate=0.2), 40)], D) < once / 2
    accounting._spent.cache_clear()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events=st.lists(any_event(), min_size=1, max_size=3), more=any_event(), n=st.integers(1, 20))
def test_more_costs_more_and_order_does_not_matter(events: list[Event], more: Event, n: int) -> None:
    entries = [Entry(event, n) for event in events]
    before, after = epsilon(entries, D), epsilon([*entries, Entry(more)], D)
    assert after >= before * (1 - 2e-3)  # the grid may change with the company
    assert epsilon([Entry(more), *reversed(entries)], D) == after
    if math.isfinite(after):
        alone = epsilon([Entry(more)], D / 2)
        # never worse than basic composition, but for the grid: three pure releases beside one Gaussian are 1% above it
        assert after <= epsilon(entries, D / 2) + alone + 2e-2 * after


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events=st.lists(any_event(), min_size=1, max_size=3), n=st.integers(1, 20))
def test_delta_and_epsilon_are_inverse(events: list[Event], n: int) -> None:
    entries = [Entry(event, n) for event in events]
    eps = epsilon(entries, D)
    found = delta(entries, min(eps, 1e6))
    assert found <= D * 1.002 if math.isfinite(eps) else found == 1
    if 0.1 < eps < math.inf:
        assert delta(entries, eps / 2) > D


def test_nothing_costs_nothing() -> None:
    assert spent([], D) == accounting.Spent(0.0, D, "nothing")
    assert (epsilon([], 0), delta([], 0)) == (0, 0)


def test_giving_away_costs_everything() -> None:
    assert epsilon([Entry(NonPrivate())], D) == math.inf
    assert spent([Entry(NonPrivate()), Entry(PureRelease(epsilon=0.1))], D).method == "none"
    assert delta([Entry(NonPrivate())], 100) == 1


def test_without_delta_only_pure_events_cost_something_finite() -> None:
    assert spent([Entry(PureRelease(epsilon=0.25), 4), Entry(LaplaceRelease(scale=2.0))], 0) == accounting.Spent(
        1.5, 0.0, "pure"
    )
    assert epsilon([Entry(GaussianRelease(sigma=100.0))], 0) == math.inf


@pytest.mark.parametrize("wrong", [-1e-9, 1.0, math.nan])
def test_a_delta_that_is_none(wrong: float) -> None:
    with pytest.raises(InputError, match="delta"):
        spent([], wrong)


def test_an_epsilon_that_is_none() -> None:
    with pytest.raises(InputError, match="epsilon"):
        delta([], -1.0)


# --- Gaussians --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "count"), [(0.5, 1), (2.0, 1), (40.0, 7), (400.0, 1), (100.0, 10_000), (0.05, 1)])
@pytest.mark.parametrize("at", [1e-5, 1e-9])
def test_gaussians_without_sampling_by_their_exact_curve(sigma: float, count: int, at: float) -> None:
    true = gaussian_epsilon(sigma / math.sqrt(count), at)
    assert true <= epsilon([Entry(GaussianRelease(sigma=sigma), count)], at) * (1 + 1e-9)
    assert epsilon([Entry(GaussianRelease(sigma=sigma), count)], at) <= true * 1.002


@pytest.mark.parametrize(
    ("sigma", "rate", "count"),
    [(1.0, 0.05, 300), (4.0, 0.05, 300), (3.0, 0.1, 200), (1.24, 0.05, 20), (20.0, 0.05, 300)],
)
def test_sampled_gaussians_by_dp_accounting(sigma: float, rate: float, count: int) -> None:
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    oracle = PLDAccountant(value_discretization_interval=2e-4)
    oracle.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), count)
    found = spent([Entry(GaussianRelease(sigma=sigma, sampling_rate=rate), count)], D)
    assert found.method == "pld"
    assert found.epsilon == pytest.approx(oracle.get_epsilon(D), rel=3e-3)


def test_rising_noise_is_several_entries() -> None:
    rising = [Entry(GaussianRelease(sigma=s, sampling_rate=0.1), 50) for s in (4.0, 3.0, 2.0)]
    low, high = (epsilon([Entry(GaussianRelease(sigma=s, sampling_rate=0.1), 150)], D) for s in (4.0, 2.0))
    assert low < epsilon(rising, D) < high


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (2.0, 0.3), (0.7, 0.9)])
def test_the_renyi_curve_by_dp_accounting(sigma: float, rate: float) -> None:
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    orders = [2, 3, 8, 14, 64, 500]
    oracle = RdpAccountant(orders)
    oracle.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)))
    assert [costs.sampled_gaussian_rdp(sigma, rate, order) for order in orders] == pytest.approx(oracle._rdp, rel=1e-9)


def test_the_conversion_by_dp_accounting() -> None:
    from dp_accounting.rdp import compute_epsilon

    total = accounting._total(((BoundedRangeDraw(eta=1.0), 30),))
    assert total.rdp_epsilon(D) == pytest.approx(compute_epsilon(costs.ORDERS, total._rdp, D)[0], rel=1e-12)
    assert total.rdp_delta(total.rdp_epsilon(D)) == pytest.approx(D, rel=1e-9)


def test_table_3_of_sub_lda() -> None:
    """docs/papers.md, Huang and Chen 2021: the exact ε_sub at α = 14, ε(α) = 2."""
    sigma = math.sqrt(14 / (2 * 2))
    exact = [costs.sampled_gaussian_rdp(sigma, rate, 14) for rate in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert [round(e, 4) for e in exact] == [0.0465, 0.7719, 1.2809, 1.6273, 1.8895]
    assert costs.sampled_gaussian_rdp(sigma, 1 - 1e-12, 14) == pytest.approx(2, rel=1e-6)


def test_other_figures_of_the_design() -> None:
    vips = [Entry(GaussianRelease(sigma=1.24, sampling_rate=0.05), 20)]  # section 9
    assert epsilon(vips, 1e-4) == pytest.approx(0.93, abs=0.005)
    assert accounting._total(accounting._parts(vips)).rdp_epsilon(1e-4) == pytest.approx(1.21, abs=0.005)
    sampled = [Entry(GaussianRelease(sigma=1.0, sampling_rate=0.1), 50)]  # section 5
    assert epsilon(sampled, D) == pytest.approx(6.0, abs=0.02)


# --- the discrete Gaussian --------------------------------------------------------------------------------------------


def test_the_discrete_gaussian_is_accounted_a_little_below_its_multiplier() -> None:
    event = DiscreteGaussianRelease(scale=1000.0, sensitivity=500.0, cells=40_000, sampling_rate=0.05)
    assert event.sigma == pytest.approx(2 * math.sqrt(1 - 4e-6), rel=1e-12)
    same = GaussianRelease(sigma=event.sigma, sampling_rate=0.05)
    assert epsilon([Entry(event, 300)], D) == pytest.approx(epsilon([Entry(same, 300)], D), rel=1e-12)
    assert costs.cost(event).outside_delta == 40_000 * 5e-34
    assert costs.cost(event).outside_epsilon == 2 * 40_000 * 5e-34


@pytest.mark.parametrize("s", [4, 10])
def test_rounding_a_gaussian_makes_a_discrete_one(s: int) -> None:
    """The claim of the proof, by summation: worst ratio of the two laws (double precision sees 1e-15, not 5e-34)."""
    k = np.arange(-12 * s, 12 * s + 1)
    y = np.linspace(-13 * s, 13 * s, 26 * s * 40 + 1)
    theta = np.exp(-((np.arange(-60, 61)[:, None] - np.modf(y)[0]) ** 2) / 8).sum(axis=0)
    assert np.abs(theta / (2 * math.sqrt(2 * math.pi)) - 1).max() < 1e-14
    kernel = np.exp(-((k[:, None] - y) ** 2) / 8) / theta
    mixed = kernel @ norm.pdf(y, scale=math.sqrt(s * s - 4)) * (y[1] - y[0])
    law = np.exp(-(k**2) / (2 * s * s))
    law /= law.sum()
    near = np.abs(k) < 8 * s
    assert np.abs(mixed / law - 1)[near].max() < 1e-11


def test_for_a_coarse_grid_the_curves_differ_on_the_known_side() -> None:
    """s = 10: the discrete δ is above the Gaussian's of the same s and below that of s² − 4."""
    s, move = 10, 7
    k = np.arange(-400, 400)
    p, q = np.exp(-(k**2) / (2 * s * s)), np.exp(-((k - move) ** 2) / (2 * s * s))
    p, q = p / p.sum(), q / q.sum()
    excess = []
    for eps in np.linspace(0, 4, 200):
        discrete = np.maximum(0, p - math.exp(eps) * q).sum()

        def curve(mu: float, eps: float = float(eps)) -> float:
            return float(norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu))

        assert discrete <= curve(move / math.sqrt(s * s - 4)) * (1 + 1e-9)
        excess.append(discrete / curve(move / s) - 1)
    assert 0.005 < max(excess) < 0.025


# --- Laplace, pure, pairs ---------------------------------------------------------------------------------------------


def test_pairs_of_discrete_laplace() -> None:
    """accounting.proof.md, [pair]: 55.6 by two cells moved by one, 75.7 by one cell moved by two, 101 by sum."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    pairs = [Entry(DiscreteLaplacePair(epsilon=1.0), 101)]
    assert spent(pairs, D).method == "pld"
    assert epsilon(pairs, D) == pytest.approx(55.64, abs=0.05)
    assert epsilon(pairs, 0) == 101
    two = pld.from_discrete_laplace_mechanism(0.5, 2, value_discretization_interval=0.01).self_compose(101)
    assert two.get_epsilon_for_delta(D) == pytest.approx(75.66, abs=0.01)
    same = pld.from_discrete_laplace_mechanism(0.5, 1, value_discretization_interval=0.01).self_compose(202)
    assert epsilon(pairs, D) == pytest.approx(same.get_epsilon_for_delta(D), rel=3e-3)


@pytest.mark.parametrize(("each", "count"), [(0.001, 50), (0.0037, 101), (0.0313, 101), (0.3, 10), (2.0, 3), (3.7, 1)])
def test_two_point_mechanisms_by_the_binomial(each: float, count: int) -> None:
    """Off the grid as well, where dp-accounting's own rounding costs up to 13%."""
    for event, times in ((DiscreteLaplacePair(epsilon=2 * each), 2 * count), (PureRelease(epsilon=each), count)):
        true = two_point_epsilon(each, times, D)
        found = epsilon([Entry(event, count)], D)
        assert true * (1 - 1e-9) <= found <= true * 1.004 + 1e-9


@pytest.mark.parametrize("moved", [(3,), (2, -1), (1, 1, -1)])
def test_a_vector_with_laplace_noise_loses_what_it_moves_in_l1(moved: tuple[int, ...]) -> None:
    """By its law at every place near zero: the worst loss is Σ|Δ|/scale, and no δ hides it."""
    scale, places = 2.5, np.indices((9,) * len(moved)).reshape(len(moved), -1) - 4
    worst = max((np.abs(places - np.array(moved)[:, None]) - np.abs(places)).sum(axis=0)) / scale
    event = DiscreteLaplaceRelease(scale=scale, sensitivity=float(sum(map(abs, moved))), cells=len(moved))
    assert epsilon([Entry(event)], 0) == pytest.approx(worst)
    assert epsilon([Entry(event, 40)], 0) == pytest.approx(40 * worst)
    assert epsilon([Entry(event, 40)], D) < 40 * worst
    assert costs.cost(event).outside_epsilon == 2 * len(moved) * costs.SAMPLING_RATIO


def test_laplace_by_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    oracle = pld.from_laplace_mechanism(5.0, value_discretization_interval=1e-3).self_compose(30)
    assert epsilon([Entry(LaplaceRelease(scale=5.0), 30)], D) == pytest.approx(
        oracle.get_epsilon_for_delta(D), rel=3e-3
    )


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_the_renyi_curve_of_laplace_by_integration(order: float) -> None:
    b = 2.0
    x = np.linspace(-120, 121, 2_000_001)
    logs = order * -np.abs(x) / b + (1 - order) * -np.abs(x - 1) / b - math.log(2 * b)
    true = math.log(np.trapezoid(np.exp(logs), x)) / (order - 1)
    assert np.interp(order, costs.ORDERS, _curve(LaplaceRelease(scale=b))) == pytest.approx(true, rel=1e-3)


def _curve(event: Event) -> np.ndarray:
    curve = costs.cost(event).rdp
    assert curve is not None
    return curve


# --- bounded-range draws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [0.01, 0.1, 1.0, 10.0, 60.0])
def test_the_curve_of_a_draw_by_search(eta: float) -> None:
    orders = np.array([1.01, 1.5, 2.0, 8.0, 100.0])
    t = np.linspace(0, eta, 40_001)[1:-1][:, None]
    log_q = np.log(-np.expm1(t - eta)) - t - math.log(-math.expm1(-eta))
    log_r = np.log(-np.expm1(-t)) - math.log(-math.expm1(-eta))
    search = (np.logaddexp(log_q + orders * t, log_r + orders * (t - eta)) / (orders - 1)).max(axis=0)
    found = costs.bounded_range_rdp(eta, orders)
    assert (found >= search * (1 - 1e-8)).all()
    assert found == pytest.approx(search, rel=1e-6)
    assert (found <= np.minimum(eta, orders * eta**2 / 8)).all()


@pytest.mark.parametrize("eta", [1e-8, 1e-6, 1e-4])
def test_rounding_does_not_make_a_small_draw_cheaper(eta: float) -> None:
    orders = np.array([1.0001, 1.5, 2.0, 8.0])
    assert costs.bounded_range_rdp(eta, orders) == pytest.approx(orders * eta**2 / 8, rel=1e-7)


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=8),
    st.lists(st.floats(0.01, 1), min_size=8, max_size=8),
    st.floats(0.05, 6),
)
def test_no_draw_exceeds_its_curves(ratios: list[float], weights: list[float], eta: float) -> None:
    """Random pairs of laws whose log-ratios span exactly η, against the Rényi curve and the distribution's curve."""
    low, high = min(ratios), max(ratios)
    if high - low < 1e-3:
        return
    log_ratio = np.array([(r - low) / (high - low) * eta for r in ratios])
    q = np.array(weights[: len(ratios)])
    q /= q.sum()
    log_ratio -= math.log(float(np.exp(log_ratio) @ q))  # so that p sums to one; still spans η
    p = q * np.exp(log_ratio)
    orders = np.array([1.1, 2.0, 10.0])
    true = [math.log(float(p**a @ q ** (1 - a))) / (a - 1) for a in orders]
    assert (np.array(true) <= costs.bounded_range_rdp(eta, orders) * (1 + 1e-9) + 1e-12).all()
    for eps in np.linspace(-eta, eta, 9):
        bound = math.expm1((eps - eta) / 2) ** 2 / -math.expm1(-eta)
        assert np.maximum(0, p - math.exp(eps) * q).sum() <= bound + 1e-12


def test_hundred_draws_of_the_paper_are_no_protection() -> None:
    """accounting.proof.md, [bounded-range-rdp]: ε_I = 10, T = 100: 810 by Rényi, 1000 by sum, 1513 by zCDP."""
    draws = [Entry(BoundedRangeDraw(eta=10.0), 100)]
    assert spent(draws, D).method == "rdp"
    assert epsilon(draws, D) == pytest.approx(810.3, abs=0.5)
    assert epsilon(draws, 0) == 1000
    rho = 100 * 10**2 / 8
    assert rho + 2 * math.sqrt(rho * math.log(1 / D)) == pytest.approx(1512.8, abs=0.1)
    assert accounting._total(accounting._parts(draws)).pld_epsilon(D) == pytest.approx(883, abs=2)


@pytest.mark.parametrize(("eta", "draws"), [(0.01, 1000), (0.1, 100), (1.0, 100), (3.0, 20)])
def test_renyi_is_never_above_zcdp(eta: float, draws: int) -> None:
    """So zCDP needs no way of its own."""
    rho = draws * eta**2 / 8
    usual = rho + 2 * math.sqrt(rho * math.log(1 / D))
    assert accounting._total(((BoundedRangeDraw(eta=eta), draws),)).rdp_epsilon(D) < usual


def test_a_mixed_ledger_takes_the_best_way() -> None:
    def ways(eta: float) -> tuple[accounting.Spent, list[float]]:
        entries = [Entry(DiscreteLaplacePair(epsilon=1.0), 101), Entry(BoundedRangeDraw(eta=eta), 100)]
        parts = accounting._parts(entries)
        all_ways = [way.epsilon for way in accounting._total(parts).ways(D)]
        return spent(entries, D), [*all_ways, accounting._split(parts, D).epsilon]

    small, all_small = ways(0.1)
    assert small.epsilon == min(all_small)
    assert small.method == "pld"
    assert small.epsilon == pytest.approx(55.9, abs=0.1)
    assert all_small[3] == pytest.approx(59.0, abs=0.1)
    large, all_large = ways(30.0)
    assert large.epsilon == min(all_large)
    assert large.method in ("pld + rdp", "pld + pure", "rdp")


# --- the vocabulary ---------------------------------------------------------------------------------------------------


def test_a_vocabulary_adds_its_threshold_outside() -> None:
    event = ThresholdedVocabulary(sigma=8.0, delta_threshold=4e-7, max_words=50)
    base = epsilon([Entry(GaussianRelease(sigma=8.0))], D - 4e-7)
    assert epsilon([Entry(event)], D) == pytest.approx(base - math.log1p(-4e-7), rel=1e-9)
    assert epsilon([Entry(event, 2)], D) > epsilon([Entry(GaussianRelease(sigma=8.0), 2)], D - 8e-7)
    assert epsilon([Entry(event, 3)], D) == math.inf  # 1.2e-6 of δ are gone before any noise
    assert delta([Entry(event)], 10) == pytest.approx(4e-7, rel=1e-3)
    assert delta([Entry(event)], 0) == 1


def test_the_vocabulary_bound_on_a_toy_case() -> None:
    """One unit alone has one word; another word is shared. Exact curves, both ways, against the bound."""
    sigma, limit = 1.0, 3.0  # weight 1/√2 each
    weight, others = 1 / math.sqrt(2), 2.5
    shared_with, shared_without = (float(norm.sf(limit, loc=others + x, scale=sigma)) for x in (weight, 0.0))
    new = float(norm.sf(limit, loc=weight, scale=sigma))  # that it passes, and would give the unit away
    with_unit = {(a, b): _bernoulli(shared_with, a) * _bernoulli(new, b) for a in (0, 1) for b in (0, 1)}
    without = {(a, b): _bernoulli(shared_without, a) * (1 - b) for a in (0, 1) for b in (0, 1)}
    for eps in np.linspace(0, 3, 40):
        inside = max(0.0, float(eps) + math.log1p(-new))
        mu = weight / sigma
        gaussian = norm.cdf(mu / 2 - inside / mu) - math.exp(inside) * norm.cdf(-mu / 2 - inside / mu)
        for p, q in ((with_unit, without), (without, with_unit)):
            assert sum(max(0.0, p[o] - math.exp(eps) * q[o]) for o in p) <= gaussian + new + 1e-12


def _bernoulli(p: float, outcome: int) -> float:
    return p if outcome else 1 - p


# --- numerics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [300, 10_000])
def test_rounding_of_distributions_stays_within_its_allowance(count: int) -> None:
    """Unmerged compositions of Gaussians against the exact curve."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    sigma = math.sqrt(count)
    step = 2.0 ** math.floor(math.log2(1 / sigma / accounting.GRID))
    composed = pld.from_gaussian_mechanism(sigma, value_discretization_interval=step).self_compose(count)
    grid = np.linspace(0, 9, 200)
    true = norm.cdf(0.5 - grid) - np.exp(grid) * norm.cdf(-0.5 - grid)
    found = np.array([composed.get_delta_for_epsilon(float(e)) for e in grid])
    assert (found + accounting.ROUNDING * (count + 8) >= true).all()


def test_where_rounding_rules_other_theories_speak() -> None:
    entries = [Entry(GaussianRelease(sigma=50.0, sampling_rate=0.5), 10_000)]
    assert spent(entries, 1e-12).method == "rdp"
    assert spent(entries, 1e-9).method == "pld"


def test_hopeless_noise_is_answered_at_once() -> None:
    assert epsilon([Entry(GaussianRelease(sigma=1e-3))], D) > 5e5
    assert math.isfinite(epsilon([Entry(GaussianRelease(sigma=0.01, sampling_rate=0.5), 1000)], D))


def test_dp_accounting_is_loaded_only_when_needed() -> None:
    script = """
import sys
from discreet.privacy.ledger import Ledger, Budget
assert "numpy" not in sys.modules
from discreet.privacy import accounting, calibrate
assert "dp_accounting" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# --- noise as it is drawn ---------------------------------------------------------------------------------------------


def exact_delta(event: DiscreteGaussianRelease, at: float) -> float:
    """Of one release, by the formulas of the proof and the exact curve of a Gaussian."""
    mu, kappa = 1 / event.sigma, event.cells * 5e-34
    inside = at - 2 * kappa
    curve = norm.cdf(mu / 2 - inside / mu) - math.exp(inside + norm.logcdf(-mu / 2 - inside / mu))
    return float(curve + kappa + (1 + math.exp(at)) * event.cells * 2.0**-159)


@pytest.mark.parametrize("sensitivity", [5.0, 6.0, 7.5, 9.0])
@pytest.mark.parametrize("cells", [10**4, 10**12])
def test_sampling_is_paid_for_at_any_epsilon(sensitivity: float, cells: int) -> None:
    """ε from 35 to 82. Before, only n·5·10⁻³⁴ was set aside, which is enough up to ε = 33: with 10¹² cells the true δ
    was 1.003·10⁻⁶ at ε = 63, and 0.9 at ε = 82."""
    event = DiscreteGaussianRelease(scale=65536.0, sensitivity=sensitivity * 65536, cells=cells)
    found = epsilon([Entry(event)], D)
    if found == math.inf:
        assert min(exact_delta(event, at) for at in np.arange(30.0, 120.0, 0.25)) > 0.9 * D
    else:
        assert found > 30
        assert exact_delta(event, found) <= D * (1 + 1e-9)
        assert exact_delta(event, found * 0.998) > D
        assert delta([Entry(event)], found) >= exact_delta(event, found) * (1 - 1e-9)


def test_where_sampling_takes_all_of_delta_nothing_is_finite() -> None:
    """Multiplier 0.1, ε = 97 by the exact curve: 10⁸ values may differ from their law with probability 7·10⁻⁴¹, and
    e^97 times that is 10²."""
    event = DiscreteGaussianRelease(scale=4096.0, sensitivity=40960.0, cells=10**8)
    assert epsilon([Entry(event)], D) == math.inf
    assert delta([Entry(event)], 97.0) == 1
    assert delta([Entry(event)], 1e6) == 1  # no overflow


@pytest.mark.parametrize("asked", [30.0, 40.0, 60.0, 100.0, 1000.0])
def test_calibration_stays_where_sampling_is_covered(asked: float) -> None:
    """The proof says: up to 76 at δ = 10⁻⁶ for 10⁸ values."""
    found = gaussian(Budget(asked, D), cells=10**8, scale=65536.0)
    ((event, count),) = [(entry.event, entry.count) for entry in found.plan]
    assert isinstance(event, DiscreteGaussianRelease)
    assert count == 1
    assert exact_delta(event, found.epsilon) <= D * (1 + 1e-9)
    assert 0.99 * min(asked, 76.0) <= found.epsilon <= min(asked, 77.0)


def test_the_distance_is_that_of_the_sampler() -> None:
    assert costs.SAMPLING_DISTANCE == noise_tables.DISTANCE


def test_draws_and_pairs_have_an_epsilon_however_large() -> None:
    """Discrete Laplace noise is drawn within a factor of its law, so nothing grows with ε."""
    entries = [Entry(DiscreteLaplacePair(epsilon=2.0), 101), Entry(BoundedRangeDraw(eta=10.0), 100)]
    assert 800 < epsilon(entries, D) < 1300


# --- the proof --------------------------------------------------------------------------------------------------------


def code_hash(source: str) -> str:
    """Of the code without its docstrings and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:7]


def test_the_proof_is_about_this_code() -> None:
    source, proof = Path(costs.__file__).read_text("utf-8"), PROOF.read_text("utf-8")
    assert f"code hash {code_hash(source)}," in proof, "the costs have changed: read the proof again, then its hash"
    tags: Sequence[str] = re.findall(r"^## `(\[[a-z-]+\])`", proof, re.MULTILINE)
    assert len(tags) >= 6
    for tag in tags:
        assert source.count(tag) == 1, tag


def test_the_hash_sees_a_change() -> None:
    source = Path(costs.__file__).read_text("utf-8")
    assert code_hash(source) == code_hash(source + "\n# a remark\n")
    assert code_hash(source) != code_hash(source.replace("2 * drift", "3 * drift"))


@pytest.mark.parametrize(
    ("event", "mu"),
    [
        (PureRelease(epsilon=1e-9), 1e-9),
        (LaplaceRelease(scale=1e9), 1e-9),
        (BoundedRangeDraw(eta=1e-9), 0.5e-9),
        (GaussianRelease(sigma=100.0, sampling_rate=1e-7), 1e-9),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Event) else "",
)
def test_many_tiny_events_do_not_cost_nothing(event: Event, mu: float) -> None:
    """10¹⁸ of them are a Gaussian of this μ·10⁹, whose ε is above μ·10⁹; a curve that rounds to 0 would give 0."""
    n = 10**18
    assert accounting.epsilon([Entry(event, n, "tiny")], 1e-6) > mu * math.sqrt(n)
