"""HybridCrossLBLA on neighbours D and D′, one word replaced: what its proof needs of the code.

**Recorded runs**, as for HybridLDA (``tests/exact/test_hybrid_neighbours.py``), over two collections.

**The law of a draw**, by enumeration: two words of one collection, the document's factor written by the Beta-Liouville
posterior mean, tables of all sizes. Log-probability ratios stay in an interval of the length that was charged; without
the clamp, or with counts clamped before they are mixed, they do not.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import HybridCrossLBLA
from discreet._errors import Overdrawn
from discreet.models.beta_liouville import BetaLiouville
from discreet.models.cross import hybrid as cross
from discreet.models.cross.hybrid import CrossTraining, range_of_clamped_counts
from discreet.models.cross.tables import CrossPriors, CrossTables, word_means
from discreet.models.hybrid.model import Weights
from discreet.models.hybrid.plan import HybridPlan, inaccuracy
from discreet.privacy.ledger import Ledger
from tests.support.hybrid_runs import N_SWEEPS, N_WORDS, WORD, SweptRun, faults, fit, pair_of_collections
from tests.support.neighbours import opened_anew

PRIORS: dict[str, Any] = {"alpha_rest": 0.7, "beta_rest": 2.0, "beta_collection_rest": 0.5}


def compared(training: type | None = None, **options: Any) -> tuple[SweptRun, SweptRun, set[str]]:
    d, d1 = pair_of_collections()
    one = fit(d, None, training, HybridCrossLBLA, **PRIORS, **options)
    two = fit(d1, one, training, HybridCrossLBLA, **PRIORS, **options)
    return one, two, faults(one, two)


@pytest.mark.parametrize("inherent", [1.0, 10.0])
def test_neighbours_differ_in_two_cells_and_in_one_draw(inherent):
    one, two, found = compared(epsilon_inherent=inherent)
    assert found == set()
    assert len(one.exact) == N_SWEEPS + 1
    assert all((a != b).sum() == 2 for a, b in zip(one.exact, two.exact, strict=True))  # the comparison saw the word


def unclamped(mixed: np.ndarray) -> Weights:
    """The weights as they are, which is what a sweep without a promise draws from."""
    weights = mixed / mixed.max()
    return Weights(weights.reshape(-1, mixed.shape[2]), 0.0, np.ones(mixed.shape[2]))


class NoClamp(CrossTraining):
    def _weights(self, noisy, number):
        return unclamped(self._divide(noisy).mixed()[0])


class WordUnits(CrossTraining):
    """A factor for each word: it does not cancel."""

    def _weights(self, noisy, number):
        weights, prior, scale = super()._weights(noisy, number)
        return Weights(weights * np.linspace(1, 2, len(weights))[:, None], prior, scale)


class ExactWeights(CrossTraining):
    """A sweep under exact counts: noise for the observer only."""

    def _release(self):
        super()._release()
        return self.engine.count().astype(np.int64)


class ExactUnits(CrossTraining):
    """s from exact counts."""

    def _weights(self, noisy, number):
        weights, prior, scale = super()._weights(noisy, number)
        return Weights(weights * (1 + self.engine.count()[N_WORDS + WORD].sum() / 100), prior, scale)


class ExactModel(CrossTraining):
    """T releases: the tables come from exact counts."""

    def _mean(self):
        return self.engine.count()


class InWordOrder(CrossTraining):
    def __init__(self, model, plan, engine, *others):
        for first, last in zip(engine.offsets[:-1], engine.offsets[1:], strict=True):
            engine.words[first:last].sort()
        super().__init__(model, plan, engine, *others)


OneNoise = opened_anew(CrossTraining, "_release")


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (NoClamp, "range of a draw"),
        (WordUnits, "range of a draw"),
        (ExactWeights, "a step reads private data"),
        (ExactUnits, "a step reads private data"),
        (ExactModel, "the model reads private data"),
        (ExactModel, "charged for other than what was done"),
        (OneNoise, "noise used twice"),
        (InWordOrder, "slots depend on words"),
    ],
)
def test_broken_copies_are_caught(broken, fault):
    assert fault in compared(broken)[2]


def test_noise_cannot_be_used_twice():
    with patch.object(cross, "CrossTraining", OneNoise), pytest.raises(Overdrawn, match="release 2"):
        HybridCrossLBLA(2, epsilon_laplace=1.0, epsilon_inherent=1.0, n_sweeps=2, n_threads=1).fit(
            pair_of_collections()[0]
        )


def test_the_plan_is_charged_before_anything_is_drawn():
    seen, real = [], Ledger.reserve

    def reserve(ledger, plan, **tags):
        seen.append("charged")
        return real(ledger, plan, **tags)

    class Watched(CrossTraining):
        def __init__(self, *of):
            seen.append("drawn")
            super().__init__(*of)

    with patch.object(Ledger, "reserve", reserve), patch.object(cross, "CrossTraining", Watched):
        HybridCrossLBLA(2, epsilon=5.0, n_sweeps=2, n_threads=1).fit(pair_of_collections()[0])
    assert seen == ["charged", "drawn"]


# --- the law of a draw ------------------------------------------------------------------------------------------------

K, V, C = 3, 4, 2
ALPHA = np.array([0.4, 0.7, 0.2])
FAR = np.array([0.1, 10.0, 10.0, 10.0]), np.array([10.0, 0.1, 10.0, 10.0])
"""Prior weights of words that are far apart, and the other way round in the two tables."""
CLIP = 100.0


def stub(kind: type[CrossTraining], inherent: float, priors: CrossPriors) -> CrossTraining:
    """A run without documents: what makes weights of released tables."""
    run = kind.__new__(kind)
    run.plan = HybridPlan.make(None, 1e-6, 1.0, inherent, n_topics=K, n_sweeps=4)
    run.shape, run.priors, run.clip = (C, V, K), priors, run.plan.clip(1.0)
    run.own_share = np.zeros(run.shape)
    return run


def released_tables(n: int, most: float, seed: int) -> np.ndarray:
    """Tables as noise may give them: cells below zero, empty and full ones, and all sizes between."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(0, math.log10(most), (n, C * V, K))
    kinds = rng.integers(0, 4, sizes.shape)
    return np.select(
        [kinds == 0, kinds == 1, kinds == 2], [np.zeros_like(sizes), -sizes, np.full_like(sizes, most)], sizes
    ).astype(np.int64)


