"""The folder of a collector: the database, the releases, the admin token."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet._errors import InputError
from discreet._files import sync_folder, try_lock
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from discreet.collector.store.tokens import new_token

DATABASE, MODELS, ADMIN_TOKEN = "reports.db", "models", "admin-token"


class Folder:
    """Where a collector keeps its things. With PostgreSQL, ``database`` is its URL; the rest stays in the folder."""

    def __init__(self, path: str | os.PathLike[str], database: str | None = None) -> None:
        self.path = Path(path)
        self.database = database or sqlite_url(self.path / DATABASE)

    @property
    def models(self) -> Path:
        return self.path / MODELS

    def make(self) -> None:
        for folder in (self.path, self.models):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Only one server and one training process at a time; the lock goes with the process."""
        descriptor = os.open(self.path / f"{what}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if not try_lock(descriptor):
                raise InputError(f"another process runs 'discreet collect {what}' in {self.path}. Stop it first.")
            yield
        finally:
            os.close(descriptor)

    def ensure_admin(self, store: Store) -> bool:
        """Make the first admin token and leave it in a file that only the owner may read. Returns whether it was
        made."""
        if store.has_admin():
            return False
        text, row = new_token(None, "first admin token", None)
        file = self.path / ADMIN_TOKEN
        with suppress(FileNotFoundError):
            file.unlink()
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(f"{text}\n")
            out.flush()
            os.fsync(out.fileno())
        sync_folder(self.path)
        store.add_token(row)
        return True
