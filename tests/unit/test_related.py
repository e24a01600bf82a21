"""The loss of plain Gibbs sampling with related words: formulas, the exact loss of a small sweep, and the monitor."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from discreet import LDA
from discreet._errors import InputError
from discreet.corpus import lda_corpus
from discreet.models.related import (
    RelatedWordsMonitor,
    related_word_loss,
    replaced_word_loss,
    sweep_bounds,
    sweep_loss,
)
from discreet.privacy import Basis


def test_the_propositions():
    assert replaced_word_loss([3, 0], [0, 5], 0.5) == pytest.approx(2 * math.log(5.5 / 0.5))
    assert related_word_loss(0.01) == pytest.approx(2 * math.log(101))


def test_one_sweep():
    counts = np.array([[3, 0], [0, 5], [1, 1]])
    assert sweep_loss(counts, 0.5, 0, 1) == pytest.approx(2 * math.log(11) + (2 + 5) * 2 * math.log(3))
    bounds = sweep_bounds(counts, 0.5)
    assert bounds[0] == pytest.approx(2 * math.log(5 / 0.5 + 1) + (5 + 3 - 1) * 2 * math.log(3))
    for t in range(3):
        assert max(sweep_loss(counts, 0.5, t, other) for other in range(3) if other != t) <= bounds[t] + 1e-12
    with pytest.raises(InputError, match="must occur"):
        sweep_loss(counts, 0.5, 1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_the_exact_loss_of_a_frozen_sweep_is_within_the_bound(seed):
    """One word of one document is replaced; the loss is the sum over tokens of the largest log ratio of their draws,
    given all topics before and the topics of the other tokens. No document factor: it is the same in both."""
    rng = np.random.default_rng(seed)
    words, topics, beta = rng.integers(0, 4, 25), rng.integers(0, 3, 25), 0.3
    other = words.copy()
    other[0] = (words[0] + 1 + rng.integers(3)) % 4

    def table(tokens):
        counts = np.zeros((4, 3))
        np.add.at(counts, (tokens, topics), 1)
        return counts

    before, after = table(words), table(other)
    document = rng.integers(0, 5, 3) + 0.1  # of any document

    def draws(counts, w):
        weights = (counts[w] + beta) / (counts.sum(axis=0) + 4 * beta) * document
        return weights / weights.sum()

    total = sum(np.abs(np.log(draws(before, a) / draws(after, b))).max() for a, b in zip(words, other, strict=True))
    assert total <= sweep_loss(before, beta, int(words[0]), int(other[0])) + 1e-9


def test_the_monitor_adds_up_sweeps():
    corpus = lda_corpus(20, 30, 3, seed=1).corpus
    monitor = RelatedWordsMonitor()
    LDA(3, n_sweeps=4, beta=1.0, callbacks=[monitor], random_state=0).fit(corpus)
    assert len(monitor.bound_) == 4
    most = corpus.word_counts.max()
    related = (2 * most - 1) * related_word_loss(1.0)
    for sweep, bound in enumerate(monitor.bound_, 1):
        assert sweep * related < bound < sweep * (related + 2 * math.log1p(most))
    found = monitor.guarantee()
    assert found.basis == Basis.ESTIMATE
    assert found.epsilon == monitor.bound_[-1]
    assert pickle.loads(pickle.dumps(monitor)).bound_ == monitor.bound_
    with pytest.raises(InputError, match="seen no sweep"):
        RelatedWordsMonitor().guarantee()
