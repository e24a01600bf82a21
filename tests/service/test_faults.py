"""A database that goes away: 503, nothing acknowledged, and reports are taken again when it is back."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from discreet import InputError
from discreet.collector.store import engine
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.place import Lost, Place
from discreet.collector.store.store import Store, Unavailable
from tests.support.collecting import Clock, Service, campaign
from tests.support.postgres import Server


def recovered(service: Service, sent: dict[str, str]) -> bool:
    """Send again for some seconds, as a client would."""
    for _ in range(50):
        answer = service.send(sent)
        if answer.status_code == 200:
            return True
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        time.sleep(0.1)
    return False


def refused(service: Service) -> bool:
    sent = service.send(service.report())
    return sent.status_code == 503 and "retry-after" in sent.headers


def test_a_deleted_database_is_noticed_before_anything_is_acknowledged(tmp_path: Path, sqlite_service: Service) -> None:
    """Without the check, SQLite would go on writing into the deleted file, and every report would be lost."""
    service, path = sqlite_service, tmp_path / "reports.db"
    first = service.report()
    assert service.send(first).status_code == 200
    files = [file for file in tmp_path.iterdir() if file.name.startswith("reports.db")]
    away = tmp_path / "away"
    away.mkdir()
    for file in files:
        file.rename(away / file.name)
    assert refused(service)
    assert service.http.get("/healthz").status_code == 503
    assert "discreet_database_available 0" in service.http.get("/metrics").text.splitlines()
    assert not path.exists()  # no empty database took its place
    for file in files:
        (away / file.name).rename(file)
    assert recovered(service, service.report())
    assert service.http.get("/healthz").status_code == 200
    assert service.send(first).status_code == 200
    assert service.n_stored == 2


def test_a_replaced_database_is_noticed(tmp_path: Path) -> None:
    file, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    place = Place(file)
    with pytest.raises(Lost):
        place.check()
    file.write_bytes(b"1")
    log.write_bytes(b"1")
    place.check(written=True)
    place.check()
    for changed in (file, log):
        other = tmp_path / "other"
        other.write_bytes(b"2")
        changed.rename(tmp_path / "before")
        other.rename(changed)
        with pytest.raises(Lost, match="replaced"):
            place.check()
        place.forget()
        place.check(written=True)
    Place(None).check(written=True)


def test_a_full_disk(tmp_path: Path, sqlite_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own error for a full disk, brought about by a limit on the number of its pages."""
    service, connect = sqlite_service, engine.connect
    assert service.send(service.report()).status_code == 200
    full = True

    def limited(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        if full:
            connection.execute("PRAGMA max_page_count=1")  # means: no more pages than there are now
        return connection

    monkeypatch.setattr(engine, "connect", limited)
    service.store._drop_writer()
    answers = [service.send([service.report() for _ in range(300)]).status_code for _ in range(3)]
    assert answers == [503] * 3
    assert service.n_stored == 1
    full = False
    assert recovered(service, service.report())
    assert service.n_stored == 2


def test_a_lost_postgresql_server(postgres_server: Server, open_store: Callable[[str], Store], clock: Clock) -> None:
    with Service(open_store(postgres_server.new_database("lost")), clock) as service:
        first = service.report()
        assert service.send(first).status_code == 200
        postgres_server.stop()
        try:
            assert refused(service)
            assert service.http.get("/healthz").status_code == 503
        finally:
            postgres_server.start()
        assert recovered(service, service.report())
        assert service.send(first).status_code == 200
        assert service.n_stored == 2


def test_an_unexpected_error_is_counted_and_quotes_nothing(
    sqlite_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(batches: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(sqlite_service.store, "insert", broken)
    answer = sqlite_service.send(sqlite_service.report())
    assert answer.status_code == 503
    page = sqlite_service.http.get("/metrics").text
    assert 'discreet_errors_total{kind="KeyError"} 1' in page.splitlines()
    assert "secret" not in answer.text + page


def test_commits_are_durable_and_ordered(store: Store) -> None:
    """The settings that durability rests on, asked of the database itself."""
    with store.reading() as connection:
        if store.dialect == "sqlite":
            assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
            assert connection.execute(text("PRAGMA synchronous")).scalar_one() == 2  # FULL
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"


def test_other_databases_are_refused(tmp_path: Path) -> None:
    for url in ("", "mysql://a:secret@b/c", "reports.db", "sqlite://", "postgresql:"):
        with pytest.raises(InputError) as found:
            Store(url)
        assert "secret" not in str(found.value)
    other = tmp_path / "other.db"
    sqlite3.connect(other).close()
    with pytest.raises(InputError, match="does not belong to a collector"):
        Store(sqlite_url(other))
    with pytest.raises(Unavailable):
        Store(sqlite_url(tmp_path / "none.db"))
    Store(sqlite_url(tmp_path / "new.db"), create=True).close()
    connection = sqlite3.connect(tmp_path / "new.db")
    connection.execute("UPDATE discreet_collector SET version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="version 99"):
        Store(sqlite_url(tmp_path / "new.db"), create=True)


def test_only_the_owner_reads_the_database(tmp_path: Path) -> None:
    Store(sqlite_url(tmp_path / "own.db"), create=True).close()
    assert os.stat(tmp_path / "own.db").st_mode & 0o777 == 0o600


def test_the_log_does_not_grow_for_ever(
    tmp_path: Path, open_store: Callable[[str], Store], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without copying, eighty lists leave a log of 52 MB. The writer helps when the log is long and not after every
    commit because the file once was."""
    monkeypatch.setattr("discreet.collector.store.checkpoint.PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("discreet.collector.store.checkpoint.WORTHWHILE", 0)
    monkeypatch.setattr("discreet.collector.store.checkpoint.LONG", 2_000_000)
    store = open_store(sqlite_url(tmp_path / "log.db"))
    with Service(store, clock, campaign(reports_per_minute=10**6)) as service:
        for _ in range(80):
            assert service.send([service.report() for _ in range(1_000)]).status_code == 200
        assert service.n_stored == 80_000
        assert store.log.size() < 12_000_000
        assert 1 <= store.log.n_helped <= 40
