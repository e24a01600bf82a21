"""Private selection on neighbours D and D′ = D + one unit: what its proof needs of the code, seen in recorded runs.

The run on D′ is given, for the words of D, the noisy weights that the run on D released: both see one history. The
proof (``mechanisms/vocabulary.proof.md``) then asks that

* in each round the exact weights over the words of D differ by the unit's own weights, of ℓ₂ norm within the charged
  sensitivity, on at most Δ₀ words, all of them its own;
* a word that only the unit has gets no more than the weight 1 a round (1/√t in a single round);
* the same is charged, each noise is used once, and the same words of D leave in the same rounds with the same weights.

Both directions are the same comparison. Broken copies are caught by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
import pytest

from discreet._random import Key
from discreet.mechanisms import vocabulary
from discreet.mechanisms.release import Releases
from discreet.mechanisms.vocabulary import SCALE, Selected, VocabularyPlan, select_words, words_of_units
from discreet.privacy import Budget
from discreet.privacy.ledger import Reservation

N_WORDS, OWN, CAP = 60, 20, 12
"""Words of D are 0 to 59; the unit alone has 60 to 79."""


@dataclass
class Run:
    exact: list[np.ndarray] = field(default_factory=list)
    noisy: list[np.ndarray] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    drawn: list[object] = field(default_factory=list)
    selected: Selected | None = None


def select(
    texts: list[list[int]], units: list[int], plan: VocabularyPlan, answers: list[np.ndarray] | None = None
) -> Run:
    run = Run()

    def noise(releases, cells, event):
        run.exact.append(cells.copy())
        run.numbers.append(releases._number + 1)
        run.drawn.append(event)
        releases._number = len(run.noisy)  # a broken copy may ask for the same number twice: it shall get that far
        real(releases, cells, event)
        if answers is not None:
            cells[:N_WORDS] = answers[len(run.noisy)][:N_WORDS]
        run.noisy.append(cells.copy())
        return cells

    real = Releases.release
    words = np.array([w for text in texts for w in text], np.int32)
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    key = Key.from_seed(5)
    found, ends = words_of_units(words, offsets, np.array(units, np.int64), N_WORDS + OWN, key)
    with patch.object(Releases, "release", noise):
        run.selected = select_words(found, ends, N_WORDS + OWN, plan, Reservation(plan.entries), key)
    return run


def faults(d: Run, d1: Run, plan: VocabularyPlan, mine: set[int]) -> set[str]:
    """What the proof forbids and these runs do. ``mine``: the words of the unit that D′ has and D has not."""
    found = set()
    limit = math.floor((SCALE / plan.event.sigma) ** 2)
    if len(set(d1.numbers)) < len(d1.numbers):
        found.add("noise used twice")
    if (d.numbers, d.drawn) != (d1.numbers, d1.drawn):
        found.add("control flow")
    for a, b in zip(d.exact, d1.exact, strict=True):
        difference = b - a
        if sum(int(x) ** 2 for x in difference) > limit:
            found.add("sensitivity")
        if np.count_nonzero(difference) > plan.event.max_words:
            found.add("cap")
        if (difference < 0).any() or not set(np.flatnonzero(difference).tolist()) <= mine:
            found.add("other units")
        alone = difference[N_WORDS:]
        most = limit / max(np.count_nonzero(alone), 1) if plan.rounds == 1 else limit
        if (alone.astype(float) ** 2 > most).any():
            found.add("words of one unit")
    left = [
        [(w, r, x) for w, r, x in zip(*map(np.ndarray.tolist, vars(run.selected).values()), strict=True) if w < N_WORDS]
        for run in (d, d1)
    ]
    if left[0] != left[1]:
        found.add("what leaves")
    return found


def people(users: bool) -> tuple[list[list[int]], list[int], list[list[int]], set[int]]:
    """The texts of D and their units, the texts of the one more, and its words: far more than the cap."""
    generator = np.random.default_rng(3)
    popular = 1 / np.arange(1, N_WORDS + 1)
    texts = [generator.choice(N_WORDS, 15, p=popular / popular.sum()).tolist() for _ in range(200)]
    units = [i // 3 for i in range(200)] if users else list(range(200))
    more = [list(range(0, 30, 2)), list(range(60, 80)), [1, 61, 3]]
    more = more if users else [[w for text in more for w in text]]
    return texts, units, more, {w for text in more for w in text}


def compared(
    users: bool, rerouting: bool, epsilon: float = 3.0, split: bool = False
) -> tuple[Run, Run, VocabularyPlan, set[str]]:
    texts, units, more, mine = people(users)
    plan = VocabularyPlan.make(Budget(epsilon, 1e-6), rerouting=rerouting, max_words=CAP)
    number = max(units) + 1
    theirs = [number + i for i in range(len(more))] if split else [number] * len(more)
    d = select(texts, units, plan)
    d1 = select([*texts, *more], [*units, *theirs], plan, d.noisy)
    return d, d1, plan, faults(d, d1, plan, mine)


cases = pytest.mark.parametrize(
    ("users", "rerouting"), [(users, rerouting) for users in (False, True) for rerouting in (False, True)]
)


@cases
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_neighbours_differ_by_one_units_weights(users, rerouting, epsilon):
    d, d1, plan, found = compared(users, rerouting, epsilon)
    assert found == set()
    assert len(d.exact) == plan.rounds
    limit = (SCALE / plan.event.sigma) ** 2
    moved = [float(((b - a) ** 2).sum()) for a, b in zip(d.exact, d1.exact, strict=True)]
    assert moved[0] > 0.8 * limit  # the comparison did see the unit, and the bound is nearly reached
    if epsilon == 20.0:
        assert len(d.selected.words) > 10  # something leaves
        assert (d1.selected.words < N_WORDS).all()  # and nothing of the unit alone (the chance is below 1e-6)


@cases
def test_the_first_unit_of_all(users, rerouting):
    """From nobody to somebody: no word of one unit alone leaves, and the same is charged."""
    _, _, more, mine = people(users)
    plan = VocabularyPlan.make(Budget(3.0, 1e-6), rerouting=rerouting, max_words=CAP)
    nobody = select([], [], plan)
    somebody = select(more, [0] * len(more), plan)
    assert faults(nobody, somebody, plan, mine) == set()
    assert somebody.selected.words.size == 0


# --- broken copies ---------------------------------------------------------------------------------------------------


def broken(weigh):
    """``add_weights`` with another rule: ``weigh(mine, weights, cap, totals)`` gives (words, weight each)."""

    def rule(unit_words, ends, cap, wanted, weights, out):
        totals = np.bincount(unit_words, minlength=len(wanted))
        start = 0
        for end in ends:
            chosen, weight = weigh([w for w in unit_words[start:end] if wanted[w]], weights, cap, totals)
            out[np.array(chosen, np.int64)] += np.array(weight, np.int64)
            start = end

    return patch.object(vocabulary, "add_weights", rule)


BROKEN = {
    "no cap": (lambda mine, weights, cap, _: (mine, weights[min(len(mine), cap)]), {"cap", "sensitivity"}),
    "no norm": (lambda mine, weights, cap, _: (mine[:cap], weights[1]), {"sensitivity"}),
    "a word's own frequency": (
        lambda mine, weights, cap, n: (mine[:cap], [weights[cap] * 9 // (9 + n[w]) for w in mine[:cap]]),
        {"other units"},
    ),
    "the most frequent": (
        lambda mine, weights, cap, n: (sorted(mine, key=lambda w: -n[w])[:cap], weights[min(cap, len(mine))]),
        set(),  # each unit within its norm, so only other units' choices can show it: see below
    ),
}


@cases
@pytest.mark.parametrize("name", ["no cap", "no norm", "a word's own frequency"])
def test_broken_weights_are_caught(users, rerouting, name):
    weigh, expected = BROKEN[name]
    with broken(weigh):
        assert expected <= compared(users, rerouting)[3]


@cases
def test_a_choice_by_global_counts_is_caught(users, rerouting):
    """Units that keep their most frequent words let one more unit tip the choice of all others."""
    weigh, _ = BROKEN["the most frequent"]
    texts = [list(range(20)) for _ in range(50)]  # all words equally frequent: one more unit decides
    plan = VocabularyPlan.make(Budget(3.0, 1e-6), rerouting=rerouting, max_words=CAP)
    mine = set(range(8, 20))
    with broken(weigh):
        d = select(texts, list(range(50)), plan)
        d1 = select([*texts, sorted(mine)], list(range(51)), plan, d.noisy)
    assert "sensitivity" in faults(d, d1, plan, mine)
    d = select(texts, list(range(50)), plan)
    assert faults(d, select([*texts, sorted(mine)], list(range(51)), plan, d.noisy), plan, mine) == set()


@pytest.mark.parametrize("rerouting", [False, True])
def test_documents_instead_of_users_are_caught(rerouting):
    assert "sensitivity" in compared(True, rerouting, split=True)[3]


def test_the_same_noise_in_every_round_is_caught():
    class Same(Releases):
        def release(self, cells, event):
            self._number = 0
            return super().release(cells, event)

    with patch.object(vocabulary, "Releases", Same):
        assert "noise used twice" in compared(False, "rounds")[3]


def test_a_threshold_that_looks_at_the_data_is_caught():
    """The broken copy asks for the middle of the noisy weights: words of the new unit move it."""

    class Middle(VocabularyPlan):
        def threshold(self, number):
            return super().threshold(number) // 4 + self.seen

    texts, _, more, mine = people(False)
    plan = VocabularyPlan.make(Budget(3.0, 1e-6), rerouting=True, max_words=CAP)
    runs = []
    for extra in ([], more):
        copy = Middle(plan.event, plan.rounds, plan.epsilon)
        object.__setattr__(copy, "seen", 100 * len({w for text in [*texts, *extra] for w in text}))
        runs.append(select([*texts, *extra], list(range(200 + len(extra))), copy, runs[0].noisy if runs else None))
    assert "what leaves" in faults(runs[0], runs[1], plan, mine)
