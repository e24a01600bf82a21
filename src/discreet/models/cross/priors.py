"""LiouvillePriors: the parameters of Beta-Liouville priors, for models that compare collections."""

from __future__ import annotations

from dataclasses import field

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.models.base import broadcast_alpha, broadcast_prior
from discreet.models.bounds import Alpha, Prior, Topics
from discreet.models.cross.tables import CrossPriors
from discreet.models.estimator import estimator


@estimator
class LiouvillePriors:
    """Beta-Liouville priors of topics and words, and the prior of the switch."""

    n_topics: Topics = field(default=10, kw_only=False)
    alpha: Alpha = 0.1
    alpha_rest: Prior | None = None
    beta: Alpha = 0.01
    beta_rest: Prior | None = None
    beta_collection: Alpha = 0.01
    beta_collection_rest: Prior | None = None
    gamma0: Prior = 1.0
    gamma1: Prior = 1.0

    def _document_prior(self) -> tuple[FloatArray, float | None]:
        if self.alpha_rest is not None and self.n_topics < 2:
            raise InputError("alpha_rest needs two topics or more; found one. Leave it out.")
        return broadcast_alpha(self.alpha, self.n_topics), self.alpha_rest

    def _word_priors(self, n_words: int) -> CrossPriors:
        if n_words < 2 and (self.beta_rest is not None or self.beta_collection_rest is not None):
            raise InputError(
                "beta_rest and beta_collection_rest need two words or more; found n_features=1. Leave them out."
            )
        each = ((name, getattr(self, name)) for name in ("beta", "beta_collection"))
        beta, own_beta = (broadcast_prior(prior, n_words, name, "words") for name, prior in each)
        return CrossPriors(beta, own_beta, self.gamma0, self.gamma1, self.beta_rest, self.beta_collection_rest)
