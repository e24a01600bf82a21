"""What ``--method`` takes: one row for each estimator, with the options that it understands."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet._errors import InputError

if TYPE_CHECKING:
    from discreet.models.base import TopicModel

PARAMETERS = {
    "epsilon": "epsilon",
    "delta": "delta",
    "units": "n_units",
    "checkpoint": "checkpoint",
    "sweeps": "n_sweeps",
    "beta": "beta",
    "as-published": "as_published",
    "epsilon-inherent": "epsilon_inherent",
    "epsilon-laplace": "epsilon_laplace",
    "adaptive": "adaptive",
    "configuration": "configuration",
}
"""Option → parameter of the estimator. (``--budget`` becomes a ledger, which ``fit`` opens.)"""


@dataclass(frozen=True)
class Method:
    """One row. ``needs`` and ``takes`` are options; all others are refused with a line."""

    home: str
    """Module and class, loaded when the method is used."""
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are set where the option was not given."""
    private: bool = True
    """Whether it makes a promise or a claim, so that nothing may be told of how much was read."""
    users: bool = False
    """Whether ``--group`` makes users the unit."""
    selects_words: bool = False
    """Whether it can be trained on words that ``models/fit_text.py`` selects privately, from one budget."""
    forms: Mapping[str, Method] = field(default_factory=dict)
    """Option → the row that takes this one's place where it is given."""
    plain: Method | None = None
    """The row of the same model without ``--epsilon``, which promises nothing."""
    sound: bool = True
    """Whether there is a form that is proved, or none, so that ``--as-published`` must be said."""

    @property
    def options(self) -> tuple[str, ...]:
        return (*self.needs, *self.takes)

    @property
    def rows(self) -> tuple[Method, ...]:
        """This one and its other forms."""
        return (self, *self.forms.values(), *(() if self.plain is None else (self.plain,)))


SUBSAMPLED = "discreet.models.subsampled.model:SubsampledLDA"
SPECTRAL = "discreet.models.spectral.model:SpectralLDA"
HYBRID = "discreet.models.hybrid.model:HybridLDA"
LAPLACE = "discreet.models.laplace:LaplaceLDA"
VARIATIONAL = "discreet.models.variational.model:VariationalLDA"

METHODS = {
    "lda": Method(
        "discreet.models.lda:LDA",
        takes=("sweeps", "beta"),
        defaults={"n_sweeps": 200, "beta": 0.01, "evaluate_every": 0},  # a release keeps no likelihood
        private=False,
    ),
    "private": Method(
        "discreet.models.private.model:PrivateLDA",
        needs=("epsilon",),
        takes=("delta", "budget", "units", "checkpoint"),
        users=True,
        selects_words=True,
    ),
    "subsampled": Method(
        SUBSAMPLED,
        needs=("epsilon",),
        takes=("delta", "budget", "checkpoint", "beta", "adaptive"),
        users=True,
        selects_words=True,
        forms={"as-published": Method(SUBSAMPLED, ("epsilon",), ("as-published", "delta", "beta", "adaptive"))},
    ),
    "spectral": Method(
        SPECTRAL,
        needs=("epsilon",),
        takes=("delta", "budget"),
        users=True,
        selects_words=True,
        forms={"configuration": Method(SPECTRAL, ("epsilon",), ("configuration", "delta"))},  # the paper's own
        plain=Method(SPECTRAL, private=False),
    ),
    "variational": Method(
        VARIATIONAL,
        needs=("epsilon",),
        takes=("delta", "budget", "units", "checkpoint", "beta"),
        users=True,
        selects_words=True,
        plain=Method(VARIATIONAL, takes=("beta",), private=False),
    ),
    "hybrid": Method(
        HYBRID,
        needs=("epsilon",),  # of the whole run, for one word; how it is split is the model's business
        takes=("delta", "budget", "checkpoint", "sweeps", "beta"),
        forms={  # the paper gives the parts of one sweep
            "as-published": Method(HYBRID, ("epsilon-inherent",), ("as-published", "epsilon-laplace", "sweeps", "beta"))
        },
    ),
    "laplace": Method(
        LAPLACE,
        needs=("epsilon",),  # of the noise before the first sweep
        sound=False,
        forms={"as-published": Method(LAPLACE, ("epsilon",), ("as-published", "sweeps", "beta"))},
    ),
    "laplace-plus": Method(
        LAPLACE,
        needs=("epsilon",),  # of the noise of one sweep
        sound=False,
        forms={
            "as-published": Method(LAPLACE, ("epsilon",), ("as-published", "sweeps", "beta"), {"every_sweep": True})
        },
    ),
}


