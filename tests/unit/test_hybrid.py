"""HybridLDA: parameters, charges, guarantee, topics, and Algorithm 1 as published."""

from __future__ import annotations

import math
import pickle
from unittest.mock import patch

import numpy as np
import pytest

from discreet import LDA, Budget, BudgetExceeded, Corpus, Guarantee, HybridLDA, InputError, Ledger, WouldLeak
from discreet.corpus import Vocabulary, lda_corpus
from discreet.models.hybrid import model as hybrid
from discreet.models.hybrid.plan import HybridPlan, inaccuracy
from discreet.models.published import SequentialSampler
from discreet.privacy import accounting
from discreet.privacy.events import BoundedRangeDraw, DiscreteLaplacePair, Entry, PureRelease
from discreet.privacy.guarantee import Basis, Observer, Relation, Unit

PARTS = {"epsilon_laplace": 1.0, "epsilon_inherent": 4.0, "n_sweeps": 4}


@pytest.fixture(scope="module")
def words() -> Corpus:
    drawn = lda_corpus(60, 30, 3, mean_length=40, seed=1).corpus
    return drawn.restrict(Vocabulary(drawn.vocabulary, "public"))


# --- what it costs --------------------------------------------------------------------------------------------------


def test_parts_are_charged_as_they_are_given(words):
    model = HybridLDA(3, **PARTS).fit(words)
    releases, draws = model.ledger_.entries
    assert (releases.event, releases.count) == (DiscreteLaplacePair(epsilon=1.0), 5)
    assert (draws.event, draws.count) == (BoundedRangeDraw(eta=4.0 + 4 * inaccuracy(3)), 4)
    assert model.largest_count_ == pytest.approx(1.0 * (math.exp(2.0) - 1))
    expected = accounting.epsilon([releases, draws], 1e-6)
    assert model.guarantee_.epsilon == expected < 5 * 1.0 + 4 * 4.0 + 1e-3
    assert (model.ledger_.unit, model.ledger_.relation) == (Unit.WORD, Relation.REPLACE)


@pytest.mark.parametrize("given", [{}, {"epsilon_inherent": 0.5}, {"epsilon_laplace": 0.2}])
@pytest.mark.parametrize("epsilon", [5.0, 60.0])
def test_a_total_is_kept_and_used(words, given, epsilon):
    model = HybridLDA(3, epsilon=epsilon, n_sweeps=6, **given).fit(words)
    assert 0.98 * epsilon < model.guarantee_.epsilon <= epsilon
    releases, draws = (entry.event for entry in model.ledger_.entries)
    if "epsilon_inherent" in given:
        assert draws.eta == pytest.approx(0.5, rel=1e-5)
    if "epsilon_laplace" in given:
        assert releases.epsilon == 0.2


def test_a_pure_total(words):
    model = HybridLDA(3, epsilon=8.0, delta=0.0, n_sweeps=4).fit(words)
    assert model.guarantee_.delta == 0
    parts = [entry.count * entry.event.epsilon for entry in model.ledger_.entries[:1]]
    assert sum(parts) + 4 * model.ledger_.entries[1].event.eta <= 8.0 * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon_laplace": 1.0},
        {"epsilon_inherent": 1.0},
        {"epsilon": 1.0, "epsilon_laplace": 1.0, "epsilon_inherent": 1.0},
    ],
)
def test_ambiguous_budgets_are_refused(words, wrong):
    with pytest.raises(InputError, match="say how much"):
        HybridLDA(3, **wrong).fit(words)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon_laplace": 1000.0, "epsilon_inherent": 1.0}, "cannot be drawn"),
        ({"epsilon_laplace": 1.0, "epsilon_inherent": 65.0}, "epsilon_inherent"),
        ({**PARTS, "beta": 1e-9}, "beta"),
        ({**PARTS, "alpha": [0.1, 1e-9, 0.1]}, "alpha"),
        ({"epsilon": 1e-7, "n_sweeps": 400, "delta": 0.0}, "nothing would be left|cannot be drawn"),
    ],
)
def test_bad_parameters_spend_nothing(words, wrong, message):
    ledger = Ledger(Budget(1e6, 1e-3), unit="word")
    with pytest.raises(InputError, match=message):
        HybridLDA(3, **wrong, ledger=ledger).fit(words)
    assert ledger.entries == ()


