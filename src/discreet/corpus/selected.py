"""Counts over privately selected words, with the words and their cost attached.

A plain matrix has neither: a private model must then assume that its columns are public, and leave their cost out of
the ε that it prints. Between the vectorizer and the model of a scikit-learn pipeline only a matrix can be passed, so
this matrix carries the facts. A copy keeps them, and so does a selection of rows, as cross-validation makes it. Any
other result of scipy (a choice of columns, a product) loses them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.corpus.corpus import Corpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary


class SelectedCounts(sp.csr_matrix):  # type: ignore[misc]  # scipy ships no types
    """Document-term counts of a corpus whose vocabulary was selected privately."""

    _facts: tuple[Vocabulary, Tokenizer | None, dict[str, Any]] | None = None
    """Words, tokenizer, and the columns of the corpus that say something of each document, by name."""

    @classmethod
    def of(cls, corpus: Corpus) -> SelectedCounts:
        """The counts of a corpus, with its vocabulary, groups, collections and tokenizer."""
        counts = cls(corpus.to_counts())
        columns = {"groups": corpus.groups, "collections": corpus.collections}
        known = {name: column for name, column in columns.items() if column is not None}
        counts._facts = (corpus.vocabulary, corpus.tokenizer, known)
        return counts

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, SelectedCounts) and self._facts is not None:
            rows, *columns = key if isinstance(key, tuple) else (key,)
            if all(other is ... or (isinstance(other, slice) and other == slice(None)) for other in columns):
                words, tokenizer, known = self._facts
                part._facts = (words, tokenizer, {name: np.atleast_1d(known[name][rows]) for name in known})
        return part

    def copy(self) -> SelectedCounts:
        copied: SelectedCounts = super().copy()
        copied._facts = self._facts
        return copied

    def to_corpus(self) -> Corpus | None:
        """The current counts as a corpus with the facts; None if the facts do not fit, or are not known."""
        if self._facts is None:
            return None
        words, tokenizer, known = self._facts
        if self.shape[1] != len(words) or any(len(column) != self.shape[0] for column in known.values()):
            return None
        return replace(Corpus.from_counts(self, words, **known), tokenizer=tokenizer)
