"""Parts of figures as plain SVG text, without a plotting library: axes, strokes, markers, words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c8c8c")
"""Okabe and Ito's colours, which colour-blind readers can distinguish, and a grey."""

SOLID = 'stroke-width="1.6"'
DASHED = f'{SOLID} stroke-dasharray="6 4"'

MARKERS = ("circle", "square", "diamond", "triangle")
"""So that lines can be distinguished without colour too."""


@dataclass(frozen=True)
class Axis:
    """Maps numbers to positions on the page."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: list[float]

    def __call__(self, value: float) -> float:
        """A value beyond the axis is drawn at its end, so an infinite bar is still visible."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        share = (self._scaled(min(max(value, self.low), self.high)) - low) / ((high - low) or 1.0)
        return self.start + share * (self.end - self.start)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value


def figure(width: float, height: float, parts: Sequence[str]) -> str:
    """The file, from its parts."""
    body, width, height = "\n".join(parts), round(width), round(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def axis(values: Sequence[float], start: float, end: float, log: bool, *, margin: float) -> Axis:
    low, high = min(values), max(values)
    if log:
        spread = (high / low) ** margin if high > low else 1.1
        low, high = low / spread, high * spread
    else:
        spread = (high - low) * margin or abs(high) * 0.1 or 1.0
        low, high = low - spread, high + spread
    return Axis(low, high, start, end, log, (_log_ticks if log else _linear_ticks)(low, high))


def _linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, about five of them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, …; where the range holds fewer than two of these, linear ones."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps: tuple[int, ...] = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [m * 10.0**p for p in powers for m in steps if low <= m * 10.0**p <= high]
    return ticks if len(ticks) >= 2 else _linear_ticks(low, high)


def marker(x: float, y: float, i: int) -> str:
    shape: Callable[[float, float], str] = _SHAPES[MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]]
    return shape(x, y).replace("/>", f' fill="{COLOURS[i % len(COLOURS)]}"/>')


_SHAPES: dict[str, Callable[[float, float], str]] = {
    "circle": lambda x, y: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>',
    "square": lambda x, y: f'<rect x="{x - 2.8:.1f}" y="{y - 2.8:.1f}" width="5.6" height="5.6"/>',
    "diamond": lambda x, y: f'<path d="M{x:.1f},{y - 4:.1f} l4,4 l-4,4 l-4,-4 z"/>',
    "triangle": lambda x, y: f'<path d="M{x:.1f},{y - 4:.1f} l4,7 l-8,0 z"/>',
}


def stroke(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, weight: str = "", more: str = ""
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{bold} {more}>{escape(words)}</text>'
    )
