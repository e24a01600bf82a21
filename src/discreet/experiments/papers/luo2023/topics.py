"""Figure 1 and Tables 7 and 8 of Luo et al. 2023: what collections share and what is each one's own, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.experiments.experiment import Finding, Results, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.luo2023.measures import ALL
from discreet.experiments.papers.luo2023.models import CC_LBLA, CC_LDA, CROSS
from discreet.experiments.papers.luo2023.runs import ABOUT, AT_RANDOM, N_EXAMPLES, SHOWN
from discreet.experiments.papers.luo2023.text import against_topics, experiment, minus, shown_topics

TWICE = math.log(2)

SEPARATION = (
    "Separation: how much more often the ten best words of a collection's own topic are met in held-out documents of "
    "that collection than in the others, as the logarithm of a ratio; mean over topics and collections by ψ."
)


def _distinct(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        for name in results.levels("words_of", documents=documents, method=CC_LBLA):
            if name is not None:
                found = results.interval("apart", documents=documents, method=CC_LBLA, words_of=name)
                what = f"{documents}: log ratio of {'shared words' if name == ALL else f'words of {name}'}"
                yield (Check.below if name == ALL else Check.above)(what, found, TWICE)


FIGURE_1 = experiment(
    "figure1",
    "What collections share and what is each one's own: summaries",
    "All topics of ccLBLA together, weighted by their tokens: the words that come from φ, and those of each collection "
    f"that come from its σ. K = {SHOWN}. Words are of the first fold.",
    "Judged on held-out documents: how often the ten words are met in one collection over how often in the others. "
    "“Distinctive” is read as at least twice as often, “common” as less than twice.",
    findings=(Finding("it shows distinctive words of each collection, and words that they share.", _distinct),),
    tables=(
        Table(
            "Ten best words, and the share of all text that is of this kind (first fold)",
            "shown_share",
            ("documents", "method", "words_of", "best_words"),
            "n_topics",
        ),
        Table(
            "Log ratio of the ten best words' held-out frequencies (all folds): in the collection over outside it",
            "apart",
            ("documents", "method", "words_of"),
            "n_topics",
        ),
    ),
    plots=(
        against_topics("How distinctive a collection's own words are", "separation", "separation (log ratio)", CROSS),
    ),
)


def _separated(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        place = {"documents": documents, "method": CC_LBLA, "n_topics": shown_topics(results)}
        yield Check.above(f"{documents}: separation", results.interval("separation", **place), 0.0)


TABLE_7 = experiment(
    "table7",
    "Example topics of ccLBLA",
    f"Table 7 shows three of 30 topics that the authors chose. Here {N_EXAMPLES} of {SHOWN} were drawn at random, in "
    "the first fold.",
    SEPARATION,
    findings=(
        Finding(
            "collections have distinct words for a topic (read as: each collection's own words are met more often in "
            "its held-out documents).",
            _separated,
        ),
    ),
    tables=(
        Table(
            "Ten best words of a topic, and their part of its text",
            "topic_share",
            ("documents", "topic", "words_of", "best_words"),
            "n_topics",
            show=lambda row: row.get("example") == AT_RANDOM and row["method"] == CC_LBLA,
        ),
    ),
    plots=FIGURE_1.plots,
)


TABLE_8 = experiment(
    "table8",
    "One topic of ccLDA and of ccLBLA",
    "Table 8 shows a topic about the world economy. Here it is the one in whose common words "
    + " and ".join(f"“{word}” ({documents})" for documents, word in ABOUT.items())
    + " weighs most; the words were chosen before any topic was seen. First fold.",
    SEPARATION,
    findings=(
        Finding(
            "ccLBLA results in superior separation of collection-specific terms.",
            minus("separation", CC_LBLA, CC_LDA, 0.0),
        ),
        Finding("ccLBLA results in superior theme coherence.", minus("coherence", CC_LBLA, CC_LDA, 0.0)),
    ),
    tables=(
        Table(
            "Ten best words of the topic, and their part of its text",
            "topic_share",
            ("documents", "method", "words_of", "best_words"),
            "n_topics",
            show=lambda row: row.get("example") in ABOUT.values() and row["method"] in (CC_LDA, CC_LBLA),
        ),
        Table("Separation", "separation", ("documents", "method"), "n_topics"),
        Table("Mixed topic coherence (C_V)", "coherence", ("documents", "method"), "n_topics"),
    ),
    plots=FIGURE_1.plots,
)
