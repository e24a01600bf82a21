"""Campaign: everything that a client must know before it may send a report. All of it is public.

A campaign never changes once it exists. Its ``digest`` covers every field that a client acts on, so a client that has
reported once can notice a server that hands out another threshold or other words under the same name.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from discreet._errors import InputError
from discreet.corpus.tokenizer import LETTERS_A_TO_Z, Tokenizer
from discreet.corpus.vocabulary import Vocabulary
from discreet.mechanisms.local import RandomisedResponse

Words = Literal["english", "letters"]
"""How text becomes words. ``english``: runs of three or more letters a–z that touch no other letter, digit or
underscore. ``letters``: the same for letters of any alphabet. Text is lower-cased first. No pattern of the operator's
own: regular expressions mean different things in Python and in a browser, and both clients must find the same words."""

PATTERNS: dict[str, str] = {"english": LETTERS_A_TO_Z, "letters": r"\b[^\W\d_]{3,}\b"}
"""As in ``web/client.js``; a test compares them in a browser."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
MAX_WORDS_OF_VOCABULARY = 100_000
MAX_LETTERS = 100
MAX_REMARK = 2_000
DAY = 86_400

_NUMBERS = {
    "n_topics": (1, 1_000),
    "window_reports": (1, 10_000_000),
    "window_seconds": (60, 366 * DAY),
    "min_reports": (1, 10_000_000),
    "retention_days": (1, 3_660),
    "reports_per_client": (1, 1_000_000),
    "reports_per_minute": (1, 100_000_000),
}
"""The range of each whole number."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """One question that is asked of many devices: which of these public words does your text hold?"""

    name: str
    """Part of addresses: lower-case letters, digits and hyphens."""
    vocabulary: Vocabulary
    threshold: int
    """A bit flips when 32 random bits, read as a number, are below it (see ``mechanisms/local.py``)."""
    max_words: int | None = 50
    """The largest number of different words that a client reports of one text; None for no limit."""
    words: Words = "english"
    n_topics: int = 20
    window_reports: int = 1_000
    """A window closes when it has this many reports,"""
    window_seconds: int | None = None
    """or when its first report is this old; None: by size only."""
    min_reports: int = 100
    """A window never closes by age with fewer reports than this: a model update from a handful tells nothing."""
    retention_days: int = 30
    """A report that has been trained on is deleted after this many days. So is the memory of its nonce."""
    reports_per_client: int = 100
    """How many different texts a client reports at most. Clients keep to it; the server cannot check it, because it
    does not know who sent a report."""
    reports_per_minute: int = 6_000
    """The most reports that the server takes with one write token."""
    remark: str = ""
    """The operator's own words, shown beside the computed privacy statement: purpose, contact, legal basis."""

    response: RandomisedResponse = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise InputError(
                "the name of a campaign must be 1 to 64 lower-case letters a-z, digits and hyphens, without a hyphen "
                f"at either end; found {self.name!r:.80}."
            )
        if self.words not in get_args(Words):
            raise InputError(f"words must be one of {', '.join(get_args(Words))}; found {self.words!r:.80}.")
        if not isinstance(self.vocabulary, Vocabulary):
            object.__setattr__(self, "vocabulary", Vocabulary(self.vocabulary, "public"))
        self._check_vocabulary()
        for name, (low, high) in _NUMBERS.items():
            value = getattr(self, name)
            if value is None and name == "window_seconds":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(f"{name} must be a whole number from {low:,} to {high:,}; found {value!r:.80}.")
        if not isinstance(self.remark, str) or len(self.remark) > MAX_REMARK:
            raise InputError(f"the remark must be text of at most {MAX_REMARK:,} characters.")
        response = RandomisedResponse(threshold=self.threshold, n_words=len(self.vocabulary), max_words=self.max_words)
        object.__setattr__(self, "response", response)

    def _check_vocabulary(self) -> None:
        words = self.vocabulary
        if words.origin not in ("public", "unknown"):
            raise InputError(
                f"the vocabulary of a campaign is published, and this one has the origin {words.origin!r}. Give words "
                "that are known without the text."
            )
        if len(words) > MAX_WORDS_OF_VOCABULARY:
            raise InputError(
                f"a campaign has at most {MAX_WORDS_OF_VOCABULARY:,} words; found {len(words):,}. Every word is one "
                "more random bit in every report, so fewer words give better topics."
            )
        for word in words:
            if len(word) > MAX_LETTERS or not self.tokenizer.finds(word):
                raise InputError(
                    f"no text can hold the word {word!r:.120}: it is not what words={self.words!r} finds. Remove it."
                )

    # --- what clients do ---------------------------------------------------------------------------------------------

    @property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(pattern=PATTERNS[self.words], lowercase=True, stop_words=None)

    def columns_of(self, text: str) -> list[int]:
        """The numbers of the vocabulary's words in the text, each once, in rising order."""
        columns = self.vocabulary.columns
        return sorted({columns[word] for word in self.tokenizer.words_of(text) if word in columns})

    # --- identity ----------------------------------------------------------------------------------------------------

    @cached_property
    def vocabulary_hash(self) -> str:
        """SHA-256 of the words in their order, one per line. A report carries it: bits mean nothing without it."""
        return hashlib.sha256("".join(f"{word}\n" for word in self.vocabulary).encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that clients act on. The remark, the rate and the server's own housekeeping are left out."""
        acted_on = {
            "name": self.name,
            "vocabulary": self.vocabulary_hash,
            "threshold": self.threshold,
            "max_words": self.max_words,
            "words": self.words,
            "reports_per_client": self.reports_per_client,
        }
        return hashlib.sha256(json.dumps(acted_on, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The fields, with the vocabulary as a list of words."""
        plain = {name: getattr(self, name) for name in FIELDS}
        return {**plain, "vocabulary": list(self.vocabulary)}

    @classmethod
    def from_json(cls, value: Any) -> Campaign:
        """What `to_json` returned, checked again. Fields that have a default may be missing."""
        if not isinstance(value, dict):
            raise InputError(f"a campaign must be an object with named fields; found {type(value).__name__}.")
        strange = sorted(str(name) for name in value if name not in FIELDS)
        missing = sorted({"name", "vocabulary", "threshold"} - set(value))
        if strange or missing:
            wrong = f"has no field {strange[0]!r:.80}" if strange else f"needs the field {missing[0]!r}"
            raise InputError(f"a campaign {wrong}. Its fields are {', '.join(FIELDS)}.")
        words = value["vocabulary"]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError("the vocabulary of a campaign must be a list of words.")
        return cls(**{**value, "vocabulary": Vocabulary(words, "public")})


FIELDS = tuple(name for name, about in Campaign.__dataclass_fields__.items() if about.init)
