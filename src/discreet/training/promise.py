"""What a private fit opens with and ends with: the ledger that pays for it, and the guarantee that it earned."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from discreet._errors import InputError, counted
from discreet._random import Key
from discreet.privacy.guarantee import SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger
from discreet.training import self_test
from discreet.training.own_ledger import OwnLedger, refuse_in_a_search


class Paying(Protocol):
    """A model with a budget of its own, and maybe a ledger."""

    epsilon: Any
    """None where the noise is given instead: a ledger of its own then sets no limit."""
    delta: float
    ledger: Ledger | None
    random_state: Any

    @property
    def _self_tests(self) -> tuple[self_test.Test, ...]:
        """Of the kernels that its guarantee rests on."""


def open_ledger(model: Paying, unit: Unit, relation: Relation = Relation.ADD_REMOVE) -> Ledger:
    """The ledger given, which must count the same thing, or one for this fit alone.

    Every private fit passes here first: compiled code that fails its self-test is never charged for.
    """
    self_test.check(model._self_tests)
    if model.ledger is None:
        budget = None if model.epsilon is None else Budget(float(model.epsilon), float(model.delta))
        if model.random_state is not None:  # it promises nothing, so there is nothing to add up
            return Ledger(budget, unit=unit, relation=relation)
        refuse_in_a_search(model)
        return OwnLedger(budget, unit=unit, relation=relation)
    if (model.ledger.unit, model.ledger.relation) != (unit, relation):
        users = ", or give groups= for users" if unit is Unit.DOCUMENT and relation is Relation.ADD_REMOVE else ""
        raise InputError(
            f"this fit protects one {unit} ({relation}), but the ledger counts per {model.ledger.unit} "
            f"({model.ledger.relation}). Use a ledger of unit '{unit}' and relation '{relation}'{users}."
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
    return counted(n_units, "unit") if public else f"about {counted(n_units, 'unit')} (a noisy count)"


def warn_of_delta(delta: float, n_units: float, units: str, stacklevel: int) -> None:
    """A sentence where the promise holds but says little; ``units`` in words, ``stacklevel`` as the caller's own."""
    if delta * n_units >= 1:
        warnings.warn(
            f"delta={delta:g} is not below one over the number of units, with {units}: it would permit publishing one "
            "unit outright. Choose a much smaller delta.",
            stacklevel=stacklevel + 1,
        )
