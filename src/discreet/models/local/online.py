"""OnlineLDA: topics from a stream of batches. O-LDA of Zhao et al. 2021."""

from __future__ import annotations

from dataclasses import field
from numbers import Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval

from discreet._random import Key, Purpose
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.bounds import Alpha, AtLeastOne, Prior, Sweeps, Topics
from discreet.models.estimator import Running, estimator
from discreet.models.local.batch import Batch, normalised
from discreet.privacy import Guarantee
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED
from discreet.training.loop import Measures

Correlation = Annotated[float, Interval(Real, 0, 1, closed="both")]

LEARN_EVERY = 10
"""Sweeps between two draws of λ."""

GRID = np.arange(1, 64) / 64
"""Values of λ among which one is drawn."""


@estimator
class OnlineLDA(Running, TopicModel):
    """O-LDA (Zhao et al. 2021, section VI-B): LDA on batches, each with the counts of those before as its prior. Its
    guarantee is *none*.

    Batch l has the prior β^l = β + λ·Σ_{i<l} N^i (eq. 10 and 11), where N^i are the topic-word counts that were found
    in batch i, and 0 ≤ λ ≤ 1 says how alike batches are. A topic is drawn from p(k) ∝ (n[k, t] + β^l[k, t])/Σ_t(…) ·
    (n[m, k] + α) (eq. 12), and the topics after the batch are (n[k, t] + β^l[k, t])/Σ_t(…) (eq. 13). What is kept
    between batches is one table, Σ N^i: memory does not grow with the stream.

    λ may be learnt: the paper has λ ~ U(0, 1) and "the MCMC method", and says no more. Every ten sweeps of a batch, λ
    is drawn from its conditional distribution given the counts, on a grid of 63 values (griddy Gibbs): the likelihood
    of N^l under Dirichlet-multinomial rows with prior β^l.

    Differences from the paper: sweeps are frozen, as in :class:`~discreet.LDA`, and N^i is a mean over the last
    ``n_average`` sweeps; the first sweep of a later batch draws from its prior alone, not from random topics.

    Parameters
    ----------
    n_topics, alpha, beta :
        As in :class:`~discreet.LDA`.
    correlation : float or "learn"
        λ; the paper's experiments have 0.5.
    n_sweeps, n_average : int
        Passes over each batch, and how many of the last give its counts.
    batch_size : int
        Documents of a batch in ``fit``; the paper has 160. ``partial_fit`` takes one batch of any size.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. Callbacks are called in each batch.

    Attributes
    ----------
    components_, alpha_, beta_, guarantee_ :
        After the last batch.
    topic_counts_ : array (n_words, n_topics)
        Σ N^i.
    n_batches_ : int
    correlation_ : float
        λ of the last batch.
    """

    method = "online"

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    correlation: Correlation | Literal["learn"] = 0.5
    n_sweeps: Sweeps = 50
    n_average: AtLeastOne = 10
    batch_size: AtLeastOne = 160

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget what was learnt, and train on the documents batch by batch, in their order. ``y`` is ignored."""
        self._check_parameters()
        corpus = self._read(X, reset=True)
        for start in range(0, corpus.n_documents, self.batch_size):
            self._take(corpus[start : start + self.batch_size])
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train on one more batch. ``y`` is ignored."""
        self._check_parameters()
        self._take(self._read(X, reset=not hasattr(self, "n_batches_")))
        return self

    def _take(self, corpus: Corpus) -> None:
        """One batch of documents."""
        key = self._next_key()
        self._learn_batch(corpus, self._base(corpus.n_words), key)
        self.guarantee_ = Guarantee.none(EXACT_COUNTS, *((SEEDED,) if key.seeded else ()))

    def _next_key(self) -> Key:
        key, n_done = Key.open(self.random_state), getattr(self, "n_batches_", 0)
        return key.renewed(n_done) if n_done else key

    def _base(self, n_words: int) -> FloatArray:
        """The prior of every topic before the first batch, one number per word."""
        return np.full(n_words, float(self.beta))

    def _learn_batch(self, corpus: Corpus, base: FloatArray, key: Key, flip: float = 0.0, *, keep: bool = True) -> None:
        """Eq. (10) to (13). ``keep``: the batch's counts are part of the prior of those after it."""
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        before: FloatArray = getattr(self, "topic_counts_", np.zeros((corpus.n_words, self.n_topics)))
        learns = self.correlation == "learn"
        weight = getattr(self, "correlation_", 0.5) if learns else float(self.correlation)
        prior = base[:, None] + weight * before
        informed = bool(before.any()) and weight > 0
        counts = np.zeros_like(before)
        history: dict[str, list[float]] = {}
        if corpus.n_tokens:
            average_from = self.n_sweeps - min(self.n_average, self.n_sweeps) + 1
            options: dict[str, Any] = {"flip": flip, "informed": informed, "n_threads": self.n_threads}
            batch = Batch(corpus, alpha, prior, key, average_from=average_from, **options)

            def sweep(number: int) -> Measures:
                nonlocal weight, prior
                batch.sweep(number)
                if learns and informed and number % LEARN_EVERY == 0:
                    coins = key.generator(Purpose.CORRELATION, number)
                    weight = draw_correlation(before, batch.current(), base, coins)
                    prior = base[:, None] + weight * before
                    batch.use_prior(prior)
                return {}

            history, _ = self._run_sweeps(self.n_sweeps, sweep)
            counts = batch.counts()
        self.components_ = normalised(counts, prior)
        self.topic_counts_ = before + counts if keep else before
        self.n_batches_ = getattr(self, "n_batches_", 0) + 1
        self.correlation_, self.history_ = weight, history
        self.alpha_, self.beta_ = alpha, float(self.beta)


def draw_correlation(before: FloatArray, counts: FloatArray, base: FloatArray, coins: np.random.Generator) -> float:
    """λ given the counts of a batch and Σ N^i of those before, both word × topic, under λ ~ U(0, 1)."""
    logs = correlation_log_likelihood(before, counts, base)
    chances = np.exp(logs - logs.max())
    return float(coins.choice(GRID, p=chances / chances.sum()))


def correlation_log_likelihood(before: FloatArray, counts: FloatArray, base: FloatArray) -> FloatArray:
    """log p(counts | λ) for each λ of the grid, up to a constant: a Dirichlet-multinomial for each topic."""
    words, topics = np.nonzero(counts)  # cells without a token add nothing
    n, cells, own = counts[words, topics], before[words, topics], base[words]
    masses, base_mass, totals = before.sum(axis=0), base.sum(), counts.sum(axis=0)
    logs = np.empty(len(GRID))
    for i, weight in enumerate(GRID):
        prior, mass = own + weight * cells, base_mass + weight * masses
        logs[i] = (gammaln(n + prior) - gammaln(prior)).sum() + (gammaln(mass) - gammaln(mass + totals)).sum()
    return logs
