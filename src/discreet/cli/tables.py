"""Topic proportions as a file: CSV, JSON lines or a numpy array, written completely or not at all."""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from discreet._errors import InputError, either
from discreet._types import AnyArray, FloatArray
from discreet.release.folder import is_release

STDOUT = Path("-")


def check_output(path: Path, *, overwrite: bool, with_ids: bool = False) -> None:
    """Check before anything is computed. Rows describe private documents, so they must not be written into a
    release."""
    if path == STDOUT:
        return
    if with_ids and path.suffix.lower() == ".npy":
        raise InputError(f"{path} would hold numbers only, so there is no place for --id. Choose .csv or .jsonl.")
    check_place(path, _STARTS, "transform", overwrite=overwrite)
    if is_release(path.absolute().parent):
        raise InputError(
            f"{path} would lie in a model's folder, which is meant to be given away. Choose another place."
        )


def check_place(path: Path, starts: Mapping[str, tuple[bytes, ...]], command: str, *, overwrite: bool) -> None:
    """Whether a result of ``command`` can be written there. ``starts``: how files of each ending begin; nothing else is
    overwritten."""
    if path.suffix.lower() not in starts:
        raise InputError(f"{path} must end in {either(starts)}, which selects the format. Choose one of them.")
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file that does not exist yet.")
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already. Choose another name, or add --overwrite.")
    if path.exists() and not _is_earlier_result(path, starts[path.suffix.lower()]):
        raise InputError(
            f"{path} is not an earlier result of `discreet {command}`, so it is not overwritten. Choose another."
        )
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: its folder does not exist. Create it first.")
    with _named(path), tempfile.TemporaryFile(dir=path.absolute().parent):
        pass  # a file can be made there


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Report errors of the temporary file under the name of the requested file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from None


def _is_earlier_result(path: Path, starts: tuple[bytes, ...]) -> bool:
    with open(path, "rb") as file:
        start = file.read(max(map(len, starts)))
    return start == b"" or start.startswith(starts)


def write_rows(path: Path, rows: FloatArray, ids: AnyArray | None = None) -> None:
    """Into a file that only its owner can read: rows describe private documents."""
    if path == STDOUT:
        sys.stdout.flush()
        _csv(sys.stdout.buffer, rows, ids)
        return
    write_whole(path, lambda file: _WRITERS[path.suffix.lower()](file, rows, ids))


def write_whole(path: Path, write: Callable[[IO[bytes]], object], *, private: bool = True) -> None:
    """Into a temporary sibling, then renamed. If ``private``, only its owner can read the file."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.absolute().parent)
    try:
        with _named(path), open(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            hidden = os.umask(0o077)
            os.umask(hidden)
            os.chmod(temporary, 0o666 & ~hidden)
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C included
        os.unlink(temporary)
        raise


def _csv(file: IO[bytes], rows: FloatArray, ids: AnyArray | None) -> None:
    table = csv.writer(_Encoded(file), lineterminator="\n")
    table.writerow(["document", *([] if ids is None else ["id"]), *(f"topic{k}" for k in range(rows.shape[1]))])
    for document, row in enumerate(rows.tolist()):
        table.writerow([document, *([] if ids is None else [ids[document]]), *map(repr, row)])


class _Encoded:
    """A file for the csv module: takes text, writes UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text.encode())


def _jsonl(file: IO[bytes], rows: FloatArray, ids: AnyArray | None) -> None:
    names = None if ids is None else ids.tolist()
    for document, row in enumerate(rows.tolist()):
        name = {} if names is None else {"id": names[document]}
        file.write(json.dumps({"document": document, **name, "topics": row}).encode() + b"\n")


def _npy(file: IO[bytes], rows: FloatArray, ids: AnyArray | None) -> None:
    np.lib.format.write_array(file, rows, allow_pickle=False)


_STARTS = {
    ".csv": (b"document,topic0", b"document,id,topic0"),
    ".jsonl": (b'{"document": 0, "top', b'{"document": 0, "id":'),
    ".npy": (b"\x93NUMPY",),
}
_WRITERS: dict[str, Callable[[IO[bytes], FloatArray, AnyArray | None], None]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".npy": _npy,
}
