"""What the pages show: one model, its documents, and perhaps a second model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet._errors import InputError
from discreet._types import IntArray
from discreet.corpus.collections import collection_labels, collection_numbers
from discreet.corpus.corpus import Corpus
from discreet.corpus.tokenizer import Tokenizer
from discreet.explore.classes import Classes, classes_of
from discreet.explore.documents import Documents
from discreet.explore.later import Later
from discreet.explore.marked import Piece, TokensOf, likely_topics, pieces
from discreet.explore.matched import Matched, matched
from discreet.explore.shares import Shares
from discreet.release.measured import Measured, measured
from discreet.release.release import Release

SHOWN_WORDS = 12
"""Words of a document that a list shows where there is no text."""


@dataclass(frozen=True)
class Model:
    """A model folder, and its measures on the documents, once somebody wants them."""

    name: str
    release: Release
    measures: Later[tuple[Measured, float]]
    """With the coverage."""


@dataclass(frozen=True, eq=False)
class Explorer:
    """Nothing here changes after it was made, so that threads may share it."""

    model: Model
    documents: Documents
    shares: Shares
    classes: dict[str, Classes]
    other: Model | None = None
    source: str = ""
    """What the documents were called."""
    names: dict[int, str] = field(default_factory=dict)
    """Of the model's topics, where people gave some."""
    collections: IntArray | None = field(default=None, repr=False)
    """Of a cross-collection model: the number of each document's collection."""

    @classmethod
    def opened(
        cls,
        documents: Documents,
        model: tuple[str, Release],
        other: tuple[str, Release] | None = None,
        *,
        source: str = "",
        names: dict[int, str] | None = None,
        n_threads: int | None = None,
    ) -> Explorer:
        """Compute the topic proportions of every document."""
        name, release = model
        corpus = documents.corpus
        if other is not None and other[1].collections is not None and corpus.collections is None:
            raise InputError(f"{other[0]} compares collections, and those of the documents are not known.")
        numbers = None
        if release.collections is not None:
            numbers = collection_numbers(collection_labels(corpus), release.collections)
        bare = replace(corpus, groups=None, labels=None)  # its parts need not carry them
        shares = Shares.computed(lambda part: release.transform(part, n_threads=n_threads), bare, release.n_topics)
        ordered = documents.texts is not None

        def measure() -> tuple[Measured, float]:
            # one thread, which ends with the process: those of a pool would have to finish first
            return measured(release, corpus, ordered=ordered, n_threads=1), documents.covered

        second = None
        if other is not None:
            other_name, other_release = other

            def measure_other() -> tuple[Measured, float]:
                found, covered = documents.for_model(other_release)
                return measured(other_release, _like(found, corpus), ordered=ordered, n_threads=1), covered

            second = Model(other_name, other_release, Later(measure_other))
        return cls(
            Model(name, release, Later(measure)),
            documents,
            shares,
            classes_of(corpus),
            second,
            source,
            names or {},
            numbers,
        )

    def close(self) -> None:
        """Give up the texts."""
        if self.documents.texts is not None:
            self.documents.texts.close()

    @property
    def n_documents(self) -> int:
        return self.documents.corpus.n_documents

    @cached_property
    def top_words(self) -> list[list[str]]:
        return self.model.release.top_words(10)

    def told(self, topic: int, n_words: int) -> str:
        """What a topic is called where there is little room: its name or, without one, its best words."""
        return self.names.get(topic) or " ".join(self.top_words[topic][:n_words])

    @cached_property
    def comparison(self) -> Later[Matched]:
        assert self.other is not None
        a, b = self.model.release, self.other.release
        return Later(lambda: matched(a, b))

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.model.release.vocabulary)}

    @cached_property
    def _tokens_of(self) -> TokensOf:
        tokenizer = self.documents.corpus.tokenizer or Tokenizer()
        return tokenizer.for_vocabulary(self.model.release.vocabulary).tokens_of

    def words(self, document: int) -> IntArray:
        """The words of the model in a document, as columns, in order."""
        corpus = self.documents.corpus
        return corpus.words[corpus.offsets[document] : corpus.offsets[document + 1]].astype(np.int64)

    def beginning(self, document: int, length: int) -> str:
        """The first characters of a document on one line; of counts, its most frequent words."""
        if self.documents.texts is None:
            words, counts = np.unique(self.words(document), return_counts=True)
            best = words[np.argsort(-counts, kind="stable")][:SHOWN_WORDS]
            return " ".join(self.model.release.vocabulary[w] for w in best)
        text = self.documents.texts[document]
        start = text[: 4 * length] if isinstance(text, str) else " ".join(text[:length])
        line = " ".join(start.split())
        return line if len(line) <= length else f"{line[:length].rstrip()}…"

    def topics_of_words(self, document: int) -> dict[str, int]:
        """The most likely topic of each word of the model in a document, given the document's mixture."""
        words = np.unique(self.words(document))
        collection = None if self.collections is None else int(self.collections[document])
        release = self.model.release
        best = likely_topics(release, words, self.shares.of(document), collection)
        return {release.vocabulary[w]: int(k) for w, k in zip(words, best, strict=True)}

    def pieces(self, text: str | list[str]) -> list[Piece]:
        return pieces(text, self._tokens_of, self._columns.__contains__)


def _like(corpus: Corpus, other: Corpus) -> Corpus:
    """With the collections of the other, which are those of the same documents."""
    return corpus if corpus.collections is not None else replace(corpus, collections=other.collections)
