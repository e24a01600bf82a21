"""PrivateCrossLDA on neighbours D and D′: what its proof needs of the code, seen in recorded runs.

As for PrivateLDA (``tests/exact/test_private_neighbours.py``). The unit that goes is a document of one collection, or a
user with documents in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import PrivateCrossLDA
from discreet._random import Purpose
from discreet.corpus import Corpus
from discreet.engines.threads.units import ThreadUnits
from discreet.models.cross import private, units
from discreet.models.cross.rounds import CrossRounds
from discreet.models.cross.units import SUM_WEIGHT, CollectionUnits
from discreet.privacy import Unit
from tests.support.neighbours import (
    N_ROUNDS,
    N_TOPICS,
    N_WORDS,
    SHORT,
    ExactAnswers,
    Run,
    faults_of_rounds,
    levels,
    opened_anew,
    people,
    recorded,
    used,
    watched,
)

BEFORE = 3
"""Releases ahead of the rounds."""
NAMES = ("east", "north", "west")
"""Nobody is of the north."""


def pair(level: str) -> tuple[Corpus, Corpus, int, set[int]]:
    """D, D′, the number of the unit that goes, and its rows: words of its collections, and words."""
    d, _, unit, words = people(level)
    gone = np.asarray(d.groups) == "zoe" if level == "user" else np.arange(d.n_documents) == unit
    collections = np.array(["east", "west"])[np.arange(d.n_documents) % 2]
    if level == "document":
        collections[gone] = "west"
    d = replace(d, collections=collections)
    mine = {NAMES.index(label) for label in collections[gone].tolist()}
    rows = {c * N_WORDS + word for c in (*mine, len(NAMES)) for word in words}
    return d, d[np.flatnonzero(~gone)], unit, rows


def fit(corpus: Corpus, answers: list[np.ndarray] | None = None, training: type = CrossRounds, **options: Any) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run = Run()
    with recorded(run, answers), patch.object(private, "CrossRounds", training), watched(run, ThreadUnits, "residuals"):
        given = {**SHORT, "sampling_rate": 0.5, "collection_names": NAMES, **options}
        run.train(PrivateCrossLDA(N_TOPICS, **given), corpus)
    if corpus.groups is not None:  # a call for each number of collections: a unit takes part in one of them
        calls = [run.coins[i : i + len(NAMES)] for i in range(0, len(run.coins), len(NAMES))]
        assert all(np.sum(round_, axis=0).max(initial=0) <= 1 for round_ in calls)
        run.coins = [np.any(round_, axis=0) for round_ in calls]
    return run


def compared(level: str, training: type = CrossRounds, **options: Any) -> tuple[Run, Run, set[str]]:
    d, d1, unit, rows = pair(level)
    with_unit = fit(d, training=training, **options)
    without = fit(d1, with_unit.noisy, training, **options)
    return with_unit, without, faults_of_rounds(with_unit, without, unit=unit, words=rows, before=BEFORE)


@levels
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_neighbours_differ_by_one_clipped_contribution(level, rate):
    d, d1, found = compared(level, sampling_rate=rate)
    assert found == set()
    assert len(d.exact) == BEFORE + N_ROUNDS == d.charged_for
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    lengths, included = used(d, d1), [bool(coins[8 if level == "user" else 24]) for coins in d.coins]
    assert [length > 0 for length in lengths] == [True] * BEFORE + included  # the comparison did see the unit
    assert max(lengths[1:]) > 0.9  # and it was clipped: the bound is reached


def test_the_sum_is_over_collections():
    d = pair("user")[0]
    cells = fit(d, sampling_rate=1.0).exact[BEFORE].reshape(len(NAMES) + 1, N_WORDS, N_TOPICS)
    assert cells[0].any()
    assert cells[2].any()
    assert not cells[1].any()
    np.testing.assert_array_equal(cells[3], SUM_WEIGHT * cells[:3].sum(axis=0))


def test_a_unit_may_change_its_collection():
    """It is no neighbour, but two steps: what is released of it is within the sum of both."""
    d, _, unit, _ = pair("document")
    moved = np.where(np.arange(d.n_documents) == unit, "east", np.asarray(d.collections))
    one = fit(d, sampling_rate=1.0)
    two = fit(replace(d, collections=moved), one.noisy, sampling_rate=1.0)
    assert (one.numbers, one.events, one.charged, one.warnings) == (two.numbers, two.events, two.charged, two.warnings)
    np.testing.assert_array_equal(one.model.components_, two.model.components_)
    assert max(used(one, two)) <= 2


def test_a_collection_may_lose_its_last_unit():
    """With public names nothing is refused, and nothing else happens."""
    d = pair("document")[0]
    only = np.where(np.arange(d.n_documents) == d.n_documents - 1, "north", np.asarray(d.collections))
    with_unit = fit(replace(d, collections=only))
    without = fit(replace(d, collections=only)[:-1], with_unit.noisy)
    rows = set(range((len(NAMES) + 1) * N_WORDS))
    assert faults_of_rounds(with_unit, without, unit=d.n_documents - 1, words=rows, before=BEFORE) == set()


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


class RealisedBatch(CrossRounds):
    """Divides by the number of units that took part."""

    def round(self, number):
        bits = self.engine.key.bits(Purpose.INCLUSION, number, 0, self.engine.n_units)
        self.n_units = max((bits < self.plan.threshold).sum(), 1) / self.plan.rate
        return super().round(number)


class ExactCounts(CrossRounds):
    """Releases noisy counts and trains on exact ones."""

    def _start(self):
        self.releases = ExactAnswers(self.payment.reservation, self.engine.key)
        super()._start()


class ExactShares(CrossRounds):
    """Knows how large collections are without asking."""

    def finish(self, setting):
        super().finish(setting)
        self.model.collection_shares_ = self.model.collection_shares_ / self.engine.n_units


class ExactRows(CrossRounds):
    """Word frequencies of collections from the counts themselves."""

    def _learn_frequencies(self):
        super()._learn_frequencies()
        self.observed = self.engine.collection_counts(np.ones(N_WORDS), 1e6).reshape(self.observed.shape) / 1e3


class OnlyWhatThereIs(CrossRounds):
    """Spares itself the last round for a reason of its own."""

    def round(self, number):
        return {} if number == N_ROUNDS and self.engine.n_units % 2 == 0 else super().round(number)


BROKEN = {
    RealisedBatch: "a step reads private data",
    opened_anew(CrossRounds): "noise used twice",
    ExactCounts: "the model reads private data",
    ExactShares: "the model reads private data",
    ExactRows: "a step reads private data",
    OnlyWhatThereIs: "control flow",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training):
    assert BROKEN[training] in compared(level, training)[2]


@levels
def test_a_clip_that_forgets_the_sum_is_caught(level):
    with patch.object(units, "shorter", lambda clip, n: clip):
        assert compared(level)[2] == {"sensitivity"}


def test_a_clip_that_forgets_other_collections_is_caught():
    """Enough for documents, and too long for a user with documents in two collections."""
    real = units.shorter
    with patch.object(units, "shorter", lambda clip, n: real(clip, 1)):
        assert compared("document")[2] == set()
        assert "sensitivity" in compared("user")[2]


def test_users_clipped_for_each_collection_are_caught():
    real = CollectionUnits

    def by_collection(corpus, groups, *arguments, numbers, n_collections, **options):
        return real(corpus, groups * n_collections + numbers, *arguments, numbers=numbers, n_collections=3, **options)

    d, d1, *_ = pair("user")
    with patch.object(private, "CollectionUnits", by_collection):
        one = fit(d, sampling_rate=1.0)
        two = fit(d1, one.noisy, sampling_rate=1.0)
    assert max(used(one, two)) > 1.05
