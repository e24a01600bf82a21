"""The curves of attacks on logarithmic axes: what matters is at few false positives, where linear axes show nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet._svg import COLOURS, DASHED, SOLID, Axis, figure, stroke, text
from discreet.attacks.membership.attacked import Claim
from discreet.attacks.membership.roc import Curve, implied_bound

SIDE, LEFT, TOP, BOTTOM, LINE = 380, 70, 44, 54, 18


def draw(curves: Mapping[str, Curve], title: str, claim: Claim | None = None) -> str:
    """True against false positives: one line per attack, chance dotted, what (ε, δ) allows dashed in black."""
    lowest = min(1e-3, *(1 / curve.n_others for curve in curves.values()))
    power = 1.0
    ticks = [power]
    while power > lowest:
        power /= 10
        ticks.append(power)
    across = Axis(lowest, 1.0, LEFT, LEFT + SIDE, True, [tick for tick in ticks if tick >= lowest])
    up = Axis(lowest, 1.0, TOP + SIDE, TOP, True, [tick for tick in ticks if tick >= lowest])
    parts = [text(LEFT + SIDE / 2, 22, title, anchor="middle", size=15, weight="bold"), *_frame(across, up)]
    parts.append(_line([(lowest, lowest), (1.0, 1.0)], across, up, "#888", 'stroke-dasharray="1 3"'))
    names = list(curves)
    if claim is not None:
        steps = [lowest * (1 / lowest) ** (i / 100) for i in range(101)]
        allowed = [(fpr, implied_bound(fpr, *claim)) for fpr in steps]
        parts.append(_line(allowed, across, up, "#000", DASHED))
    for i, name in enumerate(names):
        parts.append(f"<g><title>{name}</title>")
        parts.append(_line(list(curves[name].corners()), across, up, COLOURS[i % len(COLOURS)], SOLID))
        parts.append("</g>")
    top = TOP + SIDE + BOTTOM
    for i, name in enumerate(names):
        parts += _name(i, top, name, COLOURS[i % len(COLOURS)], SOLID)
    below = [("chance", "#888", 'stroke-dasharray="1 3"')]
    if claim is not None:
        below.append((f"allowed by ε = {claim.epsilon:g}, δ = {claim.delta:g}", "#000", DASHED))
    for i, (name, colour, style) in enumerate(below, len(names)):
        parts += _name(i, top, name, colour, style)
    return figure(LEFT + SIDE + 30, top + LINE * (len(names) + len(below)) + 12, parts)


def _line(points: Sequence[tuple[float, float]], across: Axis, up: Axis, colour: str, style: str) -> str:
    """A rate of 0 has no place on a logarithmic axis: the axis draws it at its end."""
    corners = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    return f'<polyline points="{corners}" fill="none" stroke="{colour}" {style}/>'


def _frame(across: Axis, up: Axis) -> list[str]:
    middle = TOP + SIDE / 2
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
        text(LEFT + SIDE / 2, TOP + SIDE + 38, "false positives", anchor="middle"),
        text(14, middle, "true positives", anchor="middle", more=f'transform="rotate(-90 14 {middle})"'),
    ]
    for tick in across.ticks:
        parts.append(text(across(tick), TOP + SIDE + 18, f"{tick * 100:g}%", anchor="middle"))
        parts.append(stroke(LEFT, up(tick), LEFT + SIDE, up(tick), "#e5e5e5"))
        parts.append(text(LEFT - 6, up(tick) + 4, f"{tick * 100:g}%", anchor="end"))
    return parts


def _name(i: int, top: float, name: str, colour: str, style: str) -> list[str]:
    y = top + i * LINE
    return [stroke(LEFT, y, LEFT + 26, y, colour, style), text(LEFT + 34, y + 4, name)]
