"""Parameters of estimators stand once: the type of a field is what ``fit`` accepts."""

from __future__ import annotations

import inspect
import os
from dataclasses import field
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, InvalidParameterError, make_constraint

from discreet.models.estimator import Running, allowed, estimator

Share = Annotated[float, Interval(Real, 0, 1, closed="both")]


@estimator
class Toy(Running, BaseEstimator):
    size: Annotated[int, Interval(Integral, 1, None, closed="left")] = field(default=3, kw_only=False)
    share: Share | None = None
    way: Literal["up", "down"] | None = "up"
    progress: bool = True  # another default than the group's

    def check(self) -> None:
        self._validate_params()


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (bool, ["boolean"]),
        (str | os.PathLike[str] | None, [str, os.PathLike, None]),
        (Annotated[Any, "array-like", dict, None], ["array-like", dict, None]),
        (Path, [Path]),
    ],
)
def test_a_type_becomes_constraints(hint: Any, expected: list[Any]) -> None:
    assert allowed(hint) == expected


@pytest.mark.parametrize(
    ("hint", "accepted", "refused"),
    [
        (Share | None, (0, 0.5, 1, None), (-0.1, 2, "0.5")),
        (Literal[1, 2, "choose"] | None, (1, 2, "choose", None), (3, "1", 1.5)),
        (Literal["up", "down"], ("up", "down"), ("left", None)),
    ],
)
def test_what_a_type_accepts(hint: Any, accepted: tuple[Any, ...], refused: tuple[Any, ...]) -> None:
    constraints = [make_constraint(one) for one in allowed(hint)]
    for value in accepted:
        assert any(one.is_satisfied_by(value) for one in constraints), value
    for value in refused:
        assert not any(one.is_satisfied_by(value) for one in constraints), value


def test_the_constructor_stores_and_the_signature_shows_own_parameters_first() -> None:
    toy = Toy(5, share=0.25, random_state=1)
    assert (toy.size, toy.share, toy.way, toy.progress, toy.random_state) == (5, 0.25, "up", True, 1)
    names = list(inspect.signature(Toy).parameters)
    assert names == ["size", "share", "way", "progress", "n_threads", "random_state", "callbacks"]
    with pytest.raises(TypeError, match="positional"):
        Toy(5, 0.25)  # type: ignore[misc]


def test_scikit_learn_sees_every_parameter_and_checks_it() -> None:
    toy = Toy(2, n_threads=1)
    assert set(toy.get_params()) == set(Toy._parameter_constraints)
    assert clone(toy).get_params() == toy.get_params()
    toy.check()
    for wrong in ({"size": 0}, {"share": 1.5}, {"way": "left"}, {"n_threads": 0}, {"progress": "yes"}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            clone(toy).set_params(**wrong).check()


def test_a_group_is_not_changed_by_those_who_use_it() -> None:
    assert "size" not in Running._parameter_constraints
    assert Running().progress is False
