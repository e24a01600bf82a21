"""What every page of membership attacks measures in a cell, judges and shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.membership.attacked import Attacked, Claim, attack
from discreet.attacks.membership.bank import Bank, Plan, open_bank
from discreet.attacks.membership.roc import Share, implied_bound
from discreet.attacks.membership.scores import ATTACKS, INVERTED, OFFLINE, ONLINE
from discreet.corpus import Corpus
from discreet.experiments.experiment import Finding, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval

DELTA = 1e-6

TPR, FROM, TO, ALLOWED = "TPR at 0.1% FPR", "from", "to", "allowed"
LOOSE, AUC, ACCURACY = "TPR at 1% FPR", "AUC", "balanced accuracy"


def bank_of(documents: Corpus, plan: Plan, shadows: int, *, kept: bool) -> Bank:
    """If ``kept``, models are in the user's cache one by one: a cell that is stopped goes on where it was."""
    import pooch

    folder = Path(pooch.os_cache("discreet")) / "attack"
    how: dict[str, Any] = {"folder": folder} if kept else {"folder": None, "n_processes": 1}
    return open_bank(documents, plan, shadows + 1, **how)


def measured(bank: Bank, claim: Claim | None, *, draw_allowed: bool = False) -> Iterator[Point]:
    """The points of a cell. ``draw_allowed``: what the claim allows is a line of the figure too."""
    found = attack(bank, claim)
    yield from _curve(found, draw_allowed)
    yield from (
        {"attack": name, "measured": what, "value": value} for name in ATTACKS for what, value in _row(found, name)
    )
    yield {"attack": ONLINE, "measured": "seconds per model", "value": float(np.median(bank.seconds))}


def _row(found: Attacked, name: str) -> Iterator[tuple[str, float]]:
    """``from`` and ``to`` are the ends of both intervals together."""
    strict, loose = (found.found(name, fpr) for fpr in (0.001, 0.01))
    yield TPR, strict.share.value
    ends = [*strict.share.interval, *strict.resampled]
    yield FROM, min(ends)
    yield TO, max(ends)
    if strict.bound is not None:
        yield ALLOWED, strict.bound
    yield LOOSE, loose.share.value
    yield AUC, found.curves[name].auc
    yield ACCURACY, found.curves[name].balanced_accuracy


def _curve(found: Attacked, draw_allowed: bool) -> Iterator[Point]:
    """What is drawn: online LiRA, and what (ε, δ) allows. A share of 0 has no place on a logarithmic axis."""
    curve = found.curves[ONLINE]
    for fpr in np.geomspace(1e-4, 1.0, 17):
        share: Share = curve.tpr_at(float(fpr))
        if share.k and fpr * curve.n_others >= 1:
            yield {"fpr": float(f"{fpr:.4g}"), "tpr": share.value}
        if found.claim is not None and draw_allowed:
            line = f"allowed by ε = {found.claim.epsilon:g}, δ = {found.claim.delta:g}"
            yield {"line": line, "fpr": float(f"{fpr:.4g}"), "tpr": implied_bound(float(fpr), *found.claim)}


# --- findings ---------------------------------------------------------------------------------------------------------


def interval_of(results: Results, where: Setting, name: str = ONLINE) -> Interval | None:
    """TPR at 0.1% FPR, from the pooled decisions of one bank: the wider ends of both intervals."""
    values = [
        list(results.values("value", {**where, "attack": name, "measured": what}).values()) for what in (TPR, FROM, TO)
    ]
    return None if not all(values) else Interval(values[0][0], values[1][0], values[2][0], len(values[0]) + 1)


def each(results: Results, **where: Any) -> Iterator[tuple[str, Setting]]:
    """Every setting that was run: its name, and its coordinates."""
    keys = ("dataset", "n_topics", "method", "epsilon", "words", "shadows")
    rows = [row for row in results.rows if "measured" in row and all(row.get(k) == v for k, v in where.items())]
    for values in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        place = dict(zip(keys, values, strict=True))
        yield str(next(row["line"] for row in rows if all(row[k] == v for k, v in place.items()))), place


def stronger(results: Results) -> Iterator[Check]:
    for name, place in each(results, epsilon=None):
        best = max(ATTACKS[ATTACKS.index(INVERTED) + 1 :], key=lambda a: _high(results, place, a))
        found = interval_of(results, place)
        if found is not None:
            yield Check.above(f"{name}, against {best}", found, _high(results, place, best))


def inverted(results: Results) -> Iterator[Check]:
    for name, place in each(results, epsilon=None):
        found = interval_of(results, place, INVERTED)
        if found is not None:
            yield Check.below(name, found, 0.001)


def _high(results: Results, place: Setting, name: str) -> float:
    found = interval_of(results, place, name)
    return 1.0 if found is None else found.high


def allowed(results: Results) -> Iterator[Check]:
    for name, place in each(results):
        for kind in (ONLINE, OFFLINE):
            found = interval_of(results, place, kind)
            bound = list(results.values("value", {**place, "attack": kind, "measured": ALLOWED}).values())
            if found is not None and bound:
                yield Check.below(f"{name}, {kind}", found, bound[0])


def finding(text: str, judge: Callable[[Results], Iterable[Check]], said_by: str) -> Finding:
    return Finding(text, judge, said_by=said_by)


def plot(title: str, show: Callable[[Any], bool]) -> Plot:
    return Plot(
        title,
        "fpr",
        "tpr",
        "line",
        x_label="false positives",
        y_label="true positives",
        log_x=True,
        log_y=True,
        show=show,
    )


ROWS = ("dataset", "n_topics", "method", "words", "shadows", "epsilon")
TABLES = (
    Table("Online LiRA", "value", ROWS, "measured", show=lambda row: row.get("attack") == ONLINE),
    Table(
        "True positives at 0.1% false ones, by attack",
        "value",
        ROWS,
        "attack",
        show=lambda row: row.get("measured") == TPR,
    ),
)
HOW = (
    "Every document enters the training set of each model by a fair coin of its own. Every model is the target "
    "once, with all others as its shadows, and decisions are pooled over targets; with the words of the target "
    "there is one target.",
    "*from* and *to* are the wider ends of two intervals of 95%: Clopper and Pearson's over all pooled decisions, "
    "which are not independent, and one that resamples documents (all scores of a document together), threshold "
    "included. *allowed* is the most that any attack on an (ε, δ) method can have at this rate of false positives.",
    "The statistic is max over θ of log p(d | θ, φ), to 0.01 nats; a Gaussian with and one without the document, "
    "each with its own variance.",
)
