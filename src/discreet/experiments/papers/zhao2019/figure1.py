"""Zhao, Ren, Yang and Yang, "On Privacy Protection of Latent Dirichlet Allocation Model Training", IJCAI 2019."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.experiments.data import STAND_IN, zhao_split
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check

SOURCE = 'Zhao, Ren, Yang and Yang, "On Privacy Protection of Latent Dirichlet Allocation Model Training", IJCAI 2019'

MARGIN = 1.25
"""How far the second half of a curve may grow faster or slower than the first and still be called linear."""


def _settings(quick: bool) -> list[Setting]:
    """Section 4: 1,000 most frequent words, K = 50, α = 0.1, β = 0.01, 300 iterations."""
    if quick:
        return [{"dataset": name, "n_documents": 60, "n_words": 200, "n_topics": 5, "sweeps": 20} for name in ("kos",)]
    size = {"n_documents": None, "n_words": 1000, "n_topics": 50, "sweeps": 300}
    return [{"dataset": name, **size} for name in ("kos", "nips", "enron")]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    """A point for every tenth iteration and the first: two curves of one run."""
    from discreet.models.lda import LDA
    from discreet.models.monitor import InherentPrivacyMonitor

    train = zhao_split(setting["dataset"], setting["n_words"], setting["n_documents"]).train
    monitor, sweeps = InherentPrivacyMonitor(), setting["sweeps"]
    model = LDA(
        setting["n_topics"],
        alpha=0.1,
        beta=0.01,
        n_sweeps=sweeps,
        evaluate_every=0,
        algorithm="sampled",
        random_state=seed,
    )
    model.set_params(callbacks=[monitor]).fit(train)
    for iteration in (1, *range(10, sweeps + 1, 10)):
        for level, curve in (("word", monitor.word_), ("document", monitor.document_)):
            yield {"level": level, "iteration": iteration, "estimate": curve[iteration - 1]}


def _linear(results: Results) -> Iterator[Check]:
    last = max(results.levels("iteration"))
    half = min(results.levels("iteration"), key=lambda i: abs(i - last / 2))
    for level in ("word", "document"):
        for name in results.levels("dataset"):
            where = {"dataset": name, "level": level}
            whole = results.ratio("estimate", {**where, "iteration": last}, {**where, "iteration": half})
            bound = 1 + (last - half) / half * MARGIN, 1 + (last - half) / half / MARGIN
            what = f"{name}, {level} level: ε after {last} iterations over ε after {half} (2 if linear from 0)"
            yield Check.between(what, whole, bound[1], bound[0])


def _compare(results: Results, level: str, above: str, below: str) -> Check:
    last = {"level": level, "iteration": max(results.levels("iteration"))}
    found = results.ratio("estimate", {**last, "dataset": above}, {**last, "dataset": below})
    return Check.above(f"{level} level, last iteration: ε on {above} over ε on {below}", found, 1.0)


GRID = Grid("zhao2019-monitor", 2, _settings, _cell, ("estimate",), repetitions=5)


FIGURE_1 = Experiment(
    paper="zhao2019",
    figure="figure1",
    title="Inherent privacy of Gibbs sampling against iterations",
    source=SOURCE,
    grid=GRID,
    findings=(
        Finding("word- and document-level ε grow approximately linearly with the iterations.", _linear),
        Finding(
            "at the document level the guarantee on NIPS is the weakest and that on Enron the strongest.",
            lambda results: [
                _compare(results, "document", "nips", "kos"),
                _compare(results, "document", "kos", "enron"),
            ],
        ),
        Finding(
            "at the word level NIPS has the strongest guarantee and KOS the weakest.",
            lambda results: [_compare(results, "word", "enron", "nips"), _compare(results, "word", "kos", "enron")],
        ),
    ),
    tables=(
        Table(
            "The monitor's ε (an estimate from private data, basis *estimate*)",
            "estimate",
            ("level", "dataset"),
            "iteration",
            show=lambda row: row["iteration"] in (1, 10, 20, 50, 100, 200, 300),
        ),
    ),
    plots=(
        Plot(
            "Inherent privacy: an estimate, never a guarantee",
            x="iteration",
            y="estimate",
            lines="dataset",
            panels="level",
            y_label="ε by the monitor",
        ),
    ),
    notes=(
        "K = 50, α = 0.1, β = 0.01, 1,000 most frequent words, 300 iterations, as the paper says; repetitions: it does "
        "not say, we take 5.",
        "KOS and NIPS are UCI's, the first 3,000 and 1,350 documents; the paper's NIPS has 1,740 papers from another "
        "source, of which it trains on 1,349. Its Table 1 has 209,169 words in KOS, 410,753 in NIPS and 356,363 in "
        "Enron: each word of a document once. Here all tokens count, 1.15 million of NIPS and 0.26 million of KOS.",
        STAND_IN,
        "“Approximately linearly” is read as: the second half of the curve grows by a factor of 1/1.25 to 1.25 of what "
        "the first grew.",
        "The sampler has frozen word counts and the monitor follows them; `InherentPrivacyMonitor` lists every "
        "difference from Algorithms 1 and 2.",
    ),
)
