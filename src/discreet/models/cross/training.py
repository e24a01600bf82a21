"""A run of a cross-collection model: its engine, the weights of its sweeps and the counts that are sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet._random import Key
from discreet._types import AnyArray, Float32Array, FloatArray, IntArray
from discreet.corpus.collections import product_corpus
from discreet.corpus.corpus import Corpus
from discreet.kernels.sums.collections import add_sample
from discreet.models.algorithm import Engine, open_engine
from discreet.models.cross.tables import CrossPriors, CrossTables, CrossWeights
from discreet.training.loop import Measures
from discreet.training.relaxation import OverRelaxation

if TYPE_CHECKING:
    from discreet.models.cross.model import CrossLDA


class Training:
    """The state of one run under frozen tables. Another sampler changes `_open`, `_begin`, `_sweep` and `_sample`."""

    def __init__(self, model: CrossLDA, corpus: Corpus, of_document: IntArray, n_collections: int) -> None:
        self.alpha, self.alpha_rest = model._document_prior()
        self.priors = model._word_priors(corpus.n_words)
        # the product has no name here: its memory is free after the call
        self.engine = self._open(model, product_corpus(corpus, of_document, n_collections), of_document)
        self.shape = (n_collections, corpus.n_words, model.n_topics)
        self.balanced_until = model.n_sweeps // 2
        self.n_done = 0
        self.plan_samples(model)
        self._begin()

    def _open(self, model: CrossLDA, product: Corpus, parts: IntArray) -> Engine:
        """With the first topics."""
        size = (model.n_topics, Key.open(model.random_state))
        return open_engine(model.algorithm, product, *size, n_threads=model.n_threads, parts=parts)

    def _begin(self) -> None:
        self.weights, self.relaxation = CrossWeights(self.shape, self.priors), OverRelaxation()
        self.counts: AnyArray = self.engine.count().reshape(self.shape)
        self.weights.count(self.counts)

    def sweep(self, number: int) -> Measures:
        """A sweep, and a sample where one is planned."""
        own = self._sweep(number)
        self.n_done = number
        if self.samples.wants(number):
            self._sample()
        return {"own_share": own / self.engine.n_tokens}

    def _sweep(self, number: int) -> float:
        """Counts → weights → sweep → counts; how many tokens have x = 1."""
        engine, seen = self.engine, self.counts
        if not engine.draws:
            seen = self.relaxation.seen(seen, number)
            self.weights.count(seen)
        weights = self.weights.of(seen, balanced=number <= self.balanced_until)
        engine.sweep_rows(weights, self.alpha, number, alpha_rest=self.alpha_rest)
        self.counts = engine.count().reshape(self.shape)
        return self.weights.count(self.counts)

    def _sample(self) -> None:
        self.samples.add_expected(self.counts, self.weights.own_share)

    def averaged(self) -> CrossTables:
        """Tables of the mean counts; of the last ones, where a callback ended the run before the first sample."""
        if not self.samples.n:
            self._sample()
        return self.samples.tables(self.priors)

    def drop_tables(self) -> None:
        """Free the tables of sweeps after the last one: what is averaged is as large."""
        self.relaxation = OverRelaxation()
        self.engine.drop_tables()

    # --- going on ---------------------------------------------------------------------------------------------------

    def plan_samples(self, model: CrossLDA) -> None:
        """At the end of the sweeps to come."""
        self.samples = Samples(self.shape, self.n_done + model.n_sweeps, model.n_average, model.lag)

    def holds(self, model: CrossLDA, corpus: Corpus, of_document: IntArray) -> bool:
        """Is this the run of so many topics over these documents?"""
        same_shape = self.shape[1:] == (corpus.n_words, model.n_topics)
        return same_shape and self.engine.holds(product_corpus(corpus, of_document, self.shape[0]))


class Samples:
    """Counts after ``n_average`` sweeps, each ``lag`` after the one before, ``last_sweep`` among them: their sums."""

    def __init__(self, shape: tuple[int, int, int], last_sweep: int, n_average: int, lag: int) -> None:
        self.shape, self.last_sweep, self.n_average, self.lag = shape, last_sweep, n_average, lag
        self.n = 0

    def wants(self, number: int) -> bool:
        before_end = self.last_sweep - number
        return before_end % self.lag == 0 and before_end // self.lag < self.n_average

    def add(self, counts: AnyArray, own_counts: FloatArray) -> None:
        """Of all tokens, and of those with x = 1; both collection × word × topic."""
        self._begin()
        self._counts += counts
        self._own_counts += own_counts

    def add_expected(self, counts: AnyArray, own_share: Float32Array) -> None:
        """As :meth:`add`, of ``counts`` and ``counts * own_share``."""
        self._begin()
        add_sample(counts, own_share, self._counts, self._own_counts)

    def _begin(self) -> None:
        if not self.n:
            self._counts, self._own_counts = np.zeros(self.shape), np.zeros(self.shape)
        self.n += 1

    def tables(self, priors: CrossPriors) -> CrossTables:
        """Of the mean counts. The sums are divided where they lie: they are as large as the tables."""
        for summed in (self._counts, self._own_counts):
            summed /= self.n
        self.n = 1
        return CrossTables.of(self._counts, self._own_counts, priors)
