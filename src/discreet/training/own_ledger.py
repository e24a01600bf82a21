"""Private fits without a shared ledger, and what their guarantees may claim.

A fit without a ledger creates one for itself. Nothing adds up the cost of several such fits, so the guarantee of each
states the condition under which it is complete: that no other such fit used the same documents. scikit-learn's model
selection makes many fits on the same documents, and its best estimator must say so.

The number of fits is counted within one process, up to the time when the guarantee is read. A worker process of joblib,
which scikit-learn uses for ``n_jobs``, cannot know of the fits in other workers: there a fit without a ledger is
refused. Other child processes may fit, and the guarantee says that other processes are not counted.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from types import FrameType
from typing import Any

from discreet._errors import InputError
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import Basis, Guarantee, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation, new_run

_RUNS: set[str] = set()
"""Fits of this process that paid from their own ledger. Threads change it by single operations of the set."""

_STARTED_IN = os.getpid()
"""If the process id differs later, the process was forked."""

_JOBLIB = ("joblib.parallel", "joblib._dask", "joblib.externals.loky")
_SEARCH = "sklearn.model_selection._search"
_ONE_OF = "only this one of "
_ALONE = "no fit in another process used these documents (it ran in a child process; ε is of this fit alone)"


class OwnLedger(Ledger):
    """The ledger of one fit for which the user gave none. ``run`` names the fit, also when it is resumed."""

    def __init__(
        self, budget: Budget | None = None, *, unit: Unit | str | None = None, relation: Relation | str | None = None
    ) -> None:
        super().__init__(budget, unit=unit, relation=relation)
        self._runs: frozenset[str] = frozenset()
        self._others: int | None = None
        self._made_in = os.getpid()
        self._in_child = multiprocessing.parent_process() is not None or self._made_in != _STARTED_IN

    def reserve(self, plan: Iterable[Entry], *, run: str | None = None, method: str | None = None) -> Reservation:
        reservation = super().reserve(plan, run=run, method=method)
        run = run or new_run()
        if not self._runs:  # one ledger is one fit, however often it is charged
            _RUNS.add(run)
        self._runs = self._runs | {run}
        return reservation

    def include(self, part: Ledger) -> None:
        """Count ``part``, whose entries this ledger holds too (such as a selection of words), as part of this fit."""
        if isinstance(part, OwnLedger) and part is not self:
            self._runs = self._runs | part._runs
            _RUNS.difference_update(part._runs)

    def conditions(self) -> tuple[str, ...]:
        """Conditions on other fits under which the cost of this fit is the total cost."""
        alone = (_ALONE,) if self._in_child else ()
        if others := self._n_others():
            return (
                f"{_ONE_OF}{others + 1} private fits that one process made without a shared ledger used these "
                "documents (ε is of this fit alone; fits on the same documents add up)",
                *alone,
            )
        return alone

    def _n_others(self) -> int:
        """The number of other fits in the process that made this ledger; in another process, the number when it was
        pickled."""
        here = len(_RUNS - self._runs) if os.getpid() == self._made_in else 0
        return max(here, self._others or 0)

    def __getstate__(self) -> dict[str, Any]:
        """Another process counts its own fits only, so the present number is pickled too."""
        return {**super().__getstate__(), "_others": self._n_others()}


class GuaranteeOfFit:
    """``guarantee_`` of a model: the result of its fit, with the conditions that other fits have added since."""

    def __set__(self, model: Any, guarantee: Guarantee) -> None:
        model.__dict__["guarantee_"] = guarantee

    def __get__(self, model: Any, owner: type) -> Guarantee:
        if model is None or "guarantee_" not in model.__dict__:
            raise AttributeError(f"{owner.__name__} has no guarantee_ before it is fitted.")
        earned: Guarantee = model.__dict__["guarantee_"]
        ledger = model.__dict__.get("ledger_")
        if not isinstance(ledger, OwnLedger) or earned.basis is not Basis.PROVEN:
            return earned
        kept = [reason for reason in earned.reasons if not reason.startswith(_ONE_OF) and reason != _ALONE]
        return replace(earned, reasons=(*ledger.conditions(), *kept))


SEARCHED = "the parameters of this fit were chosen without looking at private documents (it was fitted by {})"
"""Condition of a fit in a parameter search of scikit-learn, which chooses by exact scores. No ledger counts that."""


def searched() -> tuple[str, ...]:
    """The condition `SEARCHED`, if a parameter search of this process called the fit."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_SEARCH) and "self" in frame.f_locals:
            return (SEARCHED.format(type(frame.f_locals["self"]).__name__),)
        frame = frame.f_back
    return ()


def refuse_in_a_search(model: Any) -> None:
    """Refuse to fit in a worker of joblib, where other workers fit on the same documents, as in a parameter search."""
    if _is_joblib_worker():
        raise InputError(
            f"{type(model).__name__} has no ledger, and this is a worker process of joblib: nobody would add up what "
            "the fits of all workers spend. Give it ledger=Ledger(file=BudgetFile(...)), which processes share, or "
            "use n_jobs=1."
        )


def _is_joblib_worker() -> bool:
    """Whether this code runs in a worker process of joblib, with any of its backends."""
    if multiprocessing.parent_process() is None:
        return False
    frame: FrameType | None = sys._getframe()
    outermost = ""
    while frame is not None and frame.f_code.co_qualname != "BaseProcess._bootstrap":  # below: a fork's parent frames
        if str(frame.f_globals.get("__name__")).startswith(_JOBLIB):
            outermost = frame.f_code.co_qualname
        frame = frame.f_back
    return outermost not in ("", "Parallel.__call__")  # the latter: the search itself runs in this process
