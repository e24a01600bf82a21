"""StoredCorpus: documents that an engine keeps outside of this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class StoredCorpus:
    """Documents in the shards of an engine. This process knows their words, and not which document has which."""

    vocabulary: Vocabulary
    shards: Any = field(repr=False)
    """Where the documents are; only their engine reads it."""
    by_user: bool
    """Whether documents are grouped by user."""
    digest: str = field(repr=False)
    """The same for the same documents, however they are divided. Private."""
    source: str = field(repr=False)
    """The same for corpora of the same units, such as this one restricted to some words."""
    tokenizer: Tokenizer | None = None

    remove: Callable[[], None] = field(default=lambda: None, repr=False)
    """Delete the shards."""

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"<StoredCorpus: {self.n_words:,} words, by {'user' if self.by_user else 'document'}>"
