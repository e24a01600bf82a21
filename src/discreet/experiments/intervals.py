"""Intervals, and verdicts computed from them: never from a mean alone, never by eye."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

CONFIDENCE = 0.95
"""The confidence of each single interval: of twenty comparisons one is expected to miss."""


class Verdict(StrEnum):
    """What an interval says about a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    @classmethod
    def of_all(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """A finding holds when every check does, and fails when one does. Nothing checked is undecided."""
        found = set(verdicts)
        if cls.FAILS in found:
            return cls.FAILS
        return cls.HOLDS if found == {cls.HOLDS} else cls.UNDECIDED

    @classmethod
    def of_most(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """For what a paper says to be so *often*: more than half of the checks decide."""
        found = list(verdicts)
        return next((v for v in (cls.HOLDS, cls.FAILS) if found.count(v) > len(found) / 2), cls.UNDECIDED)


@dataclass(frozen=True)
class Interval:
    """A mean over repetitions and its interval. With fewer than two repetitions the interval is unbounded."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
        """Student's t interval of the mean: exact for normal values, close for other values without heavy tails."""
        n = len(values)
        mean = float(np.mean(values)) if n else math.nan
        if n < 2 or not math.isfinite(mean):
            return cls(mean, -math.inf, math.inf, n)
        if min(values) == max(values):  # as below, without the rounding error of the mean
            return cls(float(values[0]), float(values[0]), float(values[0]), n)
        from scipy.special import stdtrit

        half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * float(np.std(values, ddof=1)) / math.sqrt(n)
        return cls(mean, mean - half, mean + half, n)

    @classmethod
    def exact(cls, value: float) -> Interval:
        """The interval of a computed value: every repetition would give the same."""
        return cls(value, value, value, 1)

    @classmethod
    def of_ratio(cls, above: Sequence[float], below: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
        """The geometric mean of paired ratios, by the interval of their logarithms."""
        logs = cls.of([math.log(a / b) for a, b in zip(above, below, strict=True)], confidence)
        return cls(_exp(logs.mean), _exp(logs.low), _exp(logs.high), logs.n)

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        if self.n == 0:
            return "–"
        if self.low == self.high:
            return number(self.mean)
        if math.isinf(self.low) and math.isinf(self.high):
            return f"{number(self.mean)} (one run)"
        return f"{number(self.mean)} [{number(self.low)}, {number(self.high)}]"

    def to_json(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True)
class Check:
    """One comparison: what was measured, what the claim requires, and the verdict of the interval."""

    what: str
    found: Interval
    wanted: str
    verdict: Verdict

    @classmethod
    def below(cls, what: str, found: Interval, bound: float) -> Check:
        """Holds when the whole interval lies below the bound, fails when none of it does."""
        return cls(what, found, f"< {number(bound)}", _side(found.high < bound, found.low >= bound))

    @classmethod
    def above(cls, what: str, found: Interval, bound: float) -> Check:
        return cls(what, found, f"> {number(bound)}", _side(found.low > bound, found.high <= bound))

    @classmethod
    def between(cls, what: str, found: Interval, low: float, high: float) -> Check:
        """Holds when the whole interval lies inside the two bounds, fails when it lies outside."""
        inside, outside = low <= found.low and found.high <= high, found.high < low or found.low > high
        return cls(what, found, f"{number(low)} to {number(high)}", _side(inside, outside))

    def __str__(self) -> str:
        return f"{self.what}: {self.found}, wanted {self.wanted}: {self.verdict}"

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "found": self.found.to_json(), "wanted": self.wanted, "verdict": str(self.verdict)}


def _side(holds: bool, fails: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS if fails else Verdict.UNDECIDED


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def number(value: float) -> str:
    """Four digits, without an exponent if it is readable."""
    if not math.isfinite(value):
        return str(value).replace("inf", "∞").replace("-", "−")
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"
    if "." in text and "e" not in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−") if "e" not in text else text
