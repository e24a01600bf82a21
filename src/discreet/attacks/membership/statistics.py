"""What the attacker computes for a document from published topics: LiRA's statistic, and those of older attacks."""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray
from discreet.attacks.membership.recipe import Published
from discreet.corpus import Corpus
from discreet.evaluation.best_mixture import best_log_likelihood

LIKELIHOOD, LARGEST, ENTROPY, DEVIATION = "likelihood", "largest share", "entropy", "deviation"

NAMES = (LIKELIHOOD, LARGEST, ENTROPY, DEVIATION)
"""In the order of the rows of :func:`statistics_of`."""


def statistics_of(published: Published, documents: Corpus) -> FloatArray:
    """Statistic × document, each made so that a larger number speaks for membership.

    * *likelihood*: max over θ of log p(d | θ, φ), LiRA's statistic [1]_.
    * *largest share*, *entropy*, *deviation*: max_k θ_k, Σ_k θ_k log θ_k and the standard deviation of θ, at the best
      θ. A training document is explained by fewer topics [2]_. There θ is the posterior that the service returns; here
      it is the one that maximises the likelihood, which whoever has the topics can compute.

    A document is read with the table of its own collection, where there are several.

    .. [1] Manzonelli, Zhang and Vadhan, "Membership Inference Attacks and Privacy in Topic Modeling", TMLR 2024.
    .. [2] Huang, Song, Huang, Hu, Hu and Qin, "Membership inference attacks against latent Dirichlet allocation", 2022
       (as reported in [1]_).
    """
    if len(published.of_document) != documents.n_documents:
        raise ValueError("the tables were published for other documents")
    found = np.empty((len(NAMES), documents.n_documents))
    for number, topics in enumerate(published.topics):
        where = np.flatnonzero(published.of_document == number)
        found[:, where] = _under(topics, documents[where])
    return found


def _under(topics: FloatArray, documents: Corpus) -> FloatArray:
    """Under one table."""
    found = best_log_likelihood(topics, documents, n_threads=1)
    theta = found.theta
    negative_entropy = np.sum(theta * np.log(np.maximum(theta, 1e-300)), axis=1)
    return np.stack([found.log_likelihood, theta.max(axis=1), negative_entropy, theta.std(axis=1)])
