"""How good an attack is: true positives at few false ones, with intervals, and what (ε, δ) allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, FloatArray, IntArray

CONFIDENCE = 0.95
RESAMPLES = 200
"""Resamples of the documents for their interval."""

RATES = (0.001, 0.01)
"""False positive rates that are reported."""

ENOUGH = 10
"""How many times as many false positives as in the sample a resample may need to look at."""


@dataclass(frozen=True)
class Share:
    """``k`` of ``n``, and Clopper and Pearson's interval, which treats the n decisions as independent."""

    k: int
    n: int
    confidence: float = CONFIDENCE

    @property
    def value(self) -> float:
        return self.k / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        from scipy.special import betaincinv

        if not self.n:
            return 0.0, 1.0
        half = (1 - self.confidence) / 2
        low = 0.0 if self.k == 0 else float(betaincinv(self.k, self.n - self.k + 1, half))
        high = 1.0 if self.k == self.n else float(betaincinv(self.k + 1, self.n - self.k, 1 - half))
        return low, high


class Curve:
    """Scores of members and of others, pooled over targets, and the rates at every threshold."""

    def __init__(self, scores: FloatArray, members: BoolArray) -> None:
        """Both target × document. Scores that are NaN are left out."""
        scores, members = np.atleast_2d(scores), np.atleast_2d(members)
        known = np.isfinite(scores)
        if not (known & members).any() or not (known & ~members).any():
            raise InputError(
                "the attack needs scores of members and of others; found none of one kind. Train more shadow models."
            )
        where = np.nonzero(known)
        order = np.argsort(-scores[where], kind="stable")
        self.scores: FloatArray = scores[where][order]
        self.is_member: BoolArray = members[where][order]
        self.document: IntArray = where[1][order]
        self.n_documents = scores.shape[1]
        self._resampled: dict[float, list[float]] = {}
        self._ends = np.nonzero(np.append(np.diff(self.scores) != 0, True))[0]  # equal scores fall together

    @property
    def n_members(self) -> int:
        return int(self.is_member.sum())

    @property
    def n_others(self) -> int:
        return len(self.is_member) - self.n_members

    def counts(self) -> tuple[IntArray, IntArray]:
        """False and true positives at each threshold, from the strictest (nobody) on."""
        true = np.append(0, np.cumsum(self.is_member)[self._ends])
        false = np.append(0, np.cumsum(~self.is_member)[self._ends])
        return false, true

    def rates(self) -> tuple[FloatArray, FloatArray]:
        false, true = self.counts()
        return false / self.n_others, true / self.n_members

    def tpr_at(self, fpr: float) -> Share:
        """True positives at the loosest threshold whose share of false positives is ``fpr`` at most."""
        false, true = self.counts()
        last = int(np.searchsorted(false, fpr * self.n_others * (1 + 1e-12), side="right")) - 1
        return Share(int(true[last]), self.n_members)

    def resampled_tpr_at(self, fpr: float) -> tuple[float, float]:
        """The interval of the same by resampling documents, threshold included.

        A document is scored once per target, and these scores are alike, so Clopper and Pearson's interval is too
        narrow when targets are pooled. Here a resample takes all scores of a document or none of them.
        """
        if fpr not in self._resampled:
            rates = sorted({*RATES, fpr})
            for rate, found in zip(rates, zip(*self._resample(rates), strict=True), strict=True):
                self._resampled[rate] = list(found)
        half = (1 - CONFIDENCE) / 2
        low, high = np.quantile(self._resampled[fpr], [half, 1 - half])
        return float(low), float(high)

    def _resample(self, rates: Sequence[float]) -> Iterator[list[float]]:
        """TPR at all ``rates``, for each resample. Seeded: the same documents are drawn for every attack.

        Only the scores with the most false positives that any resample can need are added up: ENOUGH times the rate.
        """
        rng = np.random.default_rng(0)
        most = min(1.0, ENOUGH * max(rates)) * self.n_others
        ends = self._ends[: int(np.searchsorted(np.cumsum(~self.is_member)[self._ends], most)) + 1]
        until = int(ends[-1]) + 1
        documents, member = self.document[:until], self.is_member[:until]
        for _ in range(RESAMPLES):
            times = rng.multinomial(self.n_documents, np.full(self.n_documents, 1 / self.n_documents))
            weights = times[documents]
            true, false = (np.cumsum(np.where(which, weights, 0))[ends] for which in (member, ~member))
            n_others, n_members = (int(times @ count) for count in self._per_document)
            yield [_tpr(true, false, n_members, n_others, fpr) for fpr in rates]

    @cached_property
    def _per_document(self) -> IntArray:
        """Scores of others, and of members, for each document."""
        count = [np.bincount(self.document[self.is_member == one], minlength=self.n_documents) for one in (False, True)]
        return np.stack(count)

    @property
    def auc(self) -> float:
        false, true = self.rates()
        return float(np.trapezoid(true, false))

    @property
    def balanced_accuracy(self) -> float:
        """(TPR + TNR) / 2 at the best threshold."""
        false, true = self.rates()
        return float((1 + np.max(true - false)) / 2)

    def corners(self, fewest: int = 400) -> Iterator[tuple[float, float]]:
        """Points to draw, evenly spaced on a logarithmic axis."""
        false, true = self.rates()
        wanted = np.geomspace(1 / self.n_others, 1.0, fewest)
        for i in dict.fromkeys((np.searchsorted(false, wanted, side="right") - 1).tolist()):
            yield float(false[i]), float(true[i])


def _tpr(true: IntArray, false: IntArray, n_members: int, n_others: int, fpr: float) -> float:
    """Of cumulative counts."""
    if not n_members or not n_others:
        return 0.0
    last = int(np.searchsorted(false, fpr * n_others * (1 + 1e-12), side="right")) - 1
    return float(true[last] / n_members) if last >= 0 else 0.0


def implied_bound(fpr: float, epsilon: float, delta: float) -> float:
    """The most true positives that any attack on an (ε, δ) method can have at this share of false ones.

    TPR ≤ e^ε·FPR + δ, and 1 − FPR ≤ e^ε·(1 − TPR) + δ (Kairouz, Oh and Viswanath 2015). It holds for one
    document that is in the data or not, all others fixed, if membership is decided by its own coin.
    """
    return min(1.0, math.exp(min(epsilon, 700.0)) * fpr + delta, 1.0 - math.exp(-epsilon) * (1.0 - delta - fpr))
