"""Fold-in, completion and evidence under a Beta-Liouville prior, against definition and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, gammaln

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet.engines.threads.documents import MAX_STEPS, TOLERANCE, evidences, mixtures
from discreet.evaluation import completion, fold_in_perplexity
from discreet.kernels.measures.evidence import left_to_right
from discreet.kernels.measures.likelihood import mix_documents
from discreet.kernels.sweeps.shuffle import shuffle_documents
from discreet.models.beta_liouville import BetaLiouville
from tests.support.enumeration import corpus_of

V = 4
ALPHA = np.array([0.4, 0.7, 0.5])
DIRICHLET = float(ALPHA[:-1].sum())
RESTS = pytest.mark.parametrize("rest", [0.1, 9.0])
TOPICS = np.random.default_rng(8).dirichlet(np.ones(V), 3)
DOCUMENTS = [[0], [1, 1], [0, 2, 1, 3], [2, 2, 0, 2, 2], []]


def fold_in(tokens, rest):
    """Token by token: θ is what the prior's posterior would give the next draw, counts being expected ones."""
    prior = BetaLiouville(ALPHA[:-1], rest, ALPHA[-1])
    theta = np.full(len(TOPICS), 1 / len(TOPICS))
    for _ in range(MAX_STEPS):
        q = theta * TOPICS[:, tokens].T
        new = prior.posterior_mean((q / q.sum(axis=1, keepdims=True)).sum(axis=0))
        moved, theta = np.abs(new - theta).sum(), new
        if moved < TOLERANCE:
            break
    return theta


@RESTS
def test_fold_in_is_the_posterior_mean_given_expected_counts(rest):
    corpus = corpus_of(*DOCUMENTS, n_words=V)
    found = mixtures(TOPICS, ALPHA, corpus, alpha_rest=rest)
    expected = [fold_in(words, rest) for words in DOCUMENTS]
    assert_allclose(found, expected, rtol=1e-9)
    assert_allclose(found[-1], BetaLiouville(ALPHA[:-1], rest, ALPHA[-1]).mean())
    assert np.abs(found - mixtures(TOPICS, ALPHA, corpus)).max() > 0.05
    assert_array_equal(mixtures(TOPICS, ALPHA, corpus, alpha_rest=DIRICHLET), mixtures(TOPICS, ALPHA, corpus))


@RESTS
def test_fold_in_climbs_to_a_mode(rest):
    """It is EM for the mode of θ under BL(α + 1; a + K − 1; β + 1): no θ nearby is better."""
    tokens = np.repeat(DOCUMENTS[2], 5)
    prior = BetaLiouville(ALPHA[:-1] + 1, rest + len(ALPHA) - 1, ALPHA[-1] + 1)

    def height(theta):
        return prior.log_density(theta) + np.log(theta @ TOPICS[:, tokens]).sum()

    found = mixtures(TOPICS, ALPHA, corpus_of(tokens, n_words=V), alpha_rest=rest)[0]
    rng = np.random.default_rng(1)
    for _ in range(200):
        near = found * np.exp(rng.normal(0, 0.02, len(found)))
        assert height(near / near.sum()) < height(found)


@RESTS
def test_completion_scores_the_second_half_under_the_fold_in_of_the_first(rest):
    documents = [[0, 2, 1, 3, 3], [2, 2, 0, 2], [1, 1]]
    corpus = corpus_of(*documents, n_words=V)
    found = completion(TOPICS, corpus, alpha=ALPHA, alpha_rest=rest, random_state=7)
    words = corpus.words.copy()
    shuffle_documents(words, corpus.offsets, Key.from_seed(7).words, np.uint32(Purpose.COMPLETION_SPLIT), np.uint32(0))
    for d in range(2):
        tokens = words[corpus.offsets[d] : corpus.offsets[d + 1]]
        half = len(tokens) // 2
        expected = np.log(fold_in(tokens[:half], rest) @ TOPICS[:, tokens[half:]]).sum()
        assert found.per_document[d] == pytest.approx(expected, rel=1e-9)
    whole = [np.log(fold_in(words, rest) @ TOPICS[:, words]).sum() for words in documents]
    assert fold_in_perplexity(TOPICS, corpus, alpha=ALPHA, alpha_rest=rest) == pytest.approx(np.exp(-sum(whole) / 11))
    same, dirichlet = (completion(TOPICS, corpus, alpha=ALPHA, alpha_rest=r) for r in (DIRICHLET, None))
    other = completion(TOPICS, corpus, alpha=ALPHA, alpha_rest=rest)
    assert same.perplexity == dirichlet.perplexity != other.perplexity


