"""max over θ of log p(d | θ, φ): against scipy's optimiser, against its own bound, and against its Python body."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet._errors import InputError
from discreet.corpus import Corpus
from discreet.evaluation.best_mixture import best_log_likelihood
from discreet.kernels.measures.best_mixture import best_mixtures


def example(n_topics: int, seed: int = 0, sparse: bool = False) -> tuple[np.ndarray, Corpus]:
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(60, 0.05 if sparse else 0.5), n_topics)
    topics = np.maximum(topics, 1e-9)
    topics /= topics.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(n_topics, 0.2), 25)
    lengths = rng.integers(1, 400, 25)
    counts = np.stack([rng.multinomial(n, row @ topics) for n, row in zip(lengths, theta, strict=True)])
    return topics, Corpus.from_counts(counts)


def by_scipy(topics: np.ndarray, counts: np.ndarray) -> float:
    """SLSQP on the simplex, from three starts."""
    used = counts > 0
    phi, n = topics[:, used], counts[used].astype(float)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        mass = np.maximum(theta @ phi, 1e-300)
        return float(-(n @ np.log(mass)) / n.sum()), -(phi @ (n / mass)) / n.sum()

    k = len(topics)
    starts = [np.full(k, 1 / k), *np.random.default_rng(1).dirichlet(np.ones(k), 2)]
    one = {"type": "eq", "fun": lambda theta: theta.sum() - 1, "jac": lambda theta: np.ones(k)}
    options = {"maxiter": 1000, "ftol": 1e-14}
    found = [
        minimize(loss, s, jac=True, bounds=[(0, 1)] * k, constraints=[one], method="SLSQP", options=options)
        for s in starts
    ]
    thetas = [np.maximum(one.x, 0) / np.maximum(one.x, 0).sum() for one in found]
    return max(float(n @ np.log(np.maximum(theta @ phi, 1e-300))) for theta in thetas)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_topics", [1, 2, 7, 25])
def test_it_is_the_maximum_that_scipy_finds(n_topics: int, sparse: bool) -> None:
    topics, corpus = example(n_topics, sparse=sparse)
    found = best_log_likelihood(topics, corpus, tolerance=1e-4)
    theirs = [by_scipy(topics, row) for row in corpus.to_counts().toarray()]
    assert (found.gap <= 1e-4).all()
    assert (found.log_likelihood >= np.array(theirs) - 2e-4).all()  # never below, and by the gap never above the truth
    assert np.allclose(found.log_likelihood, theirs, rtol=0, atol=2e-3)


def test_the_gap_bounds_what_is_missing() -> None:
    """After few steps the result is too low, by the gap at most."""
    topics, corpus = example(7)
    exact = best_log_likelihood(topics, corpus, tolerance=1e-6, max_steps=20_000).log_likelihood
    rough = best_log_likelihood(topics, corpus, tolerance=1e-6, max_steps=3)
    missing = exact - rough.log_likelihood
    assert (missing >= -1e-6).all()
    assert (missing <= rough.gap + 1e-6).all()
    assert (missing > 0.01).any()


def test_theta_is_where_the_maximum_is() -> None:
    topics, corpus = example(7)
    found = best_log_likelihood(topics, corpus)
    assert np.allclose(found.theta.sum(axis=1), 1)
    counts = corpus.to_counts().toarray()
    assert np.allclose((counts * np.log(found.theta @ topics)).sum(axis=1), found.log_likelihood)


def test_threads_change_nothing_and_empty_documents_are_certain() -> None:
    topics, corpus = example(5)
    counts = np.vstack([corpus.to_counts().toarray(), np.zeros(60, int)] * 4)
    many = Corpus.from_counts(counts)
    one, two = (best_log_likelihood(topics, many, n_threads=n) for n in (1, 2))
    assert (one.log_likelihood == two.log_likelihood).all()
    assert one.log_likelihood[-1] == 0.0
    assert one.gap[-1] == 0.0


def test_the_python_body_gives_the_same() -> None:
    topics, corpus = example(4)
    counts = corpus.to_counts()
    phi = np.ascontiguousarray(topics.T)
    words, offsets = counts.indices.astype(np.int32), counts.indptr.astype(np.int64)
    results = []
    for run in (best_mixtures, best_mixtures.py_func):
        out = np.empty((25, 4)), np.empty(25), np.empty(25)
        run(phi, words, counts.data.astype(float), offsets, 0, 25, 0.01, 50, *out)
        results.append(out)
    for ours, plain in zip(*results, strict=True):
        assert np.allclose(ours, plain, rtol=1e-12, atol=1e-12)  # the compiler's pow and log may differ in the last bit


def test_topics_that_are_no_probabilities_are_refused() -> None:
    topics, corpus = example(4)
    with pytest.raises(InputError, match="sum to 1"):
        best_log_likelihood(topics * 2, corpus)
