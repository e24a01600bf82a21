"""A table of numbers as a figure: squares in shades of one colour, each with its number."""

from __future__ import annotations

from discreet._svg import figure, text
from discreet.experiments.experiment import Heat, Results
from discreet.experiments.tables import label, symbol

SIDE, TOP, MARGIN = 34, 46, 14
LETTER = 6.5
"""Width of a letter, about."""
DARK = (0, 114, 178)
"""At 1; white is 0."""


def draw_heat(heat: Heat, results: Results) -> str:
    """Rows from top to bottom, columns from left to right, both in the order of the rows; numbers in percent."""
    names = results.levels(heat.rows, **heat.where)
    names = [name for name in names if name is not None]
    left = MARGIN + 18 + LETTER * max((len(label(name)) for name in names), default=0)
    bottom = TOP + SIDE * len(names)
    parts = [text(left + SIDE * len(names) / 2, 20, heat.title, anchor="middle", size=15, weight="bold")]
    for i, row in enumerate(names):
        parts.append(text(left - 6, TOP + SIDE * (i + 0.5) + 4, label(row), anchor="end"))
        for j, column in enumerate(names):
            found = results.interval(heat.measure, **heat.where, **{heat.rows: row, heat.columns: column})
            parts += _square(left + SIDE * j, TOP + SIDE * i, found.mean if found.n else 0.0)
    for j, column in enumerate(names):
        x, y = left + SIDE * (j + 0.5) + 4, bottom + 10
        parts.append(text(x, y, label(column), anchor="end", more=f'transform="rotate(-60 {x:.1f} {y:.1f})"'))
    height = bottom + left + 6
    parts.append(text(left + SIDE * len(names) / 2, height - 8, symbol(heat.columns), anchor="middle"))
    middle = TOP + SIDE * len(names) / 2
    turned = f'transform="rotate(-90 {MARGIN} {middle})"'
    parts.append(text(MARGIN, middle, symbol(heat.rows), anchor="middle", more=turned))
    return figure(left + SIDE * len(names) + MARGIN, height, parts)


def _square(x: float, y: float, share: float) -> list[str]:
    shade = ",".join(str(round(255 - (255 - full) * min(max(share, 0.0), 1.0))) for full in DARK)
    square = f'<rect x="{x:.1f}" y="{y:.1f}" width="{SIDE}" height="{SIDE}" fill="rgb({shade})" stroke="#ddd"/>'
    percent = f"{100 * share:.0f}"
    if percent == "0":
        return [square]
    colour = 'fill="white"' if share > 0.55 else 'fill="#222"'
    return [square, text(x + SIDE / 2, y + SIDE / 2 + 4, percent, anchor="middle", size=11, more=colour)]
