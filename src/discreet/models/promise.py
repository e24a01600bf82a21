"""What a private fit opens with and ends with: the ledger that pays for it, and the guarantee that it earned."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from discreet._errors import InputError
from discreet._random import Key
from discreet.models import self_test
from discreet.privacy.guarantee import SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger


class Paying(Protocol):
    """A model with a budget of its own, and maybe a ledger."""

    epsilon: Any
    """None where the noise is given instead: a ledger of its own then sets no limit."""
    delta: float
    ledger: Ledger | None

    @property
    def _self_tests(self) -> tuple[self_test.Test, ...]:
        """Of the kernels that its guarantee rests on."""


def open_ledger(model: Paying, unit: Unit) -> Ledger:
    """The ledger given, which must count the same thing, or a new one."""
    if model.ledger is None:
        budget = None if model.epsilon is None else Budget(float(model.epsilon), float(model.delta))
        return Ledger(budget, unit=unit)
    if (model.ledger.unit, model.ledger.relation) != (unit, Relation.ADD_REMOVE):
        raise InputError(
            f"this fit protects one {unit} ({Relation.ADD_REMOVE}), but the ledger counts per {model.ledger.unit} "
            f"({model.ledger.relation}). Use a ledger of the same unit, or give groups= for users."
        )
    return model.ledger


def proven(model: Paying, epsilon: float, unit: Unit, key: Key, assumptions: tuple[str, ...]) -> Guarantee:
    """Theorem A's guarantee: whole units, against whoever sees every released statistic. With a seed it is none."""
    self_test.check(model._self_tests)
    if key.seeded:
        return Guarantee.none(SEEDED, f"without the seed it would be epsilon={epsilon:.4g} for one {unit}")
    return Guarantee(
        epsilon=epsilon,
        delta=float(model.delta),
        unit=unit,
        observer=Observer.STATISTICS,
        relation=Relation.ADD_REMOVE,
        basis=Basis.PROVEN,
        reasons=assumptions,
    )


def units_in_words(n_units: float, *, public: bool) -> str:
    """For warnings, which are read beside the guarantee: a number that holds noise is called one."""
    return f"{n_units:,.0f} units" if public else f"about {n_units:,.0f} units (a noisy count)"


def warn_of_delta(delta: float, n_units: float, units: str, stacklevel: int) -> None:
    """A sentence where the promise holds but says little; ``units`` in words, ``stacklevel`` as the caller's own."""
    if delta * n_units >= 1:
        warnings.warn(
            f"delta={delta:g} is not below one over the number of units, with {units}: it would allow to publish one "
            "unit as it is. Take a delta far below.",
            stacklevel=stacklevel + 1,
        )
