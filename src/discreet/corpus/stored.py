"""StoredCorpus: documents that an engine keeps outside of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet._types import IntArray
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class StoredCorpus:
    """Documents in the shards of an engine. This process knows their words, and not which document has which."""

    vocabulary: Vocabulary
    shards: Any = field(repr=False)
    """Where the documents are: an engine's own."""
    by_user: bool
    """Whether documents are grouped by user."""
    digest: str = field(repr=False)
    """The same for the same documents, however they are divided. Private."""
    source: str = field(repr=False)
    """The same for corpora of the same units, such as this one restricted to some words."""
    tokenizer: Tokenizer | None = None

    @property
    def groups(self) -> None:
        """The ids of users stay with the engine."""

    users = groups

    def remove(self) -> None:
        """Delete the shards."""
        self.shards.remove()

    def restrict(self, vocabulary: Vocabulary | Iterable[str]) -> StoredCorpus:
        """New shards that have only the words of ``vocabulary``, as `Corpus.restrict`."""
        chosen = Vocabulary.of(vocabulary)
        columns = np.array([chosen.columns.get(word, -1) for word in self.vocabulary], dtype=np.int32)
        shards = self.shards.renumbered(columns)
        known = self.vocabulary.restricted_to(chosen)
        return replace(self, vocabulary=known, shards=shards, digest=shards.digest)

    def most_frequent(self, n_words: int) -> StoredCorpus:
        """New shards that have only the ``n_words`` most frequent words, as `Corpus.most_frequent`."""
        return self.restrict(self.vocabulary.most_frequent(self.word_counts, n_words))

    def summed(self, function: Callable[[Any, int], IntArray]) -> IntArray:
        """The sum of ``function(documents, first)`` over shards; ``first`` is the number of the first unit in each."""
        found: IntArray = self.shards.summed(function, self.n_words)
        return found

    @cached_property
    def word_counts(self) -> IntArray:
        """How often each word occurs. Private."""
        return self.summed(_word_counts)

    @property
    def n_tokens(self) -> int:
        return int(self.word_counts.sum())

    @property
    def n_documents(self) -> int:
        return int(self.shards.n_documents)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"<StoredCorpus: {self.n_words:,} words, by {'user' if self.by_user else 'document'}>"


def _word_counts(documents: Any, first: int) -> IntArray:
    return np.bincount(documents.words, minlength=documents.n_words)


@contextmanager
def removed_after(documents: Any) -> Iterator[Any]:
    """Documents that an engine keeps for the time of this block; others are not touched."""
    try:
        yield documents
    finally:
        if isinstance(documents, StoredCorpus):
            documents.remove()
