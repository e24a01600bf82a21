"""Moments against a count of every pair and triple of tokens, and against their expectation under LDA."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.engines.threads.moments import ThreadMoments
from discreet.kernels.sums import moments, triples
from discreet.kernels.sums.moments import LARGEST_CLIP, n_triples
from discreet.kernels.sums.triples import padded_table, triple_mask
from discreet.models.spectral.tensor import unique_places

N_WORDS = 9


def by_hand(words):
    """M₁, M₂ and M₃ of one document, from the definition: every ordered pair and triple of different tokens."""
    one, two, three = np.zeros(N_WORDS), np.zeros((N_WORDS,) * 2), np.zeros((N_WORDS,) * 3)
    n = len(words)
    if n >= 3:
        for i in range(n):
            one[words[i]] += 1 / n
            for j in set(range(n)) - {i}:
                two[words[i], words[j]] += 1 / (n * (n - 1))
                for h in set(range(n)) - {i, j}:
                    three[words[i], words[j], words[h]] += 1 / (n * (n - 1) * (n - 2))
    return one, two, three


def documents(seed=1, n=14):
    """Short documents with repeated words; some have fewer than three tokens, and one has one word only."""
    rng = np.random.default_rng(seed)
    texts = [rng.choice(N_WORDS, rng.integers(0, 8), p=rng.dirichlet(np.full(N_WORDS, 0.4))) for _ in range(n)]
    return [*texts, np.full(5, 3), np.array([1, 2]), np.arange(N_WORDS)]


def corpus_of(texts, groups=None):
    offsets = np.cumsum([0, *map(len, texts)])
    words = np.concatenate(texts).astype(np.int32)
    vocabulary = tuple(f"w{i}" for i in range(N_WORDS))
    return Corpus(words, offsets, Vocabulary(vocabulary, "public"), groups)


def table(k, seed=2):
    return np.random.default_rng(seed).standard_normal((N_WORDS, k))


def seen_through(three, y):
    return np.einsum("abc,ai,bj,ch->ijh", three, y, y, y)[unique_places(y.shape[1])]


@pytest.mark.parametrize("k", [1, 4, 17])
def test_exact_sums_are_those_of_the_definition(k):
    texts = documents()
    y = table(k)
    wanted = seen_through(sum(by_hand(t)[2] for t in texts), y)
    one, two, three = (ThreadMoments(corpus_of(texts), n_threads=n).cubes(y) for n in (1, 2, 3))
    assert_allclose(one, wanted, rtol=1e-10, atol=1e-12)
    assert_array_equal(one, two)  # threads change nothing, to the bit
    assert_array_equal(one, three)


@pytest.mark.parametrize("users", [None, 5])
def test_clipped_sums_without_a_clip_are_those_of_the_definition(users):
    """In steps so fine that truncation shows only in the last digits."""
    texts = documents()
    groups = None if users is None else np.arange(len(texts)) % users
    engine = ThreadMoments(corpus_of(texts), groups, n_threads=2)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, N_WORDS)
    fine = 2.0**24
    one, two, kept = engine.moments(weights, (fine, fine), (LARGEST_CLIP, LARGEST_CLIP))
    assert_array_equal(kept, 1.0)
    first, second, third = (sum(part) for part in zip(*map(by_hand, texts), strict=True))
    bound = len(texts) / fine
    assert_allclose(one / fine, weights * first, atol=bound)
    scaled = weights[:, None] * second * weights
    assert_allclose(two / fine, [scaled[u, v] for v in range(N_WORDS) for u in range(v + 1)], atol=bound)
    y = table(5)
    steps = 2.0**16
    found = engine.triples(y, kept, steps, LARGEST_CLIP) / steps
    assert_allclose(found, seen_through(third, y), atol=len(texts) / steps + 1e-4, rtol=1e-5)


def unit_sums(texts, groups):
    """Per unit: first, upper part of second."""
    parts = [by_hand(t) for t in texts]
    units = range(len(texts)) if groups is None else np.unique(groups)
    mine = [[u] if groups is None else np.flatnonzero(groups == u) for u in units]
    return [(sum(parts[i][0] for i in m), sum(parts[i][1] for i in m)) for m in mine]


@pytest.mark.parametrize("users", [None, 5])
def test_one_weight_brings_both_moments_of_a_unit_within_their_clips(users):
    texts = documents()
    groups = None if users is None else np.arange(len(texts)) % users
    engine = ThreadMoments(corpus_of(texts), groups)
    clips = 0.4, 0.2
    steps = 2.0**20
    _, _, kept = engine.moments(np.ones(N_WORDS), (steps, steps), (steps * clips[0], steps * clips[1]))
    upper = np.triu_indices(N_WORDS)
    for weight, (one, two) in zip(kept, unit_sums(texts, groups), strict=True):
        norms = np.linalg.norm(one), np.linalg.norm(two[upper])
        wanted = min([1.0, *(c / n for c, n in zip(clips, norms, strict=True) if n > 0)])
        assert wanted * (1 - 1e-5) <= weight <= wanted * (1 + 1e-12)
    norms = engine.norms(np.ones(N_WORDS))
    assert_allclose(norms[:, 0], [np.linalg.norm(one) for one, _ in unit_sums(texts, groups)])
    assert_allclose(norms[:, 1], [np.linalg.norm(two[upper]) for _, two in unit_sums(texts, groups)])


def as_python(monkeypatch, *modules):
    """Every kernel of these modules by its Python body."""
    for module in modules:
        for name, value in inspect.getmembers(module):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


def test_compiled_kernels_are_their_python_bodies(monkeypatch):
    engine = ThreadMoments(corpus_of(documents()), np.arange(17) % 6, n_threads=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, N_WORDS)
    k, y = 3, table(3)

    def all_of_them():
        one, two, kept = engine.moments(weights, (3e4, 5e4), (2e4, 1e4))
        return (
            engine.directions(5e3),
            engine.norms(weights),
            one,
            two,
            kept,
            engine.triple_sizes(y, kept),
            engine.triples(y, kept, 1e4, 3e4),
            engine.cubes(y),
        )

    compiled = all_of_them()
    from discreet.engines.threads import moments as engine_module

    as_python(monkeypatch, engine_module)
    for a, b in zip(compiled, all_of_them(), strict=True):
        assert_array_equal(a, b)
    assert len(compiled[6]) == n_triples(k)


@pytest.mark.parametrize("clip", [0.0, 1.0, 700.3, 2.0**30, 2.0**31, math.nan, math.inf])
def test_no_unit_exceeds_its_clip_in_whole_numbers(clip):
    """Also for clips, weights and tables that are no sensible numbers."""
    for seed, scale in [(0, 1.0), (1, 1e-9), (2, 1e30), (3, math.inf), (4, math.nan)]:
        y = table(4, seed) * scale
        weights = np.full(N_WORDS, abs(scale))
        for text in documents(seed):
            engine = ThreadMoments(corpus_of([text]), n_threads=1)
            one, two, kept = engine.moments(weights, (clip, clip * 3), (clip, clip))
            third = engine.triples(y, np.ones(1), 0.7 * clip, clip)
            limit = math.floor(clip**2) if clip <= LARGEST_CLIP else 0
            for cells in (one, two, third, engine.directions(clip)):
                assert sum(int(c) ** 2 for c in cells) <= limit
            if not kept[0]:
                assert not one.any()
                assert not two.any()


def test_rounding_down_is_caught():
    """Entries of the third moment are signed: rounding down lengthens negative ones beyond the clip."""
    y = -np.abs(table(4))
    engine = ThreadMoments(corpus_of([np.arange(N_WORDS)]), n_threads=1)
    clip = 40.0
    good = engine.triples(y, np.ones(1), 1e6, clip)
    assert sum(int(c) ** 2 for c in good) <= clip**2
    exact = engine.triples(y, np.ones(1), 1e6, 1e8).astype(float)
    down = np.floor(exact * clip / np.linalg.norm(exact))
    assert sum(int(c) ** 2 for c in down) > clip**2


def test_masks_and_tables_are_laid_out_in_whole_lanes():
    for k in (1, 15, 16, 17, 33):
        assert int(triple_mask(k).sum()) == n_triples(k)
        assert len(triple_mask(k)) % 16 == 0
        assert len(padded_table(table(k))) % (16 * N_WORDS) == 0
    assert moments.TRIES >= 1
    assert triples.TRIES == moments.TRIES


def test_a_cap_keeps_so_many_tokens_of_a_unit():
    from discreet._random import Key

    corpus = lda_corpus(12, N_WORDS, 2, mean_length=20, seed=0).corpus
    groups = np.arange(12) // 4
    engine = ThreadMoments(corpus, groups, max_tokens=25, key=Key.from_seed(1))
    for a, b in ((0, 4), (4, 8), (8, 12)):
        assert (
            25 - 2 * 2 <= engine.counts[engine.offsets[a] : engine.offsets[b]].sum() <= 25
        )  # a rest of 2 is too short
    assert ThreadMoments(corpus, groups, max_tokens=10**6, key=Key.from_seed(1)).counts.sum() == corpus.n_tokens


@pytest.mark.parametrize("alpha0", [0.3, 2.0])
def test_moments_of_documents_have_the_expectation_of_lda(alpha0):
    """E over *all* documents of three tokens, enumerated with their probabilities, for two topics over three words."""
    from itertools import product

    topics = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    alpha = alpha0 * np.array([0.3, 0.7])
    theta2 = (np.outer(alpha, alpha) + np.diag(alpha)) / (alpha0 * (alpha0 + 1))
    theta3 = dirichlet_third(alpha)
    chance = np.einsum("ijh,ia,jb,hc->abc", theta3, topics, topics, topics)
    second, third = np.zeros((3, 3)), np.zeros((3, 3, 3))
    for words in product(range(3), repeat=3):
        _, two, three = by_hand(np.array(words))
        second += chance[words] * two[:3, :3]
        third += chance[words] * three[:3, :3, :3]
    assert_allclose(second, topics.T @ theta2 @ topics, atol=1e-14)
    assert_allclose(third, chance, atol=1e-14)


def dirichlet_third(alpha):
    """E[θᵢθⱼθₕ], from the rising factorials of the Dirichlet distribution."""
    k, total = len(alpha), alpha.sum()
    out = np.zeros((k, k, k))
    for i in range(k):
        for j in range(k):
            for h in range(k):
                value, seen = 1.0, np.zeros(k)
                for topic in (i, j, h):
                    value *= alpha[topic] + seen[topic]
                    seen[topic] += 1
                out[i, j, h] = value / (total * (total + 1) * (total + 2))
    return out
