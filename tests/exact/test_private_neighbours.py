"""PrivateLDA on neighbouring data sets D and D′: what Theorem A needs of the code, seen in recorded runs.

Both runs have the same key, and the second is given the noisy statistics that the first released, so both see one
history h. Theorem A then asks that

* everything besides the exact sums is the same, to the bit: how many releases of which kind, what is charged, the
  tables and word weights and clip that each round works with, the warnings and the model itself. Whatever differs is a
  function of the data that no noise has covered;
* the exact sums of a round differ by nothing if the unit's coin says no, and otherwise by the unit's own contribution:
  over words that it has, and of a norm within the sensitivity that was charged;
* no noise is used twice.

**Why the unit that goes is the last one, or is emptied in its place.** Coins are numbered by the unit's place, and
local draws by a document's place among those included. Removing a unit in the middle would hand the streams of its
successors on to others, and the two runs could not be compared draw by draw. The proof does not mind: all streams of
one key are independent and uniform, and each place of each number is read once, so for *every* pattern of inclusion
the draws of the other units, listed by unit and round, are independent and uniform. They have the same law in D and D′,
independent of all coins, whichever stream they come from; the theorem fixes their values, not their addresses.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet.corpus import Corpus, Vocabulary
from discreet.engines.threads import units as rounds
from discreet.engines.threads.units import ThreadUnits
from discreet.models.private import model as private
from discreet.models.private import rounds as private_rounds
from discreet.models.private.model import PrivateLDA
from discreet.privacy import Unit
from tests.support.neighbours import (
    N_ROUNDS,
    N_TOPICS,
    N_WORDS,
    SHORT,
    ExactAnswers,
    KeptCells,
    Run,
    faults_of_rounds,
    levels,
    opened_anew,
    people,
    recorded,
    used,
    watched,
)

BEFORE = 2
"""Releases ahead of the rounds."""


def fit(
    corpus: Corpus,
    answers: list[np.ndarray] | None = None,
    training: type = private_rounds.PrivateRounds,
    **options: Any,
) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run = Run()
    with (
        recorded(run, answers),
        patch.object(private, "PrivateRounds", training),
        watched(run, ThreadUnits, "residuals"),
    ):
        run.train(PrivateLDA(N_TOPICS, **{**SHORT, "sampling_rate": 0.5, **options}), corpus)
    return run


def compared(level: str, training: type = private_rounds.PrivateRounds, **options: Any) -> tuple[Run, Run, set[str]]:
    d, d1, unit, words = people(level)
    with_unit = fit(d, training=training, **options)
    without = fit(d1, with_unit.noisy, training, **options)
    return with_unit, without, faults_of_rounds(with_unit, without, unit=unit, words=words, before=BEFORE)


@levels
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_neighbours_differ_by_one_clipped_contribution(level, rate):
    d, d1, found = compared(level, sampling_rate=rate)
    assert found == set()
    assert len(d.exact) == BEFORE + N_ROUNDS == d.charged_for
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    lengths, included = used(d, d1), [bool(coins[-1]) for coins in d.coins]
    assert [length > 0 for length in lengths] == [True, True, *included]  # the comparison did see the unit
    assert all(np.array_equal(a[:-1], b) for a, b in zip(d.coins, d1.coins, strict=True))
    assert max(lengths[1:]) > 0.9  # and it was clipped: the bound is reached


WORDS = [f"word{i}" for i in range(N_WORDS)]
PUBLIC = {
    "text": lambda: Corpus.from_counts(np.eye(N_WORDS, k=1, dtype=int) + np.eye(N_WORDS, dtype=int), WORDS),
    "vectors": lambda: {word: np.array([i % 3, 1.0, i % 2]) for i, word in enumerate(WORDS)},
}


@levels
@pytest.mark.parametrize("kind", PUBLIC)
def test_public_knowledge_does_not_touch_the_mechanism(level, kind):
    """The same releases of the same kind are charged as without it, and neighbours differ by one contribution."""
    d, _, found = compared(level, public=PUBLIC[kind]())
    assert found == set()
    plain = compared(level)[0]
    assert d.model.ledger_.entries == plain.model.ledger_.entries
    assert [exact.shape for exact in d.exact] == [exact.shape for exact in plain.exact]
    assert not np.array_equal(d.model.components_, plain.model.components_)  # and it was used


@pytest.mark.parametrize("place", [0, 11, 23])
def test_a_unit_emptied_in_its_place(place):
    """Any unit, not only the last. (The histogram of sizes moves it to the smallest bin: two cells, not one.)"""
    d = people("document")[0]
    lengths = np.diff(d.offsets)
    kept = np.repeat(np.arange(d.n_documents) != place, lengths)
    lengths[place] = 0
    d1 = Corpus(d.words[kept], np.cumsum([0, *lengths]), Vocabulary(d.vocabulary, "public"))
    words = set(d.words[d.offsets[place] : d.offsets[place + 1]].tolist())
    with_unit = fit(d)
    without = fit(d1, with_unit.noisy)
    assert faults_of_rounds(with_unit, without, unit=place, words=words, before=BEFORE, first=1) == set()
    assert any((a != b).any() for a, b in zip(with_unit.exact[BEFORE:], without.exact[BEFORE:], strict=True))


@levels
def test_the_last_of_all_units_may_go(level):
    """From one unit to none: nothing is refused, and nothing else happens."""
    d = people(level)[0]
    alone = d[[-1]] if level == "document" else d[np.flatnonzero(d.groups == "zoe")]
    with_unit = fit(alone)
    without = fit(d[[]], with_unit.noisy) if level == "document" else fit(alone[[]], with_unit.noisy)
    assert faults_of_rounds(with_unit, without, unit=0, words=set(range(N_WORDS)), before=BEFORE) == set()
    assert not any(exact.any() for exact in without.exact)


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


class RealisedBatch(private_rounds.PrivateRounds):
    """Divides by the number of units that took part."""

    def round(self, number):
        self.n_units = max(self.engine.coins(number, self.plan.threshold).sum(), 1) / self.plan.rate
        return super().round(number)


class ExactCounts(private_rounds.PrivateRounds):
    """Releases noisy counts and trains on exact ones."""

    def _start(self):
        self.releases = ExactAnswers(self.payment.reservation, self.engine.key)
        super()._start()


class ExactEnd(private_rounds.PrivateRounds):
    """Private rounds, and then topics from the counts themselves."""

    def _start(self):
        self.releases = KeptCells(self.payment.reservation, self.engine.key)
        super()._start()

    def final_table(self):
        return np.maximum(self.releases.exact.reshape(N_WORDS, N_TOPICS), 1.0)


class ExactShares(private_rounds.PrivateRounds):
    """Topics from what was released, of sizes that hang on how many units there are."""

    def final_table(self):
        return super().final_table() * (1 + np.arange(N_TOPICS) / self.engine.n_units)


class ExactNumber(private_rounds.PrivateRounds):
    """Knows how many units there are without asking."""

    def _learn_sizes(self):
        super()._learn_sizes()
        self.n_units = float(self.engine.n_units)


class StopsEarly(private_rounds.PrivateRounds):
    """Spares itself a release for a reason of its own."""

    def round(self, number):
        return {} if number > 5 and self.engine.n_units % 2 == 0 else super().round(number)


BROKEN = {
    RealisedBatch: "a step reads private data",
    opened_anew(private_rounds.PrivateRounds): "noise used twice",
    ExactCounts: "the model reads private data",
    ExactEnd: "the model reads private data",
    ExactShares: "the model reads private data",
    ExactNumber: "the model reads private data",  # in its last digits, and in what it says of its usefulness
    StopsEarly: "control flow",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training):
    assert BROKEN[training] in compared(level, training)[2]


@levels
def test_a_missing_clip_is_caught(level):
    real = rounds.add_residuals

    def unclipped(*arguments):
        real(*arguments[:10], 6e7, *arguments[11:])

    with patch.object(rounds, "add_residuals", unclipped):
        assert compared(level)[2] == {"sensitivity"}


def test_clipping_documents_instead_of_users_is_caught():
    real = ThreadUnits.word_counts

    def by_document(self, word_weights, clip):
        self.first_document, self.n_units = np.arange(len(self.offsets)), len(self.offsets) - 1
        return real(self, word_weights, clip)

    with patch.object(ThreadUnits, "word_counts", by_document):
        assert "sensitivity" in compared("user", sampling_rate=1.0)[2]


def test_every_unit_has_a_coin_of_its_own_in_every_round():
    """No two rows (rounds) or columns (units) are alike, and half of all coins say yes."""
    coins = np.array(fit(people("document")[0], n_rounds=40).coins)
    assert len({row.tobytes() for row in coins}) == 40
    assert len({column.tobytes() for column in coins.T}) == coins.shape[1]
    assert 0.4 < coins.mean() < 0.6
