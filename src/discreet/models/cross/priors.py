"""LiouvillePriors: the parameters of Beta-Liouville priors, for models that compare collections."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from discreet._types import FloatArray
from discreet.models.base import broadcast_alpha, broadcast_beta
from discreet.models.bounds import Alpha, Prior, Topics
from discreet.models.cross.tables import CrossPriors
from discreet.models.estimator import estimator
from discreet.models.lbla import LBLA


def public_code_priors(n_topics: int, n_words: int) -> dict[str, Any]:
    """As :meth:`LBLA.public_code_settings <discreet.LBLA.public_code_settings>` states them, for common and own words
    alike."""
    code = LBLA.public_code_settings(n_topics, n_words)
    words = {"beta": code.beta, "beta_rest": code.beta_rest}
    own = {"beta_collection": code.beta, "beta_collection_rest": code.beta_rest}
    return {"alpha": code.alpha, "alpha_rest": code.alpha_rest, **words, **own}


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

    # One topic, or one word, has the share 1 whatever its prior: the prior then counts as Dirichlet.

    def _document_prior(self) -> tuple[FloatArray, float | None]:
        """Prior weight of each topic, and of all but the last together, where that is not their sum."""
        return broadcast_alpha(self.alpha, self.n_topics), self.alpha_rest if self.n_topics > 1 else None

    def _word_priors(self, n_words: int) -> CrossPriors:
        each = ((name, getattr(self, name)) for name in ("beta", "beta_collection"))
        beta, own_beta = (broadcast_beta(prior, n_words, name) for name, prior in each)
        rests = (self.beta_rest, self.beta_collection_rest) if n_words > 1 else (None, None)
        return CrossPriors(beta, own_beta, self.gamma0, self.gamma1, *rests)
