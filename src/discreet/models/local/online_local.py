"""OnlineLocalLDA: topics from a stream of randomised reports. OLP-LDA of Zhao et al. 2021, and training that knows the
noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.models.base import broadcast_alpha
from discreet.models.estimator import estimator
from discreet.models.local.model import Background, Randomising
from discreet.models.local.online import OnlineLDA
from discreet.models.local.reconstruct import reconstructed
from discreet.models.local.reports import Reports, frequencies, words_once
from discreet.models.local.sizes import denoised, next_mean, prior_weight
from discreet.models.local.state import State, pack, unpack

Share = Annotated[float, Interval(Real, 0, 1, closed="both")]

PUBLIC_PRIOR = "the documents of fit_prior are public"


@estimator
class OnlineLocalLDA(Randomising, OnlineLDA):
    """OLP-LDA (Zhao et al. 2021, Algorithm 2) and its improvement: topics from batches of randomised reports.

    ``partial_fit`` takes the reports of one time window (:class:`~discreet.models.local.reports.Reports`), or
    documents: then it plays their clients and randomises each once. It keeps a few tables and no report
    (:meth:`state`). Guarantees are those of :class:`~discreet.LocalLDA`, for each report on its own.

    By default each batch is trained as in ``LocalLDA``: on the reports as they are, with a fixed topic for false bits,
    under the prior of :class:`~discreet.OnlineLDA`. ``as_published=True`` is Algorithm 2: the number of documents with
    each word is estimated as B(n_t) = ω·μ_t + (1−ω)·N̂_t (eq. 19), random bits of the batch are changed until the
    numbers agree, and the result is taken for documents. μ_t starts from public prior data and follows the estimates
    (eq. 21).

    Prior data: :meth:`fit_prior`, before the first batch, with public documents; each word counts once per document, as
    in reports (line 3 of Algorithm 2 counts tokens, eq. 19 presences). The paper draws its prior data from the training
    set: nothing there is protected by these guarantees.

    Parameters
    ----------
    epsilon_bit, f, report_words, background :
        As in :class:`~discreet.LocalLDA`.
    n_topics, alpha, beta, correlation, n_sweeps, n_average, batch_size :
        As in :class:`~discreet.OnlineLDA`.
    omega : float or "computed"
        ω, published form only; the paper's experiments have 0.4. "computed": from ``prior_sigma``, eq. (19).
    prior_sigma : float, optional
        σ: how many documents the prior mean of a word's count may be off.
    prior_update : "mean" or "last"
        Eq. (21), or line 13 of Algorithm 2, which disagree: ``models/local/sizes.py``.
    use_prior_counts : bool
        Whether the counts of the prior data are part of the prior of the topics, as Algorithm 2 has it; the sum of
        eq. (11) begins after them.
    as_published : bool
        Algorithm 2.

    Attributes
    ----------
    guarantee_, report_guarantee_, response_, n_reports_ :
        As in :class:`~discreet.LocalLDA`.
    """

    method = "online-local"

    background: Background = 30.0
    omega: Share | Literal["computed"] = 0.4
    prior_sigma: Annotated[float, Interval(Real, 0, None, closed="neither")] | None = None
    prior_update: Literal["mean", "last"] = "mean"
    use_prior_counts: bool = True
    as_published: bool = False

    def fit(self, X: Any, y: Any = None, *, prior: Any = None) -> Self:
        """Forget what was learnt; train on ``prior`` if given, then on the reports batch by batch, in their order."""
        self._check_parameters()
        self._check_together()
        self._forget()
        if prior is not None:
            self.fit_prior(prior)
        reports, conditions = self._reports(X, reset=prior is None, key=self._next_key())
        for start in range(0, len(reports), self.batch_size):
            self._take_reports(reports[start : start + self.batch_size], conditions)
        return self

    def fit_prior(self, X: Any) -> Self:
        """Train on public documents, which are not randomised, before the first batch (lines 1 to 4)."""
        self._check_parameters()
        self._check_together()
        if hasattr(self, "n_batches_"):
            raise InputError("prior data come before the first batch. Make a new model, or pass prior= to fit.")
        corpus = words_once(self._read(X, reset=True))
        self._learn_batch(corpus, self._base(corpus.n_words), self._next_key(), keep=self.use_prior_counts)
        presences = corpus.word_counts.astype(np.float64)
        self.mean_, self.estimate_, self.size_ = presences, presences, max(corpus.n_documents, 1)
        self.has_prior_ = True
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train on the reports of one more batch. ``y`` is ignored."""
        self._check_parameters()
        self._check_together()
        self._take_reports(*self._reports(X, reset=not hasattr(self, "n_batches_"), key=self._next_key()))
        return self

    def state(self) -> State:
        """What the next batch needs, as named arrays without objects: :meth:`restore` goes on from them, in another
        process or later. ``np.savez`` stores them."""
        return pack(self)

    def restore(self, state: Mapping[str, NDArray[Any]], vocabulary: Vocabulary | Sequence[str]) -> Self:
        """Forget what was learnt and go on from what :meth:`state` returned; ``vocabulary`` is that of the reports.
        Topics and guarantees are there again after the next batch."""
        self._check_parameters()
        self._check_together()
        words = vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary(vocabulary, "public")
        found = unpack(state, len(words), self.n_topics)
        self._read(Corpus(np.zeros(0, np.int32), np.zeros(1, np.int64), words), reset=True)
        for name, value in found.items():
            setattr(self, name, value)
        return self

    def _check_together(self) -> None:
        if (self.omega == "computed") != (self.prior_sigma is not None):
            raise InputError("omega='computed' needs prior_sigma=, and prior_sigma goes with it alone. Give both.")

    def _take_reports(self, reports: Reports, conditions: tuple[str, ...]) -> None:
        before = getattr(self, "response_", reports.response)
        if reports.response != before:
            raise InputError(
                "these reports were randomised in another way than those before. Use one model for each campaign."
            )
        if not len(reports):
            raise InputError("a batch must have at least one report.")
        key = self._next_key()
        reports = Reports(reports.response, reports.packed, reports.vocabulary, self._seen_seeded(reports))
        self.n_reports_ = getattr(self, "n_reports_", 0) + len(reports)
        estimate = self._denoised(reports) if self.as_published else self._added_up(reports)
        base = np.full(reports.response.n_words, float(self.beta))
        if self.as_published:
            self._learn_batch(reconstructed(reports, key, estimate), base, key)
        else:
            base += self.background * frequencies(estimate, reports.response.variance(self.n_reports_))
            corpus = reports.corpus()
            self._learn_batch(corpus, base, key, self._false_weight(corpus, reports.response.flip))
        prior = (PUBLIC_PRIOR,) if getattr(self, "has_prior_", False) else ()
        # the topics rest on every batch so far, so the conditions of each stay
        self.conditions_ = tuple(dict.fromkeys((*getattr(self, "conditions_", ()), *conditions, *prior)))
        self._promise(reports, self.conditions_)

    def _false_weight(self, corpus: Corpus, flip: float) -> float:
        """The weight of the topic for false bits: f/2, or f/2·(1 + Kα/n̄) if topics are known from public data.

        The weights n[d, k] + α add up to Kα more than a document's n̄ true words, which makes false bits look true. With
        the factor the expected share is right. Where topics must form out of the noise it does harm: they have few
        tokens at first, and would have fewer (``docs/design.md``).
        """
        if not getattr(self, "has_prior_", False):
            return flip
        true = max(corpus.n_tokens / corpus.n_documents - flip * corpus.n_words, 1.0)
        return flip * (1 + float(broadcast_alpha(self.alpha, self.n_topics).sum()) / true)

    def _seen_seeded(self, reports: Reports) -> bool:
        self.seeded_ = reports.seeded or getattr(self, "seeded_", False)
        return self.seeded_

    def _added_up(self, reports: Reports) -> FloatArray:
        """N̂_t over all reports so far, and public prior data: for the background."""
        public = self.estimate_ if getattr(self, "has_prior_", False) else np.zeros(reports.response.n_words)
        self.estimates_ = getattr(self, "estimates_", public) + reports.estimate()
        return self.estimates_

    def _denoised(self, reports: Reports) -> FloatArray:
        """B(n_t) of this batch, lines 8, 9 and 12 to 15. Without prior data the first batch has N̂_t alone."""
        moment, size = reports.estimate(), len(reports)
        if hasattr(self, "size_"):
            mean = next_mean(self.mean_, self.estimate_, size, self.size_, self.prior_update)
            omega = self.omega
            if omega == "computed":
                assert self.prior_sigma is not None
                omega = prior_weight(size, reports.response.f, float(self.prior_sigma))
            estimate = denoised(moment, mean, float(omega))
        else:
            mean = estimate = moment
        self.mean_, self.estimate_, self.size_ = mean, estimate, size
        return estimate
