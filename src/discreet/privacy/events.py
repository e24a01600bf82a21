"""What happened: an event holds every fact that is needed to account for it.

Events do not define their cost (``costs.py`` does). Their meaning never changes, because ledgers outlive versions of
the program: a changed meaning is a new class. A class that this program does not know is read as `UnknownEvent`, whose
cost is infinite. Noise is independent of the data and of all other noise; "neighbours" are those of the ledger's
relation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

from discreet._errors import InputError
from discreet.privacy.guarantee import Relation

FAR, MOST = 1e50, 2**63
"""No useful noise is larger, and float64 can still square it."""

MIN_SCALE = 1000.0
"""The smallest discrete Gaussian, in grid steps: below it the continuous curve would be needlessly loose."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. Give a subclass frozen, keyword-only, JSON-valued fields, and a cost in ``costs.py``."""

    known: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Event.known[cls.__name__] = cls

    def holds_for(self, relation: Relation) -> bool:
        """Whether the fact may be stated about neighbours of this relation at all."""
        return True

    def to_json(self) -> dict[str, Any]:
        return {"kind": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}

    @staticmethod
    def from_json(value: Any) -> Event:
        """What `to_json` returned, checked as strictly as a new event."""
        if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
            raise InputError(f"an event must be a JSON object that names its class under 'kind'; found {value!r}.")
        given = {str(name): part for name, part in value.items() if name != "kind"}
        kind = Event.known.get(value["kind"])
        if kind is None or kind is UnknownEvent:
            return UnknownEvent(name=value["kind"], details=json.dumps(given, sort_keys=True))
        expected = {f.name for f in fields(kind)}
        if set(given) != expected:
            raise InputError(
                f"the event {value['kind']} has the fields {', '.join(sorted(expected)) or '(none)'}; "
                f"found {', '.join(sorted(given)) or '(none)'}."
            )
        return kind(**given)


@dataclass(frozen=True, kw_only=True)
class GaussianRelease(Event):
    """A vector plus N(0, (``sigma``·C)²) in every cell, where one unit can move the vector by at most C (ℓ₂).

    With ``sampling_rate`` q < 1, each unit takes part with probability q, decided by its own fresh and secret coin;
    neighbours then differ by *adding or removing* one unit.
    """

    sigma: float
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        _settle(self, "sigma", _positive(self.sigma, "sigma"))
        _settle(self, "sampling_rate", _rate(self.sampling_rate))

    def holds_for(self, relation: Relation) -> bool:
        return self.sampling_rate == 1 or relation is Relation.ADD_REMOVE


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianRelease(Event):
    """A vector of ``cells`` integers plus a discrete Gaussian of parameter ``scale`` in every cell, empty ones too.

    The discrete Gaussian has P(x) ∝ exp(−x²/(2·scale²)) on the integers (grid steps). Neighbours move the vector by at
    most ``sensitivity`` grid steps in ℓ₂. ``sampling_rate`` as in `GaussianRelease`.
    """

    scale: float
    sensitivity: float
    cells: int
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        _settle(self, "scale", _scale(self.scale))
        _settle(self, "sensitivity", _positive(self.sensitivity, "sensitivity"))
        _settle(self, "cells", _count(self.cells, "cells"))
        _settle(self, "sampling_rate", _rate(self.sampling_rate))

    def holds_for(self, relation: Relation) -> bool:
        return self.sampling_rate == 1 or relation is Relation.ADD_REMOVE

    @property
    def sigma(self) -> float:
        """The noise multiplier at which it is accounted: a little below scale/sensitivity (see the proof)."""
        return math.sqrt(self.scale**2 - 4) / self.sensitivity


@dataclass(frozen=True, kw_only=True)
class ThresholdedVocabulary(Event):
    """Words whose noisy weight passes a threshold, when noise is drawn only for the words that occur.

    Each unit gives weights of ℓ₂ norm at most 1 to at most ``max_words`` words, independently of other units; each word
    that occurs gets independent Gaussian noise of standard deviation ``sigma``, and the words above a fixed threshold
    are released. With probability at least 1 − ``delta_threshold`` no word that only *one* unit has passes. If
    ``scale`` is not None, the noise is a discrete Gaussian of that many grid steps (a weight of ``sigma`` is ``scale``
    steps). Neighbours differ by adding or removing one unit.
    """

    sigma: float
    delta_threshold: float
    max_words: int
    scale: float | None = None

    def __post_init__(self) -> None:
        _settle(self, "sigma", _positive(self.sigma, "sigma"))
        delta = _number(self.delta_threshold, "delta_threshold")
        if not 0 < delta < 1:
            raise InputError(f"delta_threshold must lie between 0 and 1; found {delta:g}.")
        _settle(self, "delta_threshold", delta)
        _settle(self, "max_words", _count(self.max_words, "max_words"))
        if self.scale is not None:
            _settle(self, "scale", _scale(self.scale))

    def holds_for(self, relation: Relation) -> bool:
        return relation is Relation.ADD_REMOVE


