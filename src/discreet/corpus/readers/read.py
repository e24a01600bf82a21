"""Corpora from files: text folders, matrices, and ``read``, which looks at a path and takes the right reader."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from discreet._errors import DataNotFound, InputError
from discreet.corpus.builder import AnyTokenizer, CorpusBuilder, checked_max_words, public_vocabulary
from discreet.corpus.corpus import Corpus, Provenance
from discreet.corpus.lines import (
    STDIN,
    PathLike,
    close_match,
    decoded,
    existing,
    first_line,
    head,
    inner_suffix,
    shown,
    tell_read,
    text_lines,
)
from discreet.corpus.readers.tables import SUFFIXES, read_table
from discreet.corpus.readers.uci import read_uci

__all__ = ["read", "read_folder", "read_lines", "read_matrix", "read_table", "read_uci"]

MATRICES = (".npz", ".npy", ".mtx")
COLUMNS = ("text", "group", "collection", "label")
"""Options that name columns."""


def read_folder(
    path: PathLike,
    pattern: str = "*.txt",
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    max_words: int | None = None,
) -> Corpus:
    """Read a folder of UTF-8 text files, one document each, in the order of their names.

    Where files lie in sub-folders, the name of the first sub-folder is the document's label ('' for files at the top).
    """
    folder = existing(path)
    if not folder.is_dir():
        raise InputError(f"{shown(folder)} is a file, not a folder. Use read() or read_table() for files.")
    try:
        files = sorted((p.relative_to(folder) for p in folder.rglob(pattern) if p.is_file()), key=lambda p: p.parts)
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(f"{shown(pattern)} is no file pattern: {first_line(error)}. Try '*.txt'.") from None
    if not files:
        some = sorted(p.name for p in folder.iterdir())[:3]
        raise DataNotFound(
            f"no file in {shown(folder)} matches {shown(pattern)}; found {', '.join(some) or 'nothing'}. "
            "Give a folder of such files, one text a file (in Python, pattern= reads others, for instance '*.md')."
        )
    labelled = any(len(file.parts) > 1 for file in files)
    builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    total, done = sum((folder / file).stat().st_size for file in files), 0
    for file in files:
        try:
            raw = (folder / file).read_bytes()
        except OSError as error:
            raise InputError(f"{shown(folder / file)} cannot be read: {first_line(error)}. Check its rights.") from None
        done += len(raw)
        tell_read(done, total)
        text = decoded(raw.removeprefix(b"\xef\xbb\xbf"), folder / file)
        builder.add(text, label=(file.parts[0] if len(file.parts) > 1 else "") if labelled else None)
    return builder.build()


def read_lines(
    path: PathLike,
    *,
    vocabulary: PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    max_words: int | None = None,
) -> Corpus:
    """Read a UTF-8 text file, one document a line (also .gz or .bz2), or "-", standard input.

    A blank line is an empty document: document n is line n.
    """
    source = existing(path)
    if source.is_dir():
        raise InputError(f"{shown(source)} is a folder, not a file. Use read_folder() or read() for folders.")
    builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    for line in text_lines(source):
        builder.add(line.rstrip("\r"))
    try:
        return builder.build()
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None


def read_matrix(
    path: PathLike,
    vocab: PathLike | Iterable[str] | None = None,
    *,
    vocabulary_from: Provenance = "unknown",
    max_tokens: int | None = None,
) -> Corpus:
    """Read document-term counts: .npz of scipy.sparse, .npy, or MatrixMarket .mtx (also .mtx.gz).

    ``vocab`` names the columns (a file with one name a line, or a list). A matrix does not say where its columns come
    from, so ``vocabulary_from`` is ``unknown`` unless you know better. ``max_tokens`` as in ``Corpus.from_counts``.
    """
    source = existing(path)
    if source.is_dir():
        raise InputError(f"{shown(source)} is a folder, not a matrix. Use read() for folders.")
    suffix = inner_suffix(source)
    try:
        counts = _load_matrix(source, suffix)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError, StopIteration):
        raise InputError(
            f"{shown(source)} holds no matrix. Write it with "
            f"{'scipy.io.mmwrite' if '.mtx' in source.suffixes else 'scipy.sparse.save_npz or numpy.save'}."
        ) from None
    names = [line.strip() for line in text_lines(existing(vocab))] if isinstance(vocab, str | os.PathLike) else vocab
    try:
        return Corpus.from_counts(counts, names, vocabulary_from=vocabulary_from, max_tokens=max_tokens)
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None


def _load_matrix(source: Path, suffix: str) -> Any:
    import numpy as np
    import scipy.sparse as sp

    if suffix == ".npz":
        return sp.load_npz(source)
    if suffix == ".npy":
        return np.load(source, allow_pickle=False)
    if suffix == ".mtx":
        from scipy.io import mmread

        return mmread(source, spmatrix=True)
    raise InputError(f"{shown(source)} is no kind of matrix that can be read. Give {', '.join(MATRICES)}.")


def read(path: PathLike, **options: Any) -> Corpus:
    """Read a corpus, whatever its form.

    ========================================  =====================================================================
    a file ``docword*.txt`` (.gz, .bz2)       ``read_uci``
    a folder with one such file               ``read_uci``
    ``.jsonl``, ``.csv``, ``.tsv``, …         ``read_table``
    ``.npz``, ``.npy``, ``.mtx``              ``read_matrix``
    any other ``.txt`` (.gz, .bz2)            ``read_lines``
    any other folder                          ``read_folder``
    ``"-"``, standard input                   ``read_table`` if it is JSON or columns are named, else ``read_lines``
    ========================================  =====================================================================

    ``options`` are those of the reader. Counts, from UCI files or matrices, also take ``vocabulary`` (a public list
    or file: other words are dropped and the corpus says ``public``) or ``max_words`` (the most frequent; the corpus
    says ``text``).
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
        return _counted(read_uci, docwords[0], options) if docwords else _called(read_folder, source, options)
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
        f"{shown(source)} is no kind of file that can be read.{hint} "
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


def keep_words(corpus: Corpus, vocabulary: PathLike | Iterable[str] | None, max_words: int | None) -> Corpus:
    """A counted corpus with a public vocabulary, or with its most frequent words, or as it is."""
    if vocabulary is not None and max_words is not None:
        raise InputError(
            "vocabulary and max_words were both given. A given vocabulary is used whole; leave one of them out."
        )
    if vocabulary is not None:
        return corpus.restrict(public_vocabulary(vocabulary), vocabulary_from="public")
    return corpus if max_words is None else corpus.most_frequent(max_words)


def _called(reader: Callable[..., Corpus], source: Path, options: dict[str, Any], *more: str) -> Corpus:
    known = [*list(inspect.signature(reader).parameters)[1:], *more]
    for name in options:
        if name not in known:
            hint = close_match(name, known)
            raise InputError(f"{shown(source)} takes no option {name!r}; it takes {', '.join(known)}.{hint}")
    return reader(source, **options)
