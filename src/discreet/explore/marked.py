"""The words of a text where they stand, each with its most likely topic.

A tokenizer gives words, not places: it composes accents, leaves out addresses, lower-cases, and looks up lemmas. So
the text is cut into pieces, and every piece is read by itself. A cut is kept if the pieces give the same words as what
was cut. Phrases reach over pieces; they are found by comparing with the words of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from discreet._types import FloatArray, IntArray
from discreet.corpus.phrases import JOINT
from discreet.release.release import Release

_CUTS = (re.compile(r"(\s+)"), re.compile(r"([^\w'’]+|_+)"), re.compile(r"(\W+)"))
"""Where to cut: at blanks, then at punctuation, then at apostrophes too."""

_EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)

_AHEAD = 64
"""Words after which a word of the whole is looked for no further."""

TokensOf = Callable[[str | list[str]], list[str]]


class Piece(NamedTuple):
    """A part of a text. All parts together are the text."""

    text: str
    word: str | None = None
    """The word of the model's vocabulary that it is counted as."""


def pieces(text: str | list[str], tokens_of: TokensOf, known: Callable[[str], bool]) -> list[Piece]:
    """The text in pieces, those that are counted with their words. ``known`` says whether the model has a word."""
    parts: list[str] = []
    words: list[tuple[int, str]] = []  # the part in which a word stands, and the word
    for part, found in _cut(text, tokens_of):
        words += ((len(parts), word) for word in found)
        parts.append(part)
    counted = tokens_of(text)
    out: list[Piece] = []
    at = 0
    for first, last, word in _places(words, counted):
        if not known(word) or first < at:  # two words in one part that cannot be cut: the first is shown
            continue
        before, mine, after = _edges("".join(parts[first : last + 1]))
        out += map(Piece, [*parts[at:first], *before])
        out.append(Piece(mine, word))
        out += map(Piece, after)
        at = last + 1
    return [*out, *map(Piece, parts[at:])]


def _edges(text: str) -> tuple[list[str], str, list[str]]:
    """Punctuation that could not be cut off without changing how the rest is read is not a part of the word."""
    found = _EDGES.fullmatch(text)
    if found is None or not found[2]:
        return [], text, []
    return [found[1]] if found[1] else [], found[2], [found[3]] if found[3] else []


def _cut(text: str | list[str], tokens_of: TokensOf) -> Iterator[tuple[str, list[str]]]:
    """Parts of the text that are read alone as they are within it, as small as possible."""
    if not isinstance(text, str):
        for word in text:
            yield word, [word]
            yield " ", []
        return
    yield from _finer(text, None, cache(tokens_of))  # most pieces of a text are in it more than once


def _finer(
    text: str, found: list[str] | None, tokens_of: Callable[[str], list[str]], level: int = 0
) -> Iterator[tuple[str, list[str]]]:
    """``found`` are the words of the text; None for the whole, which is always cut at blanks."""
    parts = [part for part in _CUTS[level].split(text) if part] if found is None or found else [text]
    each = [tokens_of(part) for part in parts] if len(parts) > 1 or found is None else [found]
    if found is not None and [word for words in each for word in words] != found:
        yield text, found
        return
    for part, words in zip(parts, each, strict=True):
        if words and level + 1 < len(_CUTS):
            yield from _finer(part, words, tokens_of, level + 1)
        else:
            yield part, words


def _places(words: list[tuple[int, str]], counted: list[str]) -> Iterator[tuple[int, int, str]]:
    """First and last part of each counted word: a phrase takes the parts of its words."""
    at = 0
    for word in counted:
        rest = word.split(JOINT) if JOINT in word else []
        near = range(at, min(at + _AHEAD, len(words)))
        first = next((i for i in near if words[i][1] == word or words[i][1] in rest), None)
        if first is None:
            continue
        at = first + 1
        if words[first][1] != word:
            rest = rest[rest.index(words[first][1]) + 1 :]
            while at < len(words) and words[at][1] in rest:
                rest = rest[rest.index(words[at][1]) + 1 :]
                at += 1
        yield words[first][0], words[at - 1][0], word


def likely_topics(release: Release, words: IntArray, mixture: FloatArray, collection: int | None = None) -> IntArray:
    """The topic k with the largest θ_k · φ_kw of each word, −1 where no topic has the word. In a cross-collection model
    φ is that of the document's ``collection``, (1 − ψ)·φ + ψ·σ."""
    phi = release.topics[:, words]
    if collection is not None and release.collection_topics is not None and release.switch is not None:
        own = release.switch[:, collection, None]
        phi = (1.0 - own) * phi + own * release.collection_topics[collection][:, words]
    weights = mixture[:, None] * phi
    best: IntArray = np.where(weights.max(axis=0) > 0, weights.argmax(axis=0), -1)
    return best
