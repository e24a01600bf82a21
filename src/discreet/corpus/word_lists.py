"""Public word lists: the most frequent words of a language, known without looking at any text of ours.

They come from wordfreq (code Apache-2.0, data CC BY-SA 4.0), which counts books, Wikipedia, news, subtitles and the web
up to 2021. Its data are frozen, so the same version always gives the same words: docs/design.md says why this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from discreet._errors import InputError
from discreet.corpus.lines import close_match, shown
from discreet.corpus.stop_words import known_language
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary, checked_max_words

USUAL_SIZE = 5_000
"""Words of a list unless their number is given: docs/words.md shows how much of several corpora they cover."""

NAMES = {
    "ar": "arabic",
    "bg": "bulgarian",
    "bn": "bengali",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fil": "filipino",
    "fr": "french",
    "he": "hebrew",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "is": "icelandic",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "lt": "lithuanian",
    "lv": "latvian",
    "mk": "macedonian",
    "ms": "malay",
    "nb": "norwegian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sh": "serbo-croatian",
    "sk": "slovak",
    "sl": "slovenian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "uk": "ukrainian",
    "ur": "urdu",
    "vi": "vietnamese",
    "zh": "chinese",
}
"""The languages of wordfreq 3.1: code → name."""


def language_with_list(name: str) -> str | None:
    """The code of the language that a name or a code means, or None if it has no list."""
    name = name.strip().lower()
    return name if name in NAMES else {called: code for code, called in NAMES.items()}.get(name)


def word_list(language: str, n_words: int | None = None, *, tokenizer: Tokenizer | None = None) -> Vocabulary:
    """The ``n_words`` most frequent words of a language (``USUAL_SIZE`` by default), the most frequent first.

    A vocabulary that is public, for ``vocabulary=``: it costs a private model nothing, and the guarantee names the list
    as a condition. The words are those that ``tokenizer`` can find: of lemmas the lemmas, without its stop words. By
    default they are letters of any alphabet, without the stop words of the language. Pass the same tokenizer to whoever
    reads the text.

    Fewer words are given if the list has no more; of most languages it has more than 25,000.
    """
    code = language_with_list(language) if isinstance(language, str) else None
    if code is None:
        raise InputError(
            f"there is no word list of the language {shown(language)}; there are those of {', '.join(NAMES)}."
            f"{close_match(str(language), [*NAMES.values(), *NAMES])}"
        )
    wanted = checked_max_words(n_words) or USUAL_SIZE
    source, entries = _entries(code)
    found: dict[str, None] = {}
    for word in _words(_spelled(code, entries), usual_tokenizer(code) if tokenizer is None else tokenizer):
        found.setdefault(word)
        if len(found) == wanted:
            break
    if not found:
        raise InputError(f"no word of the list of {NAMES[code]} is a word by this tokenizer. Is it of the language?")
    return Vocabulary(
        found, "public", source=f"the {len(found):,} most frequent words of {NAMES[code].title()}, {source}"
    )


def usual_tokenizer(code: str) -> Tokenizer:
    """Letters of any alphabet, and the stop words of the language if there is a list of them."""
    return Tokenizer(stop_words=known_language(code))


def _spelled(code: str, entries: tuple[str, ...]) -> Iterator[str]:
    """The entries as text has them. wordfreq folds case, which turns "ß" into "ss" and a final "ς" into "σ": German
    words are given in both spellings, as Switzerland and other countries write them."""
    for entry in entries:
        if code == "el" and entry.endswith("σ"):
            entry = f"{entry[:-1]}ς"
        yield entry
        if code == "de":
            yield from (f"{entry[: at.start()]}ß{entry[at.end() :]}" for at in re.finditer("ss", entry))


def _words(entries: Iterator[str], tokenizer: Tokenizer) -> Iterator[str]:
    """What the tokenizer makes of each entry. An entry of which it makes several words, or none, is no word to it."""
    words_of, stop = replace(tokenizer, stop_words=None).words_of, tokenizer.stop_set
    for entry in entries:
        words = words_of(entry)
        if len(words) == 1 and words[0] not in stop and (tokenizer.lemmas is not None or words[0] == entry):
            yield words[0]


@cache
def _entries(code: str) -> tuple[str, tuple[str, ...]]:
    """Where the list comes from, and its entries, the most frequent first."""
    wordfreq = _package(code)
    from importlib.metadata import version

    return f"wordfreq {version('wordfreq')}", tuple(wordfreq.iter_wordlist(code))


def _package(code: str) -> Any:
    try:
        import wordfreq
    except ImportError:
        raise InputError(
            f"the word list of {NAMES[code]} needs the package wordfreq, which is not installed. Install it with pip "
            "install 'discreet[words]', or give a list of your own."
        ) from None
    return wordfreq
