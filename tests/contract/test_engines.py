"""The contract of engines (``engines/interface.py``), for every backend that is there.

A backend joins with one line in ``BACKENDS``: something with the ``open_...`` functions of ``discreet.engines``. These
checks see an engine from outside; the draws themselves are held against exact laws in ``tests/exact``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

import discreet
from discreet import engines
from discreet._random import Key
from discreet.corpus import Corpus, lda_corpus
from discreet.engines import interface
from discreet.engines.threads.documents import mixtures
from discreet.engines.threads.sweeps import ThreadSweeps
from discreet.engines.threads.units import ThreadUnits

BACKENDS: dict[str, Any] = {"threads": engines}
"""All of them promise the same bits for a seed, whatever the number of threads."""

PROTOCOLS = {
    "open_sweeps": interface.SweepEngine,
    "open_collapsed": interface.CollapsedEngine,
    "open_units": interface.UnitEngine,
    "open_proportions": interface.ProportionEngine,
    "open_slices": interface.SliceEngine,
    "open_variational_units": interface.VariationalUnitEngine,
    "open_kept_units": interface.KeptUnitEngine,
    "open_moments": interface.MomentEngine,
}
K, N_WORDS = 5, 20
ALPHA = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
ALWAYS = 2**32

every_backend = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
every_engine = pytest.mark.parametrize("opening", PROTOCOLS)
by_user = pytest.mark.parametrize("users", [None, np.arange(60) // 4], ids=["documents", "users"])
stateless = pytest.mark.parametrize("opening", ["open_units", "open_variational_units"])


def documents() -> Corpus:
    return lda_corpus(60, N_WORDS, K, mean_length=12, seed=4).corpus


def opened(backend: Any, opening: str, *, users: Any = None, n_threads: int = 1, seed: int = 1, **options: Any) -> Any:
    corpus, key = options.pop("corpus", documents()), Key.from_seed(seed)
    if opening in ("open_sweeps", "open_collapsed"):
        engine = getattr(backend, opening)(corpus, K, key, n_threads=n_threads)
        engine.draw_first_topics()
        return engine
    if opening == "open_moments":
        return backend.open_moments(corpus, users, max_tokens=20, key=key, n_threads=n_threads)
    if opening == "open_slices":
        return backend.open_slices(corpus, users, np.arange(corpus.n_documents) % 3 - 1, 2, n_threads=n_threads)
    return getattr(backend, opening)(corpus, users, K, key, max_tokens=30, n_threads=n_threads)


def table(seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).gamma(0.5, 1.0, (N_WORDS, K)) + 0.01


def only(units: Any) -> np.ndarray:
    """Thresholds at which those marked take part, and no others."""
    return np.where(units, ALWAYS, 0)


def one_round(engine: Any, threshold: Any = ALWAYS, number: int = 1, clip: float = 300.0) -> np.ndarray:
    tables: dict[str, Any] = {"cell_weights": 100 * table(3), "background": np.full((N_WORDS, K), 0.1)}
    if hasattr(engine, "contributions"):
        engine_round, tables = engine.contributions, {"word_weights": np.linspace(50.0, 150.0, N_WORDS)}
    else:
        engine_round = engine.residuals
    given = interface.Round(number, threshold, table(), ALPHA, local_sweeps=2)
    return np.asarray(engine_round(given, clip=clip, **tables))


def answers(engine: Any) -> list[np.ndarray]:
    """Everything that an engine returns, in one run."""
    if hasattr(engine, "sweep"):
        scale = np.linspace(1.0, 2.0, K)
        engine.sweep(table(), ALPHA, 1, prior=0.1, scale=scale)
        first = engine.count().copy()
        if not hasattr(engine, "sweep_exact"):
            engine.sweep(first, ALPHA, 2, prior=table(3), scale=scale, alpha_rest=2.0)
            return [first, engine.count(), *map(np.asarray, engine.alpha_statistics(ALPHA))]
        engine.sweep_exact(table(), ALPHA, 2, prior=table(3), scale=scale)
        return [first, engine.count().copy(), *engine.tokens(), *map(np.asarray, engine.alpha_statistics(ALPHA))]
    if hasattr(engine, "cubes"):
        y = table()[:, :3]
        singles, pairs, weights = engine.moments(table()[:, 0], (1000.0, 900.0), (800.0, 90.0))
        triples = engine.triples(y, weights, 500.0, 60.0)
        sizes = engine.triple_sizes(y, weights), engine.norms(table()[:, 0])
        return [singles, pairs, weights, triples, *sizes, engine.directions(70.0), engine.cubes(y), engine.lengths]
    if hasattr(engine, "proportions"):
        topics, weights = table().T / table().sum(axis=0)[:, None], np.linspace(1.0, 90.0, N_WORDS)
        mixed = engine.proportions(topics, ALPHA, scale=400.0, clip=150.0)
        if hasattr(engine, "n_slices"):
            return [mixed, engine.proportions(topics, ALPHA, alpha_rest=0.7, scale=100.0, clip=150.0)]
        return [engine.size_histogram(20), engine.root_counts(weights, 70.0), mixed]
    found = [engine.coins(1, ALWAYS // 2), one_round(engine, ALWAYS // 2), one_round(engine, ALWAYS // 3, 2)]
    if hasattr(engine, "shares"):
        return [*found, engine.shares(table() > 0.3)]
    found += [engine.size_histogram(20), engine.word_counts(np.linspace(1.0, 90.0, N_WORDS), 70.0)]
    if hasattr(engine, "expected"):
        found += map(np.asarray, engine.expected(interface.Round(3, ALWAYS // 2, table(), ALPHA, local_sweeps=3)))
    return found


# --- all engines -----------------------------------------------------------------------------------------------------


def members(protocol: type) -> Iterator[tuple[str, Any]]:
    """The methods of a protocol, and its attributes, which have no value."""
    for kind in protocol.__mro__:
        if kind not in (Protocol, object) and getattr(kind, "_is_protocol", False):
            yield from ((name, None) for name in kind.__annotations__)
            yield from ((name, value) for name, value in vars(kind).items() if inspect.isfunction(value))


@every_backend
@every_engine
def test_an_engine_has_the_members_of_its_protocol(backend, opening):
    engine, seen = opened(backend, opening), 0
    for name, method in members(PROTOCOLS[opening]):
        if name.startswith("_"):
            continue
        seen += 1
        if method is None:
            assert hasattr(engine, name), name
        else:
            assert inspect.signature(getattr(type(engine), name)) == inspect.signature(method), name
    assert seen >= (5 if opening == "open_slices" else 9)


@every_backend
@every_engine
@by_user
def test_threads_do_not_change_a_bit(backend, opening, users):
    one, two, three = (answers(opened(backend, opening, users=users, n_threads=n)) for n in (1, 2, 3))
    for a, b, c in zip(one, two, three, strict=True):
        assert_array_equal(a, b)
        assert_array_equal(a, c)


@every_backend
@pytest.mark.parametrize("opening", [opening for opening in PROTOCOLS if opening != "open_slices"])  # draws nothing
def test_a_seed_gives_the_same_bits_and_another_seed_others(backend, opening):
    one, again, other = (answers(opened(backend, opening, users=np.arange(60) // 4, seed=s)) for s in (1, 1, 2))
    for a, b in zip(one, again, strict=True):
        assert_array_equal(a, b)
    assert any(not np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# --- slices ----------------------------------------------------------------------------------------------------------


@every_backend
@by_user
@pytest.mark.parametrize("alpha_rest", [None, 2.5])
def test_slices_are_the_sum_of_their_units(backend, users, alpha_rest):
    """Each unit's proportions by slice, computed from `mixtures` and added up; no unit is longer than the clip."""
    corpus, places = documents(), np.arange(60) % 5 % 3 - 1  # in no slice, in 0 or in 1
    topics = table().T / table().sum(axis=0)[:, None]
    groups = np.arange(60) if users is None else users
    scale = 2.0**16

    def sums(which: np.ndarray) -> np.ndarray:
        of = None if users is None else users[which]
        engine = backend.open_slices(corpus[which], of, places[which], 2)
        return np.asarray(engine.proportions(topics, ALPHA, alpha_rest=alpha_rest, scale=scale, clip=scale))

    expected = np.zeros((60, 2, K))
    for unit in np.unique(groups):
        pieces = [np.flatnonzero((groups == unit) & (places == s)) for s in (0, 1)]
        n = sum(len(piece) > 0 for piece in pieces)
        for s, piece in enumerate(pieces):
            if len(piece):
                text = Corpus(corpus[piece].words, [0, corpus[piece].n_tokens], corpus.vocabulary)
                expected[unit, s] = _without_prior(topics, text, alpha_rest) / np.sqrt(n)
    alone = [sums(np.flatnonzero(groups == unit)) for unit in np.unique(groups)]
    for unit, part in zip(np.unique(groups), alone, strict=True):
        assert (part**2).sum() <= scale**2
        assert_allclose(part / scale, expected[unit], atol=2e-3)  # EM stops a little earlier here
    assert_array_equal(sums(np.arange(60)), sum(alone))


