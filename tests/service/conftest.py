"""Databases of both kinds, and a service in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the collector needs discreet[collector]")

from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from tests.support import postgres
from tests.support.collecting import Clock, Service

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres.running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "reports.db")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.new_database(f"test{next(_numbers)}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_store(clock: Clock) -> Iterator[Callable[[str], Store]]:
    stores: list[Store] = []

    def opened(url: str) -> Store:
        stores.append(Store(url, create=True, clock=clock))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def store(database: str, open_store: Callable[[str], Store]) -> Store:
    return open_store(database)


@pytest.fixture
def service(store: Store, clock: Clock) -> Iterator[Service]:
    """A service on either database."""
    with Service(store, clock) as running:
        yield running


@pytest.fixture
def sqlite_service(tmp_path: Path, open_store: Callable[[str], Store], clock: Clock) -> Iterator[Service]:
    """A service on SQLite, for what does not depend on the database."""
    with Service(open_store(sqlite_url(tmp_path / "reports.db")), clock) as running:
        yield running
