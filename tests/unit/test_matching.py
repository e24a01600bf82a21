"""Matching topics: relabelled topics are found again, and the pairing is the cheapest there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet._errors import InputError
from discreet.evaluation import match_topics


def dirichlet(n_topics: int, seed: int, n_words: int = 30) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.2), n_topics)


def test_relabelled_topics_are_found_again() -> None:
    topics = dirichlet(12, 0)
    relabelled = np.random.default_rng(1).permutation(topics)
    matching = match_topics(topics, relabelled)
    assert_array_equal(relabelled[matching.order], topics)
    assert_array_equal(matching.distances, np.zeros(12))
    assert matching.mean == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_no_other_pairing_is_cheaper(seed: int) -> None:
    a, b = dirichlet(5, seed), dirichlet(5, seed + 100)
    distance = np.abs(a[:, None] - b[None]).sum(axis=2)
    cheapest = min(distance[range(5), p].sum() for p in permutations(range(5)))
    matching = match_topics(a, b)
    assert_allclose(matching.distances, distance[range(5), matching.order])
    assert_allclose(matching.distances.sum(), cheapest)


def test_a_greedy_pairing_would_cost_more() -> None:
    a = np.array([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0]])
    b = np.array([[0.55, 0.45, 0.0], [0.9, 0.1, 0.0]])
    assert_array_equal(match_topics(a, b).order, [1, 0])


def test_numbers_of_topics_may_differ() -> None:
    topics = dirichlet(6, 2)
    fewer = match_topics(topics[[4, 1]], topics)
    assert_array_equal(fewer.order, [4, 1])
    more = match_topics(topics, topics[[4, 1]])
    assert_array_equal(more.order, [-1, 1, -1, -1, 0, -1])
    assert_array_equal(np.isnan(more.distances), more.order < 0)
    assert more.mean == 0.0


def test_disjoint_topics_are_two_apart() -> None:
    assert_allclose(match_topics([[1.0, 0.0]], [[0.0, 1.0]]).distances, [2.0])


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "a has 3 words and b 4"),
        (np.ones(3), np.ones((2, 3)), "^a must be a matrix"),
        (np.ones((2, 3)), np.empty((0, 3)), "^b must be a matrix"),
        (np.ones((2, 3)), np.full((2, 3), np.inf), "^b must be finite"),
    ],
)
def test_bad_input_is_refused(a: np.ndarray, b: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        match_topics(a, b)
