"""Lemmas: words in their dictionary form, by simplemma's word lists. "studies" becomes "study".

The lemma of a word is a function of the word and the language, never of other words or documents. So a private model
may count lemmas at no cost: a document that is added or removed changes no lemma of another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from discreet._errors import InputError
from discreet.corpus.lines import shown

NOUNS_WITH_CAPITALS = ("de", "lb")
"""Languages in which a capital letter tells a noun: the lemma of "Haus" is "Haus", and that of "haus" is "hausen". In
others it tells the start of a sentence, or a name, and words are looked up in lower case."""


@cache
def lemmatizer(language: str, *, lowercase: bool) -> Callable[[str], str]:
    """From a word to its lemma. With ``lowercase`` names lose their capital letters too ("Haus" is then "haus")."""
    try:
        import simplemma
    except ImportError:
        raise InputError(
            f"lemmas={language!r} needs the package simplemma, which is not installed. Install it with "
            "pip install 'discreet[lemmas]', or leave lemmas= out."
        ) from None
    try:
        simplemma.lemmatize("word", lang=language)
    except (TypeError, ValueError):
        raise InputError(
            f"there are no lemmas for the language {shown(language)}. Give the code of a language that simplemma "
            "knows, for example en (English), de, es or fr."
        ) from None
    return _Lemmas(simplemma.lemmatize, language, lowercase).__getitem__


class _Lemmas(dict[str, str]):
    """Word → lemma. Each different word is looked up once."""

    def __init__(self, lemmatize: Any, language: str, lowercase: bool) -> None:
        super().__init__({"": ""})
        self._lemmatize, self._language, self._lowercase = lemmatize, language, lowercase

    def __missing__(self, word: str) -> str:
        noun = word.capitalize() if word.isupper() and self._language in NOUNS_WITH_CAPITALS else word  # "HÄUSER"
        lemma: str = self._lemmatize(noun, lang=self._language)
        self[word] = lemma = lemma.replace("\u0130", "i").lower() if self._lowercase else lemma
        return lemma
