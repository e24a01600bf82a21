"""From text to words: which runs of characters are words, and which of these are stop words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet._errors import InputError
from discreet.corpus import letters, phrases
from discreet.corpus.lemmas import NOUNS_WITH_CAPITALS, lemmatizer
from discreet.corpus.lines import first_line, shown
from discreet.corpus.phrases import JOINT, Between, Joiner, checked_phrases, with_candidates
from discreet.corpus.stop_words import CONTRACTIONS, ENGLISH, known_language, language_of, one_spelling, stop_words_of

LETTERS_A_TO_Z = r"\b[a-z]{3,}\b"
"""Runs of three or more letters a–z that touch no other letter, digit or underscore. The named data sets are read by
this pattern, and the published results were measured with it."""

AUTO = "auto"


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes words. ``Tokenizer()("The cat sat.")`` is ``["cat", "sat"]``."""

    pattern: str | None = None
    """A regular expression on the text as it stands; each match is a word (or its one group, if it has one). None for
    letters of any alphabet, without addresses: the rules of ``letters.py``."""
    lowercase: bool = True
    stop_words: str | frozenset[str] | None = AUTO
    """Words left out when a vocabulary is learnt from text: a set, or those of a language (``"english"``, ``"de"``,
    ``"german"``: ``stop_words.py``), or None. ``"auto"``: of the language of ``lemmas``, or English.

    A given vocabulary is used unchanged, including its stop words.
    """
    function: Callable[[str], Iterable[str]] | None = None
    """Used instead of the pattern: a function from one text to its words. It is never saved with a model."""
    lemmas: str | None = None
    """A language such as ``"en"``: each word becomes its lemma, "studies" becomes "study" (the package simplemma, see
    ``lemmas.py``). Stop words are then left out in all of their forms. A model keeps the language. In languages that
    write nouns with a capital letter (German) a word is looked up as it stands in the text, and lower-cased
    afterwards."""
    phrases: int | frozenset[str] | None = None
    """Phrases that are counted as one word, "new york" as ``new_york``: a public list (or a file of one, one phrase per
    line), or the largest number of words of a phrase, if words are selected later: see ``phrases.py``. Where a
    vocabulary is given, they are those of its words that hold an underscore."""

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
        if self.pattern is not None:
            _check_pattern(self.pattern)
        if isinstance(self.stop_words, str):
            if self.stop_words == AUTO:
                language = (self.lemmas and known_language(self.lemmas)) or ENGLISH
            else:
                language = language_of(self.stop_words)
            object.__setattr__(self, "stop_words", language)
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", frozenset(self.stop_words))
        if self.phrases is not None:
            object.__setattr__(self, "phrases", checked_phrases(self.phrases))

    def without_stop_words(self) -> Tokenizer:
        """The form that a model keeps: its vocabulary shows which words and phrases remain, and a list of names to
        leave out may be private. The name of another language than English is kept, so that `evaluate` knows its
        stop words."""
        named = isinstance(self.stop_words, str) and self.stop_words != ENGLISH
        phrases = self.phrases
        if isinstance(phrases, frozenset):
            phrases = max(map(len, self._tuples()), default=2)
        return replace(self, stop_words=self.stop_words if named else None, phrases=phrases)

    def for_vocabulary(self, words: Iterable[str]) -> Tokenizer:
        """The same, with the phrases of a given vocabulary."""
        if self.phrases is None:
            return self
        return replace(self, phrases=frozenset(word for word in words if JOINT in word.strip(JOINT)))

    def to_json(self) -> dict[str, Any]:
        """What a model keeps, as in `without_stop_words`."""
        rule = {"rules": letters.RULES} if self.pattern is None else {"pattern": self.pattern}
        kept = self.without_stop_words()
        named = {"lemmas": self.lemmas, "stop_words": kept.stop_words, "phrases": kept.phrases}
        return {**rule, "lowercase": self.lowercase, **{name: said for name, said in named.items() if said is not None}}

    @classmethod
    def from_json(cls, value: Any) -> Tokenizer:
        """The inverse of `to_json`, checked. Every folder says its pattern or the name of its rules, so text is read as
        it was when the model was trained."""
        types = {name: type(found) for name, found in value.items()} if isinstance(value, dict) else {}
        rule = {"rules": str} if "rules" in types else {"pattern": str}
        needed, perhaps = {**rule, "lowercase": bool}, {"lemmas": str, "stop_words": str, "phrases": int}
        if not (needed.items() <= types.items() <= {**needed, **perhaps}.items()):
            raise InputError(
                "the tokenizer must be a pattern or the name of rules, whether text is lower-cased, and perhaps the "
                f"language of its lemmas and of its stop words, and the length of its phrases; found {value!r}."
            )
        known = {"stop_words": None, **value}
        if known.pop("rules", letters.RULES) != letters.RULES:
            raise InputError(
                f"the rules {shown(value['rules'])} of what a word is are not known here. Use a newer version of "
                "discreet."
            )
        return cls(**known)

    @property
    def words_of(self) -> Callable[[str], list[str]]:
        """The function from text to all of its words, stop words included."""
        words = self._forms_of
        if self.lemmas is None:
            return words
        if self.lemmas in NOUNS_WITH_CAPITALS and self.lowercase and self.function is None:
            words = letters.words_as_written if self.pattern is None else partial(_as_written, re.compile(self.pattern))
        lemma = lemmatizer(self.lemmas, lowercase=self.lowercase)
        return lambda text: list(map(lemma, words(text)))

    @property
    def tokens_of(self) -> Callable[[str | list[str]], list[str]]:
        """The function from a text, or a list of its words, to what is counted: words, and phrases."""
        if self.phrases is None:
            words = self.words_of
            return lambda text: words(text) if isinstance(text, str) else text
        read: Callable[[list[str]], Iterable[str]]
        if isinstance(self.phrases, int):
            read = partial(with_candidates, longest=self.phrases, stop=self.stop_set)
        else:
            read = Joiner(self._tuples())
        runs_of = self._runs_of
        return lambda text: [
            token for run in (runs_of(text) if isinstance(text, str) else [text]) for token in read(run)
        ]

    @property
    def _runs_of(self) -> Callable[[str], Iterable[list[str]]]:
        """The function from text to runs of its words, which punctuation separates; a function knows none."""
        lemma: Callable[[str], str] = str if self.lemmas is None else lemmatizer(self.lemmas, lowercase=self.lowercase)
        if self.function is not None:
            words = self.words_of
            return lambda text: [words(text)]
        as_written = self.lemmas in NOUNS_WITH_CAPITALS

        def runs_of(text: str) -> Iterator[list[str]]:
            if self.pattern is None:
                text = letters.prepared(text)
                low = letters.lowered(text) if self.lowercase else text
                pattern = letters.pattern_for(low)
            else:
                low, pattern = text.lower() if self.lowercase else text, re.compile(self.pattern)
            source = text if as_written and len(text) == len(low) else low
            for run in phrases.runs(low, pattern.finditer(low), pattern.groups):
                yield [at if isinstance(at, Between) else lemma(letters.spelled(source[slice(*at)])) for at in run]

        return runs_of

    def _tuples(self) -> list[tuple[str, ...]]:
        """The words of each phrase of the list. A phrase that is spelled with underscores holds words as they are."""
        if not isinstance(self.phrases, frozenset):
            return []
        runs_of = self._runs_of
        found = [
            tuple(p.split(JOINT) if JOINT in p else (part for run in runs_of(p) for part in run))
            for p in sorted(self.phrases)
        ]
        several = [phrase for phrase in found if len(phrase) > 1 and all(phrase)]
        if found and not several:
            raise InputError(
                f"no phrase of the list, for instance {shown(min(self.phrases))}, has two words by {self.described}. "
                "Give phrases of two words or more."
            )
        return several

    @property
    def phrase_names(self) -> list[str]:
        """The phrases of the list as they are counted, in alphabetical order."""
        return sorted({JOINT.join(phrase) for phrase in self._tuples()})

    def leaves_out(self, text: str) -> bool:
        """Whether text is left out because it has no spaces between its words: see ``letters.py``."""
        return self.function is None and self.pattern is None and not text.isascii() and letters.unspaced(text)

    @property
    def described(self) -> str:
        """What a word is, for messages."""
        if self.function is not None:
            return "this tokenizer"
        if self.pattern is None:
            return "the usual rules (three letters or more of any alphabet)"
        return f"the token pattern {self.pattern}"

    def finds(self, word: str) -> bool:
        """Whether text can hold the word, as far as the pattern decides it. (A word that is the lemma of others may
        have another lemma itself: "embedding" is that of "embeddings", and its own is "embed".)"""
        phrase = self.phrases is not None and JOINT in word.strip(JOINT)
        return phrase or word in self._forms_of(word)

    @property
    def _forms_of(self) -> Callable[[str], list[str]]:
        """The function from text to its words as they stand there."""
        if self.function is not None:
            return partial(_checked_words, self.function)
        if self.pattern is None:
            return letters.words_by(self.lowercase)
        find = re.compile(self.pattern).findall
        return (lambda text: find(text.lower())) if self.lowercase else find

    @property
    def stop_set(self) -> frozenset[str]:
        """Words to leave out; of lemmas also those of which the list has another form ("make", where it has "made")."""
        named = isinstance(self.stop_words, str)
        stop = stop_words_of(str(self.stop_words)) if named else frozenset(self.stop_words or ())
        if self.pattern is None and self.function is None:  # these rules spell words in one way
            contractions = CONTRACTIONS if self.stop_words == ENGLISH else ()
            stop = stop.union(contractions, map(one_spelling, stop) if self.lowercase else ())
        if self.lemmas is None:
            return stop
        return stop | set(map(lemmatizer(self.lemmas, lowercase=self.lowercase), stop))

    def __call__(self, text: str) -> list[str]:
        stop = self.stop_set
        return [word for word in self.tokens_of(text) if word not in stop]


def _check_pattern(pattern: Any) -> None:
    default = "Leave it out for letters of any alphabet."
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(
            f"the token pattern {shown(pattern)} is not a regular expression: {first_line(error)}. {default}"
        ) from None
    if compiled.groups > 1:
        raise InputError(
            f"the token pattern {shown(pattern)} has {compiled.groups} groups; a word must be one. Use (?:…) for the "
            "others."
        )
    if "" in compiled.findall("some words, 12 été") + compiled.findall(""):
        raise InputError(
            f"the token pattern {shown(pattern)} also matches empty text. Require at least one character, for "
            f"instance with + instead of *. {default}"
        )


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
