"""Which word is it? The topic-based attack of Zhao et al. 2021 (Algorithm 3), from the topics that a token draws.

The observer sees the table before every sweep, with its noise, and the topic that the attacked token draws in each of
them. Two answers are computed from the same run, both a distribution over all words t, with a flat prior:

* *as published*, eq. (24): P(t | k₁, …, k_T) = Π_i n̂[t, k_i] / Σ_t' n̂[t', k_i]. As printed it is a product of factors
  of 1 at most and can only fall with T, while Figure 4 rises; so it is normalised over words here. β is added to every
  count, which the paper does not do: a count of zero, or one below it by noise, would end everything.
* *exact*: P(t | k₁, …, k_T) ∝ Π_i p(k_i | t, table_i, n_d,i), with the sampler's own p(k | t) ∝ (min(n[t, k], C) + β) /
  (n[k] + Vβ) · (n[d, k] + α), normalised over topics, and the counts as they were when the token was drawn, without the
  token itself. Eq. (24) leaves out that a token's topic depends on its document too, and normalises over words where
  the sampler normalises over topics.

The paper attacks the last word of the data set, and calls the probability of the true word "attack accuracy". One word
decides nothing: here the last token of many documents is attacked, in a secret order, and the mean is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.models.published import SequentialSampler


@dataclass(frozen=True)
class Inferred:
    """After some sweeps: what the two posteriors say of the true words, averaged over attacked tokens."""

    sweep: int
    published: float
    """Mean probability of the true word by eq. (24), normalised."""
    exact: float
    """The same by the exact posterior of the draws."""
    published_right: float
    """Share of the tokens whose true word is the most probable."""
    exact_right: float


class TopicAttack:
    """An observer of one run of a published form, for ``models.published.observed_by``."""

    def __init__(self, documents: Iterable[int], sweeps: Iterable[int]) -> None:
        """Attack the last tokens of these documents, in the sampler's order (longest first), and report after
        ``sweeps``."""
        self.documents: Sequence[int] = sorted(set(documents))
        self.found: list[Inferred] = []
        self._sweeps = set(sweeps)
        self._words: IntArray = np.zeros(0, np.int64)
        self._published: FloatArray = np.zeros((0, 0))
        self._exact: FloatArray = np.zeros((0, 0))
        self._table: FloatArray = np.zeros((0, 0))

    def before(self, sampler: SequentialSampler, number: int) -> None:
        """Line 4: record n̂."""
        if not len(self._words):
            self._words = np.array([sampler.words[self._last(sampler, d)] for d in self.documents], np.int64)
            self._published = np.zeros((len(self.documents), sampler.shape[0]))
            self._exact = np.zeros_like(self._published)
        positive = np.maximum(sampler.word_topic.reshape(sampler.shape), 0.0) + sampler.beta
        self._table = np.log(positive / positive.sum(axis=0))

    def drawn(self, sampler: SequentialSampler, document: int, clip: float) -> None:
        """Line 8: record k_i, and how probable each word would have made it."""
        i, last = self.documents.index(document), self._last(sampler, document)
        topic = int(sampler.topics[last])
        self._published[i] += self._table[:, topic]
        self._exact[i] += log_chances(sampler, document, last, clip)

    def after(self, sampler: SequentialSampler, number: int) -> None:
        if number in self._sweeps:
            published, exact = self.posteriors()
            rows = np.arange(len(self._words))
            self.found.append(
                Inferred(
                    number,
                    float(published[rows, self._words].mean()),
                    float(exact[rows, self._words].mean()),
                    float((published.argmax(axis=1) == self._words).mean()),
                    float((exact.argmax(axis=1) == self._words).mean()),
                )
            )

    def posteriors(self) -> tuple[FloatArray, FloatArray]:
        """Token × word: as published, and exact."""
        return _normalised(self._published), _normalised(self._exact)

    @staticmethod
    def _last(sampler: SequentialSampler, document: int) -> int:
        return int(sampler.offsets[document + 1]) - 1


def log_chances(sampler: SequentialSampler, document: int, token: int, clip: float) -> FloatArray:
    """log p(k | t) for every word t, k being the topic that the ``token`` has just drawn."""
    topic, word = int(sampler.topics[token]), int(sampler.words[token])
    counts = sampler.word_topic.reshape(sampler.shape)
    totals, own = sampler.topic_totals.copy(), sampler.doc_topic[document].copy()
    totals[topic] -= 1.0
    own[topic] -= 1.0
    weights = np.clip(counts, 0.0, clip) + sampler.beta
    weights[word, topic] = min(max(counts[word, topic] - 1.0, 0.0), clip) + sampler.beta  # without the token itself
    shares = (np.maximum(own, 0.0) + sampler.alpha) / (np.maximum(totals, 0.0) + sampler.beta * sampler.shape[0])
    return np.asarray(np.log(weights[:, topic] * shares[topic] / (weights @ shares)))


def _normalised(logs: FloatArray) -> FloatArray:
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
