"""Phrases: several words that are counted as one, "new york" as ``new_york``.

A phrase comes from a public list, or is selected privately like a word: then every phrase of a document is a
*candidate* and stands beside its words, and where it is selected it takes their place. Either way a document is read by
the longest phrase first, from left to right, and phrases do not reach across punctuation.

Words of a phrase are joined by an underscore: it is no letter, so no word of text has one by the usual rules, and
topics are printed with blanks between their words. A phrase of a list may hold what is no word by itself
(``state_of_the_art``, ``vitamin_d``, ``covid_19``); a candidate holds neither that nor stop words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import BoolArray, Int32Array, IntArray
from discreet.corpus.lines import PathLike, existing, shown, text_lines

JOINT = "_"
LONGEST = 5
"""Words of a candidate, at most: longer phrases are rare, and each word more makes as many candidates more."""

_BREAK = re.compile(r"""[.,;:!?()\[\]{}"“”«»¿¡…|<>。，、；：！？।]|\n\s*\n|\s[-–—]+\s""")
_PIECES = re.compile(r"[^\W_]+")


def checked_phrases(given: object) -> int | frozenset[str]:
    """The parameter ``phrases``: the largest number of words of a candidate, or a public list, or a file of one."""
    if isinstance(given, int) and not isinstance(given, bool):
        if not 2 <= given <= LONGEST:
            raise InputError(f"phrases must have 2 to {LONGEST} words; found phrases={given}.")
        return given
    if isinstance(given, str | os.PathLike):
        return frozenset(phrase_list(given))
    found: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    other = next((phrase for phrase in found if not isinstance(phrase, str)), None)
    if other is not None or (not found and not isinstance(given, frozenset)):
        raise InputError(
            f"phrases must be a number of words from 2 to {LONGEST}, a list of phrases, or a file of one; found "
            f"{shown(other)}."
        )
    return frozenset(found)


def phrase_list(path: PathLike) -> list[str]:
    """A public list, one phrase per line; blank lines and lines that start with ``#`` are skipped."""
    file = existing(path)
    if file.is_dir():
        raise InputError(f"the list of phrases {shown(file)} is a folder. Give a file with one phrase per line.")
    lines = (line.strip() for line in text_lines(file))
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise InputError(f"the list of phrases {shown(file)} holds none. Give a file with one phrase per line.")
    return found


class Between(str):
    """What stands between two words and is none, such as "of" and numbers: a part of phrases, and else not counted."""

    __slots__ = ()


def runs(text: str, matches: Iterable[re.Match[str]], group: int) -> Iterator[list[tuple[int, int] | Between]]:
    """The places of words, in runs of words between which there is no punctuation, and what stands between them."""
    run: list[tuple[int, int] | Between] = []
    end = 0
    for start, after, place in [*((m.start(), m.end(), m.span(group)) for m in matches), (len(text), len(text), None)]:
        breaks = list(_BREAK.finditer(text, end, start))
        if breaks:
            run += map(Between, _PIECES.findall(text, end, breaks[0].start()))
            yield run
            run, end = [], breaks[-1].end()
        run += map(Between, _PIECES.findall(text, end, start))
        if place is not None:
            run.append(place)
        end = after
    yield run


class Joiner:
    """Reads a run of words by given phrases, each a tuple of words."""

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        self._known = set(phrases)
        sizes: dict[str, set[int]] = {}
        for phrase in self._known:
            sizes.setdefault(phrase[0], set()).add(len(phrase))
        self._sizes = {first: sorted(found, reverse=True) for first, found in sizes.items()}

    def __call__(self, run: Sequence[str]) -> Iterator[str]:
        at = 0
        while at < len(run):
            for size in self._sizes.get(run[at], ()):
                if tuple(run[at : at + size]) in self._known:
                    yield JOINT.join(run[at : at + size])
                    at += size
                    break
            else:
                if not isinstance(run[at], Between):
                    yield run[at]
                at += 1


def with_candidates(run: Sequence[str], longest: int, stop: frozenset[str]) -> Iterator[str]:
    """Each word, and after it the phrases that begin with it, the shortest first. A phrase is made of neighbouring
    words that are no stop words.

    Words that hold an underscore (lists of words may have them) are left out: their names would not tell words from
    phrases, and to look for the same name in other documents would make one document's words depend on another.
    """
    ends, end = [0] * len(run), len(run)
    for at in range(len(run) - 1, -1, -1):  # the place after the last word that can belong to a phrase from here on
        end = at if run[at] in stop or isinstance(run[at], Between) or JOINT in run[at] else end
        ends[at] = end
    for at, word in enumerate(run):
        if not isinstance(word, Between) and JOINT not in word:
            yield word
            for last in range(at + 2, min(at + longest, ends[at]) + 1):
                yield JOINT.join(run[at:last])


def sizes_of(vocabulary: Iterable[str]) -> IntArray:
    """The number of words of each word and candidate."""
    return np.array([word.count(JOINT) + 1 for word in vocabulary], np.int64)


def longest_first(words: Int32Array, sizes: IntArray, kept: BoolArray) -> BoolArray:
    """Which tokens of documents with candidates remain if only those of ``kept`` may: a phrase takes the place of its
    words. ``sizes`` holds the number of words of each word of the vocabulary."""
    size = sizes[words]
    plain = size == 1
    place = np.cumsum(plain) - 1  # of the word that a token is, or begins with
    tokens = np.flatnonzero(kept & ~plain)
    remain: BoolArray = kept & plain
    if not tokens.size:
        return remain
    last = np.append(place[tokens[1:]] != place[tokens[:-1]], True)  # the longest of each place
    taken, starts, free = [], [], 0
    for token in tokens[last].tolist():
        if place[token] >= free:
            taken.append(token)
            starts.append(int(place[token]))
            free = starts[-1] + int(size[token])
    change = np.zeros(int(plain.sum()) + 1, np.int64)
    change[starts] += 1
    np.subtract.at(change, np.array(starts, np.int64) + size[taken], 1)
    remain &= ~(np.cumsum(change) > 0)[place]
    remain[taken] = True
    return remain
