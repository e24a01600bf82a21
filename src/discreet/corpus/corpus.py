"""Corpus: documents as immutable arrays. The dtypes of the whole package are fixed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from discreet._errors import InputError, counted
from discreet._types import AnyArray, Int32Array, IntArray
from discreet.corpus.ids import numbered, user_ids
from discreet.corpus.phrases import longest_first
from discreet.corpus.tokenizer import Tokenizer
from discreet.corpus.vocabulary import Vocabulary

if TYPE_CHECKING:
    from discreet.corpus.codebook import Codebook

_LARGEST_COUNT = 2**31 - 1

LONGEST_DOCUMENT = 2**24
"""Most tokens of one row of counts. Engines count in float32 within a document, which is exact up to this number."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents as one flat array of tokens.

    Document ``d`` is ``words[offsets[d]:offsets[d + 1]]``, each entry an index into ``vocabulary``. Tokens keep the
    order in which they were read; a count matrix has no order, so its tokens come column by column (models shuffle
    them before use). Empty documents stay: a corpus has as many documents as its source.
    """

    words: Int32Array
    offsets: IntArray
    vocabulary: Vocabulary
    """The words, where they come from and what they cost. A plain list of words has unknown origin."""
    groups: AnyArray | None = None
    """One user id per document (integers or strings, see ``ids.py``), for user-level privacy."""
    collections: AnyArray | None = None
    """One collection name per document, for cross-collection models."""
    labels: AnyArray | None = None
    """One class label per document, for evaluation only."""
    tokenizer: Tokenizer | None = field(default=None, kw_only=True)
    """How text became words; None for counts. A model keeps it, so that it can read new text."""
    codebook: Codebook | None = field(default=None, kw_only=True, repr=False)
    """How pictures became visual words; None for text. A model keeps it too."""
    all_tokens: bool = field(default=False, kw_only=True, repr=False)
    """Whether these are all tokens of each document, as a reader of text found them. If not, the vocabulary of this
    corpus is not ``complete``, whoever gave it: tokens may have been left out because of other documents."""

    sizes: IntArray | None = field(default=None, kw_only=True, repr=False)
    """For documents with candidates of phrases, each beside its words (``phrases.py``): how many words each word of the
    vocabulary has. ``restrict`` chooses among them; a model takes no such corpus."""

    def __post_init__(self) -> None:
        words = _integers(self.words, np.int32, "words")
        offsets = _integers(self.offsets, np.int64, "offsets")
        if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != words.size or (np.diff(offsets) < 0).any():
            raise InputError(
                f"offsets must rise from 0 to the number of tokens ({words.size:,}); found {_brief(offsets)}. "
                "Build a corpus with Corpus.from_counts or a reader."
            )
        vocabulary = Vocabulary.of(self.vocabulary)
        if vocabulary.complete and not self.all_tokens:
            vocabulary = replace(vocabulary, complete=False)
        if words.size and not 0 <= int(words.min()) <= int(words.max()) < len(vocabulary):
            raise InputError(
                f"words must be indices from 0 to {len(vocabulary) - 1}; found {words.min()} to {words.max()}. "
                "Do vocabulary and documents belong together?"
            )
        for name, value in (("words", words), ("offsets", offsets), ("vocabulary", vocabulary)):
            object.__setattr__(self, name, _frozen(value))
        for name in ("groups", "collections", "labels"):
            given = getattr(self, name)
            if given is not None:
                column = user_ids(given) if name == "groups" else np.array(given)
                if column.shape != (self.n_documents,):
                    raise InputError(
                        f"{name} must hold one value for each of {self.n_documents:,} documents; found shape "
                        f"{column.shape}."
                    )
                object.__setattr__(self, name, _frozen(column))

    # --- sizes ------------------------------------------------------------------------------------------------------

    @property
    def n_documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def n_empty(self) -> int:
        """Documents without a token."""
        return int((self.lengths == 0).sum())

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words, like the shape of a matrix: scikit-learn's cross-validation needs it."""
        return self.n_documents, self.n_words

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        empty = f", {self.n_empty:,} of them empty" if self.n_empty else ""
        documents, words = counted(self.n_documents, "document"), counted(self.n_words, "word")
        return f"<Corpus: {documents}{empty}, {words}, {counted(self.n_tokens, 'token')}>"

    # --- parts ------------------------------------------------------------------------------------------------------

    def __getitem__(self, which: int | slice | Sequence[int] | AnyArray) -> Corpus:
        """The documents ``which`` (a slice, a mask or indices), with the same vocabulary."""
        chosen = np.atleast_1d(np.arange(self.n_documents)[which])
        lengths = self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        columns = (None if c is None else c[chosen] for c in (self.groups, self.collections, self.labels))
        groups, collections, labels = columns
        return replace(
            self, words=self.words[tokens], offsets=offsets, groups=groups, collections=collections, labels=labels
        )

    @cached_property
    def users(self) -> IntArray | None:
        """A number for the user of each document, from 0 in the order of their first document; None without groups."""
        numbers = numbered(self.groups)
        return None if numbers is None else _frozen(numbers)

    @cached_property
    def word_counts(self) -> IntArray:
        """How often each word occurs."""
        return np.bincount(self.words, minlength=self.n_words).astype(np.int64)

    def restrict(self, vocabulary: Vocabulary | Iterable[str]) -> Corpus:
        """Keep only the tokens of a given vocabulary, in its order; other tokens are dropped, documents are kept.

        Only the caller knows where the list comes from: pass ``Vocabulary(words, "public")`` if it was known without
        looking at the text. The words of a plain list are ``unknown``, or still ``text``: they may have been chosen by
        their counts. The result of a public list is ``public`` only if the corpus had all words of its text, or public
        words: if words were left out before, all documents together decide which words of the list remain, and the
        origin is ``unknown``. A guarantee then assumes that the words are public, and says so. Words selected privately
        keep their cost, but a choice among them is not a private selection: only ``PrivateVectorizer`` makes one.
        """
        chosen = Vocabulary.of(vocabulary)
        new_index = np.array([chosen.columns.get(word, -1) for word in self.vocabulary], dtype=np.int32)
        words = new_index[self.words]
        kept = words >= 0
        if self.sizes is not None:
            kept = longest_first(self.words, self.sizes, kept)
        offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        known = self.vocabulary.restricted_to(chosen)
        part = replace(self, words=words[kept], offsets=offsets, vocabulary=known, all_tokens=False, sizes=None)
        if "users" in vars(self):  # the same documents: numbered once
            vars(part)["users"] = self.users
        return part

    def most_frequent(self, n_words: int) -> Corpus:
        """Keep the ``n_words`` most frequent words (ties by position).

        This reads the text, so the origin of the vocabulary is then ``text``.
        """
        return self.restrict(self.vocabulary.most_frequent(self.word_counts, n_words))

    # --- texts ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: Any,
        *,
        vocabulary: Any = None,
        tokenizer: Any = None,
        max_words: int | None = None,
        groups: Any = None,
        collections: Any = None,
        labels: Any = None,
    ) -> Corpus:
        """From a list, an array or a column of documents: texts, or lists of their words, which are used unchanged.

        None, NaN and other missing values are empty documents. ``vocabulary`` (a public list, or a file), ``tokenizer``
        (a Tokenizer, or a function from a text to its words) and ``max_words`` are those of ``CorpusBuilder``.
        """
        from discreet.corpus.builder import CorpusBuilder, add_texts

        builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
        return replace(add_texts(builder, texts).build(), groups=groups, collections=collections, labels=labels)

    # --- count matrices ---------------------------------------------------------------------------------------------

    def to_counts(self) -> sp.csr_matrix:
        """Document-term counts, int64, with sorted columns and no duplicates."""
        ones = np.ones(self.n_tokens, dtype=np.int64)
        counts = sp.csr_matrix((ones, self.words.copy(), self.offsets.copy()), shape=(self.n_documents, self.n_words))
        counts.sum_duplicates()
        return counts

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Vocabulary | Iterable[str] | None = None,
        *,
        groups: Any = None,
        collections: Any = None,
        labels: Any = None,
        max_tokens: int | None = None,
    ) -> Corpus:
        """From a document-term matrix, dense or scipy sparse.

        Counts must be whole and not negative (floats are fine). A row with more than ``max_tokens`` tokens is reduced
        to ``max_tokens`` before the matrix is expanded: tokens at an even spacing are kept, in the order of the
        columns. The choice depends only on the row. Without ``max_tokens`` a row of more than 2^24 tokens is an error.
        """
        matrix = _matrix(counts)
        data = _thinned(_whole_counts(matrix), matrix.indptr, max_tokens)
        words = np.repeat(matrix.indices, data)
        offsets = np.concatenate([[0], np.cumsum(data)])[matrix.indptr]
        if vocabulary is None:
            vocabulary = (f"word{i}" for i in range(matrix.shape[1]))
        vocabulary = Vocabulary.of(vocabulary)
        if len(vocabulary) != matrix.shape[1]:
            raise InputError(
                f"the vocabulary has {len(vocabulary):,} words but the matrix {matrix.shape[1]:,} columns. They must "
                "agree."
            )
        return cls(words, offsets, vocabulary, groups, collections, labels)


