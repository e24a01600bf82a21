"""SUB-LDA as published (Huang and Chen 2021, Algorithm 1). Nothing is proved; the guarantee says why not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet._random import Key, Purpose
from discreet._types import BoolArray, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.evaluation import completion_perplexity
from discreet.kernels.measures.likelihood import score_mixtures
from discreet.mechanisms.noise import sample_discrete_gaussian
from discreet.mechanisms.sampling import coin_threshold
from discreet.models.base import check_sizes
from discreet.models.published import STEPS, SequentialSampler, claimed, pieces, refuse_ledger
from discreet.models.subsampled.rules import Converged, frequent_cells
from discreet.privacy.guarantee import Observer, Relation
from discreet.privacy.subsampled import as_approximate, round_epsilon, subsampled_rdp, table_3_rdp
from discreet.training.loop import Measures

if TYPE_CHECKING:
    from discreet.models.subsampled.model import SubsampledLDA

WHY_CLAIMED = (
    "the counts that leave hold the tokens that were not sampled too, so sampling amplifies nothing",
    "noise is added to the counts themselves and stays there; no release has noise of its own",
    "topics are drawn from raw words, and these draws are not charged",
    "the noise hides one token, while the proof adds a whole document",
    "the published Θ, the topics of each document, leaves without noise (it is not kept here)",
)
"""Why the published ε is not proved, for any parameters (docs/papers.md)."""


def fit_as_published(model: SubsampledLDA, corpus: Corpus, alpha: FloatArray, public: Corpus | None) -> None:
    """Run Algorithm 1, and set the attributes that ``fit`` sets."""
    refuse_ledger(model.ledger)
    check_sizes(corpus, model.n_topics)
    order, rate = int(model.order), model.largest_rate
    one = float(model.round_epsilon or round_epsilon(order, model.epsilon, rate, model.n_rounds))
    key = Key.open(model.random_state)
    run = PublishedRun(model, corpus, alpha, key, math.sqrt(order / (2 * one)), public)
    model.history_, conditions = model._run_sweeps(model.n_rounds, run.iterate, converged=lambda: run.converged)
    model.components_ = run.topics_of_words()
    model.alpha_, model.beta_ = alpha, float(model.beta)
    total, printed = (run.n_done * rdp(order, one, rate) for rdp in (subsampled_rdp, table_3_rdp))
    reasons = [*WHY_CLAIMED, *_about(model, run, total, printed), *conditions]
    model.guarantee_ = claimed(total, Observer.STATISTICS, key, corpus, *reasons, relation=Relation.ADD_REMOVE)


def _about(model: SubsampledLDA, run: PublishedRun, total: float, printed: float) -> list[str]:
    """What the ε of this run means, and the further gaps in its proof."""
    converted = as_approximate(int(model.order), total, model.delta)
    found = [
        f"the number is a Rényi divergence of order {model.order}, {run.n_done} iterations of ε_sub = "
        f"{total / run.n_done:.4g}; even if it held, it would mean ε = {converted:.4g} at δ = {model.delta:g}",
        f"the paper's own Table 3 leaves out a term of its Theorem 3.1 and would print {printed / run.n_done:.4g} per "
        f"iteration, {printed:.4g} in all",
    ]
    if model.adaptive:
        found.append("which tokens are sampled is decided by counts that were not released")
    if model.tolerance is not None and run.public is None:
        found.append("training stopped by a perplexity of the private documents")
    return found


class PublishedRun(SequentialSampler):
    """Algorithm 1's state: the topics of all tokens, and counts that noise has been added to."""

    def __init__(
        self, model: SubsampledLDA, corpus: Corpus, alpha: FloatArray, key: Key, sigma: float, public: Corpus | None
    ) -> None:
        super().__init__(corpus, model.n_topics, alpha, model.beta, key)  # "Sample topic: k ~ Mult(1/K)"
        self.model, self.sigma, self.public = model, sigma, public
        self.n_done = 0
        self.converged = False
        self._rule = None if model.tolerance is None else Converged(model.tolerance, model.patience)

    def iterate(self, number: int) -> Measures:
        """One pass of the outer loop: sample tokens, then visit them in order."""
        self.visited = self.batch(number)
        clip = math.inf if self.model.max_count is None else float(self.model.max_count)
        if self.model.noise == "token":
            self._sweep_noisily(number, clip)
        else:
            self.word_topic += self._gaussian(self.word_topic.size) * (self.sigma / STEPS)
            self.topic_totals[:] = self.word_topic.reshape(self.shape).sum(axis=0)
            self.sweep(number, clip)
        self.n_done = number
        return self._judge()

    def _sweep_noisily(self, number: int, clip: float) -> None:
        """The token loop, with noise at each visit; as many documents at a time as their noise fits in memory."""
        n_topics = self.model.n_topics
        visits = np.concatenate([[0], np.cumsum(self.visited)])[self.offsets]
        for first, last in pieces(visits, n_topics):
            noise = self._gaussian(int(visits[last] - visits[first]) * n_topics)
            self._visit(first, last, noise, self.sigma / STEPS, number, clip)

    def _gaussian(self, n: int) -> IntArray:
        """Fresh noise, in steps of which STEPS are a standard deviation."""
        noise = np.empty(n, np.int64)
        self._n_noises += 1
        sample_discrete_gaussian(noise, STEPS, self.key, self._n_noises)
        return noise

    def batch(self, number: int) -> BoolArray:
        """Poisson sampling of tokens, at rate γ, or by Eq. 10."""
        return self.coins(number) & self.frequent_tokens() if self.model.adaptive else self.coins(number)

    def coins(self, number: int) -> BoolArray:
        """One for each token, at the largest rate."""
        bits = self.key.bits(Purpose.INCLUSION, number, 0, len(self.words))
        return np.asarray(bits < np.int64(coin_threshold(self.model.largest_rate)))

    def frequent_tokens(self) -> BoolArray:
        """Whether a token's word is frequent in its topic (Eq. 10), by counts as they are."""
        frequent = frequent_cells(self.word_topic.reshape(self.shape), self.model.frequent_share)
        return np.asarray(frequent[self.words, self.topics])

    def _judge(self) -> Measures:
        """Eq. 9, on public documents, or on the training documents as the paper does."""
        if self.public is not None:
            threads = self.model.n_threads
            value = completion_perplexity(self.topics_of_words(), self.public, alpha=self.alpha, n_threads=threads)
        elif self._rule is not None:
            value = self.perplexity()
        else:
            return {}
        self.converged = self._rule is not None and self._rule(value)
        return {"perplexity" if self.public is None else "public_perplexity": value}

    def perplexity(self) -> float:
        """exp of minus the mean log Σ_k θ_mk φ_kt of the training tokens, Θ and Φ from the counts."""
        theta = self.doc_topic + self.alpha
        theta /= theta.sum(axis=1, keepdims=True)
        scores = np.empty(len(theta))
        score_mixtures(self.word_topics(), self.words, self.offsets, theta, scores)
        return math.exp(-math.fsum(scores) / len(self.words))
