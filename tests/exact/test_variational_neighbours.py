"""VariationalLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

As in ``test_private_neighbours.py``, whose checks are used: the second run has the same key and is given what the first
released. Everything besides the exact sums must then be the same to the bit, and these may differ by the unit's own
clipped contribution. There are no local draws here, so a unit may go from any place once its coin is its own.
"""

from __future__ import annotations

import math
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from recorded import recorded
from test_private_neighbours import N_ROUNDS, N_TOPICS, Run, faults, levels, people

from discreet.corpus import Corpus
from discreet.engines import variational as engine_module
from discreet.engines.variational import VariationalEngine
from discreet.models import private_rounds, variational, variational_rounds
from discreet.models.variational import VariationalLDA
from discreet.models.variational_rounds import PublishedRounds, VariationalRounds
from discreet.privacy import Unit

OURS: dict[str, Any] = {"epsilon": 2.0}
PLAIN: dict[str, Any] = {"epsilon": 2.0, "plain": True}
N_BEFORE = {False: 2, True: 0}
"""Releases ahead of the rounds, by ``plain``."""


def fit(corpus: Corpus, answers: list[np.ndarray] | None = None, training: type | None = None, **options: Any) -> Run:
    """Train and record; ``answers`` take the place of what would be released."""
    run = Run()

    release = recorded(run, answers)

    def coins(engine, number, threshold):
        run.coins.append(real_coins(engine, number, threshold))
        return run.coins[-1]

    def residuals(engine, included, weights, alpha, **public):
        run.inputs.append((weights.copy(), alpha.copy(), *(np.copy(v) for _, v in sorted(public.items()))))
        return real_residuals(engine, included, weights, alpha, **public)

    real_coins, real_residuals = VariationalEngine.coins, VariationalEngine.residuals
    chosen = {"n_rounds": N_ROUNDS, "sampling_rate": 0.5, "clip": 4.0, "n_threads": 1, "random_state": 5, **options}
    plain = chosen.get("plain", False)
    name = "PublishedRounds" if plain else "VariationalRounds"
    with (
        patch.object(private_rounds, "release_sum", release),
        patch.object(variational_rounds, "release_sum", release),
        patch.object(variational, name, training or getattr(variational, name)),
        patch.object(VariationalEngine, "coins", coins),
        patch.object(VariationalEngine, "residuals", residuals),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        run.model = VariationalLDA(N_TOPICS, **chosen).fit(corpus)
    run.warnings = [str(warning.message) for warning in caught]
    run.charged = list(run.model.ledger_.entries)
    return run


def found(d: Run, d1: Run, *, unit: int, words: set[int], plain: bool) -> set[str]:
    """`faults`, which reckons with two releases ahead of the rounds."""
    if plain:
        for run in (d, d1):
            empty = [np.zeros_like(run.exact[0])] * 2
            run.exact, run.events = [*empty, *run.exact], [run.events[0], run.events[0], *run.events]
    return faults(d, d1, unit=unit, words=words)


def compared(level: str, training: type | None = None, **options: Any) -> tuple[Run, Run, set[str]]:
    d, d1, unit, words = people(level)
    with_unit = fit(d, training=training, **options)
    without = fit(d1, with_unit.noisy, training, **options)
    plain = options.get("plain", False)
    return with_unit, without, found(with_unit, without, unit=unit, words=words, plain=plain)


forms = pytest.mark.parametrize("form", [OURS, PLAIN], ids=["ours", "plain"])


@forms
@levels
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_neighbours_differ_by_one_clipped_contribution(level, rate, form):
    d, d1, wrong = compared(level, sampling_rate=rate, **form)
    assert wrong == set()
    before = N_BEFORE[form.get("plain", False)]
    assert before + N_ROUNDS == sum(entry.count for entry in d.charged)
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    gone = [
        math.sqrt(((a - b) ** 2).sum()) / e.sensitivity for a, b, e in zip(d.exact, d1.exact, d.events, strict=True)
    ]
    included = [bool(coins[-1]) for coins in d.coins]
    assert [g > 0 for g in gone[2:]] == included  # the comparison did see the unit
    assert all(np.array_equal(a[:-1], b) for a, b in zip(d.coins, d1.coins, strict=True))
    assert max(gone[2:]) > 0.9  # and it was clipped: the bound is reached


@forms
@levels
def test_the_last_of_all_units_may_go(level, form):
    """From one unit to none: nothing is refused, and nothing else happens."""
    d = people(level)[0]
    alone = d[[-1]] if level == "document" else d[np.flatnonzero(d.groups == "zoe")]
    with_unit = fit(alone, **form)
    without = fit(alone[[]], with_unit.noisy, **form)
    plain = form.get("plain", False)
    assert found(with_unit, without, unit=0, words=set(range(30)), plain=plain) == set()
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
    real = VariationalEngine.residuals

    def by_document(self, included, *arguments, **options):
        units = (self.first_document, self.n_units)
        included = np.repeat(included, np.diff(self.first_document))
        self.first_document, self.n_units = np.arange(len(self.offsets)), len(self.offsets) - 1
        sums = real(self, included, *arguments, **options)
        self.first_document, self.n_units = units
        return sums

    with patch.object(VariationalEngine, "residuals", by_document):
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


BROKEN = [(RealisedBatch, OURS), (PublishedBatch, PLAIN)]


@levels
@pytest.mark.parametrize(("training", "form"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_divisor_from_the_batch_is_caught(level, training, form):
    assert "a round reads private data" in compared(level, training, **form)[2]


@levels
def test_a_model_that_reads_the_corpus_is_caught(level):
    assert compared(level, ExactEnd, **PLAIN)[2] == {"the model reads private data"}
