"""PrivateTrends against exact shares: abstracts of arXiv by year and month, and newsgroups by group with users."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet._types import AnyArray, FloatArray
from discreet.corpus import Corpus, datasets
from discreet.corpus.readers.tables import rows
from discreet.engines import open_slices
from discreet.experiments.compare import epsilons_of, expected
from discreet.experiments.data import as_public, whole
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval
from discreet.experiments.methods import quietly
from discreet.release.release import Release
from discreet.trends.model import PrivateTrends
from discreet.trends.slices import places_of

EPSILONS, DELTA = (0.25, 0.5, 1.0, 2.0), 1e-6
WANTED, WANTED_AT = 0.01, 0.5
"""The mean error of a share by year at this ε, at most: set before the first run."""

INSIDE = 1.96
"""Errors of a 95% interval."""

COLUMNS = {"arxiv": "date", "neurips-cvpr": "year"}
"""Where the dates of a named set stand in its file."""


def _settings(quick: bool) -> list[Setting]:
    if quick:
        small: Setting = {"dataset": "neurips-cvpr", "n_words": 200, "n_topics": 4, "model_epsilon": None, "sweeps": 15}
        years = {**small, "by": "year", "start": "2013", "end": "2019", "unit": "document"}
        return [{**years, "epsilon": epsilon} for epsilon in (0.5, 8.0)]
    arxiv: Setting = {"dataset": "arxiv", "n_words": 2000, "n_topics": 20, "model_epsilon": 1.0, "sweeps": None}
    arxiv |= {"unit": "document"}
    by_year = {**arxiv, "by": "year", "start": "2000", "end": "2019"}
    by_month = {**arxiv, "by": "month", "start": "2015", "end": "2019"}
    news: Setting = {"dataset": "20newsgroups", "n_words": 2000, "n_topics": 10, "model_epsilon": None, "sweeps": 150}
    by_group = {**news, "by": "class", "start": None, "end": None, "unit": "user"}
    return [
        *({**by_year, "epsilon": epsilon} for epsilon in EPSILONS),
        *({**by_month, "epsilon": epsilon} for epsilon in EPSILONS[1:]),
        *({**by_group, "epsilon": epsilon} for epsilon in EPSILONS[1:]),
    ]


@cache
def _corpus(dataset: str, n_words: int) -> Corpus:
    return as_public(whole(dataset).most_frequent(n_words))


@cache
def _dates(dataset: str) -> list[Any]:
    """The date of each document, in the order of the file."""
    where = next(Path(known.where) for known in datasets.available() if known.name == dataset)
    return [day for _, (day,) in rows(where, [COLUMNS[dataset]])]


@cache
def _model(dataset: str, n_words: int, n_topics: int, model_epsilon: float | None, sweeps: int | None) -> Release:
    """One model for all repetitions: what is judged is the noise of the trends."""
    corpus = _corpus(dataset, n_words)
    if model_epsilon is None:
        from discreet.models.lda import LDA

        return LDA(n_topics, n_sweeps=sweeps or 150, evaluate_every=0, random_state=0).fit(corpus).release()
    from discreet.models.private.model import PrivateLDA

    model = PrivateLDA(n_topics, epsilon=model_epsilon, delta=DELTA, random_state=0)
    found: Release = quietly(model.fit, corpus).release()
    return found


def _classes(setting: Setting) -> list[str] | None:
    return sorted(set(np.asarray(whole(setting["dataset"]).labels))) if setting["by"] == "class" else None


def _values(setting: Setting) -> Any:
    return whole(setting["dataset"]).labels if setting["by"] == "class" else _dates(setting["dataset"])


@cache
def _exact(release: Release, dataset: str, n_words: int, by: str, start: str, end: str, unit: str) -> FloatArray:
    """The sums without noise."""
    setting = {"dataset": dataset, "by": by}
    corpus = _corpus(dataset, n_words)
    slices = PrivateTrends(release, by=by, start=start, end=end, classes=_classes(setting)).slices()
    groups = corpus.users if unit == "user" else None
    places = places_of(slices, _values(setting), corpus.n_documents)
    engine, steps = open_slices(corpus, groups, places, len(slices.names)), 2.0**20
    found = engine.proportions(
        release.topics, release.alpha, alpha_rest=release.alpha_rest, scale=steps, clip=2 * steps
    )
    engine.close()
    return np.asarray(found / steps)


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    of = {key: setting[key] for key in ("dataset", "n_words")}
    release = _model(**of, **{key: setting[key] for key in ("n_topics", "model_epsilon", "sweeps")})
    sums = _exact(release, **of, **{key: setting[key] for key in ("by", "start", "end", "unit")})
    corpus = _corpus(**of)
    options: dict[str, Any] = {key: setting[key] for key in ("by", "start", "end", "epsilon")}
    key = round(1000 * setting["epsilon"]) * 1000 + seed  # each ε has noise of its own
    trends = PrivateTrends(
        release, classes=_classes(setting), delta=DELTA, public_model=True, random_state=key, **options
    )
    groups = corpus.groups if setting["unit"] == "user" else None
    found = quietly(
        trends.fit, Corpus(corpus.words, corpus.offsets, corpus.vocabulary), _values(setting), groups=groups
    )
    trend = found.trends_
    truth, shown = sums / sums.sum(axis=1, keepdims=True), trend.enough
    off, errors = np.abs(trend.shares - truth), trend.standard_errors
    if setting["by"] == "year":
        for i in np.flatnonzero(shown):
            yield {"year": int(trend.slices[i]), "error_of_year": float(off[i].mean())}
    measured = {
        "error": float(off[shown].mean()),
        "largest": float(off[shown].max()),
        "covered": float((off[shown] < INSIDE * errors[shown]).mean()),
        "shown": float(shown.mean()),
        "range": float(np.ptp(truth[shown], axis=0).mean()),
    }
    if setting["by"] != "class":
        measured |= _changes(trend, truth)
    yield measured


def _changes(trend: Any, truth: FloatArray) -> dict[str, float]:
    """From each slice that is shown to the next."""
    off: list[AnyArray] = []
    errors: list[AnyArray] = []
    for first, last in pairwise(np.flatnonzero(trend.enough).tolist()):
        moved, error = trend.change(first, last)
        off.append(np.abs(moved - (truth[last] - truth[first])))
        errors.append(error)
    inside = np.array(off) < INSIDE * np.array(errors)
    return {"change_error": float(np.mean(off)), "change_covered": float(inside.mean())}


# --- findings ---------------------------------------------------------------------------------------------------------


def _places(results: Results, **where: Any) -> Iterator[tuple[str, Setting]]:
    for dataset in results.levels("dataset", **where):
        for by in results.levels("by", dataset=dataset, **where):
            for epsilon in epsilons_of(results, dataset=dataset, by=by, **where):
                yield f"{dataset} by {by}, ε = {epsilon:g}", {"dataset": dataset, "by": by, "epsilon": epsilon}


def _within(results: Results) -> Iterator[Check]:
    for name, place in _places(results):
        if place["by"] == "year" and place["epsilon"] == WANTED_AT:
            yield Check.below(f"{name}: mean error of a share", results.interval("error", **place), WANTED)


def _covered(measure: str) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for name, place in _places(results):
            found = results.interval(measure, **place)
            if found.n:
                yield Check.between(f"{name}: share of the intervals that hold the exact number", found, 0.93, 0.97)

    return judge


def _falls(results: Results) -> Iterator[Check]:
    for dataset in results.levels("dataset"):
        for by in results.levels("by", dataset=dataset):
            place = {"dataset": dataset, "by": by}
            for low, high in pairwise(epsilons_of(results, **place)):
                found = results.ratio("error", {**place, "epsilon": high}, {**place, "epsilon": low})
                yield Check.below(f"{dataset} by {by}: error at ε = {high:g} over that at {low:g}", found, 1.0)


def _seen(results: Results) -> Iterator[Check]:
    """The range of the exact shares over the slices, over the mean error."""
    for name, place in _places(results):
        if place["by"] == "year" and place["epsilon"] == WANTED_AT:
            above, below = results.values("range", place), results.values("error", place)
            both = sorted(above.keys() & below.keys())
            found = Interval.of_ratio([above[i] for i in both], [below[i] for i in both])
            yield Check.above(f"{name}: range of a topic's share over the years, over its mean error", found, 5.0)


_ROWS = ("dataset", "by", "unit")


def _whole(row: Any) -> bool:
    return "year" not in row


TRENDS = Experiment(
    paper="private",
    figure="trends",
    title="PrivateTrends: shares of topics by time and class, against exact shares",
    source="Our own: nobody has published this table",
    grid=Grid(
        "private-trends",
        2,
        _settings,
        _cell,
        measures=(
            *("error", "largest", "covered", "shown", "range"),
            *("change_error", "change_covered", "error_of_year"),
        ),
        repetitions=20,
    ),
    findings=(
        Finding(
            "at ε = 0.5 the shares of topics by year are wrong by less than one point in the mean.",
            _within,
            said_by="our aim",
        ),
        Finding("95% intervals hold the exact shares, 93% to 97% of them.", _covered("covered"), said_by="our aim"),
        Finding(
            "95% intervals of changes hold the exact changes, 93% to 97% of them.",
            _covered("change_covered"),
            said_by="our aim",
        ),
        expected("the error falls as ε grows.", _falls),
        expected("at ε = 0.5 a topic's share moves over the years by at least five times its mean error.", _seen),
    ),
    tables=(
        Table(
            "Mean error of a share (1 is all of the text), in slices that are shown",
            "error",
            _ROWS,
            "epsilon",
            show=_whole,
        ),
        Table("The largest error of a share", "largest", _ROWS, "epsilon", show=_whole),
        Table("Share of the 95% intervals that hold the exact share", "covered", _ROWS, "epsilon", show=_whole),
        Table(
            "Mean error of a change from one slice to the next",
            "change_error",
            _ROWS,
            "epsilon",
            show=lambda row: _whole(row) and "change_error" in row,
        ),
        Table(
            "Share of the 95% intervals of changes that hold the exact change",
            "change_covered",
            _ROWS,
            "epsilon",
            show=lambda row: _whole(row) and "change_error" in row,
        ),
        Table("Share of the slices that are shown", "shown", _ROWS, "epsilon", show=_whole),
        Table(
            "Range of a topic's exact share over the slices, mean over topics", "range", _ROWS, "epsilon", show=_whole
        ),
    ),
    plots=(
        Plot(
            "Mean error of a share by year, arXiv",
            "year",
            "error_of_year",
            "epsilon",
            x_label="year",
            y_label="mean error of a share",
            log_y=True,
            show=lambda row: "year" in row,
        ),
    ),
    notes=(
        "The exact shares are those of the same topics and the same weights without noise, so that what is measured is "
        "the noise of the trends (and the grid), and not how good the topics are.",
        "*arxiv*: 120,000 abstracts by date, years 2000 to 2019 (260 abstracts in 2000, 23,061 in 2019) and months "
        "2015 to 2019; the 2,000 most frequent words taken as public; the topics of one PrivateLDA, K = 20, ε = 1. "
        "*20newsgroups*: the 20 groups as classes, users (senders) as units, who may write to several groups; the "
        "topics of one LDA, K = 10. δ = 1e-6.",
        "A repetition draws new noise; topics and documents stay. A slice is shown where its noisy size is at least "
        "five times the error of that; the others are left out of all means, which favours them a little.",
        "*largest* is that of all topics in all slices shown: the smallest slices have it.",
    ),
)
