"""Tables of documents, one per row: JSON (lines or one array), CSV, TSV, Parquet. Rows stream; only tokens are kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.corpus.builder import AnyTokenizer, CorpusBuilder
from discreet.corpus.corpus import Corpus
from discreet.corpus.ids import IdReader
from discreet.corpus.lines import (
    COMPRESSED,
    STDIN,
    PathLike,
    close_match,
    existing,
    first_line,
    head,
    inner_suffix,
    report_read,
    shown,
    text_lines,
)
from discreet.corpus.readers.json_array import array_items
from discreet.corpus.unquoted import column_names, kind_of, listed_names

JSON_LINES = (".jsonl", ".ndjson", ".json")
DELIMITED = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*JSON_LINES, *DELIMITED, ".parquet")
ARRAY = "[]"
"""The form of a .json file that is one array."""
_OTHER_DELIMITERS = (";", "\t", ",")

_BATCH = 20_000  # rows of a Parquet file held as Python objects at a time
_LONGEST_FIELD = 2**31 - 1


def read_table(
    path: PathLike,
    text: str = "text",
    *,
    group: str | None = None,
    collection: str | None = None,
    label: str | None = None,
    vocabulary: PathLike | Iterable[str] | None = None,
    tokenizer: AnyTokenizer = None,
    max_words: int | None = None,
    label_as: Callable[[Any], str] | None = None,
) -> Corpus:
    """Read documents from a table: .jsonl, .json, .csv or .tsv (these also .gz or .bz2), .parquet, or "-".

    A .json file holds one object per line, or one array of objects (or of texts, without other columns). A .csv file
    may have semicolons or tabs between its columns. "-" is standard input: JSON where it starts with { or [, else CSV.

    ``text``, ``group``, ``collection`` and ``label`` name columns. A null text is an empty document, which stays; a
    text that is neither a string nor a list of words is an error. Every document needs a group (a user id, see
    ``ids.py``) and a collection where those columns are named; a null label becomes ''. ``vocabulary``, ``tokenizer``
    and ``max_words`` are those of ``CorpusBuilder``. ``label_as`` turns whatever is in the column of labels into the
    label that is kept.
    """
    builder = CorpusBuilder(vocabulary=vocabulary, tokenizer=tokenizer, max_words=max_words)
    source = table(path)
    roles = {"group": group, "collection": collection, "label": label}
    named = {role: column for role, column in roles.items() if column is not None}
    form = form_of(source)
    noun = {".parquet": "row", ARRAY: "item"}.get(form, "line")
    user_id = IdReader()
    for number, values in rows(source, [text, *named.values()], form):
        ids = dict(zip(named, values[1:], strict=True))
        try:
            if group is not None:
                try:
                    ids["group"] = user_id(ids["group"])
                except InputError as error:
                    raise InputError(f"column {shown(group)}: {error}") from None
            if collection is not None and ids["collection"] in (None, ""):
                raise InputError(f"the collection (column {shown(collection)}) is missing. Every document needs one.")
            if label_as is not None and label is not None:
                ids["label"] = label_as(ids["label"])
            builder.add(values[0], **ids)
        except InputError as error:
            raise InputError(f"{shown(source)}: {noun} {number:,}: {error}") from None
    if not len(builder):
        raise InputError(f"{shown(source)} has columns but no rows. Give a file with at least one document.")
    try:
        return builder.build()
    except InputError as error:
        raise InputError(f"{shown(source)}: {error}") from None


def table(path: PathLike) -> Path:
    """The path, if it is a file of a kind that ``rows`` can read."""
    source = existing(path)
    if source == STDIN:
        return source
    if source.is_dir():
        raise InputError(f"{shown(source)} is a folder, not a table. Use read_folder() or read() for folders.")
    if inner_suffix(source) not in SUFFIXES or (
        source.suffix.lower() in COMPRESSED and inner_suffix(source) == ".parquet"
    ):
        raise InputError(
            f"{shown(source)} is not a kind of table that can be read. Give {', '.join(SUFFIXES)} "
            "(all but .parquet also with .gz or .bz2)."
        )
    return source


def form_of(path: Path) -> str:
    """The suffix that says how to read a table, or ``ARRAY``; the form of standard input is recognised by its first
    characters."""
    suffix = inner_suffix(path)
    if path == STDIN or suffix == ".json":
        start = head(path)
        return ARRAY if start.startswith("[") else ".jsonl" if path != STDIN or start.startswith("{") else ".csv"
    return suffix


def rows(path: Path, columns: Sequence[str], form: str | None = None) -> Iterator[tuple[int, list[Any]]]:
    """The values of some columns, row by row, each with the number of its line (or row, or item), from 1."""
    form = form_of(path) if form is None else form
    if form == ARRAY:
        return _array_rows(path, columns)
    if form in JSON_LINES:
        return _json_rows(path, columns)
    if form in DELIMITED:
        return _delimited_rows(path, columns, DELIMITED[form])
    return _parquet_rows(path, columns)


def _missing(path: Path, wanted: str, present: Iterable[str], where: str = "") -> InputError:
    names = [str(name) for name in present]
    hint = close_match(wanted, listed_names(names)) or " Name one of them."
    return InputError(
        f"{shown(path)}{where} has no column {shown(wanted)}; its columns are {column_names(names)}.{hint}"
    )


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    loads = json.loads
    for number, line in enumerate(text_lines(path), 1):
        if not line or line.isspace():
            continue
        try:
            record = loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.lstrip().startswith("["):
                record = []
            else:
                what = first_line(error)
                if isinstance(error, json.JSONDecodeError):
                    what = f"{error.msg.removesuffix(' starting at')} at character {error.pos + 1:,} of {len(line):,}"
                raise InputError(
                    f"{shown(path)}: line {number:,} is not JSON: {what}. "
                    'Write one object per line, such as {"text": "…"}.'
                ) from None
        if not isinstance(record, dict):
            what = "a list, or the beginning of one" if line.lstrip().startswith("[") else kind_of(record)
            raise InputError(
                f"{shown(path)}: line {number:,} is not a JSON object but {what}. "
                'Write one object per line, such as {"text": "…"}; name a file that is one array .json.'
            )
        try:
            values = [record[column] for column in columns]
        except KeyError as error:
            raise _missing(path, error.args[0], record, f": line {number:,}") from None
        yield number, values


def _array_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    for number, record in array_items(path):
        if isinstance(record, str | list) and len(columns) == 1:
            yield number, [record]
            continue
        if not isinstance(record, dict):
            raise InputError(
                f"{shown(path)}: item {number:,} is not a JSON object but {kind_of(record)}. "
                'Write objects, such as {"text": "…"}.'
            )
        try:
            yield number, [record[column] for column in columns]
        except KeyError as error:
            raise _missing(path, error.args[0], record, f": item {number:,}") from None


def _delimited_rows(path: Path, columns: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[Any]]]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    lines = (line + "\n" for line in text_lines(path))
    start = []
    try:
        for line in lines:
            start.append(line)
            if not line.isspace():
                delimiter = _delimiter(line, columns, delimiter)
                break
        # strict: a quote that is never closed is an error, where the lenient reader would swallow the rest of the file
        reader = csv.reader(chain(start, lines), delimiter=delimiter, strict=True)
        header: list[str] = []
        wanted: list[int] = []
        for fields in reader:
            if not fields:
                continue
            if not header:
                header = [name.strip() for name in fields]
                twice = next((c for c in columns if header.count(c) > 1), None)
                if twice is not None:
                    raise InputError(f"{shown(path)} has more than one column {shown(twice)}. Rename one.")
                for column in columns:
                    if column not in header:
                        raise _missing(path, column, header)
                wanted = [header.index(column) for column in columns]
                continue
            if len(fields) != len(header):
                raise InputError(
                    f"{shown(path)}: line {reader.line_num:,} ends a row of {len(fields)} fields, but the header has "
                    f"{len(header)}. Put quotes around text that holds {delimiter!r}, quotes or line breaks."
                )
            yield reader.line_num, [fields[i] for i in wanted]
    except csv.Error as error:
        raise InputError(
            f"{shown(path)}: line {reader.line_num:,} is not valid CSV: {first_line(error)}. "
            "Put quotes around text and double the quotes within it."
        ) from None
    finally:
        csv.field_size_limit(before)


def _delimiter(header: str, columns: Sequence[str], usual: str) -> str:
    """The usual one, or the one that gives the columns asked for: spreadsheets in many countries write semicolons."""
    for delimiter in (usual, *_OTHER_DELIMITERS):
        with suppress(csv.Error):  # the function that reads the header reports what is wrong with it
            names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
            if all(column in names for column in columns):
                return delimiter
    return usual


def _parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        present = frame.collect_schema()
        for column in columns:
            if column not in present:
                raise _missing(path, column, present)
        needed = list(dict.fromkeys(columns))
        frame = frame.select(needed)
        place = [needed.index(column) for column in columns]
        short = [i for i in place if present[needed[i]] == pl.Float32]
        size, n_rows = path.stat().st_size, frame.select(pl.len()).collect().item()
        for start in range(0, n_rows, _BATCH):
            report_read(size * start // n_rows, size)
            for number, row in enumerate(frame.slice(start, _BATCH).collect().iter_rows(), start + 1):
                values = [row[i] for i in place]
                yield number, values if not short else [_float32(row[i]) if i in short else row[i] for i in place]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{shown(path)} is not a whole Parquet file: {first_line(error)}. Write it again.") from None


def _float32(value: Any) -> Any:
    """The value in its own precision, which a Python float would hide: user ids merge beyond 2^24."""
    import numpy as np

    return None if value is None else np.float32(value)