@dataclass(frozen=True, kw_only=True)
class VocabularyRound(ThresholdedVocabulary):
    """One of several rounds; a word is released when the sum of its noisy weights over the rounds so far passes.

    As `ThresholdedVocabulary`, but a unit's weights may also depend on the results of earlier rounds for its own words,
    and ``delta_threshold`` bounds the probability, computed before the first round, that a word that only one unit has
    passes in *this* round. (Proof: ``mechanisms/vocabulary.proof.md``. It costs the same.)
    """


@dataclass(frozen=True, kw_only=True)
class LaplaceRelease(Event):
    """*One* number plus Laplace noise of ``scale`` times the largest difference of that number between neighbours.

    For a vector of bounded ℓ₁ norm use `PureRelease`: the curve of one cell is not proved for many.
    """

    scale: float

    def __post_init__(self) -> None:
        _settle(self, "scale", _positive(self.scale, "scale"))


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplacePair(Event):
    """An integer table plus discrete Laplace noise of scale 2/``epsilon`` in every cell, P(x) ∝ exp(−|x|·epsilon/2).

    Neighbours differ by one in at most two cells (a word replaced: one count falls, another rises)."""

    epsilon: float

    def __post_init__(self) -> None:
        _settle(self, "epsilon", _positive(self.epsilon, "epsilon"))


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceRelease(Event):
    """A vector of ``cells`` integers plus discrete Laplace noise in every cell, P(x) ∝ exp(−|x|/scale), empty ones too.

    Neighbours move the vector by at most ``sensitivity`` grid steps in ℓ₁."""

    scale: float
    sensitivity: float
    cells: int

    def __post_init__(self) -> None:
        _settle(self, "scale", _positive(self.scale, "scale"))
        _settle(self, "sensitivity", _positive(self.sensitivity, "sensitivity"))
        _settle(self, "cells", _count(self.cells, "cells"))


@dataclass(frozen=True, kw_only=True)
class BoundedRangeDraw(Event):
    """One draw from a finite set, whose log-probability ratios between neighbours lie in an interval of length ``eta``.

    For example, one topic drawn with weights in [β, C+β] has eta = 2·log(1 + C/β) (plus rounding errors).
    """

    eta: float

    def __post_init__(self) -> None:
        _settle(self, "eta", _positive(self.eta, "eta"))


@dataclass(frozen=True, kw_only=True)
class PureRelease(Event):
    """Anything that is ``epsilon``-differentially private with δ = 0, for whatever reason."""

    epsilon: float

    def __post_init__(self) -> None:
        _settle(self, "epsilon", _positive(self.epsilon, "epsilon"))


@dataclass(frozen=True, kw_only=True)
class NonPrivate(Event):
    """Something was released without protection."""


@dataclass(frozen=True, kw_only=True)
class UnknownEvent(Event):
    """An event of a class that this program does not know, kept as it was found. Its cost is infinite."""

    name: str
    details: str = "{}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.name, **json.loads(self.details)}


@dataclass(frozen=True)
class Entry:
    """An event, how many times it happened (adaptively, one after the other), and what for."""

    event: Event
    count: int = 1
    label: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise InputError(f"an entry needs an event; found {type(self.event).__name__}.")
        _settle(self, "count", _count(self.count, "count"))
        if not isinstance(self.label, str):
            raise InputError(f"the label of an entry must be a text; found {self.label!r}.")

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "count": self.count, "event": self.event.to_json()}

    @classmethod
    def from_json(cls, value: Any) -> Entry:
        if not isinstance(value, Mapping) or set(value) != {"label", "count", "event"}:
            raise InputError(f"an entry must be a JSON object with label, count and event; found {value!r}.")
        return cls(Event.from_json(value["event"]), value["count"], value["label"])


# --- checks -----------------------------------------------------------------------------------------------------------


def _settle(event: object, name: str, value: object) -> None:
    object.__setattr__(event, name, value)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number; found {value!r}.")
    return float(value)


def _positive(value: object, name: str) -> float:
    number = _number(value, name)
    if not 0 < number < math.inf:
        raise InputError(f"{name} must be positive and finite; found {number:g}.")
    if not 1 / FAR <= number <= FAR:
        raise InputError(f"{name} must lie between {1 / FAR:g} and {FAR:g}; found {number:g}.")
    return number


def _scale(value: object) -> float:
    number = _positive(value, "scale")
    if number < MIN_SCALE:
        raise InputError(
            f"the scale of a discrete Gaussian must be at least {MIN_SCALE:g} grid steps; found {number:g}. "
            "Choose a finer grid."
        )
    return number


def _rate(value: object) -> float:
    number = _number(value, "sampling_rate")
    if not 0 < number <= 1:
        raise InputError(f"sampling_rate must be above 0 and at most 1; found {number:g}.")
    return number


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1; found {value!r}.")
    if int(value) > MOST:
        raise InputError(f"{name} must be at most 2^63; found a number of {len(str(value))} digits.")
    return int(value)