def test_a_ledger_counts_words_and_is_not_overdrawn(words):
    with pytest.raises(InputError, match="unit 'word'"):
        HybridLDA(3, **PARTS, ledger=Ledger(unit="document")).fit(words)
    small = Ledger(Budget(2.0, 1e-6), unit="word")
    with pytest.raises(BudgetExceeded):
        HybridLDA(3, **PARTS, ledger=small).fit(words)
    assert small.entries == ()


def test_the_plan_is_charged_before_anything_is_drawn(words):
    seen = []
    real = Ledger.reserve

    def reserve(ledger, plan, **tags):
        seen.append("charged")
        return real(ledger, plan, **tags)

    class Training(hybrid.Training):
        def __init__(self, *of):
            seen.append("drawn")
            super().__init__(*of)

    with patch.object(Ledger, "reserve", reserve), patch.object(hybrid, "Training", Training):
        HybridLDA(3, **PARTS).fit(words)
    assert seen == ["charged", "drawn"]


def test_the_papers_figure_5_protects_nothing():
    """ε_I = 10 and 100 sweeps: the draws alone cost 810 at δ = 1e-6."""
    plan = HybridPlan.make(None, 1e-6, 1.0, 10.0, n_topics=50, n_sweeps=100)
    assert accounting.epsilon([plan.draws], 1e-6) == pytest.approx(810, abs=1)


def test_a_document_costs_more_than_pairs_would(words):
    """A document of n equal words moves one cell by n: that is not n pairs."""
    plan = HybridPlan.make(None, 1e-6, 0.1, 0.1, n_topics=3, n_sweeps=10)
    pairs = accounting.epsilon([Entry(plan.laplace, 11 * 10), Entry(plan.draw, 10 * 10)], 1e-6)
    assert plan.of_document(1, 1e-6, plan.entries) >= plan.epsilon
    assert plan.of_document(10, 1e-6, plan.entries) > pairs
    one_cell = accounting.epsilon([Entry(PureRelease(epsilon=1.0), 11), Entry(plan.draw, 100)], 1e-6)
    assert plan.of_document(10, 1e-6, plan.entries) == one_cell


# --- what it promises -----------------------------------------------------------------------------------------------


def test_guarantee_says_what_a_word_and_a_document_have(words):
    guarantee = HybridLDA(3, **PARTS).fit(words).guarantee_
    assert (guarantee.unit, guarantee.observer, guarantee.basis) == (Unit.WORD, Observer.TRAJECTORY, Basis.PROVEN)
    text = str(guarantee)
    assert "document of 100 words" in text
    assert "protects nothing" in text
    assert "lengths" in text
    assert "unknown words keep a token" in text


def test_a_seeded_run_promises_nothing(words):
    assert HybridLDA(3, **PARTS, random_state=1).fit(words).guarantee_.basis is Basis.NONE


def test_words_from_the_text_are_refused(words):
    with pytest.raises(WouldLeak, match="vocabulary"):
        HybridLDA(3, **PARTS).fit(words.most_frequent(20))


def test_a_document_beyond_the_order_that_is_proved_is_refused():
    long = Corpus(np.zeros(2**17, np.int32), np.array([0, 2**17]), Vocabulary(("a", "b"), "public"))
    with pytest.raises(InputError, match="131,071"):
        HybridLDA(2, **PARTS).fit(long)


def test_release_and_pickle_hold_no_document(words):
    model = HybridLDA(3, **PARTS).fit(words)
    assert model.history_ == {}
    released = model.release()
    assert [entry["count"] for entry in released.ledger] == [5, 4]
    assert len(pickle.dumps(model)) < 20_000
    assert set(vars(pickle.loads(pickle.dumps(model)))) <= set(vars(model))


# --- topics ---------------------------------------------------------------------------------------------------------


