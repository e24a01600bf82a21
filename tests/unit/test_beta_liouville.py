"""Beta-Liouville: density, moments and posterior means against quadrature, draws, and the Dirichlet inside it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import dirichlet

from discreet import InputError
from discreet.models.beta_liouville import BetaLiouville

PRIOR = BetaLiouville(np.array([1.5, 2.5]), a=1.7, beta=2.2)
DIRICHLET = BetaLiouville(np.array([0.4, 1.3, 2.0]), a=3.7, beta=0.9)
"""a = Λ."""


def grid(prior, steps=400):
    """Points of the simplex of three entries, and the mass of the density around each: Gauss and Legendre in u and in
    y, where θ = (u·y, u·(1 − y), 1 − u) has the Jacobian u. Nothing here knows that u and y are independent."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    nodes, weights = (nodes + 1) / 2, weights / 2
    u, y = np.meshgrid(nodes, nodes)
    points = np.stack([u * y, u * (1 - y), 1 - u], axis=-1).reshape(-1, 3)
    return points, np.exp(prior.log_density(points)) * (np.outer(weights, weights) * u).ravel()


def test_the_density_adds_to_one_and_has_these_moments():
    points, mass = grid(PRIOR)
    assert mass.sum() == pytest.approx(1, rel=1e-4)
    assert_allclose(mass @ points, PRIOR.mean(), rtol=1e-4)
    moved = points - PRIOR.mean()
    assert_allclose((moved * mass[:, None]).T @ moved, PRIOR.covariance(), rtol=1e-3)
    assert (np.linalg.eigvalsh(PRIOR.covariance())[1:] > 0).all()
    assert_allclose(PRIOR.covariance().sum(axis=0), 0, atol=1e-15)


def test_draws_have_these_moments():
    """A hundred thousand draws: within five standard errors of the mean, and of each product."""
    rng = np.random.default_rng(4)
    for prior in (PRIOR, DIRICHLET, BetaLiouville(np.array([0.2, 0.3, 0.1, 0.4]), a=6.0, beta=3.0)):
        drawn = prior.sample(100_000, rng)
        assert_allclose(drawn.sum(axis=1), 1)
        products = np.einsum("ni,nj->nij", drawn - prior.mean(), drawn - prior.mean())
        for values, expected in ((drawn, prior.mean()), (products, prior.covariance())):
            error = values.std(axis=0) / np.sqrt(len(values))
            assert (np.abs(values.mean(axis=0) - expected) <= 5 * error).all()


def test_entries_can_rise_together():
    """The covariance of a Dirichlet vector is never positive."""
    assert BetaLiouville(np.array([50.0, 50.0]), a=1.0, beta=1.0).covariance()[0, 1] > 0


def test_the_posterior_is_bayes_rule():
    """By quadrature: prior times the chance of the counts, normalised."""
    counts = np.array([2, 0, 3])
    points, mass = grid(PRIOR)
    weighed = mass * np.prod(points**counts, axis=1)
    weighed /= weighed.sum()
    assert_allclose(PRIOR.posterior(counts).mean(), weighed @ points, rtol=1e-3)
    assert_allclose(PRIOR.posterior_mean(counts), weighed @ points, rtol=1e-3)
    assert_allclose(
        np.exp(PRIOR.posterior(counts).log_density(points[::997])), _density(points[::997], counts), rtol=1e-3
    )


def _density(theta, counts):
    points, mass = grid(PRIOR)
    evidence = (mass * np.prod(points**counts, axis=1)).sum()
    return np.exp(PRIOR.log_density(theta)) * np.prod(theta**counts, axis=1) / evidence


def test_posterior_means_are_the_weights_of_a_sweep():
    """Up to one factor per document: n_k + α_k, and for the last (n_K + β)·(Λ + n_{<K}) / (a + n_{<K})."""
    counts = np.random.default_rng(2).integers(0, 9, (20, 3))
    seen = counts[:, :-1].sum(axis=1)
    weights = np.c_[counts[:, :-1] + PRIOR.alpha, (counts[:, -1] + 2.2) * (4.0 + seen) / (1.7 + seen)]
    assert_allclose(PRIOR.posterior_mean(counts), weights / weights.sum(axis=1, keepdims=True))


def test_with_a_equal_to_the_sum_it_is_a_dirichlet():
    whole = np.array([0.4, 1.3, 2.0, 0.9])
    theta = np.random.default_rng(3).dirichlet(np.ones(4), 50)
    assert_allclose(DIRICHLET.log_density(theta), [dirichlet.logpdf(row, whole) for row in theta])
    assert_allclose(DIRICHLET.mean(), dirichlet.mean(whole))
    assert_allclose(DIRICHLET.covariance(), dirichlet.cov(whole))
    counts = np.array([[3, 0, 1, 5], [0, 0, 0, 0]])
    expected = (counts + whole) / (counts + whole).sum(axis=1, keepdims=True)
    assert_allclose(DIRICHLET.posterior_mean(counts), expected)


@pytest.mark.parametrize("change", [{"a": 0.0}, {"beta": np.inf}, {"alpha": [1.0, -1.0]}, {"alpha": []}, {"a": np.nan}])
def test_parameters_must_be_positive(change):
    with pytest.raises(InputError, match="positive and finite"):
        BetaLiouville(**{"alpha": np.ones(2), "a": 1.0, "beta": 1.0, **change})
