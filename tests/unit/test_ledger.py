"""A ledger checks, then charges, and never gives back: not by clone, copy, pickle or JSON."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

from discreet._errors import BudgetExceeded, DiscreetError, InputError, Overdrawn
from discreet.privacy import Budget, Entry, Event, Ledger, Relation, Unit, accounting
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteLaplacePair,
    GaussianRelease,
    NonPrivate,
    PureRelease,
    ThresholdedVocabulary,
    UnknownEvent,
)

TENTH = PureRelease(epsilon=0.1)
ROUND = GaussianRelease(sigma=4.0, sampling_rate=0.05)


class Spender(BaseEstimator):  # type: ignore[misc]
    """Charges one tenth for each fit."""

    def __init__(self, knob: int = 0, ledger: Ledger | None = None) -> None:
        self.knob, self.ledger = knob, ledger

    def fit(self, X: Any, y: Any = None) -> Spender:
        assert self.ledger is not None
        self.ledger.charge(TENTH, label=f"knob {self.knob}").draw()
        return self

    def score(self, X: Any, y: Any = None) -> float:
        return float(self.knob)


# --- check, charge, draw ----------------------------------------------------------------------------------------------


def test_it_charges_until_the_budget_is_spent_and_then_changes_nothing() -> None:
    ledger = Ledger(Budget(1.0))
    for i in range(10):
        ledger.charge(TENTH, label=f"step {i}")
    assert ledger.spent() == accounting.Spent(1.0, 0.0, "pure")
    assert ledger.remaining() == 0
    before = ledger.entries
    with pytest.raises(BudgetExceeded, match=r"'one more' would bring what is spent from ε = 1 to 1\.1") as caught:
        ledger.charge(TENTH, label="one more")
    assert ledger.entries is before
    assert caught.value.entry == Entry(TENTH, 1, "one more")
    assert caught.value.spent.epsilon == 1.0
    assert caught.value.budget == Budget(1.0)
    assert isinstance(caught.value, DiscreetError)
    assert isinstance(caught.value, ValueError)


def test_three_thirds_are_a_whole() -> None:
    ledger = Ledger(Budget(1.0))
    for part in (0.1, 0.2, 0.7):
        ledger.charge(PureRelease(epsilon=part), label="")
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureRelease(epsilon=1e-9), label="")


def test_it_checks_without_charging() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    after = ledger.check(ROUND, 300)
    assert after is not None
    assert after.epsilon == accounting.epsilon([Entry(ROUND, 300)], 1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.check(ROUND, 600)
    assert ledger.entries == ()
    assert Ledger().check(ROUND) is None


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_delta_above_the_budgets_is_called_so(delta: float) -> None:
    """No ε is enough then, and an infinite one would tell nobody what to change."""
    ledger = Ledger(Budget(1.0, delta))
    event = ThresholdedVocabulary(sigma=50.0, max_words=10, delta_threshold=1e-7)
    with pytest.raises(
        BudgetExceeded, match=rf"the budget's δ = {delta:g} does not cover it. At ε = 1 .* would need δ = 1e-07\."
    ):
        ledger.charge(event, label="words")
    assert ledger.entries == ()


@pytest.mark.parametrize("event", [NonPrivate(), UnknownEvent(name="Future")], ids=str)
def test_no_budget_covers_infinity(event: Event) -> None:
    ledger = Ledger(Budget(1e6, 0.5))
    with pytest.raises(BudgetExceeded, match="would protect nothing"):
        ledger.charge(event, label="leak")
    free = Ledger()
    free.charge(event, label="leak")
    assert free.spent(0.5).epsilon == math.inf


def test_a_plan_is_charged_as_a_whole_or_not_at_all() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    plan = [Entry(GaussianRelease(sigma=s, sampling_rate=0.05), 100, "rounds") for s in (5.0, 4.0, 3.5)]
    reservation = ledger.reserve(plan)
    assert ledger.entries == tuple(plan)
    assert reservation.left == 300
    with pytest.raises(BudgetExceeded):
        ledger.reserve([Entry(PureRelease(epsilon=1e-3)), *plan])
    assert ledger.entries == tuple(plan)
    with pytest.raises(InputError, match="nothing to charge"):
        ledger.reserve([])
    with pytest.raises(InputError, match="consists of entries"):
        ledger.reserve([ROUND])  # type: ignore[list-item]


def test_a_reservation_is_drawn_down_and_no_further() -> None:
    first, second = GaussianRelease(sigma=5.0), GaussianRelease(sigma=4.0)
    reservation = Ledger().reserve([Entry(first, 2), Entry(second, 1)])
    assert reservation.draw(event=first) == first
    with pytest.raises(Overdrawn, match="which is not"):
        reservation.draw(2, event=first)
    assert reservation.draw(2) == second
    assert reservation.left == 0
    with pytest.raises(Overdrawn, match="charged for 0 more"):
        reservation.draw()
    with pytest.raises(Overdrawn):
        reservation.draw(0)


def test_a_reservation_cannot_be_copied() -> None:
    reservation = Ledger().charge(TENTH, label="")
    for duplicate in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            duplicate(reservation)


def test_threads_cannot_both_spend_the_last_of_it() -> None:
    ledger = Ledger(Budget(1.0))

    def attempt(i: int) -> bool:
        try:
            ledger.charge(TENTH, label=str(i))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 10
    assert len(ledger.entries) == 10


# --- unit and relation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "relation"),
    [
        ("document", "add-remove"),
        ("user", "add-remove"),
        ("word", "replace"),
        ("bit", "replace"),
        ("report", "replace"),
    ],
)
def test_units_have_their_usual_relation(unit: str, relation: str) -> None:
    ledger = Ledger(unit=unit)
    assert (ledger.unit, ledger.relation) == (Unit(unit), Relation(relation))
    assert Ledger(unit=unit, relation="replace").relation is Relation.REPLACE


def test_it_adds_only_what_has_its_unit_and_relation() -> None:
    ledger = Ledger(Budget(1.0), unit="document")
    ledger.charge(TENTH, label="", unit="document", relation=Relation.ADD_REMOVE)
    with pytest.raises(InputError, match="its unit is 'document', found 'user'"):
        ledger.charge(TENTH, label="", unit=Unit.USER)
    with pytest.raises(InputError, match="its relation is 'add-remove', found 'replace'"):
        ledger.charge(TENTH, label="", relation="replace")
    words = Ledger(unit="word")
    words.charge(DiscreteLaplacePair(epsilon=0.1), label="")
    with pytest.raises(InputError, match="unit"):
        ledger.absorb(words)
    with pytest.raises(InputError, match="add or remove"):
        words.charge(ROUND, label="")
    assert len(ledger.entries) == len(words.entries) == 1


def test_it_absorbs_another_ledger() -> None:
    vocabulary = Ledger(Budget(0.3), unit="user")
    vocabulary.charge(TENTH, 2, label="vocabulary")
    ledger = Ledger(Budget(0.3), unit="user")
    ledger.absorb(vocabulary)
    ledger.absorb(ledger)
    ledger.absorb(Ledger())  # empty, whatever its unit
    assert ledger.entries == vocabulary.entries
    with pytest.raises(BudgetExceeded):
        ledger.absorb(vocabulary)


# --- copies -----------------------------------------------------------------------------------------------------------


def test_clones_and_copies_are_the_ledger_itself() -> None:
    ledger = Ledger(Budget(1.0))
    assert clone(ledger) is copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    assert clone(Spender(ledger=ledger)).ledger is ledger
    assert copy.deepcopy(Spender(ledger=ledger)).ledger is ledger


def test_cross_validation_loses_no_charge() -> None:
    ledger = Ledger(Budget(2.0))
    search = GridSearchCV(Spender(ledger=ledger), {"knob": [1, 2, 3]}, cv=5)
    search.fit(np.zeros((20, 1)))
    assert len(ledger.entries) == 3 * 5 + 1
    assert ledger.spent().epsilon == pytest.approx(1.6)


def test_a_broken_ledger_would_lose_them() -> None:
    """What the test above is for: without its own clone, sklearn deep-copies, and the charges go to the copies."""

    class Forgetful(Ledger):
        __sklearn_clone__ = None  # type: ignore[assignment]

        def __deepcopy__(self, memo: dict[int, Any]) -> Forgetful:
            return Forgetful(self.budget)

    ledger = Forgetful(Budget(2.0))
    copied = copy.deepcopy(Spender(ledger=ledger))
    copied.fit(np.zeros((2, 1)))
    assert ledger.entries == ()


def test_a_pickled_ledger_is_a_record() -> None:
    ledger = Ledger(Budget(1.0))
    ledger.charge(TENTH, label="x")
    record = pickle.loads(pickle.dumps(ledger))
    assert record.to_json() == ledger.to_json()
    with pytest.raises(InputError, match="takes no charges"):
        record.charge(TENTH, label="y")
    assert len(pickle.loads(pickle.dumps(record)).entries) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_cannot_spend_it_too() -> None:
    """The parent would never know, and every child would have the whole budget."""
    ledger = Ledger(Budget(1.0))
    child = os.fork()
    if child == 0:
        try:
            ledger.charge(PureRelease(epsilon=0.5), label="child")
        except InputError as error:
            os._exit(0 if "copy" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.charge(PureRelease(epsilon=1.0), label="parent")


def test_the_error_survives_the_way_back_from_a_worker() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        Ledger(Budget(0.01)).charge(TENTH, label="x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.entry, again.spent, again.budget) == (
        str(caught.value),
        caught.value.entry,
        caught.value.spent,
        caught.value.budget,
    )


@pytest.mark.parametrize("budget", [None, Budget(3.0, 1e-6)], ids=str)
def test_json_round_trip(budget: Budget | None) -> None:
    ledger = Ledger(budget, unit="word")
    ledger.charge(DiscreteLaplacePair(epsilon=0.01), 101, label="counts")
    ledger.charge(BoundedRangeDraw(eta=0.01), 100, label="topics")
    text = json.dumps(ledger.to_json(), allow_nan=False)
    record = Ledger.from_json(json.loads(text))
    assert record.to_json() == ledger.to_json()
    assert record.entries == ledger.entries
    assert record.spent(1e-6) == ledger.spent(1e-6)
    with pytest.raises(InputError, match="takes no charges"):
        record.charge(TENTH, label="")
    fresh = Ledger(unit="word")
    fresh.absorb(record)
    assert fresh.entries == ledger.entries


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {},
        {"budget": None, "unit": "word", "relation": "replace"},
        {"budget": None, "unit": "word", "relation": "replace", "entries": None},
        {"budget": None, "unit": "family", "relation": "replace", "entries": []},
        {"budget": None, "unit": "word", "relation": "eat", "entries": []},
        {"budget": 3, "unit": "word", "relation": "replace", "entries": []},
        {"budget": {"epsilon": -1, "delta": 0}, "unit": "word", "relation": "replace", "entries": []},
        {"budget": None, "unit": "word", "relation": "replace", "entries": [{}]},
    ],
)
def test_json_that_is_no_ledger(broken: Any) -> None:
    with pytest.raises(InputError):
        Ledger.from_json(broken)


# --- for people -------------------------------------------------------------------------------------------------------


def test_it_prints_what_a_curator_wants_to_know() -> None:
    ledger = Ledger(Budget(1.0), unit="user")
    ledger.charge(TENTH, 3, label="vocabulary")
    assert str(ledger) == (
        "ledger per user (add-remove), budget ε = 1, δ = 0\n"
        "  vocabulary: 3 × PureRelease(epsilon=0.1)\n"
        "spent ε = 0.3 at δ = 0 (pure), 0.7 left"
    )
    assert "no budget" in str(Ledger())
    assert repr(ledger) == "<Ledger: 1 entry per user, budget ε = 1, δ = 0>"


def test_a_notebook_shows_a_table() -> None:
    ledger = Ledger(Budget(1.0), unit="user")
    assert "<table>" not in ledger._repr_html_()
    ledger.charge(TENTH, 3, label="<b>words & more")
    shown = ledger._repr_html_()
    assert "<td>&lt;b&gt;words &amp; more</td><td>3</td>" in shown
    assert "0.7 left" in shown
    assert shown.count("private by itself with ε = 0.1<") == 1
    assert not re.search(r"\d\.\d{5}", shown)  # no one reads sixteen digits
    assert "<table>" in Ledger.from_json(ledger.to_json())._repr_html_()


def test_without_a_budget_it_asks_for_delta() -> None:
    ledger = Ledger()
    ledger.charge(ROUND, 10, label="")
    assert ledger.spent(1e-6).epsilon == accounting.epsilon([Entry(ROUND, 10)], 1e-6)
    assert ledger.remaining() == math.inf
    with pytest.raises(InputError, match="Give the delta"):
        ledger.spent()


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 0), (-1, 0), (math.inf, 0), (math.nan, 0), (1, -1e-9), (1, 1), (1, math.nan), ("1", 0), (True, 0)],
)
def test_a_budget_that_is_none(epsilon: Any, delta: Any) -> None:
    with pytest.raises(InputError, match="budget"):
        Budget(epsilon, delta)


def test_a_ledger_that_is_none() -> None:
    with pytest.raises(InputError, match="must be a Budget"):
        Ledger(1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unit must be one of"):
        Ledger(unit="family")


def test_a_refusal_speaks_of_rounds_only_where_there_are_some() -> None:
    ledger = Ledger(Budget(0.05), unit="user")
    for count, rounds in ((1, False), (3, True)):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.charge(TENTH, count, label="shares")
        assert ("rounds" in str(caught.value)) == rounds
