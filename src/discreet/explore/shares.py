"""Topic proportions of all documents: which documents are behind a topic, and what a class of documents is about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from discreet._types import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import report_read
from discreet.explore.spool import Table

CHUNK = 1 << 14
"""Documents whose proportions are computed at a time."""

COMPUTING = "computing topic proportions"

_LAST = np.uint64(0xFFFFFFFF)


class Shares:
    """Topic × document, in single precision. Topic by topic, because a ranking reads one topic of every document.

    A document without a word of the model says nothing about its topics: its shares are 0 here, it is in no ranking and
    in no mean.
    """

    def __init__(self, table: Float32Array, known: BoolArray) -> None:
        self.table, self.known = table, known
        self.n_known = int(known.sum())
        self.means: FloatArray = table.sum(axis=1, dtype=np.float64) / max(1, self.n_known)

    @classmethod
    def computed(cls, transform: Callable[[Corpus], FloatArray], corpus: Corpus, n_topics: int) -> Shares:
        """``transform`` gives the proportions of documents, a row each. Progress is reported to whoever watches."""
        known = corpus.lengths > 0
        with closing(Table(n_topics, corpus.n_documents)) as table:
            for first in range(0, corpus.n_documents, CHUNK):
                report_read(first, corpus.n_documents, COMPUTING)
                some = slice(first, first + CHUNK)
                rows = transform(corpus[some])
                rows[~known[some]] = 0.0
                table.write(first, rows.T.astype(np.float32))
            report_read(corpus.n_documents, corpus.n_documents, COMPUTING)
            return cls(table.read(), known)

    def of(self, document: int) -> FloatArray:
        return self.table[:, document].astype(np.float64)

    def ranked(self, topic: int, first: int, n: int, among: IntArray | None = None) -> tuple[IntArray, Float32Array]:
        """The documents in places ``first`` to ``first + n`` by their share of a topic, and these shares; only those
        ``among`` some numbers, if given. The order is total, the lower number first where shares are equal: pages do
        not overlap, and miss nobody.

        A selection, not a sort: its time grows with the number of documents alone, whichever the page. Shares are not
        negative, so their bits are ordered as they are; below them stands the number, in reverse.
        """
        row = self.table[topic]
        chosen = np.flatnonzero(self.known) if among is None else among[self.known[among]]
        keys = row[chosen].view(np.uint32).astype(np.uint64) << np.uint64(32) | (_LAST - chosen.astype(np.uint64))
        high = max(0, len(keys) - first)
        low = max(0, high - n)
        if low == high:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        best = np.sort(np.partition(keys, (low, high - 1))[low:high])[::-1]
        documents = (_LAST - (best & _LAST)).astype(np.int64)
        return documents, row[documents]

    def means_by(self, codes: Int32Array, classes: IntArray) -> FloatArray:
        """Class × topic: the mean share of each topic in some ``classes`` of documents, 0 in one without known words.

        ``codes`` holds the class of each document.
        """
        place = np.full(int(max(codes.max(initial=0), classes.max(initial=0))) + 1, -1, np.int64)
        place[classes] = np.arange(len(classes))
        chosen = np.flatnonzero((place[codes] >= 0) & self.known)
        where = place[codes[chosen]]
        sizes = np.maximum(1, np.bincount(where, minlength=len(classes)))
        sums = [np.bincount(where, row[chosen], len(classes)) for row in self.table]
        means: FloatArray = np.array(sums).T / sizes[:, None]
        return means
