"""What monitors of inherent privacy (Zhao 2019, Algorithms 1 and 2; Zhao 2021, eq. 5 and 6) may report: an estimate,
never a guarantee."""

from __future__ import annotations

from discreet._errors import InputError
from discreet.privacy.guarantee import Basis, Guarantee, Observer, Relation, Unit

WHY_AN_ESTIMATE = (
    "it is computed from the private counts of one run, and other data would give another number",
    "only the topic totals are moved; the changed word's own counts and its document are held fixed",
    "the largest sum over single tokens is taken, as if draws did not share counts: all of them do, so this is not "
    "even an upper estimate",
    "the model itself is computed from exact counts",
)
"""Why it is not proved."""


WHY_RELATED_IS_AN_ESTIMATE = (
    "it is computed from the private counts of one run, and other data would give another number",
    "it is about drawn topics only: whoever sees a count of words sees the replaced word, whatever was drawn",
    "the model itself is computed from exact counts",
)
"""Why the bound with related words is not a guarantee."""


def related_estimate(epsilon: float) -> Guarantee:
    """The bound of Zhao 2021, eq. (6), with the reasons not to publish it."""
    return Guarantee(
        epsilon=float(epsilon),
        delta=0.0,
        unit=Unit.WORD,
        observer=Observer.TRAJECTORY,
        relation=Relation.REPLACE,
        basis=Basis.ESTIMATE,
        reasons=WHY_RELATED_IS_AN_ESTIMATE,
    )


def inherent_estimate(epsilon: float, unit: Unit | str) -> Guarantee:
    """The monitor's number with all reasons not to trust it. A Release refuses to hold it."""
    if unit not in (Unit.WORD, Unit.DOCUMENT):
        raise InputError(f"the monitor knows the units word and document; found {unit!r}.")
    return Guarantee(
        epsilon=float(epsilon),
        delta=0.0,
        unit=Unit(unit),
        observer=Observer.TRAJECTORY,
        relation=Relation.ADD_REMOVE,
        basis=Basis.ESTIMATE,
        reasons=WHY_AN_ESTIMATE,
    )
