"""Symmetric noise in d³ cells, seen through W: the short way to draw it has the law of the long way.

The covariance is compared with the one that follows from the cells themselves, to rounding. Then both ways are drawn.
With y = C^-½·T for draws T of covariance C, Σ y² over n draws of m entries is χ² with nm degrees of freedom. Each test
below fails a right draw with probability ALPHA; the chance to catch a wrong covariance is computed where it is used.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, norm

from discreet._random import Key
from discreet.corpus import lda_corpus
from discreet.models.spectral.published.edges import Configured
from discreet.models.spectral.published.mirrored import mirrored_covariance, on_each_side, projected_noise
from discreet.models.spectral.tensor import from_unique, unique_places
from discreet.models.spectral.unbiased import LdaMoments

D, K, DRAWS, ALPHA = 6, 3, 4_000, 1e-6


def basis_of(d, k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, k)))[0]


def contracted(table):
    """The linear map from the cells a ≤ b ≤ c to the entries i ≤ j ≤ h of E(W, W, W), column by column."""
    d, k = table.shape
    columns = []
    for cell in np.eye(len(unique_places(d)[0])):
        whole = np.einsum("abc,ai,bj,ch->ijh", from_unique(cell, d), table, table, table, optimize=True)
        columns.append(whole[unique_places(k)])
    return np.array(columns).T


@pytest.mark.parametrize(("d", "k"), [(2, 1), (4, 2), (6, 3), (4, 4), (7, 4)])
def test_the_covariance_is_that_of_the_cells(d, k):
    basis = basis_of(d, k, seed=d + k)
    cells = contracted(basis)
    assert_allclose(mirrored_covariance(basis), cells @ cells.T, atol=1e-12)


def test_whitening_acts_on_each_side():
    basis, values = basis_of(D, K), np.array([3.0, 0.5, 0.01])
    cells = contracted(basis / np.sqrt(values))
    scaled = on_each_side(np.ones((K, K, K)), values**-0.5)[unique_places(K)]
    assert_allclose(scaled[:, None] * mirrored_covariance(basis) * scaled, cells @ cells.T, rtol=1e-9)


def statistic(draws, covariance):
    return float((np.linalg.solve(np.linalg.cholesky(covariance), draws.T) ** 2).sum())


def bounds(n):
    return chi2.ppf(ALPHA / 2, n), chi2.isf(ALPHA / 2, n)


def short_way(basis):
    """As the code draws it."""
    run = Configured(LdaMoments(lda_corpus(5, 4, 2, mean_length=9).corpus, 1.0), K, Key.from_seed(11))
    m = len(unique_places(K)[0])
    normals = run.normals(DRAWS * m).reshape(DRAWS, m)
    return np.array([projected_noise(basis, one)[unique_places(K)] for one in normals])


def long_way(basis):
    """Explicitly, in all cells."""
    rng = np.random.default_rng(12)
    cells = rng.standard_normal((DRAWS, len(unique_places(D)[0])))
    whole = np.array([from_unique(one, D) for one in cells])
    seen = np.einsum("nabc,ai,bj,ch->nijh", whole, basis, basis, basis, optimize=True)
    return seen[(slice(None), *unique_places(K))]


WRONG = {
    "as if all d³ cells were independent": lambda basis: np.diag([1.0 / m for m in multiplicities()]),
    "without the cells of equal indices": lambda basis: np.diag([6.0 / m for m in multiplicities()]),
}


def multiplicities():
    """Of the symmetrised tensor: cells that share an entry."""
    i, j, h = unique_places(K)
    return np.array([6, 3, 1])[(i == j).astype(int) + (j == h)]


@pytest.mark.parametrize("way", [short_way, long_way], ids=["short", "long"])
def test_both_ways_have_the_covariance_of_the_lemma(way):
    basis = basis_of(D, K)
    draws, covariance = way(basis), mirrored_covariance(basis)
    low, high = bounds(draws.size)
    assert low < statistic(draws, covariance) < high
    for entry, variance in zip(draws.T, np.diag(covariance), strict=True):  # and each entry by itself
        low, high = bounds(DRAWS)
        assert low < float((entry**2).sum()) / variance < high


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_covariance_is_caught(wrong):
    """The chance to miss it, from mean and variance of the statistic under the true covariance, is below 1e-6."""
    basis = basis_of(D, K)
    true, false = mirrored_covariance(basis), wrong(basis)
    ratio = np.linalg.solve(false, true)
    mean, deviation = DRAWS * np.trace(ratio), np.sqrt(2 * DRAWS * np.trace(ratio @ ratio))
    low, high = bounds(DRAWS * len(true))
    assert norm.cdf((high - mean) / deviation) - norm.cdf((low - mean) / deviation) < 1e-6
    assert not low < statistic(short_way(basis), false) < high


def test_independent_cells_need_no_colouring():
    """E with d³ independent cells: E(Q, Q, Q) has independent entries of the same variance. Exact."""
    basis = basis_of(D, K)
    kronecker = np.kron(np.kron(basis, basis), basis)
    assert_allclose(kronecker.T @ kronecker, np.eye(K**3), atol=1e-12)