def test_topics_are_better_than_one_topic_when_the_budget_is_large():
    """A cell holds some 170 tokens, so a small β would clip what tells topics apart: β = 10 puts C at 536."""
    drawn = lda_corpus(600, 60, 4, mean_length=80, seed=2).corpus
    train, test = drawn[:500].restrict(Vocabulary(drawn.vocabulary, "public")), drawn[500:]
    options = {"n_sweeps": 40, "n_threads": 1, "random_state": 3}
    model = HybridLDA(4, epsilon_laplace=1.0, epsilon_inherent=8.0, beta=10.0, **options).fit(train)
    plain = LDA(4, evaluate_every=0, **options).fit(train).perplexity(test)
    one = LDA(1, evaluate_every=0, **options).fit(train).perplexity(test)
    assert model.perplexity(test) < plain + 0.2 * (one - plain)
    blunt = HybridLDA(4, epsilon_laplace=1.0, epsilon_inherent=0.01, beta=10.0, **options).fit(train)
    assert blunt.perplexity(test) > plain + 0.8 * (one - plain)


def test_threads_do_not_change_the_topics(words):
    topics = [HybridLDA(3, **PARTS, random_state=7, n_threads=n).fit(words).components_ for n in (1, 2, 3)]
    np.testing.assert_array_equal(topics[0], topics[1])
    np.testing.assert_array_equal(topics[0], topics[2])


def test_callbacks_may_end_early_and_the_plan_stays_charged(words):
    model = HybridLDA(3, **PARTS, callbacks=[lambda info: info.sweep == 2]).fit(words)
    assert [entry.count for entry in model.ledger_.entries] == [5, 4]


# --- as published ---------------------------------------------------------------------------------------------------


def test_algorithm_1_line_by_line(words):
    """Noise Lap(2/ε_L) into the sampler's own counts before every sweep, the clip in the draws only, Φ at the end."""
    model = HybridLDA(3, **PARTS, as_published=True, random_state=4)
    done = []

    class Sampler(SequentialSampler):
        def blur_words(self, scale):
            before = self.word_topic.copy()
            super().blur_words(scale)
            done.append(("noise", scale, np.abs(self.word_topic - before).mean()))

        def sweep(self, number, clip=math.inf):
            super().sweep(number, clip)
            done.append(("sweep", number, clip))

    with patch.object(hybrid, "SequentialSampler", Sampler):
        model.fit(words)
    clip = 1.0 * math.expm1(2.0)
    assert [step[:2] for step in done] == [step for n in range(1, 5) for step in (("noise", 2.0), ("sweep", n))]
    assert all(step[2] == pytest.approx(clip) for step in done if step[0] == "sweep")
    sizes = [step[2] for step in done if step[0] == "noise"]
    assert all(1.0 < size < 3.0 for size in sizes)  # E|Lap(2)| = 2, 90 cells: ± 4.7 standard deviations
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


def test_published_epsilon_is_claimed_with_reasons(words):
    guarantee = HybridLDA(3, **PARTS, as_published=True).fit(words).guarantee_
    assert guarantee.basis is Basis.CLAIMED
    assert guarantee.epsilon == 4 * (1.0 + 4.0)
    assert "noise is added to the sampler's own counts" in str(guarantee)


def test_limited_inherent_privacy_promises_nothing(words):
    model = HybridLDA(3, epsilon_inherent=4.0, n_sweeps=3, as_published=True).fit(words)
    assert model.guarantee_ == Guarantee.none(*model.guarantee_.reasons)
    assert "without noise" in model.guarantee_.summary()
    assert model.largest_count_ == pytest.approx(math.expm1(2.0))


def test_as_published_takes_parts_and_no_ledger(words):
    for wrong in ({"epsilon": 1.0}, {"epsilon_laplace": 1.0}, {"epsilon": 1.0, "epsilon_inherent": 1.0}):
        with pytest.raises(InputError, match="as published"):
            HybridLDA(3, **wrong, as_published=True).fit(words)
    with pytest.raises(InputError, match="only claimed"):
        HybridLDA(3, **PARTS, as_published=True, ledger=Ledger(unit="word")).fit(words)
