"""Counts, weights, likelihood and the priors' fixed points against direct formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma, gammaln

from discreet.corpus import lda_corpus
from discreet.kernels.sums.counts import (
    alpha_statistics,
    beta_statistics,
    count_topics,
    log_likelihood,
    padded,
    rising_sum,
    sampling_weights,
    topic_totals,
)
from discreet.models.lda import LDA


def bodies(function):
    """The compiled function and its Python body."""
    return pytest.mark.parametrize("kernel", [function, function.py_func], ids=["compiled", "python"])


def table(n_words=7, n_topics=5, seed=0, dtype=np.int32):
    """Counts, word × topic. Some cells are large, one topic is empty."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.3, 40.0, (n_words, n_topics))).astype(dtype)
    counts[0, 0], counts[:, -1] = 6_000, 0
    return counts


@pytest.mark.parametrize(("n_topics", "width"), [(1, 16), (15, 16), (16, 16), (17, 32), (1000, 1008)])
def test_rows_are_padded_to_sixteen(n_topics, width):
    assert padded(n_topics) == width


# --- counting -------------------------------------------------------------------------------------------------------


@bodies(count_topics)
def test_count_topics(kernel):
    """Adds to what is there, and only the tokens in the range."""
    rng = np.random.default_rng(1)
    words, topics = rng.integers(0, 6, 300).astype(np.int32), rng.integers(0, 20, 300).astype(np.uint16)
    expected = np.ones((6, 20), np.int32)
    np.add.at(expected, (words[20:250], topics[20:250]), 1)
    counts = np.ones(6 * 20, np.int32)
    kernel(words, topics, 20, 250, 20, counts)
    assert_array_equal(counts.reshape(6, 20), expected)


@bodies(topic_totals)
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_topic_totals(kernel, dtype):
    counts = table(dtype=dtype)
    assert_array_equal(kernel(counts), counts.sum(axis=0))


# --- weights --------------------------------------------------------------------------------------------------------


@bodies(sampling_weights)
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("each_cell", [False, True], ids=["one prior", "a prior for each cell"])
def test_sampling_weights(kernel, dtype, each_cell):
    """(statistic + prior) · scale in double precision, rounded once; the padding and other words stay as they are."""
    counts = table(dtype=dtype)
    rng = np.random.default_rng(3)
    prior = rng.uniform(0.01, 0.5, (7, 5) if each_cell else (1, 1))
    scale = 1 / (counts.sum(axis=0) + 0.3)
    weights = np.zeros((7, 16), np.float32)
    kernel(counts, prior, scale, 2, 6, weights)
    assert_array_equal(weights[2:6, :5], ((counts + prior) * scale).astype(np.float32)[2:6])
    assert not weights[:, 5:].any()
    assert not weights[[0, 1, 6]].any()


# --- likelihood -----------------------------------------------------------------------------------------------------


def dirichlet_multinomial(counts, prior):
    """log p(w | z) of Griffiths and Steyvers (2004), Eq. 2; ``counts`` and ``prior`` are word × topic."""
    ends = gammaln(prior.sum(axis=0)) - gammaln((counts + prior).sum(axis=0))
    return float(ends.sum() + (gammaln(counts + prior) - gammaln(prior)).sum())


@bodies(log_likelihood)
@pytest.mark.parametrize("size", [0, 1, 50, 10_000], ids=lambda n: f"table of {n}")
def test_log_likelihood_with_one_prior(kernel, size):
    counts, beta = table(), 0.07
    lookup = gammaln(np.arange(size) + beta) - gammaln(beta)
    found = kernel(counts, counts.sum(axis=0).astype(float), np.array([[beta]]), lookup)
    assert_allclose(found, dirichlet_multinomial(counts, np.full(counts.shape, beta)), rtol=1e-12)


@bodies(log_likelihood)
def test_log_likelihood_with_a_prior_for_each_cell(kernel):
    counts = table(seed=4)
    prior = np.random.default_rng(5).uniform(0.01, 2.0, (7, 5))
    found = kernel(counts, counts.sum(axis=0).astype(float), prior, np.empty(0))
    assert_allclose(found, dirichlet_multinomial(counts, prior), rtol=1e-12)


# --- priors ---------------------------------------------------------------------------------------------------------


