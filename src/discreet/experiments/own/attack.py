"""LiRA against plain and private methods: how many training documents do published topics give away?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.membership.attacked import Attacked, Claim, attack
from discreet.attacks.membership.bank import Bank, Plan, open_bank
from discreet.attacks.membership.recipe import Recipe
from discreet.attacks.membership.roc import Share, implied_bound
from discreet.attacks.membership.scores import ATTACKS, INVERTED, OFFLINE, ONLINE
from discreet.corpus import Corpus
from discreet.experiments.compare import expected
from discreet.experiments.data import whole
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval

DELTA = 1e-6
SHADOWS, FEWER = 128, 32
SCIKIT, PLAIN, PRIVATE, ADAPTED = "scikit-learn's LDA", "LDA", "PrivateLDA", "AdaptedLDA"
EPSILONS = (1.0, 0.5, 2.0, 4.0, 8.0, 16.0)
"""The one that the aim is about first: a run that is stopped has it."""

TPR, FROM, TO, ALLOWED = "TPR at 0.1% FPR", "from", "to", "allowed"
LOOSE, AUC, ACCURACY = "TPR at 1% FPR", "AUC", "balanced accuracy"

PUBLISHED = {("nips", 10): 0.449, ("nips", 25): 0.725, ("20newsgroups", 10): 0.211}
"""TPR at 0.1% FPR of Manzonelli et al. 2024: online LiRA, 128 shadows, scikit-learn's LDA."""
NEAR = 0.1
"""How far from the published share ours may be: they have one target of 750 members, and other documents in it."""

OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "VariationalLDA": ("discreet.models.variational.model", "VariationalLDA", {"delta": DELTA}),
    "SpectralLDA": ("discreet.models.spectral.model", "SpectralLDA", {"delta": DELTA}),
    "SubsampledLDA": ("discreet.models.subsampled.model", "SubsampledLDA", {"delta": DELTA}),
    "HybridLDA": ("discreet.models.hybrid.model", "HybridLDA", {"delta": DELTA}),
    "LocalLDA": ("discreet.models.local.model", "LocalLDA", {}),
    ADAPTED: ("discreet.models.adapted.model", ADAPTED, {"delta": DELTA, "public": "english"}),
}
"""Other private methods: module, class, parameters. The ε of HybridLDA is of a word, that of LocalLDA of a bit."""
PROTECT_DOCUMENTS = (PRIVATE, "VariationalLDA", "SpectralLDA", "SubsampledLDA", ADAPTED)

LATER = ("SpectralLDA", ADAPTED)
"""Those of ``private attack-more``."""

SMALL: Setting = {"dataset": "nips", "n_topics": 3, "n_documents": 80, "n_words": 200, "shadows": 12}
NIPS: Setting = {"dataset": "nips", "n_topics": 10, "n_documents": None, "n_words": None, "shadows": SHADOWS}


def _settings(quick: bool) -> list[Setting]:
    """NIPS with ten topics, in order of what is asked first."""
    if quick:
        return [
            _setting(SMALL, PLAIN, effort=4),
            _setting(SMALL, PLAIN, effort=4, words="target"),
            _setting(SMALL, PRIVATE, 1.0, effort=2),
        ]
    few = {**NIPS, "shadows": FEWER}  # a part of the larger bank: what fewer shadows find
    found = [_setting(few, SCIKIT), _setting(few, PRIVATE, 1.0), _setting(few, PLAIN)]
    found += [_setting(NIPS, SCIKIT), _setting(NIPS, PRIVATE, 1.0), _setting(NIPS, PLAIN)]
    found += [_setting(NIPS, SCIKIT, words="target")]
    found += [_setting(NIPS, PRIVATE, epsilon) for epsilon in EPSILONS[1:]]
    return found + [_setting(few, name, e) for name in OTHERS if name not in LATER for e in (1.0, 8.0)]


