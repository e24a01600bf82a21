"""What PrivateLDA knows of the words of a fit without its documents: words that are used alike, and topics to start
from.

All of it is a function of the list of words and of ``public``, which is public by assumption (the guarantee says so).
It changes what is made of released numbers, and not what is released.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from discreet._errors import InputError, warn_caller
from discreet._types import FloatArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.vocabulary import Vocabulary
from discreet.models.base import numbers
from discreet.models.knowledge import PublicKnowledge, check_public, public_knowledge
from discreet.models.private.neighbours import nearest, vectors_of_text, vectors_of_topics
from discreet.models.private.stems import same_stem
from discreet.models.private.told import some

PublicOrVectors: TypeAlias = Annotated[Any, object]
"""The type of ``public``: public text, a model of it, or a mapping of words to vectors."""

VECTORS = "the word vectors given as public= are public"
"""A condition of a guarantee."""

N_DOCUMENTS, LENGTH, CONCENTRATION = 5_000, 100, 5.0
"""Documents drawn from public topics where there is no public text: their number, their words, and the sum of the
weights of their Dirichlet distribution over topics."""


UNKNOWN = 0.01


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the words of a fit."""

    links: tuple[sp.csr_matrix, ...] = ()
    """Word × word, one table for each source: how alike a word and its neighbours are."""
    start: FloatArray | None = None
    """Word × topic: how each word is spread over topics in public text; rows sum to 1."""
    topics: FloatArray | None = None
    """Those public topics, topic × word."""
    knowledge: PublicKnowledge | None = None
    """What public text says of words: how frequent they are, and in which topics."""
    text: Corpus | None = None
    """Public documents over the words of the fit; drawn ones, where topics were given."""
    condition: str = ""
    """What a guarantee must assume."""

    @property
    def digest(self) -> str:
        """Tells a checkpoint of this fit from one with other knowledge."""
        found = hashlib.sha256()
        for links in self.links:
            for part in (links.indptr, links.indices):
                found.update(np.asarray(part, np.int64).tobytes())
        if self.start is not None:
            found.update(np.round(self.start, 6).tobytes())
        if self.knowledge is not None:
            found.update(np.round(self.knowledge.frequencies, 9).tobytes())
        return found.hexdigest()


NOTHING_KNOWN = Known()


def check_public_or_vectors(public: Any) -> None:
    """Refuse what cannot be used, before anything is read or charged."""
    if isinstance(public, Mapping):
        _vector_length(public)
    elif public is not None:
        check_public(public)


def known(public: Any, vocabulary: Vocabulary, n_topics: int, *, n_threads: int | None = None) -> Known:
    """What is known of the words of ``vocabulary`` for a model of ``n_topics`` topics."""
    stems = same_stem(vocabulary.words)
    links = [stems] if stems.nnz else []
    if public is None:
        return Known(tuple(links))
    # the words are paid for: if what was given as public is of no use for them, the fit must not fail now
    paid = vocabulary.origin == "private-selection"
    if paid and not _in_common(public, vocabulary):
        warn_caller("the public text has none of the selected words, so it is not used.")
        return Known(tuple(links))
    try:
        return _known(public, vocabulary, n_topics, links, n_threads)
    except InputError as error:
        if not paid:
            raise
        warn_caller(f"what was given as public= is not used: {error}")
        return Known(tuple(links))


def _known(
    public: Any, vocabulary: Vocabulary, n_topics: int, links: list[sp.csr_matrix], n_threads: int | None
) -> Known:
    if isinstance(public, Mapping):
        return Known((nearest(_vectors(public, vocabulary)), *links), condition=VECTORS)
    given = found = public_knowledge(public, vocabulary, n_topics=n_topics, n_threads=n_threads)
    if given.corpus is not None:
        text = given.corpus.restrict(Vocabulary(vocabulary.words, "public"))
        vectors = vectors_of_text(text)
    else:
        text, vectors = drawn(given), vectors_of_topics(given.topics, given.shares)
    if given.n_topics != n_topics:
        found = public_knowledge(text, vocabulary, n_topics=n_topics, n_threads=n_threads)
    start = _spread(found) if found.n_topics == n_topics else None
    return Known((nearest(vectors), *links), start, smoothed(found.topics), given, some(text), given.condition)


def smoothed(topics: FloatArray) -> FloatArray:
    """Topics without zeros: words that the public text does not have occur in private text. `UNKNOWN` of each topic is
    spread over all words."""
    return np.asarray((1 - UNKNOWN) * topics + UNKNOWN / topics.shape[1])


def _in_common(public: Any, vocabulary: Vocabulary) -> bool:
    words = public if isinstance(public, Mapping) else getattr(public, "vocabulary", None)
    if words is None:  # a fitted model
        words = public.release().vocabulary
    return not set(words).isdisjoint(vocabulary.words)


def drawn(public: PublicKnowledge) -> Corpus:
    """Documents drawn from public topics: text for an LDA with another number of topics. Data and no secret, so the
    draws are numpy's, from a fixed seed."""
    generator = np.random.default_rng(0)
    weights = np.maximum(CONCENTRATION * public.shares, 1e-3)
    counts = [
        generator.multinomial(LENGTH, mixture / mixture.sum())
        for mixture in generator.dirichlet(weights, N_DOCUMENTS) @ public.topics
    ]
    return Corpus.from_counts(sp.csr_matrix(np.array(counts)), Vocabulary(public.vocabulary.words, "public"))


def _spread(public: PublicKnowledge) -> FloatArray:
    """How each word is spread over topics, word × topic. A word that the public text does not have is spread as all
    text is."""
    table = public.topics.T * public.shares
    total = table.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, table / np.where(total > 0, total, 1.0), public.shares))


def _vector_length(public: Mapping[Any, Any]) -> int:
    if not public:
        raise InputError("public= is an empty mapping. Give it as {word: vector}, with public vectors.")
    word, vector = next(iter(public.items()))
    length = np.ndim(vector) == 1 and len(vector)
    if not isinstance(word, str) or not length:
        raise InputError(f"public= must map words to vectors; found {word!r}: {type(vector).__name__}.")
    return int(length)


def _vectors(public: Mapping[Any, Any], vocabulary: Vocabulary) -> FloatArray:
    """A row for each word; zero for words without a vector."""
    found = np.zeros((len(vocabulary), _vector_length(public)))
    for place, word in enumerate(vocabulary):
        if word in public:
            vector = numbers(public[word], f"the vector of {word!r} in public=")
            if vector.shape != found.shape[1:]:
                raise InputError(
                    f"the vectors in public= must have one length; found {found.shape[1]} and, for {word!r}, "
                    f"{vector.shape}."
                )
            found[place] = vector
    if not found.any():
        raise InputError("public= has a vector for none of the words of this fit. Use vectors of the same language.")
    return found
