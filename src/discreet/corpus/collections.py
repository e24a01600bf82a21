"""Collections: the collection of each document, and a vocabulary with one word per pair of collection and word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.ids import MISSING, is_missing
from discreet.corpus.unquoted import kind_of, name_or_kind


def collection_labels(corpus: Corpus, given: Any = None) -> AnyArray:
    """The collection of each document, strings or whole numbers: those ``given``, or else the corpus's own."""
    if given is None and corpus.collections is None:
        raise InputError(
            "the collection of each document is not known. Pass collections=, with one label for each document; a "
            "Corpus may have them too."
        )
    if given is not None and np.shape(given)[:1] != (corpus.n_documents,):  # no number: logs may keep messages
        raise InputError(
            "collections must hold exactly one label for each document. Pass one value for each row of X, in order."
        )
    labels = np.asarray(corpus.collections if given is None else replace(corpus, collections=given).collections)
    checked: set[str] = set()
    for row, label in enumerate(labels.tolist() if labels.dtype.kind in "OUf" else ()):
        if isinstance(label, str) and label in checked:
            continue
        if is_missing(label) or (isinstance(label, str) and label.casefold() in MISSING):
            raise InputError(
                f"collections, row {row} (the first is row 0): the label is missing (found {label!r}). Give every "
                "document a label, or leave the document out."
            )
        if not isinstance(label, str):
            raise InputError(
                f"collections must be strings or whole numbers; found {kind_of(label)} in row {row}. Use names."
            )
        checked.add(label)
    if labels.dtype.kind not in "OUiu":
        raise InputError(f"collections must be strings or whole numbers; found {labels.dtype}. Use names.")
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def labels_given(corpus: Corpus, collections: Any, y: Any) -> Any:
    """The labels to pass to `collection_labels`: ``collections``, or ``y`` if the corpus has none of its own either."""
    return y if collections is None and corpus.collections is None else collections


def collection_numbers(labels: AnyArray, known: Sequence[str | int]) -> IntArray:
    """The place of each label among those ``known``."""
    numbers, other = match_labels(labels, known)
    if other is not None:
        named = ", ".join(map(repr, known[:5])) + (", …" if len(known) > 5 else "")
        raise InputError(
            f"the model has no collection {name_or_kind(other)}; it was trained on {named}. Use one of these."
        )
    return numbers


def match_labels(labels: AnyArray, known: Sequence[str | int]) -> tuple[IntArray, str | int | None]:
    """The place of each label among those ``known``, and the first label that is not there.

    The number 2000 and the text "2000" are one label: JSON and Parquet files have numbers, CSV files only text.
    """
    names, found = list(known), labels.tolist()
    if {type(label) for label in (*names, *found)} == {str, int}:
        names, found = list(map(str, names)), list(map(str, found))
    place = {name: number for number, name in enumerate(names)}
    other = next((row for row, label in enumerate(found) if label not in place), None)
    numbers = np.array([place.get(label, -1) for label in found], np.int64)
    return numbers, None if other is None else labels.tolist()[other]


def product_corpus(corpus: Corpus, numbers: IntArray, n_collections: int) -> Corpus:
    """The same documents over n_collections · n_words words: word w of collection c is word c · n_words + w."""
    words = np.repeat((numbers * corpus.n_words).astype(np.int32), corpus.lengths)
    words += corpus.words
    return Corpus(words, corpus.offsets, map(str, range(n_collections * corpus.n_words)))  # type: ignore[arg-type]
