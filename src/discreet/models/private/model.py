"""PrivateLDA: topics with a proof that each document, or each user, is protected as a whole. The recommended model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import field
from typing import Any, Self

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus
from discreet.corpus.stored import StoredCorpus
from discreet.engines.interface import UnitEngine
from discreet.models.base import broadcast_alpha
from discreet.models.bounds import Alpha, AutoTopics, Clip, Epsilon, LocalSweeps, Units, WordPower, WordPrior
from discreet.models.estimator import SampledUnits, estimator
from discreet.models.knowledge import refuse_same_text
from discreet.models.placed import Placed
from discreet.models.private.plan import PrivatePlan
from discreet.models.private.public import PublicOrVectors, check_public_or_vectors, known
from discreet.models.private.rounds import PrivateRounds
from discreet.models.seeds import check_seeds, seed_table
from discreet.planning.choices import AUTO, topics
from discreet.privacy.events import Entry
from discreet.training import self_test
from discreet.training.private_fit import PrivateFit


@estimator
class PrivateLDA(SampledUnits, Placed):
    """Latent Dirichlet allocation under differential privacy for whole documents, or whole users.

    Theorem A of ``docs/guarantees.md``. In each of ``n_rounds`` rounds every unit takes part with probability
    ``sampling_rate``, decided by its own secret coin. A unit that takes part draws a topic for each of its tokens from
    the released topics and runs a few Gibbs sweeps from there; nothing is kept for the next round. It contributes the
    expected topic counts of its words, minus three quarters of the counts that the released topics predict, weighted by
    cell, clipped to one norm and put on a grid of whole numbers (``kernels/sums/residuals.py``). The sum gets discrete
    Gaussian noise in every cell and is released. Everything else is a function of what was released: the subtracted
    counts, the weights, the average over rounds, the shrinkage of words without a clear profile, and the normalisation.
    The last rounds judge the topics by what they release, and topics that predict worse than word frequencies are
    pulled towards them (``belief.py``). With so few units that topics are hopeless, the rounds count words.

    Before the rounds two small releases estimate what must not be read from the data directly: a histogram of the
    units' sizes (their number and the clipping norm) and the frequencies of words (the weights, and what noisy profiles
    are shrunk towards).

    Parameters
    ----------
    n_topics : int or "auto"
        With "auto" as many as the noise can carry (:func:`discreet.plan`), decided from ``n_units``, which must be
        given, the budget and the number of words, before anything is charged. If it can carry none, one topic, the
        word frequencies, is trained.
    epsilon, delta : float
        The budget of one fit: all releases, and also the selection of the vocabulary if that was private
        (:class:`~discreet.PrivateVectorizer`). ``delta`` should be far below one over the number of units.
    alpha : float or array
        Prior weight of each topic in a document.
    n_units : int, optional
        The number of units, if it is public. By default it is estimated from the histogram, which is charged.
    n_rounds, sampling_rate :
        The number of rounds; the probability that a unit takes part in one.
    local_sweeps : int, optional
        Sweeps over the tokens of a unit within a round. By default 8, or 16 with more than 32 topics: with many topics
        a document needs more sweeps to find its own. On arXiv abstracts with 50 topics and ε = 0.5 the perplexity was
        946 with 16 sweeps, 965 with 8.
    clip : float, optional
        The largest norm of a contribution, in tokens. By default a quarter of the median of the units' sizes
        (histogram), less with more than 20 topics or 2,000 words.
    word_power : float
        A word of frequency u gets the weight u^word_power: below 0 the norm is spent on topical words, not on common
        ones.
    max_tokens : int
        A public cap on the tokens of one unit, applied before anything else.
    word_prior : array (n_topics, n_words), or {topic: {word: weight}}
        Seeds topics with words: prior knowledge, which must not come from the documents. A weight is a number of tokens
        of the word that are assumed to belong to the topic. If it equals the count of the word in the documents, prior
        and documents have equal influence.
    public : Corpus, Release, fitted model, or {word: vector}, optional
        Public text, a model of it, or public word vectors: knowledge about words, which must not come from the
        documents. It costs no budget and changes nothing that is released. A noisy profile of a word is pulled towards
        those of the words that public text uses alike, as far as released numbers say that this is true of the
        documents too. Training starts from the topics of public text. Without it, words are pulled towards those that
        share their stem.
    ledger : Ledger, optional
        Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    checkpoint : path, optional
        A folder for the private state of a long fit, saved every ``checkpoint_every`` rounds and removed at the end.
        Fit again with the same documents and parameters to resume after an interruption. The plan is then charged in
        stages, and a stage that is repeated is charged twice: the guarantee says so.
    engine : SparkEngine, optional
        Where the rounds run; by default on the threads of this machine. The noise is drawn here in any case.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing.

    Attributes
    ----------
    components_, alpha_, guarantee_, ledger_ :
        The topics, and what they promise.
    topic_shares_ : array
        The share of each topic in the documents, where a long document counts only up to the clip. Computed from what
        was released for the topics, so it costs nothing extra.
    standard_errors_ : array
        Topic × word: the standard deviation of the noise in each cell of ``components_``, before shrinking, which
        lowers it.
    usefulness_ : Usefulness
        Whether the topics stand out from the noise, and what would help if not. Computed from released numbers, so it
        may be published with the topics. A warning is given if they are unlikely to be useful. None for a single topic.
    public_topics_ : array
        Topic × word: the topics of the public text alone, with as many topics, for comparison. Only with ``public``
        text or a model.
    history_ : dict of lists
        Functions of released statistics only.
    """

    method = "private"
    _self_tests = (self_test.gaussian_noise, self_test.coins, self_test.word_counts, self_test.residuals)

    n_topics: AutoTopics = field(default=10, kw_only=False)
    epsilon: Epsilon = 1.0
    alpha: Alpha = 0.1
    n_units: Units | None = None
    local_sweeps: LocalSweeps | None = None
    clip: Clip | None = None
    word_power: WordPower = -0.4
    word_prior: WordPrior = None
    public: PublicOrVectors = None

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **columns: Any) -> Self:
        """Train on documents. ``groups`` holds one user id per document and makes users the unit; ``y`` is ignored.

        If ``X`` is a table of ``engine``, ``groups`` names its column of user ids, and ``columns`` are the other
        arguments of ``engine.read``: ``text=`` or ``counts=``, ``vocabulary=`` and ``tokenizer=``.
        """
        self._check_parameters()
        with self._documents(X, groups, columns, self.max_tokens) as (corpus, groups):
            if self.n_topics == AUTO:
                return self._fit_planned(corpus, groups)
            return self._train(corpus, groups, self._backend.open_units, PrivateRounds)

    def _fit_planned(self, corpus: Corpus | StoredCorpus, groups: Any) -> Self:
        """Train with as many topics as the plan says. ``n_topics`` itself stays "auto", as scikit-learn asks."""
        budget = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        parameters = self.get_params(deep=False)
        n_topics = topics(n_units=self.n_units, n_words=corpus.n_words, **budget)
        planned = type(self)(**{**parameters, "n_topics": n_topics})
        planned.fit(corpus, groups=groups)
        self.__dict__.update({name: value for name, value in vars(planned).items() if name not in parameters})
        return self

    def _planned_parameters(self) -> dict[str, Any]:
        found = super()._planned_parameters()
        fitted = self.n_topics == AUTO and hasattr(self, "components_")
        return {**found, "n_topics": len(self.components_)} if fitted else found

    def _train(
        self,
        corpus: Corpus | StoredCorpus,
        groups: Any,
        open_engine: Callable[..., UnitEngine],
        rounds: type[PrivateRounds],
        *assumed: str,
        **facts: Any,
    ) -> Self:
        """Train by ``rounds`` on the engine given. ``assumed`` are more conditions of the guarantee; ``facts`` tell a
        checkpoint of this run from others."""
        alpha = broadcast_alpha(self.alpha, self.n_topics)
        selected = corpus.vocabulary.origin == "private-selection"
        prior = seed_table(self.word_prior, self.n_topics, corpus.vocabulary, all_known=not selected)
        refuse_same_text(self.public, corpus)
        fit = PrivateFit(self, corpus, groups=groups)
        public = known(self.public, corpus.vocabulary, self.n_topics, n_threads=self.n_threads)
        plan = self._plan(corpus.n_words, fit.vocabulary_entries)
        if prior is not None:
            facts["word_prior"] = prior.tolist()
        fit.resume(plan.entries, **facts, known=public.digest, version=rounds.version)
        engine = open_engine(
            corpus, fit.groups, self.n_topics, fit.key, max_tokens=self.max_tokens, n_threads=self.n_threads
        )
        with closing(engine):
            self._foresee(plan)
            payment = fit.pay(self.n_rounds, plan.rounds, preliminary=plan.preliminary)  # [reserve] before any noise
            training = rounds(self, plan, engine, payment, alpha, fit.saved, prior, public)
            self.history_, conditions = self._run_sweeps(
                self.n_rounds, training.round, done=payment.done, pause=payment.pause(training._state)
            )
        payment.settle()
        training.finish(fit.setting)
        self.alpha_, self.beta_ = alpha, 1.0 / corpus.n_words
        if public.topics is not None:
            self.public_topics_ = public.topics
        else:
            self.__dict__.pop("public_topics_", None)
        given = [f"{name} is public" for name in ("n_units", "word_prior") if getattr(self, name) is not None]
        if public.condition:
            given.append(public.condition)
        if self.engine is not None:
            given.append(self.engine.condition)
        fit.end(plan.entries, plan.epsilon, *assumed, *given, *conditions)
        return self

    def _check_documents(self, corpus: Corpus) -> None:
        refuse_same_text(self.public, corpus)

    def _foresee(self, plan: PrivatePlan) -> None:
        """Called before anything is charged, for warnings that read public facts."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_topics != AUTO:
            check_seeds(self.word_prior, self.n_topics)
        elif self.word_prior is not None:
            raise InputError("word_prior names topics, so their number must be given. Give n_topics.")
        check_public_or_vectors(self.public)

    def _plan(self, n_words: int, vocabulary_entries: tuple[Entry, ...]) -> PrivatePlan:
        """The planned releases over ``n_words`` words, whose selection cost ``vocabulary_entries``."""
        return PrivatePlan.make(self, n_words, vocabulary_entries)
