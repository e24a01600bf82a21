"""From counts over collections, words and topics to common topics, collection topics and the switch between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet._types import AnyArray, FloatArray


class CrossPriors(NamedTuple):
    """Of words in common topics, of words in collection topics, and of the switch."""

    beta: float
    beta_collection: float
    gamma0: float
    gamma1: float


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
        common, own = counts - own_counts, own_counts + priors.beta_collection
        totals, own_totals = counts.sum(axis=1), own_counts.sum(axis=1)
        if balanced:
            common *= (totals.mean(axis=0) / np.maximum(totals, 1))[:, None, :]
        common = common.sum(axis=0)
        common += priors.beta
        common /= common.sum(axis=0)
        own /= own.sum(axis=1, keepdims=True)
        return cls(common, own, (own_totals + priors.gamma1) / (totals + (priors.gamma0 + priors.gamma1)))

    def mixed(self) -> tuple[FloatArray, FloatArray]:
        """A = (1 − ψ)·φ + ψ·σ, what a token's word is drawn from, and B = ψ·σ / A, the chance that it was drawn from
        σ; both collection × word × topic."""
        switch = self.switch[:, None, :]
        share = switch * self.own
        mixed = (1.0 - switch) * self.common
        mixed += share
        share /= mixed
        return mixed, share
