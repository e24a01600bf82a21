"""What ``as_published`` forms share: the papers' sequential sampler, noise in its own counts, and claimed
guarantees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_sweeps
from discreet.kernels.sweeps.sequential import sweep_sequential
from discreet.mechanisms.noise import sample_discrete_laplace
from discreet.privacy.guarantee import SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.ledger import Ledger

STEPS = 4096.0
"""Grid steps per scale of the Laplace noise: fine enough to replace the papers' real numbers."""

VALUES = 1 << 22
"""Noise values of a token loop that are held at a time."""


class DrawObserver(Protocol):
    """What an attack sees of a run (Zhao 2021, Algorithm 3): tables before a sweep, and draws when they are made.

    ``sampler`` is the run itself: an observer reads it and changes nothing.
    """

    documents: Sequence[int]
    """Documents, in the sampler's order and rising, after whose last token the sweep is interrupted."""

    def before(self, sampler: SequentialSampler, number: int) -> None:
        """Noise was added, nothing was drawn yet."""

    def drawn(self, sampler: SequentialSampler, document: int, clip: float) -> None:
        """The last token of this document has just been drawn, and no token after it."""

    def after(self, sampler: SequentialSampler, number: int) -> None:
        """The sweep is done."""


_OBSERVER: ContextVar[DrawObserver | None] = ContextVar("observer", default=None)


@contextmanager
def observed_by(observer: DrawObserver) -> Iterator[None]:
    """Samplers that are made in this block are observed. It changes no draw."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


class SequentialSampler:
    """The sampler of Zhao 2019, Zhao 2021 and Huang and Chen 2021: collapsed Gibbs; every draw moves shared counts.

    ``word_topic`` (flat, word × topic), ``topic_totals`` and ``doc_topic`` are the sampler's own counts: noise that is
    added to them stays. Tokens are in a secret order, documents longest first; the papers do not state an order.
    """

    def __init__(self, corpus: Corpus, n_topics: int, alpha: FloatArray, beta: float, key: Key) -> None:
        engine = open_sweeps(corpus, n_topics, key, n_threads=1)
        engine.draw_first_topics()
        self.words, self.offsets, self.topics = engine.tokens()
        self.alpha, self.beta, self.key = alpha, float(beta), key
        self.shape = (corpus.n_words, n_topics)
        self.word_topic: FloatArray = engine.count().astype(np.float64).ravel()
        self.topic_totals: FloatArray = self.word_topic.reshape(self.shape).sum(axis=0)
        document = np.repeat(np.arange(corpus.n_documents), np.diff(self.offsets))
        cells = np.bincount(document * n_topics + self.topics, minlength=corpus.n_documents * n_topics)
        self.doc_topic: FloatArray = cells.reshape(corpus.n_documents, n_topics).astype(np.float64)
        self.visited = np.ones(corpus.n_tokens, bool)
        self._n_noises = 0
        self._observer = _OBSERVER.get()

    def sweep(self, number: int, clip: float = math.inf) -> None:
        """Draw the topic of every visited token again, one after the other."""
        nothing, first, observer = np.zeros(0, np.int64), 0, self._observer
        if observer is not None:
            observer.before(self, number)
            for document in observer.documents:
                self._visit(first, document + 1, nothing, 0.0, number, clip)
                observer.drawn(self, document, clip)
                first = document + 1
        self._visit(first, len(self.offsets) - 1, nothing, 0.0, number, clip)
        if observer is not None:
            observer.after(self, number)

    def _visit(self, first: int, last: int, noise: IntArray, step: float, number: int, clip: float) -> None:
        """The same for the documents ``first`` to ``last - 1``, with noise at each visit unless ``noise`` is empty."""
        tokens = (self.words, self.offsets, self.topics, self.visited, first, last, noise, step)
        counts = (self.word_topic, self.topic_totals, self.doc_topic, self.alpha, self.beta)
        sweep_sequential(*tokens, *counts, self.key.words, np.uint32(Purpose.SWEEP), np.uint32(number), clip)

    def blur_words(self, scale: float) -> None:
        """Add Laplace noise to the counts n[w, k] themselves, and so to their totals."""
        self.word_topic += self._laplace(self.word_topic.size, scale)
        self.topic_totals[:] = self.word_topic.reshape(self.shape).sum(axis=0)

    def blur_documents(self, scale: float) -> None:
        """Add Laplace noise to the counts n[d, k]."""
        self.doc_topic += self._laplace(self.doc_topic.size, scale).reshape(self.doc_topic.shape)

    def _laplace(self, n: int, scale: float) -> FloatArray:
        self._n_noises += 1
        steps: FloatArray = laplace_steps(n, self.key, self._n_noises).astype(np.float64)
        return steps * (scale / STEPS)

    def word_topics(self) -> FloatArray:
        """Φ, word × topic: (n[w, k] + β) / Σ_w (n[w, k] + β), a count below zero read as zero."""
        positive = np.maximum(self.word_topic.reshape(self.shape), 0.0)
        positive += self.beta
        positive /= positive.sum(axis=0)
        return np.asarray(positive)

    def topics_of_words(self) -> FloatArray:
        """Φ, topic × word."""
        return np.ascontiguousarray(self.word_topics().T)


def laplace_steps(n: int, key: Key, number: int) -> IntArray:
    """Laplace noise in steps of which STEPS are its scale. Never use a ``number`` twice with one key."""
    noise = np.empty(n, np.int64)
    sample_discrete_laplace(noise, STEPS, key, number)
    return noise


def pieces(visits: IntArray, n_topics: int) -> Iterator[tuple[int, int]]:
    """Documents, first and last (excluded), of which one token loop has room for the noise: a row per visit.

    ``visits`` are the visits before each document, and of all.
    """
    first, n_documents = 0, len(visits) - 1
    while first < n_documents:
        last = max(int(np.searchsorted(visits, visits[first] + VALUES // n_topics, side="right")) - 1, first + 1)
        yield first, last
        first = last


def refuse_ledger(ledger: Ledger | None) -> None:
    """What is only claimed cannot be added to what is proven."""
    if ledger is not None:
        raise InputError(
            "as_published=True gives an epsilon that is only claimed, so no ledger can account for it. Leave ledger or "
            "as_published out."
        )


def claimed(
    epsilon: float,
    observer: Observer,
    key: Key,
    corpus: Corpus,
    *reasons: str,
    relation: Relation = Relation.REPLACE,
    unit: Unit = Unit.WORD,
    delta: float = 0.0,
) -> Guarantee:
    """The papers' ε for one unit, and what its proof lacks. With a seed, no guarantee at all."""
    if key.seeded:
        return Guarantee.none(SEEDED, f"without the seed epsilon={epsilon:.4g} would be claimed for one {unit}")
    if corpus.codebook is not None and not corpus.codebook.public:
        reasons = (*reasons, "the visual words were learnt from the private pictures")
    elif corpus.vocabulary.origin == "text":
        reasons = (*reasons, "the vocabulary was read from the private text")
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        observer=observer,
        relation=relation,
        basis=Basis.CLAIMED,
        reasons=reasons,
    )
