"""Corpora from a known model: shapes, repeatability, and the right distribution."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from discreet._errors import InputError
from discreet.corpus import lda_corpus
from discreet.corpus import synthetic as room


def test_shapes_and_sums():
    corpus, topics, proportions = lda_corpus(50, 30, 4, mean_length=20, seed=1)
    assert (corpus.n_documents, corpus.n_words) == (50, 30)
    assert topics.shape == (4, 30)
    assert proportions.shape == (50, 4)
    assert_allclose(topics.sum(axis=1), 1)
    assert_allclose(proportions.sum(axis=1), 1)
    assert corpus.vocabulary.origin == "public"


def test_same_seed_same_corpus_and_other_seed_another():
    first, again, other = (lda_corpus(20, 30, 3, seed=s).corpus for s in (5, 5, 6))
    assert_array_equal(first.words, again.words)
    assert first.n_tokens != other.n_tokens or (first.words != other.words).any()


def test_lengths():
    fixed = lda_corpus(40, 10, 2, mean_length=7, lengths="fixed").corpus
    assert (fixed.lengths == 7).all()
    n, mean = 2_000, 3.0
    total = lda_corpus(n, 10, 2, mean_length=mean, seed=2).corpus.n_tokens
    assert abs(total - n * mean) < 5 * np.sqrt(n * mean)  # Poisson: beyond 5 sigma with probability 6e-7


def test_batches_only_change_the_draws_not_the_documents(monkeypatch):
    monkeypatch.setattr(room, "_BATCH", 50)
    corpus, _, proportions = lda_corpus(200, 10, 2, mean_length=9, seed=3)
    assert corpus.n_documents == len(proportions) == 200
    assert corpus.n_tokens == corpus.offsets[-1]


def test_a_document_longer_than_a_batch(monkeypatch):
    monkeypatch.setattr(room, "_BATCH", 5)
    assert lda_corpus(3, 10, 2, mean_length=20, lengths="fixed").corpus.n_tokens == 60


def test_words_follow_the_model():
    """Given topics and proportions, word counts over all documents are a sum of multinomials.

    Pearson's statistic over words is at most chi-square (a sum over documents varies less than one multinomial), so a
    right sampler fails with probability below 1e-6. Cell by cell it is 1 on average; with the proportions of the
    document before it is far from 1, so a sampler that mixed documents up would be seen.
    """
    corpus, topics, proportions = lda_corpus(400, 25, 5, mean_length=200, alpha=0.1, beta=0.5, lengths="fixed", seed=11)
    expected = 200 * proportions.sum(axis=0) @ topics
    seen = corpus.word_counts
    large = expected > 5
    assert ((seen - expected)[large] ** 2 / expected[large]).sum() < chi2.isf(1e-6, large.sum() - 1)

    each = 200 * proportions @ topics
    score = ((corpus.to_counts().toarray() - each) ** 2 / np.maximum(each, 1e-12))[each > 5]
    assert score.mean() == pytest.approx(1, abs=0.15)
    shifted = ((corpus.to_counts().toarray() - np.roll(each, 1, axis=0)) ** 2 / np.maximum(each, 1e-12))[each > 5]
    assert shifted.mean() > 5


@pytest.mark.parametrize(
    "options",
    [
        {"n_documents": 0},
        {"n_words": 2.5},
        {"n_topics": -1},
        {"alpha": 0},
        {"beta": float("nan")},
        {"mean_length": -3},
        {"lengths": "short"},
        {"lengths": "fixed", "mean_length": 2.5},
    ],
)
def test_bad_options(options):
    with pytest.raises(InputError) as caught:
        lda_corpus(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_a_million_documents():
    corpus = lda_corpus(1_000_000, 1_000, 10, mean_length=10, seed=1).corpus
    assert corpus.n_documents == 1_000_000


def test_a_prior_for_each_topic():
    alpha = np.array([6.0, 3.0, 1.0])
    proportions = lda_corpus(4_000, 10, 3, alpha=alpha, mean_length=1, seed=4).proportions
    deviation = np.sqrt(alpha / 10 * (1 - alpha / 10) / 11 / 4_000)
    assert (abs(proportions.mean(axis=0) - alpha / 10) < 5 * deviation).all()  # beyond 5 sigma: 2e-6
    even = lda_corpus(20, 10, 3, alpha=np.full(3, 0.1), seed=5).corpus
    assert_array_equal(even.words, lda_corpus(20, 10, 3, alpha=0.1, seed=5).corpus.words)


@pytest.mark.parametrize("alpha", [0.0, np.array([1.0, 2.0]), np.array([1.0, -1.0, 1.0]), np.array([1.0, np.nan, 1.0])])
def test_priors_that_are_none(alpha):
    with pytest.raises(InputError, match="alpha must be a number above 0, or one for each of the 3 topics"):
        lda_corpus(5, 10, 3, alpha=alpha)
