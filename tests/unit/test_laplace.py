"""LaplaceLDA: as published only."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from discreet import Corpus, InputError, LaplaceLDA, Ledger, WouldLeak
from discreet._random import Key
from discreet.corpus import lda_corpus
from discreet.models.published import SequentialSampler
from discreet.privacy.guarantee import Basis, Unit


@pytest.fixture(scope="module")
def words() -> Corpus:
    return lda_corpus(60, 30, 3, mean_length=40, seed=1).corpus


def test_it_refuses_to_pretend(words):
    with pytest.raises(WouldLeak, match=r"PrivateLDA.*HybridLDA.*as_published=True"):
        LaplaceLDA(3).fit(words)
    with pytest.raises(InputError, match="only claimed"):
        LaplaceLDA(3, as_published=True, ledger=Ledger(unit="word")).fit(words)


@pytest.mark.parametrize(("every_sweep", "n_noises", "total"), [(False, 1, 0.5), (True, 4, 2.0)])
def test_noise_comes_once_or_before_every_sweep(words, every_sweep, n_noises, total):
    seen = []

    class Sampler(SequentialSampler):
        def blur_words(self, scale):
            seen.append(("words", scale))
            super().blur_words(scale)

        def blur_documents(self, scale):
            seen.append(("documents", scale))
            super().blur_documents(scale)

    with patch("discreet.models.laplace.SequentialSampler", Sampler):
        model = LaplaceLDA(3, epsilon=0.5, every_sweep=every_sweep, n_sweeps=4, as_published=True).fit(words)
    assert seen == [("words", 2.0), ("documents", 2.0)] * n_noises
    assert model.method == ("laplace-plus" if every_sweep else "laplace")
    assert model.guarantee_.basis is Basis.CLAIMED
    assert (model.guarantee_.epsilon, model.guarantee_.unit) == (total, Unit.WORD)
    assert "moves two cells" in str(model.guarantee_)
    assert model.release().method == model.method


def test_noise_stays_in_the_counts(words):
    """Counts follow the topics by ±1; the noise of every sweep is still there after the last."""
    sampler = SequentialSampler(words, 3, np.ones(3), 0.01, Key.from_seed(2))
    exact = [table.copy() for table in (sampler.word_topic, sampler.topic_totals, sampler.doc_topic)]
    assert exact[0].sum() == exact[1].sum() == exact[2].sum() == words.n_tokens
    for number in (1, 2):
        sampler.blur_words(2.0)
        sampler.blur_documents(2.0)
        sampler.sweep(number)
    noise = sampler.word_topic.sum() - words.n_tokens
    assert sampler.topic_totals.sum() == pytest.approx(words.n_tokens + noise)
    assert abs(noise) > 1
    fractions = sampler.word_topic - np.floor(sampler.word_topic)
    assert (fractions > 0).mean() > 0.9


def test_noise_is_laplace_of_its_scale(words):
    """Kolmogorov and Smirnov on 90,000 values: a right one fails with probability 1e-6; 5% more noise is caught."""
    sampler = SequentialSampler(words, 3, np.ones(3), 0.01, Key.from_seed(3))
    values = sampler._laplace(90_000, 2.0)
    assert kstest(values, laplace(scale=2.0).cdf).pvalue > 1e-6
    assert kstest(values * 1.05, laplace(scale=2.0).cdf).pvalue < 1e-6
    assert not np.array_equal(values, sampler._laplace(90_000, 2.0))  # never the same noise twice


def test_a_seeded_run_claims_nothing(words):
    assert LaplaceLDA(3, n_sweeps=2, as_published=True, random_state=1).fit(words).guarantee_.basis is Basis.NONE