def test_what_is_no_weight_of_the_rest_is_refused():
    corpus = corpus_of([0, 1, 2, 3], n_words=V)
    for rest in (0.0, -1.0, np.inf, np.nan, "much"):
        with pytest.raises(InputError, match="alpha_rest"):
            completion(TOPICS, corpus, alpha=ALPHA, alpha_rest=rest)
    with pytest.raises(InputError, match="two topics"):
        completion(TOPICS[:1], corpus, alpha=0.1, alpha_rest=0.1)


# --- evidence -------------------------------------------------------------------------------------------------------


def enumerated(words, rest):
    """p(words) over all topics of all tokens, θ integrated out: Γ(Λ)/Γ(Λ + n_{<K}) · Π Γ(α_k + n_k)/Γ(α_k) of the first
    topics, and B(a + n_{<K}, β + n_K)/B(a, β)."""
    total = 0.0
    for topics in product(range(len(ALPHA)), repeat=len(words)):
        n = np.bincount(topics, minlength=len(ALPHA))
        inner = n[:-1].sum()
        log_chance = gammaln(DIRICHLET) - gammaln(DIRICHLET + inner)
        log_chance += (gammaln(ALPHA + n) - gammaln(ALPHA))[:-1].sum()
        log_chance += betaln(rest + inner, ALPHA[-1] + n[-1]) - betaln(rest, ALPHA[-1])
        total += np.exp(log_chance) * np.prod(TOPICS[list(topics), list(words)])
    return total


@RESTS
def test_evidence_against_enumeration(rest):
    """A hundred thousand particles: about 0.3% of the evidence is the error that chance would make."""
    corpus = corpus_of(*DOCUMENTS, n_words=V)
    found = np.exp(evidences(TOPICS, ALPHA, corpus, 1, alpha_rest=rest, n_particles=100_000))[:, 0]
    expected = [enumerated(words, rest) for words in DOCUMENTS]
    assert_allclose(found, expected, rtol=0.01)
    dirichlet = [enumerated(words, DIRICHLET) for words in DOCUMENTS]
    assert np.abs(np.divide(expected, dirichlet) - 1).max() > 0.05  # the priors differ by more
    assert_allclose(found[0], expected[0], rtol=1e-12)  # one token: nothing is drawn


def test_evidence_of_few_particles_is_unbiased():
    """The mean of many estimates with three particles each, which are drawn anew within the document."""
    word_topics, rest = np.ascontiguousarray(TOPICS.T), 0.1
    document, repeats = corpus_of([0, 1, 0, 2, 3, 1], n_words=V), 40_000
    uniform = np.random.default_rng(1).random((repeats, document.n_tokens, 4))
    found = np.empty((repeats, 1, 1))
    for i in range(repeats):
        left_to_right(
            word_topics, document.words, document.offsets, 0, 1, ALPHA, rest - DIRICHLET, uniform[i], found[i]
        )
    estimates = np.exp(found[:, 0, 0])
    error, expected = estimates.std() / np.sqrt(repeats), enumerated(document.words, rest)
    assert error < 0.005 * expected
    assert abs(estimates.mean() - expected) < 5 * error


# --- compiled and Python --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("excess", [-1.0, 0.0, 4.0])
def test_compiled_measures_equal_their_python_bodies(excess):
    corpus = corpus_of(*DOCUMENTS, n_words=V)
    given = (np.ascontiguousarray(TOPICS.T), corpus.words.copy(), corpus.offsets, 0, corpus.n_documents, ALPHA, excess)
    thetas = np.empty((2, corpus.n_documents, 3))
    uniform, found = np.random.default_rng(1).random((5, 9)), np.empty((2, corpus.n_documents, 1))
    for i, (mix, evidence) in enumerate(
        ((mix_documents, left_to_right), (mix_documents.py_func, left_to_right.py_func))
    ):
        mix(*given, TOLERANCE, MAX_STEPS, thetas[i])
        evidence(*given, uniform, found[i])
    assert_allclose(thetas[0], thetas[1], rtol=1e-13)
    assert_allclose(found[0], found[1], rtol=1e-12)
