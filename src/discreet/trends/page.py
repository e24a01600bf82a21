"""Trends as one page of HTML: a small figure for each topic, the numbers behind it, and what is promised.

It needs no other file, runs no script and makes no request: its policy allows its own style and nothing else. Words
and names of classes come from outside, so they are escaped. The figures are drawn from released numbers alone.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files

import numpy as np

from discreet import _svg
from discreet.privacy.guarantee import Unit, rounded_up
from discreet.trends.shares import Trends

MOST_CELLS = 50_000
"""The most numbers on a page: browsers become slow beyond."""

INSIDE = 1.96
"""Errors of a 95% interval."""

NOTHING = "<p>No slice is large enough to have shares: there is more noise than text in each.</p>"

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340, 150, 44, 8, 8, 22
LABEL, ROW = 110, 18
"""Width of the names of classes, and height of a class."""
FEW_POINTS = 40
"""Up to so many slices each has a dot."""

BEGINNING = "<!doctype html>\n<!-- discreet trends -->"
"""How a page starts: what is overwritten must be an earlier one."""


def html(trends: Trends, title: str = "", names: Mapping[int, str] | None = None) -> str:
    """The whole page. ``names`` are those that people gave to topics."""
    style = files("discreet.trends").joinpath("page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = title or f"Topics by {trends.by}"
    told = [f"Topic {k}: {names[k]}" if names and k in names else f"Topic {k}" for k in range(trends.n_topics)]
    figures = "\n".join(_figure(trends, k, told[k]) for k in range(trends.n_topics)) if trends.enough.any() else NOTHING
    return f"""{BEGINNING}
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{"".join(f"<p>{escape(line)}</p>" for line in _about(trends))}
<h2>What is promised</h2>
<p>{escape(str(trends.guarantee))}</p>{_with_model(trends)}
<h2>Topics</h2>
<div class="topics">
{figures}
</div>
<h2>Slices</h2>
{_slices_table(trends)}
</main>
</body>
</html>
"""


def _about(trends: Trends) -> list[str]:
    counted = f"{trends.unit}s"
    weight = " A user in n slices counts 1/√n in each." if trends.unit is Unit.USER else ""
    lines = [
        f"The share of each topic in the {counted} of each {'class' if trends.by == 'class' else trends.by}, with 95% "
        "intervals of the noise that was added for privacy. The intervals say nothing about documents that are not in "
        f"the data.{weight}",
        f"The noise in each sum has a standard deviation of {trends.noise:.3g} {counted}, so the shares of small "
        "slices are less certain. A share a little below 0 cannot be told from 0.",
    ]
    halves = trends.halves()
    if halves is not None:
        lines[1] += (
            f" A change is that of {halves[1].name}, taken together, against {halves[0].name}; its margin (±) is "
            "that of 95% for all topics together."
        )
    hidden = int((~trends.enough).sum())
    if hidden:
        lines.append(
            f"Slices without shares, {hidden} of {len(trends.slices)}, are grey in the figures: by their noisy size "
            "they are too small, or empty."
        )
    return lines


def _with_model(trends: Trends) -> str:
    if trends.with_model is None:
        return ""
    together = f"ε = {rounded_up(trends.with_model, 4)} at δ = {trends.guarantee.delta:g}"
    return f"<p>If the model was trained on the same documents, model and trends together have {escape(together)}.</p>"


def _figure(trends: Trends, k: int, told: str) -> str:
    words = escape(" ".join(trends.topics[k]))
    overall, halves, moved = trends.overall(), trends.halves(), ""
    if overall is not None and halves is not None:
        change, margin = overall[0][k], overall[1][k]
        clear = "" if abs(change) > margin else ": may be noise"
        moved = f"{escape(halves[1].name)}: {_points(change)} ± {100 * margin:.2f} points{clear}"
        moved = f"<br><span class='soft'>{moved}</span>"
    draw = _classes_svg if trends.by == "class" else _line_svg
    caption = f"<figcaption><b>{escape(told)}</b> {words}{moved}</figcaption>"
    return f"<figure>{caption}\n{draw(trends, k)}\n{_numbers(trends, k)}</figure>"


def _points(change: float) -> str:
    """A change in percentage points."""
    return f"{100 * change:+.2f}".replace("-", "−")


def _top(trends: Trends, k: int) -> float:
    """The end of a topic's axis."""
    ends = trends.shares[:, k] + INSIDE * trends.standard_errors[:, k]
    known = ends[np.isfinite(ends)]
    return 1.06 * max(float(known.max(initial=0.0)), 1e-4)


