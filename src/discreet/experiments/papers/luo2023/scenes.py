"""Pictures of 15 scenes: the split of Luo et al. 2023, and one run of a model on visual words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from discreet._types import AnyArray
from discreet.corpus import Codebook, Corpus, Patches, datasets
from discreet.corpus import Grid as PatchGrid
from discreet.corpus.collections import collection_labels
from discreet.experiments.data import Split
from discreet.experiments.experiment import Grid, Point, Setting
from discreet.experiments.papers.luo2023.models import (
    CC_LBLA,
    CC_LDA,
    LBLA,
    LDA,
    NAIVE_BAYES,
    SAME_WEIGHTS,
    SVM,
    model_of,
    predictor_of,
)
from discreet.release.release import Release

N_TEST = 100
"""Pictures of each category for testing; the rest are for training."""

BEST_K, BEST_V = 50, 700
"""What the paper found best."""
TOPICS, WORDS = (10, 30, 50, 80), (300, 500, 900)
"""K of cross-collection models; the others have the first and the best. V of ccLBLA; the others have the best."""

PER_CATEGORY, ACROSS, BESIDE = (LDA, LBLA), (CC_LDA, CC_LBLA), (NAIVE_BAYES, SVM)
"""A model for each category; one model for all categories; and none of topics."""

SWEEPS, LAG = 100, 5

GRID_OF_PATCHES, QUICK_GRID = (8, 32, 256), (16, 16, 64)
"""Step, patch and longest side, in pixels; the latter is coarse, so that reading all pictures takes seconds."""


def _settings(quick: bool) -> list[Setting]:
    """All methods with ``main`` words, and ccLBLA also with other numbers of words."""
    if quick:
        small: Setting = {
            "dataset": "scenes",
            "grid": QUICK_GRID,
            "n_pictures": 30,
            "n_test": 10,
            "sweeps": 10,
            "lag": 1,
        }
        return _sized({**small, "shown": 8}, (4, 8), main=40, words=(20,))
    common: Setting = {"dataset": "scenes", "grid": GRID_OF_PATCHES, "n_pictures": None, "n_test": N_TEST}
    return _sized({**common, "sweeps": SWEEPS, "lag": LAG, "shown": BEST_K}, TOPICS, main=BEST_V, words=WORDS)


def _sized(common: Setting, topics: tuple[int, ...], *, main: int, words: tuple[int, ...]) -> list[Setting]:
    whole, best = {**common, "n_words": main, "main": True}, common["shown"]
    found = [{**whole, "method": method, "n_topics": k} for method in PER_CATEGORY for k in (topics[0], best)]
    found += [{**whole, "method": method, "n_topics": k} for method in ACROSS for k in topics]
    found += [{**whole, "method": SAME_WEIGHTS, "n_topics": best}]
    found += [{**whole, "method": method, "n_topics": None} for method in BESIDE]
    for n_words in words:
        found.append({**common, "n_words": n_words, "main": False, "n_topics": best, "method": CC_LBLA})
    return found


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    """One random split: accuracies, and for each category what its pictures were taken for."""
    split = counted(setting["grid"], setting["n_pictures"], setting["n_test"], seed, setting["n_words"])
    labels, truth = np.unique(collection_labels(split.test), return_inverse=True)
    predicted = np.searchsorted(labels, _predicted(setting, split, seed))
    confusion = np.zeros((len(labels), len(labels)))
    np.add.at(confusion, (truth, predicted), 1)
    shares = confusion / confusion.sum(axis=1, keepdims=True)
    if setting["main"] and setting["method"] == CC_LBLA and setting["n_topics"] == setting["shown"]:
        for category, row in zip(labels.tolist(), shares, strict=True):
            for other, share in zip(labels.tolist(), row.tolist(), strict=True):
                yield {"category": category, "predicted": other, "share": share}
    yield {"accuracy": float(confusion.trace() / confusion.sum()), "average": float(shares.diagonal().mean())}


def _predicted(setting: Setting, split: Split, seed: int) -> AnyArray:
    """By eq. (24), without P(c)."""
    train, method = split.train, setting["method"]
    if method in BESIDE:
        model = predictor_of(method, fit_prior=False).fit(train.to_counts(), train.collections)
        return np.asarray(model.predict(split.test.to_counts()))
    if method in PER_CATEGORY:
        release = one_for_each(setting, train, seed)
        chances = release.predict_proba(split.test)
        return np.asarray(np.asarray(release.collections)[chances.argmax(axis=1)])
    return np.asarray(model_of(setting, train.n_words, seed).fit(train).predict(split.test))


def one_for_each(setting: Setting, train: Corpus, seed: int) -> Release:
    """A model for each category, together a cross-collection model in which nothing is shared."""
    labels = np.unique(collection_labels(train))
    each = [model_of(setting, train.n_words, seed).fit(train[train.collections == label]) for label in labels]
    topics = np.stack([model.components_ for model in each])
    whole: Release = each[0].release(train.vocabulary)
    switch = np.ones((setting["n_topics"], len(labels)))
    return replace(whole, collections=tuple(labels.tolist()), collection_topics=topics, switch=switch)


# --- pictures ---------------------------------------------------------------------------------------------------------


@cache
def pictures(grid: tuple[int, int, int]) -> Patches:
    """All descriptors, read once a process."""
    return datasets.patches("scenes", PatchGrid(*grid))


@lru_cache(maxsize=2)
def counted(grid: tuple[int, int, int], n_pictures: int | None, n_test: int, seed: int, n_words: int) -> Split:
    """Visual words of training and test pictures. The words are learnt from the training pictures alone.

    ``n_pictures`` keeps so many of each category, for quick runs.
    """
    patches = pictures(grid)
    train, test = split_pictures(patches, n_test, seed, n_pictures)
    book = Codebook.learn(patches[train], n_words, random_state=seed)
    return Split(book.corpus(patches[train]), book.corpus(patches[test]))


def split_pictures(
    patches: Patches, n_test: int, seed: int, n_pictures: int | None = None
) -> tuple[AnyArray, AnyArray]:
    """So many random pictures of each category for testing, and the others for training: but for those that are
    identical to one of the former, which are left out."""
    order = np.random.default_rng(seed).permutation(len(patches))
    categories = np.asarray(patches.collections)[order]
    kept, test = np.zeros(len(patches), bool), np.zeros(len(patches), bool)
    for category in np.unique(categories):
        mine = order[categories == category][:n_pictures]
        kept[mine] = True
        test[mine[:n_test]] = True
    return kept & ~test & ~np.isin(patches.groups, patches.groups[test]), test


GRID = Grid("luo2023-scenes", 1, _settings, _cell, ("accuracy", "average", "share"), repetitions=3)
