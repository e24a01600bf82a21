"""What an audit found: numbers, a verdict in words, and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet import _svg
from discreet._types import FloatArray
from discreet.attacks.audit.targets import Target

REFUTED = "refuted"
NOT_REFUTED = "not refuted, which proves nothing"


@dataclass(frozen=True)
class Audit:
    """The result of one audit. ``lower_bound`` holds whatever the mechanism is; ``by_noise`` only if its noise is of
    the kind that was charged (``family.py``), and is not a number where that cannot be said."""

    method: str
    unit: str
    setting: str
    claimed: float
    delta: float
    lower_bound: float
    by_noise: float
    failure_probability: float
    n_runs: int
    n_canaries: int
    seed: int
    score: str
    detail: str
    inside: FloatArray = field(repr=False)
    outside: FloatArray = field(repr=False)
    """Scores with a canary and without it. Whoever audits private text must keep them private."""

    @classmethod
    def of(cls, target: Target, **found: Any) -> Audit:
        return cls(
            method=target.method,
            unit=target.unit,
            setting=target.setting,
            claimed=target.claimed,
            delta=target.delta,
            n_canaries=target.n_canaries,
            **found,
        )

    @property
    def refuted(self) -> bool:
        return self.lower_bound > self.claimed

    @property
    def verdict(self) -> str:
        return REFUTED if self.refuted else NOT_REFUTED

    @property
    def confidence(self) -> float:
        return 1 - self.failure_probability

    def __str__(self) -> str:
        share = f" ({self.lower_bound / self.claimed:.0%} of the claim)" if self.claimed > 0 else ""
        lines = [
            f"method       {self.method}, unit {self.unit}",
            f"canary       {self.setting}",
            f"claimed      ε = {self.claimed:.4g} at δ = {self.delta:g}",
            f"lower bound  ε ≥ {self.lower_bound:.4g}{share}",
            f"confidence   {self.confidence:.5g}",
            f"found        {self.detail}; {self.n_runs:,} runs, seed {self.seed}",
        ]
        if not math.isnan(self.by_noise):
            lines.insert(4, f"             ε ≥ {self.by_noise:.4g} if the noise is of the kind that was charged")
        lines.append(f"verdict      {self.verdict}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Numbers and words; not the scores."""
        return {
            "method": self.method,
            "unit": self.unit,
            "setting": self.setting,
            "claimed": self.claimed,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "lower_bound_by_noise": None if math.isnan(self.by_noise) else self.by_noise,
            "confidence": self.confidence,
            "n_runs": self.n_runs,
            "n_canaries": self.n_canaries,
            "seed": self.seed,
            "score": self.score,
            "detail": self.detail,
            "verdict": self.verdict,
        }

    def picture(self) -> str:
        """The shares of runs with and without the canary above each threshold, and what the claim allows: an SVG."""
        size, left, top = 420.0, 64.0, 44.0
        least = 0.5 / max(len(self.inside), len(self.outside))
        x = _svg.axis([least, 1.0], left, left + size, True, margin=0.0)
        y = _svg.axis([least, 1.0], top + size, top, True, margin=0.0)
        parts = [_svg.text(left, 22, f"Audit of {self.method} ({self.unit}): {self.verdict}", size=14, weight="bold")]
        for tick in x.ticks:
            parts.append(_svg.stroke(x(tick), top, x(tick), top + size, "#dddddd"))
            parts.append(_svg.text(x(tick), top + size + 16, f"{tick:g}", anchor="middle"))
        for tick in y.ticks:
            parts.append(_svg.stroke(left, y(tick), left + size, y(tick), "#dddddd"))
            parts.append(_svg.text(left - 6, y(tick) + 4, f"{tick:g}", anchor="end"))
        shares = np.geomspace(least, 1.0, 200)
        allowed = np.minimum(1.0, np.exp(min(self.claimed, 700.0)) * shares + self.delta)
        parts.append(
            _line(x, y, shares, allowed, 1, f"allowed by ε = {self.claimed:.3g}, δ = {self.delta:g}", top + 14)
        )
        thresholds = np.unique(np.quantile(np.concatenate([self.inside, self.outside]), np.linspace(0, 1, 400)))
        outside, inside = (np.array([(s > t).mean() for t in thresholds]) for s in (self.outside, self.inside))
        kept = (outside >= least) & (inside >= least)
        if kept.any():
            parts.append(_line(x, y, outside[kept], inside[kept], 0, "measured", top + 30))
        parts.append(
            _svg.text(left + size / 2, top + size + 36, "share above the threshold without the canary", anchor="middle")
        )
        parts.append(
            _svg.text(
                16,
                top + size / 2,
                "share with the canary",
                anchor="middle",
                more=f'transform="rotate(-90 16 {top + size / 2:.0f})"',
            )
        )
        found = (
            f"claimed ε = {self.claimed:.3g}, refuted up to {self.lower_bound:.3g} at confidence {self.confidence:.5g}"
        )
        parts.append(_svg.text(left, top + size + 58, found))
        return _svg.figure(left + size + 30, top + size + 74, parts)


def _line(x: _svg.Axis, y: _svg.Axis, xs: FloatArray, ys: FloatArray, colour: int, name: str, at: float) -> str:
    points = " ".join(f"{x(float(a)):.1f},{y(float(b)):.1f}" for a, b in zip(xs, ys, strict=True))
    stroke = _svg.COLOURS[colour]
    return (
        f'<polyline points="{points}" fill="none" stroke="{stroke}" {_svg.SOLID}/>\n'
        + _svg.stroke(x.start + 8, at - 4, x.start + 32, at - 4, stroke, _svg.SOLID)
        + _svg.text(x.start + 38, at, name)
    )
