"""From counts over collections, words and topics to common topics, collection topics and the switch between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import AnyArray, Float32Array, FloatArray
from discreet.kernels.sums.collections import add_totals, mix_words
from discreet.models.beta_liouville import word_divisors


class CrossPriors(NamedTuple):
    """Of words in common topics, of words in collection topics, and of the switch.

    A prior of words is Beta-Liouville: the numbers of all words but the last (α_1 … α_{V−1} of
    :class:`~discreet.models.beta_liouville.BetaLiouville`), that of the last (its β), and the weight of all words but
    the last together (its a). None: the sum of their numbers, which is the Dirichlet prior.
    """

    beta: float | FloatArray
    """For all words, or one number for each."""
    beta_collection: float | FloatArray
    gamma0: float
    gamma1: float
    beta_rest: float | None = None
    beta_collection_rest: float | None = None


class CrossTables(NamedTuple):
    """What all documents learn of each other: φ, σ and ψ."""

    common: FloatArray
    """φ[w, k]: word × topic."""
    own: FloatArray
    """σ[c, w, k]: collection × word × topic."""
    switch: FloatArray
    """ψ[c, k]: the chance that a token of topic k takes its word from the collection's own topic."""

    @classmethod
    def of(
        cls, counts: AnyArray, own_counts: FloatArray, priors: CrossPriors, *, balanced: bool = False
    ) -> CrossTables:
        """Posterior means, given the topics of all tokens (``counts``) and how many of each cell are the collection's
        own (``own_counts``), both collection × word × topic.

        ``balanced``: a topic's words count in φ as if the topic had as many tokens in each collection that has it.
        """
        last, own_last = counts[:, -1], own_counts[:, -1]
        scales = _Scales.of(
            counts.sum(axis=1), own_counts.sum(axis=1), last, own_last, counts.shape[1], priors, balanced=balanced
        )
        own = own_counts + np.reshape(priors.beta_collection, (-1, 1))
        own[:, :-1] *= scales.own[0][:, None]
        own[:, -1] *= scales.own[1]
        common = np.full(counts.shape[1:], np.reshape(priors.beta, (-1, 1)))
        for balance, every, mine in zip(scales.balance, counts, own_counts, strict=True):
            common += balance * (every - mine)
        common[:-1] *= scales.common[0]
        common[-1] *= scales.common[1]
        return cls(common, own, scales.switch)

    def mixed(self) -> tuple[FloatArray, FloatArray]:
        """A = (1 − ψ)·φ + ψ·σ, what a token's word is drawn from, and B = ψ·σ / A, the chance that it was drawn from
        σ; both collection × word × topic."""
        switch = self.switch[:, None, :]
        share = switch * self.own
        mixed = (1.0 - switch) * self.common
        mixed += share
        share /= mixed
        return mixed, share


