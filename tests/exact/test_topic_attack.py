"""The topic-based attack: what it records is what the sampler drew from, and recording changes no draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from discreet._random import Key
from discreet.attacks.topic import TopicAttack, log_chances
from discreet.corpus import Corpus
from discreet.models.hybrid.model import HybridLDA
from discreet.models.laplace import LaplaceLDA
from discreet.models.published import SequentialSampler, observed_by

K, V = 3, 6


def corpus() -> Corpus:
    return Corpus.from_counts(np.random.default_rng(0).poisson(1.5, (8, V)) + 1)


def plus(seed: int = 0, n_sweeps: int = 12) -> LaplaceLDA:
    return LaplaceLDA(
        K, epsilon=1.0, every_sweep=True, n_sweeps=n_sweeps, as_published=True, random_state=seed, n_threads=1
    )


def test_an_observed_run_draws_the_same() -> None:
    alone = plus().fit(corpus()).components_
    with observed_by(TopicAttack([0, 3, 7], [1, 12])):
        seen = plus().fit(corpus()).components_
    assert (alone == seen).all()


def sampler_before_the_last_draw(clip: float) -> tuple[SequentialSampler, int, int]:
    """Only the last token of document 2 is visited, with noise in the counts."""
    sampler = SequentialSampler(corpus(), K, np.array([0.5, 1.0, 2.0]), 0.3, Key.from_seed(1))
    sampler.blur_words(1.0)
    sampler.blur_documents(1.0)
    last = int(sampler.offsets[3]) - 1
    sampler.visited[:] = False
    sampler.visited[last] = True
    return sampler, 2, last


@pytest.mark.parametrize("clip", [np.inf, 0.8])
def test_the_sampler_draws_from_the_recorded_chances(clip: float) -> None:
    """20,000 draws of one token from the same state. Pearson's χ² with K − 1 degrees of freedom exceeds its bound with
    probability 1e-6. Chances that leave the document out, as eq. (24) does, are computed below: their expected χ² is
    over ten times the bound."""
    sampler, document, last = sampler_before_the_last_draw(clip)
    state = [a.copy() for a in (sampler.word_topic, sampler.topic_totals, sampler.doc_topic, sampler.topics)]
    n, word = 20_000, int(sampler.words[last])
    times, chances = np.zeros(K), np.zeros(K)
    for number in range(1, n + 1):
        for array, kept in zip(
            (sampler.word_topic, sampler.topic_totals, sampler.doc_topic, sampler.topics), state, strict=True
        ):
            array[:] = kept
        sampler.sweep(number, clip)
        topic = int(sampler.topics[last])
        times[topic] += 1
        if chances[topic] == 0:
            chances[topic] = np.exp(log_chances(sampler, document, last, clip)[word])
    assert np.isclose(chances.sum(), 1)  # every topic was drawn, and its chance was the same function of one state
    bound = chi2.isf(1e-6, K - 1)
    assert ((times - n * chances) ** 2 / (n * chances)).sum() < bound
    flat = np.clip(state[0].reshape(V, K)[word], 0, clip) + 0.3
    flat /= np.maximum(state[1], 0) + 0.3 * V
    flat /= flat.sum()
    assert (n * (chances - flat) ** 2 / flat).sum() > 10 * bound


def test_both_posteriors_by_hand() -> None:
    """Products over sweeps, normalised over words, recomputed from what an observer is shown."""
    shown: list[np.ndarray] = []

    class Watched(TopicAttack):
        def drawn(self, sampler: SequentialSampler, document: int, clip: float) -> None:
            topic = int(sampler.topics[self._last(sampler, document)])
            shown.append(np.exp(self._table[:, topic]))
            super().drawn(sampler, document, clip)

    attack = Watched([4], [5])
    with observed_by(attack):
        plus(n_sweeps=5).fit(corpus())
    product = np.prod(shown, axis=0)
    published, exact = attack.posteriors()
    assert len(shown) == 5
    assert np.allclose(published[0], product / product.sum())
    assert np.isclose(exact.sum(), 1)
    (found,) = attack.found
    word = attack._words[0]
    assert np.isclose(found.published, published[0, word])
    assert np.isclose(found.exact, exact[0, word])
    assert found.sweep == 5


def test_the_printed_product_can_only_fall() -> None:
    """Every factor of eq. (24) is 1 at most, so that without normalising Figure 4 could not rise."""
    attack = TopicAttack(range(8), [])
    with observed_by(attack):
        HybridLDA(K, epsilon_inherent=64.0, n_sweeps=3, as_published=True, random_state=0).fit(corpus())
    assert (attack._published < 0).all()
