"""HybridLDA on neighbours D and D′, one word replaced: what Theorem B needs of the code, and its bound on a toy.

**Recorded runs.** Both have the same key; the second is given the tables that the first released and, after each sweep,
the topics that the first drew, so both see one history. Theorem B then asks that everything besides the exact tables
and the replaced token's own draws is the same to the bit; that the exact tables differ by one in at most two cells;
that weights lie within the range that was charged; and that no noise is used twice.

**A toy.** One document of three tokens, two topics: the loss of the whole trajectory, maximised over all outcomes, in
slots that no word decides and, broken, in the order of words.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet._errors import Overdrawn
from discreet._random import Key
from discreet.mechanisms.release import Releases
from discreet.models.hybrid import model as hybrid
from discreet.models.hybrid.model import HybridLDA
from discreet.models.hybrid.plan import inaccuracy
from discreet.privacy.events import DiscreteLaplacePair
from discreet.privacy.ledger import Ledger, Reservation
from tests.support.hybrid_runs import N_SWEEPS, N_TOPICS, SweptRun, faults, fit, pair
from tests.support.neighbours import opened_anew


def compared(training: type = hybrid.Training, **options: Any) -> tuple[SweptRun, SweptRun, set[str]]:
    d, d1 = pair()
    one = fit(d, training=training, **options)
    two = fit(d1, one, training, **options)
    return one, two, faults(one, two)


def test_neighbours_differ_in_two_cells_and_in_one_draw():
    one, two, found = compared()
    assert found == set()
    assert len(one.exact) == N_SWEEPS + 1
    assert all((a != b).sum() == 2 for a, b in zip(one.exact, two.exact, strict=True))  # the comparison saw the word


class ExactModel(hybrid.Training):
    """T releases: the topics come from exact counts."""

    def topics(self):
        counts = self.engine.count().T + self.beta
        return counts / counts.sum(axis=1, keepdims=True)


class NoClamp(hybrid.Training):
    def __init__(self, *of):
        super().__init__(*of)
        self.clip = math.inf


class ExactWeights(hybrid.Training):
    """A sweep under exact counts: noise for the observer only."""

    def _release(self):
        super()._release()
        return self.engine.count().astype(np.int64)


OneNoise = opened_anew(hybrid.Training, "_release")


class InWordOrder(hybrid.Training):
    def __init__(self, model, plan, engine, *others):
        for first, last in zip(engine.offsets[:-1], engine.offsets[1:], strict=True):
            engine.words[first:last].sort()
        super().__init__(model, plan, engine, *others)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (ExactModel, "the model reads private data"),
        (ExactModel, "charged for other than what was done"),
        (NoClamp, "range of a draw"),
        (ExactWeights, "a step reads private data"),
        (OneNoise, "noise used twice"),
        (InWordOrder, "slots depend on words"),
    ],
)
def test_broken_copies_are_caught(broken, fault):
    assert fault in compared(broken)[2]


def test_noise_cannot_be_used_twice():
    """Without the recording, the release itself refuses the second time, before any noise is drawn."""
    with patch.object(hybrid, "Training", OneNoise), pytest.raises(Overdrawn, match="release 2"):
        HybridLDA(2, epsilon_laplace=1.0, epsilon_inherent=1.0, n_sweeps=2, n_threads=1).fit(pair()[0])


def noise_of(epsilon: float, n: int, seed: int) -> np.ndarray:
    """What the release adds to ``n`` empty cells."""
    event = DiscreteLaplacePair(epsilon=epsilon)
    reservation = Ledger(unit="word").charge(event, label="test")
    return Releases(reservation, Key.from_seed(seed)).release(np.zeros(n, np.int64), event)


@pytest.mark.parametrize(("charged", "passes"), [(1.0, True), (2.0, False), (0.9, False)])
def test_noise_has_the_scale_that_is_charged(charged, passes):
    """200,000 cells; P(0) = tanh(1/(2s)), s = 2/ε_L = 2. Passing within 5 standard deviations: a right one fails with
    probability 6e-7. Scale 1/ε_L (ε = 2) is 228 standard deviations off, 10% more noise 22.
    """
    n = 200_000
    zeros = float((noise_of(charged, n, seed=4) == 0).mean())
    expected = math.tanh(1 / (2 * 2.0))
    deviation = math.sqrt(expected * (1 - expected) / n)
    assert (abs(zeros - expected) < 5 * deviation) is passes


def test_a_release_needs_its_own_charge():
    event = DiscreteLaplacePair(epsilon=1.0)
    paid = Reservation(Ledger(unit="word").charge(event, label="test").plan)
    with pytest.raises(Overdrawn):
        Releases(paid, Key.from_seed(1)).release(np.zeros(4, np.int64), DiscreteLaplacePair(epsilon=0.5))


# --- the toy --------------------------------------------------------------------------------------------------------

BETA, CLIP, EPSILON_L, ALPHA = 0.1, 3, 0.5, np.array([0.5, 0.5])
BOUND = 2 * EPSILON_L + 2 * math.log1p(CLIP / BETA)
"""T = 1: two releases and one sweep."""

TABLES = np.stack(np.meshgrid(*[np.arange(-1, CLIP + 2)] * 6), axis=-1).reshape(-1, 3, 2)
"""All of them: a cell below −1 has the clamped value and the loss of −1, one above C + 1 those of C + 1."""


def counts(words, topics) -> np.ndarray:
    table = np.zeros((3, 2), int)
    np.add.at(table, (list(words), list(topics)), 1)
    return table


def draw_loss(d, d1, weights, start, end) -> np.ndarray:
    """log of the chances of topics ``end`` after ``start``, D's over D′'s, slot by slot, under each of the tables."""
    loss, topics = np.zeros(len(weights)), list(start)
    for i, new in enumerate(end):
        others = np.bincount(topics[:i] + topics[i + 1 :], minlength=2) + ALPHA
        p, p1 = (weights[:, w] * others for w in (d[i], d1[i]))
        loss += np.log(p[:, new] / p.sum(axis=1)) - np.log(p1[:, new] / p1.sum(axis=1))
        topics[i] = new
    return loss


def largest_loss(d, d1) -> float:
    """Over first topics, first table, topics and last table, all of which the observer sees: every outcome there is."""
    worst = -math.inf
    clamped = np.clip(TABLES, 0, CLIP) + BETA
    weights = clamped / clamped.sum(axis=1, keepdims=True)
    for start in product(range(2), repeat=3):
        before, before1 = counts(d, start), counts(d1, start)
        first = (np.abs(TABLES - before1) - np.abs(TABLES - before)).sum(axis=(1, 2)) * EPSILON_L / 2
        for end in product(range(2), repeat=3):
            last = np.abs(counts(d, end) - counts(d1, end)).sum() * EPSILON_L / 2
            worst = max(worst, float((first + draw_loss(d, d1, weights, start, end)).max()) + last)
    return worst


def test_loss_of_a_whole_trajectory_is_within_the_bound():
    """D has words 0, 1, 2 and D′ 0, 1, 0 in the same slots; the broken copy has D′ sorted, as a count matrix has it.

    Found: bound 7.87, fixed slots 6.42, word order 10.37.
    """
    fixed = max(largest_loss((0, 1, 2), (0, 1, 0)), largest_loss((0, 1, 0), (0, 1, 2)))
    assert 0.8 * BOUND < fixed <= BOUND
    in_word_order = largest_loss((0, 1, 2), (0, 0, 1))
    assert in_word_order > 1.3 * BOUND


def test_range_of_a_draw_is_reached_and_not_exceeded():
    """Any divisor that reads no word is allowed: ratios of a draw stay within 2·log(1 + C/β), whatever the topics."""
    rng = np.random.default_rng(6)
    eta, widest = 2 * math.log1p(CLIP / BETA), 0.0
    for trial in range(2000):
        share = rng.choice([0.0, 1.0], (2, 4)) if trial % 2 else rng.random((2, 4))
        common = 10.0 ** rng.uniform(-6, 6, 4)  # divisor and document: the same for both words
        p, p1 = (w / w.sum() for w in (share * CLIP + BETA) * common)
        ratios = np.log(p / p1)
        widest = max(widest, ratios.max() - ratios.min())
        assert ratios.min() - 1e-9 <= 0 <= ratios.max() + 1e-9
    assert 0.99 * eta < widest <= eta + 1e-9


def test_float32_products_stay_within_what_is_charged():
    """The table is rounded once and each product once: 2^-22 on a log ratio of two words, as the proof counts."""
    rng = np.random.default_rng(7)
    real = (rng.random((2, 100_000)) * CLIP + BETA) * rng.uniform(1e-3, 1.0, 100_000)
    around = rng.uniform(0.1, 50.0, 100_000).astype(np.float32)
    product32 = real.astype(np.float32) * around
    error = np.diff(np.log(product32.astype(float)) - np.log(real * around.astype(float)), axis=0)
    assert 2.0**-24 < np.abs(error).max() <= 2.0**-22
    assert 4 * (inaccuracy(N_TOPICS) - N_TOPICS * 2.0**-29) >= 2 * 2.0**-22
