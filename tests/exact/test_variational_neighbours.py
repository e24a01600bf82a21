"""VariationalLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

As in ``test_private_neighbours.py``: the second run has the same key and is given what the first released. Everything
besides the exact sums must then be the same to the bit, and these may differ by the unit's own clipped contribution.
There are no local draws here, so a unit may go from any place once its coin is its own.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet.corpus import Corpus
from discreet.engines.threads import variational as engine_module
from discreet.engines.threads.variational import ThreadVariationalUnits
from discreet.models.variational import model as variational
from discreet.models.variational.model import VariationalLDA
from discreet.models.variational.rounds import PublishedRounds, VariationalRounds
from discreet.privacy import Unit
from tests.support.neighbours import (
    N_ROUNDS,
    N_TOPICS,
    N_WORDS,
    SHORT,
    Run,
    faults_of_rounds,
    levels,
    people,
    recorded,
    used,
    watched,
)

OURS: dict[str, Any] = {"as_published": False}
PUBLISHED: dict[str, Any] = {"as_published": True}


def before(as_published: bool) -> int:
    """Releases ahead of the rounds."""
    return 0 if as_published else 2


def fit(
    corpus: Corpus,
    answers: list[np.ndarray] | None = None,
    training: type | None = None,
    *,
    as_published: bool,
    sampling_rate: float = 0.5,
) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run = Run()
    name = "PublishedRounds" if as_published else "VariationalRounds"
    with (
        recorded(run, answers),
        patch.object(variational, name, training or getattr(variational, name)),
        watched(run, ThreadVariationalUnits, "residuals"),
    ):
        run.train(VariationalLDA(N_TOPICS, as_published=as_published, sampling_rate=sampling_rate, **SHORT), corpus)
    return run


def compared(
    level: str, training: type | None = None, *, as_published: bool, sampling_rate: float = 0.5
) -> tuple[Run, Run, set[str]]:
    d, d1, unit, words = people(level)
    with_unit = fit(d, None, training, as_published=as_published, sampling_rate=sampling_rate)
    without = fit(d1, with_unit.noisy, training, as_published=as_published, sampling_rate=sampling_rate)
    return with_unit, without, faults_of_rounds(with_unit, without, unit=unit, words=words, before=before(as_published))


forms = pytest.mark.parametrize("form", [OURS, PUBLISHED], ids=["ours", "published"])


@forms
@levels
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_neighbours_differ_by_one_clipped_contribution(level, rate, form):
    d, d1, wrong = compared(level, sampling_rate=rate, **form)
    assert wrong == set()
    n_before = before(**form)
    assert len(d.exact) == n_before + N_ROUNDS == d.charged_for
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    lengths, included = used(d, d1)[n_before:], [bool(coins[-1]) for coins in d.coins]
    assert [length > 0 for length in lengths] == included  # the comparison did see the unit
    assert all(np.array_equal(a[:-1], b) for a, b in zip(d.coins, d1.coins, strict=True))
    assert max(lengths) > 0.9  # and it was clipped: the bound is reached


@forms
@levels
def test_the_last_of_all_units_may_go(level, form):
    """From one unit to none: nothing is refused, and nothing else happens."""
    d = people(level)[0]
    alone = d[[-1]] if level == "document" else d[np.flatnonzero(d.groups == "zoe")]
    with_unit = fit(alone, **form)
    without = fit(alone[[]], with_unit.noisy, **form)
    everything = set(range(N_WORDS))
    assert faults_of_rounds(with_unit, without, unit=0, words=everything, before=before(**form)) == set()
    assert not any(exact.any() for exact in without.exact)


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


@forms
@levels
def test_a_missing_clip_is_caught(level, form):
    real = engine_module.add_variational

    def unclipped(*arguments):
        real(*arguments[:12], 6e7, *arguments[13:])

    with patch.object(engine_module, "add_variational", unclipped):
        assert compared(level, **form)[2] == {"sensitivity"}


@forms
def test_clipping_documents_instead_of_users_is_caught(form):
    real = ThreadVariationalUnits.residuals

    def by_document(self, given, **options):
        units = (self.first_document, self.n_units)
        coins = self.coins(given.number, given.threshold)
        threshold = np.repeat(np.where(coins, 2**32, 0), np.diff(self.first_document))
        self.first_document, self.n_units = np.arange(len(self.offsets)), len(self.offsets) - 1
        sums = real(self, given._replace(threshold=threshold), **options)
        self.first_document, self.n_units = units
        return sums

    with patch.object(ThreadVariationalUnits, "residuals", by_document):
        assert "sensitivity" in compared("user", sampling_rate=1.0, **form)[2]


class RealisedBatch(VariationalRounds):
    """Divides by the number of units that took part."""

    def round(self, number):
        self.n_units = max(self.engine.coins(number, self.plan.threshold).sum(), 1) / self.plan.rate
        return super().round(number)


class PublishedBatch(PublishedRounds):
    """As the published code does: divides by the true size of the batch."""

    def _update(self, counts, step):
        size = max(self.engine.coins(self.reservation_number, self.plan.threshold).sum(), 1)
        return super()._update(counts * self.engine.n_units / size, step)

    def round(self, number):
        self.reservation_number = number
        return super().round(number)


class ExactEnd(PublishedRounds):
    """Private rounds, and then topics that know how many units there are."""

    def final_table(self):
        return super().final_table() ** (1 + 1 / self.engine.n_units)


BROKEN = [(RealisedBatch, OURS), (PublishedBatch, PUBLISHED)]


@levels
@pytest.mark.parametrize(("training", "form"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_divisor_from_the_batch_is_caught(level, training, form):
    assert "a step reads private data" in compared(level, training, **form)[2]


@levels
def test_a_model_that_reads_the_corpus_is_caught(level):
    assert compared(level, ExactEnd, **PUBLISHED)[2] == {"the model reads private data"}