def _svg_open(width: int, height: int, label: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" font-family="sans-serif"><title>{escape(label)}</title>'


def _line_svg(trends: Trends, k: int) -> str:
    """The share over time, with a band of 95%; slices without shares are grey."""
    n = len(trends.slices)
    step = (WIDTH - LEFT - RIGHT) / n
    middle = [LEFT + (i + 0.5) * step for i in range(n)]
    y = _svg.axis([0.0, _top(trends, k)], HEIGHT - BOTTOM, TOP, False, margin=1e-6)
    share, half = trends.shares[:, k], INSIDE * trends.standard_errors[:, k]
    parts = [_svg_open(WIDTH, HEIGHT, f"Topic {k}: share by {trends.by}")]
    enough = trends.enough
    for first, last in _runs(~enough):
        parts.append(
            f'<rect class="few" x="{LEFT + first * step:.1f}" y="{TOP}" width="{(last - first) * step:.1f}" '
            f'height="{HEIGHT - BOTTOM - TOP}"/>'
        )
    for tick in y.ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(_svg.text(LEFT - 5, y(tick) + 4, f"{100 * tick:.3g}%", anchor="end", size=11))
    for first, last in _runs(enough):
        places = range(first, last)
        if last - first == 1:
            x = middle[first]
            parts.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" {_ends(y, share[first], half[first])}/>')
            parts.append(_dot(x, y(share[first])))
            continue
        upper = [f"{middle[i]:.1f},{y(share[i] + half[i]):.1f}" for i in places]
        lower = [f"{middle[i]:.1f},{y(share[i] - half[i]):.1f}" for i in reversed(places)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
        line = " ".join(f"{middle[i]:.1f},{y(share[i]):.1f}" for i in places)
        parts.append(f'<polyline class="line" points="{line}"/>')
        if n <= FEW_POINTS:
            parts.extend(_dot(middle[i], y(share[i])) for i in places)
    for i in range(0, n, math.ceil(n * 7.5 * len(trends.slices[0]) / (WIDTH - LEFT - RIGHT))):
        parts.append(_svg.text(middle[i], HEIGHT - 6, trends.slices[i], anchor="middle", size=11))
    return "".join([*parts, "</svg>"])


def _classes_svg(trends: Trends, k: int) -> str:
    """A row for each class: a dot, and its interval of 95%."""
    n = len(trends.slices)
    height = TOP + n * ROW + BOTTOM
    x = _svg.axis([0.0, _top(trends, k)], LABEL, WIDTH - 14, False, margin=1e-6)
    share, half, enough = trends.shares[:, k], INSIDE * trends.standard_errors[:, k], trends.enough
    parts = [_svg_open(WIDTH, height, f"Topic {k}: share by class")]
    for tick in x.ticks[:: 1 if len(x.ticks) < 6 else 2]:
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
        parts.append(_svg.text(x(tick), height - 6, f"{100 * tick:.3g}%", anchor="middle", size=11))
    for i, name in enumerate(trends.slices):
        y = TOP + (i + 0.5) * ROW
        shown = name if len(name) <= 17 else f"{name[:9]}…{name[-7:]}"
        parts.append(_svg.text(LABEL - 6, y + 4, shown, anchor="end", size=11))
        if not enough[i]:
            parts.append(f'<rect class="few" x="{LABEL}" y="{y - 6:.1f}" width="{WIDTH - 14 - LABEL}" height="12"/>')
            continue
        ends = f'x1="{x(share[i] - half[i]):.1f}" x2="{x(share[i] + half[i]):.1f}"'
        parts.append(f'<line class="line" {ends} y1="{y:.1f}" y2="{y:.1f}"/>{_dot(x(share[i]), y)}')
    return "".join([*parts, "</svg>"])


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'


def _ends(y: _svg.Axis, share: float, half: float) -> str:
    return f'y1="{y(share - half):.1f}" y2="{y(share + half):.1f}"'


def _runs(which: np.ndarray) -> list[tuple[int, int]]:
    """First and last (excluded) of each run of marked slices."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], which.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _numbers(trends: Trends, k: int) -> str:
    """The table behind a figure."""
    rows = []
    for name, share, error in zip(trends.slices, trends.shares[:, k], trends.standard_errors[:, k], strict=True):
        cells = "<td>–</td><td>–</td>" if math.isnan(share) else f"<td>{_percent(share)}</td><td>{_percent(error)}</td>"
        rows.append(f"<tr><th scope='row'>{escape(name)}</th>{cells}</tr>")
    head = f"<tr><th scope='col'>{trends.by}</th><th scope='col'>share</th><th scope='col'>standard error</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<details><summary>Numbers of topic {k}</summary><div class='scroll'>{table}</div></details>"


def _slices_table(trends: Trends) -> str:
    head = f"<tr><th scope='col'>{trends.by}</th><th scope='col'>noisy size</th><th scope='col'>shares</th></tr>"
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{size:,.0f}</td><td>{'shown' if enough else 'too few'}</td></tr>"
        for name, size, enough in zip(trends.slices, trends.sizes, trends.enough, strict=True)
    )
    note = f"<p class='soft'>The standard error of a size is {trends.size_error:.3g}.</p>"
    table = f"<div class='scroll'><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    return f"{note}<details><summary>Sizes of all slices</summary>{table}</details>"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%".replace("-", "−")