def _more_settings(quick: bool) -> list[Setting]:
    """More topics, 20 Newsgroups, and methods that take longer."""
    if quick:
        return [_setting({**SMALL, "n_topics": 5}, SCIKIT)]
    more, news = {**NIPS, "n_topics": 25}, {**NIPS, "dataset": "20newsgroups", "n_words": 10_000}
    found = [_setting(more, SCIKIT), _setting(more, PLAIN)]
    for name in LATER:  # SpectralLDA has a cell for each pair of words
        place = {**NIPS, "shadows": FEWER, "n_words": 3_000 if name == "SpectralLDA" else None}
        found += [_setting(place, name, epsilon) for epsilon in (1.0, 8.0)]
    return [*found, _setting(news, PLAIN), _setting(news, SCIKIT)]


def _setting(
    common: Setting, method: str, epsilon: float | None = None, *, words: str = "public", effort: int | None = None
) -> Setting:
    line = method if epsilon is None else f"{method}, ε = {epsilon:g}"
    line = f"{common['dataset']}, K = {common['n_topics']}: {line}{', words of the target' * (words == 'target')}"
    line += f", {FEWER} shadows" if common["shadows"] == FEWER else ""
    return {**common, "method": method, "epsilon": epsilon, "words": words, "effort": effort, "line": line}


def recipe_of(setting: Setting) -> Recipe:
    """``effort`` is None for the model's own sweeps or rounds."""
    k, epsilon, effort, method = (setting[key] for key in ("n_topics", "epsilon", "effort", "method"))
    if method == SCIKIT:
        return Recipe.scikit_learn(k)
    if method == PLAIN:
        sweeps = {} if effort is None else {"n_sweeps": effort, "n_average": 1}
        fixed = {"n_topics": k, "evaluate_every": 0, "algorithm": "sampled"}
        return Recipe("discreet.models.lda", "LDA", {**fixed, **sweeps})
    if method == PRIVATE:
        rounds = {} if effort is None else {"n_rounds": effort}
        parameters = {"n_topics": k, "epsilon": epsilon, "delta": DELTA, **rounds}
        return Recipe("discreet.models.private.model", "PrivateLDA", parameters)
    home, name, more = OTHERS[method]
    budget = {"epsilon_bit" if method == "LocalLDA" else "epsilon": epsilon}
    topics = {} if method == ADAPTED else {"n_topics": k}  # it has those of the public text
    return Recipe(home, name, {**topics, **budget, **more})


@cache
def _documents(name: str, n_documents: int | None, n_words: int | None) -> Corpus:
    corpus = whole(name)[: n_documents or None]
    return corpus if n_words is None else corpus.most_frequent(n_words)


def bank_of(setting: Setting, seed: int) -> Bank:
    """Models are kept in the user's cache one by one: a cell that is stopped goes on where it was."""
    import pooch

    folder = Path(pooch.os_cache("discreet")) / "attack"
    documents = _documents(setting["dataset"], setting["n_documents"], setting["n_words"])
    plan, few = Plan(recipe_of(setting), setting["words"], seed), setting["n_documents"] is not None
    how: dict[str, Any] = {"folder": None, "n_processes": 1} if few else {"folder": folder}
    return open_bank(documents, plan, setting["shadows"] + 1, **how)


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    bank = bank_of(setting, seed)
    claim = Claim(setting["epsilon"], DELTA) if setting["method"] in PROTECT_DOCUMENTS else None
    found = attack(bank, claim)
    yield from _curve(setting, found)
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


def _curve(setting: Setting, found: Attacked) -> Iterator[Point]:
    """What is drawn: online LiRA, and what (ε, δ) allows. A share of 0 has no place on a logarithmic axis."""
    curve = found.curves[ONLINE]
    rates = np.geomspace(1e-4, 1.0, 17)
    for fpr in rates:
        share: Share = curve.tpr_at(float(fpr))
        if share.k and fpr * curve.n_others >= 1:
            yield {"fpr": float(f"{fpr:.4g}"), "tpr": share.value}
        once = setting["epsilon"] == 1.0 and setting["method"] == PRIVATE and setting["shadows"] != FEWER
        if found.claim is not None and once:
            line = f"allowed by ε = 1, δ = {DELTA:g}"
            yield {"line": line, "fpr": float(f"{fpr:.4g}"), "tpr": implied_bound(float(fpr), *found.claim)}


