"""LP-LDA against CDP-LDA, and training that knows the noise against both: Figure 6 of Zhao et al. 2021, Figure 2 of
2019, and our own comparison. They share runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discreet.experiments.compare import against_epsilon, at_each_epsilon, epsilons_of, expected
from discreet.experiments.data import JUDGED, STAND_IN, Split, each_word_once, judged, zhao_split
from discreet.experiments.experiment import Experiment, Finding, Grid, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.zhao2021.figure5 import NO_CLIP, SOURCE

BETA = 0.01
EPSILONS = (1.0, 2.0, 3.0, 5.0, 7.6)
"""ε of one bit. Zhao 2019 has f from 0.5 to 0.001: ε from 1.0986 (misprinted 1.089) to 7.6."""

STRONG = (1.0, 2.0, 3.0)

LOCAL, FIXED, LP, CDP = "LocalLDA", "LocalLDA, no background", "LP-LDA as published", "CDP-LDA"
PLAIN = "non-private"
CLOSE, FAR_LESS = 1.05, 0.95
"""Ratios of perplexities by which we read “close” and “much better”, “far less”."""


def settings(quick: bool, alpha: float, own: bool) -> list[Setting]:
    """Both papers: 1,000 most frequent words, K = 50, β = 0.01, 300 sweeps."""
    if quick:
        size: Setting = {"n_documents": 150, "n_words": 100, "n_topics": 5, "sweeps": 5}
        return _methods({"dataset": "kos", "alpha": alpha, **size}, (1.0, 3.0), own)
    size = {"n_documents": None, "n_words": 1000, "n_topics": 50, "sweeps": 300}
    found: list[Setting] = []
    for name in ("kos", "nips", "enron"):
        found += _methods({"dataset": name, "alpha": alpha, **size}, EPSILONS, own)
    return found


def _methods(common: Setting, epsilons: tuple[float, ...], own: bool) -> list[Setting]:
    """Our own comparison first: a run that is stopped early has its results."""
    found = [{**common, "method": m, "epsilon": e} for e in epsilons if e in STRONG for m in (LOCAL, FIXED) if own]
    found += [{**common, "method": m, "epsilon": e} for e in epsilons for m in (LP, CDP)]
    return [*found, {**common, "method": PLAIN, "epsilon": None}]


def cell(setting: Setting, seed: int) -> Iterator[Point]:
    split = zhao_split(setting["dataset"], setting["n_words"], setting["n_documents"])
    once = Split(*map(each_word_once, split))
    topics = model_of(setting, seed).fit(once.train).components_
    yield judged(topics, once, setting["alpha"])


def model_of(setting: Setting, seed: int) -> Any:
    from discreet.models.hybrid.model import HybridLDA
    from discreet.models.laplace import LaplaceLDA
    from discreet.models.local.model import LocalLDA

    k, method, epsilon = setting["n_topics"], setting["method"], setting["epsilon"]
    common: dict[str, Any] = {"alpha": setting["alpha"], "beta": BETA, "n_sweeps": setting["sweeps"]}
    common["random_state"] = seed
    if method == CDP:
        return LaplaceLDA(k, epsilon=epsilon, as_published=True, **common)
    if method == PLAIN:
        return HybridLDA(k, epsilon_inherent=NO_CLIP, as_published=True, **common)
    forms: dict[str, dict[str, Any]] = {LOCAL: {}, FIXED: {"background": 0.0}, LP: {"as_published": True}}
    return LocalLDA(k, epsilon_bit=epsilon, **forms[method], **common)


def _grid(name: str, alpha: float, own: bool) -> Grid:
    return Grid(name, 1, lambda quick: settings(quick, alpha, own), cell, JUDGED, repetitions=3)


LP_GRID_2021 = _grid("zhao2021-local", 1.0, own=False)
LP_GRID_2019 = _grid("zhao2019-local", 0.1, own=True)


def knows_noise(row: Any) -> bool:
    """What our own comparison shows of the runs."""
    return row["method"] in (LOCAL, FIXED, LP, PLAIN) and row["epsilon"] in (None, *STRONG)


def _falls(results: Results) -> Iterator[Check]:
    for name in results.levels("dataset"):
        low, high = (f(epsilons_of(results, dataset=name)) for f in (min, max))
        for method in (LP, CDP):
            place = {"dataset": name, "method": method}
            found = results.ratio("perplexity", {**place, "epsilon": high}, {**place, "epsilon": low})
            yield Check.below(f"{name}, {method}: perplexity at ε = {high:g} over that at {low:g}", found, 1.0)


def _at(which: Callable[[list[float]], float], one: str, other: str, bound: float) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for name in results.levels("dataset"):
            epsilon = which(epsilons_of(results, dataset=name))
            place = {"dataset": name, "epsilon": epsilon}
            below = {**place, "method": other, "epsilon": None if other == PLAIN else epsilon}
            found = results.ratio("perplexity", {**place, "method": one}, below)
            yield Check.below(f"{name}, ε = {epsilon:g}: {one} over {other}", found, bound)

    return judge


def better(measure: str, one: str, other: str) -> Any:
    """The ratio of two methods' perplexities is below 1 at each ε at which both ran."""

    def judge(results: Results) -> Iterator[Check]:
        for where, place in at_each_epsilon(results, "dataset"):
            if results.values(measure, {**place, "method": one}):
                found = results.ratio(measure, {**place, "method": one}, {**place, "method": other})
                yield Check.below(f"{where}: {one} over {other}", found, 1.0)

    return judge