def _without_prior(topics: np.ndarray, text: Corpus, alpha_rest: float | None) -> np.ndarray:
    """The mean over tokens of q_ik ∝ θ_k φ_kw(i), with θ from fold-in."""
    theta = mixtures(topics, ALPHA, text, alpha_rest=alpha_rest)[0]
    weights = theta[:, None] * topics[:, text.words]
    return np.asarray((weights / weights.sum(axis=0)).mean(axis=1))


@every_backend
def test_slices_without_documents_are_there(backend):
    engine = backend.open_slices(documents()[[]], None, np.empty(0, np.int64), 3)
    assert_array_equal(engine.proportions(table().T, ALPHA, scale=9.0, clip=9.0), np.zeros((3, K)))
    nowhere = backend.open_slices(documents(), None, np.full(60, 3), 3)
    assert not nowhere.proportions(table().T, ALPHA, scale=9.0, clip=9.0).any()


# --- sweeps ----------------------------------------------------------------------------------------------------------


@every_backend
def test_counts_are_those_of_the_tokens(backend):
    engine, corpus = opened(backend, "open_sweeps"), documents()
    assert (engine.n_words, engine.n_topics, engine.n_documents) == (N_WORDS, K, 60)
    assert engine.n_tokens == corpus.n_tokens
    engine.sweep(table(), ALPHA, 1, prior=0.0, scale=np.ones(K))
    words, offsets, topics = engine.tokens()
    counts = np.zeros((N_WORDS, K), np.int32)
    np.add.at(counts, (words, topics), 1)
    assert_array_equal(engine.count(), counts)
    assert engine.count().dtype == np.int32
    assert_array_equal(counts.sum(axis=1), np.bincount(corpus.words, minlength=N_WORDS))
    assert_array_equal(np.sort(np.diff(offsets)), np.sort(corpus.lengths))
    n_dk = np.array([np.bincount(topics[a:b], minlength=K) for a, b in pairwise(offsets)])
    above, below = engine.alpha_statistics(ALPHA)
    assert_allclose(above, (digamma(n_dk + ALPHA) - digamma(ALPHA)).sum(axis=0), rtol=1e-9)
    assert below == pytest.approx((digamma(n_dk.sum(axis=1) + 1.5) - digamma(1.5)).sum(), rel=1e-9)