# --- findings ---------------------------------------------------------------------------------------------------------


def interval_of(results: Results, where: Setting, name: str = ONLINE) -> Interval | None:
    """TPR at 0.1% FPR, from the pooled decisions of one bank: the wider ends of both intervals."""
    values = [
        list(results.values("value", {**where, "attack": name, "measured": what}).values()) for what in (TPR, FROM, TO)
    ]
    return None if not all(values) else Interval(values[0][0], values[1][0], values[2][0], len(values[0]) + 1)


def _each(results: Results, **where: Any) -> Iterator[tuple[str, Setting]]:
    """Every setting that was run: its name, and its coordinates."""
    keys = ("dataset", "n_topics", "method", "epsilon", "words", "shadows")
    rows = [row for row in results.rows if "measured" in row and all(row.get(k) == v for k, v in where.items())]
    for values in dict.fromkeys(tuple(row[key] for key in keys) for row in rows):
        place = dict(zip(keys, values, strict=True))
        yield str(next(row["line"] for row in rows if all(row[k] == v for k, v in place.items()))), place


def _as_published(*settings: tuple[str, int]) -> Callable[[Results], Iterator[Check]]:
    """With public words, and with the target's, which the published attack has. What was not run is undecided."""

    def judge(results: Results) -> Iterator[Check]:
        for dataset, k in settings:
            wanted = PUBLISHED[dataset, k]
            runs = dict(_each(results, method=SCIKIT, shadows=SHADOWS, dataset=dataset, n_topics=k))
            for name, place in runs.items() or [(f"{dataset}, K = {k}", {})]:
                found = interval_of(results, place) if place else None
                yield Check.between(name, found or Interval.of([]), wanted - NEAR, wanted + NEAR)

    return judge


def _stronger(results: Results) -> Iterator[Check]:
    for name, place in _each(results, epsilon=None):
        best = max(ATTACKS[ATTACKS.index(INVERTED) + 1 :], key=lambda a: _high(results, place, a))
        found = interval_of(results, place)
        if found is not None:
            yield Check.above(f"{name}, against {best}", found, _high(results, place, best))


def _inverted(results: Results) -> Iterator[Check]:
    for name, place in _each(results, epsilon=None):
        found = interval_of(results, place, INVERTED)
        if found is not None:
            yield Check.below(name, found, 0.001)


def _high(results: Results, place: Setting, name: str) -> float:
    found = interval_of(results, place, name)
    return 1.0 if found is None else found.high


def _words_help(results: Results) -> Iterator[Check]:
    for name, place in _each(results, words="target"):
        public, found = interval_of(results, {**place, "words": "public"}), interval_of(results, place)
        if public is not None and found is not None:
            yield Check.above(f"{name}: more than with public words", found, public.high)


def _little(results: Results) -> Iterator[Check]:
    for name, place in _each(results, method=PRIVATE, epsilon=1.0):
        found = interval_of(results, place)
        if found is not None:
            yield Check.below(name, found, 0.002)


def _allowed(results: Results) -> Iterator[Check]:
    for name, place in _each(results):
        for kind in (ONLINE, OFFLINE):
            found = interval_of(results, place, kind)
            bound = list(results.values("value", {**place, "attack": kind, "measured": ALLOWED}).values())
            if found is not None and bound:
                yield Check.below(f"{name}, {kind}", found, bound[0])


def _finding(text: str, judge: Callable[[Results], Iterable[Check]], said_by: str) -> Finding:
    return Finding(text, judge, said_by=said_by)


def _plot(title: str, show: Callable[[Any], bool]) -> Plot:
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


_ROWS = ("dataset", "n_topics", "method", "words", "shadows", "epsilon")
THEIRS = "Manzonelli, Zhang and Vadhan 2024"

