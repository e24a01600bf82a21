"""Results as a figure: lines with error bars, as plain SVG text, without a plotting library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet._svg import COLOURS, DASHED, SOLID, Axis, axis, figure, marker, stroke, text
from discreet.experiments.experiment import Plot, Results
from discreet.experiments.intervals import Interval, number
from discreet.experiments.tables import interval_at, label, symbol

PANEL_WIDTH, PANEL_HEIGHT = 340, 240
LEFT, TOP, GAP, BOTTOM, LEGEND_LINE = 62, 52, 66, 46, 18


@dataclass(frozen=True)
class Line:
    """Points from left to right; x is None for a horizontal line."""

    name: str
    points: list[tuple[float | None, Interval]]


def draw(plot: Plot, results: Results) -> str:
    """The whole figure. The y axes of panels have the same scale type but their own range: data sets differ too
    much."""
    shown = Results(results.grid, [row for row in results.rows if plot.y in row and plot.show(row)])
    panels = shown.levels(plot.panels) if plot.panels else [None]
    across = {name: shown.levels(plot.x, **{plot.lines: name}) == [None] for name in shown.levels(plot.lines)}
    width = LEFT + len(panels) * (PANEL_WIDTH + GAP) - GAP + 24
    columns = 1 if len(panels) == 1 else 2
    height = TOP + PANEL_HEIGHT + BOTTOM + LEGEND_LINE * math.ceil(len(across) / columns) + 12
    parts = [text(width / 2, 20, plot.title, anchor="middle", size=15, weight="bold")]
    for i, panel in enumerate(panels):
        where = {} if plot.panels is None else {plot.panels: panel}
        parts += _panel(plot, shown, where, LEFT + i * (PANEL_WIDTH + GAP), first=i == 0)
    parts += _legend(
        {_named(plot.lines, name): flat for name, flat in across.items()}, columns, TOP + PANEL_HEIGHT + BOTTOM + 6
    )
    return figure(width, height, parts)


def _named(coordinate: str, value: Any) -> str:
    """A number says nothing without its name."""
    return f"{symbol(coordinate)} = {label(value)}" if isinstance(value, int | float) else label(value)


def lines_of(plot: Plot, shown: Results, where: dict[str, Any]) -> list[Line]:
    """One for each value of ``plot.lines``, in the same order in every panel, so that colours agree."""
    lines = []
    for name in shown.levels(plot.lines):
        here = {**where, plot.lines: name}
        xs = sorted(shown.levels(plot.x, **here), key=lambda x: (x is not None, x or 0))
        points = [(x, interval_at(shown, plot.y, {**here, plot.x: x}, plot.over)) for x in xs]
        lines.append(Line(label(name), [(x, i) for x, i in points if i is not None and math.isfinite(i.mean)]))
    return lines


def _panel(plot: Plot, shown: Results, where: dict[str, Any], left: float, *, first: bool) -> list[str]:
    lines = lines_of(plot, shown, where)
    points = [point for line in lines for point in line.points]
    if not points:
        return []
    xs = sorted({x for x, _ in points if x is not None}) or [0.0]
    x_axis = axis(xs, left, left + PANEL_WIDTH, plot.log_x, margin=0.04)
    bounds = [b for _, i in points for b in (i.mean, i.low, i.high) if math.isfinite(b) and (b > 0 or not plot.log_y)]
    y_axis = axis(bounds, TOP + PANEL_HEIGHT, TOP, plot.log_y, margin=0.06)
    parts = [
        f'<rect x="{left}" y="{TOP}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="none" stroke="#888"/>',
        text(left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 36, plot.x_label or symbol(plot.x), anchor="middle"),
    ]
    if where:
        parts.append(text(left + PANEL_WIDTH / 2, TOP - 8, label(*where.values()), anchor="middle", weight="bold"))
    if first:
        middle = TOP + PANEL_HEIGHT / 2
        turned = f'transform="rotate(-90 14 {middle})"'
        parts.append(text(14, middle, plot.y_label or plot.y, anchor="middle", more=turned))
    for tick in xs if len(xs) <= 8 else x_axis.ticks:
        x = x_axis(tick)
        parts.append(stroke(x, TOP + PANEL_HEIGHT, x, TOP + PANEL_HEIGHT + 4, "#888"))
        parts.append(text(x, TOP + PANEL_HEIGHT + 18, number(tick), anchor="middle"))
    for tick in y_axis.ticks:
        y = y_axis(tick)
        parts.append(stroke(left, y, left + PANEL_WIDTH, y, "#e5e5e5"))
        parts.append(text(left - 6, y + 4, number(tick), anchor="end"))
    for i, line in enumerate(lines):
        parts += _line(line, x_axis, y_axis, i)
    return parts


def _line(line: Line, x_axis: Axis, y_axis: Axis, i: int) -> list[str]:
    colour, parts = COLOURS[i % len(COLOURS)], []
    across = [interval for x, interval in line.points if x is None]
    for interval in across:
        y = y_axis(interval.mean)
        parts.append(stroke(x_axis.start, y, x_axis.end, y, colour, more=DASHED))
    placed = [(x_axis(x), interval) for x, interval in line.points if x is not None]
    corners = " ".join(f"{x:.1f},{y_axis(interval.mean):.1f}" for x, interval in placed)
    if len(placed) > 1:
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    few = len(placed) <= 12
    for x, interval in placed if few else placed[:: max(1, len(placed) // 10)]:
        if math.isfinite(interval.half) and interval.half > 0:
            low, high = y_axis(interval.low), y_axis(interval.high)
            parts += [stroke(x, low, x, high, colour), *(stroke(x - 3, y, x + 3, y, colour) for y in (low, high))]
        parts.append(marker(x, y_axis(interval.mean), i))
    return parts


def _legend(across: dict[str, bool], columns: int, top: float) -> list[str]:
    parts = []
    for i, (name, flat) in enumerate(across.items()):
        x, y = LEFT + (i % columns) * 330, top + (i // columns) * LEGEND_LINE + 8
        parts.append(stroke(x, y, x + 26, y, COLOURS[i % len(COLOURS)], more=DASHED if flat else SOLID))
        parts += [*([] if flat else [marker(x + 13, y, i)]), text(x + 34, y + 4, name)]
    return parts
