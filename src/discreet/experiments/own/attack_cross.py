"""LiRA against methods that compare collections, and against CDP-LDA: do their topics give training documents away?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from discreet.attacks.membership.attacked import Claim
from discreet.attacks.membership.bank import Plan
from discreet.attacks.membership.recipe import Recipe
from discreet.attacks.membership.roc import implied_bound
from discreet.corpus import Corpus
from discreet.experiments.compare import expected
from discreet.experiments.data import whole
from discreet.experiments.experiment import Experiment, Grid, Point, Results, Setting
from discreet.experiments.intervals import Check
from discreet.experiments.own.membership import (
    DELTA,
    HOW,
    TABLES,
    allowed,
    bank_of,
    each,
    finding,
    interval_of,
    measured,
    plot,
    stronger,
)

SHADOWS = 32
EPSILONS = (1.0, 8.0)
PLAIN, PLAIN_CROSS, PRIVATE, HYBRID = "LDA", "CrossLDA", "PrivateCrossLDA", "HybridCrossLBLA"
HYBRID_PUBLISHED, LAPLACE_CROSS = "HPP-ccLBLA as published", "CDP-ccLBLA+ as published"
CDP, CDP_PLUS = "CDP-LDA as published", "CDP-LDA+ as published"

RECIPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    PLAIN: ("discreet.models.lda", "LDA", {"evaluate_every": 0, "algorithm": "sampled"}),
    PLAIN_CROSS: ("discreet.models.cross.model", "CrossLDA", {}),
    PRIVATE: ("discreet.models.cross.private", "PrivateCrossLDA", {"delta": DELTA}),
    HYBRID: ("discreet.models.cross.hybrid", "HybridCrossLBLA", {"delta": DELTA}),
    HYBRID_PUBLISHED: ("discreet.models.cross.hybrid", "HybridCrossLBLA", {"as_published": True}),
    LAPLACE_CROSS: ("discreet.models.cross.laplace", "LaplaceCrossLBLA", {"as_published": True}),
    CDP: ("discreet.models.laplace", "LaplaceLDA", {"as_published": True}),
    CDP_PLUS: ("discreet.models.laplace", "LaplaceLDA", {"as_published": True, "every_sweep": True}),
}
"""Method: module, class, parameters."""

PUBLISHED = (HYBRID_PUBLISHED, LAPLACE_CROSS, CDP, CDP_PLUS)
"""Their ε is of one sweep, or of the noise before the first, for a word; and only claimed."""

SWEEPS = 100
"""Of the published forms with collections, as on our pages of the paper."""

CHANCE, CONTROL = 0.001, 0.01
"""True positives at 0.1% false ones that a guess has; ten times that is a leak that the attack must find."""

SMALL: Setting = {"dataset": "neurips-cvpr", "every": 80, "n_topics": 3, "n_words": 200, "shadows": 12, "sweeps": 4}
ABSTRACTS: Setting = {
    "dataset": "neurips-cvpr",
    "every": 4,
    "n_topics": 10,
    "n_words": 5_000,
    "shadows": SHADOWS,
    "sweeps": None,
}


def _settings(quick: bool) -> list[Setting]:
    if quick:
        return [_setting(SMALL, PLAIN_CROSS), _setting(SMALL, PRIVATE, 1.0), _setting(SMALL, LAPLACE_CROSS, 8.0)]
    found = [_setting(ABSTRACTS, PLAIN_CROSS), _setting(ABSTRACTS, PLAIN)]
    found += [_setting(ABSTRACTS, name, e) for name in (PRIVATE, HYBRID, CDP, CDP_PLUS) for e in EPSILONS]
    sequential = {**ABSTRACTS, "sweeps": SWEEPS}  # noise for each token or each cell of a sweep: slow
    return found + [_setting(sequential, name, e) for name in (HYBRID_PUBLISHED, LAPLACE_CROSS) for e in EPSILONS]


def _setting(common: Setting, method: str, epsilon: float | None = None) -> Setting:
    line = method if epsilon is None else f"{method}, ε = {epsilon:g}"
    return {**common, "method": method, "epsilon": epsilon, "words": "public", "line": line}


def recipe_of(setting: Setting) -> Recipe:
    """``sweeps`` is None for the model's own sweeps or rounds."""
    method, epsilon, sweeps = setting["method"], setting["epsilon"], setting["sweeps"]
    home, name, more = RECIPES[method]
    parameters = {"n_topics": setting["n_topics"], **more}
    if sweeps is not None:
        average = {"n_average": 1} if method in (PLAIN, PLAIN_CROSS, HYBRID) else {}
        parameters |= {"n_rounds" if method == PRIVATE else "n_sweeps": sweeps, **average}
    if method == HYBRID_PUBLISHED:
        parameters |= {"epsilon_laplace": epsilon / 2, "epsilon_inherent": epsilon / 2}
    elif epsilon is not None:
        parameters["epsilon"] = epsilon
    return Recipe(home, name, parameters)


