"""HybridCrossLBLA and LaplaceCrossLBLA: charges, guarantees, topics, and the forms of Luo et al. 2023."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet import (
    Budget,
    BudgetExceeded,
    Corpus,
    CrossLBLA,
    HybridCrossLBLA,
    InputError,
    LaplaceCrossLBLA,
    Ledger,
    Release,
    WouldLeak,
)
from discreet._random import Key
from discreet.corpus import Vocabulary, lda_corpus
from discreet.models.cross import hybrid, laplace
from discreet.models.cross.hybrid import CrossTraining
from discreet.models.cross.published import CrossSampler
from discreet.models.cross.tables import CrossPriors
from discreet.models.hybrid.plan import inaccuracy
from discreet.privacy.events import BoundedRangeDraw, DiscreteLaplacePair
from discreet.privacy.guarantee import Basis, Observer, Relation, Unit
from tests.support.interrupted import Stop, interrupted_at
from tests.unit.test_cross import NAMES, planted

PARTS = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": 4}


@pytest.fixture(scope="module")
def words() -> Corpus:
    drawn = lda_corpus(60, 30, 3, mean_length=40, seed=1).corpus
    public = drawn.restrict(Vocabulary(drawn.vocabulary, "public"))
    return replace(public, collections=np.array(["east", "west"])[np.arange(60) % 2])


# --- what it costs and promises -------------------------------------------------------------------------------------


def test_parts_are_charged_as_they_are_given(words):
    model = HybridCrossLBLA(3, alpha_rest=0.5, **PARTS).fit(words)
    releases, draws = model.ledger_.entries
    assert (releases.event, releases.count) == (DiscreteLaplacePair(epsilon=1.0), 5)
    assert (draws.event, draws.count) == (BoundedRangeDraw(eta=4.0 + 4 * inaccuracy(3)), 4)
    assert model.largest_count_ == pytest.approx(math.expm1(2.0))
    assert (model.ledger_.unit, model.ledger_.relation) == (Unit.WORD, Relation.REPLACE)


def test_priors_do_not_change_what_is_charged(words):
    """They act before the clamp."""
    beta = np.linspace(0.01, 5, 30)
    given = {"beta": beta, "beta_rest": 0.3, "beta_collection": beta[::-1].copy(), "beta_collection_rest": 9.0}
    plain, other = (HybridCrossLBLA(3, **PARTS, **more).fit(words) for more in ({}, given))
    assert plain.ledger_.entries == other.ledger_.entries
    assert other.beta_ == pytest.approx(beta.mean())


def test_a_total_is_kept_and_used(words):
    model = HybridCrossLBLA(3, epsilon=8.0, n_sweeps=6).fit(words)
    assert 0.98 * 8 < model.guarantee_.epsilon <= 8


def test_guarantee_says_that_collections_are_public(words):
    guarantee = HybridCrossLBLA(3, **PARTS).fit(words).guarantee_
    assert (guarantee.unit, guarantee.observer, guarantee.basis) == (Unit.WORD, Observer.TRAJECTORY, Basis.PROVEN)
    assert "the collection of each document is public" in str(guarantee)
    assert "documents keep their lengths" in str(guarantee)


def test_a_seeded_run_promises_nothing(words):
    assert HybridCrossLBLA(3, **PARTS, random_state=1).fit(words).guarantee_.basis is Basis.NONE


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 1.0, **PARTS}, "say how much"),
        ({**PARTS, "alpha_rest": 1e-9}, "alpha_rest"),
        ({**PARTS, "beta": [0.1, 0.2]}, "one for each of 30 words"),
        ({**PARTS, "beta_collection": 1e9}, "beta_collection"),
    ],
)
def test_bad_parameters_spend_nothing(words, wrong, message):
    ledger = Ledger(Budget(1e6, 1e-3), unit="word")
    with pytest.raises(InputError, match=message):
        HybridCrossLBLA(3, **wrong, ledger=ledger).fit(words)
    assert ledger.entries == ()


def test_what_would_leak_is_refused_before_anything_is_spent(words):
    ledger = Ledger(unit="word")
    with pytest.raises(WouldLeak, match="vocabulary"):
        HybridCrossLBLA(3, **PARTS, ledger=ledger).fit(words.most_frequent(20))
    with pytest.raises(InputError, match="collections="):
        HybridCrossLBLA(3, **PARTS, ledger=ledger).fit(replace(words, collections=None))
    assert ledger.entries == ()
    small = Ledger(Budget(2.0, 1e-6), unit="word")
    with pytest.raises(BudgetExceeded):
        HybridCrossLBLA(3, **PARTS, ledger=small).fit(words)


# --- topics ---------------------------------------------------------------------------------------------------------


def test_large_budgets_give_topics_near_those_without_noise():
    counts = planted(0.4)[0]
    test = np.arange(len(counts)) % 5 == 0
    corpus = Corpus.from_counts(counts, Vocabulary([f"w{i}" for i in range(counts.shape[1])], "public"))
    corpus = replace(corpus, collections=NAMES)
    train, held = corpus[np.flatnonzero(~test)], corpus[np.flatnonzero(test)]
    same = {"random_state": 3, "n_threads": 1}
    plain = CrossLBLA(3, n_sweeps=150, **same).fit(train).perplexity(held)
    one = CrossLBLA(1, n_sweeps=30, n_average=1, **same).fit(train).perplexity(held)
    parts = {"epsilon_laplace": 1.0, "n_sweeps": 40, **same}
    model = HybridCrossLBLA(3, epsilon_inherent=8.0, **parts).fit(train)
    assert model.perplexity(held) < plain + 0.1 * (one - plain)
    assert (model.predict(held) == held.collections).mean() > 0.9
    assert_allclose(model.switch_, 0.4, atol=0.2)
    blunt = HybridCrossLBLA(3, epsilon_inherent=0.01, **parts).fit(train)
    assert blunt.perplexity(held) > plain + 0.3 * (one - plain)


def test_release_carries_collections_and_priors(words, tmp_path):
    model = HybridCrossLBLA(3, alpha_rest=0.5, **PARTS).fit(words)
    model.release().save(tmp_path / "model")
    release = Release.load(tmp_path / "model")
    assert list(release.collections) == ["east", "west"]
    assert release.alpha_rest == 0.5
    assert release.method == "hybrid-cross"
    assert_allclose(release.transform(words, collections=words.collections), model.transform(words))
    assert [entry["count"] for entry in release.ledger] == [5, 4]
    assert model.history_ == {}


def test_threads_do_not_change_the_topics(words):
    fits = [HybridCrossLBLA(3, alpha_rest=0.5, **PARTS, random_state=7, n_threads=n).fit(words) for n in (1, 3)]
    for name in ("components_", "collection_components_", "switch_"):
        assert_array_equal(*(getattr(fit, name) for fit in fits))


def test_a_checkpoint_belongs_to_its_collections(words, tmp_path):
    given = {**PARTS, "n_sweeps": 8, "checkpoint": tmp_path / "c", "checkpoint_every": 2, "n_threads": 1}
    with pytest.raises(Stop):
        HybridCrossLBLA(3, **given, callbacks=interrupted_at(5)).fit(words)
    with pytest.raises(InputError, match="checkpoint"):
        HybridCrossLBLA(3, **given).fit(replace(words, collections=words.collections[::-1]))
    shares = []

    class Watched(CrossTraining):
        def __init__(self, *of):
            super().__init__(*of)
            shares.append(self.own_share.copy())

    with patch.object(hybrid, "CrossTraining", Watched):
        model = HybridCrossLBLA(3, **given).fit(words)
    assert shares[0].any()  # what was learnt of the division goes on
    assert model.guarantee_.basis is Basis.PROVEN


# --- as published ---------------------------------------------------------------------------------------------------


def test_algorithm_2_line_by_line(words):
    """Noise Lap(2/ε_L) into the counts of each visited word, the clip in draws only; C from the smallest λ."""
    done = []

    class Sampler(CrossSampler):
        def sweep_noisily(self, number, scale, clip):
            exact = self.counts().sum()
            super().sweep_noisily(number, scale, clip)
            done.append((number, scale, clip))
            assert self.counts().sum() == exact

    with patch.object(hybrid, "CrossSampler", Sampler):
        model = HybridCrossLBLA(3, **PARTS, beta=2.0, beta_collection=0.5, as_published=True, random_state=4).fit(words)
    clip = 0.5 * math.expm1(2.0)
    assert done == [(n, 2.0, pytest.approx(clip)) for n in range(1, 5)]
    assert model.largest_count_ == pytest.approx(clip)
    assert_allclose(model.components_.sum(axis=1), 1)
    assert_allclose(model.collection_components_.sum(axis=2), 1)


def started(words, **more) -> CrossSampler:
    priors = CrossPriors(np.full(30, 0.1), np.full(30, 0.1), 1.0, 1.0, **more)
    return CrossSampler.start(words, np.arange(60) % 2, np.full(3, 0.1), None, priors, Key.from_seed(2))


def test_noise_goes_to_the_table_of_the_switch_and_stays(words):
    sampler = started(words)
    sampler.sweep_noisily(1, 2.0, 1e9)  # x starts at 0, so that the first visit of each token moves common counts
    noise = sampler.common.sum() - (~sampler.coins).sum()
    assert abs(noise) > 1
    there = np.bincount(words.words, minlength=30) > 0  # a word that nobody uses is never visited
    assert (sampler.common - np.floor(sampler.common) > 0)[there].mean() > 0.9
    assert not sampler.common[~there].any()
    assert_array_equal(sampler.own, np.round(sampler.own))
    assert_allclose(sampler.common_totals, sampler.common.sum(axis=0), atol=1e-6)
    assert sampler.by_switch.sum() == words.n_tokens
    assert sampler.by_switch[1].sum() == sampler.coins.sum() == sampler.own.sum() > 0
    sampler.sweep_noisily(2, 2.0, 1e9)
    assert (sampler.own - np.floor(sampler.own) > 0).any()
    assert_allclose(sampler.own_totals, sampler.own.sum(axis=1), atol=1e-6)
    assert sampler._n_noises == 2


def test_pieces_of_noise_are_of_one_loop(words):
    """However many documents are visited at a time, noise of a piece is new and draws are those of the sweep."""
    whole, parts = started(words), started(words)
    with patch("discreet.models.published.VALUES", 300):
        parts.sweep_noisily(1, 1e-9, math.inf)
    whole.sweep_noisily(1, 1e-9, math.inf)
    assert parts._n_noises > 10
    assert_array_equal(whole.topics, parts.topics)
    assert_array_equal(whole.coins, parts.coins)


def test_published_epsilon_is_claimed_with_reasons(words):
    guarantee = HybridCrossLBLA(3, **PARTS, as_published=True).fit(words).guarantee_
    assert (guarantee.basis, guarantee.epsilon, guarantee.unit) == (Basis.CLAIMED, 1.0 + 4.0, Unit.WORD)
    for reason in ("4 sweeps add up to 20", "a topic and a switch", "inside the token loop", "below zero"):
        assert reason in str(guarantee)
    assert "range over" not in str(guarantee)  # one λ for all words: eq. (20) is right for the topic's draw
    far = np.where(np.arange(30) % 2, 0.1, 10.0)
    guarantee = HybridCrossLBLA(3, **PARTS, beta=far, beta_collection=far[::-1].copy(), as_published=True).fit(words)
    assert "range over up to" in str(guarantee.guarantee_)


def test_the_public_code_clips_at_forty(words):
    model = HybridCrossLBLA.public_code_settings(3, 30, epsilon_laplace=1.0, n_sweeps=2)
    assert model.epsilon_inherent == pytest.approx(2 * math.log(1 + 40 * 31))
    assert model.fit(words).largest_count_ == pytest.approx(40)
    assert model.alpha_rest_ == 0.1


def test_a_seeded_published_run_claims_nothing(words):
    for model in (HybridCrossLBLA(3, **PARTS), LaplaceCrossLBLA(3, n_sweeps=2)):
        assert model.set_params(as_published=True, random_state=1).fit(words).guarantee_.basis is Basis.NONE


def test_limited_inherent_privacy_promises_nothing(words):
    model = HybridCrossLBLA(3, epsilon_inherent=4.0, n_sweeps=3, as_published=True).fit(words)
    assert model.guarantee_.basis is Basis.NONE
    assert "limited inherent privacy only" in model.guarantee_.summary()


def test_as_published_takes_parts_and_no_ledger(words):
    for wrong in ({"epsilon": 1.0}, {"epsilon_laplace": 1.0}):
        with pytest.raises(InputError, match="as published, HPP-ccLBLA is given its parts"):
            HybridCrossLBLA(3, **wrong, as_published=True).fit(words)
    with pytest.raises(InputError, match="only claimed"):
        HybridCrossLBLA(3, **PARTS, as_published=True, ledger=Ledger(unit="word")).fit(words)


# --- CDP-ccLBLA+ ----------------------------------------------------------------------------------------------------


def test_laplace_refuses_to_pretend(words):
    with pytest.raises(WouldLeak, match=r"HybridCrossLBLA.*as_published=True"):
        LaplaceCrossLBLA(3).fit(words)
    with pytest.raises(InputError, match="only claimed"):
        LaplaceCrossLBLA(3, as_published=True, ledger=Ledger(unit="word")).fit(words)


def test_laplace_adds_noise_to_three_tables_before_every_sweep(words):
    seen = []

    class Sampler(CrossSampler):
        def blur(self, scale):
            before = [table.copy() for table in (self.common, self.own, self.doc_topic, self.by_switch)]
            super().blur(scale)
            after = (self.common, self.own, self.doc_topic, self.by_switch)
            seen.append((scale, *(float(np.abs(a - b).mean()) for a, b in zip(after, before, strict=True))))
            assert_allclose(self.common_totals, self.common.sum(axis=0))
            assert_allclose(self.own_totals, self.own.sum(axis=1))

    with patch.object(laplace, "CrossSampler", Sampler):
        model = LaplaceCrossLBLA(3, epsilon=0.5, n_sweeps=4, as_published=True).fit(words)
    assert len(seen) == 4
    sizes = np.array(seen)
    assert (sizes[:, 0] == 2.0).all()
    assert_allclose(sizes[:, 1:4], 2.0, atol=1.3)  # E|Lap(2)| = 2, 90 to 180 cells: ± 6 standard deviations
    assert not sizes[:, 4].any()
    assert (model.guarantee_.basis, model.guarantee_.epsilon) == (Basis.CLAIMED, 2.0)
    assert "moves two cells" in str(model.guarantee_)
    assert_allclose(model.components_.sum(axis=1), 1)
