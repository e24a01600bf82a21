"""The models that Luo et al. 2023 compare: the name on the page, and the estimator behind it."""

from __future__ import annotations

from typing import Any

from discreet.experiments.experiment import Setting

LDA, LBLA, CC_LDA, CC_LBLA = "LDA", "LBLA", "ccLDA", "ccLBLA"
SAME_WEIGHTS = "ccLBLA, weights of ccLDA"
"""Only the distribution differs from that of ccLDA: its numbers, and the scalars of ccLBLA."""
CC_LDA_PUBLISHED, CC_LBLA_PUBLISHED = "ccLDA as published", "ccLBLA as published"
"""By the paper's sampler, which draws topic and switch by turns, and which is not one of the model."""
SCALAR = 0.1
"""Each of a, β, λ and η in the paper's public code."""

NAIVE_BAYES, SVM, MAJORITY = "naive Bayes", "linear SVM", "majority class"

CROSS = (CC_LDA, CC_LBLA, SAME_WEIGHTS)
PUBLISHED = (CC_LDA_PUBLISHED, CC_LBLA_PUBLISHED)
"""All these know collections."""

PRIORS = (
    "Dirichlet models: α = 0.1, β = δ = 0.01, γ₀ = γ₁ = 1, as in the paper. Beta-Liouville models: the paper takes its "
    "priors “as in [10]” and does not print them. LBLA and ccLBLA have the values of its public code: α_k = (k + 1) / "
    "(K + 1), together about K/2, λ_v = 1 / (V + 1), scalars of 0.1. “ccLBLA, weights of ccLDA” has the numbers of "
    "ccLDA and these scalars: there only the distribution differs."
)


def model_of(setting: Setting, n_words: int, seed: int) -> Any:
    """With the priors of the paper, and with those of its public code where it prints none."""
    from discreet.models.cross.lbla import CrossLBLA
    from discreet.models.cross.model import CrossLDA
    from discreet.models.lbla import LBLA as LatentBetaLiouville
    from discreet.models.lda import LDA as LatentDirichlet

    method, k = setting["method"], setting["n_topics"]
    run: dict[str, Any] = {"n_sweeps": setting["sweeps"], "random_state": seed}
    if method == LDA:
        return LatentDirichlet(k, evaluate_every=0, algorithm="sampled", **run)
    if method == LBLA:
        return LatentBetaLiouville.public_code_settings(k, n_words, evaluate_every=0, algorithm="sampled", **run)
    run["lag"] = setting["lag"]
    run["as_published"] = method in PUBLISHED
    if method in (CC_LDA, CC_LDA_PUBLISHED):
        return CrossLDA(k, **run)
    if method == SAME_WEIGHTS:
        run |= dict.fromkeys(("alpha_rest", "beta_rest", "beta_collection_rest"), SCALAR)
        return CrossLBLA(k, **run)
    return CrossLBLA.public_code_settings(k, n_words, **run)


def predictor_of(method: str, *, fit_prior: bool) -> Any:
    """A classifier of counts, from scikit-learn. ``fit_prior``: P(c) is the share of the training documents."""
    if method == NAIVE_BAYES:
        from sklearn.naive_bayes import MultinomialNB

        return MultinomialNB(fit_prior=fit_prior)
    if method == MAJORITY:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier()
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer
    from sklearn.svm import LinearSVC

    return make_pipeline(Normalizer(), LinearSVC(class_weight=None if fit_prior else "balanced", random_state=0))
