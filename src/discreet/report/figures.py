"""Figures as SVG that follows the theme of the page: colours come from its style sheet."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.privacy.odds import Odds, percent
from discreet.release.usefulness import CLEAR
from discreet.report.facts import Facts
from discreet.report.markup import Html, Part, tag

LABELLED = 60
"""With more topics than this, not all of their numbers could be read in a figure."""

NUMBER = (22.0, 12.0)
"""Width and height of three digits on the map. Where there are many topics, no two numbers lie closer."""

LEVELS = 8
"""Shades of the matrix."""


def drawing(width: float, height: float, label: str, *parts: Part, cls: str | None = None) -> Html:
    return tag("svg", *parts, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label, cls=cls)


def bar(
    value: float, scale: float, *, error: float | None = None, usual: float | None = None, clear: bool = True
) -> Html:
    """A bar on a line of a table, whose numbers stand beside it: 0 to 100 is the whole axis.

    Hollow if not ``clear``; a whisker of `CLEAR` deviations; a tick at the usual frequency of the word.
    """
    end = 100 * min(value / scale, 1.0)
    parts = [tag("rect", x=0, y=1, width=f"{end:.1f}", height=8, cls="bar" if clear else "bar hollow")]
    parts.append(tag("path", d="" if error is None else whisker(value, error, scale), cls="whisker"))
    if usual is not None:
        parts.append(tag("path", d=f"M{100 * min(usual / scale, 1.0):.1f} 0V10", cls="usual"))
    return tag("svg", parts, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true", cls="bars")


def whisker(value: float, error: float, scale: float) -> str:
    """The path; the script draws the same."""
    low, high = (100 * min(max(value + side * CLEAR * error, 0.0) / scale, 1.0) for side in (-1, 1))
    return f"M{low:.1f} 5H{high:.1f}M{low:.1f} 3V7M{high:.1f} 3V7"


def odds_figure(odds: Odds) -> Html:
    """Right guesses out of a hundred: chance, this model, the promise."""
    assert odds.bound is not None
    rows: list[tuple[str, float, str]] = [("chance", 0.5, "chance")]
    if odds.own is not None:
        rows.append(("this model, at most", odds.own.accuracy, "own"))
    rows.append(("the promise, at most", odds.bound.accuracy, "bound"))
    wide, step = 380.0, 46.0
    parts: list[Part] = []
    for i, (name, share, cls) in enumerate(rows):
        y, shown = i * step, "50%" if cls == "chance" else percent(share)
        parts += [
            tag("text", f"{name} ", tag("tspan", shown, cls="strong"), x=0, y=y + 14),
            tag("rect", x=0, y=y + 20, width=wide, height=16, rx=3, cls="track"),
            tag("rect", x=0, y=y + 20, width=f"{wide * share:.1f}", height=16, rx=3, cls=cls),
            tag("line", x1=wide / 2, x2=wide / 2, y1=y + 17, y2=y + 39, cls="half"),
        ]
    spoken = "; ".join(f"{name} {'50%' if cls == 'chance' else percent(share)}" for name, share, cls in rows)
    return drawing(wide, step * len(rows), f"Right guesses: {spoken}", parts, cls="odds")


def topic_map(facts: Facts) -> Html:
    """Classical scaling of Hellinger distances; areas are shares. Nothing is moved to avoid overlaps."""
    points, edge, size = facts.plane.points, 46.0, 560.0
    low, high = points.min(axis=0), points.max(axis=0)
    spread = float((high - low).max()) or 1.0
    centre = (low + high) / 2
    at = (points - centre) / spread * (size - 2 * edge) * [1, -1] + size / 2
    radii = 36 * np.sqrt(facts.weights / facts.weights.max())
    radii = np.maximum(radii * min(1.0, (12 / facts.n_topics) ** 0.35), 3.0)
    height = (high - low)[1] / spread * (size - 2 * edge) + 2 * edge
    top = (size - height) / 2
    present, circles, numbers = facts.release.present, [], []
    placed: list[tuple[float, float]] = []
    for k in np.argsort(-radii, kind="stable").tolist():  # small ones above large ones, and all numbers above these
        x, y = float(at[k, 0]), float(at[k, 1] - top)
        about = f"{facts.title(k)}: {', '.join(facts.release.vocabulary[w] for w in facts.best[k, :5])}"
        circle = tag("circle", tag("title", about), cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radii[k]:.1f}")
        circles.append(tag("g", circle, cls="topic" if present[k] else "topic absent", data_topic=k))
        free = all(abs(x - i) > NUMBER[0] or abs(y - j) > NUMBER[1] for i, j in placed)
        if facts.n_topics <= LABELLED or free:  # the others would be a heap of digits; the table has them
            placed.append((x, y))
            numbers.append(tag("text", str(k), x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle"))
    axes = [
        tag("line", x1=0, x2=size, y1=f"{height / 2:.1f}", y2=f"{height / 2:.1f}", cls="axis"),
        tag("line", x1=size / 2, x2=size / 2, y1=0, y2=f"{height:.1f}", cls="axis"),
    ]
    return drawing(size, height, "Map of topics: similar topics lie close together", axes, circles, numbers, cls="map")


def seriated(distances: FloatArray) -> IntArray:
    """An order in which similar topics are neighbours, so that groups show as blocks (Bar-Joseph et al. 2001)."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 3:
        return np.arange(len(distances))
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    found: IntArray = leaves_list(tree).astype(np.int64)
    return found


