"""LocalLDA: topics from reports that were randomised on the users' devices. LP-LDA, and training that knows the
noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.bounds import Alpha, AtLeastOne, Epsilon, Prior, Sweeps, Topics
from discreet.models.estimator import Running, estimator
from discreet.models.local.batch import Batch, normalised
from discreet.models.local.promise import CLIENTS, SELF_TESTS, SIMULATED, promises
from discreet.models.local.reconstruct import reconstructed
from discreet.models.local.reports import Reports, frequencies
from discreet.models.published import SequentialSampler
from discreet.privacy.guarantee import Unit
from discreet.training import self_test
from discreet.training.inputs import check_vocabulary, vocabulary_cost
from discreet.training.loop import Measures
from discreet.training.own_ledger import searched

Background = Annotated[float, Interval(Real, 0, 1e6, closed="both")]
Flip = Annotated[float, Interval(Real, 0, 1, closed="neither")]
ReportWords = Annotated[int, Interval(Integral, 1, 2**31, closed="left")]


@estimator
class Randomising(Running, TopicModel):
    """What models of reports share: how clients randomise, and what that promises."""

    epsilon_bit: Epsilon | None = None
    f: Flip | None = None
    report_words: ReportWords | None = None
    _self_tests = SELF_TESTS

    def _response(self, n_words: int) -> RandomisedResponse:
        if (self.epsilon_bit is None) == (self.f is None):
            raise InputError(
                "give either epsilon_bit=, the epsilon of one word of a report, such as 2, or f=, the papers' share of "
                "randomised bits."
            )
        cap = None if self.report_words is None else int(self.report_words)
        if self.f is not None:
            return RandomisedResponse.for_flip(float(self.f), n_words, cap)
        assert self.epsilon_bit is not None
        return RandomisedResponse.for_epsilon(float(self.epsilon_bit), n_words, cap)

    def _reports(self, X: Any, *, reset: bool, key: Key) -> tuple[Reports, tuple[str, ...]]:
        """Reports as given, or those that the clients of these documents would send; and what must be assumed."""
        self_test.check(self._self_tests)
        if isinstance(X, Reports):
            self._check_agreement(X.response)
            words = Corpus(np.zeros(0, np.int32), np.zeros(1, np.int64), X.vocabulary)
            self._read(words, reset=reset)
            if not reset and self._vocabulary is not None and X.vocabulary != self._vocabulary:
                raise InputError("these reports are about other words than those before. Use the same vocabulary.")
            vocabulary_cost(words, Unit.BIT)  # refused as below, also where others made the reports
            return X, (*check_vocabulary(words), CLIENTS)
        corpus = self._read(X, reset=reset)
        conditions = check_vocabulary(corpus)
        vocabulary_cost(corpus, Unit.BIT)  # words that were selected on the private texts have another unit: refused
        response = self._response(corpus.n_words)
        return Reports.of_documents(corpus, response, key), (*conditions, SIMULATED)

    def _check_agreement(self, response: RandomisedResponse) -> None:
        if self.epsilon_bit is None and self.f is None and self.report_words is None:
            return
        if self._response(response.n_words) != response:
            raise InputError(
                f"these reports were randomised with epsilon_bit={response.epsilon_bit:.6g} and report_words="
                f"{response.max_words}, which differs from the model's. Leave epsilon_bit, f and report_words out: "
                "reports say how they were randomised."
            )

    def _promise(self, reports: Reports, conditions: Sequence[str]) -> None:
        """Set both guarantees. Training is post-processing, published or not."""
        found = promises(reports.response, seeded=reports.seeded, conditions=(*searched(), *conditions))
        self.guarantee_, self.report_guarantee_ = found
        self.response_ = reports.response

    def _planned_parameters(self) -> dict[str, Any]:
        """Those of the campaign where reports brought them along: everything in a response is public."""
        found = super()._planned_parameters()
        if found["epsilon_bit"] is None:
            found |= {"epsilon_bit": self.response_.epsilon_bit, "report_words": self.response_.max_words}
        return found

    def _accounts(self) -> dict[str, Any]:
        """The number of reports may be told: it is the same for neighbours, who replace a report, and the server sees
        each arrive."""
        return {**super()._accounts(), "history": {"n_reports": [self.n_reports_]}}


@estimator
class LocalLDA(Randomising):
    """LP-LDA (Zhao et al. 2021, section V; 2019, section 3.2): the server sees randomised reports only.

    Each document becomes one bit per word of a public vocabulary: is the word there? The client flips each bit with
    probability f/2 (:class:`~discreet.mechanisms.local.RandomisedResponse`) and sends the bits. ``fit`` takes the
    reports (:class:`~discreet.models.local.reports.Reports`), or documents: then it plays the clients and randomises
    each document once.

    **What it promises**, against the server itself: ε_bit = ln((2−f)/f) for one word of a document, and
    min(V, 2·report_words)·ε_bit for the whole document. Both are printed; the second is what most people mean by
    privacy, and it is large. Proof: ``mechanisms/local.proof.md``.

    **Training that knows the noise** is the default and goes beyond the papers: Gibbs sweeps on the reports as they
    are, with one more topic, fixed, for bits that are set by chance (``models/local/batch.py``). ``as_published=True``
    is the papers' form: the number of documents with each word is estimated, random bits are changed until the numbers
    agree (Steps 1–5), and the result is taken for the documents, by collapsed Gibbs sampling. Both are computed from
    the reports alone, so both have the same guarantee.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon_bit, f : float
        One of them: ε of one bit, or the papers' f = 2/(e^ε + 1), the share of bits that a fair coin replaces. Neither,
        if ``fit`` is given reports.
    report_words : int, optional
        The most different words that a client reports. It lowers ε of the document, and raises that of a word.
    alpha, beta : float
        Priors. Zhao 2021 has α = 1, Zhao 2019 α = 0.1; both β = 0.01.
    background : float
        Each topic's prior also holds this many tokens that follow the estimated frequencies of all words, so that
        topics with little evidence lie near the average and not near nothing. 0: none. Not as published.
    n_sweeps, n_average : int
        Passes over all reports; the topics are the mean of the last ``n_average`` (published form: the last alone).
    as_published : bool
        The papers' reconstruction.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing.

    Attributes
    ----------
    components_, alpha_, beta_ : topics and priors.
    guarantee_ : Guarantee
        For one word of a report (unit *bit*).
    report_guarantee_ : Guarantee
        For a whole report.
    response_ : RandomisedResponse
        How the reports were randomised.
    n_reports_ : int
    """

    method = "local"

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    background: Background = 30.0
    n_sweeps: Sweeps = 200
    n_average: AtLeastOne = 10
    as_published: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on reports, or on documents whose clients are simulated. ``y`` is ignored."""
        self._check_parameters()
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        key = Key.open(self.random_state)
        reports, conditions = self._reports(X, reset=True, key=key)
        train = self._published if self.as_published else self._train
        self.components_, self.alpha_, self.beta_ = train(reports, alpha, key), alpha, float(self.beta)
        self.n_reports_ = len(reports)
        self._promise(reports, conditions)
        return self

    def _train(self, reports: Reports, alpha: FloatArray, key: Key) -> FloatArray:
        response = reports.response
        base = frequencies(reports.estimate(), response.variance(reports.n_reports))
        prior = np.repeat((self.beta + self.background * base)[:, None], self.n_topics, axis=1)
        average_from = self.n_sweeps - min(self.n_average, self.n_sweeps) + 1
        training = Batch(
            reports.corpus(),
            alpha,
            prior,
            key,
            flip=response.flip,
            average_from=average_from,
            n_threads=self.n_threads,
        )
        self.history_, _ = self._run_sweeps(self.n_sweeps, training.sweep)
        return normalised(training.counts(), prior)

    def _published(self, reports: Reports, alpha: FloatArray, key: Key) -> FloatArray:
        corpus = reconstructed(reports, key)
        sampler = SequentialSampler(corpus, self.n_topics, alpha, self.beta, key)

        def sweep(number: int) -> Measures:
            sampler.sweep(number)
            return {}

        self.history_, _ = self._run_sweeps(self.n_sweeps, sweep)
        return sampler.topics_of_words()
