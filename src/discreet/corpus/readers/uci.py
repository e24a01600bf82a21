"""UCI bags of words: three lines (documents, words, entries), then one ``document word count`` per line, ids from 1."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from discreet._errors import DataNotFound, InputError
from discreet._types import Int32Array, IntArray
from discreet.corpus.corpus import Corpus
from discreet.corpus.lines import PathLike, existing, line_blocks, shown, text_lines
from discreet.corpus.unquoted import as_numbers
from discreet.corpus.vocabulary import Origin, Vocabulary

_LIMIT = 2**31 - 1
_FORM = "Each line after the header is 'document word count', with ids from 1."


def read_uci(
    docword: PathLike, vocab: PathLike | None = None, *, origin: Origin = "unknown", max_tokens: int | None = None
) -> Corpus:
    """Read ``docword.*.txt``, plain, .gz or .bz2, with its vocabulary file (by default the ``vocab`` file beside it).

    The file does not say where its words come from, so their ``origin`` is ``unknown`` unless you state it.
    ``max_tokens`` as in ``Corpus.from_counts``.
    """
    path = existing(docword)
    if path.is_dir():
        raise InputError(f"{shown(path)} is a folder. Give the docword file in it, or use read() for a folder.")
    names_path = existing(vocab) if vocab is not None else vocab_beside(path)
    names = tuple(line.strip() for line in text_lines(names_path))
    for n, name in enumerate(names, 1):
        if not name:
            raise InputError(
                f"{shown(names_path)}: line {n:,} is blank. Line n of a vocabulary file names word n; fill it."
            )

    body = line_blocks(path)
    n_documents, n_words, n_entries, rest, start = _header(path, body)
    if n_words != len(names):
        raise InputError(
            f"{shown(path)} counts {n_words:,} words, but {shown(names_path)} lists {len(names):,}. Do they belong "
            "together?"
        )
    parts: list[Int32Array] = [np.empty((0, 3), np.int32)]
    if rest:
        parts.append(_checked(_triples(rest, path, start), path, rest, start, n_documents, n_words))
    for first, block in body:
        parts.append(_checked(_triples(block, path, first), path, block, first, n_documents, n_words))
    triples = np.concatenate(parts)
    del parts
    if len(triples) != n_entries:
        raise InputError(
            f"{shown(path)}: the header (line 3) counts {n_entries:,} entries, but {len(triples):,} follow. "
            "Is the file complete?"
        )
    counts = sp.csr_matrix((triples[:, 2], (triples[:, 0] - 1, triples[:, 1] - 1)), shape=(n_documents, n_words))
    return Corpus.from_counts(counts, Vocabulary(names, origin), max_tokens=max_tokens)


def vocab_beside(docword: Path) -> Path:
    """``vocab.kos.txt`` for ``docword.kos.txt.gz``; or the one vocabulary file of the folder."""
    stem = docword.name.removesuffix(".gz").removesuffix(".bz2").replace("docword", "vocab", 1)
    for name in (stem, f"{stem}.gz"):
        if name.startswith("vocab") and (beside := docword.with_name(name)).is_file():
            return beside
    others = sorted(p for p in docword.parent.glob("vocab*.txt*") if p.is_file())
    if len(others) == 1:
        return others[0]
    found = ", ".join(p.name for p in others[:5]) or "none"
    raise DataNotFound(
        f"no vocabulary for {shown(docword)}: found {found} beside it. Put its word list there as "
        f"{docword.name.removesuffix('.gz').removesuffix('.bz2').replace('docword', 'vocab', 1)} (in Python: vocab=)."
    )


def _header(path: Path, body: Iterator[tuple[int, bytes]]) -> tuple[int, int, int, bytes, int]:
    """The three numbers, and what follows them in the first block with the number of its first line."""
    _, block = next(body, (1, b""))
    if not block.strip():
        raise InputError(f"{shown(path)} is empty. A bag of words starts with three numbers, one per line.")
    lines = block.removeprefix(b"\xef\xbb\xbf").split(b"\n", 3)
    numbers = []
    for n, what in enumerate(("documents", "words", "entries")):
        field = lines[n].strip() if n < len(lines) else b""
        if not field.isdigit():
            raise InputError(
                f"{shown(path)}: line {n + 1} must be the number of {what}; found {as_numbers(field)}. "
                "Is this a docword file of a UCI bag of words?"
            )
        if n < 2 and not 0 < int(field) <= _LIMIT:
            raise InputError(
                f"{shown(path)}: line {n + 1} says {as_numbers(field)} {what}; it must be 1 to {_LIMIT:,}. Repair "
                "the header."
            )
        numbers.append(int(field))
    return numbers[0], numbers[1], numbers[2], lines[3] if len(lines) == 4 else b"", 4


def _triples(block: bytes, path: Path, first: int) -> IntArray:
    """All numbers of a block. The usual form is parsed in one call; anything else line by line, to name what is
    wrong."""
    plain = block.replace(b"\r\n", b"\n").rstrip() + b"\n"
    between = plain.translate(None, b"0123456789")
    if between == b"  \n" * (len(between) // 3):  # nothing but digits, two blanks on each line
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of a number that it cannot read; the size shows it too
            flat = np.fromstring(plain, dtype=np.int64, sep=" ")
        if flat.size == len(between):  # no field is empty, so each of these bytes ends a number
            return flat.reshape(-1, 3)
    rows = []
    for n, line in enumerate(block.split(b"\n"), first):
        fields = line.split()
        if not fields:
            continue
        try:
            row = [int(field) for field in fields]
        except ValueError:
            row = []
        if len(row) != 3:
            raise InputError(
                f"{shown(path)}: line {n:,} must hold three whole numbers; found {as_numbers(line)}. {_FORM}"
            )
        rows.append([min(max(number, -_LIMIT - 1), _LIMIT + 1) for number in row])
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _checked(triples: IntArray, path: Path, block: bytes, first: int, n_documents: int, n_words: int) -> Int32Array:
    """The same triples, four bytes per number, if ids and counts are in range."""
    limits = (("document id", n_documents), ("word id", n_words), ("count", _LIMIT))
    bad = (triples < 1) | (triples > [limit for _, limit in limits])
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        numbered = [(n, line) for n, line in enumerate(block.split(b"\n"), first) if line.strip()]
        number, line = numbered[row]
        what, limit = limits[column]
        raise InputError(
            f"{shown(path)}: line {number:,}: the {what} must be 1 to {limit:,}; found "
            f"{as_numbers(line.split()[column])}. {_FORM}"
        )
    return triples.astype(np.int32)
