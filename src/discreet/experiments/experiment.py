"""What an experiment is: a grid of cells to run, the findings of a paper to compare with them, and how to show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.experiments.intervals import Check, Interval, Verdict

Setting = dict[str, Any]
"""What is varied, and everything else that decides the numbers: plain JSON values, because it is the key of stored
results."""

Point = dict[str, Any]
"""A result of a cell: measures, and coordinates if there is a curve (for example the iteration)."""

QUICK_REPETITIONS = 2
"""The fewest repetitions that give an interval."""


@dataclass(frozen=True)
class Grid:
    """Settings, and the function that runs one of them. Figures that show the same runs share a grid."""

    name: str
    version: int
    """Increase it when a cell would give other numbers: results stored before are then not reused."""
    settings: Callable[[bool], Sequence[Setting]]
    """All settings of the paper; or, given True, a few small ones that show that everything works."""
    cell: Callable[[Setting, int], Iterable[Point]]
    """A setting and a seed, which is the number of the repetition."""
    measures: tuple[str, ...]
    """Names of what is measured; every other key of a point is a coordinate."""
    repetitions: int
    exact: bool = False
    """Computed, not measured: one repetition is enough."""
    bounds: bool = False
    """Of ``exact``: the numbers are bounds that hold with a confidence of their own."""
    repetitions_of: Callable[[Setting], int] | None = None
    """The repetitions of each setting, where some have so much noise that ``repetitions`` do not decide."""

    def cells(self, quick: bool, repetitions: int | None = None) -> list[tuple[Setting, int]]:
        """Repetition by repetition, so that a run that is stopped half way has results for every setting."""
        n = 1 if self.exact else repetitions or (QUICK_REPETITIONS if quick else self.repetitions)
        settings = self.settings(quick)
        ends = [n] * len(settings)
        if self.repetitions_of is not None and not quick and repetitions is None:
            ends = [self.repetitions_of(setting) for setting in settings]
        runs = range(max(ends, default=0))
        return [(setting, n) for n in runs for setting, end in zip(settings, ends, strict=True) if n < end]


class Results:
    """Points of finished cells, and the intervals computed from them."""

    def __init__(self, grid: Grid, rows: Iterable[Mapping[str, Any]]) -> None:
        """``rows`` are settings and points together, each with its ``repetition``."""
        self.grid = grid
        self.rows = [dict(row) for row in rows]

    @property
    def coordinates(self) -> list[str]:
        """Keys that are not measures, in order of first appearance."""
        found = dict.fromkeys(key for row in self.rows for key in row)
        return [key for key in found if key not in self.grid.measures and key != "repetition"]

    @property
    def varying(self) -> list[str]:
        return [key for key in self.coordinates if len(self.levels(key)) > 1]

    def levels(self, key: str, **where: Any) -> list[Any]:
        """The different values of a coordinate, in order of first appearance."""
        return list(dict.fromkeys(row.get(key) for row in self.rows if _matches(row, where)))

    def values(self, measure: str, where: Mapping[str, Any]) -> dict[int, float]:
        """One number for each repetition. Conditions that match more than one are a mistake in the experiment."""
        found: dict[int, float] = {}
        for row in self.rows:
            if measure in row and _matches(row, where):
                if row["repetition"] in found:
                    raise ValueError(f"{dict(where)} does not name one point of {self.grid.name}")
                found[row["repetition"]] = float(row[measure])
        return found

    def interval(self, measure: str, **where: Any) -> Interval:
        values = list(self.values(measure, where).values())
        return Interval.exact(values[0]) if self.grid.exact and values else Interval.of(values)

    def difference(self, measure: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Interval:
        """The interval of the first minus the second, paired by repetition: equal seeds share what the seed decides."""
        above, below = self._pairs(measure, one, other)
        differences = [a - b for a, b in zip(above, below, strict=True)]
        return Interval.exact(differences[0]) if self.grid.exact and differences else Interval.of(differences)

    def ratio(self, measure: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Interval:
        """The interval of the first over the second, paired in the same way; both must be positive."""
        above, below = self._pairs(measure, one, other)
        if self.grid.exact and above:
            return Interval.exact(above[0] / below[0])
        return Interval.of_ratio(above, below)

    def _pairs(self, measure: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[list[float], list[float]]:
        above, below = self.values(measure, one), self.values(measure, other)
        both = sorted(above.keys() & below.keys())
        return [above[i] for i in both], [below[i] for i in both]


def _matches(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return all(row.get(key) == value for key, value in where.items())


@dataclass(frozen=True)
class Finding:
    """A sentence of the paper, and the comparisons that decide whether it holds."""

    text: str
    judge: Callable[[Results], Iterable[Check]]
    said_by: str = "the paper"
    often: bool = False
    """The paper says "often": it holds if most checks hold."""

    def checks(self, results: Results) -> list[Check]:
        return list(self.judge(results))

    def verdict(self, checks: Iterable[Check]) -> Verdict:
        verdicts = (check.verdict for check in checks)
        return Verdict.of_most(verdicts) if self.often else Verdict.of_all(verdicts)


@dataclass(frozen=True)
class Table:
    """One measure: a line for each combination of ``rows``, a column for each value of ``columns``."""

    title: str
    measure: str
    rows: tuple[str, ...]
    columns: str
    over: Callable[[Setting], Setting | None] | None = None
    """For ratios: a function from the coordinates of a number to those of its divisor (None: leave it out)."""
    show: Callable[[Mapping[str, Any]], bool] = lambda row: True
    """Which rows of the results belong in it; their divisors must be among them."""


@dataclass(frozen=True)
class Plot:
    """Lines with intervals: a panel for each value of ``panels``, a line for each of ``lines``.

    A line without a value of ``x`` (a method that has no ε) is drawn straight across, dashed.
    """

    title: str
    x: str
    y: str
    lines: str
    panels: str | None = None
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False
    over: Callable[[Setting], Setting | None] | None = None
    show: Callable[[Mapping[str, Any]], bool] = lambda row: True


@dataclass(frozen=True)
class Heat:
    """A square for each pair of two coordinates, the darker the larger the measure: a confusion matrix, say."""

    title: str
    rows: str
    columns: str
    measure: str
    where: Setting
    """Conditions that leave one number for each pair."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of one paper."""

    paper: str
    figure: str
    title: str
    source: str
    """The paper, as it would be cited."""
    grid: Grid
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    plots: tuple[Plot | Heat, ...] = ()
    notes: tuple[str, ...] = ()
    """Every difference from the paper, and what it does not say."""

    @property
    def name(self) -> str:
        return f"{self.paper} {self.figure}"