def _matrix(counts: Any) -> sp.csr_matrix:
    """A copy in compressed rows, each cell stored once."""
    if not sp.issparse(counts):
        counts = np.atleast_2d(np.asarray(counts))
        if counts.ndim != 2:
            raise InputError(f"counts must be a document-term matrix; found {counts.ndim} dimensions. Pass two.")
        if counts.dtype.kind not in "uifb":
            raise InputError(f"counts must be numbers; found dtype {counts.dtype}. Pass a document-term matrix.")
    matrix = sp.csr_matrix(counts, copy=True)
    matrix.sum_duplicates()
    return matrix


def _whole_counts(matrix: sp.csr_matrix) -> IntArray:
    """The stored counts as integers, or an error that names the first bad cell."""
    data = matrix.data
    if data.dtype.kind not in "uifb":
        raise InputError(f"counts must be numbers; found dtype {data.dtype}. Pass a document-term matrix.")
    with np.errstate(invalid="ignore"):
        bad = ~((data >= 0) & (data <= _LARGEST_COUNT)) | (data != np.floor(data))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(matrix.indptr, at, side="right") - 1)
        raise InputError(
            f"counts must be whole, 0 to {_LARGEST_COUNT:,}; found {data[at]} in row {row}, "
            f"column {matrix.indices[at]}. Pass word counts, not weights such as tf-idf."
        )
    whole: IntArray = data.astype(np.int64)
    return whole


