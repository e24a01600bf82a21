"""The plan as a figure: what topics keep against the number of units, one line per ε, with measured points on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet._svg import COLOURS, Axis, figure, marker, stroke, text
from discreet.planning.law import USEFUL, Range
from discreet.planning.plan import Known, outcome

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LINE = 560, 300, 62, 60, 50, 18

DRAWN = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The ε of the lines."""

TITLE = "What private topics keep of what plain LDA learns"

STEPS = 33
"""Points of a line."""


@dataclass(frozen=True)
class Point:
    """A measurement to be drawn beside the lines."""

    n_units: float
    kept: float
    epsilon: float


def draw(known: Known, points: Sequence[Point] = (), *, title: str = "") -> str:
    """For units from 1,000 to 1,000,000 (farther if there are more); the range is drawn for the plan's own ε."""
    low, high = min(1e3, known.n_units / 2), max(1e6, known.n_units * 2)
    units = np.geomspace(low, high, STEPS)
    epsilons = sorted({*DRAWN, known.epsilon})
    powers = [10.0**p for p in range(1, 13) if low <= 10.0**p <= high]
    across = Axis(low, high, LEFT, LEFT + WIDTH, True, powers)
    up = Axis(0.0, 1.0, TOP + HEIGHT, TOP, False, [0.0, 0.25, 0.5, 0.75, 1.0])
    words = "selected words" if known.n_words is None else f"{known.n_words:,} public words"
    parts = [
        text(
            LEFT + WIDTH / 2, 20, title or "What private topics keep of what plain LDA learns", anchor="middle", size=15
        ),
        text(
            LEFT + WIDTH / 2,
            40,
            f"{known.n_topics} topics, {words}, {known.words_per_unit:,.0f} words per {known.unit[:-1]}, "
            f"δ = {known.delta:g}",
            anchor="middle",
        ),
    ]
    lines = {epsilon: [_kept(known, n, epsilon) for n in units] for epsilon in epsilons}
    own = lines[known.epsilon]
    parts.append(_band(across, up, units, own, COLOURS[epsilons.index(known.epsilon) % len(COLOURS)]))
    parts += _frame(across, up, known)
    for i, (epsilon, found) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        corners = " ".join(f"{across(n):.1f},{up(one.expected):.1f}" for n, one in zip(units, found, strict=True))
        wide = 2.6 if epsilon == known.epsilon else 1.6
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{wide}"/>')
        parts += [marker(across(one.n_units), up(one.kept), i) for one in points if one.epsilon == epsilon]
        parts += _name(i, f"ε = {epsilon:g}", points)
    here = own_point = outcome(known).kept.expected
    parts.append(
        stroke(across(known.n_units), TOP, across(known.n_units), TOP + HEIGHT, "#000", 'stroke-dasharray="2 4"')
    )
    parts.append(
        f'<circle cx="{across(known.n_units):.1f}" cy="{up(own_point):.1f}" r="6" fill="none" stroke="#000" '
        f'stroke-width="1.6"><title>{here:.0%}</title></circle>'
    )
    height = TOP + HEIGHT + BOTTOM + LINE * ((len(epsilons) + 5) // 6) + 30
    note = "Lines: expected; the band: its range at the plan's ε; the ring: the plan."
    if points:
        note += " Marks: measured."
    parts.append(text(LEFT, height - 10, note, size=11))
    return figure(LEFT + WIDTH + 24, height, parts)


def _kept(known: Known, n_units: float, epsilon: float) -> Range:
    return outcome(replace(known, n_units=max(round(n_units), 1), epsilon=epsilon)).kept


def _band(across: Axis, up: Axis, units: np.ndarray, found: Sequence[Range], colour: str) -> str:
    there = [f"{across(n):.1f},{up(one.high):.1f}" for n, one in zip(units, found, strict=True)]
    back = [f"{across(n):.1f},{up(one.low):.1f}" for n, one in zip(units, found, strict=True)]
    return f'<polygon points="{" ".join([*there, *reversed(back)])}" fill="{colour}" fill-opacity="0.15"/>'


def _frame(across: Axis, up: Axis, known: Known) -> list[str]:
    middle = TOP + HEIGHT / 2
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, known.unit, anchor="middle"),
        text(14, middle, "kept", anchor="middle", more=f'transform="rotate(-90 14 {middle})"'),
    ]
    for tick in up.ticks:
        parts.append(stroke(LEFT, up(tick), LEFT + WIDTH, up(tick), "#e5e5e5"))
        parts.append(text(LEFT - 6, up(tick) + 4, f"{tick:.0%}", anchor="end"))
    for tick in across.ticks:
        parts.append(stroke(across(tick), TOP + HEIGHT, across(tick), TOP + HEIGHT + 4, "#888"))
        parts.append(text(across(tick), TOP + HEIGHT + 18, f"{tick:,.0f}", anchor="middle"))
    y = up(USEFUL)
    parts.append(stroke(LEFT, y, LEFT + WIDTH, y, "#888", 'stroke-dasharray="6 4"'))
    parts.append(text(LEFT + 6, y - 4, "useful from here on", size=11))
    return parts


def _name(i: int, name: str, points: Sequence[Point]) -> list[str]:
    x, y = LEFT + (i % 6) * 95, TOP + HEIGHT + BOTTOM + (i // 6) * LINE + 8
    colour = COLOURS[i % len(COLOURS)]
    shown = [marker(x + 13, y, i)] if points else []
    return [stroke(x, y, x + 26, y, colour, 'stroke-width="1.6"'), *shown, text(x + 34, y + 4, name)]
