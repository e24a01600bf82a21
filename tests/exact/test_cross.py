"""CrossLDA's sweep, tables and evidence against enumeration on tiny documents of two collections."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, gammaln
from scipy.stats import chi2, ncx2

from discreet import CrossLBLA
from discreet._random import Key
from discreet.corpus.collections import product_corpus
from discreet.engines import open_sweeps
from discreet.engines.threads import documents
from discreet.engines.threads.documents import evidences
from discreet.kernels.measures.evidence import left_to_right
from discreet.kernels.sums.collections import add_totals, mix_words
from discreet.models.beta_liouville import BetaLiouville
from discreet.models.cross.tables import CrossPriors, CrossTables, CrossWeights
from discreet.release.collections import MixedTopics
from tests.support.enumeration import ALPHA_ERROR, corpus_of, pearson

K, V, C = 2, 3, 2
ALPHA = np.array([0.4, 0.7])
PRIORS = CrossPriors(beta=0.3, beta_collection=0.2, gamma0=1.5, gamma1=0.5)
LIOUVILLE = CrossPriors(
    np.array([0.3, 0.5, 0.2]), np.array([0.1, 0.2, 0.4]), 1.5, 0.5, beta_rest=0.15, beta_collection_rest=2.5
)


def some_counts(seed=3):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (C, V, K))
    return counts, counts * rng.random((C, V, K))


def joint_law(words, c, start, tables, alpha_rest=None):
    """Chance of each outcome (z, x) of a sweep over one document, token by token, as the model is written: a topic from
    the document, a coin from ψ, a word from φ or σ. Shape (K,) * length + (2,) * length."""
    document = BetaLiouville(ALPHA[:-1], ALPHA[:-1].sum() if alpha_rest is None else alpha_rest, ALPHA[-1])
    n = len(words)
    chances = np.zeros((K,) * n + (2,) * n)
    for outcome in product(range(K), repeat=n):
        for coins in product(range(2), repeat=n):
            topics, chance = list(start), 1.0
            for i, word in enumerate(words):
                others = document.posterior_mean(np.bincount(topics[:i] + topics[i + 1 :], minlength=K))
                psi = tables.switch[c]
                both = np.array([(1 - psi) * tables.common[word], psi * tables.own[c, word]]) * others
                chance *= both[coins[i], outcome[i]] / both.sum()
                topics[i] = outcome[i]
            chances[outcome + coins] = chance
    return chances


@pytest.mark.parametrize(
    ("priors", "alpha_rest"), [("PRIORS", None), ("LIOUVILLE", 3.0)], ids=["CrossLDA", "CrossLBLA"]
)
def test_one_sweep_draws_by_the_law_of_the_model(priors, alpha_rest):
    """One sweep of the engine over thousands of copies of two documents with the same words, in two collections.

    Pearson's statistic: right code fails with probability 1e-6. Code that forgets the collection of a document, or the
    switch (σ alone), or has the other prior of topics, is caught with probability above 0.999, computed below.
    """
    copies, words = 30_000, [0, 1, 0]
    tables = CrossTables.of(*some_counts(), {"PRIORS": PRIORS, "LIOUVILLE": LIOUVILLE}[priors])
    weights, _ = tables.mixed()
    corpus = corpus_of(*[words] * (C * copies), n_words=V)
    engine = open_sweeps(product_corpus(corpus, np.arange(C * copies) % C, C), K, Key.from_seed(5))
    engine.draw_first_topics()
    slots = engine.tokens()
    drawn_from = slots.words.reshape(-1, 3).copy()  # the tokens of a document lie in a secret order
    before = slots.topics.reshape(-1, 3).astype(int)
    engine.sweep(weights.reshape(-1, K), ALPHA, 1, prior=0.0, scale=np.ones(K), alpha_rest=alpha_rest)
    after = engine.tokens().topics.reshape(-1, 3).astype(int)
    only_own = tables._replace(switch=np.full((C, K), 1 - 1e-9))
    score, freedom, far = 0.0, 0, dict.fromkeys(("other collection", "own words only", "other prior"), 0.0)
    for row in np.unique(np.c_[drawn_from, before], axis=0):
        here = (np.c_[drawn_from, before] == row).all(axis=1)
        n, c, slot = here.sum(), row[0] // V, row[:3] % V
        p = joint_law(slot, c, row[3:], tables, alpha_rest).sum(axis=(3, 4, 5)).ravel()
        assert_allclose(p.sum(), 1)
        seen = np.bincount(after[here] @ [4, 2, 1], minlength=8)
        score += pearson(seen, n * p)
        freedom += p.size - 1
        other_rest = 3.0 if alpha_rest is None else None
        others = ((1 - c, tables, alpha_rest), (c, only_own, alpha_rest), (c, tables, other_rest))
        for name, (at, other, rest) in zip(far, others, strict=True):
            wrong = joint_law(slot, at, row[3:], other, rest).sum(axis=(3, 4, 5)).ravel()
            far[name] += pearson(n * wrong, n * p)
    limit = chi2.isf(ALPHA_ERROR, freedom)
    assert score < limit
    for name, distance in far.items():
        assert ncx2.sf(limit, freedom, distance) > 0.999, name


@pytest.mark.parametrize("c", range(C))
def test_coins_are_independent_given_topics_and_have_the_chance_b(c):
    """So that n · B are their expected counts, and no draw needs them."""
    tables = CrossTables.of(*some_counts(), PRIORS)
    _, b = tables.mixed()
    words = [0, 2, 0]
    law = joint_law(words, c, [0, 1, 1], tables)
    for outcome in product(range(K), repeat=3):
        given = law[outcome] / law[outcome].sum()
        ones = [b[c, word, k] for word, k in zip(words, outcome, strict=True)]
        by_coin = [np.array([1 - one, one]) for one in ones]
        assert_allclose(given, np.einsum("i,j,k->ijk", *by_coin), rtol=1e-12)


def test_tables_are_posterior_means():
    counts, own = some_counts()
    tables = CrossTables.of(counts, own, PRIORS)
    for k in range(K):
        shared = [sum(counts[c, w, k] - own[c, w, k] for c in range(C)) for w in range(V)]
        assert_allclose(tables.common[:, k], [(n + 0.3) / (sum(shared) + 3 * 0.3) for n in shared])
        for c in range(C):
            mine = [own[c, w, k] for w in range(V)]
            assert_allclose(tables.own[c, :, k], [(n + 0.2) / (sum(mine) + 3 * 0.2) for n in mine])
            assert_allclose(tables.switch[c, k], (sum(mine) + 0.5) / (counts[c, :, k].sum() + 1.5 + 0.5))


def test_beta_liouville_tables_are_posterior_means():
    """The last word of the vocabulary is the last entry of both priors."""
    counts, own = some_counts()
    tables = CrossTables.of(counts, own, LIOUVILLE)
    common, mine = BetaLiouville(np.array([0.3, 0.5]), 0.15, 0.2), BetaLiouville(np.array([0.1, 0.2]), 2.5, 0.4)
    assert_allclose(tables.common.T, common.posterior_mean((counts - own).sum(axis=0).T), rtol=1e-12)
    assert_allclose(tables.own.transpose(0, 2, 1), mine.posterior_mean(own.transpose(0, 2, 1)), rtol=1e-12)
    assert_allclose(tables.switch, CrossTables.of(counts, own, PRIORS).switch)
    summed = LIOUVILLE._replace(beta_rest=0.8, beta_collection_rest=0.3)  # the sums: Dirichlet
    dirichlet = LIOUVILLE._replace(beta_rest=None, beta_collection_rest=None)
    for found, expected in zip(*(CrossTables.of(counts, own, priors) for priors in (summed, dirichlet)), strict=True):
        assert_allclose(found, expected, rtol=1e-12)


def written(weights: CrossWeights) -> np.ndarray:
    """A, written in two shares of words into rows that are wider than the topics."""
    rows = np.full((C * V, K + 3), 7.0, np.float32)
    weights.write(1, weights.n_groups, rows)
    weights.write(0, 1, rows)
    assert (rows[:, K:] == 7.0).all()
    return rows[:, :K].reshape(C, V, K)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("priors", [PRIORS, LIOUVILLE], ids=["Dirichlet", "Beta-Liouville"])
def test_the_weights_of_a_run_are_the_mixed_tables(priors, balanced):
    """Three sweeps on: B is kept, and everything is float32."""
    weights, share = CrossWeights((C, V, K), priors), np.zeros((C, V, K))
    for seed in range(3):
        counts = some_counts(seed)[0].astype(np.int32)
        assert weights.count(counts) == pytest.approx((counts * share).sum(), rel=1e-6)
        found = written(weights.of(counts, balanced=balanced))
        mixed, share = CrossTables.of(counts, counts * share, priors, balanced=balanced).mixed()
        assert_allclose(found, mixed, rtol=3e-6)
        assert_allclose(weights.own_share, share, rtol=3e-6)
        assert found.dtype == weights.own_share.dtype == np.float32
        assert weights.own_share.max() <= 1


@pytest.mark.parametrize("n_topics", [1, 5, 20])
def test_compiled_tables_equal_their_python_bodies(n_topics):
    """Also where a topic has a weight of zero, as far as float32 can tell."""
    rng = np.random.default_rng(n_topics)
    shape = (3, 4, n_topics)
    counts = rng.integers(0, 5, shape).astype(np.int32)
    share, prior = rng.random(shape).astype(np.float32), rng.random((2, 4)).astype(np.float32)
    scales = rng.random((3, 3, n_topics)).astype(np.float32)
    scales[:, 0, 0] = 0.0
    both = []
    for add, mix in ((add_totals, mix_words), (add_totals.py_func, mix_words.py_func)):
        totals, new, weights = np.zeros((2, 3, n_topics)), share.copy(), np.zeros(shape, np.float32)
        add(counts, share, *totals)
        mix(counts, 1, 4, *prior, *scales, np.empty(n_topics, np.float32), new, weights)
        both.append((totals, new, weights))
    for compiled, plain in zip(*both, strict=True):
        assert_array_equal(compiled, plain)
    assert_array_equal(both[0][1][:, 0], share[:, 0])  # a word outside the range
    assert (both[0][1][0, 1:, 0] == 0).all()


def test_balanced_tables_do_not_depend_on_the_size_of_a_collection():
    counts, own = some_counts()
    size = np.array([[[1.0]], [[50.0]]])
    bare = PRIORS._replace(beta=1e-12)
    plain, larger = (CrossTables.of(counts * s, own * s, bare, balanced=True) for s in (1.0, size))
    assert_allclose(larger.common, plain.common)
    assert np.abs(CrossTables.of(counts * size, own * size, bare).common - plain.common).max() > 0.01
    each = [(counts[c] - own[c]) / counts[c].sum(axis=0) for c in range(C)]
    assert_allclose(plain.common, sum(each) / sum(each).sum(axis=0))


# --- evidence -------------------------------------------------------------------------------------------------------


def a_model():
    rng = np.random.default_rng(8)
    common, own = rng.dirichlet(np.ones(V), K), rng.dirichlet(np.ones(V), (C, K))
    return common, own, rng.random((K, C))


def mixed_topics(common, own, switch):
    return MixedTopics.of((0, 1), ALPHA, common, own, switch).topics


def enumerated(words, c, common, own, switch, alpha_rest=None):
    """p(words | c): over all topics and coins of all tokens, θ integrated out."""
    total, inner = 0.0, ALPHA[:-1].sum()
    rest = inner if alpha_rest is None else alpha_rest
    for topics in product(range(K), repeat=len(words)):
        n = np.bincount(topics, minlength=K)
        log_topics = gammaln(inner) - gammaln(inner + n[:-1].sum())
        log_topics += (gammaln(ALPHA[:-1] + n[:-1]) - gammaln(ALPHA[:-1])).sum()
        log_topics += betaln(rest + n[:-1].sum(), ALPHA[-1] + n[-1]) - betaln(rest, ALPHA[-1])
        for coins in product(range(2), repeat=len(words)):
            chance = np.exp(log_topics)
            for word, k, x in zip(words, topics, coins, strict=True):
                chance *= switch[k, c] * own[c, k, word] if x else (1 - switch[k, c]) * common[k, word]
            total += chance
    return total


DOCUMENTS = [[0], [1, 1], [0, 2, 1, 2], [2, 2, 0, 2, 2], []]


def test_evidence_against_enumeration():
    """A hundred thousand particles: about 0.3% of the evidence is the error that chance would make."""
    model = a_model()
    mixed, corpus = mixed_topics(*model), corpus_of(*DOCUMENTS, n_words=V)
    found = np.exp(evidences(mixed, ALPHA, corpus, C, n_particles=100_000))
    expected = np.array([[enumerated(words, c, *model) for c in range(C)] for words in DOCUMENTS])
    assert_allclose(found, expected, rtol=0.01)
    assert np.abs(found[:, 0] / found[:, 1] - 1).max() > 0.1  # the collections differ by more


def test_evidence_of_few_particles_is_unbiased():
    """The mean of many estimates with three particles each, which are drawn anew within the document."""
    model = a_model()
    word_topics = np.ascontiguousarray(mixed_topics(*model).T)
    document, repeats = corpus_of([0, 1, 0, 2, 1, 1], n_words=V), 40_000
    uniform = np.random.default_rng(1).random((repeats, document.n_tokens, 4))
    found = np.empty((repeats, 1, C))
    for i in range(repeats):
        left_to_right(word_topics, document.words, document.offsets, 0, 1, ALPHA, 0.0, uniform[i], found[i])
    estimates = np.exp(found[:, 0])
    expected = [enumerated(document.words, c, *model) for c in range(C)]
    error = estimates.std(axis=0) / np.sqrt(repeats)
    assert (error < 0.005 * np.array(expected)).all()
    assert (np.abs(estimates.mean(axis=0) - expected) < 5 * error).all()


@pytest.mark.parametrize("alpha_rest", [None, 3.0])
def test_prediction_is_bayes_rule_on_the_evidence(monkeypatch, alpha_rest):
    monkeypatch.setattr(documents, "evidences", partial(evidences, n_particles=50_000))
    counts = np.array([[4, 1, 0], [0, 1, 5], [2, 2, 2], [0, 3, 1]])
    model = CrossLBLA(K, alpha=ALPHA, alpha_rest=alpha_rest, n_sweeps=5, n_average=1, random_state=0)
    model.fit(counts, collections=[0, 1, 0, 1])
    model.components_, model.collection_components_, model.switch_ = a_model()
    new = np.array([[1, 0, 0], [0, 2, 0], [1, 1, 2]])
    words = [np.repeat(range(V), row) for row in new]
    evidence = np.array([[enumerated(row, c, *a_model(), alpha_rest) for c in range(C)] for row in words])
    for prior in (None, [0.2, 0.8]):
        expected = evidence * (1 if prior is None else prior)
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(new, prior=prior), expected, atol=0.003)
        assert (model.predict(new, prior=prior) == expected.argmax(axis=1)).all()
