"""How many public topics should AdaptedLDA adapt? They get no noise, so what they cost is time.

No paper has published this table; it is ours. The cells are those of ``public.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.own.public import (
    ADAPTED,
    FREQUENCIES,
    KEPT,
    MORE_TOPICS,
    NEAR,
    PLAIN,
    PUBLIC_TOPICS,
    cell,
    compared,
    kept,
    pair_size,
    size,
)
from discreet.experiments.own.public_text import OWN_WORDS

TOPICS = (PUBLIC_TOPICS, MORE_TOPICS, 800)
PAIRS = (("enron", "20newsgroups"), ("arxiv", NEAR))
OTHER = ("20newsgroups", "arxiv")
"""With the default alone: so many abstracts take long to train on."""
DOCUMENTS = (3_000, 10_000)


def _settings(quick: bool) -> list[Setting]:
    if quick:
        small = size("neurips-cvpr", "docstrings", 100, OWN_WORDS, 400)
        return _beside({**small, "sweeps": 10}, 4, (6, 8), 8.0)
    return [
        setting
        for private, public in (*PAIRS, OTHER)
        for n_documents in DOCUMENTS
        for setting in _beside(
            pair_size(private, public, n_documents), 20, (MORE_TOPICS,) if (private, public) == OTHER else TOPICS, 1.0
        )
    ]


def _beside(common: Setting, n_topics: int, public_topics: tuple[int, ...], epsilon: float) -> list[Setting]:
    """AdaptedLDA, and what its share is a share of."""
    found = compared(common, n_topics, (epsilon,), public_topics=public_topics)
    return [setting for setting in found if setting["method"] in (ADAPTED, FREQUENCIES, PLAIN)]


def _kept(results: Results) -> Iterator[Check]:
    for (private, public, n_documents), wanted in KEPT.items():
        place = {**pair_size(private, public, n_documents), "method": ADAPTED, "epsilon": 1.0}
        found = kept(results, {**place, "n_topics": MORE_TOPICS})
        yield Check.above(f"{n_documents:,} of {private} with {public}: share kept", found, wanted)


def _more_is_better(results: Results) -> Iterator[Check]:
    for private, public in PAIRS:
        for n_documents in DOCUMENTS:
            place = {**pair_size(private, public, n_documents), "method": ADAPTED, "epsilon": 1.0}
            for fewer, more in pairwise(TOPICS):
                ratio = results.ratio("perplexity", {**place, "n_topics": more}, {**place, "n_topics": fewer})
                yield Check.below(f"{n_documents:,} of {private} with {public}: {more} over {fewer} topics", ratio, 1.0)


HOW_MANY = Experiment(
    paper="private",
    figure="public-topics",
    title="What AdaptedLDA keeps, and how many public topics it should adapt",
    source="Our own: nobody has published this table",
    grid=Grid("private-public-topics", 1, _settings, cell, measures=("perplexity",), repetitions=5),
    findings=(
        Finding(
            f"at ε = 1, AdaptedLDA with {MORE_TOPICS} topics, its default, keeps at least this share of what LDA gains "
            "over word frequencies.",
            _kept,
            said_by="our goal",
        ),
        expected("more public topics give a lower perplexity.", _more_is_better),
    ),
    tables=(
        Table(
            "Completion perplexity on held-out documents",
            "perplexity",
            ("dataset", "public", "n_documents", "method"),
            "n_topics",
        ),
    ),
    plots=(
        Plot(
            "AdaptedLDA by its number of public topics",
            "n_topics",
            "perplexity",
            "n_documents",
            panels="dataset",
            x_label="public topics (ε = 1, δ = 1e-6)",
            y_label="completion perplexity",
            log_x=True,
            show=lambda row: row["method"] == ADAPTED and row["dataset"] != OTHER[0],
        ),
    ),
    notes=(
        "Documents, words, plain LDA (20 topics) and *word frequencies* are those of `private public`, whose page may "
        "be older than the release of words in topics. Public topics are trained once for all repetitions.",
        "δ = 1e-6; the number of documents is not given and therefore charged. Topics are judged with the prior α of "
        "their model.",
    ),
)
