"""SubsampledLDA on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

As in ``test_private_neighbours.py``: the second run has the same key and is given what the first released. Everything
besides the exact sums must then be the same to the bit, and these may differ by the unit's own clipped contribution.
New here are the rates of ``adaptive``: of units that stay they must not change, and none may exceed the charged one.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from recorded import recorded
from scipy.stats import norm

from discreet.corpus import Corpus, lda_corpus
from discreet.engines import rounds as engine_rounds
from discreet.engines.rounds import RoundEngine
from discreet.models import subsampled, subsampled_rounds
from discreet.models.subsampled import SubsampledLDA
from discreet.models.subsampled_rounds import Rounds
from discreet.models.subsampling import frequent_cells

N_WORDS, N_TOPICS, N_ROUNDS = 30, 3, 10


@dataclass
class Run:
    """What one fit did. ``exact``, ``coins`` and ``thresholds`` are private; the rest must not read the data."""

    exact: list[np.ndarray] = field(default_factory=list)
    noisy: list[np.ndarray] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    coins: list[np.ndarray] = field(default_factory=list)
    thresholds: list[np.ndarray] = field(default_factory=list)
    inputs: list[tuple[Any, ...]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    charged: list[Any] = field(default_factory=list)
    model: Any = None


def fit(corpus: Corpus, answers=None, training: type = Rounds, public=None, **options: Any) -> Run:
    run = Run()

    release = recorded(run, answers)

    def coins(engine, number, threshold):
        run.thresholds.append(np.broadcast_to(np.asarray(threshold, np.int64), engine.n_units).copy())
        run.coins.append(real_coins(engine, number, threshold))
        return run.coins[-1]

    def contributions(engine, included, weights, alpha, **public_ones):
        run.inputs.append((weights.copy(), alpha.copy(), *(np.copy(v) for _, v in sorted(public_ones.items()))))
        return real_contributions(engine, included, weights, alpha, **public_ones)

    real_coins, real_contributions = RoundEngine.coins, RoundEngine.contributions
    chosen = {
        "n_rounds": N_ROUNDS,
        "sampling_rate": 0.4,
        "epsilon": 2.0,
        "clip": 4.0,
        "n_threads": 1,
        "random_state": 5,
    }
    with (
        patch.object(subsampled_rounds, "release_sum", release),
        patch.object(subsampled, "Rounds", training),
        patch.object(RoundEngine, "coins", coins),
        patch.object(RoundEngine, "contributions", contributions),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        run.model = SubsampledLDA(N_TOPICS, **{**chosen, **options}).fit(corpus, public=public)
    run.warnings = [str(warning.message) for warning in caught]
    run.charged = list(run.model.ledger_.entries)
    return run


def faults(d: Run, d1: Run, *, unit: int, words: set[int]) -> set[str]:
    """What the proof forbids and these runs do. ``unit`` and ``words``: whose data D has and D′ has not."""
    found = set()
    if len(set(d.numbers)) < len(d.numbers):
        found.add("noise used twice")
    if (d.numbers, d.events, d.charged, d.warnings) != (d1.numbers, d1.events, d1.charged, d1.warnings):
        found.add("control flow")
    if any(
        not np.array_equal(a, b) for x, y in zip(d.inputs, d1.inputs, strict=False) for a, b in zip(x, y, strict=True)
    ):
        found.add("a round reads private data")
    if not np.array_equal(d.model.components_, d1.model.components_) or d.model.history_ != d1.model.history_:
        found.add("the model reads private data")
    for thresholds, others, event in zip(d.thresholds, d1.thresholds, d.events, strict=False):
        if thresholds.max() > event.sampling_rate * 2**32:
            found.add("a rate above the charged one")
        if not np.array_equal(np.delete(thresholds, unit), others[: len(thresholds) - 1]):
            found.add("a rate that reads other units")
    for i, (event, a, b) in enumerate(zip(d.events, d.exact, d1.exact, strict=False)):
        difference = a - b
        if sum(int(x) ** 2 for x in difference) > math.floor(event.sensitivity**2):
            found.add("sensitivity")
        if not d.coins[i][unit] and difference.any():
            found.add("a unit that was not included")
        if not {int(cell) // N_TOPICS for cell in np.flatnonzero(difference)} <= words:
            found.add("other units")
    return found


def people(level: str) -> tuple[Corpus, Corpus, int, set[int]]:
    """D, D′ without its last unit, that unit's number and its words. The unit is large: it must be clipped."""
    corpus = lda_corpus(24, N_WORDS, N_TOPICS, mean_length=15, seed=3).corpus
    large = [*([7] * 150), *range(20), *([11] * 60)]
    texts = [corpus.words[a:b] for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)]
    parts = [large] if level == "document" else [large[i::4] for i in range(4)]
    texts += [np.array(part, np.int32) for part in parts]
    users = [f"user{i // 3}" for i in range(24)] + ["zoe"] * len(parts)
    groups = None if level == "document" else np.array(users)
    offsets = np.cumsum([0, *map(len, texts)])
    d = Corpus(np.concatenate(texts), offsets, corpus.vocabulary, groups, vocabulary_from="public")
    return d, d[:24], 24 if level == "document" else 8, set(large)


