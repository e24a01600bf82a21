"""Known answers that compiled code must give before a guarantee may be called *proven*: clips, noise, coins and draws.

A proof is about the source, but what runs is machine code, perhaps from an old cache. So every private model lists the
tests of the kernels that it uses. They run through the same engines as its fit, on a few tokens, once per process,
before anything is charged. Where possible the right answers are derived by hand in comments; those for noise were
checked against their laws in ``tests/statistical/test_noise.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet._errors import SelfTestFailed
from discreet._random import Key, Purpose
from discreet._types import AnyArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.engines import (
    open_kept_units,
    open_moments,
    open_proportions,
    open_slices,
    open_sweeps,
    open_units,
    open_variational_units,
)
from discreet.engines.interface import Round
from discreet.kernels.cache import FOLDER


class Answer(NamedTuple):
    """``found`` must equal ``right``, to the last bit."""

    what: str
    found: Any
    right: Any


Test: TypeAlias = Callable[[], Iterator[Answer]]


def check(tests: Iterable[Test]) -> None:
    """Raise unless all answers are right. A test that has passed in this process is not run again."""
    for test in tests:
        _run(test)


@cache
def _run(test: Test) -> None:
    for answer in test():
        if not np.array_equal(answer.found, answer.right):
            instead = "Reinstall discreet and numba."
            if FOLDER is not None:
                instead = f"Remove the folder {FOLDER} and try again; if that does not help, reinstall discreet."
            raise SelfTestFailed(
                f"{answer.what}: the compiled code failed its self-test, so no guarantee would hold. Nothing was "
                f"charged. {instead}"
            )


KEY = Key(np.arange(8, dtype=np.uint32), seeded=True)


def _corpus(words: AnyArray, *ends: int) -> Corpus:
    """Documents that end at ``ends``."""
    names = tuple(str(word) for word in range(int(words.max()) + 1))
    return Corpus(words.astype(np.int32), np.array([0, *ends]), Vocabulary(names, "public"))


MANY = 1100
"""Cells of noise: more than the block that shares a stream."""


def gaussian_noise() -> Iterator[Answer]:
    """Scale 16: the mean square is 263, and 256 is expected."""
    from discreet.mechanisms.noise import add_discrete_gaussian

    cells = np.zeros(MANY, np.int64)
    add_discrete_gaussian(cells, 16.0, KEY, 1)
    yield Answer("discrete Gaussian noise", cells[:8], [5, 17, -19, -2, -11, -36, 9, -12])
    yield Answer("discrete Gaussian noise", [cells.sum(), cells @ cells], [-626, 289_108])


def laplace_noise() -> Iterator[Answer]:
    """Scale 2: the mean square is 8.3, and 7.8 is expected."""
    from discreet.mechanisms.noise import add_discrete_laplace

    cells = np.zeros(MANY, np.int64)
    add_discrete_laplace(cells, 2.0, KEY, 1)
    yield Answer("discrete Laplace noise", cells[:8], [0, 2, -3, 0, -1, -7, 1, -1])
    yield Answer("discrete Laplace noise", [cells.sum(), cells @ cells], [-155, 9115])


# --- contributions to rounds -----------------------------------------------------------------------------------------

CLIP, STEPS = 50.5, 10.5
"""The clip in steps of the grid, and the steps per token. Products are far from whole numbers, so rounding errors do
not matter."""


def _opened(open_engine: Callable[..., Any]) -> Any:
    """Four users: 100 tokens of word 0; one of word 1; 60 of word 0 and, in another document, 80 of word 2; one of
    word 3, whose weight is not a number."""
    corpus = _corpus(np.repeat([0, 1, 0, 2, 3], [100, 1, 60, 80, 1]), 100, 101, 161, 241, 242)
    return open_engine(corpus, np.array([0, 1, 2, 2, 3]), 2, KEY, max_tokens=1000, n_threads=1)


def _table(first: Any) -> Any:
    """Word × topic: ``first`` for the first topic, and 0 for the other."""
    table = np.zeros((4, 2))
    table[:, 0] = first
    return table


WEIGHTS = np.array([STEPS, STEPS, STEPS, np.nan])


def _contributions(what: str, open_engine: Callable[..., Any], method: str, **weights: Any) -> Iterator[Answer]:
    """The second topic has weight 0, so the first gets every token. A contribution longer than the clip is shrunk to
    it: the third user's words are as 3 to 4, which makes 30.3 and 40.4, and cells are cut to whole numbers."""
    engine = _opened(open_engine)
    one = STEPS / 2 if "background" in weights else STEPS  # of the user with one token
    right = ([50, 0, 0, 0], [0, int(one), 0, 0], [30, 0, 40, 0], [0, 0, 0, 0])
    for user, contribution in enumerate(right):
        alone = Round(1, np.where(np.arange(4) == user, 2**32, 0), _table(1.0), np.full(2, 0.1), local_sweeps=2)
        cells = getattr(engine, method)(alone, clip=CLIP, **weights)
        yield Answer(f"the clip of {what}", cells, _table(contribution))


