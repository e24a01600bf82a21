"""Events are facts: frozen, checked, and the same after JSON. What nobody knows is kept, and costs everything."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet._errors import InputError
from discreet.privacy import Relation, accounting
from discreet.privacy.costs import cost
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    Entry,
    Event,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    PureRelease,
    ThresholdedVocabulary,
    UnknownEvent,
    VocabularyRound,
)

EXAMPLES: list[Event] = [
    GaussianRelease(sigma=2.0),
    GaussianRelease(sigma=2.0, sampling_rate=0.1),
    DiscreteGaussianRelease(scale=4096.0, sensitivity=1000.0, cells=40_000, sampling_rate=0.05),
    DiscreteGaussianRelease(scale=4096.0, sensitivity=1000.0, cells=40_000),
    ThresholdedVocabulary(sigma=8.0, delta_threshold=1e-8, max_words=50),
    ThresholdedVocabulary(sigma=8.0, delta_threshold=1e-8, max_words=50, scale=4096.0),
    VocabularyRound(sigma=8.0, delta_threshold=1e-8, max_words=50, scale=4096.0),
    LaplaceRelease(scale=10.0),
    DiscreteLaplacePair(epsilon=0.1),
    DiscreteLaplaceRelease(scale=4096.0, sensitivity=1000.0, cells=820),
    BoundedRangeDraw(eta=0.1),
    PureRelease(epsilon=0.1),
    NonPrivate(),
    UnknownEvent(name="FutureRelease", details='{"tau": 3}'),
]


def test_every_class_has_an_example() -> None:
    ours = {kind for kind in Event.known.values() if kind.__module__ == "discreet.privacy.events"}
    assert {type(event) for event in EXAMPLES} == ours


@pytest.mark.parametrize("event", EXAMPLES, ids=str)
class TestEventContract:
    def test_json_round_trip(self, event: Event) -> None:
        text = json.dumps(event.to_json(), allow_nan=False)
        assert Event.from_json(json.loads(text)) == event

    def test_it_cannot_be_changed(self, event: Event) -> None:
        for field in fields(event):
            with pytest.raises(FrozenInstanceError):
                setattr(event, field.name, 1)

    def test_it_is_a_key(self, event: Event) -> None:
        assert hash(Event.from_json(event.to_json())) == hash(event)

    def test_it_takes_keywords_only(self, event: Event) -> None:
        values = [getattr(event, field.name) for field in fields(event)]
        if values:
            with pytest.raises(TypeError):
                type(event)(*values)

    def test_it_says_what_it_is(self, event: Event) -> None:
        assert type(event).__doc__ is not None
        assert type(event).__name__ in str(event)

    def test_its_cost_is_known_or_infinite(self, event: Event) -> None:
        known = not isinstance(event, NonPrivate | UnknownEvent)
        price = cost(event)
        assert bool(price.precision or price.pld) == known
        assert math.isfinite(accounting.epsilon([Entry(event)], 1e-6)) == known

    def test_more_noise_costs_less(self, event: Event) -> None:
        for name, factor in (("sigma", 2), ("scale", 2), ("epsilon", 0.5), ("eta", 0.5)):
            if name in {f.name for f in fields(event)} and not isinstance(event, ThresholdedVocabulary):
                values = {f.name: getattr(event, f.name) for f in fields(event)}
                quieter = type(event)(**{**values, name: values[name] * factor})
                assert accounting.epsilon([Entry(quieter)], 1e-6) < accounting.epsilon([Entry(event)], 1e-6)


@given(st.floats(1e-3, 1e3), st.floats(0, 1, exclude_min=True))
def test_floats_survive_json(sigma: float, rate: float) -> None:
    event = GaussianRelease(sigma=sigma, sampling_rate=rate)
    assert Event.from_json(json.loads(json.dumps(event.to_json()))) == event


def test_numbers_of_numpy_become_plain_ones() -> None:
    event = DiscreteGaussianRelease(scale=np.float32(2048), sensitivity=np.int64(3), cells=np.int32(7))  # type: ignore[arg-type]
    assert event == DiscreteGaussianRelease(scale=2048.0, sensitivity=3.0, cells=7)
    assert [type(value) for value in (event.scale, event.sensitivity, event.cells)] == [float, float, int]


def test_a_class_that_this_program_does_not_know_is_kept_and_costs_infinity() -> None:
    found = Event.from_json({"kind": "FutureRelease", "tau": 3})
    assert isinstance(found, UnknownEvent)
    assert found.to_json() == {"kind": "FutureRelease", "tau": 3}
    assert accounting.epsilon([Entry(found)], 1e-6) == math.inf


def test_a_class_without_a_cost_costs_infinity() -> None:
    class Homemade(Event):
        """Not taught to costs.py."""

    assert accounting.spent([Entry(GaussianRelease(sigma=9.0)), Entry(Homemade())], 1e-6).epsilon == math.inf
    del Event.known["Homemade"]


def test_sampling_is_about_adding_and_removing() -> None:
    assert not GaussianRelease(sigma=1.0, sampling_rate=0.5).holds_for(Relation.REPLACE)
    assert not EXAMPLES[2].holds_for(Relation.REPLACE)
    assert not EXAMPLES[4].holds_for(Relation.REPLACE)
    assert GaussianRelease(sigma=1.0).holds_for(Relation.REPLACE)
    assert all(event.holds_for(Relation.ADD_REMOVE) for event in EXAMPLES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianRelease(sigma=0.0), "sigma must be positive"),
        (lambda: GaussianRelease(sigma=-1.0), "sigma must be positive"),
        (lambda: GaussianRelease(sigma=math.nan), "sigma must be positive"),
        (lambda: GaussianRelease(sigma=math.inf), "finite"),
        (lambda: GaussianRelease(sigma=True), "must be a number"),
        (lambda: GaussianRelease(sigma="1"), "must be a number"),  # type: ignore[arg-type]
        (lambda: GaussianRelease(sigma=1.0, sampling_rate=0.0), "sampling_rate must be above 0"),
        (lambda: GaussianRelease(sigma=1.0, sampling_rate=1.1), "at most 1"),
        (lambda: GaussianRelease(sigma=1.0, sampling_rate=math.nan), "sampling_rate"),
        (
            lambda: DiscreteGaussianRelease(scale=999.0, sensitivity=1.0, cells=1),
            "at least 1000 grid steps.*finer grid",
        ),
        (lambda: DiscreteGaussianRelease(scale=2e3, sensitivity=0.0, cells=1), "sensitivity must be positive"),
        (lambda: DiscreteGaussianRelease(scale=2e3, sensitivity=1.0, cells=0), "cells must be a whole number"),
        (lambda: DiscreteGaussianRelease(scale=2e3, sensitivity=1.0, cells=1.5), "cells"),  # type: ignore[arg-type]
        (lambda: ThresholdedVocabulary(sigma=1.0, delta_threshold=0.0, max_words=1), "between 0 and 1"),
        (lambda: ThresholdedVocabulary(sigma=1.0, delta_threshold=1.0, max_words=1), "between 0 and 1"),
        (lambda: ThresholdedVocabulary(sigma=1.0, delta_threshold=0.1, max_words=0), "max_words"),
        (lambda: ThresholdedVocabulary(sigma=1.0, delta_threshold=0.1, max_words=1, scale=10.0), "finer grid"),
        (lambda: LaplaceRelease(scale=0.0), "scale must be positive"),
        (lambda: DiscreteLaplacePair(epsilon=0.0), "epsilon must be positive"),
        (lambda: BoundedRangeDraw(eta=-1.0), "eta must be positive"),
        (lambda: PureRelease(epsilon=math.inf), "finite"),
        (lambda: Entry("x"), "needs an event"),  # type: ignore[arg-type]
        (lambda: Entry(NonPrivate(), 0), "count must be a whole number"),
        (lambda: Entry(NonPrivate(), True), "count must be a whole number"),
        (lambda: Entry(NonPrivate(), 1, None), "label"),  # type: ignore[arg-type]
    ],
)
def test_a_fact_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"kind": 3},
        {"kind": "GaussianRelease"},
        {"kind": "GaussianRelease", "sigma": 1.0},
        {"kind": "GaussianRelease", "sigma": 1.0, "sampling_rate": 1.0, "extra": 0},
        {"kind": "GaussianRelease", "sigma": None, "sampling_rate": 1.0},
        {"kind": "NonPrivate", "extra": 1},
    ],
)
def test_json_that_is_no_event(broken: Any) -> None:
    with pytest.raises(InputError):
        Event.from_json(broken)


@pytest.mark.parametrize("event", EXAMPLES, ids=str)
def test_entries_survive_json(event: Event) -> None:
    entry = Entry(event, 3, "käse\n")
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry


@pytest.mark.parametrize("broken", [None, {}, {"label": "", "count": 1}, {"label": "", "count": 1, "event": None}])
def test_json_that_is_no_entry(broken: Any) -> None:
    with pytest.raises(InputError):
        Entry.from_json(broken)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianRelease(sigma=1e-200), "sigma must lie between 1e-50 and 1e.50; found 1e-200"),
        (lambda: DiscreteGaussianRelease(scale=1e200, sensitivity=1.0, cells=1), "scale must lie between"),
        (lambda: Entry(GaussianRelease(sigma=1.0), 10**400, "x"), "count must be at most 2.63; found a number of 401"),
    ],
)
def test_numbers_beyond_all_use_are_refused(make, message):
    """In one line, where arithmetic would overflow later."""
    with pytest.raises(InputError, match=message):
        make()
