"""Attack one method on one set of documents: a bank, every model of it as the target in turn, and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.attacks.membership.bank import Bank
from discreet.attacks.membership.roc import RATES, Curve, Share, implied_bound
from discreet.attacks.membership.scores import ATTACKS, scores_of, scores_of_each


class Claim(NamedTuple):
    """(ε, δ) at the level of documents."""

    epsilon: float
    delta: float


class Found(NamedTuple):
    """True positives at one share of false positives."""

    fpr: float
    share: Share
    resampled: tuple[float, float]
    """The interval by resampling documents."""
    bound: float | None
    """What the claim allows."""


@dataclass(frozen=True)
class Attacked:
    """Scores of all attacks on all targets."""

    scores: dict[str, FloatArray]
    """Attack → target × document."""
    curves: dict[str, Curve]
    n_targets: int
    n_shadows: int
    """Of each target."""
    claim: Claim | None = None

    def found(self, name: str, fpr: float) -> Found:
        curve = self.curves[name]
        bound = None if self.claim is None else implied_bound(fpr, *self.claim)
        return Found(fpr, curve.tpr_at(fpr), curve.resampled_tpr_at(fpr), bound)

    def to_json(self) -> dict[str, Any]:
        return {
            "n_targets": self.n_targets,
            "n_shadows": self.n_shadows,
            "claim": None if self.claim is None else self.claim._asdict(),
            "attacks": {name: self._row(name) for name in self.curves},
        }

    def _row(self, name: str) -> dict[str, Any]:
        curve = self.curves[name]
        row: dict[str, Any] = {
            "n_members": curve.n_members,
            "n_others": curve.n_others,
            "auc": curve.auc,
            "balanced_accuracy": curve.balanced_accuracy,
            "tpr": [],
        }
        for fpr in RATES:
            one = self.found(name, fpr)
            row["tpr"].append(
                {
                    "fpr": fpr,
                    "tpr": one.share.value,
                    "clopper_pearson": one.share.interval,
                    "resampled": one.resampled,
                    "bound": one.bound,
                }
            )
        return row


def attack(bank: Bank, claim: Claim | None = None) -> Attacked:
    """Every model of the bank is the target in turn, if words are public; else the first one alone."""
    if bank.plan.words == "public":
        scores = scores_of_each(bank.statistics, bank.members, bank.lengths)
        members = bank.members
    else:
        one = scores_of(bank.statistics[1:], bank.members[1:], bank.statistics[0], bank.lengths)
        scores, members = {name: one[name][None, :] for name in ATTACKS}, bank.members[:1]
    known = np.asarray(bank.lengths > 0)  # nothing can be said about a document without words
    curves = {name: Curve(np.where(known, score, np.nan), members) for name, score in scores.items()}
    return Attacked(scores, curves, len(members), bank.n_models - 1, claim)
