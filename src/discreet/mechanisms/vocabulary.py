"""Private selection of words: chosen from private text so that no word reveals the one unit that used it.

Every unit (a document, or all documents of a user) spreads a weight of ℓ₂ norm 1 over its different words, noise is
added to the sum of each word, and words above a threshold are released. Two methods:

* one round: the weighted Gaussian of Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin (*Differentially private set
  union*, 2020). Weight 1/√t on each of t ≤ Δ₀ words, threshold ρ = max_t [1/√t + σ·Φ⁻¹((1−δ₂)^{1/t})].
* several rounds, the default: in each of T rounds a unit uses its whole norm again, and only for words that are
  undecided. It comes from DP-SIPS (Swanberg, Desfontaines and Haney 2023), where units drop words that were released.
  Ours differs: (1) a word's noisy weights are *added up* over the rounds, and the sum is compared with the threshold of
  that round, so that rounds without success are not lost; the noise of the last sum is that of one round at the same
  budget; (2) words whose sum is hopelessly low are dropped as well, without being reported: these are most of the words
  of a language, and their weight goes to words that may still pass; (3) rounds are equal, while in DP-SIPS budgets
  grow; (4) the threshold allows the weight 1, not 1/√t, for each of Δ₀ words, because words are dropped between rounds.

Neither method uses global counts. Proof: ``vocabulary.proof.md``, which names lines of this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import BoolArray, Int32Array, IntArray
from discreet.kernels.sums.word_weights import add_weights, distinct_words
from discreet.kernels.sweeps.shuffle import shuffle_numbered
from discreet.mechanisms.release import Releases
from discreet.privacy.calibrate import vocabulary, vocabulary_threshold
from discreet.privacy.events import Entry, ThresholdedVocabulary
from discreet.privacy.ledger import Budget, Reservation

ROUNDS = 10
"""More gain little (arXiv, ε = 0.5, a prototype: 5,850 words with 8, 5,960 with 10, 6,090 with 16); each reads all
words once."""

HOPELESS = 2.5
"""A word is dropped when its sum is this many standard deviations below the line to the last threshold."""

SCALE = 16384.0
"""The noise of one round, in steps of the grid."""

THRESHOLD_SHARE = 0.1
"""Share of δ for the words that only one unit has. The threshold hardly depends on it, and these shares add up over the
selections and models of one ledger, so it is small."""


@dataclass(frozen=True)
class VocabularyPlan:
    """What is decided before the text is touched, and what it costs."""

    event: ThresholdedVocabulary
    rounds: int
    epsilon: float
    """The ε of the whole selection, at the δ of the budget."""

    @classmethod
    def make(
        cls, budget: Budget, *, rerouting: bool = True, max_words: int = 100, share: float = 1.0
    ) -> VocabularyPlan:
        """A plan with the least noise within ``budget``; with ``share`` < 1, within that share of it as precision
        (1/σ²)."""
        rounds = ROUNDS if rerouting else 1
        outside = budget.delta * THRESHOLD_SHARE
        found = vocabulary(budget, rounds=rounds, max_words=max_words, delta_threshold=outside, scale=SCALE)
        event = found.plan[0].event
        assert isinstance(event, ThresholdedVocabulary)
        if share < 1:
            event = type(event)(
                sigma=event.sigma / math.sqrt(share),
                delta_threshold=event.delta_threshold,
                max_words=max_words,
                scale=SCALE,
            )
        if SCALE / event.sigma < math.sqrt(max_words):
            raise InputError(
                f"epsilon={budget.epsilon:g} is so small that {max_words} words per unit would be only noise. "
                "Use a larger epsilon, or fewer words per unit."
            )
        plan = cls(event, rounds, found.epsilon)
        return plan if share == 1 else cls(event, rounds, plan.spent(budget.delta))

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (Entry(self.event, self.rounds, "vocabulary"),)

    def spent(self, delta: float) -> float:
        from discreet.privacy.accounting import epsilon

        return epsilon(self.entries, delta)

    @property
    def norm(self) -> float:
        """The weight 1, in steps of the grid."""
        return SCALE / self.event.sigma

    @property
    def weights(self) -> IntArray:
        """Weights in whole steps, for a unit of t words: the largest m with t·m² ≤ norm²."""
        limit = math.floor(self.norm * self.norm)
        found = [0, *(math.isqrt(limit // t) for t in range(1, self.event.max_words + 1))]
        if any(t * m * m > limit for t, m in enumerate(found)):  # [norm] in whole numbers of any size
            raise InputError("the weights of a unit exceed their norm: a programming error, nothing was drawn.")
        return np.array(found, np.int64)

    def threshold(self, number: int) -> int:
        """The threshold of the sum after round ``number``, in steps."""
        if self.rounds == 1:
            rho = vocabulary_threshold(
                self.event.sigma, self.event.delta_threshold, self.event.max_words, scale=self.event.scale
            )
            return math.ceil(rho * self.norm)
        from scipy.special import ndtri

        one = -math.expm1(math.log1p(-self.event.delta_threshold) / self.event.max_words)
        deviations = -float(ndtri(one))
        return math.ceil(number * self.norm + SCALE * math.sqrt(number) * deviations) + 1  # [threshold]

    def units_for_a_word(self, n_different: int = 1) -> int:
        """How many units with ``n_different`` different words each must share a word for it to be selected.

        Ignores the noise, which matters within a few deviations of the threshold, and the weight that a unit regains
        when others of its words are decided. With one word per unit nothing is regained, so no word needs fewer units.
        """
        weight = int(self.weights[min(n_different, self.event.max_words)])
        return math.ceil(self.threshold(self.rounds) / (self.rounds * weight))

    def hopeless(self, number: int) -> float:
        """Words below this after round ``number`` are dropped; none after the last round, when all is decided."""
        way = number / self.rounds * self.threshold(self.rounds)
        return way - HOPELESS * SCALE * math.sqrt(number)


def words_of_units(
    words: Int32Array, offsets: IntArray, units: IntArray, n_words: int, key: Key, first: int = 0
) -> tuple[Int32Array, IntArray]:
    """Each unit's different words in an order given by its own coins, one unit after another, and where each unit
    ends. Unit 0 of these is unit ``first`` of all, which decides its coins."""
    n_units = int(units.max(initial=-1)) + 1
    ends = np.zeros(n_units, np.int64)
    found = np.empty(len(words), np.int32)
    order = np.argsort(units, kind="stable")
    last_seen = np.full(n_words, -1, np.int64)
    size = distinct_words(words, offsets, order, units, last_seen, found, ends)  # [unit] the union over its documents
    found = np.ascontiguousarray(found[:size])
    starts = np.concatenate([[0], ends])
    numbers = np.arange(first, first + n_units)
    shuffle_numbered(found, starts, numbers, key.words, np.uint32(Purpose.WORD_CHOICE), np.uint32(0))  # [choice]
    return found, ends


def _within_cap(ends: IntArray, max_words: int) -> BoolArray:
    """Which of the units' words count: the first ``max_words`` of each."""
    starts = np.concatenate([[0], ends])
    return np.asarray(np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts)) < max_words)


