"""CrossLDA: topics of several collections of documents, what they share and what is each one's own. No privacy."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self

import numpy as np

from discreet._errors import InputError, warn_caller
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.models.algorithm import Algorithm, check_same
from discreet.models.base import broadcast_alpha, check_sizes
from discreet.models.bounds import Alpha, AtLeastOne, Prior, Sweeps, Topics
from discreet.models.cross.comparing import ComparesCollections
from discreet.models.cross.published import PublishedTraining
from discreet.models.cross.tables import CrossPriors
from discreet.models.cross.training import Training
from discreet.models.estimator import Running, estimator
from discreet.privacy import Guarantee
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED

MANY_COLLECTIONS = 10
"""From so many on, fewer than two documents per collection are warned of: a mistaken column, such as an id."""


@estimator
class CrossLDA(Running, ComparesCollections):
    """Cross-collection LDA (ccLDA [1]_, the Dirichlet model of [2]_) by frozen sweeps. Its guarantee is *none*.

    Each topic k has words that all collections share, φ[k, w], and words of its own in each collection c, σ[c, k, w]. A
    token of collection c draws its topic k from its document's θ, then x = 1 with chance ψ[k, c], then its word from
    σ[c, k] if x = 1 and from φ[k] if x = 0.

    **What is computed.** In sweep t every token draws a topic from p(k) ∝ A[c, w, k] · (n[d, k] + α_k) with A =
    (1 − ψ)·φ + ψ·σ, where φ, σ and ψ come from the counts after sweep t − 1 and stay fixed during the sweep. That is
    the draw of (k, x) together, x being left out: given its topic, a token has x = 1 with chance B[c, w, k] = ψ·σ / A,
    and no other draw reads it. So x is never drawn. n[c, w, k] · B, its expected counts, take the place of drawn ones:

        N1[c, w, k] = n[c, w, k] · B[c, w, k]             N0 = n − N1
        φ[k, w] = (Σ_c N0[c, w, k] + β) / Σ_w             σ[c, k, w] = (N1[c, w, k] + β_collection) / Σ_w
        ψ[k, c] = (Σ_w N1[c, w, k] + γ1) / (n[c, k] + γ0 + γ1)

    Before the first sweep N1 is 0, as in [2]_. In the first half of the sweeps, N0[c, w, k] is divided by n[c, k] and
    multiplied by its mean over collections before it is added up in φ: each collection then counts the same. With a
    large and a small collection the likelihood is about as high where φ has all words of the large one (ψ near 0) and
    σ all of the small one (ψ near 1), and without this start that is what is found.

    It runs on the engine of :class:`~discreet.LDA`, over words numbered c · V + w.

    **What documents do not tell.** They determine the mixtures A[c, ·, k] and no more. Many pairs of φ and σ give the
    same A; the priors and the start decide which pair is found. On planted topics φ and σ are found if ψ is about equal
    in all collections. If ψ is 0.6 in one collection and 0.2 in the other, A is found (0.05 in total variation), but σ
    is 0.4 to 0.7 off. If ψ is 0.7 and 0.1, topics of one collection may be paired with wrong topics of the other.

    **As published** (``as_published=True``) it is Algorithm 1 of [2]_, on one thread. Each token keeps a topic and an
    x, x starts at 0, and every draw moves the counts. The topic is drawn given x by eq. (11) or (13), and then x by
    (12) and (14). Eq. (11) and (13) leave out the factor of the switch, (N_x + γ_x) / (N + γ0 + γ1), which depends on
    the topic, so this does not sample the posterior: on four tokens its stationary law is 0.04 away in total variation.
    With joint draws of topic and x the same sampler has the posterior (``tests/exact/test_cross_sequential.py``); they
    are not an option here, because the default draws jointly too and is faster. x also moves slowly, one token at a
    time: on planted topics σ is up to 0.7 off after 150 sweeps, and 0.3 after 600.

    Symbols of [2]_: α, β, γ₀, γ₁ are ``alpha``, ``beta``, ``gamma0``, ``gamma1``; δ, the prior of collection topics, is
    ``beta_collection``; φ, σ, ψ are ``components_``, ``collection_components_``, ``switch_``.

    Differences from [2]_, of the default:

    * Frozen sweeps: stochastic EM, as ``LDA`` says, and not a sampler of the posterior. With expected counts N1, the
      split between φ and σ is EM too. Words that by chance are more frequent in one collection go to its own topic in
      part: where collections do not differ, ψ is not quite 0 (0.02 to 0.07 with three thousand tokens per topic).
    * Topic and x are drawn together.
    * The balanced start, above.

    Differences in both forms:

    * Counts are averaged over samples, not φ, σ and ψ.
    * γ0 belongs to x = 0 and γ1 to x = 1, so that ψ ~ Beta(γ1, γ0).
    * Document counts n[d, k] are of all tokens of the document, whatever their x.
    * Eq. (21) is neither per word nor logarithmic: ``perplexity`` is by document completion, each document under the A
      of its own collection. P(x) in eq. (22) to (24) is read as ψ[k, c].
    * ``predict`` integrates θ out (``Release.predict_proba``). The paper fits a θ to the document and scores the same
      words under it.

    Parameters
    ----------
    n_topics : int
        K.
    alpha : float or array of n_topics
        Prior weight of each topic in a document.
    beta, beta_collection : float
        Prior weight of each word in a common topic, and in a topic of one collection.
    gamma0, gamma1 : float
        Prior weight of common words, and of a collection's own.
    n_sweeps : int
        Passes over all tokens. The paper has 500, and then ten samples at lag ten: the default.
    n_average, lag : int
        What is fitted comes from the mean of the counts after ``n_average`` sweeps, each ``lag`` after the one before,
        the last sweep among them.
    as_published : bool
        The sampler of the paper, above.
    algorithm : {"sampled", "collapsed", "auto"}
        How topics are found. "sampled", as above, or "collapsed", as in :class:`~discreet.LDA`; n[c, w, k] are then
        expected counts, and a document's own tokens stay in A. "auto" chooses by size. As published it is always
        sampled.
    warm_start, n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`.

    Attributes
    ----------
    components_ : array (n_topics, n_words)
        Common topics; rows sum to 1.
    collection_components_ : array (n_collections, n_topics, n_words)
        Collection topics; rows sum to 1.
    switch_ : array (n_topics, n_collections)
        How much of a topic's text in a collection is in the collection's own words.
    collections_ : array (n_collections,)
        Labels, sorted.
    collection_shares_ : array (n_collections,)
        Of the training documents.
    alpha_, beta_ : the priors.
    history_ : dict of lists
        ``own_share``: the expected share of tokens with x = 1, after each sweep.
    n_sweeps_ : sweeps done.
    guarantee_ : Guarantee

    References
    ----------
    .. [1] Paul and Girju, "Cross-cultural analysis of blogs and forums with mixed-collection topic models", EMNLP 2009.
    .. [2] Luo, Amayri, Fan and Bouguila, "Cross-collection latent Beta-Liouville allocation model training with privacy
       protection and applications", Applied Intelligence 53, 2023.
    """

    method = "cross-lda"

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    beta: Prior = 0.01
    beta_collection: Prior = 0.01
    gamma0: Prior = 1.0
    gamma1: Prior = 1.0
    n_sweeps: Sweeps = 600
    n_average: AtLeastOne = 10
    lag: AtLeastOne = 10
    as_published: bool = False
    warm_start: bool = False
    algorithm: Algorithm = "sampled"

    @classmethod
    def paper_settings(cls, **changes: Any) -> Self:
        """Luo et al. 2023 as they ran it: their sampler, α = 0.1, β = δ = 0.01, γ0 = γ1 = 1, 500 sweeps of burn-in and
        then ten samples at lag ten. ``changes`` are parameters like any other; the paper tries several ``n_topics``."""
        priors = {"alpha": 0.1, "beta": 0.01, "beta_collection": 0.01, "gamma0": 1.0, "gamma1": 1.0}
        return cls(**{"as_published": True, **priors, "n_sweeps": 600, "n_average": 10, "lag": 10, **changes})

    def fit(self, X: Any, y: Any = None, *, collections: Any = None) -> Self:
        """Train on documents. ``collections`` holds the label of each, where ``X`` is no Corpus that has them; ``y`` is
        taken for them if neither is given."""
        self._check_parameters()
        if self.as_published and self.algorithm == "collapsed":
            raise InputError("as_published=True is the sampler of the paper, not algorithm='collapsed'. Leave one out.")
        corpus = self._read(X, reset=not (self.warm_start and hasattr(self, "_training")))
        check_sizes(corpus, self.n_topics)
        labels, of_document = self._read_collections(corpus, collections, y)
        if len(labels) >= MANY_COLLECTIONS and 2 * len(labels) > corpus.n_documents:
            warn_caller(
                f"there are {len(labels):,} collections of {corpus.n_documents:,} documents, too many to compare; "
                "check that collections= names the right labels"
            )
        run = PublishedTraining if self.as_published else Training
        training = self._continued(corpus, labels, of_document) or run(self, corpus, of_document, len(labels))
        before = training.n_done
        history, _ = self._run_sweeps(before + self.n_sweeps, training.sweep, done=before, timed=True)
        if not self.warm_start:
            training.drop_tables()
        self._keep_tables(training.averaged())
        self._keep_collections(labels, of_document)
        self.alpha_, self.alpha_rest_ = training.alpha, training.alpha_rest
        self.beta_ = float(np.mean(training.priors.beta))
        self.history_ = {n: [*self.history_.get(n, []), *v] for n, v in history.items()} if before else history
        self.n_sweeps_ = training.n_done
        self.guarantee_ = Guarantee.none(EXACT_COUNTS, *((SEEDED,) if training.engine.key.seeded else ()))
        if self.warm_start:
            self._training = training
        else:
            self.__dict__.pop("_training", None)
        return self

    def _document_prior(self) -> tuple[FloatArray, float | None]:
        """Prior weight of each topic, and of all but the last together, where that is not their sum."""
        return broadcast_alpha(self.alpha, self.n_topics), None

    def _word_priors(self, n_words: int) -> CrossPriors:
        return CrossPriors(self.beta, self.beta_collection, self.gamma0, self.gamma1)

    def _continued(self, corpus: Corpus, labels: AnyArray, of_document: IntArray) -> Training | None:
        training: Training | None = getattr(self, "_training", None) if self.warm_start else None
        if training is None:
            return None
        same_sampler = isinstance(training, PublishedTraining) == self.as_published
        same_labels = np.array_equal(labels, self.collections_)
        if not (same_sampler and same_labels and training.holds(self, corpus, of_document)):
            raise InputError(
                "warm_start continues with the same documents, the same collections, the same as_published and the "
                f"same {training.engine.n_topics} topics; found others ({corpus!r}, {self.n_topics} topics). Set "
                "warm_start=False to start anew."
            )
        check_same(self.algorithm, training.engine)
        training.engine.use_threads(self.n_threads)
        training.plan_samples(self)
        return training

    def __getstate__(self) -> dict[str, Any]:
        """Without the documents: a pickle holds the model, not what it was trained on."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}
