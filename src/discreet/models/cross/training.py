"""A run of a cross-collection model by frozen sweeps: its engine, the weights of its sweeps and sampled counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet._random import Key
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.collections import product_corpus
from discreet.corpus.corpus import Corpus
from discreet.engines import open_sweeps
from discreet.models.base import broadcast_alpha
from discreet.models.cross.tables import CrossPriors, CrossTables, CrossWeights
from discreet.training.loop import Measures

if TYPE_CHECKING:
    from discreet.models.cross.model import CrossLDA


class Training:
    """The state of one run."""

    def __init__(
        self, model: CrossLDA, corpus: Corpus, of_document: IntArray, n_collections: int, priors: CrossPriors
    ) -> None:
        self.priors = priors
        self.alpha = broadcast_alpha(model.alpha, model.n_topics)
        self.engine = open_sweeps(
            product_corpus(corpus, of_document, n_collections),
            model.n_topics,
            Key.open(model.random_state),
            n_threads=model.n_threads,
        )
        self.engine.draw_first_topics()
        self.shape = (n_collections, corpus.n_words, model.n_topics)
        self.weights = CrossWeights(self.shape, priors)
        self.balanced_until = model.n_sweeps // 2
        self.n_done = 0
        self.samples = Samples(self.shape, model.n_sweeps, model.n_average, model.lag)
        self._count()

    def sweep(self, number: int) -> Measures:
        """Counts → weights → sweep → counts."""
        engine = self.engine
        weights = self.weights.mix(self.counts, balanced=number <= self.balanced_until)
        one = np.ones(engine.n_topics)
        engine.sweep(weights.reshape(-1, engine.n_topics), self.alpha, number, prior=0.0, scale=one)
        own = self._count()
        self.n_done = number
        if self.samples.wants(number):
            self.samples.add(self.counts, self.weights.own_share)
        return {"own_share": own / engine.n_tokens}

    def _count(self) -> float:
        self.counts = self.engine.count().reshape(self.shape)
        return self.weights.count(self.counts)

    def holds(self, model: CrossLDA, corpus: Corpus, of_document: IntArray) -> bool:
        """Is this the run of so many topics over these documents?"""
        same_shape = self.shape[1:] == (corpus.n_words, model.n_topics)
        return same_shape and self.engine.holds(product_corpus(corpus, of_document, self.shape[0]))

    def go_on(self, model: CrossLDA) -> None:
        """With more sweeps, and samples at their end."""
        self.engine.use_threads(model.n_threads)
        self.samples = Samples(self.shape, self.n_done + model.n_sweeps, model.n_average, model.lag)

    def averaged(self) -> CrossTables:
        """Tables of the mean counts; of the last ones, where a callback ended the run before the first sample."""
        if not self.samples.n:
            self.samples.add(self.counts, self.weights.own_share)
        return self.samples.tables(self.priors)


class Samples:
    """Counts after ``n_average`` sweeps, each ``lag`` after the one before, ``last_sweep`` among them: their sums."""

    def __init__(self, shape: tuple[int, int, int], last_sweep: int, n_average: int, lag: int) -> None:
        self.shape, self.last_sweep, self.n_average, self.lag = shape, last_sweep, n_average, lag
        self.n = 0

    def wants(self, number: int) -> bool:
        before_end = self.last_sweep - number
        return before_end % self.lag == 0 and before_end // self.lag < self.n_average

    def add(self, counts: AnyArray, own_share: AnyArray) -> None:
        """Counts, and which share of each cell is the collection's own."""
        if not self.n:
            self._counts: IntArray = np.zeros(self.shape, np.int64)
            self._own_counts: FloatArray = np.zeros(self.shape)
        for c in range(self.shape[0]):  # one by one: temporaries are smaller
            self._counts[c] += counts[c]
            self._own_counts[c] += counts[c] * own_share[c].astype(np.float64)
        self.n += 1

    def tables(self, priors: CrossPriors) -> CrossTables:
        return CrossTables.of(self._counts / self.n, self._own_counts / self.n, priors)
