"""From text to a corpus: a builder that takes documents one by one."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count, repeat
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from discreet._errors import InputError, warn_caller
from discreet._types import AnyArray, Int32Array, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.ids import LONGEST_ID, IdReader, id_array, is_missing
from discreet.corpus.lines import PathLike, shown
from discreet.corpus.phrases import sizes_of
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.unquoted import kind_of
from discreet.corpus.vocabulary import Vocabulary, checked_max_words, given_vocabulary, learnt_words

Document: TypeAlias = str | Sequence[str] | None
"""A text, or a list of its words; None (also NaN, pandas.NA) is an empty document, so that rows stay aligned."""

AnyTokenizer: TypeAlias = Tokenizer | Callable[[str], Iterable[str]] | None
"""How text becomes words; None for the default tokenizer."""

Listener: TypeAlias = Callable[[Document, list[str]], object]
"""Called with each document as a reader found it, and with all of its words, known or not."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every document that is added in this block, in order: a corpus keeps no text, and readers of
    all kinds come through here."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


UNSPACED = (
    "some text has no spaces between its words (Chinese, Japanese, Thai, Lao, Khmer or Burmese), and {}. Cut it into "
    "words first: give lists of words, or texts with spaces between the words."
)

_CHUNK = 1 << 20  # tokens gathered before they are packed into one array


