"""The plan as a figure: what topics keep against the number of units, one line per ε, with measured points on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet._errors import counted
from discreet._svg import COLOURS, Axis, figure, marker, stroke, text
from discreet._types import FloatArray, IntArray
from discreet.planning.law import Range
from discreet.planning.plan import Known, Outcome, outcome

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LINE = 560, 300, 62, 60, 50, 18

DRAWN = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The ε of the lines."""

TITLE = "What private topics keep of what plain LDA learns"

VERDICTS = ("nothing", "uncertain", "useful")

STEPS = 33
"""Points of a line."""


@dataclass(frozen=True)
class Point:
    """A measurement to be drawn beside the lines."""

    n_units: float
    kept: float
    epsilon: float


@dataclass(frozen=True)
class Line:
    """One ε: what is kept at each number of units, its range, and the verdict as a number (2 is *useful*)."""

    kept: FloatArray
    low: FloatArray
    high: FloatArray
    verdict: IntArray

    def at_least(self, other: Line) -> Line:
        """The better of the two, point by point."""
        return Line(*(np.maximum(one, two) for one, two in zip(self._parts(), other._parts(), strict=True)))

    def rising(self) -> Line:
        """At least as good as with fewer units."""
        return Line(*(np.maximum.accumulate(part) for part in self._parts()))

    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        return self.kept, self.low, self.high, self.verdict


def lines_of(known: Known, units: Sequence[float]) -> dict[float, Line]:
    """For each ε. What is drawn is what can be had: with more units some can be left out, and of a larger ε some can be
    left unspent, so neither is ever worse. (The plan itself jumps a little where the number of selected words changes.)
    """
    found: dict[float, Line] = {}
    before: Line | None = None
    for epsilon in sorted({*DRAWN, known.epsilon}):
        outcomes = [outcome(replace(known, n_units=max(round(n), 1), epsilon=epsilon)) for n in units]
        kept = np.array([_of_the_text(one) for one in outcomes])
        verdict = np.array([VERDICTS.index(one.verdict) for one in outcomes])
        line = Line(kept[:, 0], kept[:, 1], kept[:, 2], verdict).rising()
        before = found[epsilon] = line if before is None else line.at_least(before)
    return found


def _of_the_text(found: Outcome) -> tuple[float, float, float]:
    """What is kept; of selected words, times the part of the text that they cover."""
    if not found.enough_words:
        return 0.0, 0.0, 0.0
    covered = found.covered if found.share else Range(1.0, 1.0, 1.0)
    expected, low, high = (kept * part for kept, part in zip(found.kept, covered, strict=True))
    return expected, low, high


