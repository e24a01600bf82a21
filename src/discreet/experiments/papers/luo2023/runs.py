"""One run on text: the cell that Figures 1, 5 and 6 and Tables 5 to 8 of Luo et al. 2023 share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.corpus import Corpus
from discreet.evaluation import mixed_coherence
from discreet.experiments.data import Split
from discreet.experiments.experiment import Grid, Point, Setting
from discreet.experiments.papers.luo2023.documents import ABSTRACTS, MAILS, N_FOLDS, STAND_INS, fold, size
from discreet.experiments.papers.luo2023.measures import (
    accuracies,
    accuracy,
    perplexities,
    separation,
    summary_points,
    topic_about,
    topic_points,
)
from discreet.experiments.papers.luo2023.models import (
    CROSS,
    LDA,
    MAJORITY,
    NAIVE_BAYES,
    PRIORS,
    PUBLISHED,
    model_of,
    predictor_of,
)

TOPIC_MODELS, BESIDE = (LDA, *CROSS), (NAIVE_BAYES, MAJORITY)
"""The latter have no topics: they only predict."""

TOPICS = (10, 30, 80)
SHOWN = 30
"""Topics in the paper's Table 7, and of the examples here; Tables 5 and 6 do not say how many they had."""

ABOUT = {ABSTRACTS: "adversarial", MAILS: "gas"}
"""Table 8 shows one topic of two models. Ours is about this word, chosen before any topic was seen."""

AT_RANDOM, N_EXAMPLES = "at random", 3
SWEEPS = 600

MEASURES = ("perplexity", "completion", "accuracy", "accuracy_prior", "coherence", "separation")
EXAMPLES = ("share", "apart", "shown_share", "topic_share")


def _settings(quick: bool) -> list[Setting]:
    """With ``shown`` topics, words are shown too."""
    if quick:
        return _methods({**size(ABSTRACTS, n_documents=300, n_words=300), "sweeps": 20, "lag": 1, "shown": 8}, (4, 8))
    each = [
        _methods({**size(documents), "sweeps": SWEEPS, "lag": 10, "shown": SHOWN}, TOPICS)
        for documents in (ABSTRACTS, MAILS)
    ]
    return [setting for settings in each for setting in settings]


def _methods(common: Setting, topics: tuple[int, ...]) -> list[Setting]:
    """The sampler as published is slow: it runs on abstracts, with as many topics as are shown."""
    trained = [{**common, "method": method, "n_topics": k} for method in TOPIC_MODELS for k in topics]
    if common["documents"] == ABSTRACTS:
        trained += [{**common, "method": method, "n_topics": common["shown"]} for method in PUBLISHED]
    return trained + [{**common, "method": method, "n_topics": None} for method in BESIDE]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    """A fold."""
    split = fold(setting, seed)
    if setting["method"] in BESIDE:
        yield _beside(setting["method"], split)
        return
    model = model_of(setting, split.train.n_words, seed).fit(split.train)
    if setting["method"] == LDA:
        yield perplexities(model, split.test)
        return
    if setting["n_topics"] == setting["shown"]:
        yield from summary_points(model, split, with_words=seed == 0)
        if seed == 0:
            yield from _examples(model, split.train, ABOUT[setting["documents"]])
    coherence = mixed_coherence(model.components_, model.collection_components_, split.train).mean
    words = {"coherence": coherence, "separation": separation(model, split.test)}
    yield {**perplexities(model, split.test), **accuracies(model, split.test), **words}


def _examples(model: Any, train: Corpus, word: str) -> Iterator[Point]:
    """Topics drawn at random, and one that is about a word."""
    drawn = np.random.default_rng(0).permutation(model.n_topics)[:N_EXAMPLES]
    for example, topics in ((AT_RANDOM, drawn), (word, [topic_about(model, word, train)])):
        yield from ({"example": example, **point} for point in topic_points(model, train, topics))


def _beside(method: str, split: Split) -> Point:
    found = {}
    for measure, fit_prior in (("accuracy", False), ("accuracy_prior", True)):
        model = predictor_of(method, fit_prior=fit_prior).fit(split.train.to_counts(), split.train.collections)
        found[measure] = accuracy(model.predict(split.test.to_counts()), split.test)
    return found


GRID = Grid("luo2023-text", 1, _settings, _cell, (*MEASURES, *EXAMPLES), repetitions=N_FOLDS)

NOTES = (
    *STAND_INS,
    "A repetition is one fold of a ten-fold cross-validation, as in the paper: nine tenths of the documents are for "
    "training. How many folds were run stands below. Folds share training documents, so that the intervals are a "
    "little too narrow.",
    "The paper tokenises and lemmatises by NLTK and removes stop words; it does not say how many words it keeps. Here: "
    "lemmas by simplemma, scikit-learn's list of stop words, the 3,000 most frequent words of the set.",
    PRIORS,
    f"{SWEEPS} sweeps, of which ten at lag ten are averaged (the paper: 600; LDA: the last ten sweeps). Sweeps are "
    "frozen, and topic and switch are drawn together (docs/papers.md). “As published”, on abstracts only, is the "
    "paper's sequential sampler, which draws them by turns and leaves a factor out.",
    "Figures 1, 5 and 6 and Tables 5 to 8 show the same runs. Bounds for words such as “much better” were chosen "
    "before them.",
)