_TABLES = (
    Table("Online LiRA", "value", _ROWS, "measured", show=lambda row: row.get("attack") == ONLINE),
    Table(
        "True positives at 0.1% false ones, by attack",
        "value",
        _ROWS,
        "attack",
        show=lambda row: row.get("measured") == TPR,
    ),
)
_HOW = (
    "Every document enters the training set of each model by a fair coin of its own. Every model is the target "
    "once, with all others as its shadows, and decisions are pooled over targets; with the words of the target "
    "there is one target.",
    "*from* and *to* are the wider ends of two intervals of 95%: Clopper and Pearson's over all pooled decisions, "
    "which are not independent, and one that resamples documents (all scores of a document together), threshold "
    "included. *allowed* is the most that any attack on an (ε, δ) method can have at this rate of false positives.",
    "The statistic is max over θ of log p(d | θ, φ), to 0.01 nats; a Gaussian with and one without the document, "
    "each with its own variance.",
)

ATTACK = Experiment(
    paper="private",
    figure="attack",
    title="Membership attacks on topic models",
    source=f"Our own, with the setting and the published figures of {THEIRS} (TMLR)",
    grid=Grid("private-attack", 2, _settings, _cell, measures=("value", "tpr"), repetitions=1),
    findings=(
        _finding(
            "LiRA recognises 44.9% of the training documents of NIPS at 0.1% false positives with 10 topics.",
            _as_published(("nips", 10)),
            THEIRS,
        ),
        _finding("LiRA is stronger than thresholds that are the same for all documents.", _stronger, THEIRS),
        expected("their offline score has the wrong sign: as printed it finds no more than chance.", _inverted),
        expected("words that are read from the target's documents give members away.", _words_help),
        _finding("PrivateLDA at ε = 1: at most 0.2% true positives at 0.1% false ones.", _little, "our aim"),
        expected("no attack finds more than (ε, δ) allows.", _allowed),
    ),
    tables=_TABLES,
    plots=(
        _plot("Online LiRA without privacy", lambda row: row["epsilon"] is None),
        _plot("Online LiRA with privacy", lambda row: row["method"] == PRIVATE),
    ),
    notes=(
        *_HOW,
        "NIPS with all 12,419 words. scikit-learn's LDA and PrivateLDA have their defaults; LDA: sampled, 200 sweeps, "
        "α = 0.1, β = 0.01. δ = 1e-6.",
        "HybridLDA's ε protects a word and LocalLDA's a bit of a report, so neither allows a bound for documents. "
        "PrivateCrossLDA is left out: it has several tables of topics.",
        "More topics, 20 Newsgroups, SpectralLDA and AdaptedLDA: `private attack-more`.",
    ),
)

MORE = Experiment(
    paper="private",
    figure="attack-more",
    title="Membership attacks on topic models: more topics, 20 Newsgroups, and slower methods",
    source=f"Our own, with the setting and the published figures of {THEIRS} (TMLR)",
    grid=Grid("private-attack-more", 1, _more_settings, _cell, measures=("value", "tpr"), repetitions=1),
    findings=(
        _finding(
            "LiRA recognises 72.5% of the training documents of NIPS at 0.1% false positives with 25 topics, and 21.1% "
            "of 20 Newsgroups with 10.",
            _as_published(("nips", 25), ("20newsgroups", 10)),
            THEIRS,
        ),
        _finding("LiRA is stronger than thresholds that are the same for all documents.", _stronger, THEIRS),
        expected("their offline score has the wrong sign: as printed it finds no more than chance.", _inverted),
        expected("no attack finds more than (ε, δ) allows.", _allowed),
    ),
    tables=_TABLES,
    plots=(_plot("Online LiRA", lambda row: True),),
    notes=(
        *_HOW,
        "NIPS with all 12,419 words, for SpectralLDA the 3,000 most frequent. 20 Newsgroups: all 18,846 posts, the "
        "10,000 most frequent words. scikit-learn's LDA has its defaults; LDA: sampled, 200 sweeps.",
        "AdaptedLDA: the model of English that comes with the package is its public text (200 topics).",
    ),
)
