"""SubsampledLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

As in ``test_private_neighbours.py``: the second run has the same key and is given what the first released. Everything
besides the exact sums must then be the same to the bit, and these may differ by the unit's own clipped contribution.
New here are the rates of ``adaptive``: of units that stay they must not change, and none may exceed the charged one.
"""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm

from discreet.corpus import Corpus, lda_corpus
from discreet.engines.threads import kept
from discreet.engines.threads.kept import ThreadKeptUnits
from discreet.models.subsampled import model as subsampled
from discreet.models.subsampled.model import SubsampledLDA
from discreet.models.subsampled.rounds import SubsampledRounds
from discreet.models.subsampled.rules import frequent_cells
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


def fit(corpus: Corpus, answers=None, training: type = SubsampledRounds, public=None, **options: Any) -> Run:
    run = Run()
    with (
        recorded(run, answers),
        patch.object(subsampled, "SubsampledRounds", training),
        watched(run, ThreadKeptUnits, "contributions"),
    ):
        model = SubsampledLDA(N_TOPICS, **{**SHORT, "sampling_rate": 0.4, **options})
        run.train(model, corpus, public=public)
    return run


def faults(d: Run, d1: Run, *, unit: int, words: set[int]) -> set[str]:
    """What the proof forbids and these runs do. ``unit`` and ``words``: whose data D has and D′ has not."""
    found = faults_of_rounds(d, d1, unit=unit, words=words)
    for thresholds, others, event in zip(d.thresholds, d1.thresholds, d.events, strict=False):
        if thresholds.max() > event.sampling_rate * 2**32:
            found.add("a rate above the charged one")
        if not np.array_equal(np.delete(thresholds, unit), others[: len(thresholds) - 1]):
            found.add("a rate that reads other units")
    return found


FORMS = {"plain": {}, "adaptive": {"adaptive": True, "boost": 2.0, "frequent_share": 0.7}}
forms = pytest.mark.parametrize("form", FORMS)


def compared(level: str, training: type = SubsampledRounds, public=None, **options: Any) -> tuple[Run, Run, set[str]]:
    d, d1, unit, words = people(level)
    with_unit = fit(d, None, training, public, **options)
    without = fit(d1, with_unit.noisy, training, public, **options)
    return with_unit, without, faults(with_unit, without, unit=unit, words=words)


@levels
@forms
def test_neighbours_differ_by_one_clipped_contribution(level, form):
    d, d1, found = compared(level, **FORMS[form])
    assert found == set()
    assert len(d.exact) == N_ROUNDS == d.charged_for
    assert d.charged[0].event.sampling_rate == pytest.approx(0.8 if form == "adaptive" else 0.4)
    gone = [length > 0 for length in used(d, d1)]
    assert gone == [bool(coins[-1]) for coins in d.coins]  # the comparison did see the unit
    assert any(gone)
    assert not all(gone)
    assert max(used(d, d1)) > 0.9  # it was clipped
    if form == "adaptive":  # rates do differ, between units and between rounds
        assert len({int(t) for row in d.thresholds[1:] for t in row}) > 20


@levels
def test_the_unit_may_be_added_as_well(level):
    """The other direction: the history of D′, replayed on D."""
    d, d1, unit, words = people(level)
    without = fit(d1, **FORMS["adaptive"])
    with_unit = fit(d, without.noisy, **FORMS["adaptive"])
    assert faults(with_unit, without, unit=unit, words=words) == set()


@forms
def test_the_last_of_all_units_may_go(form):
    d = people("document")[0]
    with_unit = fit(d[[-1]], **FORMS[form])
    without = fit(d[[]], with_unit.noisy, **FORMS[form])
    assert faults(with_unit, without, unit=0, words=set(range(N_WORDS))) == set()
    assert not any(exact.any() for exact in without.exact)


def test_stopping_reads_public_documents_and_is_charged_in_full():
    public = lda_corpus(30, N_WORDS, N_TOPICS, mean_length=15, seed=9).corpus
    d, d1, found = compared("document", public=public, tolerance=1e9, patience=2)
    assert found == set()
    assert len(d.exact) == len(d1.exact) == 4  # s + 2 perplexities
    assert d.charged[0].count == N_ROUNDS


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


