"""What ``--method`` takes: the form of a model that the options ask for, and the estimator that they make."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet._catalogue import METHODS, Form, Model
from discreet._errors import InputError, either

if TYPE_CHECKING:
    from discreet.models.base import TopicModel

PARAMETERS = {
    "epsilon": "epsilon",
    "delta": "delta",
    "units": "n_units",
    "public": "public",
    "checkpoint": "checkpoint",
    "collections": "collection_names",
    "sweeps": "n_sweeps",
    "beta": "beta",
    "alpha-rest": "alpha_rest",
    "beta-rest": "beta_rest",
    "as-published": "as_published",
    "epsilon-bit": "epsilon_bit",
    "report-words": "report_words",
    "batch": "batch_size",
    "epsilon-inherent": "epsilon_inherent",
    "epsilon-laplace": "epsilon_laplace",
    "adaptive": "adaptive",
    "configuration": "configuration",
}
"""Option → parameter of the estimator. (``--budget`` becomes a ledger, which ``fit`` opens.)"""

TOPICS, ALPHA = 20, 0.1
"""The usual number of topics, and the usual prior weight of each in a document."""


class Chosen(NamedTuple):
    """A model of the catalogue, and the form in which it is to run."""

    model: Model
    form: Form

    @property
    def options(self) -> tuple[str, ...]:
        published = self.form is self.model.as_published
        return (*self.form.options, *(("as-published",) if published else ()))

    @property
    def called(self) -> str:
        """How it is chosen on the command line."""
        if self.form is self.model.as_published:
            return f"{self.model.method} --as-published"
        return self.model.method if self.form is self.model.sound else f"{self.model.method} without --epsilon"

    @property
    def private(self) -> bool:
        return self.form.private

    @property
    def n_topics(self) -> int:
        """The number of topics if none is asked for."""
        return int(self.form.defaults.get("n_topics", TOPICS))

    @property
    def users(self) -> bool:
        return self.model.users and self.form is self.model.sound

    @property
    def selects_words(self) -> bool:
        return self.model.selects_words and self.form is self.model.sound


def check_method(name: str, given: Mapping[str, Any]) -> Chosen:
    """The form asked for, before anything is read. ``given`` holds every option, None if it was not given."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"this version has {', '.join(METHODS)}."
        raise InputError(f"there is no method {name!r}; {hint}")
    given = {option: value for option, value in given.items() if value is not None}
    chosen = _choose(METHODS[name], given)
    for option, value in given.items():
        if option not in chosen.options:
            raise InputError(_refusal(chosen, option, value))
    for option in chosen.form.needs:
        if option not in given:
            raise InputError(f"the method {chosen.called!r} needs --{option}{NEEDED.get(option, '')}.")
    _check_numbers(given)
    return chosen


NEEDED = {
    "public": ", public text or a model of it, such as --public dataset:arxiv",
    "epsilon": ", the privacy budget of the run, such as --epsilon 1",
    "epsilon-bit": ", the epsilon of one word of a report, such as --epsilon-bit 2",
    "epsilon-inherent": ", the paper's bound on the draws of one sweep, such as --epsilon-inherent 10",
    "configuration": ", the paper's own, such as --configuration 1",
}


def _choose(model: Model, given: Mapping[str, Any]) -> Chosen:
    """The form that the options ask for."""
    if "as-published" in given and model.as_published is not None:
        return Chosen(model, model.as_published)
    if model.sound is None:
        raise InputError(
            f"{model.method} has no form that is proved to protect anything. Add --as-published to reproduce the "
            f"papers. {_private_way(model)}."
        )
    if model.without_epsilon is not None and "epsilon" not in given:
        return Chosen(model, model.without_epsilon)
    return Chosen(model, model.sound)


def _private_way(model: Model) -> str:
    if model.collections:
        return "Use --method private-cross for a private model (or hybrid-cross, which protects single words)"
    return "Leave --method out for a private model"


def _refusal(chosen: Chosen, option: str, value: Any) -> str:
    found = "" if value is True else f" (found {value})"
    if option == "epsilon" and not chosen.private:
        return (
            f"{chosen.model.method} takes no epsilon (found {value:g}): it adds no noise and promises nothing. "
            f"{_private_way(chosen.model)}, or leave --epsilon out for an ordinary one."
        )
    if option == "budget" and "epsilon-bit" in chosen.options:
        return f"{chosen.called} takes no --budget: each client spends on its own report. Leave --budget out."
    if option == "budget" and chosen.private:
        return (
            f"{chosen.called} takes no --budget: its epsilon is only claimed, and no budget can account for it. "
            "Leave one out."
        )
    if not chosen.private and option in ("delta", "budget", "units", "public", "checkpoint"):
        return f"--{option} is for private models. Add --epsilon, such as --epsilon 1, or leave --{option} out."
    return f"{chosen.called} takes no --{option}{found}. Leave it out.{_hint(chosen, option)}"


def _hint(chosen: Chosen, option: str) -> str:
    """Which options or methods an option goes with."""
    model = chosen.model
    if option == "epsilon" and "epsilon-bit" in chosen.options:
        return " Give --epsilon-bit, the epsilon of one word of a report; that of the whole report is printed with it."
    if option == "epsilon":  # of the other private forms, only the hybrids as published have none
        return " Give the parts of a sweep: --epsilon-inherent, and --epsilon-laplace unless there is to be no noise."
    if model.sound is not None and option in model.sound.options and not chosen.private:
        return " It goes with --epsilon."
    published = model.as_published
    if published is not None and option in published.options and chosen.form is not published:
        return " It goes with --as-published."
    takers = [other.method for other in METHODS.values() if option in _all_options(other)]
    if model.method in takers:
        return ""
    public = any(option in form.options and not form.private for other in METHODS.values() for form in other.forms)
    return f" It goes with {'' if chosen.private or public else '--epsilon and '}--method {either(takers)}."


def _all_options(model: Model) -> set[str]:
    return {option for form in model.forms for option in Chosen(model, form).options}


def _check_numbers(given: Mapping[str, Any]) -> None:
    """Check the numbers that decide how much privacy is spent, with messages for the command line."""
    for option in ("epsilon", "epsilon-bit", "epsilon-inherent", "epsilon-laplace"):
        if option in given and not 0 < given[option] < math.inf:
            raise InputError(
                f"--{option} must be a positive number; found {given[option]:g}. Smaller is stricter; try 1."
            )
    if "delta" in given and not 0 < given["delta"] < 1:
        raise InputError(
            f"--delta must lie between 0 and 1, far below one over the number of documents; found {given['delta']:g}. "
            "Leave it out for 1e-06."
        )


def make_model(chosen: Chosen, n_topics: int, given: Mapping[str, Any], **common: Any) -> TopicModel:
    """The estimator, untrained. ``common`` are parameters that nearly every method has."""
    named = {
        parameter: given[option]
        for option, parameter in PARAMETERS.items()
        if option in chosen.options and given.get(option) is not None
    }
    kind = getattr(import_module(chosen.model.home), chosen.model.name)
    known = kind._get_param_names()
    if "alpha0" in known and "alpha" in common:  # the sum over topics of what other methods call alpha
        common["alpha0"] = n_topics * common["alpha"]
    common = {parameter: value for parameter, value in common.items() if parameter in known}
    model: TopicModel = kind(**{**chosen.form.defaults, "n_topics": n_topics, **common, **named})
    return model
