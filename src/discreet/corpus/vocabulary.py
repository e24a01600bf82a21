"""Vocabulary: the words of a corpus, where they come from and what they cost. Readers and builders choose them here."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np

from discreet._errors import InputError
from discreet._types import IntArray
from discreet.corpus.lines import PathLike, existing, shown, text_lines

if TYPE_CHECKING:
    from discreet.privacy.events import Entry
    from discreet.privacy.ledger import Ledger

Origin = Literal["public", "private-selection", "text", "unknown"]
"""Where a vocabulary comes from.

``public``: given from outside, known without looking at the text. ``private-selection``: chosen from the text by a
differentially private mechanism. ``text``: read from the text itself, so the list of words is as private as the text.
``unknown``: a bare matrix, whose columns carry no history, or a list chosen in a way that was not stated."""


@dataclass(frozen=True)
class VocabularyCost:
    """What a private selection was charged, and where. The model that is trained on the words adds its own cost."""

    entries: tuple[Entry, ...]
    ledger: Ledger
    seeded: bool
    units: str = ""
    """Digest of the units that the words were selected on (``training/inputs.py``). Empty: not known, and equal to no
    other."""
    same_run: bool = False
    """Whether the fit that follows belongs to the run that selected the words: then it pays from the same ledger."""

    def owed(self, ledger: Ledger) -> tuple[Entry, ...]:
        """What ``ledger`` has not been charged: nothing if it is the one of the selection, in memory or on disk."""
        mine, its = self.ledger.file, ledger.file
        same_file = mine is not None and its is not None and mine.is_the_same_as(its)
        return () if ledger is self.ledger or same_file else self.entries


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Vocabulary(Sequence[str]):
    """Different words in the order of their columns. A sequence: ``len``, indexing, iteration and ``in`` work.

    Two vocabularies are equal if they have the same words in the same order; a tuple of the same words is equal too.
    Where the words come from does not matter. Build one as ``Vocabulary(["rain", "wind"], "public")``, or from a list
    or a file with ``public_vocabulary``.
    """

    words: tuple[str, ...]
    origin: Origin = "unknown"
    complete: bool = False
    """Whether every word of the text is in it, stop words apart: no word was left out because of other documents."""
    cost: VocabularyCost | None = None
    """The cost of a private selection. The guarantee of a model trained on the words includes it."""
    source: str = ""
    """Where a public list comes from, if it is known: the guarantee names it beside the condition."""

    def __init__(
        self,
        words: Iterable[str],
        origin: Origin | None = None,
        complete: bool = False,
        cost: VocabularyCost | None = None,
        source: str = "",
    ) -> None:
        if isinstance(words, Vocabulary):  # the cost stays, also under another origin
            origin, cost, source = origin or words.origin, cost or words.cost, source or words.source
        origin = origin or "unknown"
        if origin not in get_args(Origin):
            raise InputError(f"the origin of a vocabulary is one of {', '.join(get_args(Origin))}; found {origin!r}.")
        checked = words.words if isinstance(words, Vocabulary) else _checked(words)
        vars(self).update(words=checked, origin=origin, complete=complete, cost=cost, source=source)

    @classmethod
    def of(cls, words: Vocabulary | Iterable[str]) -> Vocabulary:
        """A vocabulary unchanged; any other list of words as a vocabulary of unknown origin."""
        return words if isinstance(words, Vocabulary) else cls(words)

    def most_frequent(self, counts: IntArray, n_words: int) -> Vocabulary:
        """The words of the ``n_words`` largest ``counts`` (ties by position), which were read from the text."""
        ranked = np.argsort(-counts, kind="stable")[:n_words]
        return Vocabulary((self.words[i] for i in np.sort(ranked)), "text")

    def restricted_to(self, chosen: Vocabulary) -> Vocabulary:
        """``chosen`` as the new vocabulary of a corpus that had this one (see ``Corpus.restrict``)."""
        if chosen.origin == "private-selection" and chosen.cost is None:
            raise InputError(
                "restrict cannot make a private selection: only PrivateVectorizer does (its to_corpus). Call the "
                'vocabulary "public" if the list was known without the text, or pass a plain list.'
            )
        if chosen.origin == "text":
            return replace(chosen, complete=False, cost=None)
        if chosen.origin != "unknown" and (self.complete or self.origin == "public"):
            return replace(chosen, complete=False)
        if self.origin == "text" and chosen.origin != "public":
            return Vocabulary(chosen.words, "text")
        if self.cost is not None and chosen.cost is not None and self.cost != chosen.cost:
            raise InputError(
                "both vocabularies were selected privately, and a corpus keeps the cost of one selection. Select the "
                "words once, or pass the words to keep as a plain list."
            )
        return Vocabulary(chosen.words, "unknown", cost=self.cost or chosen.cost)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[str, ...]: ...
    def __getitem__(self, which: int | slice) -> str | tuple[str, ...]:
        """One word, or a slice as a plain tuple: a part of a vocabulary does not have its origin."""
        return self.words[which]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.columns

    def __eq__(self, other: object) -> bool:
        words = other.words if isinstance(other, Vocabulary) else other
        if not isinstance(words, tuple):
            return NotImplemented
        return self.words is words or self.words == words

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.words)  # the hash of the tuple, to which it is equal

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.words, self.origin, self.complete, self.cost, self.source)

    def __repr__(self) -> str:
        some = ", ".join(map(repr, self.words[:3])) + (", …" if len(self) > 3 else "")
        return f"<Vocabulary: {len(self):,} words ({some}), {self.origin}>"


def _checked(words: Any) -> tuple[str, ...]:
    if isinstance(words, str):
        raise InputError(f"the vocabulary must be a list of words; found one string, {words[:40]!r}.")
    vocabulary = tuple(str(word) if isinstance(word, str) else word for word in words)  # plain str, also from numpy
    if not vocabulary:
        raise InputError("the vocabulary is empty: no word is left to model. Check the stop words and the word list.")
    if len(set(vocabulary)) != len(vocabulary):
        twice = max(vocabulary, key=Counter(vocabulary).__getitem__)
        raise InputError(f"the vocabulary holds {twice!r} more than once. Each word needs its own column.")
    other = next((word for word in vocabulary if not isinstance(word, str)), None)
    if other is not None:
        raise InputError(f"words of the vocabulary must be strings; found {other!r}. Spell each word out.")
    return vocabulary


def public_vocabulary(source: PathLike | Iterable[str]) -> Vocabulary:
    """A vocabulary known without looking at the text: a list, or a file with one word per line.

    In a file, blank lines and lines that start with ``#`` are skipped. The order is kept: it is the order of columns.
    """
    if isinstance(source, str | os.PathLike):
        path = existing(source)
        if path.is_dir():
            raise InputError(f"the vocabulary {shown(path)} is a folder. Give a file with one word per line.")
        lines = ((n, line.strip()) for n, line in enumerate(text_lines(path), 1))
        words = [(f"{shown(path)}, line {n}", word) for n, word in lines if word and not word.startswith("#")]
        if not words:
            raise InputError(f"the vocabulary {shown(path)} holds no word. Give a file with one word per line.")
    else:
        words = [(f"the vocabulary, position {n}", word) for n, word in enumerate(source, 1)]
        if not words:
            raise InputError(
                "the vocabulary is empty. Give at least one word, or leave it out to learn it from the text."
            )
    seen: set[str] = set()
    for place, word in words:
        if not isinstance(word, str) or not word.strip():
            raise InputError(f"{place}: a word must be a string that is not blank; found {shown(word)}. Remove it.")
        if word in seen:
            raise InputError(f"{place}: {shown(word)} is there already. Each word needs its own column; remove one.")
        seen.add(word)
    return Vocabulary(tuple(word for _, word in words), "public")


def given_vocabulary(source: Vocabulary | PathLike | Iterable[str] | None, max_words: int | None) -> Vocabulary | None:
    """The argument ``vocabulary`` of a reader: a ``Vocabulary`` keeps its origin, a list or a file is public."""
    if source is None:
        return None
    if max_words is not None:
        raise InputError(
            "vocabulary and max_words were both given. A given vocabulary is used whole; leave one of them out."
        )
    return replace(source, complete=False) if isinstance(source, Vocabulary) else public_vocabulary(source)


def checked_max_words(max_words: int | None) -> int | None:
    """The largest number of words to learn from text, or None for all."""
    if max_words is not None and (isinstance(max_words, bool) or not isinstance(max_words, Integral) or max_words < 1):
        raise InputError(
            f"max_words must be a whole number of at least 1; found {shown(max_words)}. Leave it out for all words."
        )
    return None if max_words is None else int(max_words)


def learnt_words(
    spelled: Sequence[str], counts: IntArray, stop_words: Container[str], max_words: int | None
) -> list[int]:
    """Which words to keep, as indices in alphabetical order: the most frequent, ties in alphabetical order."""
    chosen = [i for i, word in enumerate(spelled) if word not in stop_words]
    if max_words is not None:
        chosen = sorted(chosen, key=lambda i: (-counts[i], spelled[i]))[:max_words]
    return sorted(chosen, key=spelled.__getitem__)
