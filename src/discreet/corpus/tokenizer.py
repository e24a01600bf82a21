"""From text to words: which runs of characters are words, and which of these are stop words."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from discreet._errors import InputError
from discreet.corpus.lemmas import NOUNS_WITH_CAPITALS, lemmatizer
from discreet.corpus.lines import first_line, shown

DEFAULT_PATTERN = r"\b[a-z]{3,}\b"
"""Runs of three or more letters a–z that touch no other letter, digit or underscore."""

ANY_LETTERS = r"\b[^\W\d_]{3,}\b"
"""The same for letters of any alphabet: the default with lemmas of another language than English."""


@cache
def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of 318 English words that say little about a topic."""
    package = find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder, "feature_extraction", "_stop_words.py")
        if file.exists():  # load the file alone: the package around it takes half a second to import
            return frozenset(runpy.run_path(str(file))["ENGLISH_STOP_WORDS"])
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes words. ``Tokenizer()("The cat sat.")`` is ``["cat", "sat"]``."""

    pattern: str | None = None
    """A regular expression; each match is a word (or its one group, if it has one). None becomes `DEFAULT_PATTERN`, or
    `ANY_LETTERS` with lemmas of another language than English."""
    lowercase: bool = True
    stop_words: Literal["english"] | frozenset[str] | None = "english"
    """Words left out when a vocabulary is learnt from text.

    A given vocabulary is used unchanged, including its stop words.
    """
    function: Callable[[str], Iterable[str]] | None = None
    """Used instead of the pattern: a function from one text to its words. It is never saved with a model."""
    lemmas: str | None = None
    """A language such as ``"en"``: each word becomes its lemma, "studies" becomes "study" (the package simplemma, see
    ``lemmas.py``). Stop words are then left out in all of their forms. A model keeps the language. In languages that
    write nouns with a capital letter (German) a word is looked up as it stands in the text, and lower-cased
    afterwards."""

    @classmethod
    def of(cls, given: Tokenizer | Callable[[str], Iterable[str]] | None) -> Tokenizer:
        """What was given, as a Tokenizer: a function alone decides what a word is, so no stop words are left out."""
        if given is None:
            return cls()
        if isinstance(given, Tokenizer):
            return given
        if not callable(given):
            raise InputError(
                f"tokenizer must be a Tokenizer or a function from a text to its words; found {shown(given)}."
            )
        return cls(stop_words=None, function=given)

    def __post_init__(self) -> None:
        if not isinstance(self.lemmas, str | None):
            raise InputError(f"lemmas must be the code of a language, such as 'en'; found {shown(self.lemmas)}.")
        if self.lemmas is not None:
            object.__setattr__(self, "lemmas", self.lemmas.lower())
        if self.pattern is None:
            object.__setattr__(self, "pattern", DEFAULT_PATTERN if self.lemmas in (None, "en") else ANY_LETTERS)
        try:
            groups = self._compiled.groups
        except (re.error, TypeError) as error:
            raise InputError(
                f"the token pattern {shown(self.pattern)} is not a regular expression: {first_line(error)}. "
                f"The default is {DEFAULT_PATTERN!r}."
            ) from None
        if groups > 1:
            raise InputError(
                f"the token pattern {shown(self.pattern)} has {groups} groups; a word must be one. Use (?:…) for the "
                "others."
            )
        if "" in self._compiled.findall("some words, 12 été") + self._compiled.findall(""):
            raise InputError(
                f"the token pattern {shown(self.pattern)} also matches empty text. Require at least one character, for "
                f"instance with + instead of *. The default is {DEFAULT_PATTERN!r}."
            )
        if isinstance(self.stop_words, str):
            if self.stop_words != "english":
                raise InputError(
                    f"stop_words must be 'english', a set of words or None; found {shown(self.stop_words)}. "
                    "For other languages, pass their words."
                )
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", frozenset(self.stop_words))

    def without_stop_words(self) -> Tokenizer:
        """The form that a model keeps: its vocabulary shows which words remain, and a list of names to leave out may be
        private."""
        return replace(self, stop_words=None)

    def to_json(self) -> dict[str, Any]:
        """What a model keeps, as in `without_stop_words`."""
        said: dict[str, Any] = {"pattern": self.pattern, "lowercase": self.lowercase}
        return said if self.lemmas is None else {**said, "lemmas": self.lemmas}

    @classmethod
    def from_json(cls, value: Any) -> Tokenizer:
        """The inverse of `to_json`, checked."""
        known = {"pattern": str, "lowercase": bool}
        types = {name: type(found) for name, found in value.items()} if isinstance(value, dict) else {}
        if types not in (known, {**known, "lemmas": str}):
            raise InputError(
                "the tokenizer must be a pattern, whether text is lower-cased, and perhaps the language of its lemmas; "
                f"found {value!r}."
            )
        return cls(**value, stop_words=None)

    @property
    def words_of(self) -> Callable[[str], list[str]]:
        """The function from text to all of its words, stop words included."""
        words = self._forms_of
        if self.lemmas is None:
            return words
        if self.lemmas in NOUNS_WITH_CAPITALS and self.lowercase and self.function is None:
            words = partial(_as_written, self._compiled)
        lemma = lemmatizer(self.lemmas, lowercase=self.lowercase)
        return lambda text: list(map(lemma, words(text)))

    def finds(self, word: str) -> bool:
        """Whether text can hold the word, as far as the pattern decides it. (A word that is the lemma of others may
        have another lemma itself: "embedding" is that of "embeddings", and its own is "embed".)"""
        return word in self._forms_of(word)

    @property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(DEFAULT_PATTERN if self.pattern is None else self.pattern)

    @property
    def _forms_of(self) -> Callable[[str], list[str]]:
        """The function from text to its words as they stand there."""
        if self.function is not None:
            return partial(_checked_words, self.function)
        find = self._compiled.findall
        return (lambda text: find(text.lower())) if self.lowercase else find

    @property
    def stop_set(self) -> frozenset[str]:
        """Words to leave out; of lemmas also those of which the list has another form ("make", where it has "made")."""
        stop = english_stop_words() if isinstance(self.stop_words, str) else self.stop_words or frozenset()
        if self.lemmas is None:
            return stop
        return stop | set(map(lemmatizer(self.lemmas, lowercase=self.lowercase), stop))

    def __call__(self, text: str) -> list[str]:
        stop = self.stop_set
        return [word for word in self.words_of(text) if word not in stop]


def _as_written(pattern: re.Pattern[str], text: str) -> list[str]:
    """The words that the pattern finds in lower-cased text, with the capital letters that they have in the text."""
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two characters: positions differ
        return pattern.findall(lowered)
    return [text[slice(*found.span(pattern.groups))] for found in pattern.finditer(lowered)]


def _checked_words(function: Callable[[str], Iterable[str]], text: str) -> list[str]:
    words: Any = function(text)
    found: list[Any] = list(words) if isinstance(words, Iterable) and not isinstance(words, str) else [None]
    if not all(isinstance(word, str) for word in found):
        raise InputError(f"the tokenizer must give a list of words for each text; found {type(words).__name__}.")
    return found
