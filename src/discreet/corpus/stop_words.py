"""Words that say little about a topic: lists of languages.

English is scikit-learn's list. The other lists come from the package stop-words (BSD-3-Clause), which gathers those of
Snowball and others; docs/design.md says why this one.
"""

from __future__ import annotations

import runpy
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from discreet._errors import InputError
from discreet.corpus.lines import close_match, shown

ENGLISH = "english"

CONTRACTIONS = frozenset(
    f"{verb}n't"
    for verb in (
        *("", "ai", "are", "ca", "could", "dare", "did", "does", "do", "had", "has", "have", "is", "may", "might"),
        *("must", "need", "ought", "sha", "should", "was", "were", "wo", "would"),
    )
)
"""English stop words that are written as one: "don't" says as little as "do" and "not", which the list has."""


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


@cache
def _languages() -> dict[str, str]:
    """Code of a language → its name, English aside."""
    from stop_words import LANGUAGE_MAPPING

    return {code: name for code, name in LANGUAGE_MAPPING.items() if code != "en"}


def languages() -> tuple[str, ...]:
    """Codes of the languages that have a list."""
    return ("en", *sorted(_languages()))


def names() -> list[str]:
    """What a language with a list may be called."""
    return [ENGLISH, "en", *_languages().values(), *_languages()]


def known_language(name: str) -> str | None:
    """``english``, or the code of the language that the name or the code means; None if it has no list."""
    name = name.strip().lower()
    if name in (ENGLISH, "en"):
        return ENGLISH
    codes = {**{called: code for code, called in _languages().items()}, "no": "nb"}
    return name if name in _languages() else codes.get(name)


def language_of(name: str) -> str:
    """As `known_language`, with an error for what has no list."""
    found = known_language(name)
    if found is None:
        raise InputError(
            f"there are no stop words for the language {shown(name)}; there are those of {', '.join(languages())}."
            f"{close_match(name, names())} Give the words themselves for others."
        )
    return found


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """The list of a language, by its name or its code, in lower case. Entries of several words are left out."""
    language = language_of(language)
    if language == ENGLISH:
        return english_stop_words()
    from stop_words import get_stop_words

    entries = (one_spelling(entry).strip(" '\",.") for entry in get_stop_words(language, cache=False))
    return frozenset(entry for entry in entries if entry and " " not in entry)


def one_spelling(word: str) -> str:
    """As `letters.prepared` spells a word of text, in lower case."""
    return unicodedata.normalize("NFC", word).replace("\u2019", "'").lower()
