"""An attack on PrivateLDA by whoever knows everything but one person's part: does the claimed ε hold?

One person has written a single word, many times, and is in the data or not. The attacker sees every release of a fit,
and knows all other documents, all coins and draws of the others, and the topics that the person's tokens would draw:
nothing of it depends on whether the person is in the data. Unknown are the noise and the person's coin in each round.
Then

    L = Σ_t log[(1 − q_t) + q_t · exp((2·⟨y_t − s_t, c_t⟩ − ‖c_t‖²) / 2σ_t²)]

is the exact logarithm of the likelihood ratio of the releases y_t with and without the person: s_t is the sum of the
others, c_t what the person would add, both functions of the history; q_t is the rate of the coin (1 before the rounds),
and discrete Gaussians have the ratio of the continuous ones, for c_t is whole.

(ε, δ) holds only if E[(1 − e^(ε−L))₊] ≤ δ over runs with the person, and E[(1 − e^(ε+L))₊] ≤ δ over runs without. Both
are means of numbers in [0, 1], so a lower confidence bound follows from Chernoff's bound in Hoeffding's form: it is
wrong with probability ALPHA at most. The long test assumes nothing about L: it counts how often L exceeds a threshold
with and without the person, and takes Clopper and Pearson's bounds of both shares.

A bound above the claim refutes it. A bound below is no proof; the proof is in ``models/private/proof.md``.

**Chances.** A right program fails with probability ALPHA at most, by either bound. For the wrong copies they were
computed from 10⁶ draws of L as it should be, with the multipliers of the plan: E[(1 − e^(ε−L))₊] is 0.0995 intact (the
claim is nearly reached), 0.401 with the noise halved, and 0.603 with the clip tripled. P(L > 1.75) with and without the
person follows from the same draws.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import rel_entr
from scipy.stats import beta

from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary
from discreet.engines.interface import Round
from discreet.engines.threads.units import ThreadUnits
from discreet.mechanisms.noise import add_discrete_gaussian
from discreet.mechanisms.release import Releases
from discreet.models.private.model import PrivateLDA
from discreet.training import self_test

EPSILON, DELTA, ALPHA = 1.0, 0.1, 1e-6
N_TOPICS, RATE = 2, 0.5
SETTING: dict[str, Any] = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "n_rounds": 2,
    "sampling_rate": RATE,
    "local_sweeps": 1,
    "clip": 2.0,
    "n_threads": 1,
}

WITH = Corpus(
    np.array([0, 1, 2, 3, 1, 1, 2, 3, 2, 3, 0, 1, *[0] * 200], np.int32),
    np.array([0, 4, 8, 12, 212]),
    Vocabulary(tuple("abcd"), "public"),
)
"""The last document is the person's."""
WITHOUT = WITH[[0, 1, 2]]

REAL = Releases.release


def only(units: Any, n_units: int) -> np.ndarray:
    """Thresholds at which these units take part, and no others."""
    return np.where(np.isin(np.arange(n_units), units), 2**32, 0)


@dataclass
class Attack:
    """What the attacker of one fit writes down. ``factor`` is that of the noise, which the attacker knows."""

    present: bool
    factor: float = 1.0
    contributions: list[np.ndarray] = field(default_factory=list)
    """The person's, to each release: real or would-be."""
    took_part: list[bool] = field(default_factory=list)
    ratio: float = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        real = {name: getattr(ThreadUnits, name) for name in ("size_histogram", "word_counts", "residuals")}

        def engine(corpus: Corpus, its: ThreadUnits) -> ThreadUnits:
            return ThreadUnits(corpus, None, N_TOPICS, its.key, max_tokens=1000, n_threads=1)

        def size_histogram(its, n_bins):
            self.note(real["size_histogram"](engine(WITH[[-1]], its), n_bins), took_part=True)
            return real["size_histogram"](its, n_bins)

        def word_counts(its, *public):
            self.note(real["word_counts"](engine(WITH[[-1]], its), *public), took_part=True)
            return real["word_counts"](its, *public)

        def residuals(its, given, **public):
            self.took_part.append(self.present and bool(its.coins(given.number, given.threshold)[-1]))
            alone = given._replace(threshold=only(WITH.n_documents - 1, WITH.n_documents))
            self.contributions.append(real["residuals"](engine(WITH, its), alone, **public).ravel())
            return real["residuals"](its, given, **public)

        with (
            patch.multiple(ThreadUnits, size_histogram=size_histogram, word_counts=word_counts, residuals=residuals),
            patch.object(Releases, "release", lambda *arguments: self.release(*arguments)),
        ):
            yield

    def note(self, contribution: np.ndarray, *, took_part: bool) -> None:
        self.contributions.append(contribution)
        self.took_part.append(self.present and took_part)

    def release(self, releases, cells, event):
        """In place of ``Releases.release``: adds the release to the likelihood ratio."""
        number = releases._number + 1
        own = self.contributions[number - 1]
        if number == 1:  # the histogram of sizes counts each unit in steps of the grid
            own = own * math.floor(event.sensitivity)
        others = cells - own if self.took_part[number - 1] else cells.copy()
        if self.factor == 1:
            noisy = REAL(releases, cells, event)
        else:
            noisy = cells
            releases._reservation.draw(event=event)
            releases._number = number
            add_discrete_gaussian(noisy, self.factor * event.scale, releases._key, number)
        rate = 1.0 if number <= 2 else RATE
        beyond = float(2 * (noisy - others) @ own - own @ own) / (2 * (self.factor * event.scale) ** 2)
        self.ratio += float(np.logaddexp(math.log1p(-rate) if rate < 1 else -math.inf, math.log(rate) + beyond))
        return noisy