def lp_findings() -> tuple[Finding, ...]:
    """What both papers say of their figures."""
    return (
        Finding("the perplexity of LP-LDA and of CDP-LDA falls as ε grows.", _falls),
        Finding("for small ε CDP-LDA is better than LP-LDA.", _at(min, CDP, LP, 1.0)),
        Finding("for large ε LP-LDA is much better than CDP-LDA.", _at(max, LP, CDP, FAR_LESS)),
        Finding("LP-LDA comes close to the non-private model as ε grows.", _at(max, LP, PLAIN, CLOSE)),
    )


TITLES = {
    "perplexity": "Perplexity as the papers measure it (fold-in)",
    "completion": "Completion perplexity",
    "over_unigram": "The same over the unigram model's: from 1 on, no topics were found",
}


def tables(show: Callable[[Any], bool] = lambda row: True) -> tuple[Table, ...]:
    return tuple(Table(title, name, ("dataset", "method"), "epsilon", show=show) for name, title in TITLES.items())


NOTES = (
    "Each document is a set of words: trained and tested on presences, which is what the papers' tables count "
    "(209,169, 410,753 and 356,363 “words”).",
    STAND_IN,
    "An ε here is that of one bit for LP-LDA: one word of one document against the server. For a whole document it is "
    "1,000 times as large. For CDP-LDA it is the ε of its noise, claimed against whoever sees the model only. The two "
    "are on one axis in the papers, and are not comparable.",
    "The papers do not say how many repetitions they made; we take 3. “Close” is read as at most "
    f"{CLOSE} times the perplexity, “much better” as at most {FAR_LESS} times; chosen before the runs.",
)


def figure(paper: str, name: str, where: str, source: str, used: Grid, *notes: str) -> Experiment:
    """Figure 6 of 2021 and Figure 2 of 2019 differ in α."""

    def papers_own(row: Any) -> bool:
        return row["method"] in (LP, CDP, PLAIN)

    return Experiment(
        paper=paper,
        figure=name,
        title="Perplexity against ε: LP-LDA and CDP-LDA",
        source=source,
        grid=used,
        findings=lp_findings(),
        tables=tables(papers_own),
        plots=(
            against_epsilon(
                f"Perplexity against ε ({where})",
                "perplexity",
                "ε of one bit; of the noise for CDP-LDA",
                "perplexity (fold-in)",
                "dataset",
                show=papers_own,
            ),
        ),
        notes=(*notes, *NOTES),
    )


FIGURE_6 = figure(
    "zhao2021",
    "figure6",
    "Figure 6 of Zhao et al. 2021",
    SOURCE,
    LP_GRID_2021,
    "K = 50, α = 1, β = 0.01, 1,000 most frequent words, as the paper says; 300 sweeps and the ε along the axis are "
    "those of 2019.",
)


OWN = Experiment(
    paper="private",
    figure="local",
    title="Local privacy: training that knows the noise against the papers' reconstruction",
    source="The reconstruction: Zhao et al. 2019, Steps 1 to 5. The runs are some of those of its Figure 2",
    grid=LP_GRID_2019,
    findings=(
        expected(
            "training that knows the noise is better than the reconstruction at the same ε (completion perplexity).",
            better("completion", LOCAL, LP),
        ),
        expected("it is better as the papers measure perplexity (fold-in).", better("perplexity", LOCAL, LP)),
        expected(
            "so is the fixed topic alone, without the background (completion perplexity).",
            better("completion", FIXED, LP),
        ),
        expected(
            "without the background (fold-in).",
            better("perplexity", FIXED, LP),
        ),
    ),
    tables=tables(knows_noise),
    plots=(
        against_epsilon(
            "Completion perplexity against ε of one bit",
            "completion",
            "ε of one bit",
            "completion perplexity",
            "dataset",
            show=knows_noise,
        ),
    ),
    notes=(
        "Of the runs that this page shares with Figure 2 of Zhao 2019 it shows those that it compares: the others may "
        "have fewer repetitions.",
        "K = 50, α = 0.1, β = 0.01, 300 sweeps for all, 1,000 words. LocalLDA takes the mean of its last ten sweeps, "
        "the published form the last one.",
        "The background (30 tokens of the estimated word frequencies in each topic's prior) was chosen on KOS, with "
        "one seed and 100 sweeps, among 0, 10, 30, 100, 300, 1,000 and 3,000: 100 is better by completion and 0 by "
        "fold-in. NIPS and enron were not looked at.",
        *NOTES[:2],
    ),
)
