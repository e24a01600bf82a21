"""Neighbours of words, and how far a noisy table is pulled towards them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.corpus import Corpus, lda_corpus
from discreet.models.private import neighbours
from discreet.models.private.neighbours import bands, expected, fitted, nearest, vectors_of_text, vectors_of_topics
from discreet.models.private.shrink import shrunk, without_topics


def two_subjects(n=200):
    """Documents of words 0 to 9, or of words 10 to 19, and word 20 in two of them."""
    rng = np.random.default_rng(0)
    counts = np.zeros((n, 21), int)
    for d in range(n):
        counts[d, rng.choice(10, 5, replace=False) + 10 * (d % 2)] = 1
    counts[:2, 20] = 1
    return Corpus.from_counts(counts)


def test_neighbours_of_public_text_are_words_of_the_same_subject():
    links = nearest(vectors_of_text(two_subjects()), 4).tocoo()
    assert (links.row // 10 == links.col // 10).all()
    assert links.row.max() < 20  # a word of two documents has no neighbours
    assert links.col.max() < 20  # and is none
    assert np.bincount(links.row).max() <= 4
    assert (links.row != links.col).all()
    assert links.data.min() > 0


def test_neighbours_of_public_topics_are_words_of_the_same_topics():
    topics = np.kron(np.eye(3), np.full(5, 0.2))
    topics[:, 0] = 0.0  # a word that no topic has
    links = nearest(vectors_of_topics(topics / topics.sum(axis=1, keepdims=True), np.full(3, 1 / 3)), 2).tocoo()
    assert (links.row // 5 == links.col // 5).all()
    assert set(links.row) == set(range(1, 15))
    assert 0 not in links.col


@pytest.mark.parametrize("n_words", [1, 2, 5])
def test_few_words_have_few_neighbours(n_words):
    links = nearest(np.ones((n_words, 3)))
    assert (np.diff(links.indptr) == n_words - 1).all()
    text = Corpus.from_counts(np.ones((4, n_words), int))
    assert nearest(vectors_of_text(text)).shape == (n_words, n_words)


def test_the_nearest_are_those_of_the_largest_cosine():
    vectors = np.random.default_rng(1).normal(size=(50, 8))
    whole = nearest(vectors, 3).toarray()
    cosine = (vectors @ vectors.T) / np.outer(*[np.linalg.norm(vectors, axis=1)] * 2)
    np.fill_diagonal(cosine, -1)
    for row, found in zip(cosine, whole, strict=True):
        best = np.sort(row)[-3:]
        np.testing.assert_allclose(np.sort(found[found > 0]), best[best > 0], atol=5e-4)


def test_bands_hold_equal_numbers_of_words():
    frequencies = np.array([0.3, 0.1, 0.05, 0.4, 0.1, 0.05])
    np.testing.assert_array_equal(bands(frequencies, 3), [0, 1, 2, 0, 1, 2])
    assert set(bands(np.ones(4))) <= set(range(neighbours.BANDS))


def test_what_neighbours_say_is_their_ratio_to_no_topics():
    flat = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    noisy = np.array([[1.0, 1.0], [4.0, 2.0], [1.0, 0.0]])
    links = sp.csr_matrix(np.array([[0.0, 1.0, 1.0], [0, 0, 0], [0, 0.5, 0]]))
    says = expected(links, noisy, flat)
    np.testing.assert_allclose(says, [[5 / 3 - 1, 2 / 5 - 1], [0, 0], [1.0, 0.0]])


def planted(seed, n_words=1000, n_topics=8, noise=1.0):
    """A noisy table whose words come in groups of ten with similar profiles."""
    rng = np.random.default_rng(seed)
    frequencies = rng.dirichlet(np.full(n_words, 2.0))
    group = rng.gamma(0.5, 2.0, (n_words // 10, n_topics))
    table = frequencies[:, None] * np.repeat(group, 10, axis=0) * rng.gamma(5.0, 0.2, (n_words, n_topics))
    table /= table.sum()
    frequencies = table.sum(axis=1)
    variance = np.full(table.shape, (noise / table.size) ** 2)
    noisy = table + rng.normal(size=table.shape) * np.sqrt(variance)
    return table, noisy, variance, without_topics(noisy, frequencies), bands(frequencies)


def groups_of_ten(n_words=1000):
    return sp.csr_matrix(np.kron(np.eye(n_words // 10), np.ones((10, 10)) - np.eye(10)))


def test_true_neighbours_lower_the_error():
    table, noisy, variance, flat, band = planted(1)
    target, rho = fitted(noisy, variance, flat, [expected(groups_of_ten(), noisy, flat)], band)
    assert rho.shape == (10, 1)
    assert rho.mean() > 0.7
    alone, helped = shrunk(noisy, variance, flat), shrunk(noisy, variance, target)
    assert ((helped - table) ** 2).sum() < 0.7 * ((alone - table) ** 2).sum()


def test_random_neighbours_are_not_believed():
    """Random links say nothing of a word: ρ is what noise makes of it. For a band of 100 words × 8 topics ρ is a
    regression on 800 values that are independent of what is said, at most four deviations above 0; the slope of noise
    has a deviation below 0.12 here, so a mean of ten positive parts above 0.25 has a chance below 1e-6. Links to the
    true groups have a mean above 0.7."""
    _, noisy, variance, flat, band = planted(2)
    wrong = groups_of_ten()[:, np.random.default_rng(3).permutation(1000)]
    wrong.setdiag(0)
    _, rho = fitted(noisy, variance, flat, [expected(wrong, noisy, flat)], band)
    assert rho.mean() < 0.25


def test_random_neighbours_do_no_harm():
    table, noisy, variance, flat, band = planted(4)
    wrong = groups_of_ten()[:, np.random.default_rng(5).permutation(1000)]
    wrong.setdiag(0)
    target, _ = fitted(noisy, variance, flat, [expected(wrong, noisy, flat)], band)
    alone, misled = shrunk(noisy, variance, flat), shrunk(noisy, variance, target)
    assert ((misled - table) ** 2).sum() < 1.03 * ((alone - table) ** 2).sum()


def test_the_better_of_two_sources_is_believed():
    _, noisy, variance, flat, band = planted(6)
    wrong = groups_of_ten()[:, np.random.default_rng(7).permutation(1000)]
    says = [expected(links, noisy, flat) for links in (wrong, groups_of_ten(), sp.csr_matrix((1000, 1000)))]
    _, rho = fitted(noisy, variance, flat, says, band)
    assert rho[:, 1].mean() > 3 * rho[:, 0].mean()
    assert (rho[:, 2] == 0).all()  # it says nothing
    assert (rho.sum(axis=1) <= 1 + 1e-12).all()


def test_vectors_of_drawn_text_find_words_of_the_same_topic():
    made = lda_corpus(800, 60, 3, mean_length=60, seed=4)
    links = nearest(vectors_of_text(made.corpus), 5)
    profile = made.topics / np.linalg.norm(made.topics, axis=0)
    alike = profile.T @ profile
    linked = alike[links.nonzero()].mean()
    assert linked > alike.mean() + 0.2