class CorpusBuilder:
    """Takes documents one by one and keeps four bytes for each of their tokens, never the text.

    With ``vocabulary``, a public list or a file of one, other words are dropped and the origin of the words is
    ``public`` (a ``Vocabulary`` keeps its own). Without, the vocabulary is learnt: all words but stop words, or the
    ``max_words`` most frequent (ties go to the word that comes first in the alphabet), and its origin is ``text``. A
    learnt vocabulary is in alphabetical order, so that it does not reveal which document used a word first, and does
    not change when documents are read in another order.
    """

    def __init__(
        self,
        *,
        vocabulary: PathLike | Iterable[str] | None = None,
        tokenizer: AnyTokenizer = None,
        max_words: int | None = None,
    ) -> None:
        self.vocabulary = given_vocabulary(vocabulary, max_words)
        self.max_words = checked_max_words(max_words)
        self.tokenizer = Tokenizer.of(tokenizer)
        reader = self.tokenizer if self.vocabulary is None else self.tokenizer.for_vocabulary(self.vocabulary)
        self._tokens_of = reader.tokens_of
        self._ids: dict[str, int]
        if self.vocabulary is None:
            self._ids = defaultdict(count().__next__)  # a new word gets the next number, without a Python-level call
        else:
            self._ids = self.vocabulary.columns
            if self.tokenizer.function is None and not any(map(self.tokenizer.finds, self.vocabulary)):
                raise InputError(
                    f"no word of the vocabulary, for instance {shown(self.vocabulary[0])}, is a word by "
                    f"{self.tokenizer.described}{', on lower-cased text' if self.tokenizer.lowercase else ''}. Give "
                    "another list, or say what a word is (token_pattern=)."
                )
        self._lengths = array("q")
        self._recent: list[Int32Array] = []
        self._recent_size = 0
        self._chunks: list[tuple[Int32Array, int]] = []  # tokens, and the number of documents up to here
        self._columns = {name: _Column(name) for name in ("group", "collection", "label")}
        self._built = self._unspaced = False

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: Document, *, group: Any = None, collection: Any = None, label: Any = None) -> None:
        """Add one document: a text, or a list of its words, which are used unchanged. None and NaN are empty.

        Either every document has a group, or none has one; the same holds for collections.
        """
        words = [] if is_missing(text) else self._words(text)
        for column, value in zip(self._columns.values(), (group, collection, label), strict=True):
            column.check(value, len(self))
        if self.vocabulary is None:
            tokens = np.fromiter(map(self._ids.__getitem__, words), np.int32, len(words))
        else:
            tokens = np.fromiter(map(self._ids.get, words, repeat(-1)), np.int32, len(words))
            tokens = tokens[tokens >= 0]
        for column, value in zip(self._columns.values(), (group, collection, label), strict=True):
            column.append(value)
        listener = _listener.get()
        if listener is not None:
            listener(text, words)
        self._lengths.append(tokens.size)
        if tokens.size:
            self._recent.append(tokens)
            self._recent_size += tokens.size
            if self._recent_size >= _CHUNK:
                self._pack()

    def _words(self, text: Any) -> list[str]:
        if isinstance(text, str):
            self._unspaced = self._unspaced or self.tokenizer.leaves_out(text)
            return self._tokens_of(text)
        if not is_tokens(text):
            raise InputError(f"the text is not a string but {kind_of(text)}. Name the column of text.")
        words = list(text)
        if not all(isinstance(word, str) for word in words):
            raise InputError(
                f"the tokens of a document must be strings; not all of {kind_of(text)} are. Name the column of text."
            )
        return self._tokens_of(words)

    def build(self) -> Corpus:
        """The corpus. This empties the builder, so it can be called once."""
        if self._built:
            raise InputError("this builder has built its corpus already. Make a new CorpusBuilder.")
        if not len(self):
            raise InputError("no document was added. Give at least one document.")
        self._pack()
        self._built = True
        columns = [column.values() for column in self._columns.values()]
        if self.vocabulary is None:
            candidates = isinstance(self.tokenizer.phrases, int)
            words, offsets, vocabulary = self._learnt(None if candidates else self.max_words)
            sizes = sizes_of(vocabulary) if candidates else None
            self._warn()
            corpus = Corpus(
                words, offsets, vocabulary, *columns, tokenizer=self.tokenizer, all_tokens=True, sizes=sizes
            )
            return corpus.most_frequent(self.max_words) if candidates and self.max_words is not None else corpus
        self._warn()
        offsets = np.concatenate([[0], np.cumsum(np.frombuffer(self._lengths, np.int64))])
        words = np.concatenate([np.empty(0, np.int32), *(chunk for chunk, _ in self._chunks)])
        self._chunks.clear()
        return Corpus(words, offsets, self.vocabulary, *columns, tokenizer=self.tokenizer)

    def _warn(self) -> None:
        if self._unspaced:
            warn_caller(UNSPACED.format("was left out"))

    def _pack(self) -> None:
        self._chunks.append((np.concatenate([np.empty(0, np.int32), *self._recent]), len(self)))
        self._recent.clear()
        self._recent_size = 0

    def _learnt(self, max_words: int | None) -> tuple[Int32Array, IntArray, Vocabulary]:
        """Choose the words, then renumber the tokens chunk by chunk, freeing each chunk once it is copied."""
        spelled = list(self._ids)
        counts = np.zeros(len(spelled), np.int64)
        for chunk, _ in self._chunks:
            counts += np.bincount(chunk, minlength=len(spelled))
        chosen = learnt_words(spelled, counts, self.tokenizer.stop_set, max_words)
        if not chosen:
            raise InputError(
                UNSPACED.format("no other word was found")
                if self._unspaced
                else f"no word was found in the documents with {self.tokenizer.described}"  # how many may be private
                f"{' other than stop words' if spelled else ''}. Check the text and the pattern (token_pattern=)."
            )
        column = np.full(len(spelled), -1, np.int32)
        column[chosen] = np.arange(len(chosen), dtype=np.int32)
        words = np.empty(int(counts[chosen].sum()), np.int32)
        before = np.concatenate([[0], np.cumsum(np.frombuffer(self._lengths, np.int64))])
        offsets = np.zeros_like(before)
        first = done = 0
        for i, (chunk, last) in enumerate(self._chunks):
            renumbered = column[chunk]
            kept = renumbered >= 0
            kept_before = np.concatenate([[0], np.cumsum(kept)])
            offsets[first + 1 : last + 1] = done + kept_before[before[first + 1 : last + 1] - before[first]]
            words[done : done + kept_before[-1]] = renumbered[kept]
            first, done = last, done + int(kept_before[-1])
            self._chunks[i] = (np.empty(0, np.int32), last)
        return words, offsets, Vocabulary((spelled[i] for i in chosen), "text", complete=max_words is None)


