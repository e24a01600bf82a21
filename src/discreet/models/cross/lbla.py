"""CrossLBLA: CrossLDA with Beta-Liouville priors of topics and of words. No privacy."""

from __future__ import annotations

from typing import Any, Self

from discreet.models.cross.model import CrossLDA
from discreet.models.cross.priors import LiouvillePriors, public_code_priors
from discreet.models.estimator import estimator


@estimator
class CrossLBLA(LiouvillePriors, CrossLDA):
    """Cross-collection latent Beta-Liouville allocation (ccLBLA [1]_): :class:`~discreet.CrossLDA` with other priors.

    A Beta-Liouville vector is a Dirichlet vector whose last entry has a spread of its own: the others together have
    the weight a against it, and not the sum of their own numbers. Given counts, the predictive is

        (a + N_{<K}) / (a + β + N) · (α_k + N_k) / (Λ + N_{<K}) for k < K, and (β + N_K) / (a + β + N) for the last.

    If a = Λ, this is the Dirichlet prior. None stands for that; with all three of them None this model is ``CrossLDA``
    bit for bit. In a sweep only the factor of the last topic differs, n[d, K] + α_K, which is multiplied by
    (Λ + n[d, <K]) / (a + n[d, <K]). Both forms of ``CrossLDA``, the default and ``as_published``, exist here too.

    **What such a prior can do.** All topics but the last can rise and fall together, which they cannot in a Dirichlet
    vector. Among each other they still are a Dirichlet vector. In the prior of words, the last word of the vocabulary
    is special. This choice is arbitrary: [1]_ does not say which word is last, and here it is the last column. Such a
    prior changes the share of this one word, and multiplies the shares of all others by one factor, so topics hardly
    change.

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
        Prior weight of all topics but the last together. None: the sum of their alphas, which is the Dirichlet prior.
    beta, beta_collection : float or array of n_words
        Prior weight of each word in a common topic, and in a topic of one collection.
    beta_rest, beta_collection_rest : float, optional
        Prior weight of all words but the last together. None: the sum of their betas.
    gamma0, gamma1, n_sweeps, n_average, lag, as_published, warm_start, algorithm :
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

    @classmethod
    def public_code_settings(cls, n_topics: int, n_words: int, **changes: Any) -> Self:
        """The priors of the public code, the only values that were ever given, as
        :meth:`LBLA.public_code_settings <discreet.LBLA.public_code_settings>` states them, for common and own words
        alike. Everything else is as in :meth:`~discreet.CrossLDA.paper_settings`; the code keeps the last sample
        only."""
        return cls.paper_settings(n_topics=n_topics, **{**public_code_priors(n_topics, n_words), **changes})