def widest(kind: type[CrossTraining], priors: CrossPriors, inherent: float, most: float, n: int = 150) -> float:
    """The longest interval of log-probability ratios, over tables, collections, words and the document's other topics.

    p(k) ∝ (the row of the token's word) · Θ[d, k], Θ the Beta-Liouville posterior mean given the other two tokens.
    """
    run, found = stub(kind, inherent, priors), 0.0
    document = BetaLiouville(ALPHA[:-1], 2.5, ALPHA[-1])
    thetas = [document.posterior_mean(np.bincount(z, minlength=K)) for z in product(range(K), repeat=2)]
    for number, table in enumerate(released_tables(n, most, seed=3)):
        if number % 10 == 0:
            run.own_share = np.random.default_rng(number).random(run.shape)  # as other releases may have left it
        statistic, prior, scale = run._weights(table, number % 5)
        rows = ((statistic + prior) * scale).reshape(C, V, K)
        for theta, (c, t, t1) in product(thetas, product(range(C), range(V), range(V))):
            p, p1 = (rows[c, w] * theta for w in (t, t1))
            ratios = np.log(p / p.sum()) - np.log(p1 / p1.sum())
            assert ratios.min() <= 1e-12
            assert ratios.max() >= -1e-12
            found = max(found, float(ratios.max() - ratios.min()))
    return found


LIOUVILLE = CrossPriors(*FAR, 1.0, 1.0, beta_rest=0.2, beta_collection_rest=200.0)


@pytest.mark.parametrize("priors", [CrossPriors(*FAR, 1.0, 1.0), LIOUVILLE], ids=["Dirichlet", "Beta-Liouville"])
@pytest.mark.parametrize("inherent", [0.5, 9.31])
def test_a_draw_stays_within_the_range_that_is_charged(priors, inherent):
    found = widest(CrossTraining, priors, inherent, most=1e6)
    charged = HybridPlan.make(None, 1e-6, 1.0, inherent, n_topics=K, n_sweeps=4).draw.eta
    assert charged == inherent + 4 * inaccuracy(K)
    assert 0.95 * inherent < found <= inherent + 1e-9  # it is reached, and not exceeded
    assert widest(NoClamp, priors, inherent, most=1e6) > charged + 1


