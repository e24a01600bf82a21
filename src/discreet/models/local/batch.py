"""Frozen sweeps over one batch of documents or reports, under a given prior, with a topic for false bits if need be.

**Training that knows the noise.** Of the bits of a report, a share 1 − f are the document's own, and each word is there
with probability f/2 by chance, whatever the document. So the expected number of tokens of word w in report d is
(1 − f)·presence + f/2, and the false ones are one more topic: the same weight f/2 for every word, and the same weight
in every document. A token of word w belongs to topic k with weight φ[k, w]·(n[d, k] + α_k), where n[d, k] counts the
document's tokens, and is false with weight f/2. The rest is LDA; bits lost by a flip from 1 to 0 are lost in equal
shares for all words and change no topic.

The engine multiplies the weight of a topic by (n[d, k] + α_k). With α = A = 2³⁰ for the false topic this factor is A
in float32, up to 3·10⁻⁷ for a thousand words, and its weight is f/(2A).
"""

from __future__ import annotations

import numpy as np

from discreet._random import Key
from discreet._types import FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_sweeps
from discreet.kernels.sums.counts import topic_totals
from discreet.training.loop import Measures

LARGE = 2.0**30
"""A: n + A is A in float32, up to a rounding step."""


class Batch:
    """One run over the documents of a batch.

    ``prior`` is word × topic: β of eq. (10)–(12). ``flip``: f/2 if these are reports, 0 if they are documents.
    ``informed``: the prior holds what earlier batches taught, so the first sweep draws from it alone; otherwise it
    draws from random topics.
    """

    def __init__(
        self,
        corpus: Corpus,
        alpha: FloatArray,
        prior: FloatArray,
        key: Key,
        *,
        flip: float = 0.0,
        informed: bool = False,
        average_from: int,
        n_threads: int | None = None,
    ) -> None:
        self.n_topics = len(alpha)
        self.flip, self.informed, self.average_from = flip, informed, average_from
        self.engine = open_sweeps(corpus, self.n_topics + (flip > 0), key, n_threads=n_threads)
        self.alpha = np.append(alpha, LARGE) if flip else alpha
        self.use_prior(prior)
        self.engine.draw_first_topics()
        self.summed: IntArray | None = None
        self.n_summed = 0

    def use_prior(self, prior: FloatArray) -> None:
        """Go on with another prior, word × topic."""
        extra = np.ones((len(prior), 1))
        self.prior = np.hstack([prior, extra]) if self.flip else np.ascontiguousarray(prior)
        self.prior_mass = topic_totals(np.ascontiguousarray(prior))

    def sweep(self, number: int) -> Measures:
        """Counts → weights → draws → counts."""
        k = self.n_topics
        counts = np.array(self.engine.count())  # a copy: the engine's own has false tokens in its last column
        if number == 1 and self.informed:
            counts[:] = 0
        counts[:, k:] = 0
        scale = np.empty(counts.shape[1])
        scale[:k] = 1.0 / (topic_totals(counts)[:k] + self.prior_mass)
        scale[k:] = self.flip / LARGE
        self.engine.sweep(counts, self.alpha, number, prior=self.prior, scale=scale)
        if number >= self.average_from:
            if self.summed is None:
                self.summed = np.zeros((counts.shape[0], k), np.int64)
            self.summed += self.engine.count()[:, :k]
            self.n_summed += 1
        return {}

    def current(self) -> FloatArray:
        """The counts now, word × topic, without false tokens."""
        return np.asarray(self.engine.count()[:, : self.n_topics], np.float64)

    def counts(self) -> FloatArray:
        """Mean counts of the last sweeps, word × topic: N_{k,t}."""
        if self.summed is None:
            return self.current()
        return np.asarray(self.summed / self.n_summed)


def normalised(counts: FloatArray, prior: FloatArray) -> FloatArray:
    """Topic × word, rows add up to 1: (N + β)/Σ(N + β), eq. (13)."""
    topics = np.ascontiguousarray((counts + prior).T)
    topics /= topics.sum(axis=1, keepdims=True)
    return topics