def draw(known: Known, points: Sequence[Point] = (), *, title: str = "") -> str:
    """For units from 1,000 to 1,000,000 (farther if there are more); the range is drawn for the plan's own ε."""
    low, high = min(1e3, known.n_units / 2), max(1e6, known.n_units * 2)
    units = sorted({*np.geomspace(low, high, STEPS).tolist(), float(known.n_units)})
    powers = [10.0**p for p in range(1, 13) if low <= 10.0**p <= high]
    across = Axis(low, high, LEFT, LEFT + WIDTH, True, powers)
    up = Axis(0.0, 1.0, TOP + HEIGHT, TOP, False, [0.0, 0.25, 0.5, 0.75, 1.0])
    words = "selected words" if known.n_words is None else f"{known.n_words:,} public words"
    length = f"{counted(known.words_per_unit, 'word')} per {known.unit[:-1]}"
    below = f"{counted(known.n_topics, 'topic')}, {words}, {length}, δ = {known.delta:g}"
    parts = [
        text(LEFT + WIDTH / 2, 20, title or TITLE, anchor="middle", size=15),
        text(LEFT + WIDTH / 2, 40, below, anchor="middle"),
    ]
    lines = lines_of(known, units)
    epsilons = list(lines)
    own = lines[known.epsilon]
    parts.append(_band(across, up, units, own, COLOURS[epsilons.index(known.epsilon) % len(COLOURS)]))
    parts += _frame(across, up, known)
    for i, (epsilon, line) in enumerate(lines.items()):
        wide = 2.6 if epsilon == known.epsilon else 1.6
        corners = [(across(n), up(kept)) for n, kept in zip(units, line.kept, strict=True)]
        parts.append(f"<g><title>ε = {epsilon:g}</title>")
        parts += _pieces(corners, line.verdict.tolist(), f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="{wide}"')
        parts.append("</g>")
        parts += [marker(across(one.n_units), up(one.kept), i) for one in points if one.epsilon == epsilon]
        parts += _name(i, f"ε = {epsilon:g}", points)
    here, kept = across(known.n_units), float(own.kept[units.index(float(known.n_units))])
    parts.append(stroke(here, TOP, here, TOP + HEIGHT, "#000", 'stroke-dasharray="2 4"'))
    parts.append(
        f'<circle cx="{here:.1f}" cy="{up(kept):.1f}" r="6" fill="none" stroke="#000" '
        f'stroke-width="1.6"><title>{kept:.0%}</title></circle>'
    )
    height = TOP + HEIGHT + BOTTOM + LINE * ((len(epsilons) + 5) // 6) + 46
    notes = "Solid: useful; dashed: uncertain; nothing is not drawn.", "The band: the range at the plan's ε; the ring: "
    parts.append(text(LEFT, height - 26, notes[0], size=11))
    parts.append(text(LEFT, height - 10, f"{notes[1]}the plan.{' Marks: measured.' if points else ''}", size=11))
    return figure(LEFT + WIDTH + 56, height, parts)


def _pieces(corners: Sequence[tuple[float, float]], verdicts: Sequence[int], style: str) -> list[str]:
    """A line in pieces of one verdict each. A piece begins where its verdict does, and goes on to the next piece."""
    pieces = []
    for verdict, more in ((1, 'stroke-dasharray="5 4"'), (2, "")):
        inside = [i for i, one in enumerate(verdicts) if one == verdict]
        if inside:
            places = corners[inside[0] : inside[-1] + 2]
            drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            pieces.append(f'<polyline points="{drawn}" fill="none" {style} {more}/>')
    return pieces


def _band(across: Axis, up: Axis, units: Sequence[float], line: Line, colour: str) -> str:
    there = [f"{across(n):.1f},{up(high):.1f}" for n, high in zip(units, line.high, strict=True)]
    back = [f"{across(n):.1f},{up(low):.1f}" for n, low in zip(units, line.low, strict=True)]
    return f'<polygon points="{" ".join([*there, *reversed(back)])}" fill="{colour}" fill-opacity="0.15"/>'


def _frame(across: Axis, up: Axis, known: Known) -> list[str]:
    middle = TOP + HEIGHT / 2
    name = "kept × part of the text covered" if known.n_words is None else "kept"
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, known.unit, anchor="middle"),
        text(14, middle, name, anchor="middle", more=f'transform="rotate(-90 14 {middle})"'),
    ]
    for tick in up.ticks:
        parts.append(stroke(LEFT, up(tick), LEFT + WIDTH, up(tick), "#e5e5e5"))
        parts.append(text(LEFT - 6, up(tick) + 4, f"{tick:.0%}", anchor="end"))
    for tick in across.ticks:
        parts.append(stroke(across(tick), TOP + HEIGHT, across(tick), TOP + HEIGHT + 4, "#888"))
        parts.append(text(across(tick), TOP + HEIGHT + 18, f"{tick:,.0f}", anchor="middle"))
    return parts


def _name(i: int, name: str, points: Sequence[Point]) -> list[str]:
    x, y = LEFT + (i % 6) * 95, TOP + HEIGHT + BOTTOM + (i // 6) * LINE + 8
    colour = COLOURS[i % len(COLOURS)]
    shown = [marker(x + 13, y, i)] if points else []
    return [stroke(x, y, x + 26, y, colour, 'stroke-width="1.6"'), *shown, text(x + 34, y + 4, name)]
