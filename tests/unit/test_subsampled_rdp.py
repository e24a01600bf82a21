"""ε_sub of Huang and Chen 2021: its Theorem 3.1 is exact, its Table 3 lost a term, and its Lemma 4.1 is false."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from discreet import InputError
from discreet.models.subsampled.rules import frequent_cells
from discreet.privacy.subsampled import (
    TABLE_3,
    adaptive_epsilon,
    as_approximate,
    efficiency_privacy,
    lemma_5_1,
    round_epsilon,
    sampled_epsilon,
    subsampled_rdp,
    table_3_rdp,
)

ORDER, EPSILON = 14, 2.0
EXACT = {0.1: 0.0465, 0.3: 0.7719, 0.5: 1.2809, 0.7: 1.6273, 0.9: 1.8895, 1.0: 2.0}


def by_integration(order, epsilon, rate):
    """D_α of (1−γ)N(0,σ²) + γN(1,σ²) from N(0,σ²), without any formula for it."""
    sigma = math.sqrt(order / (2 * epsilon))

    def moment(x):
        ratio = (1 - rate) + rate * math.exp((2 * x - 1) / (2 * sigma**2))
        return math.exp(order * math.log(ratio) - x * x / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

    return math.log(quad(moment, -30, 60, limit=500, points=[0, 1, order])[0]) / (order - 1)


@pytest.mark.parametrize(("rate", "exact"), EXACT.items())
def test_theorem_3_1_is_the_exact_divergence(rate, exact):
    from dp_accounting.rdp import rdp_privacy_accountant

    found = subsampled_rdp(ORDER, EPSILON, rate)
    assert found == pytest.approx(exact, abs=5e-5)
    assert found == pytest.approx(by_integration(ORDER, EPSILON, rate), rel=1e-9)
    sigma = math.sqrt(ORDER / (2 * EPSILON))
    (theirs,) = rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(rate, sigma, [ORDER])
    assert found == pytest.approx(theirs, rel=1e-9)


def test_table_3_lost_the_last_term():
    """Printed to two digits, sometimes rounded and sometimes cut; far from the exact value from γ = 0.3 on."""
    for rate, printed in TABLE_3.items():
        assert table_3_rdp(ORDER, EPSILON, rate) == pytest.approx(printed, abs=0.01)
        if 0.1 < rate < 1:
            assert subsampled_rdp(ORDER, EPSILON, rate) > printed + 0.04
    gap = [subsampled_rdp(ORDER, EPSILON, rate) - printed for rate, printed in TABLE_3.items()]
    assert max(gap) == pytest.approx(0.26, abs=0.01)


@pytest.mark.parametrize("order", [2, 3, 5, 14, 40])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_lemma_4_1_is_false(order, epsilon):
    """I never falls; and its stationarity condition, (1+α)·g_α = α·g_{α−1}, holds nowhere."""
    rates = np.linspace(0.001, 1, 500)
    curve = np.log([efficiency_privacy(order, epsilon, rate) for rate in rates])
    assert (np.diff(curve) > 0).all()
    sigma2 = order / (2 * epsilon)
    for rate in rates[::25]:
        g = [
            math.exp((a - 1) * subsampled_rdp(a, a / (2 * sigma2), rate)) if a > 1 else 1.0 for a in (order - 1, order)
        ]
        assert (1 + order) * g[1] > order * g[0]


def test_the_maximum_of_figure_1_comes_from_the_lost_term():
    rates = np.linspace(0.01, 1, 400)
    curve = [efficiency_privacy(ORDER, EPSILON, rate, drop_last=True) for rate in rates]
    peak = int(np.argmax(curve))
    assert 0.5 < rates[peak] < 0.99
    assert curve[-1] == 0


def test_the_noise_of_a_total_and_the_conversion():
    for rate in (0.1, 1.0):
        one = round_epsilon(ORDER, 10.0, rate, 100)
        assert 9.999999 < 100 * subsampled_rdp(ORDER, one, rate) <= 10.0
    from dp_accounting.rdp import rdp_privacy_accountant

    assert as_approximate(14, 4.6, 1e-6) == pytest.approx(rdp_privacy_accountant.compute_epsilon([14], [4.6], 1e-6)[0])


@pytest.mark.parametrize(("order", "epsilon", "rate"), [(1, 2, 0.1), (14, -1, 0.1), (14, 2, 0), (14, 2, 1.1)])
def test_bad_numbers(order, epsilon, rate):
    with pytest.raises(InputError, match="whole order"):
        subsampled_rdp(order, epsilon, rate)


def test_sampling_tokens_hides_no_document():
    """50 tokens, each sampled at γ = 0.1, those that are clipped as one: the document is there in 99.5% of rounds.

    Where all its tokens lie in one cell, a round is the subsampled Gaussian of rate 1 − 0.9^50, exactly.
    """
    from discreet.privacy import Entry, accounting
    from discreet.privacy.events import GaussianRelease

    there, claimed = (
        accounting.epsilon([Entry(GaussianRelease(sigma=1.0, sampling_rate=rate), 50)], 1e-6)
        for rate in (1 - 0.9**50, 0.1)
    )
    assert there == pytest.approx(57.5, rel=0.01)
    assert claimed == pytest.approx(5.99, rel=0.01)


# --- Lemma 5.1 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5])
def test_eq_19_is_the_worst_loss_of_a_sampled_count(epsilon, rate):
    """One token more or less, counted if its coin says so, with geometric noise: by its law, at every outcome."""
    decay = math.exp(-epsilon)

    def law(y, count):
        return (1 - decay) / (1 + decay) * decay ** abs(y - count)

    losses = [math.log(((1 - rate) * law(y, 0) + rate * law(y, 1)) / law(y, 0)) for y in range(-40, 41)]
    assert max(losses) == pytest.approx(sampled_epsilon(epsilon, rate))
    assert -min(losses) <= max(losses) + 1e-12


def test_lemma_5_1_follows_from_eq_19_and_20():
    """By 1 + vx ≤ v(1 + x); far from tight, and at η = ¼ above what M costs without any sampling."""
    for epsilon in (0.01, 0.5, 2.0, 8.0):
        for share, eta in ((0.5, 1.0), (0.5, 0.25), (0.9, 0.5)):
            assert sampled_epsilon(epsilon, 0.1 / (eta * share)) < lemma_5_1(epsilon, 0.1, share, eta)
    assert lemma_5_1(2.0, 0.1, 0.5, 0.25) == pytest.approx(0.494 + math.log(8), abs=1e-3)
    assert lemma_5_1(2.0, 0.1, 0.5, 0.25) > 2.0


def test_lemma_5_1_is_false_where_rates_depend_on_the_documents():
    """Neighbours whose frequent word changes, and the loss of a noisy count of sampled tokens, by the law itself."""
    n, rate, epsilon = 6, 0.2, 1.0
    frequent, without = (frequent_cells(np.array([[first], [float(n)]]), 0.5)[:, 0] for first in (float(n), n - 1.0))
    assert frequent.tolist() == [True, False]
    assert without.tolist() == [False, True]
    decay = math.exp(-epsilon)
    far = range(-5, 60)
    binomial = [math.comb(n, b) * rate**b * (1 - rate) ** (n - b) for b in range(n + 1)]
    losses = [math.log(sum(p * decay ** abs(y - b) for b, p in enumerate(binomial)) / decay ** abs(y)) for y in far]
    assert max(losses) == pytest.approx(adaptive_epsilon(epsilon, rate, n))
    assert max(losses) > lemma_5_1(epsilon, 0.1, 0.5, 1.0)  # 1.77 against 0.85, with six tokens of each word
