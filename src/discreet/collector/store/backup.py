"""A consistent copy of a running collector on SQLite."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from discreet._errors import InputError
from discreet._files import sync_folder
from discreet.collector.store.folder import ADMIN_TOKEN, DATABASE, MODELS

PAGES_AT_ONCE = 2_000


def backup(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the database by SQLite's own online backup, then the releases, then the admin token.

    The database first: a release that is newer than the database is trained again, one that is missing could not be
    shown. A plain copy of the file of a running server would not be consistent.
    """
    source, copy = Path(folder), Path(target)
    if not (source / DATABASE).is_file():
        raise InputError(f"{source} holds no {DATABASE}. With PostgreSQL, use pg_dump; see docs/collector.md.")
    try:
        copy.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise InputError(f"{copy} exists already. Give a new folder.") from None
    os.close(os.open(copy / DATABASE, os.O_CREAT | os.O_RDWR, 0o600))
    with (
        closing(sqlite3.connect(f"{(source / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as running,
        closing(sqlite3.connect(copy / DATABASE)) as made,
    ):
        running.backup(made, pages=PAGES_AT_ONCE)
        if made.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise InputError(f"the copy in {copy} is damaged. Try again, and check the disk.")
    if (source / MODELS).is_dir():
        # a window that the training process is writing has a name of its own until it is complete
        shutil.copytree(source / MODELS, copy / MODELS, ignore=shutil.ignore_patterns(".*"))
    if (source / ADMIN_TOKEN).is_file():
        shutil.copy2(source / ADMIN_TOKEN, copy / ADMIN_TOKEN)
    sync_folder(copy)
