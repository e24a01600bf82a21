"""What ``--method`` takes: one row for each estimator, with the options that it understands."""

from __future__ import annotations

import difflib
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
    """Whether it makes a promise, so that nothing may be told of how much was read."""
    selects_words: bool = False
    """Whether it can be trained on words that ``models/text.py`` selects privately, from one budget."""

    @property
    def options(self) -> tuple[str, ...]:
        return (*self.needs, *self.takes)


METHODS = {
    "lda": Method(
        "discreet.models.lda:LDA",
        takes=("sweeps", "beta"),
        defaults={"n_sweeps": 200, "beta": 0.01, "evaluate_every": 0},  # a release keeps no likelihood
        private=False,
    ),
    "private": Method(
        "discreet.models.private:PrivateLDA",
        needs=("epsilon",),
        takes=("delta", "budget", "units", "checkpoint"),
        defaults={"delta": 1e-6},
        selects_words=True,
    ),
    "subsampled": Method(
        "discreet.models.subsampled:SubsampledLDA",
        needs=("epsilon",),
        takes=("delta", "budget", "beta"),
        defaults={"delta": 1e-6},
    ),
    "spectral": Method(
        "discreet.models.spectral:SpectralLDA",
        needs=("epsilon",),
        takes=("delta", "budget"),
        defaults={"delta": 1e-6},
    ),
    "hybrid": Method(
        "discreet.models.hybrid:HybridLDA",
        needs=("epsilon",),  # of the whole run, for one word; how it is split is the model's business
        takes=("delta", "budget", "sweeps", "beta"),
        defaults={"delta": 1e-6},
    ),
    "laplace": Method(
        "discreet.models.laplace:LaplaceLDA",
        needs=("epsilon",),  # of the noise before the first sweep; naming the method asks for what the papers did
        takes=("sweeps", "beta"),
        defaults={"as_published": True},
    ),
    "laplace-plus": Method(
        "discreet.models.laplace:LaplaceLDA",
        needs=("epsilon",),  # of the noise of one sweep
        takes=("sweeps", "beta"),
        defaults={"as_published": True, "every_sweep": True},
    ),
}


def check_method(name: str, given: Mapping[str, Any]) -> Method:
    """Before anything is read. ``given`` holds every option of a method, None where it was not given."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"this version has {', '.join(METHODS)}."
        raise InputError(f"there is no method {name!r}; {hint}")
    method = METHODS[name]
    for option, value in given.items():
        if value is not None and option not in method.options:
            if option == "epsilon" and not method.private:
                raise InputError(
                    f"{name} takes no epsilon (found {value:g}): it adds no noise and promises nothing. "
                    "Leave --method out for a private model, or --epsilon for an ordinary one."
                )
            goes_with = next((n for n, m in METHODS.items() if option in m.options), None)
            hint = f" It goes with --epsilon and --method {goes_with}." if not method.private else ""
            raise InputError(f"{name} takes no --{option} (found {value}). Leave it out.{hint}")
    for option in method.needs:
        if given.get(option) is None:
            what = ", the privacy budget of the run, such as --epsilon 1" if option == "epsilon" else ""
            raise InputError(f"the method {name!r} needs --{option}{what}.")
    return method


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
