"""InherentPrivacyMonitor: an estimate, for the curator, of how well the random draws of LDA hide a word or a
document."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.engines.interface import SweepEngine
from discreet.engines.threads.documents import each_piece
from discreet.kernels.measures.inherent import add_draw_losses
from discreet.kernels.sums.counts import topic_totals
from discreet.models.algorithm import draws_topics
from discreet.privacy.guarantee import Guarantee, Unit
from discreet.privacy.inherent import inherent_estimate
from discreet.training.loop import SweepInfo

if TYPE_CHECKING:
    from discreet.models.lda import _Training


def engine_of_draws(run: _Training, monitor: object) -> SweepEngine:
    """The engine of the run. A run without draws is refused: there is nothing to measure."""
    engine = run.engine
    if not draws_topics(engine):
        raise InputError(
            f"{type(monitor).__name__} measures the draws of topics, and algorithm='collapsed' draws none for a token. "
            "Use algorithm='sampled'."
        )
    return engine


class InherentPrivacyMonitor:
    """Privacy monitoring of Gibbs sampling: Zhao 2019 [1]_, Algorithms 1 and 2, as a callback of ``LDA``.

    >>> from discreet import LDA, InherentPrivacyMonitor
    >>> from discreet.corpus import lda_corpus
    >>> monitor = InherentPrivacyMonitor()
    >>> model = LDA(3, n_sweeps=5, callbacks=[monitor]).fit(lda_corpus(20, 30, 3).corpus)
    >>> len(monitor.word_), len(monitor.document_)
    (5, 5)

    For each draw of a topic it asks how far the distribution can move when N tokens of another part of the corpus leave
    the topic totals: N = 1 at the word level, N = the longest document at the document level. That is the draw's ε; a
    token's ε is the sum over sweeps, and the curve is the largest of them (Theorem 3). **It is an estimate for the
    curator**: computed from private data, not an upper bound (``privacy/inherent.py`` says why), and a
    ``Release`` refuses it.

    Symbols: n_k^t is the count of word t in topic k, n_m^k that of topic k in document m; r_k and q_k of Algorithm 1
    are the weights of topic k as it is and after N tokens left it, ξ_k and ξ the logarithms below.

    Differences from the paper:

    * ``LDA`` sweeps with frozen word counts that hold the token itself, where the paper's sampler moves them with every
      draw. The distribution measured is the one that was drawn from (in float64).
    * Line 4 prints ξ_k = ln(Σr′/Σr · r_k/q_k), which is never positive; what its Corollary 1 compares is ``|ξ_k|``, the
      growth of the topic that the tokens left. We take ``|ξ_k|``.
    * No more tokens leave a topic than it has: N_k = min(N, n_k). The paper's total could become negative.
    * With one topic every draw is certain, and ε is 0.

    Parameters
    ----------
    max_document : int, optional
        N_max, the most tokens of a document. By default that of the longest one.

    Attributes
    ----------
    word_, document_ : lists, one number per sweep
        max over tokens of Σ ε so far. Each ``fit``, also a warm start, empties them first.

    References
    ----------
    .. [1] Zhao, Ren, Yang and Yang, "On Privacy Protection of Latent Dirichlet Allocation Model Training", IJCAI 2019.
    """

    def __init__(self, max_document: int | None = None) -> None:
        if max_document is not None and (not isinstance(max_document, Integral) or max_document < 1):
            raise InputError(f"max_document must be a whole number of at least 1; found {max_document!r}.")
        self.max_document = max_document
        self.word_: list[float] = []
        self.document_: list[float] = []

    def begin(self, run: _Training) -> None:
        """Before the first sweep: store the counts from which it will draw."""
        self._engine = engine_of_draws(run, self)
        self.word_, self.document_ = [], []
        self._losses: FloatArray = np.zeros((2, run.engine.n_tokens))
        self._run = run
        self._remember()

    def __call__(self, info: SweepInfo) -> None:
        """After a sweep: measure its draws."""
        engine = self._engine
        topics, counts, alpha, prior, prior_mass = self._before
        words, offsets, drawn = engine.tokens()
        totals = topic_totals(counts)
        mass = totals + prior_mass
        longest = self.max_document or int(np.diff(offsets).max(initial=1))
        grown = np.array([mass / (mass - np.minimum(n, totals)) for n in (1, longest)])

        def measure(first: int, last: int) -> None:
            documents = (words, offsets, topics, drawn, first, last)
            add_draw_losses(*documents, counts, prior, mass, alpha, grown, self._losses)

        each_piece(engine.n_documents, measure, engine.n_threads)
        for curve, losses in zip((self.word_, self.document_), self._losses, strict=True):
            curve.append(float(losses.max(initial=0.0)))
        if info.sweep == info.n_sweeps:
            self._forget()
        else:
            self._remember()

    def guarantee(self, unit: Unit | str = Unit.WORD) -> Guarantee:
        """The last values of the curves, as a Guarantee of basis *estimate*."""
        curve = self.document_ if unit == Unit.DOCUMENT else self.word_
        if not curve:
            raise InputError("the monitor has seen no sweep. Pass it to LDA(callbacks=[monitor]) and fit.")
        return inherent_estimate(curve[-1], unit)

    def _remember(self) -> None:
        run = self._run
        self._before = (
            self._engine.tokens().topics.copy(),
            run.counts.copy(),
            run.alpha.copy(),
            run.prior,
            run.prior_mass,
        )

    def _forget(self) -> None:
        for name in ("_run", "_engine", "_before", "_losses"):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the documents' topics, which are still there if training was stopped early."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
