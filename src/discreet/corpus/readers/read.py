"""``read``, which looks at a path and calls the reader of its format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet._errors import DataNotFound, InputError
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import STDIN, PathLike, close_match, existing, head, inner_suffix, shown
from discreet.corpus.readers.folders import read_folder, read_lines
from discreet.corpus.readers.images import holds_pictures, read_images
from discreet.corpus.readers.matrices import MATRICES, keep_words, read_matrix
from discreet.corpus.readers.tables import SUFFIXES, read_table
from discreet.corpus.readers.uci import read_uci
from discreet.corpus.vocabulary import checked_max_words

COLUMNS = ("text", "group", "collection", "label")
"""Options that name columns."""


def read(path: PathLike, **options: Any) -> Corpus:
    """Read a corpus, whatever its form.

    ========================================  =====================================================================
    a file ``docword*.txt`` (.gz, .bz2)       ``read_uci``
    a folder with one such file               ``read_uci``
    ``.jsonl``, ``.csv``, ``.tsv``, …         ``read_table``
    ``.npz``, ``.npy``, ``.mtx``              ``read_matrix``
    any other ``.txt`` (.gz, .bz2)            ``read_lines``
    a folder of more pictures than ``.txt``   ``read_images``
    any other folder                          ``read_folder``
    ``"-"``, standard input                   ``read_table`` if it is JSON or columns are named, else ``read_lines``
    ========================================  =====================================================================

    ``options`` are those of the reader. Counts, from UCI files or matrices, also take ``vocabulary`` (a public list or
    file: other words are dropped, and the origin is ``public``) or ``max_words`` (the most frequent; the origin is
    ``text``).
    """
    try:
        source = existing(path)
    except DataNotFound as error:
        from discreet.corpus.datasets import NAMES

        if str(path) in NAMES:
            raise DataNotFound(
                f"{error} To read the named data set, use discreet.corpus.load({str(path)!r})."
            ) from None
        raise
    if source.is_dir():
        docwords = sorted(p for p in source.glob("docword*.txt*") if p.is_file())
        if len(docwords) > 1:
            found = ", ".join(p.name for p in docwords[:5])
            raise InputError(f"{shown(source)} holds {len(docwords)} bags of words: {found}. Give one of these files.")
        if docwords:
            return _counted(read_uci, docwords[0], options)
        return _called(read_images if holds_pictures(source) else read_folder, source, options)
    suffix = inner_suffix(source)
    if source == STDIN:
        as_table = head(source).startswith(("{", "[")) or any(column in options for column in COLUMNS)
        return _called(read_table if as_table else read_lines, source, options)
    if suffix == ".txt":
        return _counted(read_uci, source, options) if is_docword(source) else _called(read_lines, source, options)
    if suffix in MATRICES:
        return _counted(read_matrix, source, options)
    if suffix in SUFFIXES:
        return _called(read_table, source, options)
    hint = " Name it .txt if each line is a document." if suffix in (".md", "") else ""
    raise InputError(
        f"{shown(source)} is not a kind of file that can be read.{hint} "
        f"Give {', '.join((*SUFFIXES, '.txt', *MATRICES))}, or a UCI docword*.txt."
    )


def is_docword(path: Path) -> bool:
    """Whether a file is a UCI bag of words, by its name."""
    return path.name.startswith("docword")


def _counted(reader: Callable[..., Corpus], source: Path, options: dict[str, Any]) -> Corpus:
    """Read counts, then keep some of their words."""
    vocabulary, max_words = options.pop("vocabulary", None), checked_max_words(options.pop("max_words", None))
    corpus = _called(reader, source, options, "vocabulary", "max_words")
    return keep_words(corpus, vocabulary, max_words)


def _called(reader: Callable[..., Corpus], source: Path, options: dict[str, Any], *more: str) -> Corpus:
    known = [*list(inspect.signature(reader).parameters)[1:], *more]
    for name in options:
        if name in COLUMNS and name not in known:
            pictures = reader is read_images
            raise InputError(
                f"{shown(source)} has no columns, so {name}={options[name]!r} cannot be used. "
                + ("Leave it out: the sub-folders are the collections." if pictures else "Give CSV or JSON lines.")
            )
        if name not in known:
            hint = close_match(name, known)
            raise InputError(f"{shown(source)} takes no option {name!r}; it takes {', '.join(known)}.{hint}")
    return reader(source, **options)
