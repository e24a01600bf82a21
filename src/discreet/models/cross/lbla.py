"""CrossLBLA: CrossLDA with Beta-Liouville priors of topics and of words. No privacy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.models.base import broadcast_prior
from discreet.models.bounds import Alpha, Prior
from discreet.models.cross.model import CrossLDA
from discreet.models.cross.tables import CrossPriors
from discreet.models.estimator import estimator


@estimator
class CrossLBLA(CrossLDA):
    """Cross-collection latent Beta-Liouville allocation (ccLBLA [1]_): :class:`~discreet.CrossLDA` with other priors.

    A Beta-Liouville vector is a Dirichlet vector whose last entry has a spread of its own: the others together have
    the weight a against it, and not the sum of their own numbers. Given counts, the predictive is

        (a + N_{<K}) / (a + β + N) · (α_k + N_k) / (Λ + N_{<K}) for k < K, and (β + N_K) / (a + β + N) for the last.

    With a = Λ, the sum, it is Dirichlet; that is what None stands for, and with three times None this model is
    ``CrossLDA``, to the bit. A sweep differs in the factor of the last topic only, n[d, K] + α_K, which is multiplied
    by (Λ + n[d, <K]) / (a + n[d, <K]); tables differ in their scales. Both forms of ``CrossLDA`` are there.

    **What such a prior can do.** The last topic is special, and the others can rise and fall together, which they
    cannot in a Dirichlet vector: this is the covariance that [1]_ wants. Among themselves the others are a Dirichlet
    vector still. Of words, the last of the vocabulary is special, whichever word that is: [1]_ says nothing of which,
    so it is the last column here. A prior of words changes how much of a topic that word has, and multiplies all
    others by one factor. Do not expect other topics of it.

    ==================================  ================================================================================
    in [1]_                             here
    ==================================  ================================================================================
    α_1 … α_{K−1}, β; α                 ``alpha`` (the last is β); ``alpha_rest``. One set for all collections, where
                                        the paper writes ζ_c and gives no values
    λ_1 … λ_{V−1}, η; λ                 ``beta`` (the last is η); ``beta_rest``
    λ_c1 … λ_c(V−1), η_c; λ_c           ``beta_collection``; ``beta_collection_rest``. One set for all collections
    ==================================  ================================================================================

    Eq. (11) to (17) print the formula of the first entries for all; the last has its own, above. Other differences are
    those of ``CrossLDA``.

    Parameters
    ----------
    n_topics : int
        K.
    alpha : float or array of n_topics
        Prior weight of each topic in a document.
    alpha_rest : float, optional
        Prior weight of all topics but the last together; needs two topics. None: the sum of their alphas, which is the
        Dirichlet prior.
    beta, beta_collection : float or array of n_words
        Prior weight of each word in a common topic, and in a topic of one collection.
    beta_rest, beta_collection_rest : float, optional
        Prior weight of all words but the last together. None: the sum of their betas.
    gamma0, gamma1, n_sweeps, n_average, lag, as_published, warm_start :
        As in ``CrossLDA``.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`.

    Attributes
    ----------
    alpha_, alpha_rest_ : the prior of a document's topics.
    beta_ : float
        The mean of ``beta``.
    others :
        As in ``CrossLDA``.

    References
    ----------
    .. [1] Luo, Amayri, Fan and Bouguila, "Cross-collection latent Beta-Liouville allocation model training with privacy
       protection and applications", Applied Intelligence 53, 2023.
    """

    method = "cross-lbla"

    alpha_rest: Prior | None = None
    beta: Alpha = 0.01
    beta_rest: Prior | None = None
    beta_collection: Alpha = 0.01
    beta_collection_rest: Prior | None = None

    @classmethod
    def public_code_settings(cls, n_topics: int, n_words: int, **changes: Any) -> Self:
        """The priors of the code that the authors have put in public, the only values that were ever given: the paper
        has none.

        α_k = (k + 1) / (K + 1) for the k-th topic from 0, λ_v = min(0.1, 1 / (V + 1)) for each word; 0.1 for each of
        a, β, λ and η. Everything else is as in :meth:`paper_settings`, where the code keeps the last sample only. In
        training, the code has α_k = k / (K + 1), so that the first topic has no prior weight, which is no distribution:
        here it is as in the code's inference. ``changes`` are parameters like any other.
        """
        alpha = np.arange(1, n_topics + 1) / (n_topics + 1)
        beta = np.full(n_words, min(0.1, 1 / (n_words + 1)))
        alpha[-1] = beta[-1] = 0.1
        rests = dict.fromkeys(("alpha_rest", "beta_rest", "beta_collection_rest"), 0.1)
        setting = {"alpha": alpha, "beta": beta, "beta_collection": beta.copy(), **rests}
        return cls.paper_settings(n_topics=n_topics, **{**setting, **changes})

    def _document_prior(self) -> tuple[FloatArray, float | None]:
        if self.alpha_rest is not None and self.n_topics < 2:
            raise InputError("alpha_rest needs two topics or more; found one. Leave it out.")
        return super()._document_prior()[0], self.alpha_rest

    def _word_priors(self, n_words: int) -> CrossPriors:
        if n_words < 2 and (self.beta_rest is not None or self.beta_collection_rest is not None):
            raise InputError(
                "beta_rest and beta_collection_rest need two words or more; found n_features=1. Leave them out."
            )
        each = ((name, getattr(self, name)) for name in ("beta", "beta_collection"))
        beta, own_beta = (broadcast_prior(prior, n_words, name, "words") for name, prior in each)
        return CrossPriors(beta, own_beta, self.gamma0, self.gamma1, self.beta_rest, self.beta_collection_rest)
