"""HybridCrossLBLA: compares collections and protects single words, even if every topic of every sweep is seen.

HPP-ccLBLA, made sound: Theorem B over the words of collections (``models/cross/hybrid.proof.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from discreet._random import Key
from discreet._types import AnyArray, FloatArray, IntArray
from discreet.corpus.collections import collection_labels, product_corpus
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import SweepEngine
from discreet.models.base import check_sizes
from discreet.models.bounds import Alpha
from discreet.models.cross.comparing import ComparesCollections
from discreet.models.cross.priors import LiouvillePriors, public_code_priors
from discreet.models.cross.published import CrossSampler
from discreet.models.cross.tables import CrossPriors, CrossTables
from discreet.models.estimator import estimator
from discreet.models.hybrid.model import HybridLDA, Training, Weights
from discreet.models.hybrid.plan import HybridPlan
from discreet.training.loop import Measures
from discreet.training.payment import Payment

EM_STEPS = 5
"""How often words are divided anew between common and collection topics, after each release. They cost nothing, and
there are few sweeps: with one step, the switch had not settled when the sweeps ended."""

TINY = 1e-200
"""Finished weights below this are as good as zero."""

PUBLIC_CODE_CLIP = 40.0

MISSING = (
    "each token draws a topic and a switch, and only the topic's draw is charged",
    "noise is added inside the token loop to the sampler's own counts, which later draws move without noise",
    "counts may fall below zero, where the bound on a draw does not hold",
    "words equal to the replaced one are drawn from counts that it has moved within the sweep",
    "the model is computed from counts that moved after the last noise",
    "draws have the precision of float64 and nothing is charged for what it loses",
)


@estimator
class HybridCrossLBLA(LiouvillePriors, HybridLDA, ComparesCollections):
    """HPP-ccLBLA (Luo et al. 2023, Algorithm 2) in a form that can be proved: Theorem B of ``docs/guarantees.md``.

    The model is :class:`~discreet.CrossLBLA`: common topics φ, topics of each collection σ, and a switch ψ between
    them. The promise is that of :class:`~discreet.HybridLDA`: **one word** is protected, against an observer who sees
    each noisy table and the topic of each token after each sweep. Neighbours differ by one token, replaced by another
    word of the vocabulary. **Document lengths and the collection of each document are public.** In each of T =
    ``n_sweeps`` sweeps

    1. the exact counts n[c, w, k] of tokens of collection c, word w and topic k get fresh discrete Laplace noise of
       scale 2/ε_L and are released (ε_L); a replaced word moves two cells of them;
    2. from the released counts, negative ones read as zero, come φ, σ and ψ as in ``CrossLBLA``, and the weights
       A[c, w, k] = (1 − ψ)·φ + ψ·σ;
    3. the *finished* weight is clamped: A[c, w, k] / s[c, k] to [b, b + C], where s is a function of what was released;
       and every token draws its topic from p(k) ∝ clamp(A / s)[c, w, k] / Σ_v clamp(A / s)[c, v, k] · Θ[d, k], Θ the
       document's Beta-Liouville factor (ε_I). x is never drawn: no other draw would read it.

    One more release follows the last sweep; φ, σ and ψ come from the mean of the last ``n_average``. A draw of the
    replaced token has log-probability ratios in an interval of length ε_I = 2·log(1 + C/b), whatever the priors are,
    because they act before the clamp. T + 1 releases and T draws compose to the total that is printed, **which is
    large**: see ``HybridLDA``. To protect documents or users, use a model whose unit they are.

    b is 1 and C = e^{ε_I/2} − 1: only their ratio matters. s[c, k] places the interval: b + C is the r-th largest
    weight of the topic in the collection, with that r for which the clamped weights are nearest to A (Kullback–Leibler
    divergence). On abstracts of two conferences that was far better than an interval that starts at the prior, as
    ``HybridLDA`` has it.

    **Limited inherent privacy** (the paper's Figure 10: the same clamp, and no noise) is ``as_published=True`` without
    ``epsilon_laplace``, as in ``HybridLDA``. Its guarantee is *none*.

    **As published** (``as_published=True``) it is Algorithm 2 on the paper's sequential sampler: topic and x are drawn
    in turn; before a token is drawn, Lap(2/ε_L) is added to the counts of its word, common or of its collection by its
    x, for every topic, and stays; draws read these counts cut at C. ``epsilon_inherent`` gives C by eq. (20), with the
    smallest of all λ. The printed ε = ε_L + ε_I is *claimed*; the guarantee says what is missing.

    ==================================  ================================================================================
    in Luo et al. 2023                  here
    ==================================  ================================================================================
    ε_L, ε_I, C, T                      ``epsilon_laplace``, ``epsilon_inherent``, ``largest_count_``, ``n_sweeps``
    "N_dk or N_cdk" (section 3.3.5)     N_kw and N_ckw, the counts of words: a misprint
    λ_v, λ_cv and other priors          as in ``CrossLBLA``
    ==================================  ================================================================================

    Differences of the sound form from Algorithm 2: frozen sweeps over exact counts with fresh noise; one table with
    noise, n[c, w, k], where the paper has two; the clamp on finished weights, not on counts, which bounds a draw
    whatever the priors (counts that are clamped in each table by itself do not: see the proof); x is not drawn; T + 1
    releases, and the model from releases only; the arithmetic of ``HybridLDA``. In both forms the last entry of a
    Beta-Liouville prior has its own formula. As published: "Add noise to each N_kw" is read as independent noise for
    each topic of the token's word, the counts of x get none, a count below zero is read as zero.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon, delta, epsilon_laplace, epsilon_inherent :
        As in ``HybridLDA``.
    alpha, alpha_rest, beta, beta_rest, beta_collection, beta_collection_rest, gamma0, gamma1 :
        As in ``CrossLBLA``. With each ``…_rest`` None this is a hybrid CrossLDA. As published, a larger λ (``beta``,
        ``beta_collection``) makes the same ε_I a larger C.
    n_sweeps, n_average, as_published, ledger, checkpoint, checkpoint_every :
        As in ``HybridLDA``.
    n_threads, random_state, progress, callbacks :
        As in :class:`~discreet.LDA`. A seeded run promises nothing. Algorithm 2 is sequential and uses one thread.

    Attributes
    ----------
    components_, collection_components_, switch_, collections_, collection_shares_ :
        As in ``CrossLDA``.
    alpha_, alpha_rest_, beta_, guarantee_, ledger_, history_ :
        As in ``HybridLDA``.
    largest_count_ : float
        C: in units of b, or, as published, in tokens.
    """

    method = "hybrid-cross"
    _published_name = "HPP-ccLBLA"

    beta: Alpha = 0.1
    beta_collection: Alpha = 0.1

    @classmethod
    def public_code_settings(cls, n_topics: int, n_words: int, **changes: Any) -> Self:
        """Algorithm 2 with the priors of the public code (:meth:`CrossLBLA.public_code_settings
        <discreet.CrossLBLA.public_code_settings>`) and its C = 40, which is ε_I = 2·log(1 + 40/λ) for the smallest λ.
        The code adds Lap(1/ε) where the paper has Lap(2/ε); here it is the paper's. ``epsilon_laplace`` is yours to
        give, and ``changes`` are parameters like any other."""
        priors = public_code_priors(n_topics, n_words)
        inherent = 2 * math.log1p(PUBLIC_CODE_CLIP / float(np.min(priors["beta"])))
        given = {"n_topics": n_topics, **priors, "epsilon_inherent": inherent, "as_published": True, "n_sweeps": 600}
        return cls(**{**given, **changes})

    def fit(self, X: Any, y: Any = None, *, collections: Any = None) -> Self:
        """Train on documents. ``collections`` holds the label of each, where ``X`` is no Corpus that has them; ``y`` is
        ignored."""
        self._check_parameters()
        alpha, alpha_rest = self._document_prior()
        plan = None if self.as_published else self._sweep_plan()
        parts = self._check_published() if self.as_published else None
        corpus = self._read(X, reset=True)
        check_sizes(corpus, self.n_topics)
        priors = self._word_priors(corpus.n_words)
        labels, of_document = np.unique(collection_labels(corpus, collections), return_inverse=True)
        self._keep_collections(labels, of_document)
        self.alpha_rest_ = alpha_rest
        if plan is not None:
            swept = product_corpus(corpus, of_document, len(labels))  # [product]
            self._train(plan, corpus, swept, alpha, CrossTraining, collections=labels[of_document].tolist())
        elif parts is not None:
            key = Key.open(self.random_state)
            sampler = CrossSampler.start(corpus, of_document, alpha, alpha_rest, priors, key)
            self._sample_as_published(sampler, *parts, corpus)
        return self

    def _public(self) -> tuple[str, ...]:
        return ("the collection of each document is public",)

    def _sample_as_published(
        self, sampler: CrossSampler, inherent: float, laplace: float | None, corpus: Corpus
    ) -> None:
        """Algorithm 2."""
        priors = sampler.priors
        least = min(float(np.min(priors.beta)), float(np.min(priors.beta_collection)))
        clip, scale = least * math.expm1(inherent / 2), None if laplace is None else 2 / laplace

        def sweep(number: int) -> Measures:
            sampler.sweep_noisily(number, scale, clip)
            return {}

        self.history_, conditions = self._run_sweeps(self.n_sweeps, sweep)
        self._keep_tables(sampler.tables())
        self.alpha_, self.beta_, self.largest_count_ = sampler.alpha, float(np.mean(priors.beta)), clip
        one = inherent + float(laplace or 0.0)
        reasons = (*_about(self.n_sweeps, one, inherent, range_of_clamped_counts(priors, clip)), *MISSING, *conditions)
        self._claim(one, sampler.key, corpus, *reasons)


def _about(n_sweeps: int, one: float, inherent: float, real: float) -> Iterator[str]:
    """What the printed number leaves out in this run."""
    yield f"it is that of one sweep, as printed; {n_sweeps} sweeps add up to {n_sweeps * one:.4g}"
    if real > inherent * (1 + 1e-9):
        yield (
            f"counts are clamped in each table by itself, so that log-probability ratios of one draw range over up to "
            f"{real:.4g}, not {inherent:.4g}"
        )


def range_of_clamped_counts(priors: CrossPriors, clip: float) -> float:
    """The length of an interval that holds log A[t, k]/A[t′, k] for all k and any two words, where A mixes two tables
    of word means whose *counts* were clamped to [0, ``clip``].

    For one table the ends are log (λ_t / (λ_t′ + C)) and log ((λ_t + C) / λ_t′). Shares of the mixture depend on the
    topic, so the ratio of a mixture lies between the smallest of the lower ends and the largest of the upper ends.
    Between the last word and another, a Beta-Liouville prior adds a factor from 1 to a/Λ.
    """
    ends: list[tuple[FloatArray, FloatArray, float, float]] = []
    for beta, rest in ((priors.beta, priors.beta_rest), (priors.beta_collection, priors.beta_collection_rest)):
        each = np.asarray(beta, float)
        if len(each) == 1:
            return 0.0  # there is no other word
        least, most = np.log(each), np.log(each + clip)
        factor = 0.0 if rest is None else math.log(rest / each[:-1].sum())
        ends.append((least, most, min(factor, 0.0), max(factor, 0.0)))
    found = 0.0
    for x_least, x_most, _, x_high in ends:
        for y_least, y_most, y_low, _ in ends:  # the largest upper end is of table x, the smallest lower end of y
            up, down = x_most - y_least, y_most - x_least
            found = max(found, float(up[:-1].max() + x_high - y_low + down[-1]), _largest_pair(up[:-1], down[:-1]))
    return found


def _largest_pair(a: FloatArray, b: FloatArray) -> float:
    """The largest a[i] + b[j] with i ≠ j; 0 where there is no such pair."""
    if len(a) < 2:
        return 0.0
    i, j = a.argmax(), b.argmax()
    return float(max(a[i] + np.delete(b, i).max(), np.delete(a, j).max() + b[j]))


class CrossTraining(Training):
    """One run over the words of collections. The engine is private; all else is a function of what was released."""

    model: HybridCrossLBLA

    def __init__(
        self,
        model: HybridCrossLBLA,
        plan: HybridPlan,
        engine: SweepEngine,
        payment: Payment,
        alpha: FloatArray,
        saved: Mapping[str, AnyArray],
    ) -> None:
        super().__init__(model, plan, engine, payment, alpha, saved)
        n_collections = len(model.collections_)
        self.shape = (n_collections, engine.n_words // n_collections, engine.n_topics)
        self.alpha_rest, self.priors = model.alpha_rest_, model._word_priors(self.shape[1])
        self.clip = plan.clip(1.0)  # [unit-clip] b = 1
        self.own_share = saved["own_share"] if saved else np.zeros(self.shape)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "own_share": self.own_share}

    def _weights(self, noisy: IntArray, number: int) -> Weights:
        mixed = self._divide(noisy, balanced=number <= self.plan.n_sweeps // 2).mixed()[0]
        mixed = np.clip(np.nan_to_num(mixed), TINY, 1.0)  # [any-table] whatever rounding has done to extreme priors
        units = _tops(mixed, 1.0 + self.clip) / (1.0 + self.clip)  # [units] s, of what was released
        weights = np.clip(mixed / units[:, None], 1.0, 1.0 + self.clip)  # [finished] the last step that reads the word
        totals = weights.sum(axis=1)
        weights *= (totals.min() / totals)[:, None]  # [collection-divisor] of what was released, one for every word
        return Weights(weights.reshape(-1, self.shape[2]), 0.0, np.ones(self.shape[2]))

    def _divide(self, noisy: AnyArray, *, balanced: bool = False) -> CrossTables:
        """φ, σ and ψ of a table with noise, from the division into common and own words that was found last."""
        counts = np.maximum(noisy, 0.0).reshape(self.shape)  # [tables]
        for _ in range(EM_STEPS):
            tables = CrossTables.of(counts, counts * self.own_share, self.priors, balanced=balanced)
            self.own_share = tables.mixed()[1]
        return tables

    def finish(self) -> None:
        self.model._keep_tables(self._divide(self._mean()))  # [cross-model]


def _tops(weights: FloatArray, ratio: float) -> FloatArray:
    """Which weight each topic of each collection is cut at, if the smallest is to be 1/ratio of it.

    Candidates are the r-th largest weights, r growing by a half each time up to half the words. The best is the one
    under which the clamped weights q, normalised, are nearest to the weights p in Kullback–Leibler divergence, that is,
    with the smallest log Σ q − Σ p·log q. ``weights`` is collection × word × topic and sums to 1 over words.
    """
    ordered = -np.sort(-weights, axis=1)
    best, rank = ordered[:, 0], 1
    nearest = np.full(best.shape, np.inf)
    while rank <= max(weights.shape[1] // 2, 1):
        top = ordered[:, rank - 1]
        clamped = np.clip(weights, (top / ratio)[:, None], top[:, None])
        distance = np.log(clamped.sum(axis=1)) - (weights * np.log(clamped)).sum(axis=1)
        best = np.where(distance < nearest, top, best)
        nearest = np.minimum(nearest, distance)
        rank += max(rank // 2, 1)
    return best
