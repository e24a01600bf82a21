"""The published sampler of cross-collection models: each token keeps its topic and its switch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import FloatArray, IntArray
from discreet.corpus.collections import product_corpus
from discreet.corpus.corpus import Corpus
from discreet.engines import open_sweeps
from discreet.engines.interface import SweepEngine
from discreet.kernels.sweeps.sequential_cross import sweep_cross
from discreet.models.cross.tables import CrossPriors, CrossTables, word_means
from discreet.models.cross.training import Training
from discreet.models.published import STEPS, laplace_steps, pieces

if TYPE_CHECKING:
    from discreet.models.cross.model import CrossLDA

NO_NOISE: IntArray = np.zeros(0, np.int64)


class CrossSampler:
    """Algorithm 1 of Luo et al. 2023: a collapsed sampler that draws z by eq. (11) or (13) and then x by (12) and (14).

    x starts at 0. It draws one token after the other, in the engine's order of documents and tokens; the paper says
    nothing about order. The last entry of a Beta-Liouville prior has its own formula, which the paper leaves out.
    Document counts are of all tokens (Paul and Girju 2009); section 3.2.3 can be read as of those with the same x.

    ``common``, ``own``, their totals and ``doc_topic`` are the sampler's own counts: noise that is added to them stays.
    The counts of x, ``by_switch``, never get any.
    """

    def __init__(
        self,
        engine: SweepEngine,
        shape: tuple[int, int, int],
        alpha: FloatArray,
        alpha_rest: float | None,
        priors: CrossPriors,
    ) -> None:
        n_collections, n_words, n_topics = self.shape = shape
        self.key, self.alpha, self.priors, self._n_noises = engine.key, alpha, priors, 0
        self.words, self.offsets, self.topics = engine.tokens()
        self.coins = np.zeros(engine.n_tokens, bool)
        counts, n_documents = self.counts(), len(self.offsets) - 1
        document = np.repeat(np.arange(n_documents), np.diff(self.offsets))
        by_document = np.bincount(document * n_topics + self.topics, minlength=n_documents * n_topics)
        self.common, self.own = counts.sum(axis=0), np.zeros(shape)
        self.common_totals, self.own_totals = self.common.sum(axis=0), np.zeros((n_collections, n_topics))
        self.by_switch: FloatArray = np.stack([counts.sum(axis=1), self.own_totals])
        self.doc_topic: FloatArray = by_document.reshape(n_documents, n_topics).astype(np.float64)
        beta, own_beta = (np.array(np.broadcast_to(p, n_words), float) for p in (priors.beta, priors.beta_collection))
        each = ((alpha, alpha_rest), (beta, priors.beta_rest), (own_beta, priors.beta_collection_rest))
        inner = [float(prior[:-1].sum()) for prior, _ in each]
        rests = np.array([[a if rest is None else rest, a] for (_, rest), a in zip(each, inner, strict=True)])
        self._priors = (alpha, beta, own_beta, rests, np.array([priors.gamma0, priors.gamma1]))

    @classmethod
    def start(
        cls,
        corpus: Corpus,
        of_document: IntArray,
        alpha: FloatArray,
        alpha_rest: float | None,
        priors: CrossPriors,
        key: Key,
    ) -> CrossSampler:
        """With first topics that no word decides. ``of_document`` numbers the collection of each document."""
        n_collections, n_topics = int(of_document.max()) + 1, len(alpha)
        engine = open_sweeps(product_corpus(corpus, of_document, n_collections), n_topics, key, n_threads=1)
        engine.draw_first_topics()
        return cls(engine, (n_collections, corpus.n_words, n_topics), alpha, alpha_rest, priors)

    def counts(self) -> FloatArray:
        """n[c, w, k] of all tokens, without noise."""
        cells = self.words.astype(np.int64) * self.shape[2] + self.topics
        return np.bincount(cells, minlength=int(np.prod(self.shape))).reshape(self.shape).astype(np.float64)

    def sweep(self, number: int) -> None:
        """Draw topic and switch of every token again, one after the other."""
        self._visit(0, len(self.offsets) - 1, NO_NOISE, 0.0, number, math.inf)

    def sweep_noisily(self, number: int, scale: float | None, clip: float) -> None:
        """The token loop of Algorithm 2: Laplace noise of ``scale`` at each visit, unless that is None, and counts cut
        at ``clip``."""
        if scale is None:
            self._visit(0, len(self.offsets) - 1, NO_NOISE, 0.0, number, clip)
            return
        for first, last in pieces(self.offsets, self.shape[2]):
            noise = self._laplace(int(self.offsets[last] - self.offsets[first]) * self.shape[2])
            self._visit(first, last, noise, scale / STEPS, number, clip)

    def _visit(self, first: int, last: int, noise: IntArray, step: float, number: int, clip: float) -> None:
        tokens = (self.words, self.offsets, self.topics, self.coins, first, last, noise, step)
        counts = (self.common, self.common_totals, self.own, self.own_totals, self.by_switch, self.doc_topic)
        stream = (self.key.words, np.uint32(Purpose.SWEEP), np.uint32(number))
        sweep_cross(*tokens, *counts, *self._priors, False, *stream, clip)

    def blur(self, scale: float) -> None:
        """Add Laplace noise to the counts of words, common and of each collection, and of documents."""
        for table in (self.common, self.own, self.doc_topic):
            table += self._laplace(table.size).reshape(table.shape) * (scale / STEPS)
        self.common_totals[:], self.own_totals[:] = self.common.sum(axis=0), self.own.sum(axis=1)

    def _laplace(self, n: int) -> IntArray:
        self._n_noises += 1
        return laplace_steps(n, self.key, self._n_noises)

    def tables(self) -> CrossTables:
        """Eq. (16) and (17), and ψ, from the sampler's own counts; a count below zero is read as zero."""
        priors, (common, own) = self.priors, (np.maximum(table, 0.0) for table in (self.common, self.own))
        n0, n1 = self.by_switch
        return CrossTables(
            word_means(common, priors.beta, priors.beta_rest),
            word_means(own, priors.beta_collection, priors.beta_collection_rest),
            (n1 + priors.gamma1) / (n0 + n1 + (priors.gamma0 + priors.gamma1)),
        )


class PublishedTraining(Training):
    """A run of :class:`CrossSampler`, without noise."""

    engine: SweepEngine

    def _open(self, model: CrossLDA, product: Corpus, parts: IntArray) -> SweepEngine:
        key = Key.open(model.random_state)
        engine = open_sweeps(product, model.n_topics, key, n_threads=model.n_threads, parts=parts)
        engine.draw_first_topics()
        return engine

    def _begin(self) -> None:
        self.sampler = CrossSampler(self.engine, self.shape, self.alpha, self.alpha_rest, self.priors)

    def _sweep(self, number: int) -> float:
        self.sampler.sweep(number)
        return float(self.sampler.own_totals.sum())

    def _sample(self) -> None:
        self.samples.add(self.sampler.counts(), self.sampler.own)
