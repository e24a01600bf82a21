"""Figure 4 and Table 2 of DeCarolis et al.: real text, with arXiv abstracts in place of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet._types import FloatArray
from discreet.evaluation import coherence
from discreet.experiments.compare import against_epsilon, epsilons_of, expected, method_tables, ratios, short
from discreet.experiments.data import Split, completion_and_npmi, held_out
from discreet.experiments.experiment import Experiment, Finding, Grid, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.methods import CONFIGURATIONS, PARK, PRIVATE, SOUND, UNIGRAM, WITH_NOISE, fitted, settings_of
from discreet.experiments.papers.decarolis2020.moments import SOURCE

EPSILONS = (1.0, 4.0, 16.0, 64.0)
"""The paper does not give its values, except for Table 2 (ε = 1)."""

DELTA, N_SHOWN, N_WORDS_SHOWN = 1e-6, 3, 10
NUMBERS = (10, 30)
"""Config. 1 takes at most 30 topics here."""
THIRD = list(CONFIGURATIONS)[2]
OTHERS = [method for method in WITH_NOISE if method != PRIVATE]


def _settings(quick: bool) -> list[Setting]:
    common: Setting = {"dataset": "arxiv", "n_documents": None, "n_words": 2000, "delta": DELTA, "effort": None}
    common |= {"alpha0": 0.5, "alpha": 0.1, "beta": 0.05, "cap": 100}
    numbers, epsilons = list(NUMBERS), list(EPSILONS)
    if quick:
        common |= {"dataset": "neurips-cvpr", "n_documents": 1000, "n_words": 40, "effort": 5}
        numbers, epsilons = [2, 4], [1.0]
    sizes = [{**common, "n_topics": k, "topics": f"K = {k}"} for k in numbers]
    return [setting for size in sizes for setting in settings_of(size, epsilons)]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    """One point for the whole model; in the first repetition one more for each topic that is shown."""
    split = held_out(setting["dataset"], setting["n_words"], setting["n_documents"])
    found = fitted(setting, split.train, seed)
    if seed == 0 and len(found.topics) > 1:
        yield from _shown(found.topics, split, seed)
    yield {**completion_and_npmi(found.topics, split), "n_found": len(found.topics), "seconds": found.seconds}


def _shown(topics: FloatArray, split: Split, seed: int) -> Iterator[Point]:
    """Topics drawn at random, as in the paper ("not cherry picked but randomly selected")."""
    drawn = np.random.default_rng(seed).permutation(len(topics))[:N_SHOWN]
    for place, topic in enumerate(drawn, 1):
        best = np.argsort(-topics[topic], kind="stable")[:N_WORDS_SHOWN]
        words = " ".join(split.train.vocabulary[word] for word in best)
        npmi = coherence(topics[topic][None, :], split.train, "c_npmi").mean
        yield {"topic": place, "top_words": words, "topic_npmi": npmi}


# --- Figure 4 ---------------------------------------------------------------------------------------------------------


def _improves(results: Results) -> Iterator[Check]:
    numbers = results.levels("n_topics")
    for epsilon in epsilons_of(results) if numbers else []:
        place = {"method": THIRD, "epsilon": epsilon}
        found = results.ratio("perplexity", {**place, "n_topics": max(numbers)}, {**place, "n_topics": min(numbers)})
        yield Check.below(f"ε = {epsilon:g}: K = {max(numbers)} over K = {min(numbers)}", found, 1.0)


ROWS = ("topics", "method")
PLOT = against_epsilon(
    "Perplexity on arXiv abstracts (Figure 4 of DeCarolis et al.)",
    "perplexity",
    f"ε (δ = {DELTA:g})",
    "completion perplexity",
    "topics",
    log_x=True,
    log_y=True,
)

FIGURE_4 = Experiment(
    paper="decarolis2020",
    figure="figure4",
    title="Perplexity on real text against ε: all configurations, variational inference, and ours",
    source=SOURCE,
    grid=Grid(
        "spectral-text",
        3,
        _settings,
        _cell,
        measures=("perplexity", "npmi", "n_found", "seconds", "topic_npmi"),
        repetitions=3,
    ),
    findings=(
        Finding(
            "the spectral method suffers from less utility loss than private variational inference under the same "
            "privacy levels.",
            ratios("perplexity", CONFIGURATIONS, [PARK], panel="topics"),
        ),
        Finding("the performance of config. 3 is improved under a larger number of topics.", _improves),
        expected(
            "each configuration has found something: it is better than the word frequencies alone.",
            ratios("perplexity", CONFIGURATIONS, [UNIGRAM], panel="topics"),
        ),
        expected(
            "our sound form is better than every configuration as published.",
            ratios("perplexity", [SOUND], CONFIGURATIONS, panel="topics"),
        ),
        expected(
            "PrivateLDA is better than every other private method here.",
            ratios("perplexity", [PRIVATE], OTHERS, panel="topics"),
        ),
    ),
    tables=(
        Table("Completion perplexity on held-out documents", "perplexity", ROWS, "epsilon"),
        *method_tables(*ROWS),
    ),
    plots=(PLOT,),
    notes=(
        "arXiv abstracts stand in for Wikipedia: 117,000 for training, every fortieth (3,000) held out, the 2,000 "
        "most frequent words taken as public. The paper gives neither its number of documents and words nor ε, δ, α₀ "
        f"and K. Here δ = {DELTA:g}, K = 10 and 30; α₀ = 0.5 for spectral methods, α = 0.1 per topic for the others, "
        "and α = 0.1 when perplexity is measured. Repetitions: 3.",
        "Configurations: `SpectralLDA(configuration=1…4, as_published=True)` with constants of the paper's appendix "
        "and SpectralLDA's default shares of the budget. Their ε is only claimed (docs/papers.md), and for "
        "neighbours that replace a document; ours is for one that is added or removed.",
        "VI of Park et al.: `VariationalLDA.paper_settings()` at this ε and δ, with at most 100 tokens of a document "
        "and a clip of a tenth of that, as theirs. VariationalLDA: our form of it.",
        "“Less utility loss” is read as a lower perplexity at the same ε.",
    ),
)


# --- Table 2 ----------------------------------------------------------------------------------------------------------


def _coherent(results: Results) -> Iterator[Check]:
    """Of the four configurations, the one whose mean is best: the paper does not say which it shows."""
    for topics in results.levels("topics"):
        places = [{"topics": topics, "method": method, "epsilon": 1.0} for method in CONFIGURATIONS]
        found = [(results.interval("npmi", **place), place["method"]) for place in places]
        best, method = max(found, key=lambda pair: pair[0].mean)
        yield Check.above(f"{topics}, ε = 1: NPMI of {short(method)}", best, 0.0)


def _as_coherent(results: Results) -> Iterator[Check]:
    for topics in results.levels("topics"):
        place = {"topics": topics, "method": PRIVATE, "epsilon": 1.0}
        for method in OTHERS:
            found = results.difference("npmi", place, {**place, "method": method})
            yield Check.above(f"{topics}, ε = 1: NPMI of PrivateLDA minus that of {short(method)}", found, 0.0)


TABLE_2 = replace(
    FIGURE_4,
    figure="table2",
    title="Topics of real text at ε = 1",
    findings=(
        Finding(
            "(by its table) the topics recovered at ε = 1 make sense: their words meet more often than by chance.",
            _coherent,
        ),
        expected("the topics of PrivateLDA are the most coherent at ε = 1.", _as_coherent),
    ),
    tables=(
        Table(
            "Ten best words of three topics drawn at random, in the first repetition, with the NPMI of each",
            "topic_npmi",
            ("topics", "method", "topic", "top_words"),
            "epsilon",
            show=lambda row: row["epsilon"] in (1.0, None),
        ),
        Table("NPMI coherence of the ten best words, mean over all topics", "npmi", ROWS, "epsilon"),
    ),
    plots=(
        replace(
            PLOT,
            title="Coherence of the topics of arXiv abstracts",
            y="npmi",
            y_label="NPMI of the ten best words",
            log_y=False,
        ),
    ),
)
