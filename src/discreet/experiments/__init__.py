"""The papers' figures and tables, run again: one folder per paper, and the code that all experiments share.

An :class:`~discreet.experiments.experiment.Experiment` is a grid of cells (a setting and a repetition each), the
findings that the paper draws from them, and tables and figures. Whether a finding holds is decided by intervals over
the repetitions (``intervals.py``). Finished cells are kept (``store.py``), so that a long run can be stopped.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from discreet._errors import InputError

if TYPE_CHECKING:
    from discreet.experiments.experiment import Experiment

PAPERS = {
    "private": "own.table",
    "zhao2021": "papers.zhao2021.figures",
    "zhao2019": "papers.zhao2019.figures",
    "huang2021": "papers.huang2021.figures",
    "decarolis2020": "papers.decarolis2020.figures",
    "luo2023": "papers.luo2023.figures",
}
"""Names on the command line, and the modules that define them."""


def experiments(paper: str | None = None) -> list[Experiment]:
    """All experiments, or those of one paper."""
    names = list(PAPERS) if paper is None else [_known(paper, list(PAPERS), "paper")]
    found: list[Experiment] = []
    for name in names:
        found += import_module(f"discreet.experiments.{PAPERS[name]}").EXPERIMENTS
    return found


def find(paper: str, figure: str) -> Experiment:
    """One experiment by name."""
    there = {experiment.figure: experiment for experiment in experiments(paper)}
    return there[_known(figure, list(there), f"figure or table of {paper}")]


def _known(given: str, names: Sequence[str], what: str) -> str:
    name = given.lower().replace(" ", "")
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}."
    raise InputError(f"there is no {what} {given!r}; {hint}")
