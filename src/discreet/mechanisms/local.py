"""Randomised response on word-presence bits: what leaves a client's device in the local model.

>>> response = RandomisedResponse.for_epsilon(2.0, n_words=1000)
>>> response.report([3, 17, 950]) == response.report([3, 17, 950])  # 125 random bytes each
False

A client has one bit per word of a public vocabulary: does the document hold the word? Each bit is flipped independently
with probability f/2 and sent (Zhao et al. 2021, section V-A; f is theirs, and that of RAPPOR, Erlingsson, Pihur and
Korolova 2014). The server sees nothing else.

**The probability is an integer.** A bit flips when 32 random bits, read as a number, are below ``threshold``: with
probability threshold/2³², exactly. f and ε are computed from the threshold and never the other way round, so that
clients in any language agree with what is printed.

**What it promises** (proof: ``local.proof.md``, which names lines of this file; as a Guarantee:
``models/local/promise.py``). ε_bit = ln((2−f)/f) for one word of a
document, min(V, 2ℓ)·ε_bit for the whole document, where ℓ = ``max_words`` is the largest number of different words that
a client reports (V if there is no limit). A limit helps the document and costs the word: in a document that has more
words, one word more also drives another one out, and ε for one word is ln(1 + ℓ/(ℓ+1)·(e^{2ε_bit} − 1)), nearly
2ε_bit.

**Bytes.** A report has ⌈V/8⌉ bytes. Bit w stands in byte w // 8, with the value 2^(w % 8): the least significant bit
comes first. The bits after the last word are zero.

**Randomness** comes from the operating system, a fresh key for every call. A seed is for tests; then nothing is
promised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet._types import FloatArray, Int32Array, IntArray, UInt8Array, UInt64Array
from discreet.kernels.noise.flips import DRAWS, PLACE, REPORT, SCRATCH_SIZE, TIE, flip_bits, set_bits
from discreet.kernels.sums.word_weights import distinct_words
from discreet.kernels.sweeps.shuffle import shuffle_documents
from discreet.kernels.sweeps.slots import aligned

ONE = 2**32
"""The threshold that would flip every bit."""

_CHUNK = 1 << 25
"""Bits that are unpacked at a time: 32 MB."""


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse:
    """How the reports of one campaign are randomised. Everything here is public.

    ``threshold``: a bit flips with probability threshold/2³², below 1/2. ``n_words``: the size V of the public
    vocabulary. ``max_words``: ℓ, the largest number of different words that a client reports; a client with more
    chooses ℓ of them with its own coins.
    """

    threshold: int
    n_words: int
    max_words: int | None = None

    def __post_init__(self) -> None:
        if not _is_whole(self.threshold) or not 1 <= self.threshold < ONE // 2:
            raise InputError(
                f"the flip threshold must be a whole number from 1 to 2^31 - 1, for a probability of threshold/2^32; "
                f"found {self.threshold!r}."
            )
        if not _is_whole(self.n_words) or not 1 <= self.n_words < 2**31:
            raise InputError(f"n_words must be a whole number of at least 1; found {self.n_words!r}.")
        if self.max_words is not None and (not _is_whole(self.max_words) or self.max_words < 1):
            raise InputError(f"max_words must be a whole number of at least 1, or None; found {self.max_words!r}.")

    @classmethod
    def for_epsilon(cls, epsilon_bit: float, n_words: int, max_words: int | None = None) -> RandomisedResponse:
        """The smallest threshold whose ε per bit is at most ``epsilon_bit``: f = 2/(e^ε + 1)."""
        if isinstance(epsilon_bit, bool) or not isinstance(epsilon_bit, int | float) or not 0 < epsilon_bit < math.inf:
            raise InputError(f"epsilon_bit must be a positive number; found {epsilon_bit!r}.")
        flip = 1 / (math.exp(min(epsilon_bit, 700)) + 1)
        threshold = math.ceil(flip * ONE)
        if threshold >= ONE // 2:
            raise InputError(f"epsilon_bit={epsilon_bit:g} is so small that reports would be only noise. Raise it.")
        while bit_epsilon(threshold) > epsilon_bit and threshold < ONE // 2 - 1:  # [threshold] floats may round down
            threshold += 1
        return cls(threshold=threshold, n_words=n_words, max_words=max_words)

    @classmethod
    def for_flip(cls, f: float, n_words: int, max_words: int | None = None) -> RandomisedResponse:
        """The papers' f, the share of the bits that are replaced by a fair coin: a bit flips with probability f/2."""
        if isinstance(f, bool) or not isinstance(f, int | float) or not 0 < f < 1:
            raise InputError(f"f must be above 0 and below 1; found {f!r}.")
        return cls(threshold=min(math.ceil(f / 2 * ONE), ONE // 2 - 1), n_words=n_words, max_words=max_words)

    # --- what it is, and what it promises ---------------------------------------------------------------------------

    @property
    def flip(self) -> float:
        """The probability that a bit flips, exactly."""
        return self.threshold / ONE

    @property
    def f(self) -> float:
        """The papers' f: twice the probability of a flip."""
        return 2 * self.threshold / ONE

    @property
    def epsilon_bit(self) -> float:
        """ε of one bit as it is sent: ln((2−f)/f)."""
        return bit_epsilon(self.threshold)

    @property
    def capped(self) -> bool:
        """Whether the limit on the number of words can take effect."""
        return self.max_words is not None and self.max_words < self.n_words

    @property
    def epsilon_word(self) -> float:
        """ε when one word is added to the document or taken from it."""
        if not self.capped:
            return self.epsilon_bit
        assert self.max_words is not None
        share = self.max_words / (self.max_words + 1)
        twice = 2 * self.epsilon_bit  # [swap] ln(1 + share·(e^twice − 1)), without overflow
        return twice + math.log(share + (1 - share) * math.exp(-twice))

    @property
    def n_bits(self) -> int:
        """In how many bits two documents can differ, as they are reported."""
        return min(self.n_words, 2 * self.max_words) if self.max_words is not None else self.n_words  # [differ]

    @property
    def epsilon_report(self) -> float:
        """ε when the whole document is replaced by another."""
        return self.n_bits * self.epsilon_bit

    # --- the client -------------------------------------------------------------------------------------------------

    @property
    def n_bytes(self) -> int:
        """The size of a report."""
        return -(-self.n_words // 8)

    def report(self, words: Sequence[int], random_state: Any = None) -> bytes:
        """One document's report, from the numbers of its words; order and repetitions do not matter."""
        numbers = np.asarray(words, np.int64).reshape(-1)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.n_words:
            raise InputError(f"word numbers must lie between 0 and {self.n_words - 1}. Leave out other words.")
        offsets = np.array([0, len(numbers)], np.int64)
        return self.randomise(numbers.astype(np.int32), offsets, random_state).tobytes()

    def randomise(self, words: Int32Array, offsets: IntArray, random_state: Any = None) -> UInt8Array:
        """Reports of many documents, one row each; document m holds ``words[offsets[m]:offsets[m + 1]]``.

        A fresh key for every call: two calls on the same documents are two reports of each, and their ε add up. A key
        that a caller gives is used for nothing but one call.
        """
        key = random_state if isinstance(random_state, Key) else Key.open(random_state)  # [key] fresh unless seeded
        n = len(offsets) - 1
        packed = np.zeros((n, self.n_bytes), np.uint8)
        if self.capped:
            assert self.max_words is not None
            units, ends = np.arange(n, dtype=np.int64), np.zeros(n, np.int64)
            kept = np.empty(len(words), np.int32)
            last_seen = np.full(self.n_words, -1, np.int64)
            size = distinct_words(words, offsets, units, units, last_seen, kept, ends)
            kept = np.ascontiguousarray(kept[:size])
            starts = np.concatenate([np.zeros(1, np.int64), ends])
            shuffle_documents(kept, starts, key.words, np.uint32(Purpose.KEPT_WORDS), np.uint32(0))  # [own-coins]
            set_bits(kept, starts[:-1], np.minimum(starts[1:], starts[:-1] + self.max_words), packed)  # [kept]
        else:
            set_bits(words, offsets[:-1], offsets[1:], packed)
        _flip(packed, self.n_words, self.threshold, key)  # [flip] every bit, also of words that are not there
        return packed

    # --- the server: all of this is arithmetic on what was sent -----------------------------------------------------

    def check(self, body: bytes) -> None:
        """Refuse what cannot be a report."""
        if len(body) != self.n_bytes:
            raise InputError(f"a report about {self.n_words:,} words has {self.n_bytes:,} bytes; found {len(body):,}.")
        rest = self.n_words % 8
        if rest and body[-1] >> rest:
            raise InputError(f"the last {8 - rest} bits of a report about {self.n_words:,} words must be zero.")

    def rows(self, packed: UInt8Array | bytes) -> UInt8Array:
        """Reports as rows of bytes, checked; bytes may hold several reports, one after another."""
        if isinstance(packed, bytes | bytearray | memoryview):
            found = np.frombuffer(packed, np.uint8)
            if len(found) % self.n_bytes:
                raise InputError(f"reports have {self.n_bytes:,} bytes each; found {len(found):,} bytes in all.")
            packed = found.reshape(-1, self.n_bytes)
        if not isinstance(packed, np.ndarray) or packed.dtype != np.uint8 or packed.ndim != 2:
            raise InputError("reports must be bytes, or a uint8 array with one row for each.")
        if packed.shape[1] != self.n_bytes:
            raise InputError(
                f"a report about {self.n_words:,} words has {self.n_bytes:,} bytes; found {packed.shape[1]:,}."
            )
        rest = self.n_words % 8
        if rest and (packed[:, -1] >> rest).any():
            raise InputError(f"the last {8 - rest} bits of a report about {self.n_words:,} words must be zero.")
        return packed

    def count(self, packed: UInt8Array | bytes) -> IntArray:
        """How many reports have each bit set: the papers' n_t."""
        rows = self.rows(packed)
        counts = np.zeros(self.n_words, np.int64)
        step = max(1, _CHUNK // self.n_words)
        for first in range(0, len(rows), step):
            bits = np.unpackbits(rows[first : first + step], axis=1, count=self.n_words, bitorder="little")
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts

    def words(self, packed: UInt8Array | bytes) -> tuple[Int32Array, IntArray]:
        """The set bits of each report in rising order, and where each report begins and ends: a corpus."""
        rows = self.rows(packed)
        found: list[Int32Array] = []
        lengths: list[IntArray] = []
        step = max(1, _CHUNK // self.n_words)
        for first in range(0, len(rows), step):
            bits = np.unpackbits(rows[first : first + step], axis=1, count=self.n_words, bitorder="little")
            found.append(np.nonzero(bits)[1].astype(np.int32))
            lengths.append(bits.sum(axis=1, dtype=np.int64))
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.concatenate([*lengths, np.empty(0, np.int64)]), out=offsets[1:])
        return np.concatenate([*found, np.empty(0, np.int32)]), offsets

    def estimate(self, counts: IntArray | FloatArray, n_reports: int) -> FloatArray:
        """Unbiased estimates of how many reporting documents hold each word: N̂_t = (2n_t − fM)/(2(1−f)).

        With ``max_words``, of how many clients kept it. Estimates may be negative or above M; to clamp them biases
        them.
        """
        return np.asarray((2 * np.asarray(counts, np.float64) - self.f * n_reports) / (2 * (1 - self.f)))

    def variance(self, n_reports: int) -> float:
        """The variance of each estimate around the true number: f(2−f)M/(4(1−f)²), whatever that number is."""
        return self.f * (2 - self.f) * n_reports / (4 * (1 - self.f) ** 2)

    def to_json(self) -> dict[str, int | None]:
        """The three numbers that a client needs."""
        return {"threshold": self.threshold, "n_words": self.n_words, "max_words": self.max_words}

    @classmethod
    def from_json(cls, value: Any) -> RandomisedResponse:
        """What `to_json` returned, checked again."""
        if not isinstance(value, dict) or set(value) != {"threshold", "n_words", "max_words"}:
            raise InputError("a randomised response has exactly the fields threshold, n_words and max_words.")
        return cls(**value)


def bit_epsilon(threshold: int) -> float:
    """ln((2−f)/f) for f = 2·threshold/2³²."""
    return math.log((ONE - threshold) / threshold)


@lru_cache(maxsize=16)
def _table(threshold: int, n_words: int) -> tuple[UInt64Array, IntArray]:
    """q¹ … q^n in 64 places, rounded down, and the guide of ``kernels/noise/flips.py``; q = 1 − threshold/2³².

    n is such that q^n is about 1/16 or less: fewer would need more draws, more a longer search.
    """
    n = min(n_words, max(4, math.ceil(-math.log(16) / math.log1p(-threshold / ONE))), 4096)
    powers, exact = [], 1
    for i in range(1, n + 1):
        exact *= ONE - threshold
        powers.append(exact << 64 >> 32 * i)  # [powers] integers of any size: no rounding but the last
    table = np.array(powers, np.uint64)
    ends = (np.arange(1, 257, dtype=object) << 56) - 1
    guide = np.array([int(np.sum(table > np.uint64(int(end)))) for end in ends], np.int64)
    return table, guide


def _flip(packed: UInt8Array, n_words: int, threshold: int, key: Key) -> None:
    powers, guide = _table(threshold, n_words)
    state, scratch = np.zeros(4, np.int64), aligned(SCRATCH_SIZE, np.uint32)
    ties = 0
    while True:
        flip_bits(packed, n_words, powers, guide, key.words, np.uint32(Purpose.FLIPS), state, scratch)
        if state[TIE] < 0:
            return
        g, m, place = int(state[TIE]), int(state[REPORT]), int(state[PLACE])
        ties += 1
        if _is_below(int(powers[g]), g + 1, threshold, key, ties):  # [tie]
            g += 1
        place += g
        if g < len(powers) and place < n_words:
            packed[m, place >> 3] ^= np.uint8(1 << (place & 7))
            place += 1
        state[PLACE] = place
        assert state[DRAWS] > 0


def _is_below(first: int, exponent: int, threshold: int, key: Key, tie: int) -> bool:
    """Whether U < q^exponent, when the first 64 places of both are ``first``: by all places that q^exponent has."""
    places = max(32 * exponent, 64)
    further = key.bits(Purpose.FLIPS_FURTHER, tie, 0, (places - 64) // 32)
    for word in further:
        first = (first << 32) | int(word)
    exact: int = (ONE - threshold) ** exponent
    return first < exact << (places - 32 * exponent)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
