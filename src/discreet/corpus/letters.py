"""What a word is unless a pattern says otherwise: letters of any alphabet, and no addresses.

Text is read in three steps, each a function of this text alone:

1. *One spelling.* Letters and their accents are composed (Unicode NFC), ligatures such as "ﬁ" become letters, soft
   hyphens go, and typographic apostrophes become ``'``.
2. *No addresses.* Links, e-mail addresses and host names ("www.example.org") are left out, and so is text that is
   written without spaces between its words (below).
3. *Words* are runs of letters that touch no digit and no underscore, with the marks that belong to them (vowel signs of
   Hindi, points of Hebrew, joiners of Persian): of three letters or more, or of two where a letter stands for a
   syllable or a word. Hyphens and apostrophes end a word, so "company's" is "company" and "l'homme" is "homme"; but
   "don't" is one word, and so is Ukrainian "м'ята".

Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces. A text in which runs of their letters are
long has not been cut into words, and what is found in it would be sentences, not words: `unspaced` tells. Where words
have spaces between them, they are words like others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

RULES = "letters 1"
"""The name of these rules in the folder of a model. Other rules get another name: a model reads text as when it was
trained."""

LONGEST_MEAN = 5
"""Letters in a run, on average, above which text has not been cut into words: words of these languages have two to
four."""

_ADDRESS = re.compile(
    r"""(?ix) (?:https?|ftps?|file)://[^\s<>"]+
    | (?<![\w.-]) www\.[^\s<>"]+
    | (?<![\w.+-]) [\w.+-]++ @ [\w-]++ (?:\.[\w-]++)++
    | (?<![\w.-]) (?:[\w-]++\.)+ (?:com|org|net|edu|gov|mil) (?![\w-]) (?:/[^\s<>"]*)?"""
)
_SIGNS_OF_ADDRESSES = ("://", "@", "www.", ".com", ".org", ".net", ".edu", ".gov", ".mil")
_SPELLINGS = {
    **dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"),  # typographic apostrophes
    **{ligature: unicodedata.normalize("NFKC", ligature) for ligature in "\ufb00\ufb01\ufb02\ufb03\ufb04"},  # "ﬁ"
    "\u00ad": "",  # soft hyphen
}
_LETTER_APOSTROPHE = "\u02bc"  # a letter in Unicode: words that keep their apostrophe are matched with this one
_KEPT_APOSTROPHE = re.compile(r"'(?:(?<=[nN]')(?=[tT](?!\w))|(?<=[\u0400-\u052f]')(?=[\u0400-\u052f]))")
_ELIDED = re.compile(r"(?<!\w)(?:[^\W\d_]*[qQ][uU]'|[aA]ujourd'hui(?!\w))")  # "lorsqu'il": no word without its rest

_HAN_AND_KANA = r"\u3005-\u3007\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = r"\u30a0-\u30ff\uff66-\uff9f"
_SOUTH_EAST = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(f"[{_HAN_AND_KANA}{_SOUTH_EAST}]")
_RUN = re.compile(f"[{_HAN_AND_KANA}{_SOUTH_EAST}{_KATAKANA}]+")
_SYLLABLES = rf"{_HAN_AND_KANA}{_KATAKANA}{_SOUTH_EAST}\u0900-\u0dff\u0f00-\u0fff\u1200-\u139f\uac00-\ud7a3"
"""Scripts in which a letter is a syllable or a word: those of India, South-East Asia, Ethiopia, Korea, China, Japan."""

_SIMPLE = re.compile(r"\b[^\W\d_²³¹¼-¾]{3,}\b")
"""Words of texts that have neither marks nor letters that are syllables: the same as by `_all_scripts`, and faster."""
_NOT_SIMPLE = re.compile(
    r"[\u0300-\u036f\u0483-\u0489\u0590-\u1cff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\u2c80-\U0010ffff]"
)


@cache
def _marks() -> str:
    """All marks, as the inside of a class: Python's ``re`` has no name for them. (It is slow beyond U+FFFF, where those
    of scripts that are hardly used are.)"""
    marks = (chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    return "".join(map(re.escape, marks)) + "\u200c\u200d"


@cache
def _all_scripts() -> re.Pattern[str]:
    """Words of any script. (``\\b`` would end a word at each mark.)"""
    inside, letter = rf"[\w{_marks()}]", rf"[^\W\d_²³¹¼-¾][{_marks()}]*+"
    return re.compile(
        rf"(?<!{inside})(?:(?:{letter}){{3,}}+|(?:(?=[{_SYLLABLES}]){letter}){{2}}+)(?!{inside})"  # all linear in time
    )


def prepared(text: str) -> str:
    """Steps 1 and 2: one spelling, no addresses, no text without spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        for other, usual in _SPELLINGS.items():
            text = text.replace(other, usual)
        if unspaced(text):
            text = _RUN.sub(" ", text)
    low = text.lower()
    if any(sign in low for sign in _SIGNS_OF_ADDRESSES):
        text = _ADDRESS.sub(" ", text)
    if "qu'" in low or "aujourd'" in low:
        text = _ELIDED.sub(" ", text)
    return _KEPT_APOSTROPHE.sub(_LETTER_APOSTROPHE, text) if "'" in text else text


def unspaced(text: str) -> bool:
    """Whether the text holds long runs of letters of a language that is written without spaces."""
    if _UNSPACED.search(text) is None:
        return False
    runs = [sum(map(str.isalpha, run)) for run in _RUN.findall(text) if _UNSPACED.search(run)]
    return sum(runs) > LONGEST_MEAN * len(runs)


def words_by(lowercase: bool) -> Callable[[str], list[str]]:
    """The function from a text to its words."""
    return _lowered_words if lowercase else words_as_written


def words_as_written(text: str) -> list[str]:
    """The words with the capital letters that they have in the text."""
    return _found(prepared(text))


def lowered(text: str) -> str:
    """In lower case, and as long as before: Turkish "İ" alone would become two characters."""
    return text.replace("\u0130", "i").lower()


def pattern_for(text: str) -> re.Pattern[str]:
    """Step 3, for a prepared text."""
    return _SIMPLE if text.isascii() or _NOT_SIMPLE.search(text) is None else _all_scripts()


def spelled(word: str) -> str:
    """A word of a prepared text, with an ordinary apostrophe."""
    return word.replace(_LETTER_APOSTROPHE, "'")


def _lowered_words(text: str) -> list[str]:
    return _found(lowered(prepared(text)))


def _found(text: str) -> list[str]:
    words = pattern_for(text).findall(text)
    return words if _LETTER_APOSTROPHE not in text else list(map(spelled, words))
