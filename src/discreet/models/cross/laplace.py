"""LaplaceCrossLBLA: CDP-ccLBLA+, a baseline of Luo et al. 2023. As published only: nothing is proved about it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreet._errors import WouldLeak
from discreet._random import Key
from discreet.models.base import check_sizes
from discreet.models.bounds import Alpha, Epsilon, Sweeps
from discreet.models.cross.comparing import ComparesCollections
from discreet.models.cross.priors import LiouvillePriors
from discreet.models.cross.published import CrossSampler
from discreet.models.estimator import Running, estimator
from discreet.models.published import claimed, refuse_ledger
from discreet.privacy.guarantee import Observer
from discreet.privacy.ledger import Ledger
from discreet.training.loop import Measures

MISSING = (
    "every draw reads its raw word outside the noise, and the draws of topics and switches are not charged",
    "a replaced word moves two cells of N_kw or N_ckw, so that noise of scale 1/epsilon covers half of it",
    "the counts of the switch get no noise",
    "the model is computed from counts that moved after the last noise",
    "the paper plots the epsilon of one sweep; this is the sum over sweeps",
)


@estimator
class LaplaceCrossLBLA(LiouvillePriors, Running, ComparesCollections):
    """CDP-ccLBLA+ (the baseline in section 4.4 of Luo et al. 2023). **There is no sound form.**

    The sampler of :class:`~discreet.CrossLBLA` as published, with Laplace noise Lap(1/ε) added to N_dk, N_kw and N_ckw
    before every sweep; it stays in the counts. It is here so that the paper can be reproduced, and refuses to run
    without ``as_published=True``: use :class:`~discreet.HybridCrossLBLA` for single words, or a model whose unit is the
    document or the user.

    **What the printed ε means.** That of one sweep's noise, added up over the sweeps (the paper plots that of one). It
    is *claimed*, and does not hold: draws read raw words outside the noise, and a replaced word moves two cells.

    Differences from the paper, which says in one sentence what the baseline is: the scale of the noise, which it does
    not give, is that of CDP-LDA+ (Zhao 2021), as in :class:`~discreet.LaplaceLDA`; noise on a grid of 1/4096 of its
    scale; a count below zero is read as zero, in draws and in φ and σ; the order of documents and tokens is longest
    first and secret.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon : float
        The noise is Lap(1/epsilon) each time it is added.
    alpha, alpha_rest, beta, beta_rest, beta_collection, beta_collection_rest, gamma0, gamma1 :
        As in ``CrossLBLA``.
    n_sweeps : int
        The paper has 600 (500 and then ten samples at lag ten; here the model is that of the last sweep).
    as_published : bool
        Must be True, to confirm that you have read the above.
    ledger : None
        No ledger can account for an epsilon that is only claimed: anything else is refused.
    random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. The sampler is sequential: training uses one thread.

    Attributes
    ----------
    components_, collection_components_, switch_, collections_, collection_shares_, alpha_, alpha_rest_, beta_ :
        As in ``CrossLBLA``.
    """

    method = "laplace-cross"

    epsilon: Epsilon = 1.0
    beta: Alpha = 0.01
    n_sweeps: Sweeps = 600
    as_published: bool = False
    ledger: Ledger | None = None

    def fit(self, X: Any, y: Any = None, *, collections: Any = None) -> Self:
        """Train on documents. ``collections`` holds the label of each, where ``X`` is no Corpus that has them; ``y`` is
        taken for them if neither is given."""
        self._check_parameters()
        if not self.as_published:
            raise WouldLeak(
                "LaplaceCrossLBLA has no form that is proved to protect anything. Use HybridCrossLBLA (words), or pass "
                "as_published=True to reproduce the paper."
            )
        refuse_ledger(self.ledger)
        alpha, alpha_rest = self._document_prior()
        corpus = self._read(X, reset=True)
        check_sizes(corpus, self.n_topics)
        priors = self._word_priors(corpus.n_words)
        labels, of_document = self._read_collections(corpus, collections, y)
        key = Key.open(self.random_state)
        sampler = CrossSampler.start(corpus, of_document, alpha, alpha_rest, priors, key)

        def sweep(number: int) -> Measures:
            sampler.blur(1 / self.epsilon)
            sampler.sweep(number)
            return {}

        self.history_, conditions = self._run_sweeps(self.n_sweeps, sweep)
        self._keep_tables(sampler.tables())
        self._keep_collections(labels, of_document)
        self.alpha_, self.alpha_rest_, self.beta_ = alpha, alpha_rest, float(np.mean(priors.beta))
        total = float(self.epsilon * self.n_sweeps)
        self.guarantee_ = claimed(total, Observer.TRAJECTORY, key, corpus, *MISSING, *conditions)
        return self
