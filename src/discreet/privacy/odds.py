"""Odds: what a guarantee means for an attacker who guesses. ε and δ in words that people can weigh.

The attacker knows all other data and sees what the observer of the guarantee sees. A fair coin has decided whether one
unit was in the data, and the attacker guesses. (People understood such odds best: Nanayakkara et al. 2023.) Two numbers
are computed, each twice. From (ε, δ) alone: no mechanism with these allows more. From the model's own privacy loss
distribution, composed of the events in its ledger: usually much less, for (ε, δ) is one point of a curve δ(ε), and
attackers are bound by all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from discreet.privacy.guarantee import Basis, Observer, Relation, Unit, observed

if TYPE_CHECKING:
    from discreet.privacy.events import Entry
    from discreet.privacy.guarantee import Guarantee

FALSE_POSITIVES = 0.001
"""The share of false accusations at which attacks are compared (Carlini et al. 2022)."""

FARTHEST = 40.0
"""A test of ε beyond this changes a probability by less than e^−40, which float64 does not show."""

SAME = 1e-9
"""The ledger accounts for a guarantee if its ε is not larger than this tells, relatively."""

_GUESSES = {
    (Unit.WORD, Relation.ADD_REMOVE): "whether one given word was in a document",
    (Unit.WORD, Relation.REPLACE): "which of two given words stood in one place of a document",
    (Unit.DOCUMENT, Relation.ADD_REMOVE): "whether one given document was in the data",
    (Unit.DOCUMENT, Relation.REPLACE): "which of two given documents was in the data",
    (Unit.USER, Relation.ADD_REMOVE): "whether the documents of one given user were in the data",
    (Unit.USER, Relation.REPLACE): "which of two given users wrote the documents of one",
    (Unit.BIT, Relation.ADD_REMOVE): "whether one given word was in the text of one report",
    (Unit.BIT, Relation.REPLACE): "whether one given word was in the text of one report",
    (Unit.REPORT, Relation.ADD_REMOVE): "whether one given report was sent",
    (Unit.REPORT, Relation.REPLACE): "which of two given texts one report was made from",
}


@dataclass(frozen=True)
class Guess:
    """The most that any attacker achieves."""

    accuracy: float
    """The share of right guesses if a fair coin decided: one half by chance."""
    true_positives: float
    """The share of units in the data that are found if `FALSE_POSITIVES` of those outside are accused."""

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Guess:
        """From one (ε, δ). Errors of both kinds satisfy a + e^ε·b ≥ 1 − δ and e^ε·a + b ≥ 1 − δ (Kairouz, Oh and
        Viswanath 2015, theorem 2.1): the least of (a + b)/2, and the least b where a is given."""
        return cls(_accuracy(epsilon, delta), _true_positives(epsilon, delta))

    @classmethod
    def of_entries(cls, entries: Iterable[Entry]) -> Guess:
        """From the whole curve δ(ε) of these charges: each point is a bound, so the best of them is one.

        δ is the larger one of both directions (added and removed), so the result covers both.
        """
        from discreet.privacy import accounting

        charged = tuple(entries)

        @cache
        def curve(epsilon: float) -> float:
            return accounting.delta(charged, epsilon)

        return cls(
            _least(lambda epsilon: _accuracy(epsilon, curve(epsilon))),
            _least(lambda epsilon: _true_positives(epsilon, curve(epsilon))),
        )


@dataclass(frozen=True)
class Odds:
    """The odds of one guarantee: by its (ε, δ) alone, and by the model's own privacy loss distribution."""

    bound: Guess | None
    """None if nothing is promised."""
    own: Guess | None
    """None if the distribution is not known."""
    missing: str
    """Why ``own`` is None; empty if it is not."""
    guess: str
    """What is guessed, in words."""
    sees: str
    """What the attacker sees."""

    def sentences(self) -> tuple[str, ...]:
        """For people; shares are rounded up, as promises are."""
        if self.bound is None:
            return ("Nothing limits what an attacker can find out.",)
        attacker = (
            f"Imagine an attacker who knows everything else, sees {self.sees}, and guesses {self.guess}, which a coin "
            "has decided."
        )
        right = f"Chance is right 50% of the time; this promise allows at most {percent(self.bound.accuracy)}"
        found = f"At one false alarm in a thousand, it lets at most {percent(self.bound.true_positives)} be detected"
        if self.own is None:
            return attacker, f"{right}.", f"{found}.", f"What this very model allows is not known: {self.missing}."
        return (
            attacker,
            f"{right}, and this very model at most {percent(self.own.accuracy)}.",
            f"{found}, and this very model at most {percent(self.own.true_positives)}.",
        )

    def __str__(self) -> str:
        return " ".join(self.sentences())


