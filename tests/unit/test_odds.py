"""Odds: against closed forms, against a simulated attack, and the sentences that are made of them."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from discreet import Guarantee, PrivateLDA
from discreet.models.private.plan import PrivatePlan
from discreet.privacy import Basis, Entry, Ledger, Observer, Relation, Unit
from discreet.privacy.events import BoundedRangeDraw, DiscreteLaplacePair, GaussianRelease, NonPrivate, PureRelease
from discreet.privacy.odds import FALSE_POSITIVES, Guess, percent

NORMAL = NormalDist()


def proven(epsilon: float, delta: float = 1e-6, **changed) -> Guarantee:
    about = {"unit": Unit.DOCUMENT, "observer": Observer.STATISTICS, "relation": Relation.ADD_REMOVE}
    return Guarantee(epsilon, delta, **{**about, "basis": Basis.PROVEN, **changed})


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 9.0, 30.0])
def test_pure_privacy_has_a_closed_form(epsilon: float) -> None:
    """Randomised response attains it: right with probability e^ε/(1 + e^ε). By (ε, 0) and by its distribution."""
    right = 1 / (1 + math.exp(-epsilon))
    few, many = math.exp(epsilon) * FALSE_POSITIVES, 1 - math.exp(-epsilon) * (1 - FALSE_POSITIVES)
    for found in (Guess.of(epsilon, 0.0), Guess.of_entries([Entry(PureRelease(epsilon=epsilon))])):
        assert found.accuracy == pytest.approx(right, rel=1e-9)
        assert found.true_positives == pytest.approx(min(few, many), rel=1e-6)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0, 20.0])
def test_one_gaussian_has_a_closed_form(sigma: float) -> None:
    """Neyman and Pearson: the best test between N(0, σ²) and N(1, σ²). Never below it, and hardly above."""
    found = Guess.of_entries([Entry(GaussianRelease(sigma=sigma))])
    right, detected = NORMAL.cdf(0.5 / sigma), NORMAL.cdf(NORMAL.inv_cdf(FALSE_POSITIVES) + 1 / sigma)
    assert right * (1 - 1e-12) <= found.accuracy <= right * (1 + 1e-6)
    assert detected * (1 - 1e-9) <= found.true_positives <= detected * (1 + 1e-3)


def test_delta_is_added() -> None:
    """At ε = 0 the attacker is right with probability (1 + δ)/2 and detects FPR + δ."""
    assert Guess.of(0.0, 0.1) == Guess(pytest.approx(0.55), pytest.approx(0.101))
    assert Guess.of(1000.0, 0.0) == Guess(1.0, 1.0)
    assert Guess.of_entries([Entry(NonPrivate())]) == Guess(1.0, 1.0)


def test_two_pairs_of_discrete_laplace_have_a_closed_form() -> None:
    """Two-point mechanisms of ε/2 each: four of them are a binomial, whose best test is by the number of heads."""
    half, n = 0.4, 4
    p = 1 / (1 + math.exp(-half))
    laws = [[math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)] for q in (p, 1 - p)]
    right = sum(max(a, b) for a, b in zip(*laws, strict=True)) / 2
    found = Guess.of_entries([Entry(DiscreteLaplacePair(epsilon=2 * half), 2)])
    assert right <= found.accuracy <= right * (1 + 1e-3)


def test_against_a_simulated_attack() -> None:
    """Thirty Poisson-sampled Gaussians (rate 0.2, σ = 1), and the attacker who knows both laws: the likelihood ratio.

    400,000 runs with the unit and as many without. The share of right guesses has a standard deviation below 0.0006, so
    the bounds at ± 0.003 fail by chance with probability below 1e-6. Odds of 28 or 32 rounds differ by more than that
    (asserted), so a wrong composition is noticed.
    """
    rate, n, rounds, runs = 0.2, 400_000, 30, 20
    generator = np.random.default_rng(7)
    scores = np.zeros((2, n))
    for block in np.array_split(np.arange(n), runs):
        noise = generator.standard_normal((2, len(block), rounds))
        noise[1] += generator.random((len(block), rounds)) < rate
        scores[:, block] = np.log1p(rate * np.expm1(noise - 0.5)).sum(axis=2)
    right = float(((scores[0] < 0).mean() + (scores[1] > 0).mean()) / 2)
    event = GaussianRelease(sigma=1.0, sampling_rate=rate)
    found, less, more = (Guess.of_entries([Entry(event, count)]) for count in (rounds, 28, 32))
    assert abs(found.accuracy - right) < 0.003
    assert less.accuracy < found.accuracy - 0.006
    assert more.accuracy > found.accuracy + 0.006
    # the same at one false alarm in a thousand, either way round: 400 alarms, so the threshold has an error of 5%
    forward = float((scores[1] > np.quantile(scores[0], 1 - FALSE_POSITIVES)).mean())
    backward = float((scores[0] < np.quantile(scores[1], FALSE_POSITIVES)).mean())
    assert 0.7 * found.true_positives < max(forward, backward) < 1.25 * found.true_positives


PLANS = {0.5: (62, 52.5, 0.15), 1: (73, 54.6, 0.22), 2: (88, 58.6, 0.41), 4: (98, 65.3, 1.1), 8: (100, 75.2, 4.9)}
"""ε → percent right by (ε, δ) and of the default plan itself; percent detected at one false alarm in a thousand."""


@pytest.mark.parametrize("epsilon", PLANS)
def test_odds_of_the_default_plan(epsilon: float) -> None:
    """20 topics of 2,000 words. `docs/report.md` prints this table."""
    generic, own, detected = PLANS[epsilon]
    plan = PrivatePlan.make(PrivateLDA(20, epsilon=epsilon), 2000)
    odds = proven(epsilon).odds(plan.entries)
    assert round(100 * odds.bound.accuracy) == generic
    assert round(100 * odds.own.accuracy, 1) == own
    assert float(f"{100 * odds.own.true_positives:.2g}") == detected
    assert odds.missing == ""
    assert odds.own.true_positives < odds.bound.true_positives


def test_order_and_grouping_of_entries_do_not_matter() -> None:
    one, two = DiscreteLaplacePair(epsilon=0.2), BoundedRangeDraw(eta=0.3)
    found = Guess.of_entries([Entry(one, 20), Entry(two, 5)])
    assert Guess.of_entries([Entry(two, 5), Entry(one, 7), Entry(one, 13)]) == found


# --- what it says -----------------------------------------------------------------------------------------------------


def test_sentences_have_both_numbers() -> None:
    charged = [Entry(GaussianRelease(sigma=5.0))]
    odds = proven(1.0).odds(charged)
    attacker, right, detected = odds.sentences()
    assert "guesses whether one given document was in the data" in attacker
    assert "at most 73.2%, and this very model at most 54.0%" in right
    assert "one false alarm in a thousand" in detected
    assert str(odds) == " ".join(odds.sentences())


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (proven(1.0), "there is no ledger"),
        (proven(1.0, basis=Basis.CLAIMED, reasons=("draws are not charged",)), "only claimed"),
        (proven(1.0, unit=Unit.BIT, relation=Relation.REPLACE, observer=Observer.REPORT), "to each report"),
        (proven(1.0, basis=Basis.ESTIMATE, reasons=("of one run",)), "an estimate"),
        (proven(0.5, 1e-9).for_group(2), "for several"),
    ],
    ids=["no ledger", "claimed", "local", "estimate", "group"],
)
def test_it_says_why_the_models_own_odds_are_missing(guarantee: Guarantee, words: str) -> None:
    charged = () if "no ledger" in words else [Entry(GaussianRelease(sigma=50.0))]
    odds = guarantee.odds(charged)
    assert odds.own is None
    assert words in odds.missing
    assert words in str(odds)
    assert odds.bound is not None


def test_a_ledger_that_does_not_account_for_the_guarantee_is_not_used() -> None:
    small = [Entry(GaussianRelease(sigma=1.0))]
    assert "does not account" in proven(1.0).odds(small).missing
    assert proven(10.0).odds(small).missing == ""


def test_nothing_is_promised_where_nothing_is() -> None:
    odds = Guarantee.none("seeded").odds([Entry(PureRelease(epsilon=1.0))])
    assert (odds.bound, odds.own) == (None, None)
    assert str(odds) == "Nothing limits what an attacker can find out."


def test_entries_may_be_those_of_a_ledger() -> None:
    ledger = Ledger(unit="document")
    ledger.charge(PureRelease(epsilon=0.7), label="test")
    odds = proven(0.7, 0.0).odds(ledger.entries)
    assert odds.own.accuracy == pytest.approx(odds.bound.accuracy, abs=1e-9)


def test_every_unit_and_relation_has_its_question() -> None:
    questions = {
        replace(proven(1.0), unit=unit, relation=relation).odds().guess for unit in Unit for relation in Relation
    }
    assert len(questions) == 9  # one bit of a report added or replaced is the same question
    assert "5 documents" in proven(0.1, 1e-9).for_group(5).odds().guess


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50.0%"), (0.73106, "73.2%"), (0.0021528, "0.22%"), (0.0486, "4.9%"), (0.99999, "100%"), (1, "100%")],
)
def test_shares_are_rounded_up(share: float, text: str) -> None:
    assert percent(share) == text
