"""What public text gives to the topics of many private documents.

No paper has published this table; it is ours. The cells are those of ``public.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.own.public import (
    ANCHORED,
    MORE_TOPICS,
    NEAR,
    PLAIN,
    PRIVATE,
    SHORT,
    cell,
    compared,
    once,
    picked,
    place_of,
    size,
)
from discreet.experiments.own.public_text import ABSTRACTS, OWN_WORDS

LARGE = {  # words, topics, ε: largest perplexity over plain LDA's without public text, with NEAR, with ABSTRACTS
    (2000, 50, 1.0): (1.105, 1.09, 1.06),
    (2000, 50, 0.5): (1.25, 1.18, 1.12),
    (5000, 20, 1.0): (1.105, 1.09, 1.06),
}
SIZES = ((5000, 20), (2000, 50))
"""Words and topics."""

TITLES = (10_000, 100_000)
"""Short documents."""


def _settings(quick: bool) -> list[Setting]:
    if quick:
        small = {**size("neurips-cvpr", "docstrings", 100, OWN_WORDS, 400), "rounds": 5, "sweeps": 10}
        return list(compared(small, 4, (8.0,), public_topics=(4,), adapted=False))
    settings: list[Setting] = []
    for n_words, n_topics in SIZES:
        common = size("arxiv", None, n_words, OWN_WORDS, None)
        epsilons = [epsilon for v, k, epsilon in LARGE if (v, k) == (n_words, n_topics)]
        for public in (NEAR, ABSTRACTS):
            beside = {**common, "public": public}
            settings += compared(beside, n_topics, epsilons, public_topics=(n_topics,), adapted=False)
    for n_documents in TITLES:
        short = size(SHORT, NEAR, 2000, OWN_WORDS, n_documents)
        settings += compared(short, 20, (1.0,), public_topics=(MORE_TOPICS,))
    return once(settings)


def _large(results: Results) -> Iterator[Check]:
    """Over plain LDA's, on all training abstracts."""
    for (n_words, k, epsilon), bounds in LARGE.items():
        place = place_of("arxiv", n_words, None, n_topics=k)
        plain = {**place, "method": PLAIN, "public": None}
        for public, bound in zip((None, NEAR, ABSTRACTS), bounds, strict=True):
            method = PRIVATE if public is None else ANCHORED
            found = results.ratio(
                "perplexity", {**place, "method": method, "public": public, "epsilon": epsilon}, plain
            )
            beside = "no public text" if public is None else public
            yield Check.below(f"V = {n_words:,}, K = {k}, ε = {epsilon:g}, {beside}: over LDA's", found, bound)


MANY = Experiment(
    paper="private",
    figure="public-many",
    title="Private topics of many documents with the help of public text",
    source="Our own: nobody has published this table",
    grid=Grid("private-public-many", 2, _settings, cell, measures=("perplexity",), repetitions=5),
    findings=(
        Finding("the perplexity over plain LDA's is at most as below.", _large, said_by="our aim"),
        expected("on short text, what the plan picks is no worse than adapted, private or public topics.", picked),
    ),
    tables=(
        Table(
            "Completion perplexity on held-out documents",
            "perplexity",
            ("n_words", "n_topics", "method", "public"),
            "epsilon",
            show=lambda row: row["dataset"] != SHORT,
        ),
        Table(
            "Short text, titles: completion perplexity on held-out titles",
            "perplexity",
            ("n_documents", "method", "n_topics", "public"),
            "epsilon",
            show=lambda row: row["dataset"] == SHORT,
        ),
    ),
    plots=(
        Plot(
            "PrivateLDA, K = 50, by public text",
            "epsilon",
            "perplexity",
            "public",
            x_label="ε (δ = 1e-6)",
            y_label="completion perplexity",
            log_x=True,
            show=lambda row: row["epsilon"] is not None and row["dataset"] != SHORT and row["n_topics"] != SIZES[0][1],
        ),
    ),
    notes=(
        "arXiv: every fortieth abstract (3,000) is held out, 5,000 of the others are set aside as public text (*5,000 "
        "abstracts*), and 112,000 are for training. Words: the most frequent ones of all abstracts, taken as public.",
        "*public text only*: plain LDA on the public text, without any private document. Plain LDA: 150 sweeps, "
        "α = 0.1, β = 0.05. *word frequencies* are exact, those of all training documents.",
        "δ = 1e-6; the number of documents is not given and therefore charged.",
        "Titles are the text of the same documents, some five words of the list each; the public text beside them are "
        "abstracts. Their training documents are drawn anew in each repetition.",
        "Few documents, and users, with 20 topics: `private public`. 20 topics without public text: `private table`.",
    ),
)
