"""Connections to SQLite or PostgreSQL that are durable: a commit that returned is on disk.

SQLite: write-ahead log with synchronous=FULL, so that readers (the training process, the live page) never wait for the
writer and the writer never waits for them. PostgreSQL: synchronous_commit=on.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from discreet._errors import InputError

BUSY_MS = 5_000
"""How long a writer of SQLite waits for another one (the training process writes a few rows per window)."""
BUSY_PAUSE = 0.001
"""Seconds between two attempts of a writer. SQLite's own pauses grow to a tenth of a second, and every request of the
transaction would wait as long."""
CACHE_KB = 128_000
WRITES = {"writes": True}
"""Execution options of a connection whose transactions write: SQLite then takes the lock at the beginning."""


def sqlite_url(path: str | os.PathLike[str]) -> str:
    return f"sqlite:///{Path(path).absolute()}"


def parsed(url: str) -> URL:
    """The database that a URL names; PostgreSQL always by psycopg, the driver of the extra."""
    try:
        found = make_url(url)
        backend = found.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        backend = ""
    if backend == "postgres":
        backend = "postgresql"
    if backend == "sqlite" and found.database:
        return found
    if backend == "postgresql":
        return found.set(drivername="postgresql+psycopg")
    # the URL may hold a password, so it is not quoted
    raise InputError(
        "the database must be sqlite:////absolute/path.db or postgresql://user:password@host/name. Check the beginning "
        "of the address."
    )


def sqlite_path(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def open_engine(url: URL) -> Engine:
    """An engine whose SQLite connections never create a database: a file that is gone is an error, not an empty
    file."""
    path = sqlite_path(url)
    if path is not None:
        engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)
        event.listen(engine, "begin", _begin)
        return engine
    engine = create_engine(url, pool_size=4, max_overflow=4, pool_pre_ping=True, connect_args={"connect_timeout": 5})
    event.listen(engine, "connect", _durable)
    return engine


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        if connection.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise sqlite3.OperationalError("this file system does not support SQLite's write-ahead log")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")  # not inside a commit: see checkpoint.py
        connection.execute(f"PRAGMA cache_size=-{CACHE_KB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: Connection) -> None:
    """The driver begins no transactions by itself (isolation_level=None): its own rules differ between versions."""
    if not connection.get_execution_options().get("writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    if "writes" not in connection.info:
        connection.info["writes"] = True  # of this connection to the database, for as long as it is open
        connection.exec_driver_sql("PRAGMA busy_timeout=0")
    driver: Any = connection.connection.driver_connection
    end = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            driver.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                break
        if time.monotonic() > end:
            break
        time.sleep(BUSY_PAUSE)
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # once more, for an error of the usual kind


def _durable(connection: Any, _: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute("SET statement_timeout TO '30s'")
        cursor.execute("SET idle_in_transaction_session_timeout TO '60s'")
    connection.commit()


def create_file(path: Path) -> None:
    """An empty SQLite database that only its owner may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # so that deleted reports give their space back
        connection.execute("PRAGMA journal_mode=WAL")
        connection.commit()
    finally:
        connection.close()
