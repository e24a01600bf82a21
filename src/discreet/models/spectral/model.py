"""SpectralLDA: topics from word pairs and triples, by linear algebra instead of sampling; private or plain."""

from __future__ import annotations

import warnings
from dataclasses import field
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from discreet._errors import InputError
from discreet._random import Key
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_moments
from discreet.engines.interface import LARGEST_UNIT
from discreet.models.base import TopicModel, check_sizes, numbers
from discreet.models.bounds import LEAST_DELTA, Epsilon, Prior, WordPower
from discreet.models.estimator import Paying, Seeded, estimator
from discreet.models.spectral.exact import Whitened, exact_moments
from discreet.models.spectral.moments import smoothed, to_simplex
from discreet.models.spectral.private import MOST_WORDS, PrivateMoments, SpectralPlan, check_words
from discreet.models.spectral.published.configurations import Published, check_configuration, fit_configuration
from discreet.models.spectral.tensor import UNSETTLED, decompose
from discreet.privacy.events import Entry
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED, Guarantee
from discreet.training import self_test
from discreet.training.private_fit import PrivateFit, units_in_words, warn_of_delta

MOST_TOPICS = 200
"""The whitened third moment has n_topics³ entries."""

SMOOTHING = 0.01
"""The share of the word frequencies in each topic."""


