"""From topic counts of several collections to the weights of a sweep: two passes over collection × word × topic."""

from __future__ import annotations

import numpy as np

from discreet._types import AnyArray, Float32Array, FloatArray, Int
from discreet.kernels.compile import at, kernel

_TINY = np.float32(1e-37)
"""Weights below this are as good as zero: dividing by it is safe, and gives zero."""


@kernel
def add_totals(counts: AnyArray, own_share: Float32Array, totals: FloatArray, own_totals: FloatArray) -> None:
    """Add Σ_w n[c, w, k] to ``totals`` and Σ_w n[c, w, k] · B[c, w, k] to ``own_totals``, both collection × topic.

    ``counts`` is n and ``own_share`` is B, collection × word × topic. Sums are float64, in rising order of words.
    """
    n_collections, n_words, n_topics = counts.shape
    for c in range(n_collections):
        for w in range(n_words):
            for topic in range(n_topics):
                k = at(topic)
                n = np.float64(counts[at(c), at(w), k])
                totals[at(c), k] += n
                own_totals[at(c), k] += n * own_share[at(c), at(w), k]


@kernel
def add_sample(counts: AnyArray, own_share: Float32Array, sums: FloatArray, own_sums: FloatArray) -> None:
    """Add n to ``sums`` and n · B to ``own_sums``. ``counts`` is n and ``own_share`` is B; all collection × word ×
    topic."""
    n_collections, n_words, n_topics = counts.shape
    for c in range(n_collections):
        for w in range(n_words):
            for topic in range(n_topics):
                k = at(topic)
                n = np.float64(counts[at(c), at(w), k])
                sums[at(c), at(w), k] += n
                own_sums[at(c), at(w), k] += n * np.float64(own_share[at(c), at(w), k])


@kernel
def mix_words(
    counts: AnyArray,
    first_word: Int,
    last_word: Int,
    prior: Float32Array,
    own_prior: Float32Array,
    balance: Float32Array,
    common_scale: Float32Array,
    own_scale: Float32Array,
    common: Float32Array,
    own_share: Float32Array,
    weights: Float32Array,
) -> None:
    """A into ``weights`` and the new B in the place of the old one, ``own_share``, for a range of words.

        N1 = n · B,  N0 = n − N1
        own = (N1[c, w, k] + own_prior[w]) · own_scale[c, k]
        A = (Σ_c balance[c, k] · N0[c, w, k] + prior[w]) · common_scale[c, k] + own,  B = own / A

    ``counts`` is n. ``prior`` and ``own_prior`` hold a number per word; ``balance`` and the scales are collection ×
    topic. ``common`` is room for a number per topic. All in float32: A is rounded to it anyway before a draw, and an
    error of 2^-22 in B moves expected counts by less than one in a million.
    """
    n_collections, _, n_topics = counts.shape
    for word in range(first_word, last_word):
        w = at(word)
        common[:] = prior[w]
        for collection in range(n_collections):
            c = at(collection)
            for topic in range(n_topics):
                k = at(topic)
                n = np.float32(counts[c, w, k])
                common[k] += balance[c, k] * (n - n * own_share[c, w, k])
        for collection in range(n_collections):
            c = at(collection)
            for topic in range(n_topics):
                k = at(topic)
                own = (np.float32(counts[c, w, k]) * own_share[c, w, k] + own_prior[w]) * own_scale[c, k]
                mixed = common[k] * common_scale[c, k] + own
                weights[c, w, k] = mixed
                own_share[c, w, k] = own / max(mixed, _TINY)