@dataclass(frozen=True)
class Selected:
    """Words by number, best first: by the round in which they were released, then by the larger noisy weight.

    ``rounds`` says in which round each was released, ``weights`` its noisy sum then. All of it may be published.
    """

    words: IntArray
    rounds: IntArray
    weights: IntArray


def select_words(
    unit_words: Int32Array,
    ends: IntArray,
    n_words: int,
    plan: VocabularyPlan,
    reservation: Reservation,
    key: Key,
    *,
    after_round: Callable[[], object] = lambda: None,
) -> Selected:
    """Charge and draw round by round. The result may be published, and nothing else is kept."""
    summed = partial(sum_of_units, unit_words, ends, n_words, plan)
    return select_by_sums(summed, n_words, plan, reservation, key, after_round=after_round)


def sum_of_units(
    unit_words: Int32Array, ends: IntArray, n_words: int, plan: VocabularyPlan, wanted: BoolArray | None
) -> IntArray:
    """The weights that units give to words that are still ``wanted``; None: how many units each word counts for."""
    cells = np.zeros(n_words, np.int64)
    if wanted is None:
        np.add.at(cells, unit_words[_within_cap(ends, plan.event.max_words)], 1)
    else:
        add_weights(unit_words, ends, plan.event.max_words, wanted, plan.weights, cells)
    return cells


def select_by_sums(
    summed: Callable[[BoolArray | None], IntArray],
    n_words: int,
    plan: VocabularyPlan,
    reservation: Reservation,
    key: Key,
    *,
    after_round: Callable[[], object] = lambda: None,
) -> Selected:
    """As `select_words`, where ``summed`` is `sum_of_units` over all units, wherever these are."""
    releases = Releases(reservation, key)
    wanted: BoolArray = summed(None) > 0  # [counted] no other word passes by noise alone
    total = np.zeros(n_words, np.int64)
    left_in, left_with = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    for number in range(1, plan.rounds + 1):
        total += releases.release(summed(wanted), plan.event)  # [every-word]
        passes = wanted & (total > plan.threshold(number))  # [pass]
        left_in[passes], left_with[passes] = number, total[passes]
        wanted &= ~passes & (total >= plan.hopeless(number))  # [drop]
        after_round()
    chosen = np.flatnonzero(left_in)
    best = chosen[np.lexsort((chosen, -left_with[chosen], left_in[chosen]))]
    return Selected(best, left_in[best], left_with[best])