class CrossWeights:
    """The tables of a run in the form that its sweeps need: A and B alone, in float32.

    It is ``CrossTables.of(counts, counts · B).mixed()``, again and again, without the tables in between. Between sweeps
    it keeps B, of which the last sweep's A was made; before the first, B is 0. A is written where the engine reads it
    (:class:`~discreet.engines.interface.WeightRows`); a group of rows is a word, in every collection.
    """

    def __init__(self, shape: tuple[int, int, int], priors: CrossPriors) -> None:
        self.priors, self.shape, self.n_groups = priors, shape, shape[1]
        self.own_share: Float32Array = np.zeros(shape, np.float32)
        """B, collection × word × topic."""
        self._prior, self._own_prior = (
            np.array(np.broadcast_to(prior, shape[1]), np.float32) for prior in (priors.beta, priors.beta_collection)
        )

    def count(self, counts: AnyArray) -> float:
        """Add up new ``counts``, and say how many tokens are expected to be a collection's own words."""
        self._totals = np.zeros((counts.shape[0], counts.shape[2]))
        self._own_totals = np.zeros_like(self._totals)
        add_totals(counts, self.own_share, self._totals, self._own_totals)
        return float(self._own_totals.sum())

    def of(self, counts: AnyArray, *, balanced: bool = False) -> CrossWeights:
        """This, ready to write A of the ``counts`` that were added up last."""
        self._counts, n_words = counts, self.shape[1]
        last = counts[:, -1].astype(np.float64)
        own_last = last * self.own_share[:, -1]
        scales = _Scales.of(self._totals, self._own_totals, last, own_last, n_words, self.priors, balanced=balanced)
        self._balance = scales.balance.astype(np.float32)
        self._scales = [
            (((1.0 - scales.switch) * common).astype(np.float32), (scales.switch * own).astype(np.float32))
            for common, own in zip(scales.common, scales.own, strict=True)
        ]
        return self

    def write(self, first: int, last: int, rows: Float32Array) -> None:
        """A of the words ``first`` to ``last - 1`` into ``rows``, and B in the place of the old one."""
        n_collections, n_words, n_topics = self.shape
        weights, common = rows.reshape(n_collections, n_words, -1), np.empty(n_topics, np.float32)
        most = min(last, n_words - 1)  # the last word has scales of its own
        for (start, stop), scales in zip(((first, most), (max(first, most), last)), self._scales, strict=True):
            tables = (self._prior, self._own_prior, self._balance, *scales, common, self.own_share, weights)
            mix_words(self._counts, start, stop, *tables)


class _Scales(NamedTuple):
    """What turns counts plus priors into posterior means, from sums of counts alone."""

    balance: FloatArray
    """Collection × topic: what a collection's counts are multiplied by before they are added up in φ."""
    common: tuple[FloatArray, FloatArray]
    """Of each topic: for all words but the last, and for the last."""
    own: tuple[FloatArray, FloatArray]
    """The same, collection × topic."""
    switch: FloatArray
    """ψ, collection × topic."""

    @classmethod
    def of(
        cls,
        totals: FloatArray,
        own_totals: FloatArray,
        last: FloatArray,
        own_last: FloatArray,
        n_words: int,
        priors: CrossPriors,
        *,
        balanced: bool,
    ) -> _Scales:
        """From counts and own counts, collection × topic: of all words, and of the last word."""
        balance = totals.mean(axis=0) / np.maximum(totals, 1) if balanced else np.ones(totals.shape)
        common, common_last = (
            (balance * (every - own)).sum(axis=0) for every, own in ((totals, own_totals), (last, own_last))
        )
        return cls(
            balance,
            _word_scales(common, common_last, priors.beta, priors.beta_rest, n_words),
            _word_scales(own_totals, own_last, priors.beta_collection, priors.beta_collection_rest, n_words),
            (own_totals + priors.gamma1) / (totals + (priors.gamma0 + priors.gamma1)),
        )


def word_means(counts: FloatArray, prior: float | FloatArray, rest: float | None) -> FloatArray:
    """The mean of a topic's words given their counts, … × word × topic."""
    means: FloatArray = counts + np.reshape(prior, (-1, 1))
    most, last = _word_scales(counts.sum(axis=-2), counts[..., -1, :], prior, rest, counts.shape[-2])
    means[..., :-1, :] *= most[..., None, :]
    means[..., -1, :] *= last
    return means


def _word_scales(
    totals: FloatArray, last: FloatArray, prior: float | FloatArray, rest: float | None, n_words: int
) -> tuple[FloatArray, FloatArray]:
    """What (count + prior) of a word is multiplied by: for all words but the last, and for the last."""
    each = np.broadcast_to(prior, n_words)
    if rest is None:
        scale = 1.0 / (totals + each.sum())
        return scale, scale
    divisor, ratio = word_divisors(totals + each.sum(), last + each[-1], each[:-1].sum(), rest, totals - last)
    return 1.0 / divisor, ratio / divisor
