"""Keyed randomness: one key, from the operating system or from a seed, and a number for each purpose.

A draw is a pure function of ``(key, purpose, sweep, document, position)`` (see ``kernels/stream.py``). Draws that must
be independent have different purposes: no two purposes ever read the same place of the stream.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from enum import IntEnum
from numbers import Integral
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import UInt32Array


class Purpose(IntEnum):
    """What a draw is for. Numbers are never reused."""

    TOKEN_ORDER = 1  # the secret slot of each token
    FIRST_TOPICS = 2
    SWEEP = 3  # topics drawn in training
    COMPLETION_SPLIT = 5  # evaluation: which half of a document is observed
    ROUND_START = 6  # the topics that the tokens of a unit start a round with
    EVIDENCE = 7  # evaluation: topics drawn from left to right through a document
    RECONSTRUCTION = 8  # the server of the local model: which reports are changed
    CORRELATION = 9  # OnlineLDA: how alike batches are
    DOCUMENT_COUNTS = 10  # collapsed steps: how far a document's topic counts are from expected ones
    INCLUSION = 16  # which units take part in a round
    NOISE = 17  # privacy noise
    WORD_CHOICE = 18  # which of its words a unit counts in a private vocabulary
    FLIPS = 19  # which bits of a report are flipped
    FLIPS_FURTHER = 20  # more bits of a draw that its first 64 cannot decide
    KEPT_WORDS = 21  # which of its words a client reports


@dataclass(frozen=True, eq=False)
class Key:
    """256 secret bits. ``seeded`` says that they are not secret: a seeded run promises nothing."""

    words: UInt32Array = field(repr=False)
    seeded: bool

    @classmethod
    def fresh(cls) -> Key:
        """From the operating system: unpredictable, never the same twice."""
        return cls(np.frombuffer(os.urandom(32), dtype="<u4").astype(np.uint32), seeded=False)

    @classmethod
    def from_seed(cls, seed: int) -> Key:
        """From a number, for tests and demonstrations: the same seed gives the same draws on every machine."""
        digest = hashlib.sha256(f"discreet seed {int(seed)}".encode()).digest()
        return cls(np.frombuffer(digest, dtype="<u4").astype(np.uint32), seeded=True)

    @classmethod
    def open(cls, random_state: Any = None) -> Key:
        """scikit-learn's ``random_state``: None is a fresh key, an integer a seed, a RandomState gives a seed."""
        if random_state is None:
            return cls.fresh()
        if isinstance(random_state, Integral):
            return cls.from_seed(int(random_state))
        if isinstance(random_state, np.random.RandomState):
            return cls.from_seed(int(random_state.randint(2**31 - 1)))
        if isinstance(random_state, np.random.Generator):
            return cls.from_seed(int(random_state.integers(2**63)))
        raise InputError(
            f"random_state must be None, an integer or a numpy generator; found {random_state!r}. "
            "Omit it for a fresh secret key."
        )

    def renewed(self, number: int) -> Key:
        """The key of a resumed run, which repeats none of the draws made before the interruption."""
        if not self.seeded:
            return Key.fresh()
        digest = hashlib.sha256(self.words.astype("<u4").tobytes() + f"renewed {int(number)}".encode()).digest()
        return Key(np.frombuffer(digest, dtype="<u4").astype(np.uint32), seeded=True)

    def generator(self, purpose: Purpose, sweep: int) -> np.random.Generator:
        """A numpy generator, seeded with bits of this purpose and sweep. Never with the key itself: whoever computed
        the seed from the draws would know a part of the key that the noise depends on."""
        return np.random.Generator(np.random.PCG64(self.bits(purpose, sweep, 0, 8).tolist()))

    def bits(self, purpose: Purpose, sweep: int, document: int, n: int, first: int = 0) -> UInt32Array:
        """``n`` 32-bit draws of one document, from position ``first`` on."""
        from discreet.kernels.stream import BLOCK, GROUP, fill_document

        block, before = divmod(first, BLOCK)
        places = np.empty(32, np.uint32)
        out = np.empty(-(-(before + n) // GROUP) * GROUP, np.uint32)
        stream = (self.words, np.uint32(purpose), np.uint32(sweep), np.uint32(document))
        fill_document(*stream, block, places, 0, out, 0, len(out))
        return out[before : before + n]