def test_counts_clamped_before_they_are_mixed_exceed_what_each_table_has():
    """Two words whose prior weights are 0.1 and 10 in φ and the other way round in σ, counts clamped at 100: 9.31 in
    each table, 14.01 over both. Some tables come near that, so charging 9.31 would be wrong."""
    priors = CrossPriors(*FAR, 1.0, 1.0)
    each = [range_of_clamped_counts(CrossPriors(b, b, 1.0, 1.0), CLIP) for b in FAR]
    both = range_of_clamped_counts(priors, CLIP)
    np.testing.assert_allclose([*each, both], [9.31, 9.31, 14.01], atol=0.005)

    class ClampedCounts(CrossTraining):
        """Clamps the counts of both tables and mixes then, in shares that are those of the topic."""

        def _weights(self, noisy, number):
            cells = np.maximum(noisy.reshape(self.shape), 0.0)
            rng = np.random.default_rng(abs(int(noisy.sum())))
            own = np.where(rng.random(self.shape) < 0.5, cells, 0.0)  # whichever words are the collection's own
            tables = CrossTables(
                word_means(np.minimum((cells - own).sum(axis=0), CLIP), self.priors.beta, None),
                word_means(np.minimum(own, CLIP), self.priors.beta_collection, None),
                rng.choice([1e-9, 0.5, 1 - 1e-9], (C, K)),
            )
            return unclamped(tables.mixed()[0])

    found = widest(ClampedCounts, priors, each[0], most=CLIP, n=400)
    assert each[0] + 1 < found <= both + 1e-6


def test_range_of_clamped_counts_is_reached_and_not_exceeded():
    """By trying: for every pair of words, both ends of every count, and the ends of the factor of a last word."""
    for rests in ((None, None), (0.3, 50.0)):
        priors = CrossPriors(np.array([0.1, 2.0, 0.5]), np.array([1.0, 0.2, 3.0]), 1.0, 1.0, *rests)
        tried = 0.0
        for t, t1 in product(range(3), repeat=2):
            if t == t1:
                continue
            ends = []
            for beta, rest in ((priors.beta, rests[0]), (priors.beta_collection, rests[1])):
                factors = [1.0] if rest is None else [1.0, rest / beta[:-1].sum()]
                for n, n1, factor in product((0, 7), (0, 7), factors):
                    a, b = beta[t] + n, beta[t1] + n1
                    a, b = (a * factor if t < 2 else a), (b * factor if t1 < 2 else b)
                    ends.append(math.log(a / b))
            tried = max(tried, max(ends) - min(ends))
        assert range_of_clamped_counts(priors, 7.0) == pytest.approx(tried, rel=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0, 1e300])
def test_the_clamp_holds_whatever_a_table_holds(value):
    class Odd(CrossTraining):
        def _divide(self, noisy, *, balanced=False):
            tables = super()._divide(noisy)
            tables.common[1, :2] = value
            return tables

    run = stub(Odd, 4.0, CrossPriors(*FAR, 1.0, 1.0))
    for table in released_tables(5, 100.0, seed=4):
        weights = run._weights(table, 1).statistic.reshape(C, V, K)
        ranges = np.log(weights.max(axis=1) / weights.min(axis=1))
        assert (ranges <= 2.0 + 1e-9).all()


def test_float_products_are_normal_numbers_at_the_ends_of_all_priors():
    """The weights are within [e⁻³², e³²], and a document's factor within [10⁻¹⁸, K·1.2·10¹⁸]: the proof's bound."""
    least, most = np.finfo(np.float32).tiny, np.finfo(np.float32).max
    n_topics = 2**16 - 1
    assert math.exp(-32) * 1e-18 > 1e4 * least
    assert math.exp(32) * n_topics * (2**17 + 1e6) * 1e12 < most / 10
