"""Decomposition and whitening: exact moments give back exactly the topics that they came from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discreet import InputError
from discreet.evaluation import match_topics
from discreet.models.spectral.moments import Whitening, check_rank, smoothed, to_simplex
from discreet.models.spectral.tensor import decompose, from_unique, unique_places

methods = pytest.mark.parametrize("method", ["power", "simultaneous"])


def odeco(values, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))[0]
    return np.einsum("r,ir,jr,hr->ijh", values, basis, basis, basis), basis


def distance(found, basis):
    """From each true vector to the nearest found."""
    return (1 - (basis.T @ found.vectors).max(axis=1)).max()


@methods
@pytest.mark.parametrize(
    "values",
    [np.array([5.0]), np.arange(8, 0, -1.0), np.ones(12), 1 + 1e-9 * np.arange(10), np.geomspace(1000, 1, 20)],
    ids=["one", "apart", "equal", "nearly equal", "wide"],
)
def test_orthogonal_tensors_are_taken_apart(method, values):
    tensor, basis = odeco(values)
    found = decompose(tensor, method=method)
    assert found.converged
    assert distance(found, basis) < 1e-10
    assert_allclose(np.sort(found.values), np.sort(values), rtol=1e-9)
    assert found.share == pytest.approx(1)


@methods
def test_noise_moves_the_vectors_by_little(method):
    """Symmetric noise of spectral norm about 2√k·σ against λ = 1: the vectors move by that order."""
    k, sigma = 10, 0.005
    tensor, basis = odeco(np.ones(k))
    noise = np.random.default_rng(1).standard_normal(len(unique_places(k)[0])) * sigma
    found = decompose(tensor + from_unique(noise, k), method=method)
    assert found.converged
    assert distance(found, basis) < (2 * np.sqrt(k) * sigma) ** 2
    assert 0.95 < found.share < 1


@methods
def test_fewer_components_than_dimensions_leave_values_of_zero(method):
    tensor, basis = odeco(np.array([3.0, 2.0, 1.0, 0.0, 0.0]))
    found = decompose(tensor, method=method)
    assert_allclose(found.values, [3, 2, 1, 0, 0], atol=1e-9)
    assert (1 - (basis[:, :3].T @ found.vectors).max(axis=1)).max() < 1e-10
    assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-10)


def test_a_tensor_with_nan_is_refused():
    with pytest.raises(InputError, match="not finite"):
        decompose(np.full((2, 2, 2), np.nan))


def exact(topics, alpha):
    """M₁, E₂ and the Dirichlet part of E₃, from the definition of the Dirichlet distribution."""
    total, k = alpha.sum(), len(alpha)
    second = (np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1))
    third = np.einsum("i,j,h->ijh", alpha, alpha, alpha)
    for i in range(k):
        for j in range(k):
            third[i, i, j] += alpha[i] * alpha[j]
            third[i, j, i] += alpha[i] * alpha[j]
            third[j, i, i] += alpha[i] * alpha[j]
        third[i, i, i] += 2 * alpha[i]
    third /= total * (total + 1) * (total + 2)
    return alpha / total @ topics, topics.T @ second @ topics, third


def recovered(topics, alpha, *, wrong=False, power=-0.35, method="power"):
    first, second, third = exact(topics, alpha)
    alpha0, d, k = alpha.sum(), topics.shape[1], len(alpha)
    weights = (first * d) ** power
    matrix = second - alpha0 / (alpha0 + 1) * np.outer(first, first)
    values, vectors = np.linalg.eigh(weights[:, None] * matrix * weights)
    whitening = Whitening(vectors[:, ::-1][:, :k], values[::-1][:k], weights)
    seen = topics @ whitening.table
    triples = np.einsum("abc,ai,bj,ch->ijh", third, seen, seen, seen, optimize=True)[unique_places(k)]
    tensor = whitening.tensor(triples, first, alpha0)
    if wrong:  # Lemma 3 as printed: 1/(α₀+2) instead of α₀/(α₀+2)
        mean = whitening.table.T @ first
        part = np.einsum("ij,h->ijh", np.eye(k) + alpha0 / (alpha0 + 1) * np.outer(mean, mean), mean)
        three = part + part.transpose(0, 2, 1) + part.transpose(2, 0, 1)
        tensor = tensor + (alpha0 - 1) / (alpha0 + 2) * three
    return whitening.recover(decompose(tensor, method=method), alpha0)


@methods
@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("k", "d"), [(5, 50), (5, 1000), (20, 200)])
def test_exact_moments_give_back_the_topics(k, d, alpha0, method):
    rng = np.random.default_rng(k + d)
    topics, alpha = rng.dirichlet(np.full(d, 0.1), k) + 1e-6, alpha0 * rng.dirichlet(np.full(k, 5.0))
    topics /= topics.sum(axis=1, keepdims=True)
    found = recovered(topics, alpha, method=method)
    order = match_topics(topics, to_simplex(found.topics)).order
    assert_allclose(found.topics[order], topics, atol=1e-8)
    assert_allclose(found.alpha[order], alpha, rtol=1e-7)


def test_equal_topics_sizes_are_no_harder():
    rng = np.random.default_rng(0)
    topics, alpha = rng.dirichlet(np.full(60, 0.2), 8), np.full(8, 0.125)
    found = recovered(topics, alpha)
    assert match_topics(topics, to_simplex(found.topics)).distances.max() < 1e-8


def test_the_printed_coefficient_is_wrong():
    """With the paper's Lemma 3 the topics are not those of the model, unless α₀ = 1."""
    rng = np.random.default_rng(0)
    topics, shape = rng.dirichlet(np.full(50, 0.1), 5), rng.dirichlet(np.full(5, 5.0))
    for alpha0, right in ((1.0, True), (0.1, False), (10.0, False)):
        found = recovered(topics, alpha0 * shape, wrong=True)
        error = match_topics(topics, to_simplex(found.topics)).distances.max()
        assert (error < 1e-8) == right


def test_weights_of_words_change_nothing_that_is_exact():
    rng = np.random.default_rng(3)
    topics, alpha = rng.dirichlet(np.full(40, 0.3), 4), np.array([0.1, 0.2, 0.3, 0.4])
    a, b = (recovered(topics, alpha, power=power).topics for power in (0.0, -0.8))
    order = match_topics(to_simplex(a), to_simplex(b)).order
    assert_allclose(a, b[order], atol=1e-9)


def test_too_few_eigenvalues_are_told():
    with pytest.raises(InputError, match="3 usable eigenvalues, so 5 topics"):
        check_rank(np.array([1.0, 0.5, 0.1, 1e-12, -0.2]), 5)
    check_rank(np.array([1.0, 0.5, 0.1]), 3)


def test_topics_become_probabilities():
    rows = to_simplex(np.array([[0.7, 0.5, -0.2], [0.2, 0.3, 0.5]]))
    assert_allclose(rows, [[0.7 / 1.2, 0.5 / 1.2, 0], [0.2, 0.3, 0.5]])
    assert_allclose(smoothed(rows, np.full(3, 1 / 3), 0.1).sum(axis=1), 1)
