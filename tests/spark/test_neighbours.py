"""PrivateLDA on neighbouring data through Spark, while every task fails once and is run again.

The checks are those of ``tests/exact/test_private_neighbours.py``: given one history, everything but the exact sums is
the same to the bit, and these differ by one contribution within what was charged. Broken copies are caught: coins that
depend on the attempt, and sums that keep what a failed task has added.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet.engines.spark import SparkEngine
from discreet.engines.spark import units as spark_units
from discreet.engines.spark.units import SparkUnits
from discreet.models.private.model import PrivateLDA
from discreet.models.private.rounds import PrivateRounds
from discreet.privacy import Unit
from tests.support.neighbours import N_TOPICS, SHORT, Run, faults_of_rounds, people, recorded, used
from tests.support.spark import Accumulates, CoinsByAttempt, FailsFirst

BEFORE, N_ROUNDS = 2, 3
REAL_SUM = spark_units.summed


@pytest.fixture
def engine(spark, tmp_path):
    """One partition: a lost worker takes seconds to start anew."""
    return SparkEngine(spark, str(tmp_path / "shards"), partitions=1)


@contextmanager
def watched(run: Run, summed: Callable[..., Any]) -> Any:
    """Write down coins and what a round is given. The coins are those of the driver: executors toss the same."""
    real = SparkUnits.residuals

    def residuals(self, given, **public):
        run.coins.append(self.coins(given.number, given.threshold))
        options = [given.local_sweeps, *(value for _, value in sorted(public.items()))]
        run.inputs.append((np.array(given.number), given.weights.copy(), given.alpha.copy(), *map(np.copy, options)))
        return real(self, given, **public)

    with patch.object(SparkUnits, "residuals", residuals), patch.object(spark_units, "summed", summed):
        yield


def fit(engine: SparkEngine, corpus: Any, answers: Any = None, summed: Callable[..., Any] = REAL_SUM) -> Run:
    run = Run()
    with patch.object(PrivateRounds, "hopeless", False), recorded(run, answers), watched(run, summed):
        options = {**SHORT, "sampling_rate": 0.5, "n_rounds": N_ROUNDS, "engine": engine}
        run.train(PrivateLDA(N_TOPICS, **options), corpus)
    return run


def compared(engine: SparkEngine, level: str, summed: Callable[..., Any]) -> tuple[Run, Run, set[str]]:
    """D in a cluster that loses every task once, D′ in one that loses none."""
    d, d1, unit, words = people(level)
    with_unit = fit(engine, d, summed=summed)
    without = fit(engine, d1, with_unit.noisy)
    return with_unit, without, faults_of_rounds(with_unit, without, unit=unit, words=words, before=BEFORE)


def fails_first(spark, table, task, *rest):
    return REAL_SUM(spark, table, FailsFirst(task), *rest)


def coins_by_attempt(spark, table, task, *rest):
    return REAL_SUM(spark, table, CoinsByAttempt(task), *rest)


@pytest.mark.parametrize("level", ["document", "user"])
def test_neighbours_differ_by_one_clipped_contribution(engine, level):
    d, d1, found = compared(engine, level, fails_first)
    assert found == set()
    assert len(d.exact) == BEFORE + N_ROUNDS == d.charged_for
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    lengths, included = used(d, d1), [bool(coins[-1]) for coins in d.coins]
    assert [length > 0 for length in lengths] == [True, True, *included]  # the comparison did see the unit
    assert any(included)
    assert max(lengths[1:]) > 0.9  # and it was clipped: the bound is reached


def test_coins_by_attempt_are_caught(engine):
    assert {"other units", "a unit that was not included"} & compared(engine, "document", coins_by_attempt)[2]


def accumulated_in(folder: Path) -> Callable[..., Any]:
    """Adds up whatever tasks have computed, lost ones too."""
    folder = folder / "accumulated"
    folder.mkdir()

    def accumulated(spark, table, task, *rest):
        REAL_SUM(spark, table, Accumulates(task, str(folder)), *rest)
        found = sum(np.load(path) for path in folder.iterdir())
        for path in folder.iterdir():
            path.unlink()
        return found

    return accumulated


def test_sums_that_count_a_lost_task_are_caught(engine, tmp_path):
    assert "sensitivity" in compared(engine, "document", accumulated_in(tmp_path))[2]
