"""Trends: shares of topics by slice, and the errors that the noise gives them. All of it may be published.

Let T_k be the noisy sums of a slice, each with independent noise of deviation σ, and N = Σ_k T_k the slice's size. The
share of topic k is p_k = T_k / N. To first order in the noise z,

    p̂_k − p_k = (z_k − p_k Σ_j z_j) / N,   so   Var p̂_k = σ² (1 − 2 p_k + K p_k²) / N².

Sums of different slices have different noise, so the variance of a change is the sum of both. The errors are those of
the privacy noise: shares are those of the documents given, and not of a population that they were drawn from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, FloatArray, IntArray
from discreet.privacy.guarantee import Guarantee, Unit
from discreet.trends.plan import LEAST

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Half:
    """Neighbouring slices taken together."""

    name: str
    shares: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Trends:
    """Noisy sums by slice and topic, and what follows from them.

    A share is an unbiased estimate, so it may lie a little below 0: then it cannot be told from 0.
    """

    by: str
    """year, quarter, month, week, day or class."""
    slices: tuple[str, ...]
    sums: FloatArray
    """Slice × topic: noisy sums of topic proportions. A unit in n slices adds 1/√n to the sums of each."""
    noise: float
    """The deviation of the noise in each sum."""
    topics: tuple[tuple[str, ...], ...]
    """The best words of each topic."""
    unit: Unit
    """What is counted: documents, or users."""
    guarantee: Guarantee
    ledger: list[dict[str, Any]]
    """What was charged."""
    with_model: float | None = None
    """ε at the same δ of the model and the trends together, if the model was trained on the same documents; None where
    the model does not say what it cost for this unit, or where it is infinite."""

    @property
    def n_topics(self) -> int:
        return int(self.sums.shape[1])

    @property
    def sizes(self) -> FloatArray:
        """The noisy size of each slice: its documents with a word of the model, or its users, of whom one in n slices
        counts 1/√n."""
        return np.asarray(self.sums.sum(axis=1))

    @property
    def size_error(self) -> float:
        """The deviation of the noise in each size."""
        return self.noise * math.sqrt(self.n_topics)

    @property
    def enough(self) -> BoolArray:
        """Which slices are large enough to have shares: decided by their noisy sizes."""
        return np.asarray(self.sizes >= LEAST * self.size_error)

    @property
    def shares(self) -> FloatArray:
        """Slice × topic; NaN in slices that are too small."""
        return self.sums / self._divisors

    @property
    def standard_errors(self) -> FloatArray:
        """Of the shares, slice × topic."""
        return self.noise * self._spread(self.shares) / self._divisors

    def _spread(self, shares: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt(1 - 2 * shares + self.n_topics * shares**2))

    @property
    def _divisors(self) -> FloatArray:
        return np.where(self.enough, self.sizes, np.nan)[:, None]

    def change(self, start: str | int, end: str | int) -> tuple[FloatArray, FloatArray]:
        """The share of each topic in the slice ``end`` minus that in ``start``, and the standard error of that. NaN if
        one of them is too small."""
        first, last = self._number(start), self._number(end)
        errors = self.standard_errors
        moved = self.shares[last] - self.shares[first]
        return moved, np.asarray(np.hypot(errors[first], errors[last]) if first != last else 0 * moved)

    def _number(self, which: str | int) -> int:
        if isinstance(which, str) and which in self.slices:
            return self.slices.index(which)
        if isinstance(which, int) and -len(self.slices) <= which < len(self.slices):
            return which % len(self.slices)
        raise InputError(f"there is no slice {which!r}; there are {', '.join(self.slices[:6])}, …")

    def halves(self) -> tuple[Half, Half] | None:
        """The slices that are shown, cut in the middle: shares of each half. Alone, the first and the last slice say
        little: often one is small. None with fewer than two, or for classes, which have no order."""
        shown = np.flatnonzero(self.enough)
        if self.by == "class" or len(shown) < 2:
            return None
        middle = (len(shown) + 1) // 2
        return self._half(shown[:middle]), self._half(shown[middle:])

    def _half(self, places: IntArray) -> Half:
        """The sum of m slices has noise of √m times the deviation."""
        first, last = self.slices[places[0]], self.slices[places[-1]]
        size = float(self.sizes[places].sum())
        shares = self.sums[places].sum(axis=0) / size
        errors = self.noise * math.sqrt(len(places)) * self._spread(shares) / size
        return Half(first if first == last else f"{first} to {last}", shares, errors)

    def overall(self) -> tuple[FloatArray, FloatArray] | None:
        """The change of each topic from the first half to the second, and the difference that chance reaches in one of
        twenty runs for any topic at all (95%, for all topics together); None where there are no halves."""
        halves = self.halves()
        if halves is None:
            return None
        first, second = halves
        return second.shares - first.shares, np.hypot(first.errors, second.errors) * quantile(self.n_topics)

    def leading(self) -> tuple[IntArray, BoolArray] | None:
        """For each topic the slice with the largest share, and whether it exceeds all others by more than chance does
        (95%, for all topics and pairs of slices together); None if no slice is shown."""
        shown = np.flatnonzero(self.enough)
        if not len(shown):
            return None
        shares, errors, topics = self.shares[shown], self.standard_errors[shown], np.arange(self.n_topics)
        best = shares.argmax(axis=0)
        pairs = max(1, len(shown) * (len(shown) - 1) // 2)
        margins = np.hypot(errors, errors[best, topics]) * quantile(self.n_topics * pairs)
        ahead = shares[best, topics] - shares > margins
        ahead[best, topics] = True
        return shown[best], np.asarray(ahead.all(axis=0))

    def __repr__(self) -> str:
        return (
            f"<Trends: {self.n_topics} topics by {self.by}, {int(self.enough.sum())} of {len(self.slices)} slices "
            f"shown, guarantee {self.guarantee.basis}>"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``json.dumps``; shares of slices that are too small are null."""
        shares, errors = self.shares, self.standard_errors
        return {
            "by": self.by,
            "unit": str(self.unit),
            "topics": [list(words) for words in self.topics],
            "slices": [
                {
                    "slice": name,
                    "size": float(self.sizes[i]),
                    "enough": bool(self.enough[i]),
                    "shares": shares[i].tolist() if self.enough[i] else None,
                    "standard_errors": errors[i].tolist() if self.enough[i] else None,
                    "sums": self.sums[i].tolist(),
                }
                for i, name in enumerate(self.slices)
            ],
            "noise": self.noise,
            "size_error": self.size_error,
            "guarantee": self.guarantee.to_json(),
            "epsilon_with_model": self.with_model,
            "ledger": self.ledger,
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each slice and topic, for a table: the change is that from the slice before, where both are
        shown."""
        shares, errors, rows = self.shares, self.standard_errors, []
        for i, name in enumerate(self.slices):
            ordered = self.by != "class" and i > 0
            moved, error = self.change(i - 1, i) if ordered else (np.full(self.n_topics, np.nan),) * 2
            for k in range(self.n_topics):
                rows.append(
                    {
                        "slice": name,
                        "topic": k,
                        "share": shares[i, k],
                        "standard_error": errors[i, k],
                        "change": moved[k],
                        "change_error": error[k],
                        "sum": self.sums[i, k],
                        "size": self.sizes[i],
                        "enough": "yes" if self.enough[i] else "no",
                        "words": " ".join(self.topics[k]),
                    }
                )
        return rows


def quantile(n: int) -> float:
    """So many deviations no one of ``n`` normal numbers exceeds in 95% of all runs (Bonferroni), on either side."""
    from scipy.special import ndtri

    return float(-ndtri((1 - CONFIDENCE) / 2 / n))
