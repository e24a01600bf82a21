"""The published sampler of cross-collection models: each token keeps its topic and its switch."""

from __future__ import annotations

import numpy as np

from discreet._random import Purpose
from discreet._types import AnyArray, FloatArray
from discreet.kernels.sweeps.sequential_cross import sweep_cross
from discreet.models.cross.training import Training


class PublishedTraining(Training):
    """Algorithm 1 of Luo et al. 2023: a collapsed sampler that draws z by eq. (11) or (13) and then x by (12) and (14).

    x starts at 0. It draws one token after the other, in the engine's order of documents and tokens; the paper says
    nothing about order. The last entry of a Beta-Liouville prior has its own formula, which the paper leaves out.
    Document counts are of all tokens (Paul and Girju 2009); section 3.2.3 can be read as of those with the same x.
    """

    def _begin(self) -> None:
        n_collections, n_words, n_topics = self.shape
        self.words, self.offsets, self.topics = self.engine.tokens()
        self.coins = np.zeros(self.engine.n_tokens, bool)
        counts, n_documents = self._counts(), len(self.offsets) - 1
        document = np.repeat(np.arange(n_documents), np.diff(self.offsets))
        by_document = np.bincount(document * n_topics + self.topics, minlength=n_documents * n_topics)
        self.common, self.own = counts.sum(axis=0), np.zeros(self.shape)
        self.common_totals, self.own_totals = self.common.sum(axis=0), np.zeros((n_collections, n_topics))
        self.totals = counts.sum(axis=1)
        self.doc_topic: FloatArray = by_document.reshape(n_documents, n_topics).astype(np.float64)
        priors = self.priors
        beta, own_beta = (np.array(np.broadcast_to(p, n_words), float) for p in (priors.beta, priors.beta_collection))
        each = ((self.alpha, self.alpha_rest), (beta, priors.beta_rest), (own_beta, priors.beta_collection_rest))
        inner = [float(prior[:-1].sum()) for prior, _ in each]
        rests = np.array([[a if rest is None else rest, a] for (_, rest), a in zip(each, inner, strict=True)])
        self._priors = (self.alpha, beta, own_beta, rests, np.array([priors.gamma0, priors.gamma1]))

    def _counts(self) -> FloatArray:
        """n[c, w, k] of all tokens."""
        cells = self.words.astype(np.int64) * self.shape[2] + self.topics
        return np.bincount(cells, minlength=int(np.prod(self.shape))).reshape(self.shape).astype(np.float64)

    def _sweep(self, number: int) -> float:
        tokens = (self.words, self.offsets, self.topics, self.coins)
        counts = (self.common, self.common_totals, self.own, self.own_totals, self.totals, self.doc_topic)
        stream = (self.engine.key.words, np.uint32(Purpose.SWEEP), np.uint32(number))
        sweep_cross(*tokens, *counts, *self._priors, False, *stream)
        return float(self.own_totals.sum())

    def _own(self) -> tuple[AnyArray, FloatArray]:
        return self._counts(), self.own
