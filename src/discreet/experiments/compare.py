"""Checks, tables and plots used on more than one page: methods against each other, and against ε."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from discreet.experiments.experiment import Finding, Plot, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.methods import CONFIGURATIONS, PLAIN, SOUND, UNIGRAM, UNNOISED


def epsilons_of(results: Results, **where: Any) -> list[float]:
    return sorted(epsilon for epsilon in results.levels("epsilon", **where) if epsilon is not None)


def at_each_epsilon(
    results: Results, panel: str, panels: Sequence[Any] | None = None, at: slice = slice(None)
) -> Iterator[tuple[str, Setting]]:
    """Each panel (or ``panels``) at each ε (or those ``at``): as a label, and as coordinates in the results."""
    for name in results.levels(panel) if panels is None else panels:
        for epsilon in epsilons_of(results, **{panel: name})[at]:
            yield f"{name}, ε = {epsilon:g}", {panel: name, "epsilon": epsilon}


def ratios(
    measure: str,
    ones: Iterable[str],
    others: Iterable[str],
    *,
    panel: str,
    panels: Sequence[Any] | None = None,
    at: slice = slice(None),
) -> Callable[[Results], Iterator[Check]]:
    """A function that checks that the ratio of each of ``ones`` to each of ``others`` is below 1, in each panel at each
    ε."""

    def judge(results: Results) -> Iterator[Check]:
        for where, place in at_each_epsilon(results, panel, panels, at):
            for one in ones:
                for other in others:
                    below = {**place, "method": other, "epsilon": None if other in PLAIN else place["epsilon"]}
                    found = results.ratio(measure, {**place, "method": one}, below)
                    yield Check.below(f"{where}: {short(one)} over {short(other)}", found, 1.0)

    return judge


def short(method: str) -> str:
    return method.split(",")[0] if method in CONFIGURATIONS else method


def expected(text: str, judge: Callable[[Results], Iterable[Check]]) -> Finding:
    """A finding that we expect and that no paper states."""
    return Finding(text, judge, said_by="expected")


def seconds_table(*rows: str) -> Table:
    title = "Processor seconds of a fit, all threads together"
    return Table(title, "seconds", rows, "epsilon", show=lambda row: row["method"] != UNIGRAM)


def method_tables(*rows: str) -> tuple[Table, Table]:
    """The number of topics found, for methods that may find fewer than requested; and the time of all methods."""
    found = Table("Topics found", "n_found", rows, "epsilon", show=lambda row: row["method"] in (SOUND, UNNOISED))
    return found, seconds_table(*rows)


def against_epsilon(title: str, y: str, x_label: str, y_label: str, panels: str | None = None, **more: Any) -> Plot:
    """A line for each method."""
    return Plot(title, "epsilon", y, "method", panels, x_label=x_label, y_label=y_label, **more)
