"""The interface of engines for every backend: threads of this machine, the executors of a cluster, a GPU later.

Rules for every engine:

* Tables over words and topics are passed and returned as ordinary arrays, word × topic. Their layout in memory is up to
  the backend.
* A draw is a function of (key, purpose, round, document, position) and of nothing else. So a piece of work that is done
  twice gives the same answer, and neither the division of documents nor the number of threads matters.
* Sums over units are sums of whole numbers, so their order does not matter.
* What an engine returns is exact, and therefore private until a mechanism has added noise to it.

Together these make a seeded run the same to the bit for any ``n_threads``; ``tests/contract/test_engines.py`` runs
over every backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

import scipy.sparse as sp

from discreet._random import Key
from discreet._types import AnyArray, BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UInt16Array
from discreet.corpus.corpus import Corpus

MAX_TOPICS = 2**16 - 1
"""A topic is kept in sixteen bits."""

LARGEST_UNIT = 2**24
"""Tokens. Counts within a document are float32, which holds whole numbers up to here."""

MOST_SWEEPS = 2**12
"""The most local sweeps in a round: with more, a document of the largest size would use up its 2^36 draws and read the
first of them again."""

SHORTEST = 3
"""Tokens that a document needs to have a third moment; shorter ones contribute to no moment."""

Table: TypeAlias = FloatArray | float
"""Word × topic, or one number for all cells."""

Threshold: TypeAlias = int | IntArray
"""A unit takes part in a round when its 32 random bits are below this: 0 is never, 2^32 is always. An array holds one
threshold per unit, computed only from its own data and from what was released."""


class Round(NamedTuple):
    """The input of every unit in a round: it infers the topics of its tokens from ``weights`` and ``alpha``."""

    number: int
    threshold: Threshold
    weights: Table
    alpha: FloatArray
    local_sweeps: int
    """Local steps over the tokens of a unit."""


class Tokens(NamedTuple):
    """All tokens of a corpus in their secret slots, document after document, and the topic of each. Private."""

    words: Int32Array
    offsets: IntArray
    topics: UInt16Array
    """The engine's own: they change with the next sweep."""


class WeightRows(Protocol):
    """Weights of a sweep that the model computes from its own tables, a few rows at a time, where they are used.

    The rows of all words are divided into ``n_groups`` groups that do not depend on each other: engines write them in
    any order, and several at once.
    """

    n_groups: int

    def write(self, first: int, last: int, rows: Float32Array) -> None:
        """Write the rows of the groups ``first`` to ``last - 1`` into ``rows``, word × topic. It may have more columns
        than there are topics; these are not changed. Called once per sweep for every group."""


class PassEngine(Protocol):
    """All documents of a corpus and their topics, which change in passes over all of them.

    The order of documents depends on their lengths, not on words. ``count`` gives what the model reads of them.
    """

    draws: bool
    """Whether each token has one topic, which is drawn; otherwise it has a distribution over topics."""
    n_words: int
    n_topics: int
    n_documents: int
    n_tokens: int
    n_threads: int
    key: Key

    def draw_first_topics(self) -> None:
        """Draw uniform topics, independent of the words."""

    def sweep(
        self,
        statistic: AnyArray,
        alpha: FloatArray,
        number: int,
        *,
        prior: Table,
        scale: FloatArray,
        alpha_rest: float | None = None,
    ) -> None:
        """New topics for every token from p(k) ∝ φ̃[w, k] · (n[d, k] + alpha[k]), φ̃ = (statistic + prior) · scale[k].

        ``statistic`` is word × topic: the statistics of all documents, which do not change during a sweep. φ̃ is
        rounded once, to float32. n[d, ·] counts the topics of the document's other tokens. Never use a ``number`` twice
        with one key.

        ``alpha_rest`` makes the prior of a document's topics Beta-Liouville, which needs two topics or more: with Λ the
        sum of all alphas but the last, and m that of all n[d, k] but the last, the last topic's factor is
        (n[d, k] + alpha[k]) · (Λ + m) / (alpha_rest + m). Without it, or if it equals Λ, the prior is Dirichlet(alpha).
        """

    def drop_tables(self) -> None:
        """Free the memory of counts and weights."""

    def close(self) -> None:
        """Release threads or connections."""


