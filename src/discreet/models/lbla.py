"""LBLA: latent Beta-Liouville allocation, LDA with a more flexible prior of documents and of topics. No privacy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import betaln

from discreet._errors import InputError
from discreet._types import AnyArray, FloatArray
from discreet.corpus.corpus import Corpus
from discreet.kernels.sums.counts import topic_totals
from discreet.models.base import broadcast_beta
from discreet.models.beta_liouville import word_divisors
from discreet.models.bounds import Alpha, AtLeastOne, Prior
from discreet.models.estimator import estimator
from discreet.models.lda import LDA, _Training


@estimator
class LBLA(LDA):
    """Latent Beta-Liouville allocation [1]_, as [2]_ describes it, under frozen topics. Its guarantee is *none*.

    This is :class:`~discreet.LDA` with Beta-Liouville priors in place of Dirichlet priors. A document's topics have the
    prior BL(α_1, …, α_{K−1}; a; β): topic K has the share 1 − u with u ~ Beta(a, β), and the other topics divide u by
    Dirichlet(α_1, …, α_{K−1}). If a = Λ = Σ_{k<K} α_k, this is Dirichlet(α_1, …, α_{K−1}, β), and the model is LDA bit
    for bit. **The last topic is special**: its mean share is β / (a + β), and the smaller a + β, the more its share
    differs between documents. In the same way the last word of the vocabulary is special in the prior of a topic's
    words.

    **What is computed.** In sweep t every token draws a topic from p(k) ∝ φ̃[k, w] · f_k with f_k = n[d, k] + α_k if
    k < K, and for the last topic

        f_K = (n[d, K] + β) · (Λ + m) / (a + m),     m = Σ_{k<K} n[d, k].

    That is the posterior mean of θ, up to one factor for all topics. φ̃ is the posterior mean of the words after sweep
    t − 1: (λ_w + n[k, w]) / (Λ_w + N) · (λ + N) / (λ + η + n[k]) for all words but the last, where N counts the tokens
    of these words in topic k and Λ_w = Σ_{w<V} λ_w, and (η + n[k, V]) / (λ + η + n[k]) for the last word.

    Symbols of [2]_: α_k and β are ``alpha``, whose last entry is β; α without an index, here a, is ``alpha_rest``; λ_v
    and η are ``beta``, whose last entry is η; λ is ``beta_rest``.

    Differences from [2]_:

    * Frozen sweeps: stochastic EM, as ``LDA`` explains, and not a sampler of the posterior.
    * The last topic and the last word have the formulas above. Eq. (2), (11) and (15) to (17) print one for all.
    * No θ of the training documents is kept: ``transform`` fits θ by fold-in, in place of eq. (15).
    * Counts are averaged over samples, not φ.

    In [1]_ only documents have a Beta-Liouville prior: ``beta_rest=None``.

    Parameters
    ----------
    n_topics : int
        K.
    alpha : float or array of n_topics
        Prior weight of each topic in a document.
    alpha_rest : float, optional
        Prior weight of all topics but the last together. None: the sum of their alphas, which is the Dirichlet prior.
    beta : float or array of n_words
        Prior weight of each word in a topic.
    beta_rest : float, optional
        Prior weight of all words but the last together. None: the sum of their betas, which is the Dirichlet prior.
    n_average, lag : int
        ``components_`` are the mean of the counts after ``n_average`` sweeps, each ``lag`` after the one before; the
        last sweep is one of them.
    learn_alpha, learn_beta : bool
        As in ``LDA``, if the prior is Dirichlet: the fixed point does not hold for a Beta-Liouville prior.
    n_sweeps, word_prior, warm_start, evaluate_every, algorithm, n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. Collapsed, a token's own share in m is that of an average token of its document.

    Attributes
    ----------
    components_ : array (n_topics, n_words)
        Topics; each row sums to 1.
    alpha_, alpha_rest_, beta_ : the priors; ``beta_`` is the mean of ``beta``.
    history_, n_sweeps_, guarantee_ : as in :class:`~discreet.LDA`.

    References
    ----------
    .. [1] Bakhtiari and Bouguila, "A latent Beta-Liouville allocation model", Expert Systems with Applications 45,
       2016.
    .. [2] Luo, Amayri, Fan and Bouguila, "Cross-collection latent Beta-Liouville allocation model training with privacy
       protection and applications", Applied Intelligence 53, 2023; section 2.1, after Ihou and Bouguila, "Stochastic
       topic models for large scale and nonstationary data", Engineering Applications of Artificial Intelligence 88,
       2020.
    """

    method = "lbla"

    alpha: Alpha = 0.1
    alpha_rest: Prior | None = None
    beta: Alpha = 0.01
    beta_rest: Prior | None = None
    lag: AtLeastOne = 1

    @classmethod
    def public_code_settings(cls, n_topics: int, n_words: int, **changes: Any) -> Self:
        """The Beta-Liouville values of the public code of Luo et al. 2023; their text gives none.

        Documents have a = β = 0.1. Topics have λ = η = 0.1 and λ_v = min(0.1, 1 / (V + 1)), so ``n_words`` must be that
        of the corpus. The code has α_k = k / (K + 1) in training, with k from 0: α_0 = 0 is not a prior, as it excludes
        a topic from every document. In inference the code has (k + 1) / (K + 1); these values are taken here.
        """
        alpha = np.append(np.arange(1, n_topics) / (n_topics + 1), 0.1)
        beta = np.append(np.full(n_words - 1, min(0.1, 1 / (n_words + 1))), 0.1)
        setting: dict[str, Any] = {"alpha": alpha, "alpha_rest": 0.1, "beta": beta, "beta_rest": 0.1}
        return cls(n_topics, **{**setting, **changes})

    def _check_together(self) -> None:
        super()._check_together()
        for learnt in ("alpha", "beta"):
            if getattr(self, f"learn_{learnt}") and getattr(self, f"{learnt}_rest") is not None:
                raise InputError(
                    f"learn_{learnt}=True fits a Dirichlet prior, but {learnt}_rest= makes the prior Beta-Liouville. "
                    "Leave one of them out."
                )
        if self.learn_beta and np.ndim(self.beta):
            raise InputError(
                "learn_beta=True fits one beta for all words, but beta= has one for each. Leave learn_beta out."
            )

    def _begin(self, corpus: Corpus) -> _Training:
        return _LiouvilleTraining(self, corpus)


class _LiouvilleTraining(_Training):
    """One topic, or one word, has the share 1 whatever its prior: the prior then counts as Dirichlet."""

    model: LBLA

    def __init__(self, model: LBLA, corpus: Corpus) -> None:
        self.alpha_rest = model.alpha_rest if model.n_topics > 1 else None
        self.beta_rest = model.beta_rest if corpus.n_words > 1 else None
        super().__init__(model, corpus)

    def end_average(self, last_sweep: int) -> None:
        super().end_average(last_sweep)
        self.last_sweep = last_sweep

    def _is_sample(self, number: int) -> bool:
        before_end, model = self.last_sweep - number, self.model
        return before_end % model.lag == 0 and before_end // model.lag < model.n_average

    # --- words ------------------------------------------------------------------------------------------------------

    def _betas(self, corpus: Corpus) -> Any:
        """One number, or a column of them."""
        given = self.model.beta
        return broadcast_beta(given, corpus.n_words)[:, None] if np.ndim(given) else float(given)

    def _seed_words(self, corpus: Corpus) -> FloatArray | None:
        table = super()._seed_words(corpus)
        return np.zeros((self.model.n_topics, corpus.n_words)) if table is None and np.ndim(self.beta) else table

    def _tabulate(self) -> None:
        super()._tabulate()
        if self.beta_rest is None:
            return
        n_words, beta = self.engine.n_words, self.beta
        inner = beta[:-1].sum() if np.ndim(beta) else (n_words - 1) * beta
        if self.word_prior is not None:
            inner = inner + self.word_prior[:, :-1].sum(axis=1)
        self.inner = np.broadcast_to(inner, self.engine.n_topics)
        self.excess = self.beta_rest - self.inner
        self._sweep_prior = np.array(np.broadcast_to(self.prior, (n_words, self.engine.n_topics)))

    def _word_weights(self, counts: AnyArray) -> tuple[FloatArray, FloatArray]:
        if self.beta_rest is None:
            return super()._word_weights(counts)
        last, of_last = self.prior[-1], counts[-1]
        totals = topic_totals(counts)
        priors = (self.inner, self.beta_rest, totals - of_last)
        divisor, ratio = word_divisors(totals + self.prior_mass, of_last + last, *priors)
        self._sweep_prior[-1] = last * ratio + of_last * (ratio - 1.0)  # counts plus this are (counts + last) · ratio
        return self._sweep_prior, 1.0 / divisor

    def _normalise(self, topics: FloatArray) -> None:
        if self.beta_rest is None:
            super()._normalise(topics)
        else:
            divisor, ratio = word_divisors(topics.sum(axis=1), topics[:, -1], self.inner, self.beta_rest)
            topics[:, -1] *= ratio
            topics /= divisor[:, None]

    def _log_likelihood(self) -> float:
        """That of the Dirichlet prior, plus log B(λ + N, η + n_V) / B(λ, η) less its value at λ = Λ_w."""
        found = super()._log_likelihood()
        if self.beta_rest is None:
            return found
        last = self.counts[-1] + self.prior[-1]
        inner = topic_totals(self.counts) + self.prior_mass - last
        more = betaln(np.maximum(inner + self.excess, self.beta_rest), last) - betaln(inner, last)
        more -= betaln(self.beta_rest, self.prior[-1]) - betaln(self.inner, self.prior[-1])
        return found + float(np.sum(more)) / self.engine.n_tokens
