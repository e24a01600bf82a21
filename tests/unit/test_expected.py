"""Statistics of expected counts: at whole numbers those of counts, and between them where they should be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln
from scipy.stats import poisson

from discreet.kernels.sums.counts import log_likelihood, topic_totals
from discreet.kernels.sums.expected import (
    counts_of_sums,
    expected_beta_statistics,
    expected_log_likelihood,
    expected_rising_sum,
    whole_alpha_statistics,
)


@pytest.mark.parametrize("prior", [0.01, 0.1, 2.0])
@pytest.mark.parametrize("n", [1e-9, 1e-3, 0.3, 1.0, 4.7, 60.0, 5000.0])
def test_the_sum_of_a_poisson_number(n, prior):
    """Within 5% of the exact mean; the function at the mean itself is up to 1/prior times as large."""
    x = np.arange(poisson.ppf(1 - 1e-12, n) + 2)
    exact = float(poisson.pmf(x, n) @ (digamma(x + prior) - digamma(prior)))
    assert expected_rising_sum(n, prior) == pytest.approx(exact, rel=0.05)
    if n <= 1e-3 and prior < 1:
        assert digamma(n + prior) - digamma(prior) > 5 * exact
    assert expected_rising_sum(0.0, prior) == 0


def test_statistics_are_sums_over_cells():
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.2, 5.0, (7, 4)) * (rng.random((7, 4)) < 0.7)
    wanted = sum(expected_rising_sum(n, 0.2) for n in counts.ravel())
    assert expected_beta_statistics(counts, 0.2) == pytest.approx(wanted)
    alpha, whole = np.array([0.1, 0.5, 2.0]), rng.poisson(2.0, (9, 16)).astype(np.float32)
    lengths, numerators = np.array([0, 5, 9, 4, 3, 8, 2, 1, 70]), np.zeros(3)
    whole[0] = 0
    below = whole_alpha_statistics(whole, lengths, 0, 9, alpha, numerators)
    assert_allclose(numerators, (digamma(whole[:, :3] + alpha) - digamma(alpha)).sum(axis=0), rtol=1e-9)
    assert below == pytest.approx((digamma(lengths + 2.6) - digamma(2.6)).sum())


@pytest.mark.parametrize("seeded", [False, True], ids=["one beta", "each word"])
def test_likelihood_is_interpolated_between_whole_counts(seeded):
    rng = np.random.default_rng(2)
    prior = rng.uniform(0.05, 2, (30, 3)) if seeded else np.array([[0.3]])
    low = rng.poisson(20.0, (30, 3)).astype(np.int32)
    low[:4] = 0
    high = low.copy()
    high[11, 1] += 1
    table = np.empty(0) if seeded else gammaln(np.arange(16) + 0.3) - gammaln(0.3)
    totals = topic_totals(high)
    at_low, at_high = (log_likelihood(counts, totals, prior, table) for counts in (low, high))
    for share in (0.0, 0.25, 0.9):
        between = expected_log_likelihood(low + share * (high - low), totals, prior, table)
        assert between == pytest.approx(at_low + share * (at_high - at_low), rel=1e-12)


def test_counts_of_sums():
    sums = np.arange(32, dtype=np.uint32).reshape(2, 16)
    sums[1, 2] = 2**32 - 1
    counts = np.full((2, 3), -1.0)
    counts_of_sums(sums, np.array([4.0, 2.0], np.float32), 0, 2, counts)
    assert_allclose(counts, [[0, 0.25, 0.5], [8, 8.5, (2**32 - 1) / 2]], rtol=0)
