"""RelatedWordsMonitor: how much plain Gibbs sampling loses when a word is replaced, related words included (Zhao et al.
2021, section IV-C)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, FloatArray
from discreet.models.monitor import engine_of_draws
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.inherent import related_estimate
from discreet.training.loop import SweepInfo

if TYPE_CHECKING:
    from discreet.models.lda import _Training


def replaced_word_loss(counts_t: AnyArray, counts_other: AnyArray, beta: float) -> float:
    """Proposition 1 (eq. 4): the draw of the replaced token itself, 2·max_k |log (n_k^{t′} + β)/(n_k^t + β)|.

    The two arrays hold the counts of word t and of word t′ in each topic.
    """
    ratios = np.log((np.asarray(counts_other, float) + beta) / (np.asarray(counts_t, float) + beta))
    return 2 * float(np.abs(ratios).max())


def related_word_loss(beta: float) -> float:
    """Proposition 2: the draw of one other token of word t or t′, at most 2·log(1 + 1/β)."""
    return 2 * math.log1p(1 / beta)


def sweep_loss(counts: AnyArray, beta: float, t: int, other: int) -> float:
    """Theorem 1, first line of eq. (5): one sweep when one token of ``t`` becomes ``other``.

    ``counts`` is word × topic. All n_t − 1 other tokens of t, and all n_{t′} of t′, are related.
    """
    n_t, n_other = int(counts[t].sum()), int(counts[other].sum())
    if n_t < 1 or t == other:
        raise InputError("the replaced word must occur, and the other must be another word.")
    return replaced_word_loss(counts[t], counts[other], beta) + (n_t - 1 + n_other) * related_word_loss(beta)


def sweep_bounds(counts: AnyArray, beta: float) -> FloatArray:
    """Theorem 1, second line of eq. (5), for each word t that may be replaced, whatever it is replaced by."""
    totals = counts.sum(axis=1)
    replaced = 2 * math.log1p(float(counts.max(initial=0)) / beta)
    return np.asarray(replaced + (totals.max(initial=0) + np.maximum(totals, 1) - 1) * related_word_loss(beta))


class RelatedWordsMonitor:
    """Theorems 1 and 2 of Zhao 2021 [1]_ (eq. 5 and 6) as a callback of ``LDA``: an estimate for the curator.

    >>> from discreet import LDA, RelatedWordsMonitor
    >>> from discreet.corpus import lda_corpus
    >>> monitor = RelatedWordsMonitor()
    >>> model = LDA(3, n_sweeps=5, beta=1.0, callbacks=[monitor]).fit(lda_corpus(20, 30, 3).corpus)
    >>> len(monitor.bound_)
    5

    When one word of the corpus is replaced, the draw of its own token changes (Proposition 1), and so do the draws of
    all other tokens of the old and of the new word, whose counts moved by one (Proposition 2). The curve is the
    largest sum over sweeps, for the word that loses most. It is what shows that inherent privacy alone protects
    nothing: the loss grows with the number of related tokens and of sweeps, to many thousands.
    :class:`~discreet.InherentPrivacyMonitor` (Zhao 2019) leaves related words out.

    Unlike the paper, ``LDA`` sweeps with frozen counts. The bound is the same: a related draw reads a count that
    differs by one, during the whole sweep. With different priors for words the smallest β counts.

    Attributes
    ----------
    bound_ : list, one number per sweep
        max over words of the sum of eq. (5) so far, eq. (6).

    References
    ----------
    .. [1] Zhao et al., "Latent Dirichlet Allocation Model Training with Differential Privacy", IEEE TIFS 2021.
    """

    def __init__(self) -> None:
        self.bound_: list[float] = []

    def begin(self, run: _Training) -> None:
        """Before the first sweep: store the counts from which it will draw."""
        engine_of_draws(run, self)
        self.bound_ = []
        self._run = run
        self._losses: FloatArray = np.zeros(run.engine.n_words)
        self._next = self._of_next_sweep()

    def __call__(self, info: SweepInfo) -> None:
        """After a sweep: add what it may have lost."""
        self._losses += self._next
        self.bound_.append(float(self._losses.max()))
        if info.sweep == info.n_sweeps:
            for name in ("_run", "_losses", "_next"):
                self.__dict__.pop(name, None)
        else:
            self._next = self._of_next_sweep()

    def _of_next_sweep(self) -> FloatArray:
        return sweep_bounds(self._run.counts, float(np.min(self._run.prior)))

    def guarantee(self) -> Guarantee:
        """The last value of the curve, as a Guarantee of basis *estimate*."""
        if not self.bound_:
            raise InputError("the monitor has seen no sweep. Pass it to LDA(callbacks=[monitor]) and fit.")
        return related_estimate(self.bound_[-1])

    def __getstate__(self) -> dict[str, Any]:
        """The state without the run, which is still there if training was stopped early."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