def check_method(name: str, given: Mapping[str, Any]) -> Method:
    """The row of the form asked for, before anything is read. ``given`` holds every option, None where it was not."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"this version has {', '.join(METHODS)}."
        raise InputError(f"there is no method {name!r}; {hint}")
    given = {option: value for option, value in given.items() if value is not None}
    method, called = _form(name, given)
    for option, value in given.items():
        if option not in method.options:
            raise InputError(_refusal(name, called, method, option, value))
    for option in method.needs:
        if option not in given:
            raise InputError(f"the method {called!r} needs --{option}{NEEDED.get(option, '')}.")
    _check_numbers(given)
    return method


NEEDED = {
    "epsilon": ", the privacy budget of the run, such as --epsilon 1",
    "epsilon-inherent": ", the paper's bound on the draws of one sweep, such as --epsilon-inherent 10",
}


def _form(name: str, given: Mapping[str, Any]) -> tuple[Method, str]:
    """The row that the options ask for, and what to call it."""
    method = METHODS[name]
    for option, row in method.forms.items():
        if option in given:
            return row, f"{name} --{option}"
    if not method.sound:
        raise InputError(
            f"{name} has no form that is proved to protect anything. Add --as-published to reproduce the papers, or "
            "leave --method out for a private model."
        )
    if method.plain is not None and "epsilon" not in given:
        return method.plain, f"{name} without --epsilon"
    return method, name


def _refusal(name: str, called: str, method: Method, option: str, value: Any) -> str:
    found = "" if value is True else f" (found {value})"
    if option == "epsilon" and not method.private:
        return (
            f"{name} takes no epsilon (found {value:g}): it adds no noise and promises nothing. "
            "Leave --method out for a private model, or --epsilon for an ordinary one."
        )
    if option == "budget" and method.private:
        return (
            f"{called} takes no --budget: its epsilon is only claimed, and no budget can account for it. Leave one out."
        )
    if not method.private and option in ("delta", "budget", "units", "checkpoint"):
        return f"--{option} is for private models. Add --epsilon, such as --epsilon 1, or leave --{option} out."
    return f"{called} takes no --{option}{found}. Leave it out.{_hint(name, method, option)}"


def _hint(name: str, method: Method, option: str) -> str:
    """With what an option would go."""
    if option == "epsilon":  # of private rows, only HDP-LDA as published has none
        return " Give the parts of a sweep: --epsilon-inherent, and --epsilon-laplace unless there is to be no noise."
    whole = METHODS[name]
    if option in whole.options and not method.private:
        return " It goes with --epsilon."
    form = next((form for form, row in whole.forms.items() if option in row.options and row is not method), None)
    if form is not None:
        return f" It goes with --{form}."
    takers = [other for other, row in METHODS.items() if any(option in one.options for one in row.rows)]
    if name in takers:
        return ""
    return f" It goes with {'' if method.private else '--epsilon and '}--method {' or '.join(takers)}."


def _check_numbers(given: Mapping[str, Any]) -> None:
    """Those that say how much privacy is spent, in the words of the command line."""
    for option in ("epsilon", "epsilon-inherent", "epsilon-laplace"):
        if option in given and not 0 < given[option] < math.inf:
            raise InputError(
                f"--{option} must be a positive number; found {given[option]:g}. Smaller is stricter; try 1."
            )
    if "delta" in given and not 0 < given["delta"] < 1:
        raise InputError(
            f"--delta must lie between 0 and 1, far below one over the number of documents; found {given['delta']:g}. "
            "Leave it out for 1e-06."
        )


def make_model(method: Method, n_topics: int, given: Mapping[str, Any], **common: Any) -> TopicModel:
    """The estimator, untrained. ``common`` are parameters that nearly every method has."""
    module, _, name = method.home.partition(":")
    named = {
        parameter: given[option]
        for option, parameter in PARAMETERS.items()
        if option in method.options and given.get(option) is not None
    }
    kind = getattr(import_module(module), name)
    known = kind._get_param_names()
    if "alpha0" in known and "alpha" in common:  # the sum of what the others take for each topic
        common["alpha0"] = n_topics * common["alpha"]
    common = {parameter: value for parameter, value in common.items() if parameter in known}
    model: TopicModel = kind(n_topics, **{**method.defaults, **common, **named})
    return model
