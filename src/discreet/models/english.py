"""A public model of English that comes with the package: ``public="english"``.

Topics of abstracts of arXiv (its metadata, with abstracts, are given away under CC0 1.0) and of fragments of English
novels of the long nineteenth century (in the public domain). The file holds word counts of topics, and no text.
``benchmarks/english.py`` makes it, and measures whether it helps on text that it was not made from.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from discreet._types import AnyArray, FloatArray
from discreet.corpus.vocabulary import Vocabulary
from discreet.models.knowledge import PublicKnowledge

FILE = "english.npz"

PRIOR = 0.02
"""Added to every count: rounding has dropped what was less than half a token."""

CONDITION = "the model of English that comes with the package is public knowledge"


@cache
def english() -> PublicKnowledge:
    """Its topics over all of its words."""
    with files(__package__).joinpath(FILE).open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        words = Vocabulary(bytes(stored["words"]).decode().split("\n"), "public")
        counts = unpacked(stored["ends"], stored["columns"], stored["counts"], len(words))
    topics, total = counts + PRIOR, counts.sum()
    return PublicKnowledge(
        words,
        topics / topics.sum(axis=1, keepdims=True),
        counts.sum(axis=1) / total,
        counts.sum(axis=0) / total,
        CONDITION,
    )


def unpacked(ends: AnyArray, columns: AnyArray, counts: AnyArray, n_words: int) -> FloatArray:
    """Topic × word, from the words of each topic that have a count, one topic after another."""
    table = np.zeros((len(ends), n_words))
    rows = np.searchsorted(ends, np.arange(len(columns)), side="right")
    table[rows, columns] = counts
    return table


def packed(words: Vocabulary, counts: FloatArray) -> dict[str, AnyArray]:
    """What the file holds. Counts are rounded: what is less than half a token is dropped."""
    whole = np.rint(counts).astype(np.uint32)
    rows, columns = np.nonzero(whole)
    ends = np.cumsum(np.bincount(rows, minlength=len(whole)))
    return {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
        "ends": ends.astype(np.uint32),
        "columns": columns.astype(np.uint16),
        "counts": whole[rows, columns],
    }
