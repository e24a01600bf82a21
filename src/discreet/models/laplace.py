"""LaplaceLDA: CDP-LDA and CDP-LDA+, the papers' baselines. As published only: nothing is proved about them."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

from discreet._errors import WouldLeak
from discreet._random import Key
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.bounds import Alpha, Epsilon, Prior, Sweeps, Topics
from discreet.models.estimator import Running, estimator
from discreet.models.published import SequentialSampler, claimed, refuse_ledger
from discreet.privacy.guarantee import Observer
from discreet.privacy.ledger import Ledger
from discreet.training.loop import Measures

MISSING = (
    "every draw reads its raw word outside the noise, and draws are not charged",
    "a replaced word moves two cells of n[k, w], so that noise of scale 1/epsilon covers half of it",
    "the model is computed from counts that moved after the last noise",
)
ONCE = "after the first sweep no count is protected by anything"
EVERY = "the papers plot the epsilon of one sweep; this is the sum over sweeps"


@estimator
class LaplaceLDA(Running, TopicModel):
    """CDP-LDA and CDP-LDA+ (the baselines of Zhao 2019 and 2021, after Foulds et al. 2016). **There is no sound form.**

    Collapsed Gibbs sampling with Laplace noise Lap(1/ε) in the counts N_k^t (ours: n[w, k]) and N_m^k (n[d, k]): before
    the first sweep only (CDP-LDA), or before every sweep (CDP-LDA+, ``every_sweep=True``). The noise stays in the
    counts. It is here so that the papers can be reproduced, and refuses to run without ``as_published=True``: use
    :class:`~discreet.PrivateLDA`, or :class:`~discreet.HybridLDA` for single words.

    **What the printed ε means.** The papers' own: ε for CDP-LDA, ε added up over the sweeps for CDP-LDA+ (Zhao 2021
    plots that of one). It is *claimed*, and does not hold: later draws read raw words outside the noise, whatever was
    added before, and a replaced word moves two cells of N_k^t, so that even the first noise costs 2ε for one word.

    Differences from the papers: noise on a grid of 1/4096 of its scale, not real numbers; a count below zero is read as
    zero, in draws and in Φ (the papers do not say what they do there); the order of documents and tokens, which they do
    not state, is longest first and secret. Zhao 2019 describes the noise as added "at the beginning", Zhao 2021 as "in
    the first iteration": taken to be the same.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon : float
        The noise is Lap(1/epsilon) each time it is added.
    every_sweep : bool
        False: CDP-LDA. True: CDP-LDA+.
    alpha, beta : float
        The papers have β = 0.01 and α = 1 (Zhao 2021) or 0.1 (Zhao 2019).
    n_sweeps : int
        Iterations; Zhao 2019 has 300.
    as_published : bool
        Must be True, to confirm that you have read the above.
    ledger : None
        No ledger can account for an epsilon that is only claimed: anything else is refused.
    random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. The sampler is sequential: there are no threads.
    """

    n_topics: Topics = field(default=10, kw_only=False)
    epsilon: Epsilon = 1.0
    every_sweep: bool = False
    alpha: Alpha = 1.0
    beta: Prior = 0.01
    n_sweeps: Sweeps = 300
    as_published: bool = False
    ledger: Ledger | None = None

    @property
    def method(self) -> str:  # type: ignore[override]
        """As on the command line."""
        return "laplace-plus" if self.every_sweep else "laplace"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on documents. ``y`` is ignored."""
        self._check_parameters()
        if not self.as_published:
            raise WouldLeak(
                "LaplaceLDA has no form that is proved to protect anything. Use PrivateLDA (documents and users) or "
                "HybridLDA (words), or pass as_published=True to reproduce the papers."
            )
        refuse_ledger(self.ledger)
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        corpus = self._read(X, reset=True)
        key = Key.open(self.random_state)
        sampler = SequentialSampler(corpus, self.n_topics, alpha, self.beta, key)

        def sweep(number: int) -> Measures:
            if number == 1 or self.every_sweep:
                sampler.blur_words(1 / self.epsilon)
                sampler.blur_documents(1 / self.epsilon)
            sampler.sweep(number)
            return {}

        self.history_, conditions = self._run_sweeps(self.n_sweeps, sweep)
        self.components_ = sampler.topics_of_words()
        self.alpha_, self.beta_ = alpha, float(self.beta)
        total = self.epsilon * (self.n_sweeps if self.every_sweep else 1)
        reasons = (*MISSING, EVERY if self.every_sweep else ONCE, *conditions)
        observer = Observer.TRAJECTORY if self.every_sweep else Observer.MODEL
        self.guarantee_ = claimed(float(total), observer, key, corpus, *reasons)
        return self
