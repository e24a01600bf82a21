"""Bounds of audits: against other implementations, and on mechanisms whose ε is known exactly.

**Chances.** Coverage is tested on randomised response that is exactly ε-private: each of N audits is wrong with
probability at most γ, so the number of wrong ones is at most Binomial(N, γ), whose quantile at 1e-6 is the limit. Each
test says what a bound that is too eager would do.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from discreet import InputError
from discreet.attacks.audit import bounds, shares
from discreet.attacks.audit.bounds import Test as Threshold

ALPHA = 1e-6


@pytest.fixture(scope="module")
def oracle():
    from jax_privacy import auditing

    return auditing


# --- many runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (512, 5000)])
def test_clopper_and_pearson(hits, n):
    low, high = bounds.at_least(hits, n, 0.01), bounds.at_most(hits, n, 0.01)
    assert low == pytest.approx(beta.ppf(0.01, hits, n - hits + 1) if hits else 0.0)
    assert high == pytest.approx(beta.ppf(0.99, hits + 1, n - hits) if hits < n else 1.0)


def test_both_directions_by_hand():
    """Scores 0 and 1: with the canary 1 in 90%, without in 30%. Low scores say more: 10% against 70%."""
    inside, outside = np.repeat([1.0, 0.0], [900, 100]), np.repeat([1.0, 0.0], [300, 700])
    high, low = (
        bounds.many_runs(inside, outside, delta=0.01, failure_probability=0.01, thresholds=[Threshold(0.5, above)])
        for above in (True, False)
    )
    assert high.epsilon == pytest.approx(
        math.log((beta.ppf(0.005, 900, 101) - 0.01) / beta.ppf(0.995, 301, 700)), abs=1e-9
    )
    assert low.epsilon == pytest.approx(
        math.log((beta.ppf(0.005, 700, 301) - 0.01) / beta.ppf(0.995, 101, 900)), abs=1e-9
    )
    assert low.epsilon > high.epsilon > 0
    both = bounds.many_runs(inside, outside, delta=0.01, failure_probability=0.02, thresholds=[high.test, low.test])
    assert both.epsilon == low.epsilon  # two tests share 0.02


def test_many_runs_agree_with_jax_privacy(oracle):
    """At one threshold that was fixed in advance, its bound (high scores) is ours."""
    generator = np.random.default_rng(3)
    inside, outside = generator.normal(1.5, 1, 4000), generator.normal(0, 1, 4000)
    theirs = oracle.CanaryScoreAuditor(inside, outside).epsilon_clopper_pearson(
        0.01, 1e-3, one_sided=True, threshold_strategy=oracle.Explicit(1.0)
    )
    ours = bounds.many_runs(inside, outside, delta=1e-3, failure_probability=0.01, thresholds=[Threshold(1.0, True)])
    assert ours.epsilon == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("thresholds", ["split", "all"])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_many_runs_are_rarely_wrong(thresholds, delta):
    """Randomised response with ε = 1 (and, with δ, the bit itself with probability δ). 400 audits with γ = 0.05: more
    than 44 wrong ones have probability below 1e-6."""
    epsilon, gamma, n_audits = 1.0, 0.05, 400
    generator = np.random.default_rng(11)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def scores(bit: int) -> np.ndarray:
        told = generator.random(400) < delta
        answer = np.where(generator.random(400) < keep, bit, 1 - bit)
        return np.where(told, 10.0 * (2 * bit - 1), answer) + 0.01 * generator.random(400)

    found = [
        bounds.many_runs(scores(1), scores(0), delta=delta, failure_probability=gamma, thresholds=thresholds).epsilon
        for _ in range(n_audits)
    ]
    assert sum(e > epsilon for e in found) <= binom.ppf(1 - ALPHA, n_audits, gamma)
    assert np.median(found) > 0.25  # and it says something


def test_wrong_scores_are_refused():
    with pytest.raises(InputError, match="at least 20 runs"):
        bounds.many_runs(np.zeros(5), np.zeros(50), delta=0.0, failure_probability=0.1)
    with pytest.raises(InputError, match="not a number"):
        bounds.many_runs(np.full(50, np.nan), np.zeros(50), delta=0.0, failure_probability=0.1)
    with pytest.raises(InputError, match="failure_probability"):
        bounds.many_runs(np.zeros(50), np.zeros(50), delta=0.0, failure_probability=0.0)
    with pytest.raises(InputError, match="delta"):
        bounds.many_runs(np.zeros(50), np.zeros(50), delta=1.0, failure_probability=0.1)
    with pytest.raises(InputError, match="thresholds"):
        bounds.many_runs(np.zeros(50), np.zeros(50), delta=0.0, failure_probability=0.1, thresholds="best")


# --- several canaries in each of many runs ----------------------------------------------------------------------------


def test_means_of_bounded_numbers_are_rarely_wrong():
    """2,000 bounds with γ = 0.05: more than 150 wrong ones have probability below 1e-6."""
    generator = np.random.default_rng(5)
    wrong = 0
    for _ in range(2000):
        values = (generator.random(100) < 0.03).astype(float)
        wrong += shares.mean_at_least(values, 0.05) > 0.03
    assert wrong <= binom.ppf(1 - ALPHA, 2000, 0.05)
    values = generator.random((5000, 40)).mean(axis=1)
    assert 0.49 < shares.mean_at_least(values, 1e-3) < values.mean() < shares.mean_at_most(values, 1e-3) < 0.51


def test_canaries_that_hang_together_deceive_nobody():
    """All canaries of a run share one coin of randomised response. At most γ = 0.05 of the audits may be wrong: of 200,
    more than 27 have probability below 1e-6. Counted one by one, canaries give more wrong ones than that."""
    epsilon, generator = 0.5, np.random.default_rng(8)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = naive = 0
    for _ in range(200):
        bits = generator.random((200, 20)) < 0.5
        honest = generator.random((200, 1)) < keep
        wrong += (
            shares.many_canaries(
                np.where(honest, bits, ~bits).astype(float), bits, delta=0.0, failure_probability=0.05
            ).epsilon
            > epsilon
        )
        scores = np.where(honest, bits, ~bits).astype(float)
        naive += bounds.many_runs(scores[bits], scores[~bits], delta=0.0, failure_probability=0.05).epsilon > epsilon
    assert wrong <= binom.ppf(1 - ALPHA, 200, 0.05) < naive


def test_independent_canaries_are_worth_their_number():
    generator = np.random.default_rng(9)
    bits = generator.random((1000, 100)) < 0.5
    found = shares.many_canaries(generator.normal(bits, 1.0), bits, delta=1e-5, failure_probability=1e-3)
    assert 1.1 < found.epsilon < bounds.gaussian_epsilon(1.0, 1e-5)


# --- one run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "most"), [(128, 2.9), (1000, 5.0), (10_000, 7.3)])
def test_all_guesses_right(n, most):
    """q^n = 0.001 solved for q, and the bound by the curve is not weaker without δ."""
    exact = math.log(0.001 ** (1 / n) / -math.expm1(math.log(0.001) / n))
    assert bounds.one_run(n, n, n, failure_probability=0.001) == pytest.approx(exact, abs=2e-4)
    assert most - 0.1 < exact < most
    assert bounds.one_run_by_curve(n, n, n, failure_probability=0.001) == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize(
    ("m", "k", "right", "delta"), [(1000, 1000, 700, 0.0), (1000, 200, 170, 1e-5), (5000, 500, 450, 1e-6)]
)
def test_one_run_agrees_with_jax_privacy(oracle, m, k, right, delta):
    for epsilon in (0.3, 0.8, 1.5):
        theirs = oracle._one_run_p_value(m, k, right, epsilon, delta)
        assert bounds.one_run_p_value(m, k, right, epsilon, delta) == pytest.approx(theirs, rel=1e-6, abs=1e-15)
    if delta:
        theirs = oracle._epsilon_one_run_fdp(0.0001, m, k, right, 0.01, delta)
        mu = bounds.one_run_gaussian(m, k, right, failure_probability=0.01)
        assert bounds.gaussian_epsilon(mu, delta) == pytest.approx(theirs, abs=2e-3)


def test_one_run_is_rarely_wrong_about_randomised_response():
    """m bits, each answered truthfully with probability q: the number of right guesses is Binomial(m, q) exactly, so
    the probability of a wrong bound is computed, not simulated."""
    m, gamma = 500, 0.05
    for epsilon in (0.5, 2.0):
        q = math.exp(epsilon) / (1 + math.exp(epsilon))
        for bound in (bounds.one_run, bounds.one_run_by_curve):
            rights = np.arange(int(m * q) - 10, m + 1)
            first = next(v for v in rights if bound(m, m, int(v), failure_probability=gamma) > epsilon)
            chance = binom.sf(first - 1, m, q)
            assert chance <= gamma
            assert chance > gamma / 2.5  # and it is tight


def test_one_run_is_rarely_wrong_about_gaussian_noise():
    """Guesses by the sign of N(±μ/2, 1): right with probability Φ(μ/2), independently. Exact, as above."""
    m, gamma, mu = 500, 0.05, 1.0
    first = next(v for v in range(300, m + 1) if bounds.one_run_gaussian(m, m, v, failure_probability=gamma) > mu)
    chance = binom.sf(first - 1, m, norm.cdf(mu / 2))
    assert 0 < chance <= gamma  # far below: the curve also allows noise that all canaries share


def test_abstaining_helps():
    """The surest guesses of N(b·μ, 1) refute more than all of them."""
    generator = np.random.default_rng(2)
    bits = generator.random(20_000) < 0.5
    scores = generator.normal(np.where(bits, 0.5, -0.5), 1.0)
    found = {
        k: bounds.one_run_by_curve(
            20_000, k, bounds.right_guesses(scores, bits, k), delta=1e-9, failure_probability=1e-3
        )
        for k in (20_000, 1000)
    }
    assert found[1000] > found[20_000] > 0.5


def test_impossible_guesses_are_refused():
    for m, k, right in ((10, 20, 5), (10, 5, 6), (10, 0, 0), (10, 5, -1)):
        with pytest.raises(InputError, match="guess"):
            bounds.one_run(m, k, right, failure_probability=0.1)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_epsilon_of_gaussian_noise(mu):
    from dp_accounting import get_epsilon_gaussian

    assert bounds.gaussian_epsilon(mu, 1e-5) == pytest.approx(get_epsilon_gaussian(1 / mu, 1e-5), abs=1e-3)
    assert bounds.gaussian_epsilon(0.0, 1e-5) == 0
    assert bounds.gaussian_epsilon(mu, 0.0) == math.inf


def test_a_curve_is_its_best_points():
    points = np.array([0.0, 0.5, 2.0]), np.array([0.3, 0.1, 0.001])
    whole = bounds.curve(*points)
    for share in np.linspace(0, 1, 21):
        each = [bounds.approximate(e, d)(share) for e, d in zip(*points, strict=True)]
        assert whole(share) == pytest.approx(max(each))


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_the_family_of_plain_gaussian_noise(mu):
    """The accountant's curve is that of Gaussian noise, from below; scaling a release scales μ."""
    from discreet.attacks.audit import family
    from discreet.privacy.events import DiscreteGaussianRelease, Entry

    entries = (Entry(DiscreteGaussianRelease(scale=16384.0, sensitivity=16384.0 * mu, cells=1)),)
    for share in (0.01, 0.2, 0.7, 0.99):
        found, exact = family.trade_off(entries)(share), bounds.gaussian(mu)(share)
        assert 0.8 * exact - 1e-4 < found <= exact * (1 + 1e-6)
    halved = family.least_epsilon(entries, 1e-5, lambda inverse: inverse(0.5) > bounds.gaussian(mu / 2)(0.5))
    assert halved == pytest.approx(bounds.gaussian_epsilon(mu / 2, 1e-5), rel=0.05)
    assert not family.is_family(())
