"""Results as a table: rows, columns, and in each cell the mean with half the width of its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from discreet.experiments.experiment import Results, Setting, Table
from discreet.experiments.intervals import Interval, number

SYMBOLS = {
    "epsilon": "ε",
    "alpha0": "α₀",
    "n_topics": "K",
    "n_words": "V",
    "gamma": "γ",
    "order": "α",
    "dataset": "data",
    "eta": "η",
    "sigma": "σ",
    "apart": "λ",
}


class Layout(NamedTuple):
    """A table as text."""

    header: list[str]
    rows: list[list[str]]


def lay_out(table: Table, results: Results) -> Layout:
    """Empty columns and combinations that were not run are left out."""
    shown = Results(results.grid, [row for row in results.rows if table.measure in row and table.show(row)])
    columns = shown.levels(table.columns)
    columns.sort(key=lambda value: (value is not None, value if isinstance(value, int | float) else 0))
    lines = []
    for place in _places(shown, table.rows):
        cells = [cell_of(shown, table, {**place, table.columns: value}) for value in columns]
        if any(cells):
            lines.append([*(label(value) for value in place.values()), *cells])
    names = ["" if value is None else f"{symbol(table.columns)} = {label(value)}" for value in columns]
    return Layout([*map(symbol, table.rows), *names], lines)


def cell_of(results: Results, table: Table, place: Setting) -> str:
    interval = interval_at(results, table.measure, place, table.over)
    return "" if interval is None or interval.n == 0 else plus_minus(interval)


def interval_at(results: Results, measure: str, place: Setting, over: Any) -> Interval | None:
    """At one point: the interval of a measure, or of its ratio to the measure at the point that ``over`` returns."""
    if over is None:
        return results.interval(measure, **place)
    base = over(place)
    return None if base is None else results.ratio(measure, place, base)


def plus_minus(interval: Interval) -> str:
    if interval.low == interval.high or math.isinf(interval.half):
        return number(interval.mean)
    return f"{number(interval.mean)} ± {_two_digits(interval.half)}"


def markdown(grid: Layout) -> str:
    rule = ["---"] * len(grid.header)
    return "\n".join(f"| {' | '.join(row)} |" for row in [grid.header, rule, *grid.rows])


def label(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return "–" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def symbol(key: str) -> str:
    """The name of a coordinate as people write it."""
    return SYMBOLS.get(key, key.replace("_", " "))


def _places(results: Results, keys: Sequence[str]) -> Iterator[Setting]:
    """Combinations that occur, in order of first appearance."""
    yield from (
        dict(zip(keys, values, strict=True))
        for values in dict.fromkeys(tuple(row.get(key) for key in keys) for row in results.rows)
    )


def _two_digits(value: float) -> str:
    if value == 0:
        return "0"
    if value < 1e-4:
        return f"{value:.1e}"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"
