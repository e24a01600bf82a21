"""HybridLDA: protects single words even if every topic of every sweep is seen. HDP-LDA, made sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from numbers import Real
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_sweeps
from discreet.engines.interface import SweepEngine
from discreet.kernels.sums.counts import topic_totals
from discreet.mechanisms.release import Releases
from discreet.models.base import TopicModel, broadcast_alpha
from discreet.models.bounds import Alpha, AtLeastOne, Epsilon, Prior, Sweeps, Topics
from discreet.models.estimator import Paying, Resumable, Running, estimator
from discreet.models.hybrid.plan import LARGEST_INHERENT, SELF_TESTS, HybridPlan, clip_for
from discreet.models.published import SequentialSampler, claimed, refuse_ledger
from discreet.privacy import Guarantee
from discreet.privacy.guarantee import Observer, Relation, Unit
from discreet.privacy.ledger import Budget
from discreet.training.loop import Measures
from discreet.training.payment import Payment
from discreet.training.private_fit import PrivateFit

LONGEST = 2**17
"""Tokens of one document: with more, the secret order would not be uniform enough for what is charged."""

MISSING = (
    "noise is added to the sampler's own counts, which later draws move without noise",
    "counts may fall below zero, where the bound on a draw does not hold",
    "words equal to the replaced one are drawn from counts that it has moved within the sweep",
    "the model is computed from counts that moved after the last noise",
    "draws have the precision of float64 and nothing is charged for what it loses",
)


@estimator
class HybridLDA(Running, Resumable, Paying, TopicModel):
    """HDP-LDA (Zhao 2021, Algorithm 1) in a form that can be proved: Theorem B of ``docs/guarantees.md``.

    Protects **one word**: neighbours differ by one token, replaced by another word of the vocabulary, in documents of
    the same lengths. The observer sees everything: each noisy table and the topic of each token after each sweep. In
    each of T = ``n_sweeps`` sweeps

    1. the exact counts n[k, w] get fresh discrete Laplace noise of scale 2/ε_L and are released (ε_L, paper line 9);
    2. they are clamped to [0, C], and every token draws its topic from p(k) ∝ φ̃[k, w] · (n[d, k] + α_k),
       φ̃[k, w] = (clamp(ñ[k, w]) + β) / Σ_v (clamp(ñ[k, v]) + β), which stays during the sweep (ε_I, lines 10–17).

    One more release after the last sweep; the topics are the mean of the last ``n_average`` releases. Only the replaced
    token's own draws read its word outside the noise, and their log-probability ratios lie in an interval of length ε_I
    = 2·log(1 + C/β): the papers' "inherent privacy". T + 1 releases and T draws compose to the total that is printed.
    **Read it before you use this**: with ε_I = 10 (the paper's Figure 5) and 100 sweeps the draws alone cost ε = 810,
    which protects nothing, and with a small total the draws are so close to uniform that no topics form. And the total
    is for one word: for a document of 100 words it is about a hundred times as large.

    Differences from Algorithm 1, which ``as_published=True`` runs instead: fresh noise on exact counts, not noise that
    accumulates in the sampler's own counts; the sweep is frozen, so shared counts do not move within it; counts are
    clamped below at 0 too, and the divisor is the sum of clamped counts; T + 1 releases, and the model from releases
    only; discrete noise; tokens in a secret order that depends on no word; a uniform topic with probability 2⁻²⁰, sums
    in float64 and 53 random bits, because the bound is on the draw as implemented.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon, delta : float
        The total for the whole fit. Give ``epsilon`` (nine tenths for draws, the rest for noise), or ``epsilon`` and
        one of the next two, or the next two alone.
    epsilon_laplace : float, optional
        ε_L of one release. With ``as_published``: None means no noise ("Limited Inherent" in the paper's Figure 5).
    epsilon_inherent : float, optional
        ε_I of one sweep, that is, the clip C = β·(e^{ε_I/2} − 1).
    alpha, beta : float
        The priors. A larger β makes the same ε_I a larger C: the paper's "setting the hyper-parameter β larger".
    n_sweeps : int
        T.
    n_average : int
        ``components_`` are the mean of this many last releases (sound form only; costs nothing).
    as_published : bool
        Run Algorithm 1 to the letter. Its ε = T·(ε_L + ε_I) is *claimed*; the guarantee says what is missing.
    ledger : Ledger, optional
        Per word. Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    checkpoint, checkpoint_every :
        As in :class:`~discreet.PrivateLDA`, in sweeps. Sound form only.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing. Algorithm 1 is sequential and uses one thread.

    Attributes
    ----------
    components_, alpha_, beta_, guarantee_, ledger_ :
        The topics, and what they promise.
    largest_count_ : float
        C.
    history_ : dict of lists
        Empty: measures would be computed from the documents.
    """

    method = "hybrid"
    _published_name = "HDP-LDA"
    _self_tests = SELF_TESTS

    n_topics: Topics = field(default=10, kw_only=False)
    epsilon: Epsilon | None = None
    delta: Annotated[float, Interval(Real, 0, 1, closed="left")] = 1e-6
    epsilon_laplace: Epsilon | None = None
    epsilon_inherent: Annotated[float, Interval(Real, 0, LARGEST_INHERENT, closed="right")] | None = None
    alpha: Alpha = 0.1  # [priors] an array is held to the same range by `broadcast_alpha`
    beta: Prior = 1.0
    n_sweeps: Sweeps = 20
    n_average: AtLeastOne = 10
    as_published: bool = False
    checkpoint_every: AtLeastOne = 5

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on documents. ``y`` is ignored."""
        self._check_parameters()
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        if self.as_published:
            return self._fit_as_published(X, alpha)
        plan = self._sweep_plan()
        corpus = self._read(X, reset=True)
        self._train(plan, corpus, corpus, alpha, Training)
        return self

    def _sweep_plan(self) -> HybridPlan:
        return HybridPlan.make(
            Budget(float(self.epsilon), float(self.delta)) if self.epsilon is not None else None,
            float(self.delta),
            self.epsilon_laplace,
            self.epsilon_inherent,
            n_topics=int(self.n_topics),
            n_sweeps=int(self.n_sweeps),
        )

    def _train(
        self, plan: HybridPlan, corpus: Corpus, swept: Corpus, alpha: FloatArray, start: type[Training], **facts: Any
    ) -> None:
        """Pay for the plan and carry it out. ``swept`` holds the documents of ``corpus`` with words as sweeps count
        them; ``facts`` are what a checkpoint must agree with, besides parameters and documents."""
        _check_lengths(corpus)
        fit = PrivateFit(self, corpus, unit=Unit.WORD, relation=Relation.REPLACE, observer=Observer.TRAJECTORY)
        fit.resume(plan.entries, **facts)
        engine = open_sweeps(swept, self.n_topics, fit.key, n_threads=self.n_threads)
        payment = fit.pay(plan.n_sweeps, [plan.releases], draws=[plan.draws])  # [reserve] before noise is drawn
        training = start(self, plan, engine, payment, alpha, fit.saved)
        self.history_, conditions = self._run_sweeps(
            self.n_sweeps, training.sweep, done=payment.done, pause=payment.pause(training._state)
        )
        payment.settle()
        training.finish()
        self.alpha_, self.beta_, self.largest_count_ = alpha, training.beta, training.clip
        remarks = partial(plan.remarks, delta=float(self.delta))
        fit.end(plan.entries, plan.epsilon, *conditions, *self._public(), remarks=remarks)

    def _public(self) -> tuple[str, ...]:
        """What must be public besides what Theorem B says."""
        return ()

    def _check_published(self) -> tuple[float, float | None]:
        """ε_I and ε_L of one sweep, which the papers' own forms are given."""
        if self.epsilon is not None or self.epsilon_inherent is None:
            raise InputError(
                f"as published, {self._published_name} is given its parts: epsilon_inherent= and epsilon_laplace= for "
                "each sweep (the latter may be None, for no noise), and no epsilon=."
            )
        refuse_ledger(self.ledger)
        if self.checkpoint is not None:
            raise InputError("as_published=True cannot be resumed. Leave checkpoint or as_published out.")
        return float(self.epsilon_inherent), self.epsilon_laplace

    def _claim(self, epsilon: float, key: Key, corpus: Corpus, *reasons: str) -> None:
        """The papers' ε, or nothing where there is no noise."""
        if self.epsilon_laplace is None:
            self.guarantee_ = Guarantee.none(
                f"limited inherent privacy only: draws are held to {self.epsilon_inherent:g} per sweep, counts are "
                "without noise"
            )
        else:
            self.guarantee_ = claimed(epsilon, Observer.TRAJECTORY, key, corpus, *reasons)

    def _fit_as_published(self, X: Any, alpha: FloatArray) -> Self:
        """Zhao 2021, Algorithm 1, on the sequential sampler; its line numbers below."""
        inherent, laplace = self._check_published()
        corpus = self._read(X, reset=True)
        clip, key = clip_for(self), Key.open(self.random_state)
        total = self.n_sweeps * (inherent + float(laplace or 0.0))
        sampler = SequentialSampler(corpus, self.n_topics, alpha, self.beta, key)  # lines 1–6

        def sweep(number: int) -> Measures:  # lines 8–19
            if laplace is not None:
                sampler.blur_words(2 / laplace)  # line 9
            sampler.sweep(number, clip)  # lines 10–17
            return {}

        self.history_, conditions = self._run_sweeps(self.n_sweeps, sweep)
        self.components_ = sampler.topics_of_words()  # line 20
        self.alpha_, self.beta_, self.largest_count_ = alpha, float(self.beta), clip
        self._claim(float(total), key, corpus, *MISSING, *conditions)
        return self


def _check_lengths(corpus: Corpus) -> None:
    """Lengths are public here: they are the same in neighbouring data."""
    longest = int(corpus.lengths.max(initial=0))
    if longest >= LONGEST:  # [longest]
        raise InputError(f"a document may have up to {LONGEST - 1:,} tokens; found {longest:,}. Split long documents.")


class Weights(NamedTuple):
    """Of one sweep: (statistic + prior) · scale."""

    statistic: AnyArray
    """Word × topic."""
    prior: float
    scale: FloatArray


class Training:
    """One run. The engine is private; every other field is a function of what was released.

    A model over other words changes `_weights` and `finish`.
    """

    alpha_rest: float | None = None

    def __init__(
        self,
        model: HybridLDA,
        plan: HybridPlan,
        engine: SweepEngine,
        payment: Payment,
        alpha: FloatArray,
        saved: Mapping[str, AnyArray],
    ) -> None:
        self.model, self.plan, self.engine, self.payment = model, plan, engine, payment
        self.alpha, self.beta = alpha, float(np.mean(model.beta))
        self.n_average = min(int(model.n_average), plan.n_sweeps + 1)
        self.releases = Releases(payment.reservation, engine.key, engine.n_threads)
        self.last: list[IntArray] = []
        self.clip = plan.clip(self.beta)
        if saved:
            self.last = list(saved["last"])
            engine.restore(saved)
        else:
            engine.draw_first_topics()  # [first] uniform: no word is read

    def _state(self) -> dict[str, Any]:
        """For a checkpoint: the last releases, and the engine's private state."""
        return {"last": np.array(self.last), **self.engine.state()}

    def _release(self) -> IntArray:
        """The current exact counts with fresh noise, word × topic."""
        exact = self.engine.count().astype(np.int64)  # [exact]
        noisy = self.releases.release(exact, self.plan.laplace)  # [release]
        self.last = [*self.last, noisy][-self.n_average :]
        return noisy

    def sweep(self, number: int) -> Measures:
        """Release, clamp, and draw every topic again under what was released."""
        self.payment.open_round(number, self._state)
        table, prior, scale = self._weights(self._release(), number)
        self.payment.draw_reservation.draw(event=self.plan.draw)  # [paid-draw]
        # [frozen] each draw reads its own word and no other
        self.engine.sweep_exact(table, self.alpha, number, prior=prior, scale=scale, alpha_rest=self.alpha_rest)
        return {}

    def _weights(self, noisy: IntArray, number: int) -> Weights:
        """A function of what was released."""
        table = np.clip(noisy, 0.0, self.clip)  # [clamp] weights lie in [β, C + β]
        totals = topic_totals(table) + self.engine.n_words * self.beta
        return Weights(table, self.beta, totals.min() / totals)  # [divisor] of what was released, one for every word

    def finish(self) -> None:
        """Hand the topics to the model."""
        self.model.components_ = self.topics()

    def topics(self) -> FloatArray:
        positive = np.maximum(self._mean().T, 0.0) + self.beta
        return np.ascontiguousarray(positive / positive.sum(axis=1, keepdims=True))

    def _mean(self) -> FloatArray:
        """Of the last releases, one more than there were sweeps; word × topic."""
        self._release()  # [last]
        return np.asarray(np.mean(self.last, axis=0))
