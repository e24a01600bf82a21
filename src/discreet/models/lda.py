"""LDA: latent Dirichlet allocation under frozen topics. No privacy; the engine that private models share."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import AnyArray, FloatArray
from discreet.corpus.corpus import Corpus
from discreet.kernels.sums.counts import beta_statistics, log_likelihood, topic_totals
from discreet.kernels.sums.expected import expected_beta_statistics, expected_log_likelihood
from discreet.models.algorithm import Algorithm, check_same, open_engine
from discreet.models.base import broadcast_alpha, check_sizes
from discreet.models.bounds import Alpha, AtLeastOne, Prior, Sweeps, Topics, WordPrior
from discreet.models.estimator import Running, estimator
from discreet.models.placed import Placed
from discreet.models.seeds import seed_table
from discreet.privacy import Guarantee
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED
from discreet.training.loop import Measures
from discreet.training.relaxation import OverRelaxation

LEARN_FROM = 20
"""The first sweep after which priors are learnt: earlier topics are too random for it."""

LEARN_EVERY = 10
LEARN_STEPS = 5
"""Steps of the fixed-point iteration each time: one step is not enough."""

TABLE = 4096
"""log Γ of counts below this is read from a table."""


@estimator
class LDA(Running, Placed):
    """Latent Dirichlet allocation [1]_ under frozen topics. Its guarantee is *none*.

    **Sampled.** In sweep t every token draws a topic from p(k) ∝ φ̃[k, w] · (n[d, k] + α_k), where
    φ̃[k, w] = (n[k, w] + β) / (n[k] + V β) comes from the counts after sweep t − 1 and stays fixed during the sweep;
    only the document's own counts n[d, ·] move, without the token itself. Compared with the collapsed Gibbs sampler of
    [2]_ (Eq. 5), the topic-word counts are those of the sweep before and still hold the token itself, so this is
    stochastic EM and not a sampler of the LDA posterior. In exchange documents are independent within a sweep: it runs
    on all cores, and the same seed gives the same topics for any number of them.

    **Collapsed.** Every token has a distribution over topics in place of one topic, as in the collapsed variational
    inference of [4]_ (CVB0): q(k) ∝ φ̃[k, w] · (n[d, k] + α_k), where φ̃ comes from the expected counts after sweep
    t − 1, without the document's own tokens of word w, and n[d, ·] is without the token itself. After each sweep a
    document's expected counts are scattered as drawn counts would be. All tokens of a word in a document are computed
    at once, and need no random numbers of their own. On text it needs a tenth to a half of the sampler's time for
    the same perplexity, and ends at a lower one (``docs/results/benchmarks.md``).

    Differences from [4]_: documents see topics of the sweep before, as above; these are over-relaxed [5]_, that is,
    moved on in the direction of their last change, ever less from sweep to sweep (``training/relaxation.py``); the
    scatter; all of a document's tokens of a word are taken out of the topics, not one; what is taken out is computed
    anew from the counts and not kept, so that memory is 4 bytes for each document and topic and 12 for each pair of
    document and word.

    Parameters
    ----------
    n_topics : int
        In [2]_, T.
    alpha : float or array of n_topics
        Prior weight of each topic in a document.
    beta : float
        Prior weight of each word in a topic.
    n_sweeps : int
        Passes over all tokens.
    n_average : int
        ``components_`` are the mean of the counts after the last ``n_average`` sweeps.
    learn_alpha, learn_beta : bool
        Fit α (one number per topic) and β to the counts every 10 sweeps from the 20th on, by Minka's fixed point [3]_.
        On corpora made with known priors, α comes out up to a sixth too large if sampled and a quarter if collapsed,
        β a third and a half.
    word_prior : array (n_topics, n_words), or {topic: {word: weight}}
        Added to β cell by cell: seeds topics with words.
    warm_start : bool
        ``fit`` again on the same documents adds ``n_sweeps`` sweeps to those done. Not kept in a pickle.
    evaluate_every : int
        ``history_["log_likelihood"]`` holds log p(w | z) per token (Eq. 2 of [2]_) after every ``evaluate_every``
        sweeps; 0: never. Collapsed, it is that of expected counts, interpolated between whole ones.
    algorithm : {"auto", "sampled", "collapsed"}
        "auto" is collapsed with up to 13 topics for each token of a mean document. With more topics, with fewer than 16
        documents, or if a callback looks at the draws, it is sampled.
    engine : SparkEngine, optional
        Where the sweeps run; by default on the threads of this machine. It does not change the result.
    n_threads : int, optional
        All cores by default; does not change the result.
    random_state : int, optional
        A seed makes the run repeatable. Without one the key comes from the operating system.
    progress : bool
        Show a progress bar on standard error.
    callbacks : list of callables
        Each is called after every sweep with a :class:`~discreet.training.loop.SweepInfo`; True ends the training.

    Attributes
    ----------
    components_ : array (n_topics, n_words)
        Topics; each row sums to 1 (scikit-learn's own LDA leaves pseudo-counts there).
    topic_shares_ : array
        The share of the tokens in each topic.
    alpha_, beta_ : the priors, as given or learnt.
    history_ : dict of lists
    n_sweeps_ : sweeps done.
    guarantee_ : Guarantee

    References
    ----------
    .. [1] Blei, Ng and Jordan, "Latent Dirichlet Allocation", JMLR 3, 2003.
    .. [2] Griffiths and Steyvers, "Finding scientific topics", PNAS 101, 2004.
    .. [3] Minka, "Estimating a Dirichlet distribution", 2000.
    .. [4] Asuncion, Welling, Smyth and Teh, "On Smoothing and Inference for Topic Models", UAI 2009.
    .. [5] Salakhutdinov and Roweis, "Adaptive overrelaxed bound optimization methods", ICML 2003.
    """

    method = "lda"
    shows_run = True

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    n_sweeps: Sweeps = 200
    n_average: AtLeastOne = 10
    learn_alpha: bool = False
    learn_beta: bool = False
    word_prior: WordPrior = None
    warm_start: bool = False
    evaluate_every: Annotated[int, Interval(Integral, 0, None, closed="left")] = 1
    algorithm: Algorithm = "auto"

    def fit(self, X: Any, y: Any = None, **columns: Any) -> Self:
        """Train on documents. ``y`` is ignored.

        If ``X`` is a table of ``engine``, ``columns`` are the arguments of ``engine.read``: ``text=`` or ``counts=``,
        ``vocabulary=`` and ``tokenizer=``. Without a vocabulary, all words of the text are used.
        """
        self._check_parameters()
        self._check_together()
        if "groups" in columns:
            raise InputError(f"{type(self).__name__} promises users nothing and does not group documents by user.")
        reset = not (self.warm_start and hasattr(self, "_training"))
        with self._documents(X, None, columns, None, reset=reset) as (corpus, _):
            check_sizes(corpus, self.n_topics)
            training = self._continued(corpus) or self._begin(corpus)
            try:
                return self._train(training)
            finally:
                if not self.warm_start:
                    training.engine.close()

    def _check_together(self) -> None:
        if self.engine is None:
            return
        for name in ("learn_alpha", "warm_start"):
            if getattr(self, name):
                raise InputError(f"{name}=True runs on the threads of this machine only. Leave it out, or engine=.")
        for callback in self.callbacks or ():
            if hasattr(callback, "begin"):
                raise InputError(
                    f"{type(callback).__name__} reads the topics of tokens, which stay on the executors. Leave it out, "
                    "or engine=."
                )

    def _train(self, training: _Training) -> Self:
        before = training.n_done
        history, _ = self._run_sweeps(before + self.n_sweeps, training.sweep, done=before, run=training, timed=True)
        if not self.warm_start:
            training.drop_tables()
        self.components_, self.topic_shares_ = training.topics(), training.shares()
        self.alpha_, self.alpha_rest_ = training.alpha, training.alpha_rest
        self.beta_ = float(np.mean(training.beta))
        self.history_ = {n: [*self.history_.get(n, []), *v] for n, v in history.items()} if before else history
        self.n_sweeps_ = training.n_done
        seeded = (SEEDED,) if training.engine.key.seeded else ()
        self.guarantee_ = Guarantee.none(EXACT_COUNTS, *seeded)
        if self.warm_start:
            self._training = training
        else:
            self.__dict__.pop("_training", None)
        return self

    def _begin(self, corpus: Corpus) -> _Training:
        return _Training(self, corpus)

    def _continued(self, corpus: Corpus) -> _Training | None:
        training: _Training | None = getattr(self, "_training", None) if self.warm_start else None
        if training is None:
            return None
        engine = training.engine
        if engine.n_topics != self.n_topics or not engine.holds(corpus):
            raise InputError(
                f"warm_start continues with the same documents and the same {engine.n_topics} topics; found others "
                f"({corpus!r}, {self.n_topics} topics). Set warm_start=False to start anew."
            )
        check_same(self.algorithm, engine)
        engine.use_threads(self.n_threads)
        training.end_average(training.n_done + self.n_sweeps)
        return training

    def __getstate__(self) -> dict[str, Any]:
        """The state without the documents: a pickle holds the model, not what it was trained on."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}


class _Training:
    """The state of one run: engine, counts, priors and the average so far."""

    alpha_rest: float | None = None

    def __init__(self, model: LDA, corpus: Corpus) -> None:
        self.model = model
        self.alpha = broadcast_alpha(model.alpha, model.n_topics)
        self.beta = self._betas(corpus)
        self.word_prior = self._seed_words(corpus)
        self.engine = open_engine(
            model.algorithm,
            corpus,
            model.n_topics,
            Key.open(model.random_state),
            n_threads=model.n_threads,
            callbacks=model.callbacks,
            backend=model._backend,
        )
        self.counts: AnyArray = self.engine.count()
        self.relaxation = OverRelaxation()
        self.draws = self.engine.draws
        """Whether each token has one topic; otherwise counts are expected ones."""
        self.n_done = 0
        self._tabulate()
        self.end_average(model.n_sweeps)

    def end_average(self, last_sweep: int) -> None:
        """Plan the average over the sweeps up to ``last_sweep``."""
        self.average_from = max(last_sweep - self.model.n_average + 1, self.n_done + 1)
        self.summed: AnyArray | None = None
        self.n_summed = 0

    def sweep(self, number: int) -> Measures:
        """Counts → weights → sweep → counts."""
        seen = self.counts if self.draws else self.relaxation.seen(self.counts, number)
        prior, scale = self._word_weights(seen)
        self.engine.sweep(seen, self.alpha, number, prior=prior, scale=scale, alpha_rest=self.alpha_rest)
        self.counts = self.engine.count()
        self.n_done = number
        if self._is_sample(number):
            self._add()
        if number >= LEARN_FROM and number % LEARN_EVERY == 0:
            self._learn()
        every = self.model.evaluate_every
        if every and number % every == 0:
            return {"log_likelihood": self._log_likelihood()}
        return {}

    def _word_weights(self, counts: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Prior and scale of φ̃ = (counts + prior) · scale."""
        return self.prior, 1.0 / (topic_totals(counts) + self.prior_mass)

    def _is_sample(self, number: int) -> bool:
        return number >= self.average_from

    def drop_tables(self) -> None:
        """Free the tables after the last sweep: the topics are as large as these tables."""
        if self.summed is not None:
            self.counts = self.summed
        self.relaxation = OverRelaxation()
        self.engine.drop_tables()

    def topics(self) -> FloatArray:
        """Mean counts plus prior, each topic normalised."""
        counts, n = (self.counts, 1) if self.summed is None else (self.summed, self.n_summed)
        topics = np.ascontiguousarray(counts.T, dtype=np.float64)
        topics /= n
        topics += self.prior.T
        self._normalise(topics)
        return topics

    def shares(self) -> FloatArray:
        """The share of the tokens in each topic, from the same counts as the topics."""
        sizes = (self.counts if self.summed is None else self.summed).sum(axis=0)
        return np.asarray(sizes / sizes.sum())

    def _normalise(self, topics: FloatArray) -> None:
        topics /= topics.sum(axis=1, keepdims=True)

    def _add(self) -> None:
        if self.summed is None:
            fits = self.engine.n_tokens * self.model.n_average < 2**31
            whole = np.int32 if fits else np.int64
            self.summed = np.zeros(self.counts.shape, whole if self.draws else np.float64)
        self.summed += self.counts
        self.n_summed += 1

    def _log_likelihood(self) -> float:
        likelihood = log_likelihood if self.draws else expected_log_likelihood
        value = likelihood(self.counts, topic_totals(self.counts), self.prior, self.table)
        return float(value / self.engine.n_tokens)

    # --- priors -----------------------------------------------------------------------------------------------------

    def _betas(self, corpus: Corpus) -> Any:
        return float(self.model.beta)

    def _tabulate(self) -> None:
        """The prior, word × topic or a single cell for all, its sum for each topic, and a table of log Γ."""
        engine = self.engine
        if self.word_prior is None:
            self.prior = np.array([[self.beta]])
            self.prior_mass = np.full(engine.n_topics, engine.n_words * self.beta)
            self.table = gammaln(np.arange(TABLE) + self.beta) - gammaln(self.beta)
        else:
            self.prior = np.ascontiguousarray(self.word_prior.T + self.beta)
            self.prior_mass = topic_totals(self.prior)
            self.table = np.empty(0)

    def _learn(self) -> None:
        for _ in range(LEARN_STEPS if self.model.learn_alpha else 0):
            numerators, denominator = self.engine.alpha_statistics(self.alpha)
            self.alpha = np.clip(self.alpha * numerators / denominator, 1e-5, 1e3)
        v = self.engine.n_words
        for _ in range(LEARN_STEPS if self.model.learn_beta else 0):
            above = (beta_statistics if self.draws else expected_beta_statistics)(self.counts, self.beta)
            below = v * float(np.sum(_digamma_difference(topic_totals(self.counts), v * self.beta)))
            self.beta = float(np.clip(self.beta * above / below, 1e-6, 1e3))
        if self.model.learn_beta:
            self._tabulate()

    def _seed_words(self, corpus: Corpus) -> FloatArray | None:
        given = self.model.word_prior
        if given is None:
            return None
        if self.model.learn_beta:
            raise InputError("learn_beta cannot be combined with word_prior: β is then different for each word.")
        return seed_table(given, self.model.n_topics, corpus.vocabulary)


def _digamma_difference(counts: FloatArray, prior: float) -> FloatArray:
    from scipy.special import digamma

    return np.asarray(digamma(counts + prior) - digamma(prior))
