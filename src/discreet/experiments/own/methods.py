"""The private methods side by side on arXiv abstracts: what the same promise costs with each. The table is ours."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.experiments.compare import against_epsilon, epsilons_of, expected, ratios, seconds_table
from discreet.experiments.data import completion_and_npmi, held_out
from discreet.experiments.experiment import Experiment, Grid, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.methods import (
    GIBBS,
    PARK,
    PRIVATE,
    SOUND,
    UNIGRAM,
    UNNOISED,
    VARIATIONAL,
    fitted,
    settings_of,
)

EPSILONS, DELTA = (1.0, 4.0), 1e-6
COMPARED = (SOUND, PARK, PRIVATE, VARIATIONAL)
WARM_UP = 400
"""Documents of an untimed first fit, which loads the compiled loops."""


def _settings(quick: bool) -> list[Setting]:
    """The settings of the aim of PrivateLDA: 2,000 public words, 20 topics."""
    common: Setting = {"dataset": "arxiv", "n_documents": None, "n_words": 2000, "n_topics": 20, "delta": DELTA}
    common |= {"alpha0": 0.5, "alpha": 0.1, "beta": 0.05, "cap": 100, "effort": None, "documents": "arXiv abstracts"}
    if quick:
        common |= {"dataset": "neurips-cvpr", "n_documents": 1000, "n_words": 40, "n_topics": 3, "effort": 5}
    return list(settings_of(common, EPSILONS, COMPARED))


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    split = held_out(setting["dataset"], setting["n_words"], setting["n_documents"])
    if seed == 0:
        fitted(setting, split.train[:WARM_UP], seed)
    found = fitted(setting, split.train, seed)
    yield {**completion_and_npmi(found.topics, split), "n_found": float(len(found.topics)), "seconds": found.seconds}


# --- findings ---------------------------------------------------------------------------------------------------------


def _slower(results: Results) -> Iterator[Check]:
    for epsilon in epsilons_of(results):
        for other in (PRIVATE, VARIATIONAL, PARK):
            one = {"method": SOUND, "epsilon": epsilon}
            found = results.ratio("seconds", one, {**one, "method": other})
            yield Check.below(f"ε = {epsilon:g}: processor seconds of SpectralLDA over {other}", found, 1.0)
    found = results.ratio("seconds", {"method": UNNOISED, "epsilon": None}, {"method": GIBBS, "epsilon": None})
    yield Check.below("without noise: processor seconds of SpectralLDA over LDA", found, 1.0)


def _coherent(results: Results) -> Iterator[Check]:
    for epsilon in epsilons_of(results):
        for other in (SOUND, VARIATIONAL, PARK):
            one = {"method": PRIVATE, "epsilon": epsilon}
            found = results.difference("npmi", one, {**one, "method": other})
            yield Check.above(f"ε = {epsilon:g}: NPMI of PrivateLDA minus that of {other}", found, 0.0)


def gibbs(place: Setting) -> Setting | None:
    """The divisor of perplexities: that of plain LDA."""
    return {**place, "method": GIBBS, "epsilon": None} if place["method"] != GIBBS else None


METHODS = Experiment(
    paper="private",
    figure="methods",
    title="PrivateLDA, VariationalLDA and SpectralLDA on arXiv abstracts",
    source="Our own: nobody has published this table",
    grid=Grid(
        "private-methods", 3, _settings, _cell, measures=("perplexity", "npmi", "n_found", "seconds"), repetitions=5
    ),
    findings=(
        expected(
            "PrivateLDA has the lowest perplexity of the private methods.",
            ratios("perplexity", [PRIVATE], [VARIATIONAL, SOUND, PARK], panel="documents"),
        ),
        expected("its topics are the most coherent.", _coherent),
        expected(
            "every private method finds topics: it is better than the word frequencies alone.",
            ratios("perplexity", COMPARED, [UNIGRAM], panel="documents"),
        ),
        expected("SpectralLDA takes the least time, with noise and without.", _slower),
    ),
    tables=(
        Table("Completion perplexity on held-out documents", "perplexity", ("method",), "epsilon"),
        Table("The same over that of LDA", "perplexity", ("method",), "epsilon", over=gibbs),
        Table("NPMI coherence of the ten best words", "npmi", ("method",), "epsilon"),
        Table("Topics found, of 20", "n_found", ("method",), "epsilon", show=lambda row: row["method"] != UNIGRAM),
        seconds_table("method"),
    ),
    plots=(
        against_epsilon(
            "Private methods on arXiv abstracts",
            "perplexity",
            f"ε (δ = {DELTA:g}, document level)",
            "completion perplexity",
            log_x=True,
        ),
    ),
    notes=(
        "117,000 abstracts for training, every fortieth (3,000) held out; words of three letters or more without "
        "scikit-learn's English stop words, the 2,000 most frequent taken as public. K = 20, δ = 1e-6, document level.",
        "PrivateLDA, VariationalLDA and SpectralLDA have their defaults (α = 0.1, α₀ = 0.5); N is not given to them "
        "and is charged. VI of Park et al. is `VariationalLDA.paper_settings()` at this ε and δ with N known, at most "
        "100 tokens of a document and a clip of a tenth of that. LDA: 150 sweeps, α = 0.1, β = 0.05. Perplexity is "
        "measured with α = 0.1.",
        "The defaults of PrivateLDA and VariationalLDA were chosen on other abstracts of this corpus, those of "
        "SpectralLDA on the very documents held out here, which favours it. On private data each such try would have "
        "to be charged.",
        "Times are processor time of `fit`, its threads added up.",
    ),
)
