"""PrivateLDA: topics of documents or people, proved to protect each of them whole. The one we recommend."""

from __future__ import annotations

import os
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Self

from sklearn.utils._param_validation import Interval

from discreet._types import FloatArray
from discreet.engines import open_units
from discreet.engines.interface import LARGEST_UNIT, MAX_TOPICS, MOST_SWEEPS
from discreet.evaluation.usefulness import Usefulness
from discreet.models.base import RUNNING, TopicModel, broadcast_alpha
from discreet.models.bounds import CLIP, DELTA, EPSILON, N_UNITS, PRIOR, RATE
from discreet.models.private.plan import Plan
from discreet.models.private.rounds import Rounds
from discreet.models.seeds import check_seeds, seed_table
from discreet.privacy.events import Entry
from discreet.privacy.ledger import Ledger
from discreet.training import self_test
from discreet.training.loop import Callback, run_sweeps
from discreet.training.private_fit import UnitFit


class PrivateLDA(TopicModel):
    """Latent Dirichlet allocation under differential privacy for whole documents, or whole users.

    Theorem A of ``docs/guarantees.md``. In each of ``n_rounds`` rounds every unit takes part with probability
    ``sampling_rate``, by a secret coin of its own. A unit that takes part draws a topic for each of its tokens from the
    released topics and runs a few Gibbs sweeps from there; nothing is kept for the next round. It contributes the
    expected topic counts of its words, less three quarters of what the released topics would have said of them,
    weighted by cell, clipped to one norm and put on a grid of whole numbers (``kernels/sums/residuals.py``). The sum
    gets discrete Gaussian noise in every cell and is released. Everything else is a function of what was released: what
    is left out and the weights, averaging over rounds, shrinking words without a clear profile, normalising.

    Before the rounds two small releases settle what must not be read off the data: a histogram of the units' sizes
    (their number and the clipping norm) and the frequencies of words (the weights, and what noisy profiles are shrunk
    towards).

    Parameters
    ----------
    n_topics : int
    epsilon, delta : float
        The budget of one fit, all releases together, and the selection of the vocabulary with them if that was private
        (:class:`~discreet.PrivateVectorizer`). ``delta`` should be far below one over the number of units.
    alpha : float or array
        Prior weight of each topic in a document.
    n_units : int, optional
        The number of units where it is public. By default it is estimated from the histogram, and thereby charged.
    n_rounds, sampling_rate, n_sweeps :
        Rounds; each unit's chance to take part in one; local sweeps in a round.
    clip : float, optional
        The largest norm of a contribution, in tokens. By default a quarter of the median of the units' sizes
        (histogram).
    word_power : float
        A word of frequency u gets the weight u^word_power: below 0 the norm is spent on topical words, not on common
        ones.
    max_tokens : int
        A public cap on the tokens of one unit, applied before anything else.
    word_prior : array (n_topics, n_words), or {topic: {word: weight}}
        Seeds topics with words: prior knowledge, which must not come from the documents. A weight is a number of tokens
        of the word that are known beforehand to be of the topic; as many as the documents have count half.
    ledger : Ledger, optional
        Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    checkpoint : path, optional
        A folder for the private state of a long fit, saved every ``checkpoint_every`` rounds and removed at the end.
        Fit again with the same documents and parameters to go on after an interruption. The plan is then charged in
        stages, and a stage that is repeated is charged twice: the guarantee says so.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing.

    Attributes
    ----------
    components_, alpha_, guarantee_, ledger_ :
        The topics, and what they promise.
    topic_shares_ : array
        How much of the documents each topic is, long documents counting no more than the clip lets them. From what was
        released for the topics, so it costs nothing more.
    standard_errors_ : array
        Topic × word: the deviation of the noise in each cell of ``components_``, before shrinking, which lowers it.
    usefulness_ : Usefulness
        Whether the topics stand out of the noise, and what would help if not; from released numbers, so it may leave
        with the topics. A warning says so where they are unlikely to be useful. None for a single topic.
    history_ : dict of lists
        Functions of released statistics only.
    """

    method = "private"
    _self_tests = (self_test.gaussian_noise, self_test.coins, self_test.word_counts, self_test.residuals)
    topic_shares_: FloatArray
    standard_errors_: FloatArray
    usefulness_: Usefulness | None

    _parameter_constraints = {
        "n_topics": [Interval(Integral, 1, MAX_TOPICS, closed="both")],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "alpha": [PRIOR, "array-like"],
        "n_units": [N_UNITS, None],
        "n_rounds": [Interval(Integral, 1, 2**31, closed="both")],
        "sampling_rate": [RATE],
        "n_sweeps": [Interval(Integral, 1, MOST_SWEEPS, closed="both")],
        "clip": [CLIP, None],
        "word_power": [Interval(Real, -1, 0, closed="both")],
        "max_tokens": [Interval(Integral, 1, LARGEST_UNIT, closed="both")],
        "word_prior": ["array-like", dict, None],
        "ledger": [Ledger, None],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_every": [Interval(Integral, 1, None, closed="left")],
        **RUNNING,
    }

    def __init__(
        self,
        n_topics: int = 10,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        alpha: Any = 0.1,
        n_units: int | None = None,
        n_rounds: int = 300,
        sampling_rate: float = 0.1,
        n_sweeps: int = 8,
        clip: float | None = None,
        word_power: float = -0.4,
        max_tokens: int = 10_000,
        word_prior: Any = None,
        ledger: Ledger | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 40,
        n_threads: int | None = None,
        random_state: Any = None,
        progress: bool = False,
        callbacks: Iterable[Callback] | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.n_units = n_units
        self.n_rounds = n_rounds
        self.sampling_rate = sampling_rate
        self.n_sweeps = n_sweeps
        self.clip = clip
        self.word_power = word_power
        self.max_tokens = max_tokens
        self.word_prior = word_prior
        self.ledger = ledger
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.n_threads = n_threads
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Train on documents. ``groups`` holds one user id a document and makes users the unit; ``y`` is ignored."""
        self._check_parameters()
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        corpus = self._read(X, reset=True, max_tokens=self.max_tokens)
        selected = corpus.vocabulary_from == "private-selection"
        prior = seed_table(self.word_prior, self.n_topics, corpus.vocabulary, all_known=not selected)
        fit = UnitFit(self, corpus, groups)
        plan = self._plan(corpus.n_words, fit.before)
        fit.resume(plan.entries, **({} if prior is None else {"word_prior": prior.tolist()}))
        engine = open_units(
            corpus, fit.groups, self.n_topics, fit.key, max_tokens=self.max_tokens, n_threads=self.n_threads
        )
        payment = fit.pay(plan.before, plan.round_events, "topic counts")  # [reserve] before noise is drawn
        training = Rounds(self, plan, engine, payment, alpha, fit.saved, prior)
        self.history_, conditions = run_sweeps(
            range(payment.done + 1, self.n_rounds + 1),
            training.round,
            callbacks=self.callbacks or (),
            progress=self.progress,
            pause=payment.pause(training._state),
        )
        engine.close()
        payment.settle()
        training.finish(fit.setting)
        self.alpha_, self.beta_ = alpha, 1.0 / corpus.n_words
        public = [name for name in ("n_units", "word_prior") if getattr(self, name) is not None]
        fit.end(plan.entries, plan.epsilon, *(f"{name} is public" for name in public), *conditions)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_seeds(self.word_prior, self.n_topics)

    def _plan(self, n_words: int, before: tuple[Entry, ...]) -> Plan:
        """Its releases over so many words; ``before`` is what these have cost."""
        return Plan.make(self, n_words, before)
