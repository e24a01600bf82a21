"""Guarantee: what a model promises, against whom, about what, and on what basis.

A bare ε means nothing without the protected unit, the observer, the relation between neighbouring data sets, and
whether there is a proof. A `Guarantee` always holds all of them, and the text that people read is made from all of
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from discreet._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.privacy.events import Entry
    from discreet.privacy.odds import Odds


def rounded_up(epsilon: float, digits: int = 6) -> str:
    """A printed ε is a promise: it may be larger than the true one, never smaller (except for float64 rounding)."""
    if not 0 < epsilon < math.inf:
        return f"{epsilon:g}"
    unit = Decimal(10) ** (Decimal(epsilon).adjusted() - digits + 1)
    return f"{float((Decimal(epsilon * (1 - 1e-12)) / unit).to_integral_value(ROUND_CEILING) * unit):.{digits}g}"


class Unit(StrEnum):
    """What is protected."""

    WORD = "word"  # one token replaced
    DOCUMENT = "document"  # one document added or removed
    USER = "user"  # all documents of one group id added or removed
    BIT = "bit"  # one word's presence in one report (local model)
    REPORT = "report"  # one whole report (local model)


class Observer(StrEnum):
    """What the adversary sees."""

    MODEL = "model"  # the final topics
    STATISTICS = "statistics"  # every noisy statistic released in training; the model is a function of these
    TRAJECTORY = "trajectory"  # statistics, and the topic of every token after every sweep
    REPORT = "report"  # local model: the server itself
    TRENDS = "trends"  # noisy sums by slice under a model that was there before; not the model


class Relation(StrEnum):
    """How neighbouring data sets differ."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class Basis(StrEnum):
    """What the numbers are based on."""

    PROVEN = "proven"
    CLAIMED = "claimed"  # as published; the reasons say what is missing
    ESTIMATE = "estimate"  # a diagnostic computed from private data: for the curator, never to be published
    NONE = "none"


EXACT_COUNTS = "topics are computed from exact counts, so a membership attack can find training documents"
"""Why an ordinary topic model promises nothing."""

SEEDED = "seeded: whoever knows the seed can repeat every random draw"
"""Why a reproducible run promises nothing, whatever its noise."""

_CHANGES = {
    (Unit.WORD, Relation.ADD_REMOVE): "one word added to or removed from a document",
    (Unit.WORD, Relation.REPLACE): "one word of one document replaced by another word",
    (Unit.DOCUMENT, Relation.ADD_REMOVE): "one document added or removed",
    (Unit.DOCUMENT, Relation.REPLACE): "one document replaced by another document",
    (Unit.USER, Relation.ADD_REMOVE): "all documents of one user added or removed",
    (Unit.USER, Relation.REPLACE): "all documents of one user replaced by those of another user",
    (Unit.BIT, Relation.ADD_REMOVE): "one word added to or removed from one report",
    (Unit.BIT, Relation.REPLACE): "one word's presence in one report changed",
    (Unit.REPORT, Relation.ADD_REMOVE): "one whole report added or removed",
    (Unit.REPORT, Relation.REPLACE): "one whole report replaced by another report",
}
_CHANGES_OF_MANY = {
    (Unit.WORD, Relation.ADD_REMOVE): "{n} words added to or removed from documents",
    (Unit.WORD, Relation.REPLACE): (
        "{n} words replaced by other words, as when a document of {n} words is replaced by another of the same length"
    ),
    (Unit.DOCUMENT, Relation.ADD_REMOVE): "{n} documents added or removed",
    (Unit.DOCUMENT, Relation.REPLACE): "{n} documents replaced by other documents",
    (Unit.USER, Relation.ADD_REMOVE): "all documents of {n} users added or removed",
    (Unit.USER, Relation.REPLACE): "all documents of {n} users replaced by those of other users",
    (Unit.BIT, Relation.ADD_REMOVE): "{n} words added to or removed from reports",
    (Unit.BIT, Relation.REPLACE): "the presence of {n} words in reports changed",
    (Unit.REPORT, Relation.ADD_REMOVE): "{n} whole reports added or removed",
    (Unit.REPORT, Relation.REPLACE): "{n} whole reports replaced by other reports",
}
_LARGER = {Unit.WORD: "document", Unit.BIT: "report", Unit.DOCUMENT: "user"}
_OBSERVERS = {
    Observer.MODEL: "the final model",
    Observer.STATISTICS: "the final model and every statistic released while it was trained",
    Observer.TRAJECTORY: "the final model, every statistic and the topic of every word during training",
    Observer.REPORT: "each report as it arrives at the server",
    Observer.TRENDS: "the trends and every noisy sum behind them (the model is counted apart)",
}
RESUMED = "interrupted and resumed: "
"""The beginning of a reason that reports what happened in the run, and is not a condition."""
WHOLE = "for a whole report "
"""The beginning of a reason that says what a promise for one bit comes to for the report. It is no condition, and it is
never left out: the larger number is what most people mean by privacy."""
_VACUOUS = 1e-2
"""Above this δ, the guarantee of a group promises nothing."""
_UNLIMITED = 20.0  # beyond this ε the factor e^ε exceeds 10^8, and printing it would only look like precision