def ratios(present: bool, seeds: range, factor: float = 1.0) -> np.ndarray:
    """L of one fit per seed."""
    found = []
    for seed in seeds:
        attack = Attack(present, factor)
        with attack.watching(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so small a corpus is called useless, rightly
            model = PrivateLDA(N_TOPICS, **SETTING, random_state=seed).fit(WITH if present else WITHOUT)
        assert len(attack.contributions) == sum(entry.count for entry in model.ledger_.entries)
        found.append(attack.ratio)
    return np.array(found)


def bound_by_ratios(losses: np.ndarray) -> float:
    """The largest ε that the mean of (1 − e^(ε − loss))₊ refutes at DELTA, or 0."""
    low, high = 0.0, 20.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        mean = float(np.maximum(0.0, -np.expm1(middle - losses)).mean())
        refuted = mean > DELTA and len(losses) * divergence(mean, DELTA) > -math.log(ALPHA)
        low, high = (middle, high) if refuted else (low, middle)
    return low


def divergence(p: float, q: float) -> float:
    """Of Bernoulli laws: P(mean of n numbers in [0, 1] ≥ p) ≤ exp(−n · divergence(p, q)) if each has mean ≤ q ≤ p."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def bound_by_counts(with_person: np.ndarray, without: np.ndarray, threshold: float) -> float:
    """log((P(L > threshold) with the person − DELTA) / P(L > threshold) without), from Clopper and Pearson's bounds."""
    hits, false = int((with_person > threshold).sum()), int((without > threshold).sum())
    least = float(beta.ppf(ALPHA / 2, hits, len(with_person) - hits + 1)) if hits else 0.0
    most = float(beta.ppf(1 - ALPHA / 2, false + 1, len(without) - false))
    return math.log((least - DELTA) / most) if least > DELTA else -math.inf


@contextmanager
def longer_clip(times: float) -> Iterator[None]:
    """A copy of the engine that clips at ``times`` what was charged."""
    real_counts, real_residuals = ThreadUnits.word_counts, ThreadUnits.residuals

    def word_counts(its, word_weights, clip):
        return real_counts(its, word_weights, times * clip)

    def residuals(its, given, *, clip, **public):
        return real_residuals(its, given, clip=times * clip, **public)

    with patch.multiple(ThreadUnits, word_counts=word_counts, residuals=residuals):
        yield


@pytest.fixture(autouse=True, scope="module")
def self_tests_have_passed() -> None:
    """Broken copies are to be caught by the attack, not by the self-test."""
    self_test.check(PrivateLDA._self_tests)


def test_the_person_is_one_term_of_each_sum():
    """What makes L exact: draws and contributions of the others are the same, whether the person is there or not."""
    key = Key.from_seed(0)
    d, d1 = (ThreadUnits(c, None, N_TOPICS, key, max_tokens=1000, n_threads=1) for c in (WITH, WITHOUT))
    table = np.arange(1.0, 9.0).reshape(4, 2)
    public: dict[str, Any] = {"cell_weights": table, "background": 0.0, "clip": 50.0}

    def cells(engine: ThreadUnits, *units: int) -> np.ndarray:
        given = Round(3, only(units, engine.n_units), table, np.ones(2), local_sweeps=1)
        return engine.residuals(given, **public)

    assert np.array_equal(cells(d, 0, 2, 3), cells(d1, 0, 2) + cells(d, 3))
    assert cells(d, 3).any()


FEW = 200


def test_intact_copies_stay_below_the_claim():
    """Both directions: the person added, the person removed. Fails with probability 2·ALPHA at most."""
    assert bound_by_ratios(ratios(True, range(FEW))) <= EPSILON
    assert bound_by_ratios(-ratios(False, range(FEW, 2 * FEW))) <= EPSILON


def test_half_of_the_noise_is_caught():
    """Missed with probability 1.4e-6 at most: exp(−200 · divergence(0.228, 0.401)), 0.228 being the least mean that
    refutes."""
    assert bound_by_ratios(ratios(True, range(FEW), factor=0.5)) > EPSILON


def test_three_times_the_clip_is_caught():
    """Missed with probability 5e-26 at most."""
    with longer_clip(3.0):
        assert bound_by_ratios(ratios(True, range(FEW))) > EPSILON


MANY, THRESHOLD = 1000, 1.75
COPIES: dict[str, tuple[float, float]] = {
    "intact": (1.0, 1.0),
    "half of the noise": (0.5, 1.0),
    "long clip": (1.0, 3.0),
}


@pytest.mark.long
@pytest.mark.parametrize("copy", COPIES)
def test_by_counts_alone(copy):
    """Whatever L is. An intact copy is called wrong with probability 3e-12 (ALPHA at most, whatever its law); half of
    the noise is missed with probability 6e-7, and three times the clip with less than 1e-14."""
    factor, times = COPIES[copy]
    with longer_clip(times):
        with_person, without = ratios(True, range(MANY), factor), ratios(False, range(MANY, 2 * MANY), factor)
    assert (bound_by_counts(with_person, without, THRESHOLD) > EPSILON) == (copy != "intact")