@bodies(rising_sum)
def test_rising_sum(kernel):
    """ψ(n + a) − ψ(a), over the change from the sum to the series at n = 32."""
    for prior in (1e-5, 0.01, 0.1, 1.0, 7.3, 1e3):
        for n in (0, 1, 2, 31, 32, 33, 34, 100, 12_345, 10**7):
            assert_allclose(kernel(float(n), prior), digamma(n + prior) - digamma(prior), rtol=1e-11, atol=1e-12)


@bodies(alpha_statistics)
def test_alpha_statistics(kernel):
    rng = np.random.default_rng(6)
    lengths, alpha = [4, 0, 90, 1, 30, 8], np.array([0.03, 0.4, 1.7])
    offsets = np.r_[0, np.cumsum(lengths)]
    topics = rng.integers(0, 3, offsets[-1]).astype(np.uint16)
    found = np.full(3, 10.0)
    denominator = kernel(offsets, topics, 1, 5, alpha, found)
    n_dk = np.array([np.bincount(topics[offsets[d] : offsets[d + 1]], minlength=3) for d in range(1, 5)])
    assert_allclose(found - 10, (digamma(n_dk + alpha) - digamma(alpha)).sum(axis=0), rtol=1e-12)
    assert_allclose(denominator, (digamma(n_dk.sum(axis=1) + 2.13) - digamma(2.13)).sum(), rtol=1e-12)


@bodies(beta_statistics)
def test_beta_statistics(kernel):
    counts = table(seed=7)
    found = kernel(counts, 0.02)
    assert_allclose(found, (digamma(counts + 0.02) - digamma(0.02)).sum(), rtol=1e-12)


@pytest.fixture(scope="module")
def known():
    """A corpus from symmetric priors α = 0.3 and β = 0.2, with 800 · 4 and 4 · 60 proportions to learn them from."""
    return lda_corpus(800, 60, 4, mean_length=80, alpha=0.3, beta=0.2, seed=8)


def learnt(known, **options):
    return LDA(4, n_sweeps=200, n_average=1, evaluate_every=0, random_state=9, **options).fit(known.corpus)


@pytest.mark.parametrize(("algorithm", "within"), [("sampled", 0.25), ("collapsed", 0.35)])
def test_learnt_alpha_is_the_one_that_made_the_corpus(known, algorithm, within):
    """Within a quarter for each topic, from a start three times too small or too large.

    800 known proportions would give α_k a standard error of 3.7%. The rest is the fixed point, which after 19 steps has
    come most of the way (0.28 to 0.30 from below, 0.33 to 0.35 from above). Collapsed steps have 0.35 to 0.38: a
    document's counts are scattered independently of each other.
    """
    for start in (0.1, 0.9):
        alpha = learnt(known, alpha=start, beta=0.2, learn_alpha=True, algorithm=algorithm).alpha_
        assert_allclose(alpha, 0.3, rtol=within)
    assert_array_equal(learnt(known, alpha=0.1).alpha_, np.full(4, 0.1))


@pytest.mark.parametrize(("algorithm", "within"), [("sampled", 0.4), ("collapsed", 0.6)])
def test_learnt_beta_is_the_one_that_made_the_corpus(known, algorithm, within):
    """Within 40%, from a start four times too small or too large.

    Four known topics would give β a standard error of 7%. Frozen sweeps add a bias: 15% to 35% too high on six such
    corpora, where collapsed Gibbs with the same fixed point stayed within 12%. A stray token keeps its own count in φ̃
    and so stays astray more often, and a β that explains stray tokens is larger. Expected counts give every word a
    small share in every topic: 50% too high.
    """
    for start in (0.05, 0.8):
        model = learnt(known, alpha=0.3, beta=start, learn_beta=True, algorithm=algorithm)
        assert model.beta_ == pytest.approx(0.2, rel=within)
    assert learnt(known, beta=0.05).beta_ == 0.05


def test_alpha_follows_unequal_topics():
    """Half of the documents hold topic 0 only: its α grows beyond the others'."""
    counts = np.zeros((300, 20), int)
    rng = np.random.default_rng(10)
    counts[:200, :10] = rng.poisson(3, (200, 10))
    counts[200:, 10:] = rng.poisson(3, (100, 10))
    model = LDA(2, learn_alpha=True, n_sweeps=100, random_state=0).fit(counts)
    large = int(model.components_[:, :10].sum(axis=1).argmax())
    assert model.alpha_[large] > 1.3 * model.alpha_[1 - large]