def _thinned(data: IntArray, starts: AnyArray, max_tokens: int | None) -> IntArray:
    """The counts, with at most ``max_tokens`` per row. One row must not fill the memory when counts become tokens."""
    lengths = np.diff(np.concatenate([[0], np.cumsum(data)])[starts])
    most = LONGEST_DOCUMENT if max_tokens is None else max_tokens
    for row in np.flatnonzero(lengths > most):
        if max_tokens is None:
            raise InputError(
                f"row {row} holds {lengths[row]:,} tokens, and a document may have {LONGEST_DOCUMENT:,}. Split it, or "
                "divide its counts (Corpus.from_counts with max_tokens= does this)."
            )
        cells = slice(starts[row], starts[row + 1])
        kept_before = np.floor(np.cumsum(data[cells]) / lengths[row] * most)
        data[cells] = np.diff(kept_before, prepend=0.0).astype(np.int64)
    return data


def _integers(values: Any, dtype: Any, name: str) -> Any:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "ui"):
        raise InputError(f"{name} must be a flat array of integers; found {array.dtype} of shape {array.shape}.")
    if array.size and array.dtype.itemsize >= np.dtype(dtype).itemsize and array.max() > np.iinfo(dtype).max:
        raise InputError(f"{name} must be indices below 2^{np.iinfo(dtype).bits - 1}; found {array.max()}.")
    return np.ascontiguousarray(array, dtype=dtype)


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.view()
        value.setflags(write=False)
    return value


def _brief(array: AnyArray) -> str:
    return np.array2string(array, threshold=6, edgeitems=2)
