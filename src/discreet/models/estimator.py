"""Parameters of estimators, each stated once: a field with its type, its allowed values and its default.

An estimator is a keyword-only dataclass. The type of a field says what ``fit`` accepts::

    @estimator
    class Coarse(Running, TopicModel):
        n_topics: Topics = field(default=10, kw_only=False)
        alpha: Alpha = 0.1
        grid: Annotated[int, Interval(Integral, 1, None, closed="left")] = 2

``dataclass`` writes the constructor, which only stores its arguments, as scikit-learn requires; ``@estimator`` makes
the table of constraints that scikit-learn checks in ``fit``. Parameters that several estimators share are the small
classes at the end of this file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from numbers import Integral
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from sklearn.utils._param_validation import InvalidParameterError, Options, StrOptions

from discreet._errors import InputError
from discreet.models.bounds import AtLeastOne, Delta, RandomState, Rate, Sweeps, Tokens
from discreet.privacy.ledger import Ledger
from discreet.training.loop import Callback, Measures, Trained, run_sweeps

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: type[T]) -> type[T]:
    """Make a dataclass of ``cls``, with scikit-learn's table of what each parameter may be."""
    own = {name: allowed(hint) for name, hint in inspect.get_annotations(cls, eval_str=True).items()}
    inherited = [getattr(base, "_parameter_constraints", {}) for base in reversed(cls.__mro__[1:])]
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    table = {name: allowed for constraints in (*inherited, own) for name, allowed in constraints.items()}
    made._parameter_constraints = table  # type: ignore[attr-defined]
    # People read the signature: a model's own parameters first, then the shared ones.
    signature = inspect.signature(made.__init__)
    place = {name: i for i, name in enumerate(("self", *own))}
    ordered = sorted(signature.parameters.values(), key=lambda one: (one.kind, place.get(one.name, len(place))))
    made.__init__.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    return made


def allowed(hint: Any) -> list[Any]:
    """A type as scikit-learn's constraints."""
    if hint is NoneType:
        return [None]
    if hint is bool:
        return ["boolean"]
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return [constraint for part in get_args(hint) for constraint in allowed(part)]
    if origin is Annotated:
        return list(hint.__metadata__)
    if origin is Literal:
        values = get_args(hint)
        words, numbers = {v for v in values if isinstance(v, str)}, {v for v in values if not isinstance(v, str)}
        return [*([Options(Integral, numbers)] if numbers else []), *([StrOptions(words)] if words else [])]
    return [origin or hint]


def check_parameters(model: Any) -> None:
    """Refuse parameters outside their ranges, in one line."""
    try:
        model._validate_params()
    except InvalidParameterError as error:
        raise InputError(" ".join(str(error).split())) from None  # an array prints on several lines
    for name in ("epsilon", "delta"):
        if isinstance(getattr(model, name, None), bool):
            raise InputError(f"{name} must be a number; found {getattr(model, name)}.")


@estimator
class Seeded:
    """Threads, and an optional seed."""

    n_threads: AtLeastOne | None = None
    random_state: RandomState = None


@estimator
class Running(Seeded):
    """A run of many sweeps or rounds, which can be watched."""

    progress: bool = False
    callbacks: Annotated[Iterable[Callback], list, tuple] | None = None

    def _run_sweeps(self, n: int, sweep: Callable[[int], Measures], *, done: int = 0, **options: Any) -> Trained:
        """All sweeps after those ``done``; ``options`` are those of :func:`~discreet.training.loop.run_sweeps`."""
        callbacks, progress = self.callbacks or (), self.progress
        return run_sweeps(range(done + 1, n + 1), sweep, callbacks=callbacks, progress=progress, **options)


@estimator
class Paying:
    """A budget. Each model declares ``epsilon`` itself, because some have forms without one."""

    delta: Delta = 1e-6
    ledger: Ledger | None = None


@estimator
class Resumable:
    """A run that can be interrupted."""

    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: AtLeastOne = 40


@estimator
class SampledUnits(Running, Resumable, Paying):
    """Rounds in which each unit takes part with the same probability."""

    n_rounds: Sweeps = 300
    sampling_rate: Rate = 0.1
    max_tokens: Tokens = 10_000