_Enum = TypeVar("_Enum", bound=StrEnum)


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ) with everything that gives them a meaning.

    ``epsilon`` is infinite, and ``unit``, ``observer`` and ``relation`` are None, exactly when ``basis`` is ``none``.
    ``reasons`` are short phrases: what is assumed (``proven``), or why there is no proof (the others). ``group``
    is the number of units that change together: 1, unless `for_group` made it.
    """

    epsilon: float
    delta: float
    unit: Unit | None
    observer: Observer | None
    relation: Relation | None
    basis: Basis
    reasons: tuple[str, ...] = ()
    group: int = 1

    def __post_init__(self) -> None:
        for name, kind in (("unit", Unit), ("observer", Observer), ("relation", Relation), ("basis", Basis)):
            value = getattr(self, name)
            if value is not None or name == "basis":
                object.__setattr__(self, name, _member(kind, value, name))
        object.__setattr__(self, "epsilon", _number(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", _number(self.delta, "delta"))
        if isinstance(self.reasons, str) or not all(isinstance(r, str) and r.strip() for r in self.reasons):
            raise InputError(f"the reasons of a guarantee must be phrases; found {self.reasons!r}.")
        object.__setattr__(self, "reasons", tuple(self.reasons))
        self._check_meaning()

    def _check_meaning(self) -> None:
        """Refuse combinations that would promise something without saying what."""
        if not self.epsilon >= 0 or not 0 <= self.delta < 1:
            raise InputError(
                f"a guarantee needs epsilon >= 0 and 0 <= delta < 1; found epsilon={self.epsilon}, delta={self.delta}."
            )
        if isinstance(self.group, bool) or not isinstance(self.group, int) or self.group < 1:
            raise InputError(f"the group of a guarantee must be a whole number of at least 1; found {self.group!r}.")
        about = (self.unit, self.observer, self.relation)
        if self.basis is Basis.NONE:
            if math.isfinite(self.epsilon) or any(part is not None for part in about):
                raise InputError("a guarantee of basis 'none' has no numbers. Use Guarantee.none(reason).")
        elif not math.isfinite(self.epsilon) or any(part is None for part in about):
            raise InputError(
                f"a guarantee of basis '{self.basis}' needs a finite epsilon, a unit, an observer and a relation; "
                f"found epsilon={self.epsilon}, unit={self.unit}, observer={self.observer}, relation={self.relation}."
            )
        if self.basis is not Basis.PROVEN and not self.reasons:
            raise InputError(f"a guarantee of basis '{self.basis}' must give its reasons: why is there no proof?")

    @classmethod
    def none(cls, *reasons: str) -> Guarantee:
        """No guarantee at all, and why."""
        return cls(math.inf, 0.0, None, None, None, Basis.NONE, reasons)

    def for_group(self, n: int) -> Guarantee:
        """The same promise when any ``n`` units change together: nε, and δ·(e^{nε} − 1)/(e^ε − 1).

        For words, n = L covers replacing a document by another of the same length L, but not adding or removing one. If
        δ exceeds 1e-2 the result has basis ``none``. δ grows so fast that for a group it is better to account for the
        mechanism itself (n times the draws, n times the cells).
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"a group must have a whole number of units, at least 1; found {n!r}.")
        if n == 1 or self.basis is Basis.NONE:
            return self
        epsilon, delta = n * self.epsilon, _group_delta(self.epsilon, self.delta, n)
        size = n * self.group
        if delta > _VACUOUS:
            return Guarantee.none(
                f"for {size} {self.unit}s together, ε = {self.epsilon:g} and δ = {self.delta:g} would become "
                f"ε = {epsilon:g} and δ = {min(delta, 1):.2g}, which promises nothing"
            )
        return replace(self, epsilon=epsilon, delta=delta, group=size)

    def odds(self, entries: Iterable[Entry] | None = None) -> Odds:
        """How often an attacker can guess right about one unit, at most: see ``privacy/odds.py``.

        ``entries`` are the charges of the model that this guarantee is about (`Release.odds` gives its own). With them
        the odds of the model itself stand beside those that (ε, δ) alone allow.
        """
        from discreet.privacy.odds import odds_of

        return odds_of(self, entries)

    # --- for people -------------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """One line. It starts with ``none`` when nothing is promised."""
        if self.basis is Basis.NONE:
            return f"none: {'; '.join(self.reasons)}"
        reasons = "; ".join(self.reasons)
        caveat = f" ({reasons})" if reasons else ""
        if self.basis is Basis.PROVEN:  # only the first, and the number of others: __str__ lists all of them
            conditions, more = self.conditions, len(self.conditions) - 1
            others = f", and {more} more condition{'s' if more > 1 else ''}" if more > 0 else ""
            caveat = f", if {conditions[0]}{others}" if conditions else ""
        whole = "".join(f"; {reason};" for reason in self.reasons if reason.startswith(WHOLE)) or ","
        return (
            f"ε = {rounded_up(self.epsilon)}, δ = {self.delta:g} for {self._whom()} ({self.relation}){whole} "
            f"seen by the {self.observer} observer: {self.basis}{caveat}"
        )

    @property
    def conditions(self) -> tuple[str, ...]:
        """What a proven guarantee assumes."""
        return tuple(reason for reason in self.reasons if not reason.startswith((RESUMED, WHOLE)))

    @property
    def change(self) -> str:
        """How neighbouring data sets differ, in words; empty if nothing is promised."""
        if self.unit is None or self.relation is None:
            return ""
        if self.group == 1:
            return _CHANGES[self.unit, self.relation]
        return _CHANGES_OF_MANY[self.unit, self.relation].format(n=self.group)

    def _whom(self) -> str:
        return f"one {self.unit}" if self.group == 1 else f"{self.group} {self.unit}s together"

    def __str__(self) -> str:
        """A paragraph for the person who decides whether the model may be published."""
        reasons = "; ".join(self.reasons)
        if self.basis is Basis.NONE:
            return (
                f"No privacy guarantee. Reason: {reasons}. Treat this model as confidentially as the documents that it "
                "was trained on: give it only to people who may read them."
            )
        meaning = self._meaning()
        if self.basis is Basis.PROVEN:
            assumed = f" It assumes: {'; '.join(self.conditions)}." if self.conditions else ""
            happened = "".join(f" The run was {reason}." for reason in self.reasons if reason.startswith(RESUMED))
            many = "reports" if self.unit is Unit.BIT else f"{self.unit}s"
            common = f"What many {many} have in common is not hidden."
            return f"Differential privacy, proven. {meaning} {common}{assumed}{happened}"
        if self.basis is Basis.CLAIMED:
            return (
                f"Differential privacy, claimed but not proven. The claim: {meaning} What is missing: {reasons}. "
                "Do not rely on it."
            )
        return (
            f"An estimate for the curator, not a guarantee. It suggests: {meaning} Why it is no more: {reasons}. "
            "It was computed from private data: do not publish it."
        )

    def __repr__(self) -> str:
        return f"<Guarantee: {self.summary()}>"

    def _repr_html_(self) -> str:
        from discreet.privacy.notebook import guarantee_html

        return guarantee_html(self)

    def _meaning(self) -> str:
        """The definition of differential privacy in everyday words, with this guarantee's own numbers."""
        assert self.unit is not None
        assert self.observer is not None
        assert self.relation is not None
        if self.epsilon > _UNLIMITED:
            factor = "so much more likely that this protects nothing in practice"
        else:
            factor = f"at most {_times(self.epsilon)} times as likely"
        plus = f", plus {self.delta:g} (δ)" if self.delta else ""
        larger = f" A whole {_LARGER[self.unit]} has less protection." if self.unit in _LARGER else ""
        larger = "".join(f" {r[0].upper()}{r[1:]}." for r in self.reasons if r.startswith(WHOLE)) or larger
        larger = larger if self.group == 1 else ""
        return (
            f"The change considered: {self.change}. To whoever sees {_OBSERVERS[self.observer]}"
            f", it makes any outcome {factor} (e to the power ε = {rounded_up(self.epsilon)}){plus}.{larger}"
        )

    # --- for programs -----------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``json.dumps``. An infinite ε is null, because JSON has no infinity."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "unit": None if self.unit is None else str(self.unit),
            "observer": None if self.observer is None else str(self.observer),
            "relation": None if self.relation is None else str(self.relation),
            "basis": str(self.basis),
            "reasons": list(self.reasons),
            "group": self.group,
        }

    @classmethod
    def from_json(cls, value: Any) -> Guarantee:
        """What `to_json` returned, checked as strictly as a new one: a file cannot promise what the code refuses."""
        fields = tuple(cls.__dataclass_fields__)
        if isinstance(value, Mapping):
            value = {"group": 1, **value}  # earlier files have no group
        if not isinstance(value, Mapping) or set(value) != set(fields):
            found = ", ".join(sorted(map(str, value))) if isinstance(value, Mapping) else type(value).__name__
            raise InputError(f"a guarantee must have exactly the fields {', '.join(fields)}; found {found or 'none'}.")
        if not isinstance(value["reasons"], list):
            raise InputError(f"the reasons of a guarantee must be a list; found {value['reasons']!r}.")
        epsilon = math.inf if value["epsilon"] is None else value["epsilon"]
        return cls(**{**value, "epsilon": epsilon, "reasons": tuple(value["reasons"])})


def observed(observer: Observer) -> str:
    """What this observer sees, in words."""
    return _OBSERVERS[observer]


def _times(epsilon: float) -> str:
    """e^ε with three digits, rounded up, as people write it: 2,950 and not 2.95e+03."""
    factor = float(rounded_up(math.exp(epsilon), 3))
    return f"{factor:,.0f}" if factor >= 1000 else f"{factor:g}"


def _group_delta(epsilon: float, delta: float, n: int) -> float:
    """δ·(1 + e^ε + … + e^{(n−1)ε}): each of n steps between neighbours adds δ, and later steps magnify it."""
    if delta == 0:
        return 0.0
    if n * epsilon > 700:
        return math.inf
    return delta * (math.expm1(n * epsilon) / math.expm1(epsilon) if epsilon else n)


def _member(kind: type[_Enum], value: object, name: str) -> _Enum:
    try:
        return kind(value)  # type: ignore[arg-type]  # raises if it is not the value of a member
    except ValueError:
        raise InputError(f"{name} must be one of {', '.join(kind)}; found {value!r}.") from None


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} must be a number; found {value!r}.")
    return float(value)