class RealisedBatch(SubsampledRounds):
    """Divides by the number of units that took part."""

    def threshold(self, number):
        found = super().threshold(number)
        self.batch = max(int(self.engine.coins(number, found).sum()), 1)
        return found

    def _average(self, noisy, number):
        super()._average(noisy / self.batch, number)


class ExactCounts(SubsampledRounds):
    """Releases noisy counts and trains on exact ones."""

    def __init__(self, *of):
        super().__init__(*of)
        self.releases = ExactAnswers(self.payment.reservation, self.engine.key)


class RatesAboveTheCharged(SubsampledRounds):
    """Forgets that shares of frequent words may not raise a rate above q_max."""

    def threshold(self, number):
        own = self.engine.shares(frequent_cells(self.counts, self.model.frequent_share))
        return np.ceil(1.5 * own * self.plan.threshold).astype(np.int64)


class RatesOfAll(SubsampledRounds):
    """Scales each unit's rate by that of the others."""

    def threshold(self, number):
        own = self.engine.shares(frequent_cells(self.counts, self.model.frequent_share))
        own = own / max(own.max(initial=0.0), 1e-9)
        return np.ceil(own * own.mean() * self.plan.threshold).astype(np.int64)


class FrequentInTheData(SubsampledRounds):
    """Takes the frequent words from the private counts."""

    def threshold(self, number):
        exact = np.zeros_like(self.counts)
        np.add.at(exact, (self.engine.words, self.engine.topics), 1.0)
        own = self.engine.shares(frequent_cells(exact, self.model.frequent_share))
        return np.ceil(own * self.plan.threshold).astype(np.int64)


class StopsEarly(SubsampledRounds):
    """Spares itself a release for a reason of its own."""

    def round(self, number):
        return {} if number > 5 and self.engine.n_units % 2 == 0 else super().round(number)


BROKEN = {
    RealisedBatch: "a step reads private data",
    opened_anew(SubsampledRounds): "noise used twice",
    ExactCounts: "the model reads private data",
    RatesAboveTheCharged: "a rate above the charged one",
    RatesOfAll: "a rate that reads other units",
    FrequentInTheData: "a rate that reads other units",
    StopsEarly: "control flow",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training):
    clear = {**FORMS["adaptive"], "epsilon": 20.0}  # at a small epsilon most cells lie below the floor of the noise
    assert BROKEN[training] in compared(level, training, **clear)[2]


@levels
def test_a_missing_clip_is_caught(level):
    real = kept.add_contributions

    def unclipped(*arguments):
        real(*arguments[:7], 1e9, *arguments[8:])

    with patch.object(kept, "add_contributions", unclipped):
        assert compared(level)[2] == {"sensitivity"}


# --- the lemma of the proof, by numbers ------------------------------------------------------------------------------


def excess(rate, shift, largest, sigma=1.0, direction=1):
    """The most by which δ(ε) of a unit with this rate and contribution exceeds the charged one, over ε of any sign."""
    x = np.linspace(-30, 31, 60_001)
    width = x[1] - x[0]
    without = norm.pdf(x, 0, sigma)

    def delta(rate, shift, epsilon):
        with_unit = (1 - rate) * without + rate * norm.pdf(x, shift, sigma)
        p, q = (with_unit, without) if direction == 1 else (without, with_unit)
        return np.maximum(p - math.exp(epsilon) * q, 0).sum() * width

    epsilons = (-3, -1, -0.3, -0.01, 0, 0.01, 0.1, 0.3, 1, 2, 4)
    return max(delta(rate, shift, e) - delta(largest, 1.0, e) for e in epsilons)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_lower_rates_and_shorter_contributions_are_dominated(sigma, direction):
    for rate in (0.0, 0.05, 0.2, 0.3):
        for shift in (-1.0, 0.0, 0.3, 1.0):
            assert excess(rate, shift, 0.3, sigma, direction) <= 1e-7  # what summing over a grid misses
    assert excess(0.36, 1.0, 0.3, sigma, direction) > 1e-3  # a rate above the charged one is not
    assert excess(0.3, 1.2, 0.3, sigma, direction) > 1e-3  # nor is a longer contribution
