"""Units whose documents belong to collections: one clipped contribution each, by collection and over all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet._random import Key
from discreet._types import BoolArray, FloatArray, IntArray
from discreet.corpus.collections import product_corpus
from discreet.corpus.corpus import Corpus
from discreet.engines import open_units
from discreet.engines.interface import Round, Table, Threshold

SUM_WEIGHT = 2
"""How much longer a unit is in the sum over collections than in the table of its own collection. The common topics need
precision most. When this was chosen (28,500 arXiv abstracts in four collections, 20 topics, ε = 4, one seed),
perplexity was 870 without the sum, 843 with weight 1 and 839 with 2; later, over three seeds, 825 with 2 and with 3."""


class CollectionUnits:
    """A `UnitEngine` over the words of each collection. The sums of a round have a row for each collection and word,
    and then a row for each word: the sum over all collections, times `SUM_WEIGHT`.

    It is two engines over the same units: one reads words, for what does not depend on collections, and the other reads
    word w of collection c as word c·V + w.
    """

    def __init__(
        self,
        corpus: Corpus,
        groups: IntArray | None,
        n_topics: int,
        key: Key,
        *,
        numbers: IntArray,
        n_collections: int,
        **options: Any,
    ) -> None:
        """``numbers`` holds the collection of each document."""
        self._words = open_units(corpus, groups, n_topics, key, **options)
        product = product_corpus(corpus, numbers, n_collections)
        self._product = open_units(product, groups, n_topics, key, **options)
        self.n_words, self.n_topics, self.n_units = corpus.n_words, n_topics, self._words.n_units
        self.n_threads, self.key, self.n_collections = self._words.n_threads, key, n_collections
        self._spread = None if groups is None else _n_collections_of(groups, numbers, n_collections)

    def close(self) -> None:
        self._words.close()
        self._product.close()

    def coins(self, number: int, threshold: Threshold) -> BoolArray:
        return self._product.coins(number, threshold)

    def size_histogram(self, n_bins: int) -> IntArray:
        return self._words.size_histogram(n_bins)

    def word_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        return self._words.word_counts(word_weights, clip)

    def collection_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        """As :meth:`word_counts`, for each word of each collection. The clip is on all of a unit's documents."""
        return self._product.word_counts(np.tile(word_weights, self.n_collections), clip)  # [collection-words]

    def residuals(self, given: Round, *, cell_weights: Table, background: Table, clip: float) -> IntArray:
        """``cell_weights`` has the rows of the result, in each collection the same; ``background`` and the weights of
        ``given`` have those of collections and words."""
        weights = np.asarray(cell_weights)[: self.n_collections * self.n_words]
        total = np.zeros((self.n_collections * self.n_words, self.n_topics), np.int64)
        # a unit takes part in one of these calls: that of how many collections it has. Which are made is public.
        for n in (1,) if self._spread is None else range(1, self.n_collections + 1):
            threshold = given.threshold if self._spread is None else np.where(self._spread == n, given.threshold, 0)
            total += self._product.residuals(
                given._replace(threshold=threshold), cell_weights=weights, background=background, clip=shorter(clip, n)
            )
        together = total.reshape(self.n_collections, self.n_words, self.n_topics).sum(axis=0)
        return np.concatenate([total, SUM_WEIGHT * together])  # [sum] within the clip, as each unit is shorter


def shorter(clip: float, n: int) -> float:
    """The clip of a unit of n collections, so that it keeps to ``clip`` together with its sum over collections.

    x = (x_1 … x_n) has a sum of norm √n·‖x‖ at most (Cauchy and Schwarz), so ‖(x, s·Σx)‖² ≤ (1 + s²·n)·‖x‖².
    """
    return clip / math.sqrt(1 + SUM_WEIGHT**2 * n) * (1 - 2**-50)  # [shorter] below it whatever was rounded


def _n_collections_of(groups: IntArray, numbers: IntArray, n_collections: int) -> IntArray:
    """How many collections the documents of each unit are of, in the order of units in an engine."""
    units = np.unique(groups, return_inverse=True)[1]
    pairs = np.unique(units.astype(np.int64) * n_collections + numbers)
    return np.bincount(pairs // n_collections)