def residuals() -> Iterator[Answer]:
    """PrivateLDA: half of the expected counts is background."""
    tables = {"cell_weights": _table(WEIGHTS), "background": _table(0.5)}
    yield from _contributions("contributions after sweeps", open_units, "residuals", **tables)


def variational_residuals() -> Iterator[Answer]:
    """The same for VariationalLDA."""
    tables = {"cell_weights": _table(WEIGHTS), "background": _table(0.5)}
    yield from _contributions("variational contributions", open_variational_units, "residuals", **tables)


def topic_counts() -> Iterator[Answer]:
    """SubsampledLDA."""
    yield from _contributions("topic counts", open_kept_units, "contributions", word_weights=WEIGHTS)


def word_counts() -> Iterator[Answer]:
    """Of all users together: 50 + 30 of word 0, 10 of word 1, 40 of word 2."""
    yield Answer("the clip of word counts", _opened(open_units).word_counts(WEIGHTS, CLIP), [80, 10, 40, 0])


def root_counts() -> Iterator[Answer]:
    """AdaptedLDA: 10.5 steps for the root of a count. The users have 105 of word 0; 10.5 of word 1; 81.3 and 93.9 of
    words 0 and 2, which is 124.2 long; and word 3, whose weight is not a number. The first is clipped to 50.5, the
    third to 33.06 and 38.17."""
    engine = _opened(open_proportions)
    yield Answer("the clip of roots of counts", engine.root_counts(WEIGHTS, CLIP), [50 + 33, 10, 38, 0])
    yield Answer("the clip of roots of counts", engine.root_counts(WEIGHTS, np.nan), [0] * 4)


def proportions() -> Iterator[Answer]:
    """AdaptedLDA: topics of one word each, so a user's proportions are the shares of its words: 1 of word 0; 1 of word
    1; 3/7 and 4/7 of words 0 and 2, which is 5/7 long; 1 of word 3. Scaled by 101, all are clipped to 50.5. Scaled by
    61.6, the third is within the clip: 26.4 and 35.2."""
    engine = _opened(open_proportions)
    for scale, right in ((2 * CLIP, [50 + 30, 50, 40, 50]), (61.6, [50 + 26, 50, 35, 50])):
        found = engine.proportions(np.eye(4), np.full(4, 1e-6), scale=scale, clip=CLIP)
        yield Answer("the clip of topic proportions", found, right)
    found = engine.proportions(np.eye(4), np.full(4, 1e-6), scale=np.nan, clip=CLIP)
    yield Answer("the clip of topic proportions", found, [0] * 4)


def slice_proportions() -> Iterator[Answer]:
    """PrivateTrends: the users of `_opened`. The third has a document in each of two slices, and so 1/√2 of both; the
    fourth is in no slice. Scaled by 101, the first two are clipped to 50.5; the third, 71.4 in each slice, is 101
    long and clipped to 35.7. Scaled by 40.2: 40, 40 and 28.4 in each."""
    corpus = _corpus(np.repeat([0, 1, 0, 2, 3], [100, 1, 60, 80, 1]), 100, 101, 161, 241, 242)
    engine = open_slices(corpus, np.array([0, 1, 2, 2, 3]), np.array([0, 0, 0, 1, -1]), 2, n_threads=1)
    for scale, one, both in ((2 * CLIP, 50, 35), (40.2, 40, 28), (np.nan, 0, 0)):
        right = [[one + both, one, 0, 0], [0, 0, both, 0]]
        found = engine.proportions(np.eye(4), np.full(4, 1e-6), scale=scale, clip=CLIP)
        yield Answer("the clip of topic proportions by slice", found, right)


def coins() -> Iterator[Answer]:
    """Which units take part in a round, from their own bits."""
    yield Answer("coins", KEY.bits(Purpose.INCLUSION, 1, 0, 4), [3504437298, 356759150, 3405849588, 674136415])


