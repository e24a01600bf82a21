"""The order of documents in memory, and which of them a thread draws one after the other.

A document's draws belong to its number, so neither changes a bit of a seeded run.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet._types import AnyArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.threads.units import Grouped
from discreet.engines.threads.workers import shares

BLOCKS = 32
"""Blocks of documents; all have about the same number of tokens."""


class Whole(NamedTuple):
    """The corpus that some documents are a part of: their draws are those that they have in it."""

    numbers: IntArray
    """Of each document that is here, in the layout of the whole corpus."""
    mean_length: float
    word_counts: IntArray


def numbers_by_rank(ranks: IntArray, n_documents: int) -> IntArray:
    """The numbers in a layout without parts of documents at these places in the order of all, the longest first."""
    sizes = [len(range(block, n_documents, BLOCKS)) for block in range(BLOCKS)]
    return np.asarray(np.concatenate([[0], np.cumsum(sizes)])[ranks % BLOCKS] + ranks // BLOCKS)


class Layout:
    """Documents in blocks, in each block the longest first: an order that depends on lengths, not on words.

    A piece of work is a sequence of blocks. It ends with short documents, so that few slots are idle at its end.

    ``documents[i]`` is the place in the corpus of the document with number i, and ``numbers`` holds the number of each
    document in memory. They differ if there are ``parts``: then all blocks of one part come before those of the next.
    The words of a part have rows of their own in tables, so a thread reads, and counts in, few rows at a time, and
    seldom those that another thread writes to.
    """

    def __init__(self, corpus: Corpus | Grouped, parts: IntArray | None) -> None:
        longest_first = np.argsort(-corpus.lengths, kind="stable")
        blocks = [longest_first[block::BLOCKS] for block in range(BLOCKS)]
        block_of = np.repeat(np.arange(BLOCKS), [len(block) for block in blocks])
        self.documents: IntArray = np.concatenate(blocks)
        self.numbers: IntArray = np.arange(corpus.n_documents)
        if parts is not None:
            signs = np.where(np.arange(BLOCKS) % 2, -1, 1)[block_of]  # every second block has the parts in reverse
            self.documents = self.documents[np.lexsort((signs * parts[self.documents], block_of))]
            in_order = parts[self.documents]
            self.numbers = np.argsort(in_order, kind="stable")
            block_of = block_of[self.numbers] + BLOCKS * in_order[self.numbers]
        self.lengths: IntArray = corpus.lengths[self.documents]
        """By number."""
        self.ends: IntArray = np.r_[0, np.flatnonzero(np.diff(block_of)) + 1, corpus.n_documents]
        """In memory: 0, and where each block ends."""

    def by_number(self, offsets: IntArray) -> IntArray:
        """The place in memory of each token, document after document in the order of their numbers."""
        starts = np.empty_like(self.numbers)
        starts[self.numbers] = offsets[:-1]
        ends = np.cumsum(self.lengths)
        places: IntArray = np.repeat(starts - (ends - self.lengths), self.lengths)
        places += np.arange(len(places))
        return places


def pieces(offsets: IntArray, ends: AnyArray, n_threads: int) -> list[tuple[int, int]]:
    """Ranges of documents, cut at some of their ``ends``. Thread t begins with the pieces t, t + n_threads, …, which
    lie one after the other."""
    begun = shares(n_threads)[::n_threads][:-1]  # where the pieces of one thread's share of the work begin
    wanted = np.add.outer(np.arange(n_threads), begun).ravel() / n_threads * offsets[-1]
    places = np.searchsorted(offsets[ends[:-1]] + np.diff(offsets[ends]) // 2, wanted)  # the nearest end
    cuts = [*ends[places].tolist(), int(ends[-1])]
    ranges = list(pairwise(cuts))
    return [ranges[thread * len(begun) + turn] for turn in range(len(begun)) for thread in range(n_threads)]