@every_backend
@pytest.mark.parametrize("sweep", ["sweep", "sweep_exact"])
def test_topics_are_drawn_from_statistic_prior_and_scale(backend, sweep):
    """The three make one table, in double precision; a topic without weight is drawn by the uniform draws alone."""
    scale, prior = np.linspace(0.5, 2.0, K), table(3)
    (three, one, single, cell) = (opened(backend, "open_sweeps") for _ in range(4))
    before = table().copy()
    getattr(three, sweep)(before, ALPHA, 1, prior=prior, scale=scale)
    assert_array_equal(before, table())  # as it was given
    getattr(one, sweep)((table() + prior) * scale, ALPHA, 1, prior=0.0, scale=np.ones(K))
    assert_array_equal(three.tokens().topics, one.tokens().topics)
    getattr(single, sweep)(table(), ALPHA, 1, prior=0.25, scale=scale)
    getattr(cell, sweep)(table(), ALPHA, 1, prior=np.full((N_WORDS, K), 0.25), scale=scale)
    assert_array_equal(single.tokens().topics, cell.tokens().topics)
    assert not np.array_equal(single.tokens().topics, one.tokens().topics)
    certain = np.full((N_WORDS, K), 1e-9)
    certain[:, 3] = 1.0
    getattr(one, sweep)(certain, ALPHA, 2, prior=0.0, scale=np.ones(K))
    assert (one.tokens().topics == 3).mean() > 0.99