# --- moments ---------------------------------------------------------------------------------------------------------


def moments() -> Iterator[Answer]:
    """One user with two equal documents, each of four tokens of two words: M₁ is (1, 1), M₂ is (3/7, 4/7, 3/7), where
    the last is that of the second word, and M₃ is 2 if y is 1 for both words."""
    engine = open_moments(_corpus(np.array([0, 1] * 8), 8, 16), np.zeros(2, np.int64), n_threads=1)
    # 50.5/√2 = 35.7 of each word
    yield Answer("the clip of directions", engine.directions(CLIP), [35, 35])
    # ‖M₂‖ = √34/7 is shrunk to 50.5 steps: 25.98, 34.64, 25.98; M₁ with it: 1000 · 50.5/833 = 60.6
    one, two, weights = engine.moments(np.ones(2), (1000.0, 1000.0), (100.5, CLIP))
    yield Answer("the clip of moments", [*one, *two], [60, 60, 25, 34, 25])
    # 1000 · weight · 2 = 121.2 is shrunk to 50.5
    yield Answer("the clip of triples", engine.triples(np.ones((2, 1)), weights, 1000.0, CLIP), [50])
    # ‖M₁‖ = √2 is shrunk to 50.5 steps: 35.7; M₂ with it: 15.3, 20.4, 15.3
    one, two, weights = engine.moments(np.ones(2), (1000.0, 1000.0), (CLIP, 1000.0))
    yield Answer("the clip of moments", [*one, *two], [35, 35, 15, 20, 15])
    one, two, weights = engine.moments(np.array([np.nan, 1.0]), (1000.0, 1000.0), (100.5, CLIP))
    yield Answer("the clip of moments", [*one, *two, *weights], [0] * 6)


def cubes() -> Iterator[Answer]:
    """Words 0, 0, 1 with y = 1 for the first and 2 for the second: any triple of the three tokens has the product 2."""
    engine = open_moments(_corpus(np.array([0, 0, 1]), 3), n_threads=1)
    yield Answer("exact triples", np.rint(engine.cubes(np.array([[1.0], [2.0]])) * 1e9), [2e9])


# --- words, and topics of single tokens ------------------------------------------------------------------------------


def word_weights() -> Iterator[Answer]:
    """The first user has six words in two documents, of which three count, by its coins; the second has one word."""
    from discreet.kernels.sums.word_weights import add_weights
    from discreet.mechanisms.vocabulary import words_of_units

    words, offsets = np.array([0, 0, 1, 2, 3, 4, 5, 1, 1], np.int32), np.array([0, 5, 7, 9])
    found, ends = words_of_units(words, offsets, np.array([0, 0, 1]), 6, KEY)
    cells = np.zeros(6, np.int64)
    add_weights(found, ends, 3, np.ones(6, np.bool_), np.array([0, 100, 70, 57]), cells)
    cells[1] -= 100
    yield Answer("the weights of a user's words", np.sort(cells), [0, 0, 0, 57, 57, 57])


def flips() -> Iterator[Answer]:
    """Two reports of 1,100 bits that flip with probability 1/4: 275 ± 14 each. Of three words two are kept."""
    from discreet.mechanisms.local import RandomisedResponse

    words, offsets = np.array([0, 1, 2], np.int32), np.array([0, 0, 3])
    noisy = RandomisedResponse(threshold=2**30, n_words=MANY).randomise(words, offsets, KEY)
    yield Answer("flips of bits", np.unpackbits(noisy, axis=1).sum(axis=1), [290, 262])
    yield Answer("flips of bits", noisy[0, :4], [64, 2, 98, 0])
    kept = RandomisedResponse(threshold=1, n_words=MANY, max_words=2).randomise(words, offsets, KEY)
    yield Answer("the limit on a report's words", np.unpackbits(kept, axis=1).sum(axis=1), [0, 2])


def exact_draws() -> Iterator[Answer]:
    """4,096 tokens between two topics of weights 3 and 1, whose priors outweigh all counts: 3072 ± 28 get the first."""
    engine = open_sweeps(_corpus(np.zeros(4096), 4096), 2, KEY, n_threads=1)
    engine.draw_first_topics()
    engine.sweep_exact(np.array([[3.0, 1.0]]), np.full(2, 1e9), 1, prior=0.0, scale=np.ones(2))
    yield Answer("draws of topics", abs(int(engine.count()[0, 0]) - 3072) < 200, True)
    yield Answer("counts of topics", engine.count().sum(), 4096)
