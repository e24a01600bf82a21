"""What a device remembers: the random answer that it gave for each text, and the campaign as it first saw it.

An answer is written here, durably, before it is sent. So a text is randomised once: asked again, or after a crash or a
lost network, the device sends the same bytes under the same nonce. Without this, whoever receives many answers about
one text could average the noise away.

The file is private: it shows which texts were reported to someone who can guess them. It is made with mode 0600.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from discreet._errors import InputError

_TABLES = """
CREATE TABLE IF NOT EXISTS campaigns (place TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
  place TEXT NOT NULL, words BLOB NOT NULL, nonce BLOB NOT NULL, bits BLOB NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (place, words)
);
"""


class Answer(NamedTuple):
    """A randomised report that this device has given, or will give, for a set of words."""

    nonce: bytes
    bits: bytes
    sent: bool


class Memory:
    """The memory of one device in one file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._database = sqlite3.connect(self.path, isolation_level=None, timeout=30)
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the memory file {self.path} cannot be used ({type(error).__name__}). Give a file that can be "
                "written, or one that a client made."
            ) from None

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def pin(self, place: str, digest: str) -> bool:
        """Whether the campaign at this place is the one that was first seen there."""
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO campaigns VALUES (?, ?)", (place, digest))
            return bool(
                database.execute("SELECT digest FROM campaigns WHERE place = ?", (place,)).fetchone()[0] == digest
            )

    def n_answers(self, place: str) -> int:
        return int(self._database.execute("SELECT count(*) FROM answers WHERE place = ?", (place,)).fetchone()[0])

    def answers(self, place: str, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """What is remembered of these texts."""
        found = {}
        for key in keys:
            row = self._database.execute(
                "SELECT nonce, bits, sent FROM answers WHERE place = ? AND words = ?", (place, key)
            ).fetchone()
            if row is not None:
                found[key] = Answer(row[0], row[1], bool(row[2]))
        return found

    def remember(self, place: str, answers: dict[bytes, Answer], most: int) -> dict[bytes, Answer]:
        """Store new answers durably and return what counts: if another process was first, its answer.

        Raises, and stores nothing, if this device would have answered for more than ``most`` texts.
        """
        with self._writing() as database:
            known = self.answers(place, list(answers))
            if self.n_answers(place) + len(answers) - len(known) > most:
                raise InputError(
                    f"this device may report {most:,} different texts to the campaign, and has reported "
                    f"{self.n_answers(place):,}. Leave the others out: each one would reveal more about its author."
                )
            database.executemany(
                "INSERT OR IGNORE INTO answers (place, words, nonce, bits) VALUES (?, ?, ?, ?)",
                [(place, key, answer.nonce, answer.bits) for key, answer in answers.items()],
            )
        return answers | known

    def sent(self, place: str, keys: Sequence[bytes]) -> None:
        with self._writing() as database:
            database.executemany(
                "UPDATE answers SET sent = 1 WHERE place = ? AND words = ?", [(place, key) for key in keys]
            )


def key_of(columns: Sequence[int]) -> bytes:
    """What an answer is remembered under: the set of vocabulary words in the text. Two texts with the same words get
    one answer, so that correcting a typing error does not make a second one."""
    return hashlib.sha256(",".join(map(str, sorted(set(columns)))).encode()).digest()
