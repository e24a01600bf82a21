"""SubsampledLDA: SUB-LDA (Huang and Chen 2021), with a proof of amplification by sampling, and as published."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.engines import open_kept_units
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.bounds import Alpha, AtLeastOne, Clip, Epsilon, LocalSweeps, Prior, Sweeps, Topics
from discreet.models.estimator import SampledUnits, estimator
from discreet.models.subsampled.rounds import SubsampledPlan, SubsampledRounds
from discreet.privacy.events import Entry
from discreet.training import self_test
from discreet.training.checkpoint import fingerprint
from discreet.training.private_fit import PrivateFit


@estimator
class SubsampledLDA(SampledUnits, TopicModel):
    """LDA on Poisson subsamples with Gaussian noise: SUB-LDA [1]_, made sound (the default) or as published.

    **Sound.** In each round every unit (document, or user with ``groups=``) takes part with probability
    ``sampling_rate``, by a secret coin of its own, sweeps over its tokens under the released topics, and contributes
    its topic counts, clipped. The sum gets discrete Gaussian noise in every cell and is released; the topics of the
    next round are made of a running mean of what was released. Theorem A, in ``models/subsampled/proof.md`` and
    ``docs/guarantees.md``: proven for the unit, against an observer of every release. :class:`~discreet.PrivateLDA` is
    the same theorem with a better recipe; this one has only the paper's steps, and is here for comparison.

    **As published** (``as_published=True``): Algorithm 1 line by line, for reproduction. Its ε is only *claimed*, and
    ``guarantee_`` says why.

    =========================  ========================================================================================
    in the paper               here
    =========================  ========================================================================================
    G, d_m, K, V               the corpus, a document, ``n_topics``, the number of words
    τ, β                       ``alpha``, ``beta``
    γ                          ``sampling_rate``: of units (sound), of tokens (as published)
    ITER                       ``n_rounds``
    clip                       ``max_count``, as published only
    α, ε(α)                    ``order``, ``round_epsilon``, as published only
    ε = Iter · ε_sub(α)        ``epsilon``, as published; in the sound form ``epsilon`` is that of (ε, δ)
    D̂, s (Eq. 9)               ``tolerance``, ``patience``
    v, q, η = 1/(vq) (Eq. 10)  ``boost``, ``frequent_share``
    =========================  ========================================================================================

    Differences of the sound form from the paper:

    * What is sampled is the unit. The paper samples tokens and releases counts that hold the unsampled ones too.
    * Every round releases the sum of sampled contributions only, once, with fresh noise. What the paper keeps in its
      counts (tokens not sampled, earlier noise) is here the running mean of releases, of step i^-0.6.
    * A contribution is clipped to ℓ₂ norm ``clip``; the paper clips counts before a draw, which bounds no sensitivity.
    * Noise is calibrated to (ε, δ) for all rounds together (privacy loss distributions), not at one Rényi order.
    * Sweeps are frozen: counts do not move within one. A round has ``local_sweeps`` of them (the paper: one).
    * A cell below half its noise deviation is set to that value; the paper lets counts be negative.
    * Topics start around uniform, without reading a word; Θ is not kept.
    * ``adaptive``: Eq. 10 gives a token the rate vγ if its word is frequent in its topic, else 0. A unit's rate here is
      the mean over its tokens, vγ · (share of frequent ones). Frequent words are those of the released counts, and the
      largest rate, vγ, is charged.
    * Eq. 9 reads the perplexity of ``public`` documents, and all ``n_rounds`` are charged.

    Differences of the published form from Algorithm 1, where it says nothing or cannot be meant as printed:

    * "while not convergent or Iter <= ITER" would never stop before ITER, and then once too late: here training ends
      when it has converged, or after ITER iterations.
    * "Add noise to each n_k^t", inside the token loop, is read as the K cells of the visited word t. In this reading
      noise soon exceeds the counts; ``noise="iteration"`` adds it once to every cell before each iteration, as the
      paper's section 3.1 says of HDP-LDA. Noise is a discrete Gaussian with 4,096 steps per standard deviation σ =
      √(α/(2ε(α))).
    * A token is removed from the counts before it is drawn again (its Eq. 1). Counts below zero are read as zero, each
      by itself: else a probability could be negative. The same for the totals, which noise does drive below zero in
      long runs.
    * Θ is not kept. Without ``public``, Eq. 9 reads the perplexity of the training documents under their Θ and Φ, as
      the paper seems to do.
    * ``adaptive``: frequent words are those of the noisy counts at the start of an iteration; ε_sub is that of the
      rate vγ.

    Parameters
    ----------
    n_topics : int
    epsilon, delta : float
        The budget of one fit; ``delta`` should be far below one divided by the number of units. As published: the total
        that the paper would print; ``delta`` only converts it.
    alpha : float or array
    beta : float
    n_rounds : int
        Rounds, all of which are paid for.
    sampling_rate : float
    local_sweeps : int
        Local sweeps in a round.
    clip : float
        The largest norm of a unit's contribution, in tokens. A public number: do not choose it by looking at the
        documents.
    adaptive, boost, frequent_share :
        Sampling by Eq. 10. ``boost`` · ``sampling_rate`` must be at most 1.
    tolerance, patience :
        Stop by Eq. 9. Needs ``fit(X, public=...)``.
    max_tokens : int
        A public cap on the tokens of one unit, applied before anything else.
    as_published, order, round_epsilon, max_count, noise :
        The published form. ``round_epsilon``, when given, takes the place of ``epsilon`` (the paper's experiments have
        order 14 and ε(α) = 2).
    ledger, checkpoint, checkpoint_every, n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.PrivateLDA`. The published form refuses a ledger and a checkpoint.

    Attributes
    ----------
    components_, alpha_, beta_, guarantee_, ledger_ :
        The topics, and what they promise.
    topic_shares_, standard_errors_, usefulness_ :
        As in :class:`~discreet.PrivateLDA`, of the sound form.
    history_ : dict of lists
        ``public_perplexity`` where public documents were given: functions of what was released. As published
        without them, ``perplexity`` is that of the training documents: for the curator.

    References
    ----------
    .. [1] Huang and Chen, "Improving Privacy Guarantee and Efficiency of Latent Dirichlet Allocation Model Training
       Under Differential Privacy", Findings of EMNLP 2021.
    """

    method = "subsampled"
    _self_tests = (self_test.gaussian_noise, self_test.coins, self_test.topic_counts)

    n_topics: Topics = field(default=10, kw_only=False)
    epsilon: Epsilon = 1.0
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    n_rounds: Sweeps = 100
    local_sweeps: LocalSweeps = 8
    clip: Clip = 5.0
    adaptive: bool = False
    boost: Annotated[float, Interval(Real, 1, None, closed="left")] = 2.0
    frequent_share: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.5
    tolerance: Annotated[float, Interval(Real, 0, None, closed="left")] | None = None
    patience: Annotated[int, Interval(Integral, 0, None, closed="left")] = 3
    checkpoint_every: AtLeastOne = 20
    as_published: bool = False
    order: Annotated[int, Interval(Integral, 2, 1000, closed="both")] = 14
    round_epsilon: Epsilon | None = None
    max_count: Annotated[float, Interval(Real, 0, None, closed="neither")] | None = None
    noise: Literal["token", "iteration"] = "token"

    @property
    def largest_rate(self) -> float:
        """The most that any unit's (as published: token's) rate can be."""
        return float(self.boost * self.sampling_rate if self.adaptive else self.sampling_rate)

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, public: Any = None) -> Self:
        """Train on documents. ``groups``: one user id per document, which makes users the unit; ``y`` is ignored.

        ``public`` are documents that may be read freely, for ``tolerance``.
        """
        self._check_parameters()
        self._check_together(public)
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        corpus = self._read(X, reset=True, max_tokens=None if self.as_published else self.max_tokens)
        judged = None if public is None else self._read_public(public)
        if self.as_published:
            if groups is not None or corpus.groups is not None:
                raise InputError(
                    "as_published=True does not protect users: its paper protects words. Leave groups out."
                )
            from discreet.models.subsampled.published import fit_as_published

            fit_as_published(self, corpus, alpha, judged)
            return self
        fit = PrivateFit(self, corpus, groups=groups)
        plan = self._plan(corpus.n_words, fit.vocabulary_entries)
        fit.resume(plan.entries, public=None if judged is None else fingerprint(judged, None))
        engine = open_kept_units(
            corpus, fit.groups, self.n_topics, fit.key, max_tokens=self.max_tokens, n_threads=self.n_threads
        )
        # [reserve] before noise is drawn, and at the end also for rounds that Eq. 9 left out
        payment = fit.pay(self.n_rounds, plan.entries)
        training = SubsampledRounds(self, plan, engine, payment, alpha, judged, fit.saved)
        _, conditions = self._run_sweeps(
            self.n_rounds,
            training.round,
            done=payment.done,
            converged=lambda: training.converged,  # [stop]
            pause=payment.pause(training._state),
        )
        engine.close()
        payment.settle()
        self.history_ = {"public_perplexity": training.perplexities} if training.perplexities else {}
        training.finish(fit.setting)
        self.alpha_, self.beta_ = alpha, float(self.beta)
        public_documents = () if judged is None else ("the documents given as public are public",)
        fit.end(plan.entries, plan.epsilon, *public_documents, *conditions)
        return self

    def _check_together(self, public: Any = None) -> None:
        """Parameters that are valid alone but not together."""
        if self.as_published and self.checkpoint is not None:
            raise InputError("as_published=True cannot be resumed. Leave checkpoint or as_published out.")
        if self.largest_rate > 1:
            raise InputError(
                f"boost={self.boost:g} times sampling_rate={self.sampling_rate:g} is {self.largest_rate:g}, but no "
                "rate can exceed 1. Use a smaller boost."
            )
        if self.tolerance is not None and public is None and not self.as_published:
            raise InputError(
                "tolerance= stops by a perplexity, and that of the private documents would reveal them. Give public "
                "documents: fit(X, public=...)."
            )

    def _read_public(self, public: Any) -> Corpus:
        corpus = self._read(public, reset=False)
        if not (corpus.lengths >= 2).any():
            raise InputError("public has no document with two known words, so no perplexity. Give other documents.")
        return corpus

    def _plan(self, n_words: int, vocabulary_entries: tuple[Entry, ...]) -> SubsampledPlan:
        """The releases over ``n_words`` words, which have cost ``vocabulary_entries``."""
        return SubsampledPlan.make(self, n_words, vocabulary_entries)