@every_backend
def test_a_sweep_goes_on_from_a_saved_state(backend):
    one, two = opened(backend, "open_sweeps"), opened(backend, "open_sweeps", seed=9)
    one.sweep(table(), ALPHA, 1, prior=0.0, scale=np.ones(K))
    two.restore({name: value.copy() for name, value in one.state().items()})
    assert_array_equal(two.count(), one.count())
    two = opened(backend, "open_sweeps")
    two.restore({name: value.copy() for name, value in one.state().items()})
    two.use_threads(2)
    two.drop_tables()
    for engine in (one, two):
        engine.sweep(table(), ALPHA, 2, prior=0.0, scale=np.ones(K))
    assert_array_equal(one.count(), two.count())
    assert one.holds(documents())
    longest_first = np.argsort(-documents().lengths, kind="stable")
    assert one.holds(documents()[longest_first])  # documents that are equally long in the same order
    assert not one.holds(documents()[np.arange(59)])


class Scaled:
    """`interface.WeightRows`: the weights of table · scale, in groups of two words that lie apart."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights, self.n_groups, self.asked = weights, len(weights) // 2, np.zeros(len(weights) // 2, int)

    def write(self, first: int, last: int, rows: np.ndarray) -> None:
        half = self.n_groups
        for words in (slice(first, last), slice(half + first, half + last)):
            rows[words, : self.weights.shape[1]] = self.weights[words]
        self.asked[first:last] += 1


@every_backend
def test_expected_counts_hold_every_token(backend):
    engine, corpus = opened(backend, "open_collapsed"), documents()
    words = np.bincount(corpus.words, minlength=N_WORDS)
    assert_array_equal(engine.count().sum(axis=1), words)  # of first topics: whole numbers
    assert_array_equal(engine.count(), np.rint(engine.count()))
    for number in (1, 2):
        engine.sweep(table(), ALPHA, number, prior=0.1, scale=np.ones(K))
        assert engine.count().shape == (N_WORDS, K)
        assert engine.count().dtype == np.float64
        assert (engine.count() != np.rint(engine.count())).any()
        assert_allclose(engine.count().sum(axis=1), words, rtol=1e-5)
    certain = np.full((N_WORDS, K), 1e-9)
    certain[:, 3] = 1.0
    engine.sweep(certain, ALPHA, 3, prior=0.0, scale=np.zeros(K) + 1e-30)
    engine.sweep_rows(Scaled(certain), ALPHA, 4)
    assert_allclose(engine.count()[:, 3], words, rtol=1e-5)


@every_backend
def test_collapsed_documents_are_known_again(backend):
    engine = opened(backend, "open_collapsed")
    assert engine.holds(documents())
    assert not engine.holds(documents()[np.arange(59)])
    assert not engine.holds(Corpus(documents().words[::-1].copy(), documents().offsets, documents().vocabulary))
    other = opened(backend, "open_collapsed")
    for number, n_threads in ((1, 2), (2, 3), (3, 1)):
        for each in (engine, other):
            each.sweep(table(), ALPHA, number, prior=0.1, scale=np.ones(K))
        engine.use_threads(n_threads)
    assert_array_equal(engine.count(), other.count())
    engine.drop_tables()
    engine.sweep(table(), ALPHA, 4, prior=0.1, scale=np.ones(K))
    other.sweep(table(), ALPHA, 4, prior=0.1, scale=np.ones(K))
    assert_array_equal(engine.count(), other.count())
    parts = np.arange(60) % 3
    one, two = (backend.open_collapsed(documents(), K, Key.from_seed(1), n_threads=n, parts=parts) for n in (1, 2))
    for each in (one, two):
        each.draw_first_topics()
        each.sweep(table(), ALPHA, 1, prior=0.1, scale=np.ones(K))
        assert each.holds(documents())
    assert_array_equal(one.count(), two.count())


@every_backend
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_words", [20, 60_000], ids=["few rows", "many rows"])
def test_a_model_may_write_the_weights(backend, n_threads, n_words):
    """The same topics as from a table; every group is asked for once."""
    corpus = Corpus(documents().words, documents().offsets, [f"w{word}" for word in range(n_words)])
    weights = np.tile(table(), (n_words // 20, 1))
    given, written = (backend.open_sweeps(corpus, K, Key.from_seed(1), n_threads=n_threads) for _ in range(2))
    for engine in (given, written):
        engine.draw_first_topics()
    rows = Scaled(weights)
    for number, rest in ((1, None), (2, 0.7)):
        given.sweep(weights, ALPHA, number, prior=0.0, scale=np.ones(K), alpha_rest=rest)
        written.sweep_rows(rows, ALPHA, number, alpha_rest=rest)
        assert_array_equal(given.count(), written.count())
        assert (rows.asked == number).all()


@every_backend
def test_parts_order_the_documents_and_nothing_else(backend):
    """The same documents; the same topics for any number of threads; and the order follows from lengths and parts."""
    corpus, parts = documents(), np.arange(60) % 3
    one, two = (backend.open_sweeps(corpus, K, Key.from_seed(1), n_threads=n, parts=parts) for n in (1, 2))
    for engine in (one, two):
        engine.draw_first_topics()
        engine.sweep(table(), ALPHA, 1, prior=0.0, scale=np.ones(K))
        assert engine.holds(corpus)
        assert not engine.holds(corpus[np.arange(59)])
    assert_array_equal(one.tokens().topics, two.tokens().topics)
    words, offsets, _ = one.tokens()
    found = sorted(sorted(words[a:b].tolist()) for a, b in pairwise(offsets))
    assert found == sorted(sorted(corpus.words[a:b].tolist()) for a, b in pairwise(corpus.offsets))
    others = Corpus(corpus.words[::-1].copy(), corpus.offsets, corpus.vocabulary)  # of the same lengths
    same = backend.open_sweeps(others, K, Key.from_seed(1), parts=parts)
    assert_array_equal(same.tokens().offsets, offsets)
    assert not one.holds(others)


# --- rounds ----------------------------------------------------------------------------------------------------------


@every_backend
@pytest.mark.parametrize("opening", ["open_units", "open_variational_units", "open_kept_units"])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@by_user
def test_a_round_is_the_sum_of_its_units(backend, opening, users, n_threads):
    """To the bit, whoever else takes part and however the units are divided.

    Numbered by their place in the round, units would draw otherwise when they are alone.
    """

    def the_round(units: Any) -> np.ndarray:
        return one_round(opened(backend, opening, users=users, n_threads=n_threads), only(units))

    everyone = np.arange(opened(backend, opening, users=users).n_units)
    alone = [the_round(everyone == unit) for unit in everyone]
    assert all(part.any() and part.dtype == np.int64 and part.shape == (N_WORDS, K) for part in alone)
    assert max((part**2).sum() for part in alone) <= 300**2
    assert_array_equal(the_round(everyone >= 0), sum(alone))
    some = everyone % 3 == 1
    assert_array_equal(the_round(some), sum(part for part, yes in zip(alone, some, strict=True) if yes))
    assert not the_round(everyone < 0).any()


@every_backend
@pytest.mark.parametrize("opening", ["open_units", "open_variational_units", "open_kept_units"])
def test_a_unit_that_is_not_there_changes_nothing_else(backend, opening):
    whole = opened(backend, opening)
    less = opened(backend, opening, corpus=documents()[np.arange(59)])
    last = one_round(opened(backend, opening), only(np.arange(60) == 59))
    assert_array_equal(one_round(whole) - one_round(less), last)
    assert (whole.n_units, less.n_units) == (60, 59)


@every_backend
@stateless
def test_rounds_keep_nothing(backend, opening):
    """A round gives the same again after other rounds: nothing is carried from one to the next."""
    engine = opened(backend, opening)
    first, second = one_round(engine, ALWAYS // 2, 1), one_round(engine, ALWAYS // 2, 2)
    assert (first != second).any()
    assert_array_equal(one_round(engine, ALWAYS // 2, 1), first)
    assert_array_equal(one_round(engine, ALWAYS // 2, 2), second)


@every_backend
def test_topics_are_kept_and_restored(backend):
    engine, other = (opened(backend, "open_kept_units") for _ in range(2))
    first = one_round(engine)
    saved = {name: value.copy() for name, value in engine.state().items()}
    second = one_round(engine)
    assert (first != second).any()  # of the same number: what differs are the topics that it began with
    other.restore(saved)
    assert_array_equal(one_round(other), second)


@every_backend
@stateless
@by_user
def test_who_takes_part_is_decided_by_coins(backend, opening, users):
    engine = opened(backend, opening, users=users)
    heads = engine.coins(1, ALWAYS // 2)
    assert 0 < heads.sum() < engine.n_units == len(heads)
    assert_array_equal(one_round(engine, ALWAYS // 2), one_round(engine, only(heads)))
    assert engine.coins(1, ALWAYS).all()
    assert not engine.coins(1, 0).any()
    assert (engine.coins(2, ALWAYS // 2) != heads).any()


@every_backend
@by_user
def test_sums_over_all_units(backend, users):
    engine = opened(backend, "open_units", users=users)
    n = engine.n_units
    owner = np.arange(60) if users is None else users
    counts = np.zeros((n, N_WORDS), int)
    corpus = documents()
    np.add.at(counts, (np.repeat(owner, corpus.lengths), corpus.words), 1)
    histogram = engine.size_histogram(20)
    assert histogram.dtype == np.int64
    if users is None:  # nobody has more than max_tokens
        assert_array_equal(engine.word_counts(np.ones(N_WORDS), 1e6), counts.sum(axis=0))
        norms = np.floor(4 * np.log2(np.linalg.norm(counts, axis=1))).astype(int)
        assert_array_equal(histogram, np.bincount(norms, minlength=20))
    else:
        assert engine.word_counts(np.ones(N_WORDS), 1e6).sum() == np.minimum(counts.sum(axis=1), 30).sum()
    assert histogram.sum() == n
    assert engine.word_counts(np.ones(N_WORDS), 0.5).sum() == 0


@every_backend
def test_expected_counts_are_all_tokens_of_those_who_take_part(backend):
    engine = opened(backend, "open_variational_units")
    for threshold in (ALWAYS, ALWAYS // 2, 0):
        counts, n_units = engine.expected(interface.Round(1, threshold, table(), ALPHA, local_sweeps=3))
        taking_part = engine.coins(1, threshold)
        assert (counts.shape, n_units) == ((N_WORDS, K), taking_part.sum())
        assert counts.sum() == pytest.approx(documents().lengths[taking_part].sum(), abs=1e-3)


@every_backend
def test_shares_are_each_unit_s_own(backend):
    engine = opened(backend, "open_kept_units")
    assert_array_equal(engine.shares(np.ones((N_WORDS, K), bool)), documents().lengths > 0)
    cells = table() > 0.3
    assert_allclose(engine.shares(cells) + engine.shares(~cells), documents().lengths > 0)


# --- moments ---------------------------------------------------------------------------------------------------------


@every_backend
@by_user
def test_moments_are_sums_over_units(backend, users):
    """In whole numbers: those of all are those of the first units and those of the others."""
    corpus, owner = documents(), np.arange(60) if users is None else users
    first = owner < owner.max() // 2

    def sums(chosen: np.ndarray) -> list[np.ndarray]:
        engine = backend.open_moments(corpus[np.flatnonzero(chosen)], owner[chosen], n_threads=2)
        singles, pairs, weights = engine.moments(np.ones(N_WORDS), (1000.0, 900.0), (800.0, 90.0))
        found = [engine.directions(70.0), singles, pairs, engine.triples(table()[:, :3], weights, 500.0, 60.0)]
        assert [len(cells) for cells in found] == [N_WORDS, N_WORDS, N_WORDS * (N_WORDS + 1) // 2, 10]
        assert all(cells.dtype == np.int64 for cells in found)
        assert len(weights) == engine.n_units == len(np.unique(owner[chosen]))
        engine.close()
        return found

    for whole, one, other in zip(sums(owner >= 0), sums(first), sums(~first), strict=True):
        assert whole.any()
        assert_array_equal(whole, one + other)


# --- broken backends: the same checks catch them ---------------------------------------------------------------------


class CountsInWideRows(ThreadSweeps):
    """Lets its layout out."""

    def count(self):
        return np.pad(super().count(), ((0, 0), (0, 16 - K)))


class DrawsByPlace(ThreadUnits):
    """Numbers documents by their place in the round."""

    def _batch(self, included):
        batch = super()._batch(included)
        batch.numbers[:] = np.arange(len(batch.numbers))
        return batch


class DrawsOnce(ThreadUnits):
    """Uses the draws of one round in every other."""

    def residuals(self, given, **options):
        return super().residuals(given._replace(number=1), **options)


class Remembers(ThreadUnits):
    """Adds to a round what it returned before."""

    before = 0

    def residuals(self, given, **options):
        self.before = super().residuals(given, **options) + self.before
        return self.before


def test_broken_backends_are_caught():
    def units(kind: type) -> Any:
        return SimpleNamespace(open_units=kind)

    with pytest.raises(AssertionError):
        test_counts_are_those_of_the_tokens(SimpleNamespace(open_sweeps=CountsInWideRows))
    with pytest.raises(AssertionError):
        test_a_round_is_the_sum_of_its_units(units(DrawsByPlace), "open_units", None, 1)
    for broken in (DrawsOnce, Remembers):
        with pytest.raises(AssertionError):
            test_rounds_keep_nothing(units(broken), "open_units")
    with pytest.raises(AssertionError):
        test_an_engine_has_the_members_of_its_protocol(units(DrawsOnce), "open_units")


# --- who knows a backend ---------------------------------------------------------------------------------------------

HOME = Path(discreet.__file__).parent
LAYOUT = ("kernels.lanes", "kernels.compile", "kernels.sweeps.slots")
"""Kernels about rows of sixteen topics and where they lie."""


def imported(source: str) -> set[str]:
    """Modules of ours that a file imports, and names that it takes from them."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("discreet.") for name in found}


def knows_backend(source: str) -> set[str]:
    """``engines.threads.documents`` is no engine: it shares out work on documents that the caller has."""
    names = imported(source)
    backend = {n for n in names if n.startswith("engines.threads") and not n.startswith("engines.threads.documents")}
    return (backend - {"engines.threads"}) | {n for n in names if n.startswith(LAYOUT) or n.endswith(".padded")}


def test_models_know_no_backend_and_no_layout():
    files = [path for room in ("models", "training") for path in sorted((HOME / room).rglob("*.py"))]
    assert len(files) > 30
    assert {path.name: found for path in files if (found := knows_backend(path.read_text("utf-8")))} == {}
    assert knows_backend("from discreet.engines.threads.units import ThreadUnits")
    assert knows_backend("from discreet.kernels.sums.counts import padded")
    assert knows_backend("def f():\n    from discreet.kernels.sweeps.slots import aligned")
    assert not knows_backend("from discreet.engines import open_units")