class _Passes(PassEngine, Protocol):
    """What engines on this machine offer besides."""

    def sweep_rows(
        self, weights: WeightRows, alpha: FloatArray, number: int, *, alpha_rest: float | None = None
    ) -> None:
        """As :meth:`sweep`, where the model writes φ̃."""

    def alpha_statistics(self, alpha: FloatArray) -> tuple[FloatArray, float]:
        """Numerators and denominator of Minka's fixed point for α, over all documents."""

    def holds(self, corpus: Corpus) -> bool:
        """Whether the engine was opened with this corpus."""

    def use_threads(self, n_threads: int | None) -> None:
        """Continue with ``n_threads`` threads of this machine; None: all cores."""


class SweepEngine(_Passes, Protocol):
    """Every token has one topic. A sweep draws all of them anew, each given the others in its document.

    The tokens of a document are in a secret order. The topics are kept from sweep to sweep.
    """

    def sweep_exact(
        self,
        statistic: AnyArray,
        alpha: FloatArray,
        number: int,
        *,
        prior: Table,
        scale: FloatArray,
        alpha_rest: float | None = None,
    ) -> None:
        """As :meth:`sweep`, by draws that a guarantee can rely on: their distance from the ideal draws is proved."""

    def count(self) -> Int32Array:
        """How many tokens of each word have each topic, word × topic. Do not write to it; valid until the next
        sweep."""

    def tokens(self) -> Tokens:
        """For models and callbacks that promise nothing."""

    def state(self) -> dict[str, AnyArray]:
        """For a checkpoint: every token and its topic. Private."""

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        """Continue from a :meth:`state` of the same documents."""


class CollapsedEngine(_Passes, Protocol):
    """Every token has a distribution over topics, and only the start is random. For models that promise nothing.

    In a sweep the distributions are computed, not drawn: n[d, ·] is the sum over the document's other tokens of their
    distributions after the sweep before.
    """

    def count(self) -> FloatArray:
        """How many tokens of each word are expected to have each topic, word × topic. A new array after each sweep: do
        not write to it before the next, then it is the caller's."""


class _Units(Protocol):
    """The tokens of all units, of which some take part in a round. A unit is a document, or all documents of one user.

    The first ``max_tokens`` tokens of each unit count, in a secret order within its documents.
    """

    n_words: int
    n_topics: int
    n_units: int
    """Private."""
    n_threads: int
    key: Key

    def coins(self, number: int, threshold: Threshold) -> BoolArray:
        """Which units take part in round ``number``, each by its own secret coin."""

    def close(self) -> None:
        """Release threads or connections."""


class WordEngine(_Units, Protocol):
    """Sizes and word counts of all units."""

    def size_histogram(self, n_bins: int) -> IntArray:
        """How many units are in each bin: a unit is in bin 4·log₂ of the norm of its word counts, rounded down."""

    def word_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        """The word counts of all units, times ``word_weights``, each unit's clipped and cut to whole numbers, added
        up. Weights and ``clip`` are in steps of the grid."""


class SliceEngine(Protocol):
    """Topic proportions of all units by slice. Nothing is random."""

    n_words: int
    n_slices: int
    n_threads: int

    def proportions(
        self, topics: FloatArray, alpha: FloatArray, *, alpha_rest: float | None = None, scale: float, clip: float
    ) -> IntArray:
        """The proportions of ``topics``, topic × word, in all units, slice × topic, times ``scale``, each unit's
        clipped and rounded to whole numbers, added up. ``scale`` and ``clip`` are in steps of the grid.

        A unit in n slices contributes 1/√n of its proportions in each. Documents in no slice contribute nothing.
        """

    def close(self) -> None:
        """Release threads or connections."""