def odds_of(guarantee: Guarantee, entries: Iterable[Entry] | None = None) -> Odds:
    """See `Guarantee.odds`."""
    if guarantee.basis is Basis.NONE:
        return Odds(None, None, "nothing is promised", "", "")
    assert guarantee.unit is not None
    assert guarantee.relation is not None
    assert guarantee.observer is not None
    guess = _GUESSES[guarantee.unit, guarantee.relation]
    if guarantee.group > 1:
        guess = f"which of two data sets was used that differ in {guarantee.group} {guarantee.unit}s"
    bound = Guess.of(guarantee.epsilon, guarantee.delta)
    charged = () if entries is None else tuple(entries)
    missing = _missing(guarantee, charged)
    own = None if missing else Guess.of_entries(charged)
    if own is not None:
        own = Guess(min(own.accuracy, bound.accuracy), min(own.true_positives, bound.true_positives))
    return Odds(bound, own, missing, guess, observed(guarantee.observer))


def _missing(guarantee: Guarantee, entries: tuple[Entry, ...]) -> str:
    """Why these entries do not give the distribution of this guarantee; empty if they do."""
    if guarantee.basis is Basis.CLAIMED:
        return "its guarantee is only claimed, and no ledger accounts for it"
    if guarantee.basis is Basis.ESTIMATE:
        return "it is an estimate, and no guarantee"
    if guarantee.observer is Observer.REPORT:
        return "noise was added to each report where it was made, and no ledger counts that"
    if guarantee.group > 1:
        return "a ledger accounts for one unit, and this is a promise for several"
    if not entries:
        return "there is no ledger of what was charged"
    from discreet.privacy import accounting

    spent = accounting.spent(entries, guarantee.delta).epsilon
    if not spent <= guarantee.epsilon * (1 + SAME):
        return "the ledger does not account for the guarantee"
    return ""


def percent(share: float) -> str:
    """With one digit after the point, below 10% with two significant ones; rounded up, because it is a promise."""
    if not 0 < share < 1:
        return f"{share:.0%}"
    digits = 1 if share >= 0.1 else 1 - math.floor(math.log10(100 * share))
    up = math.ceil(100 * share * 10**digits * (1 - 1e-12)) / 10**digits
    return "100%" if up >= 100 else f"{up:.{digits}f}%"


def _accuracy(epsilon: float, delta: float) -> float:
    """1 − (1 − δ)/(1 + e^ε)."""
    return 1 - (1 - min(delta, 1.0)) / (1 + math.exp(min(epsilon, 700.0)))


def _true_positives(epsilon: float, delta: float) -> float:
    """min(e^ε·a + δ, 1 − e^−ε·(1 − δ − a)) at a = `FALSE_POSITIVES`."""
    few = math.exp(min(epsilon, 700.0)) * FALSE_POSITIVES + delta
    many = 1 - math.exp(-epsilon) * max(0.0, 1 - delta - FALSE_POSITIVES)
    return min(1.0, few, many)


def _least(bound: Callable[[float], float]) -> float:
    """The least bound over ε: on a grid, then between the neighbours of its best point. Whatever it finds is valid.

    The first points are just above 0, where accounting adds a tiny constant to ε.
    """
    grid = [0.0, *(10.0**power for power in range(-30, -2, 4)), *(FARTHEST / 1.25**step for step in range(40, -1, -1))]
    values = [bound(epsilon) for epsilon in grid]
    best = min(range(len(grid)), key=values.__getitem__)
    low, high, found = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], values[best]
    for _ in range(30):
        left, right = low + 0.4 * (high - low), high - 0.4 * (high - low)
        at_left, at_right = bound(left), bound(right)
        found = min(found, at_left, at_right)
        low, high = (low, right) if at_left <= at_right else (left, high)
    return found
