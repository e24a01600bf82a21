"""Topic diversity, where the answer can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from discreet._errors import InputError
from discreet.evaluation import diversity


def test_disjoint_topics_are_fully_diverse() -> None:
    assert diversity(np.kron(np.eye(4), np.ones(25)), top_n=25) == 1.0


def test_one_topic_repeated_has_the_share_of_one() -> None:
    assert diversity(np.tile(np.arange(30.0), (5, 1))) == 1 / 5


def test_shared_words_count_once() -> None:
    assert diversity([[3, 2, 1, 0], [0, 3, 2, 1]], top_n=2) == 3 / 4


def test_only_the_order_of_words_matters() -> None:
    topics = np.random.default_rng(0).random((6, 50))
    assert diversity(topics) == diversity(topics**3 / (topics**3).sum(axis=1, keepdims=True))


def test_too_few_words_are_refused() -> None:
    with pytest.raises(InputError, match="from 1 to the 10 words of the topics; found 25"):
        diversity(np.ones((2, 10)))