@cache
def _documents(name: str, every: int, n_words: int) -> Corpus:
    """Evenly spaced: some of every collection."""
    return whole(name)[::every].most_frequent(n_words)


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    documents = _documents(setting["dataset"], setting["every"], setting["n_words"])
    bank = bank_of(
        documents, Plan(recipe_of(setting), seed=seed), setting["shadows"], kept=setting["shadows"] == SHADOWS
    )
    claim = Claim(setting["epsilon"], DELTA) if setting["method"] == PRIVATE else None
    yield from measured(bank, claim, draw_allowed=setting["epsilon"] == 1.0)


# --- findings ---------------------------------------------------------------------------------------------------------


def _control(results: Results) -> Iterator[Check]:
    for name, place in each(results, epsilon=None):
        found = interval_of(results, place)
        if found is not None:
            yield Check.above(name, found, CONTROL)


def _less(results: Results) -> Iterator[Check]:
    plain = next((interval_of(results, place) for _, place in each(results, method=PLAIN_CROSS)), None)
    for name, place in each(results, method=PRIVATE):
        found = interval_of(results, place)
        if found is not None and plain is not None:
            yield Check.below(f"{name}: less than {PLAIN_CROSS}", found, plain.low)


def _as_if_without(results: Results) -> Iterator[Check]:
    """Against what an ε of documents would allow, which it does not claim."""
    for name, place in each(results, method=CDP, epsilon=1.0):
        found = interval_of(results, place)
        if found is not None:
            yield Check.above(name, found, implied_bound(CHANCE, 1.0, 0.0))


ATTACK_CROSS = Experiment(
    paper="private",
    figure="attack-cross",
    title="Membership attacks on models that compare collections, and on CDP-LDA",
    source="Our own: nobody has published this table",
    grid=Grid("private-attack-cross", 1, _settings, _cell, measures=("value", "tpr"), repetitions=1),
    findings=(
        expected(
            "without privacy the attack finds more than 1% of the members at 0.1% false ones, ten times what a guess "
            "finds: it works.",
            _control,
        ),
        expected("LiRA is stronger than thresholds that are the same for all documents.", stronger),
        finding("no attack finds more than (ε, δ) allows.", allowed, "our aim"),
        expected("PrivateCrossLDA gives fewer documents away than CrossLDA.", _less),
        expected(
            "CDP-LDA with ε = 1 gives more documents away than an ε of documents would allow; its ε is of a word, and "
            "only claimed.",
            _as_if_without,
        ),
    ),
    tables=TABLES,
    plots=(
        plot("Online LiRA: collections", lambda row: row["method"] in (PLAIN_CROSS, PRIVATE, HYBRID)),
        plot(
            "Online LiRA: published forms",
            lambda row: row["method"] in (PLAIN, *PUBLISHED) and not str(row["line"]).startswith("allowed"),
        ),
    ),
    notes=(
        *HOW,
        "The attacker knows the collection of a document, and reads it with the table of that collection, "
        "A = (1 − ψ)·φ + ψ·σ.",
        "Every fourth abstract of NeurIPS and CVPR (2,182; the conference is the collection), 5,000 most frequent "
        "words taken as public, K = 10, δ = 1e-6. All methods have their defaults, but HPP-ccLBLA and "
        "CDP-ccLBLA+ 100 sweeps; LDA: sampled, 200 sweeps. LDA and CDP-LDA read no collections.",
        "PrivateCrossLDA alone promises something for documents. The ε of HybridCrossLBLA is of a word; that of the "
        "published forms is claimed, for a word and for one sweep (CDP-LDA: for the noise before the first), and HPP-"
        "ccLBLA has half of it in each of its two parts. None of these allows a bound for documents.",
        "OnlineLocalLDA is not here: its reports are those of LocalLDA, which `private attack` attacks, and a stream "
        "gives a table after each batch, so that no one set of members belongs to a table.",
    ),
)
