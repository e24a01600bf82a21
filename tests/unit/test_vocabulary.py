"""Private selection of words: its plan, its kernels, its thresholds, and the proof beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet._errors import InputError, Overdrawn
from discreet._random import Key
from discreet.kernels.sums.word_weights import add_weights, distinct_words
from discreet.mechanisms import vocabulary
from discreet.mechanisms.release import Releases
from discreet.mechanisms.vocabulary import SCALE, VocabularyPlan, select_words, words_of_units
from discreet.privacy import Budget, Ledger
from discreet.privacy.accounting import epsilon
from discreet.privacy.events import Entry, ThresholdedVocabulary, VocabularyRound
from discreet.privacy.ledger import Reservation

both_ways = pytest.mark.parametrize("rerouting", [False, True], ids=["one round", "rerouting"])


# --- the plan --------------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("epsilon_", [0.1, 0.5, 4.0, 30.0])
def test_a_plan_spends_its_budget_and_no_more(rerouting, epsilon_):
    plan = VocabularyPlan.make(Budget(epsilon_, 1e-6), rerouting=rerouting)
    spent = epsilon(plan.entries, 1e-6)
    assert 0.98 * epsilon_ < spent <= epsilon_
    assert plan.epsilon == spent
    assert Ledger(Budget(epsilon_, 1e-6)).reserve(plan.entries).left == plan.rounds


def test_a_share_is_a_share_of_the_precision():
    whole, part = VocabularyPlan.make(Budget(1.0, 1e-6)), VocabularyPlan.make(Budget(1.0, 1e-6), share=0.04)
    assert part.event.sigma / whole.event.sigma == pytest.approx(5)
    assert part.event.delta_threshold == whole.event.delta_threshold
    assert epsilon(part.entries, 1e-6) == part.epsilon < 0.25


def test_both_events_cost_the_same_and_are_told_apart():
    common = {"sigma": 3.0, "delta_threshold": 1e-8, "max_words": 7, "scale": SCALE}
    one, other = ThresholdedVocabulary(**common), VocabularyRound(**common)
    assert one != other
    assert epsilon([Entry(one, 3)], 1e-6) == epsilon([Entry(other, 3)], 1e-6)
    assert Entry.from_json(Entry(other, 3).to_json()).event == other
    assert type(Entry.from_json(Entry(other).to_json()).event) is VocabularyRound
    assert not other.holds_for("replace")


@both_ways
@pytest.mark.parametrize("epsilon_", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("max_words", [1, 100, 3000])
def test_weights_keep_the_norm_in_whole_numbers(rerouting, epsilon_, max_words):
    plan = VocabularyPlan.make(Budget(epsilon_, 1e-6), rerouting=rerouting, max_words=max_words)
    limit = math.floor((SCALE / plan.event.sigma) ** 2)
    weights = plan.weights.tolist()
    assert weights[0] == 0
    for t, m in enumerate(weights[1:], 1):
        assert t * m * m <= limit < t * (m + 1) ** 2  # the most that fits


def test_a_budget_too_small_for_its_grid_is_refused():
    with pytest.raises(InputError, match=r"epsilon=0\.001 is so small"):
        VocabularyPlan.make(Budget(0.001, 1e-6))


# --- thresholds ------------------------------------------------------------------------------------------------------


def passing(plan: VocabularyPlan, number: int, threshold: float, t: int) -> float:
    """The largest chance that any of ``t`` words of one unit alone passes in a round, by the normal tail."""
    most = plan.weights[t] if plan.rounds == 1 else number * plan.weights[1]
    below = norm.logcdf((threshold - 1 - most) / (SCALE * math.sqrt(number)))
    return float(-np.expm1(t * below))


@both_ways
@pytest.mark.parametrize("epsilon_", [0.1, 0.5, 4.0])
def test_words_of_one_unit_pass_with_at_most_the_charged_probability(rerouting, epsilon_):
    plan = VocabularyPlan.make(Budget(epsilon_, 1e-6), rerouting=rerouting)
    for number in range(1, plan.rounds + 1):
        worst = max(passing(plan, number, plan.threshold(number), t) for t in range(1, 101))
        assert worst <= plan.event.delta_threshold * (1 + 1e-9)
        assert worst > 0.9 * plan.event.delta_threshold  # and no more noise than needed


def test_a_threshold_for_one_word_is_caught():
    """Without the maximum over t: what is enough for a unit of one word is not for one of a hundred."""
    plan = VocabularyPlan.make(Budget(0.5, 1e-6), rerouting=False)
    for_one = vocabulary.vocabulary_threshold(plan.event.sigma, plan.event.delta_threshold, 1, scale=SCALE) * plan.norm
    assert passing(plan, 1, for_one, 1) <= plan.event.delta_threshold * (1 + 1e-9)
    assert passing(plan, 1, for_one, 100) > 40 * plan.event.delta_threshold


@pytest.mark.parametrize("rounds", [2, 10])
def test_a_sum_of_discrete_gaussians_is_one(rounds):
    """Step 3 of the proof, with small parameters: its law by convolution, and its tail against the normal one."""
    s, reach = 3.0, 60
    x = np.arange(-reach, reach + 1)
    one = np.exp(-(x**2) / (2 * s**2))
    one /= one.sum()
    total = one
    for _ in range(rounds - 1):
        total = np.convolve(total, one)
    far = np.arange(len(total)) - len(total) // 2
    wide = np.exp(-(far**2) / (2 * s**2 * rounds))
    np.testing.assert_allclose(total, wide / wide.sum(), atol=1e-16)
    for m in range(1, 40):
        assert total[far >= m].sum() <= norm.sf((m - 1) / (s * math.sqrt(rounds))) * (1 + 1e-12)


# --- kernels ---------------------------------------------------------------------------------------------------------


def documents(n: int = 30, n_words: int = 40, seed: int = 1):
    generator = np.random.default_rng(seed)
    lengths = generator.poisson(12, n)
    lengths[3] = 0
    words = generator.integers(0, n_words, lengths.sum()).astype(np.int32)
    return words, np.concatenate([[0], np.cumsum(lengths)])


@pytest.mark.parametrize("users", [False, True])
def test_a_units_words_are_the_union_over_its_documents(users):
    words, offsets = documents()
    units = np.random.default_rng(2).permutation(30) % 7 if users else np.arange(30)
    _, units = np.unique(units, return_inverse=True)
    found, ends = words_of_units(words, offsets, units, 40, Key.from_seed(1))
    for unit, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        mine = [words[offsets[d] : offsets[d + 1]] for d in np.flatnonzero(units == unit)]
        assert sorted(found[start:end].tolist()) == sorted(set(np.concatenate(mine).tolist()))


def test_kernels_are_their_python_bodies():
    words, offsets = documents()
    units = np.arange(30)[::-1].copy() // 3
    results = []
    for kernel in (distinct_words, distinct_words.py_func):
        found, ends = np.zeros(len(words), np.int32), np.zeros(10, np.int64)
        order = np.argsort(units, kind="stable")
        size = kernel(words, offsets, order, units, np.full(40, -1, np.int64), found, ends)
        results.append((size, found, ends))
    assert results[0][0] == results[1][0]
    np.testing.assert_array_equal(results[0][1], results[1][1])
    wanted = np.random.default_rng(3).random(40) < 0.6
    _, found, ends = results[0]
    for cap in (1, 4, 100):
        out = [np.zeros(40, np.int64), np.zeros(40, np.int64)]
        weights = np.arange(101)[::-1].copy()
        for kernel, cells in zip((add_weights, add_weights.py_func), out, strict=True):
            kernel(found, ends, cap, wanted, weights, cells)
        np.testing.assert_array_equal(out[0], out[1])


def test_which_words_count_is_the_units_own_choice():
    """Of a long unit each word is as likely as any other, and other units do not matter."""
    words = np.arange(50, dtype=np.int32)
    more = np.concatenate([words, np.zeros(10, np.int32)])
    first = np.zeros(50)
    for seed in range(400):
        key = Key.from_seed(seed)
        alone, _ = words_of_units(words, np.array([0, 50]), np.zeros(1, np.int64), 50, key)
        among, _ = words_of_units(more, np.array([0, 50, 60]), np.arange(2), 50, key)
        np.testing.assert_array_equal(alone, among[:50])
        first[alone[:10]] += 1
    # 400 · 0.2 = 80 each, deviation 8: one of 50 beyond 5 deviations has a chance below 3e-5
    assert np.abs(first - 80).max() < 40


# --- charging --------------------------------------------------------------------------------------------------------


def test_noise_that_was_not_paid_for_is_not_drawn():
    plan = VocabularyPlan.make(Budget(1.0, 1e-6))
    words, offsets = documents()
    found, ends = words_of_units(words, offsets, np.arange(30), 40, Key.from_seed(1))
    other = VocabularyPlan.make(Budget(2.0, 1e-6))
    for entries in ((Entry(plan.event, plan.rounds - 1, "too few"),), other.entries):
        with pytest.raises(Overdrawn):
            select_words(found, ends, 40, plan, Reservation(entries), Key.from_seed(2))


def test_a_number_used_twice_is_refused(monkeypatch):
    """The broken copy that draws all rounds with the noise of the first."""

    class Same(Releases):
        def release(self, cells, event):
            self._number = 0
            return super().release(cells, event)

    monkeypatch.setattr(vocabulary, "Releases", Same)
    plan = VocabularyPlan.make(Budget(1.0, 1e-6))
    found, ends = words_of_units(*documents(), np.arange(30), 40, Key.from_seed(1))
    with pytest.raises(Overdrawn, match="release 2 was to be drawn with the noise of release 1"):
        select_words(found, ends, 40, plan, Reservation(plan.entries), Key.from_seed(2))


@both_ways
def test_frequent_words_leave_and_rare_ones_do_not(rerouting):
    """300 units share ten words; each has five of its own."""
    words = np.concatenate([[*range(10), *range(10 + 5 * i, 15 + 5 * i)] for i in range(300)]).astype(np.int32)
    found, ends = words_of_units(words, np.arange(301) * 15, np.arange(300), 1510, Key.from_seed(1))
    plan = VocabularyPlan.make(Budget(4.0, 1e-6), rerouting=rerouting)
    left = select_words(found, ends, 1510, plan, Reservation(plan.entries), Key.from_seed(2))
    assert sorted(left.words.tolist()) == list(range(10))
    assert (np.diff(left.rounds) >= 0).all()
    assert all(w > plan.threshold(r) for r, w in zip(left.rounds.tolist(), left.weights.tolist(), strict=True))


def test_nothing_is_selected_from_nothing():
    plan = VocabularyPlan.make(Budget(4.0, 1e-6))
    none = np.zeros(0, np.int32)
    for n_units in (0, 3):
        found, ends = words_of_units(none, np.zeros(n_units + 1, np.int64), np.arange(n_units), 5, Key.from_seed(1))
        left = select_words(found, ends, 5, plan, Reservation(plan.entries), Key.from_seed(2))
        assert left.words.size == 0