class UnitEngine(WordEngine, Protocol):
    """Rounds without state: each is one map over units and one sum of whole numbers.

    A round is a function of the tokens of the units that take part, the key, its number and its tables.
    What a unit adds to the sum depends on no other unit, nor on which others take part.
    """

    def residuals(self, given: Round, *, cell_weights: Table, background: Table, clip: float) -> IntArray:
        """The contributions of the units that take part, added up, word × topic.

        A unit contributes cell_weights · (its expected counts − its word counts · background), shrunk to ℓ₂ norm
        ``clip`` where it is longer and cut to whole numbers: their squares, added up as integers, are at most ⌊clip²⌋.
        ``cell_weights`` and ``clip`` are in steps of the grid.
        """


class ProportionEngine(UnitEngine, Protocol):
    """Rounds, and besides them the use of words and of topics by all units."""

    def root_counts(self, word_weights: FloatArray, clip: float) -> IntArray:
        """As ``word_counts``, with the square root of each count: a word that a unit repeats says less the more often
        it is repeated."""

    def proportions(self, topics: FloatArray, alpha: FloatArray, *, scale: float, clip: float) -> IntArray:
        """The proportions of ``topics``, topic × word, in all units, times ``scale``, each unit's clipped and cut to
        whole numbers, added up. ``scale`` and ``clip`` are in steps of the grid."""


class VariationalUnitEngine(UnitEngine, Protocol):
    """Local steps are variational, without random draws; ``weights`` are exp(E[log φ]) up to a constant."""

    def expected(self, given: Round) -> tuple[FloatArray, int]:
        """The expected counts of the units that take part, added up without a clip, word × topic, and the number of
        these units. For models that promise nothing."""


class KeptUnitEngine(_Units, Protocol):
    """Rounds in which units keep the topics of their tokens between rounds, as SUB-LDA does. The first topics are
    uniform.

    The topics are private state: a checkpoint has to hold them.
    """

    def shares(self, cells: BoolArray) -> FloatArray:
        """For each unit, the share of its tokens whose word and topic are marked in ``cells``, word × topic."""

    def contributions(self, given: Round, *, word_weights: FloatArray, clip: float) -> IntArray:
        """The topic counts of the units that take part, after their sweeps, added up, word × topic. A unit's counts are
        multiplied by ``word_weights``, clipped and cut as in :class:`UnitEngine`."""

    def state(self) -> dict[str, AnyArray]:
        """For a checkpoint: every token and its topic. Private."""

    def restore(self, saved: Mapping[str, AnyArray]) -> None:
        """Continue from a :meth:`state` of the same documents."""


class MomentEngine(Protocol):
    """Counts of each document, grouped by unit, and sums of word moments over them. Nothing is kept between calls.

    Sums of floats (:meth:`cubes`) are added in pieces that do not depend on the number of threads. A ``table`` is y,
    word × k; of a symmetric tensor of k³ cells each distinct cell is returned once.
    """

    n_words: int
    n_units: int
    n_threads: int
    lengths: IntArray
    """Of each document; 0 for those shorter than SHORTEST. Private."""

    def matrix(self) -> sp.csr_matrix:
        """Counts, document × word. For models that promise nothing."""

    def cubes(self, table: FloatArray) -> FloatArray:
        """Σ M₃(y, y, y) over all documents. For models that promise nothing."""

    def directions(self, clip: float) -> IntArray:
        """Σ M₁ over units, each scaled to norm ``clip``, in steps of a grid."""

    def norms(self, word_weights: FloatArray) -> FloatArray:
        """‖M₁‖ and ‖M₂‖ of each unit, unit × 2, with words weighted."""

    def moments(
        self, word_weights: FloatArray, steps: tuple[float, float], clips: tuple[float, float]
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Σ w·M₁ and Σ w·M₂ (each pair of words once) in ``steps`` of their grids, and each unit's w: the largest value
        up to 1 with which both are within ``clips``."""

    def triple_sizes(self, table: FloatArray, weights: FloatArray) -> FloatArray:
        """About the norm of each unit's w·M₃(y, y, y)."""

    def triples(self, table: FloatArray, weights: FloatArray, steps: float, clip: float) -> IntArray:
        """Σ w·M₃(y, y, y), each unit's shrunk to ``clip``, in ``steps`` of a grid."""

    def close(self) -> None:
        """Release threads or connections."""
