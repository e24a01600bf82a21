"""Windows and the training process: when windows close, what is trained, what is kept, and that a restart goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet import Release
from discreet._errors import InputError, ReleaseError
from discreet.collector.campaign import Campaign
from discreet.collector.store import windows
from discreet.collector.store.backup import backup
from discreet.collector.store.bulk import Batch
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.folder import ADMIN_TOKEN, DATABASE, Folder
from discreet.collector.store.store import Store, StoredCampaign
from discreet.collector.training import trainer as training
from discreet.collector.training.learner import Learner
from discreet.collector.training.trainer import Trainer
from discreet.evaluation import match_topics
from tests.support.collecting import Clock, Service, campaign
from tests.support.postgres import Server

WEATHER = ("cloud", "fog", "hail", "rain", "snow", "storm", "sun", "thunder", "wind", "winter")
MUSIC = ("alto", "bass", "cello", "choir", "drum", "flute", "opera", "piano", "tenor", "violin")
TRUE = np.vstack([np.repeat([0.1, 0.0], 10), np.repeat([0.0, 0.1], 10)])


def two_topics(name: str = "weather", **changes: int) -> Campaign:
    given = {"vocabulary": (*WEATHER, *MUSIC), "threshold": round(2**32 / 10), "max_words": None, "n_topics": 2}
    return campaign(name, **{**given, "window_reports": 200, **changes})


def send(store: Store, to: StoredCampaign, n: int, seed: int = 0) -> None:
    """Reports of documents about weather or about music, six words each: the same for a seed, nonces too."""
    rng = np.random.default_rng([seed, store.n_reports(to.id)])
    words = np.concatenate([rng.choice(10, 6, replace=False) + 10 * (i % 2) for i in range(n)]).astype(np.int32)
    rows = to.campaign.response.randomise(words, np.arange(0, 6 * n + 1, 6), int(rng.integers(2**31)))
    for first in range(0, n, 500):
        some = [row.tobytes() for row in rows[first : first + 500]]
        store.insert([Batch(to.id, [rng.bytes(16) for _ in some], some)])


def test_windows_close_by_size(store: Store) -> None:
    one, other = (store.add_campaign(two_topics(name)) for name in ("one", "other"))
    for _ in range(3):  # the reports of two campaigns, mixed
        send(store, one, 150)
        send(store, other, 90)
    assert windows.close_windows(store, one) == 2
    assert windows.close_windows(store, one) == 0
    assert windows.close_windows(store, other) == 1
    first, second = windows.untrained(store, one.id)
    assert (first.number, second.number, first.n_reports, second.n_reports) == (1, 2, 200, 200)
    assert second.after_id == first.last_id
    for window in (first, second):
        assert len(store.bodies(one.id, window.after_id, window.last_id)) == 200
    assert windows.counts(store, one.id) == (450, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority belongs to the process")
def test_only_the_thread_that_learns_steps_back() -> None:
    """The other one holds SQLite's lock, for which the service waits."""
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    found = []

    def look() -> None:
        training._step_back()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [min(before + training.NICENESS, 19)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


def test_windows_close_by_age(store: Store, clock: Clock) -> None:
    slow = store.add_campaign(two_topics(window_seconds=3_600, min_reports=50))
    send(store, slow, 60)
    clock.turn(3_539)
    assert windows.close_windows(store, slow) == 0
    clock.turn(61)
    assert windows.close_windows(store, slow) == 1
    assert windows.untrained(store, slow.id)[0].n_reports == 60
    send(store, slow, 49)
    clock.turn(10_000)
    assert windows.close_windows(store, slow) == 0  # too few, however old
    send(store, slow, 1)
    assert windows.close_windows(store, slow) == 1


def test_the_end_of_a_campaign_closes_its_last_window(store: Store) -> None:
    one = store.add_campaign(two_topics(min_reports=50))
    send(store, one, 70)
    assert windows.close_windows(store, one) == 0
    store.end_campaign(one.id)
    ended = store.campaign("weather")
    assert ended is not None
    assert windows.close_windows(store, ended) == 1


def test_topics_are_learnt_window_by_window(store: Store, tmp_path: Path) -> None:
    one = store.add_campaign(two_topics())
    send(store, one, 1_000)
    trainer = Trainer(store, tmp_path / "models", random_state=0)
    distances = []
    for window in range(1, 6):
        assert trainer.step() == 1
        release = Release.load(windows.window_folder(tmp_path / "models", "weather", window))
        distances.append(match_topics(TRUE, release.topics).mean)
        assert release.method == "online-local"
        assert release.guarantee.epsilon == pytest.approx(np.log(9))
        assert release.guarantee.basis == "proven"
    assert trainer.step() == 0
    assert distances[-1] < distances[0]  # in each of ten seeds
    assert distances[-1] < 0.15  # seeds 0 to 9 gave 0.08 to 0.12; the distance of topics that are all alike is 1
    assert windows.counts(store, one.id) == (1_000, 1_000, 5)
    kept = sorted(path.name for path in (tmp_path / "models" / "weather").iterdir())
    assert kept == [f"window-{n:06d}{end}" for n in (3, 4, 5) for end in ("", ".state.npz")]


def test_a_restart_goes_on_from_the_last_window(store: Store, tmp_path: Path) -> None:
    """A process that trains all windows, and one process for each, end with the same state of all that is counted."""
    one = store.add_campaign(two_topics())
    send(store, one, 600)
    for _ in range(3):
        assert Trainer(store, tmp_path / "models", random_state=0).step() == 1
    learner = Learner.load(one.campaign, windows.window_folder(tmp_path / "models", "weather", 3))
    assert (learner.model.n_batches_, learner.model.n_reports_) == (3, 600)
    bodies = store.bodies(one.id, 0, 10**9)
    expected = one.campaign.response.estimate(one.campaign.response.count(b"".join(bodies)), 600)
    np.testing.assert_allclose(learner.model.estimates_, expected)
    release = Release.load(windows.window_folder(tmp_path / "models", "weather", 3))
    assert match_topics(TRUE, release.topics).mean < 0.3


def test_a_process_that_died_half_way_trains_the_window_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = store.add_campaign(two_topics())
    send(store, one, 600)
    models = tmp_path / "models"
    trainer = Trainer(store, models)
    assert trainer.step() == 1
    for place in ("release", "state", "mark"):  # where the process ends

        def die(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as broken:
            if place == "release":
                broken.setattr(Release, "save", die)
            elif place == "state":
                broken.setattr(Learner, "save", die)
            else:
                broken.setattr(windows, "mark_trained", die)
            with pytest.raises(KeyboardInterrupt):
                trainer.step()
        trainer = Trainer(store, models)
    assert windows.counts(store, one.id).windows_trained == 1
    assert trainer.step() == 1
    assert windows.counts(store, one.id).windows_trained == 2
    learner = Learner.load(one.campaign, windows.window_folder(models, "weather", 2))
    assert (learner.model.n_batches_, learner.model.n_reports_) == (2, 400)


def test_old_reports_are_deleted_once_they_were_trained_on(store: Store, tmp_path: Path, clock: Clock) -> None:
    one = store.add_campaign(two_topics(retention_days=2))
    send(store, one, 450)
    trainer = Trainer(store, tmp_path / "models")
    trainer.step()
    clock.turn(2 * 86_400 + 60)
    assert windows.delete_old(store, one) == 200  # the second window has not been trained on
    assert windows.counts(store, one.id).received == 450
    trainer.step()
    assert store.n_reports(one.id) == 50  # the third is open
    send(store, one, 150)
    trainer.step()
    assert windows.counts(store, one.id) == (600, 600, 3)
    assert store.n_reports(one.id) == 150


def test_numbers_of_deleted_reports_are_not_given_again(store: Store, tmp_path: Path, clock: Clock) -> None:
    one = store.add_campaign(two_topics(retention_days=1, window_reports=100))
    for _ in range(3):
        send(store, one, 100)
        assert Trainer(store, tmp_path / "models").step() == 1
        clock.turn(86_400 + 120)
        windows.delete_old(store, one)
        assert store.n_reports(one.id) == 0
    assert windows.counts(store, one.id) == (300, 300, 3)


def test_a_window_that_lost_reports_is_not_trained(store: Store, tmp_path: Path) -> None:
    one = store.add_campaign(two_topics())
    send(store, one, 200)
    windows.close_windows(store, one)
    store.delete_reports(one.id, 10**9, 10**9, limit=1)
    with pytest.raises(InputError, match="Restore the database"):
        Trainer(store, tmp_path / "models").step()


def test_a_damaged_state_is_not_gone_on_from(store: Store, tmp_path: Path) -> None:
    one = store.add_campaign(two_topics())
    send(store, one, 400)
    models = tmp_path / "models"
    Trainer(store, models).step()
    state = models / "weather" / "window-000001.state.npz"
    good = state.read_bytes()
    for bad in (b"", good[: len(good) // 2]):
        state.write_bytes(bad)
        with pytest.raises(ReleaseError, match="backup"):
            Trainer(store, models).step()
    other = Learner(two_topics(n_topics=3))
    other.learn(store.bodies(one.id, 0, 10**9)[:200])
    other.save(models / "weather" / "window-000001")
    with pytest.raises(ReleaseError, match="another campaign"):
        Trainer(store, models).step()
    state.unlink()
    with pytest.raises(ReleaseError):
        Trainer(store, models).step()


def test_the_topics_page_follows_the_training(
    tmp_path: Path, open_store: Callable[[str], Store], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.collector.service.pages.SHOWN_SECONDS", 0.0)
    store, models = open_store(sqlite_url(tmp_path / "t.db")), tmp_path / "models"
    with Service(store, clock, two_topics(), models=models) as service:
        stored = StoredCampaign(service.id, service.campaign, ended=False)
        empty = service.http.get("/campaigns/weather/topics").json()
        assert (empty["topics"], empty["window"], empty["reports"]["received"]) == ([], 0, 0)
        send(store, stored, 450)
        trainer = Trainer(store, models)
        trainer.step()
        first = service.http.get("/campaigns/weather/topics").json()
        assert (first["window"], first["reports"]) == (1, {"received": 450, "trained": 200})
        trainer.step()
        second = service.http.get("/campaigns/weather/topics").json()
        assert (second["window"], second["reports"]["trained"]) == (2, 400)
    assert len(second["topics"]) == 2
    release = Release.load(windows.window_folder(models, "weather", 2))
    for shown, words, row in zip(second["topics"], release.top_words(10), release.topics, strict=True):
        assert [one["word"] for one in shown["words"]] == words
        assert shown["words"][0]["probability"] == pytest.approx(row.max(), abs=1e-6)
    assert second["guarantee"] == release.guarantee.summary()
    assert second["noise"]["flip_probability"] == pytest.approx(0.1)
    assert len(second["statement"]) >= 5


def test_the_command_trains_what_waits(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "collector")
    folder.make()
    store = Store(folder.database, create=True)
    one = store.add_campaign(two_topics())
    send(store, one, 400)
    assert training.train(folder, once=True) == 2
    assert windows.counts(store, one.id).windows_trained == 2
    with folder.alone("train"), pytest.raises(InputError, match="another process"):
        training.train(folder, once=True)
    store.close()


def test_backup_and_restore_on_sqlite(tmp_path: Path) -> None:
    """The copy is made while the store is open and in use; the restored collector goes on from it."""
    folder = Folder(tmp_path / "collector")
    folder.make()
    store = Store(folder.database, create=True)
    folder.ensure_admin(store)
    one = store.add_campaign(two_topics())
    send(store, one, 500)
    training.train(folder, once=True)
    backup(folder.path, tmp_path / "copy")
    send(store, one, 300, seed=1)  # lost with the disk
    before = store.bodies(one.id, 0, 10**9)[:500]
    store.close()
    shutil.rmtree(folder.path)
    shutil.copytree(tmp_path / "copy", folder.path)
    store = Store(folder.database)
    assert store.bodies(one.id, 0, 10**9) == before
    assert windows.counts(store, one.id) == (500, 400, 2)
    assert not folder.ensure_admin(store)
    assert (folder.path / ADMIN_TOKEN).exists()
    assert os.stat(folder.path / DATABASE).st_mode & 0o777 == 0o600
    send(store, one, 100, seed=2)
    assert training.train(folder, once=True) == 1
    assert windows.counts(store, one.id) == (600, 600, 3)
    store.close()
    with pytest.raises(InputError, match="exists already"):
        backup(folder.path, tmp_path / "copy")
    with pytest.raises(InputError, match="pg_dump"):
        backup(tmp_path / "none", tmp_path / "new")
    assert sqlite3.connect(tmp_path / "copy" / DATABASE).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_backup_and_restore_on_postgresql(
    postgres_server: Server, open_store: Callable[[str], Store], tmp_path: Path
) -> None:
    """As docs/collector.md says: pg_dump -Fc, and pg_restore into an empty database."""
    store = open_store(postgres_server.new_database("before"))
    one = store.add_campaign(two_topics())
    send(store, one, 450)
    trainer = Trainer(store, tmp_path / "models")
    trainer.step()
    dump = postgres_server.folder / "reports.dump"
    postgres_server.run("pg_dump", "-Fc", "-f", str(dump), postgres_server.url("before"))
    bodies = store.bodies(one.id, 0, 10**9)
    restored_url = postgres_server.new_database("after")
    postgres_server.run("pg_restore", "--exit-on-error", "--no-owner", "-d", restored_url, str(dump))
    restored = open_store(restored_url)
    assert restored.bodies(one.id, 0, 10**9) == bodies
    assert windows.counts(restored, one.id) == (450, 200, 1)
    send(restored, one, 150)  # numbers go on after the restored ones
    later = Trainer(restored, tmp_path / "models")
    assert [later.step(), later.step(), later.step()] == [1, 1, 0]
    assert windows.counts(restored, one.id) == (600, 600, 3)