def matrix(facts: Facts) -> Html:
    """Similarity 1 − Hellinger distance of all pairs. One path for each shade keeps forty thousand cells small."""
    order = seriated(facts.distances)
    likeness = 1 - facts.distances[np.ix_(order, order)]
    n, left = len(order), 26.0 if facts.n_topics <= LABELLED else 2.0
    others = likeness[~np.eye(n, dtype=bool)]
    least, most = float(others.min()), float(others.max())
    scaled = (likeness - least) / (most - least) if most > least else np.full_like(likeness, 0.5)
    shade = np.clip((LEVELS * scaled).astype(int), 0, LEVELS - 1)
    np.fill_diagonal(shade, LEVELS)
    wide = 560.0  # also of few topics, or the drawing would be stretched, with huge numbers
    cell = min(56.0, (wide - left) / n)
    parts: list[Part] = []
    for level in range(1, LEVELS + 1):
        rows, columns = np.nonzero(shade == level)
        d = "".join(f"M{j} {i}h1v1h-1z" for i, j in zip(rows.tolist(), columns.tolist(), strict=True))
        if d:
            parts.append(tag("path", d=d, cls=f"shade{level}"))
    drawn = tag("g", parts, transform=f"translate({left:g} {left:g}) scale({cell:.3f})")
    return drawing(wide, left + n * cell, "Similarity of all pairs of topics", drawn, _labels(order, left, cell))


def _labels(order: IntArray, left: float, cell: float) -> Iterable[Html]:
    if len(order) > LABELLED:
        return
    size = f"{min(11.0, max(cell * 0.62, 5.0)):.1f}"
    for i, k in enumerate(order.tolist()):
        middle = left + (i + 0.5) * cell
        yield tag("text", str(k), x=f"{middle:.1f}", y=left - 6, text_anchor="middle", font_size=size)
        yield tag("text", str(k), x=left - 5, y=f"{middle + 3:.1f}", text_anchor="end", font_size=size)


def nearest(facts: Facts, n: int = 3) -> list[list[tuple[int, float]]]:
    """The most similar other topics of each topic."""
    distances = facts.distances + np.diag(np.full(facts.n_topics, np.inf))
    found = np.argsort(distances, axis=1, kind="stable")[:, : min(n, facts.n_topics - 1)]
    return [[(int(j), float(1 - distances[k, j])) for j in row] for k, row in enumerate(found)]