levels = pytest.mark.parametrize("level", ["document", "user"])
FORMS = {"plain": {}, "adaptive": {"adaptive": True, "boost": 2.0, "frequent_share": 0.7}}
forms = pytest.mark.parametrize("form", FORMS)


def compared(level: str, training: type = Rounds, public=None, **options: Any) -> tuple[Run, Run, set[str]]:
    d, d1, unit, words = people(level)
    with_unit = fit(d, None, training, public, **options)
    without = fit(d1, with_unit.noisy, training, public, **options)
    return with_unit, without, faults(with_unit, without, unit=unit, words=words)


@levels
@forms
def test_neighbours_differ_by_one_clipped_contribution(level, form):
    d, d1, found = compared(level, **FORMS[form])
    assert found == set()
    assert len(d.exact) == N_ROUNDS == sum(entry.count for entry in d.charged)
    assert d.charged[0].event.sampling_rate == pytest.approx(0.8 if form == "adaptive" else 0.4)
    gone = [bool((a != b).any()) for a, b in zip(d.exact, d1.exact, strict=True)]
    assert gone == [bool(coins[-1]) for coins in d.coins]  # the comparison did see the unit
    assert any(gone)
    assert not all(gone)
    steps = zip(d.exact, d1.exact, d.events, strict=True)
    assert max(math.sqrt(((a - b) ** 2).sum()) / e.sensitivity for a, b, e in steps) > 0.9  # it was clipped
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


class RealisedBatch(Rounds):
    """Divides by the number of units that took part."""

    def included(self, number):
        found = super().included(number)
        self.batch = max(int(found.sum()), 1)
        return found

    def _average(self, noisy, number):
        super()._average(noisy / self.batch, number)


class SameNoise(Rounds):
    """Draws every release with the noise of the first."""

    def _release(self, cells):
        self.n_releases = 0
        return super()._release(cells)


class ExactCounts(Rounds):
    """Releases noisy counts and trains on exact ones."""

    def _release(self, cells):
        exact = cells.copy()
        super()._release(cells)
        return exact


class RatesAboveTheCharged(Rounds):
    """Forgets that shares of frequent words may not raise a rate above q_max."""

    def included(self, number):
        own = self.engine.shares(frequent_cells(self.counts, self.model.frequent_share))
        return self.engine.coins(number, np.ceil(1.5 * own * self.plan.threshold).astype(np.int64))


class RatesOfAll(Rounds):
    """Scales each unit's rate by that of the others."""

    def included(self, number):
        own = self.engine.shares(frequent_cells(self.counts, self.model.frequent_share))
        own = own / max(own.max(initial=0.0), 1e-9)
        return self.engine.coins(number, np.ceil(own * own.mean() * self.plan.threshold).astype(np.int64))


class FrequentInTheData(Rounds):
    """Takes the frequent words from the private counts."""

    def included(self, number):
        exact = np.zeros_like(self.counts)
        np.add.at(exact, (self.engine.words, self.engine.topics), 1.0)
        own = self.engine.shares(frequent_cells(exact, self.model.frequent_share))
        return self.engine.coins(number, np.ceil(own * self.plan.threshold).astype(np.int64))


class StopsEarly(Rounds):
    """Spares itself a release for a reason of its own."""

    def round(self, number):
        return {} if number > 5 and self.engine.n_units % 2 == 0 else super().round(number)


BROKEN = {
    RealisedBatch: "a round reads private data",
    SameNoise: "noise used twice",
    ExactCounts: "the model reads private data",
    RatesAboveTheCharged: "a rate above the charged one",
    RatesOfAll: "a rate that reads other units",
    FrequentInTheData: "a rate that reads other units",
    StopsEarly: "control flow",
}


@levels
@pytest.mark.parametrize("training", BROKEN, ids=lambda training: training.__name__)
def test_broken_copies_are_caught(level, training):
    assert BROKEN[training] in compared(level, training, **FORMS["adaptive"])[2]


@levels
def test_a_missing_clip_is_caught(level):
    real = engine_rounds.add_contributions

    def unclipped(*arguments):
        real(*arguments[:7], 1e9, *arguments[8:])

    with patch.object(engine_rounds, "add_contributions", unclipped):
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
