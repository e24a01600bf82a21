"""Topic proportions as a file: CSV, JSON lines or a numpy array, written completely or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from discreet._errors import InputError
from discreet._types import FloatArray
from discreet.models.release_folder import is_release


def check_output(path: Path, *, overwrite: bool) -> None:
    """Before anything is computed. Rows describe private documents, so they do not belong into a release."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path} must end in {', '.join(_WRITERS)}, which says how to write it. Choose one of them.")
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file that does not exist yet.")
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already. Choose another name, or add --overwrite.")
    if path.exists() and not _is_earlier_result(path):
        raise InputError(
            f"{path} is no earlier result of `discreet transform`, so it is not overwritten. Choose another."
        )
    if is_release(path.absolute().parent):
        raise InputError(
            f"{path} would lie in a model's folder, which is meant to be given away. Choose another place."
        )
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: its folder does not exist. Create it first.")


def _is_earlier_result(path: Path) -> bool:
    with open(path, "rb") as file:
        start = file.read(20)
    return start == b"" or start.startswith(_STARTS[path.suffix.lower()])


def write_rows(path: Path, rows: FloatArray) -> None:
    """Into a temporary sibling that only its owner can read (rows describe private documents), then renamed."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.absolute().parent)
    try:
        with open(descriptor, "wb") as file:
            _WRITERS[path.suffix.lower()](file, rows)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C included
        os.unlink(temporary)
        raise


def _csv(file: IO[bytes], rows: FloatArray) -> None:
    file.write(",".join(["document", *(f"topic{k}" for k in range(rows.shape[1]))]).encode() + b"\n")
    for document, row in enumerate(rows.tolist()):
        file.write(",".join(map(repr, [document, *row])).encode() + b"\n")


def _jsonl(file: IO[bytes], rows: FloatArray) -> None:
    for document, row in enumerate(rows.tolist()):
        file.write(json.dumps({"document": document, "topics": row}).encode() + b"\n")


def _npy(file: IO[bytes], rows: FloatArray) -> None:
    np.lib.format.write_array(file, rows, allow_pickle=False)


_STARTS = {".csv": b"document,topic0", ".jsonl": b'{"document": 0, "top', ".npy": b"\x93NUMPY"}
_WRITERS: dict[str, Callable[[IO[bytes], FloatArray], None]] = {".csv": _csv, ".jsonl": _jsonl, ".npy": _npy}
