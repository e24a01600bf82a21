"""Private fits without a ledger, and what their guarantees may then say.

A fit that is given no ledger pays from one of its own. Nobody adds up several such fits, so the guarantee of each names
the condition under which it is the whole truth: that no other of them used the same documents. scikit-learn's model
selection makes many fits on the same documents, and its best estimator must say so.

The number of fits is that of one process, at the time of reading. A worker process of joblib, which scikit-learn uses
for ``n_jobs``, cannot know of the fits in other workers: there a fit without a ledger is refused. Other child processes
may fit, and the guarantee says that they do not know.
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
"""Fits of this process that paid from a ledger of their own. Threads change it by single operations of the set."""

_STARTED_IN = os.getpid()
"""Another number later means a fork."""

_JOBLIB = ("joblib.parallel", "joblib._dask", "joblib.externals.loky")
_ONE_OF = "only this one of "
_ALONE = "no fit in another process used these documents (it ran in a child process; ε is of this fit alone)"


class OwnLedger(Ledger):
    """The ledger of one fit that was given none. ``run`` names the fit, also when it is resumed."""

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
        """What must be true of other fits, so that the cost of this one is all there is."""
        alone = (_ALONE,) if self._in_child else ()
        if others := self._n_others():
            return (
                f"{_ONE_OF}{others + 1} private fits that one process made without a shared ledger used these "
                "documents (ε is of this fit alone; fits on the same documents add up)",
                *alone,
            )
        return alone

    def _n_others(self) -> int:
        """Of the process that made it, and, in another, as many as were known when it left."""
        here = len(_RUNS - self._runs) if os.getpid() == self._made_in else 0
        return max(here, self._others or 0)

    def __getstate__(self) -> dict[str, Any]:
        """Another process has other fits: what is known here and now goes along."""
        return {**super().__getstate__(), "_others": self._n_others()}


class GuaranteeOfFit:
    """``guarantee_`` of a model: what its fit earned, under the conditions that other fits have added by now."""

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


def refuse_in_a_search(model: Any) -> None:
    """A worker of joblib fits on behalf of somebody who fits elsewhere too, most often of a search over parameters."""
    if _is_joblib_worker():
        raise InputError(
            f"{type(model).__name__} has no ledger, and this is a worker process of joblib: nobody would add up what "
            "the fits of all workers spend. Give it ledger=Ledger(file=BudgetFile(...)), which processes share, or "
            "use n_jobs=1."
        )


def _is_joblib_worker() -> bool:
    """Whether joblib started this process, or called it, and whichever of its backends it uses."""
    if multiprocessing.parent_process() is None:
        return False
    frame: FrameType | None = sys._getframe()
    outermost = ""
    while frame is not None and frame.f_code.co_qualname != "BaseProcess._bootstrap":  # a fork has its parent's below
        if str(frame.f_globals.get("__name__")).startswith(_JOBLIB):
            outermost = frame.f_code.co_qualname
        frame = frame.f_back
    return outermost not in ("", "Parallel.__call__")  # the latter: the search itself runs in this process
