"""Private data that need not fit into memory: files without a name, which no other process can open.

``TemporaryFile`` makes a file that is in no folder (or is unlinked at once), with mode 0600. When the process ends, for
whatever reason, the operating system frees it: there is nothing left to remove, also after a crash.
"""

from __future__ import annotations

import json
import mmap
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import IO

import numpy as np

from discreet._errors import InputError
from discreet._types import Float32Array
from discreet.corpus.builder import Document
from discreet.corpus.ids import is_missing

PREFIX = "discreet-"


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"temporary files cannot be written in {tempfile.gettempdir()}: {error.strerror}. Name a folder with more "
            "room in the environment variable TMPDIR."
        ) from None


class Texts:
    """Documents as they were read, each found by its number, from 0."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix=PREFIX)  # noqa: SIM115 (closed below)
        self._ends = array("q", [0])
        self._lock = Lock()  # pages are made in several threads, and the file has one position

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: Document) -> None:
        """Keep one more. A missing document is an empty text."""
        kept = "" if is_missing(text) else text if isinstance(text, str) else list(text or ())
        data = json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with _room():
            self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, number: int) -> str | list[str]:
        """A text, or a list of words where the source has lists."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        first, last = self._ends[number], self._ends[number + 1]
        with self._lock, _room():  # the last texts may still have to be written
            if self._file.closed:
                raise InputError("the explorer has ended.")
            self._file.seek(first)
            data = self._file.read(last - first)
        found: str | list[str] = json.loads(data.decode("utf-8", "surrogatepass"))
        return found

    def __iter__(self) -> Iterator[str | list[str]]:
        return (self[number] for number in range(len(self)))

    def close(self) -> None:
        with self._lock, suppress(OSError):  # what could not be written is given up too
            self._file.close()


class Table:
    """A matrix in single precision that is written column by column, then read."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.shape = (n_rows, n_columns)
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix=PREFIX, buffering=0)  # noqa: SIM115 (closed below)

    def write(self, first: int, columns: Float32Array) -> None:
        """Columns from ``first`` on. By calls of write and not through a map: there a full disk would be a signal that
        ends the process, and here it is an error with a name."""
        with _room():
            for row, values in enumerate(columns):
                self._file.seek(4 * (row * self.shape[1] + first))
                rest = memoryview(values.tobytes())
                while rest:
                    rest = rest[self._file.write(rest) :]

    def read(self) -> Float32Array:
        """All of it, also after ``close``. What is not looked at is not in memory."""
        whole = mmap.mmap(self._file.fileno(), 4 * self.shape[0] * self.shape[1], access=mmap.ACCESS_READ)
        return np.frombuffer(whole, np.float32).reshape(self.shape)

    def close(self) -> None:
        """Give up the file; a map of it lives as long as somebody holds its array."""
        self._file.close()