def add_texts(builder: CorpusBuilder, texts: Any) -> CorpusBuilder:
    """Add all documents of a list, an array or a column; an error names the first item that is not a document."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) != 1:
        raise InputError(
            f"texts must come as a list of documents, each a string or a list of words; found {type(texts).__name__}"
            f"{f' of {texts.ndim} dimensions' if hasattr(texts, 'ndim') else ''}. Pass one column of text."
        )
    for number, text in enumerate(texts):
        try:
            builder.add(text)
        except InputError as error:
            raise InputError(f"document {number} (the first is document 0): {error}") from None
    return builder


def holds_texts(X: Any) -> bool:
    """Whether documents come as strings or as lists of words, and not as counts. Missing documents are skipped."""
    if isinstance(X, str):
        return True
    if getattr(X, "ndim", 1) != 1 or not isinstance(X, Iterable) or isinstance(X, Iterator):
        return False
    first: Any = next((one for one in X if not (is_missing(one) or (is_tokens(one) and not len(one)))), None)
    return isinstance(first, str) or (is_tokens(first) and isinstance(next(iter(first)), str))


def is_tokens(document: Any) -> bool:
    return isinstance(document, list | tuple) or (isinstance(document, np.ndarray) and document.ndim == 1)


def texts_for_model(X: Any, vocabulary: Sequence[str] | None, tokenizer: AnyTokenizer) -> Corpus:
    """New text as a corpus over the vocabulary of a trained model."""
    if vocabulary is None:
        raise InputError(
            "this model was trained on counts without the names of the words, so it takes no text. Pass counts of the "
            "same columns, or train on a Corpus."
        )
    if tokenizer is None and any(isinstance(text, str) for text in X):
        raise InputError(
            "this model does not know how text becomes words: it was trained on counts, or with a function, which is "
            "not saved. Pass lists of words, counts, or a Corpus (Release.transform also takes tokenizer=)."
        )
    return add_texts(CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer), X).build()


class _Column:
    """One value per document; each distinct value is stored once. Absent labels become ''; absent groups are
    refused."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._user_id = IdReader() if name == "group" else None
        self._codes = array("i")
        self._known: dict[Any, int] = {}

    def check(self, value: Any, n_documents: int) -> None:
        if value is None:
            if self._known and self.name != "label":
                raise InputError(
                    f"this document has no {self.name}, but others have. Give one to each document, or to none."
                )
            return
        if not self._known and n_documents and self.name != "label":
            raise InputError(
                f"this document has a {self.name}, but others have none. Give one to each document, or to none."
            )
        if self._user_id is not None:
            self._user_id(value)
        elif isinstance(value, str):
            if len(value) > LONGEST_ID:
                raise InputError(
                    f"a {self.name} has {len(value):,} characters. Is this the column of text? Name another."
                )
        elif not isinstance(value, Integral) and not (isinstance(value, float) and value.is_integer()):
            raise InputError(
                f"a {self.name} must be a string or a whole number; found {kind_of(value)}. "
                "Name another column, or turn it into strings."
            )

    def append(self, value: Any) -> None:
        if value is not None and self._user_id is not None:
            value = self._user_id(value)
        elif value is not None and not isinstance(value, str):
            value = int(value)
        self._codes.append(-1 if value is None else self._known.setdefault(value, len(self._known)))

    def values(self) -> AnyArray | None:
        if not self._known:
            return None
        codes = np.frombuffer(self._codes, np.int32)
        known = list(self._known)
        if self._user_id is not None:
            return id_array(known)[codes]
        whole = codes.min() >= 0 and all(not isinstance(v, str) and -(2**63) <= v < 2**63 for v in known)
        return np.array(known, np.int64)[codes] if whole else np.array([*map(str, known), ""])[codes]