@estimator
class SpectralLDA(Seeded, Paying, Published, TopicModel):
    """Latent Dirichlet allocation by the method of moments: no sampling, no local optimum, one pass over the
    documents.

    DeCarolis, Ram, Esmaeili, Wang and Huang, "An end-to-end differentially private LDA using a spectral algorithm"
    (ICML 2020), on moments of Anandkumar et al. (NIPS 2012). The frequencies of words, pairs and triples of words in a
    document determine the topics: the second moment M₂ is whitened, and the whitened third moment, a small tensor, has
    the topics as its orthogonal components. Their symbols and ours: α₀ is ``alpha0``, k ``n_topics``, d the words, μ
    ``components_``, α ``alpha_``.

    Without ``epsilon`` nothing is promised. With it, six noisy sums are released, each unit's part clipped: word
    frequencies (for word weights); histograms of the norms of moments (for the clips); M₁ and M₂; a histogram of
    whitened norms; and the whitened third moment. Topics are a function of these (``models/spectral/proof.md``). Topics
    that would be more noise than signal are left out, with a warning.

    Differences from the paper. Moments have the right coefficients (α₀/(α₀+2), not its Lemma 3's 1/(α₀+2)) and all
    diagonal terms. The paper's sensitivities do not hold, so units are clipped, each with one weight for all three
    moments, and noise is discrete and goes through a ledger. Neighbours add or remove a unit; the number of documents
    is not public. Words are weighted (``word_power``), eigenvalues are corrected for the known noise, negative
    entries of topics become 0, and 1% of the words' frequencies is mixed into each topic.

    **As published.** ``as_published=True`` with ``configuration=1`` to ``4`` puts the paper's noise on the paper's
    edges, line by line (``models/spectral/published/edges.py`` maps symbols and lists differences). Neighbours then
    *replace* a document, their number is public, and ε is only *claimed*: the guarantee says why. Of the four, only
    ``configuration=1`` has a form that is *proven*, with other constants (``models/spectral/published/replaced.py``);
    it is what runs without ``as_published``.

    Parameters
    ----------
    n_topics : int
    alpha0 : float
        The sum of the Dirichlet prior over topics, which this method cannot learn: small if a document has few topics.
    epsilon, delta : float
        The budget of one fit; ``epsilon=None`` is the plain form. ``delta=0`` asks for a pure ε, by Laplace noise; only
        ``configuration=1`` has one.
    split : three numbers
        How the budget, as precision, is shared between M₁, M₂ and the whitened third moment.
    clip_factor : float
        The longest second moment of a unit, as a multiple of their (released) median length; a unit beyond it has less
        weight in all moments. A larger factor adds more noise. On arXiv's abstracts the default was better than 4 even
        at ε = 64. Many documents over few words (up to a hundred) that truly follow LDA need 4.
    word_power : float
        A word of frequency u gets the weight u^word_power.
    decomposition : "power" or "simultaneous"
        Robust tensor power iteration, or the paper's simultaneous power method (``models/spectral/tensor.py``).
    fewer_topics : bool
        Whether a private fit may return fewer topics where the noise hides the others. If not, it raises an error, and
        the budget is spent anyway.
    max_tokens : int
        A public cap on the tokens of one unit (private form).
    configuration : None, 1, 2, 3, 4 or "choose"
        None: our form. A number: the paper's configuration, with noise on M̂₂ and M̂₃ (1); on the whitened T̂ and M̂₂
        (2); on the decomposition's μ̄, ᾱ and M̂₂ (3); on the topics and α (4). ``"choose"``: the paper's choice by
        private likelihood (``models/spectral/published/choice.py``). ``split``, ``clip_factor``, ``word_power``,
        ``fewer_topics``, ``max_tokens`` and ``groups`` are not part of them (the proven one has ``fewer_topics``).
    as_published : bool
        Run the configuration as the paper prints it; its ε is claimed.
    constants : "appendix" or "text"
        The sensitivities used for the published noise: those of appendix H (eq. 64 and around it), or of section 6
        (every O(·) taken literally).
    edge_split : numbers, optional
        Shares of ε and δ for the parts of a configuration: (e3, e4, e8) of 1, (σ_k, e6, e8) of 2, (σ_k, γ_s, e7, e8) of
        3, (σ_k, γ_s, e9) of 4. Of the proven form: of precision, for (e3, e4).
    choice_share : float
        Share of ε and δ for the likelihood by which ``"choose"`` chooses.
    ledger : Ledger, optional
        Charged with the whole plan before the first noise is drawn. By default a new one for this fit.
    n_threads, random_state :
        As in :class:`~discreet.LDA`. A seeded run promises nothing; the plain form draws nothing at random.

    Attributes
    ----------
    components_, alpha_, guarantee_ :
        The topics, their prior (it sums to ``alpha0``) and what they promise.
    n_topics_ : int
        Topics found: fewer than ``n_topics`` where noise hides the others.
    eigenvalues_ : array
        Eigenvalues of M₂ (word weights included, noise subtracted) that stand clear of the noise.
    ledger_ :
        Of a private fit (not of a claimed one).
    configuration_, edge_split_, edges_ :
        Of a published form: what ran, the shares, and for each part its name, ε, δ, printed sensitivity and scale of
        noise. ``edges_`` is for the curator.
    choice_ :
        Of ``"choose"``: every candidate with its noisy log-likelihood.
    """

    method = "spectral"
    most_words = MOST_WORDS

    n_topics: Annotated[int, Interval(Integral, 1, MOST_TOPICS, closed="both")] = field(default=10, kw_only=False)
    alpha0: Prior = 0.5
    epsilon: Epsilon | None = None
    delta: Annotated[float, Interval(Real, 0, 1, closed="left")] = 1e-6
    split: Annotated[tuple[float, float, float], "array-like"] = (0.05, 0.87, 0.08)
    clip_factor: Annotated[float, Interval(Real, 1e-3, 1e3, closed="both")] = 0.5
    word_power: WordPower = -0.35
    decomposition: Literal["power", "simultaneous"] = "power"
    fewer_topics: bool = True
    max_tokens: Annotated[int, Interval(Integral, 3, LARGEST_UNIT, closed="both")] = 10_000
    configuration: Literal[1, 2, 3, 4, "choose"] | None = None
    as_published: bool = False
    constants: Literal["appendix", "text"] = "appendix"
    edge_split: Annotated[tuple[float, ...], "array-like"] | None = None
    choice_share: Annotated[float, Interval(Real, 0, 1, closed="neither")] = 0.1

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Train on documents. ``groups`` holds one user id per document and makes users the unit; ``y`` is ignored."""
        self._check_parameters()
        self._check_together()
        if self.configuration is not None or self.as_published:
            check_configuration(self, groups)
        private = self.epsilon is not None and self.configuration is None
        corpus = self._read(X, reset=True, max_tokens=self.max_tokens if private else None)
        self.history_ = {}
        if self.configuration is not None:
            fit_configuration(self, corpus, SMOOTHING)
        elif self.epsilon is None:
            self._fit_plain(corpus)
        else:
            self._fit_private(corpus, groups)
        self.beta_ = 1.0 / corpus.n_words
        return self

    def _check_together(self) -> None:
        split = numbers(self.split, "split")
        if split.shape != (3,) or not ((split >= 1e-3) & (split <= 1e3)).all():
            raise InputError(
                f"split must be three numbers from 0.001 to 1000, for the three moments; found {self.split!r}."
            )
        if 0 < self.delta < LEAST_DELTA:
            raise InputError(f"delta must be 0, for a pure epsilon, or at least {LEAST_DELTA:g}; found {self.delta:g}.")
        if self.delta == 0 and self.epsilon is not None and self.configuration != 1:
            raise InputError(
                "delta=0 asks for a pure epsilon, which only configuration=1 has, by Laplace noise. Give delta, such "
                "as 1e-6, or configuration=1."
            )

    def _fit_plain(self, corpus: Corpus) -> None:
        if self.ledger is not None:
            raise InputError("epsilon=None adds no noise, so there is nothing to charge. Give epsilon, or no ledger.")
        check_sizes(corpus, self.n_topics)
        engine = open_moments(corpus, n_threads=self.n_threads)
        found = exact_moments(engine, self.n_topics, self.alpha0, self.word_power)
        engine.close()
        self.eigenvalues_ = found.whitening.values
        self._decompose(found, found.first)
        self.n_topics_ = len(self.alpha_)
        seeded = (SEEDED,) if Key.open(self.random_state).seeded else ()
        self.guarantee_ = Guarantee.none(EXACT_COUNTS, *seeded)

    def _fit_private(self, corpus: Corpus, groups: Any) -> None:
        fit = PrivateFit(self, corpus, groups=groups)
        check_words(corpus.n_words)
        plan = self._plan(corpus.n_words, fit.vocabulary_entries)
        engine = open_moments(corpus, fit.groups, max_tokens=self.max_tokens, key=fit.key, n_threads=self.n_threads)
        reservation = fit.reserve(plan.entries)  # [reserve] before any noise is drawn
        training = PrivateMoments(engine, plan, reservation, fit.key)
        found = training.run(self.n_topics, self.alpha0, self.word_power, self.clip_factor)
        engine.close()
        self.eigenvalues_ = found.whitened.whitening.values
        clear = self._decompose(found.whitened, training.frequencies, found.least) if found.n_above else 0
        if not clear:
            self.components_, self.alpha_ = training.frequencies[None, :], np.array([float(self.alpha0)])
        self.n_topics_ = len(self.alpha_)
        self._warn_of_noise(found.n_units, clear)
        fit.end(plan.entries, plan.epsilon)

    def _decompose(self, moments: Whitened, frequencies: FloatArray, least: float = 0.0) -> int:
        """Set the topics whose λ is above ``least``, and return their number. The others are left out."""
        whitening = moments.whitening
        tensor = whitening.tensor(moments.triples, moments.first, self.alpha0)
        parts = decompose(tensor, method=self.decomposition)
        if not parts.converged:
            warnings.warn(UNSETTLED, ConvergenceWarning, stacklevel=4)
        found = whitening.recover(parts, self.alpha0)
        kept = parts.values > least
        self.components_ = smoothed(to_simplex(found.topics[kept]), frequencies, SMOOTHING)
        self.alpha_ = self.alpha0 * found.alpha[kept] / max(float(found.alpha[kept].sum()), 1e-300)
        return int(kept.sum())

    def _warn_of_noise(self, n_units: float, clear: int, *, public: bool = False) -> None:
        """Warn of hidden topics, and of delta: functions of what was released, or of a ``public`` number of units."""
        units = units_in_words(n_units, public=public)
        warn_of_delta(self.delta, n_units, units)
        if clear < self.n_topics:
            message = (
                f"{clear} of {self.n_topics} topics stand clear of the noise, with {units}, {self.n_features_in_:,} "
                f"words and epsilon={self.epsilon:g}: the others would be noise. More units, fewer words or a larger "
                "epsilon would help."
            )
            if not self.fewer_topics:
                raise InputError(f"{message} (fewer_topics=True gives a model with the clear ones.)")
            given = f"{clear} topics are" if clear > 1 else "one topic is"
            warnings.warn(f"{message} The model has fewer: {given} given.", stacklevel=4)

    @property
    def _self_tests(self) -> tuple[self_test.Test, ...]:
        noise = self_test.laplace_noise if self.delta == 0 else self_test.gaussian_noise
        return noise, self_test.moments if self.configuration is None else self_test.cubes

    def _plan(self, n_words: int, vocabulary_entries: tuple[Entry, ...]) -> SpectralPlan:
        """The releases over ``n_words`` words, which have cost ``vocabulary_entries``."""
        return SpectralPlan.make(self, n_words, vocabulary_entries)
