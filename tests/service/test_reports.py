"""Sending reports: what is stored, what is refused, and that nothing is stored twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from discreet.collector.service import wire, writer
from discreet.collector.store.bulk import Batch, Stored
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from tests.support.collecting import Clock, Service, campaign, report, text64


def test_one_report_is_stored(service: Service) -> None:
    sent = service.report()
    answer = service.send(sent)
    assert (answer.status_code, answer.json()) == (200, {"accepted": 1, "failed": []})
    assert service.n_stored == 1
    assert [text64(body) for body in service.store.bodies(service.id, 0, 10**9)] == [sent["bits"]]


def test_a_list_is_stored_whole(service: Service) -> None:
    sent = [service.report() for _ in range(2_345)]
    assert service.send(sent).json() == {"accepted": 2_345, "failed": []}
    stored = [text64(body) for body in service.store.bodies(service.id, 0, 10**9)]
    assert sorted(stored) == sorted(one["bits"] for one in sent)


def test_the_same_report_again_is_acknowledged_and_stored_once(service: Service) -> None:
    sent = service.report()
    answers = [service.send(sent) for _ in range(3)] + [service.send([sent, sent])]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert answers[-1].json() == {"accepted": 2, "failed": []}
    assert service.n_stored == 1


def test_a_nonce_with_other_bits_is_refused(service: Service) -> None:
    nonce = os.urandom(16)
    first, second = service.report(nonce=nonce, bits=b"\1\0"), service.report(nonce=nonce, bits=b"\2\0")
    assert service.send(first).status_code == 200
    answer = service.send(second)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "nonce")
    assert service.send([second, service.report(), second]).json() == {
        "accepted": 1,
        "failed": [{"index": i, "code": "nonce", "reason": "this nonce is stored with other bits"} for i in (0, 2)],
    }
    assert service.n_stored == 2


def test_two_bodies_under_one_nonce_in_one_list(service: Service) -> None:
    nonce = os.urandom(16)
    sent = [service.report(nonce=nonce, bits=bits) for bits in (b"\1\0", b"\2\0")]
    answer = service.send(sent).json()
    assert answer["accepted"] == 1
    assert len(answer["failed"]) == 1
    assert service.n_stored == 1


def test_the_same_nonce_in_another_campaign_is_another_report(store: Store) -> None:
    first, second = (store.add_campaign(campaign(name)) for name in ("one", "two"))
    nonce = os.urandom(16)
    for one in (first, second):
        assert store.insert([Batch(one.id, [nonce], [b"\1\0"])]) == Stored(1, [frozenset()])
    assert [store.n_reports(one.id) for one in (first, second)] == [1, 1]


def test_requests_of_one_transaction_do_not_mix(store: Store) -> None:
    """They share statements, and each hears of its own conflicts only."""
    one, two = (store.add_campaign(campaign(name)) for name in ("one", "two"))
    first, second = os.urandom(16), os.urandom(16)
    batches = [
        Batch(one.id, [first], [b"\1\0"]),
        Batch(two.id, [first], [b"\2\0"]),
        Batch(one.id, [second, first], [b"\1\0", b"\2\0"]),  # another body for the first nonce
        Batch(one.id, [first], [b"\1\0"]),  # the same again
    ]
    none: frozenset[int] = frozenset()
    assert store.insert(batches) == Stored(3, [none, none, frozenset({1}), none])
    assert store.insert(batches) == Stored(0, [none, none, frozenset({1}), none])
    assert [store.n_reports(campaign.id) for campaign in (one, two)] == [2, 1]
    assert sorted(store.bodies(one.id, 0, 10**6)) == [b"\1\0", b"\1\0"]


def test_a_list_names_the_failed_ones_in_order_and_keeps_the_rest(service: Service) -> None:
    good = [service.report() for _ in range(3)]
    bad = [
        {**good[0], "word": "thunder"},
        "rain",
        {**good[0], "vocabulary": "0" * 64},
        None,
        {**good[0], "bits": "AA=="},
    ]
    answer = service.send([bad[0], good[0], *bad[1:4], good[1], bad[4], good[2]])
    assert answer.status_code == 200
    failed = [(one["index"], one["code"]) for one in answer.json()["failed"]]
    assert failed == [(0, "fields"), (2, "fields"), (3, "vocabulary"), (4, "fields"), (6, "bits")]
    assert answer.json()["accepted"] == service.n_stored == 3


def test_a_list_of_nothing_good_is_refused(service: Service) -> None:
    answer = service.send([{}, 1])
    assert answer.status_code == 422
    assert [one["index"] for one in answer.json()["failed"]] == [0, 1]
    assert service.n_stored == 0


BAD = {
    "another field": lambda good: {**good, "text": "rain"},
    "a missing field": lambda good: {k: v for k, v in good.items() if k != "nonce"},
    "another vocabulary": lambda good: {**good, "vocabulary": "f" * 64},
    "words instead of bits": lambda good: {**good, "bits": ["rain", "wind"]},
    "too few bits": lambda good: {**good, "bits": text64(b"\0")},
    "too many bits": lambda good: {**good, "bits": text64(b"\0\0\0")},
    "bits after the last word": lambda good: {**good, "bits": text64(b"\0\4")},
    "no base64": lambda good: {**good, "bits": "A-_="},
    "letters that are not ASCII": lambda good: {**good, "bits": "ÄÄÄ="},
    "base64 with blanks": lambda good: {**good, "bits": "A A="},
    "a short nonce": lambda good: {**good, "nonce": text64(b"1234")},
    "a long nonce": lambda good: {**good, "nonce": text64(bytes(17))},
    "a number as nonce": lambda good: {**good, "nonce": 7},
    "a number": lambda good: 5,
    "an empty list": lambda good: [],
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_reports_are_refused(sqlite_service: Service, kind: str) -> None:
    answer = sqlite_service.send(BAD[kind](sqlite_service.report()))
    assert answer.status_code == 422
    assert set(answer.json()["error"]) == {"code", "reason"}
    assert sqlite_service.n_stored == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"NaN", b'{"a": 1e999999}', b"nul", b"null"])
def test_what_is_not_json_is_refused(sqlite_service: Service, body: bytes) -> None:
    assert sqlite_service.send(body).status_code in (400, 422)
    assert sqlite_service.n_stored == 0


def test_other_types_and_sizes_are_refused(sqlite_service: Service) -> None:
    good = sqlite_service.report()
    assert sqlite_service.send(json.dumps(good).encode(), **{"content-type": "text/plain"}).status_code == 415
    assert sqlite_service.send(b" " * (wire.MAX_BODY + 1)).status_code == 413
    assert sqlite_service.send([1] * (wire.MAX_LIST + 1)).status_code == 413
    assert sqlite_service.n_stored == 0
    assert sqlite_service.send(json.dumps(good).encode() + b" " * 1_000_000).status_code == 200


def test_no_field_of_the_schema_has_room_for_a_word(sqlite_service: Service) -> None:
    schema = sqlite_service.http.get("/openapi.json").json()
    body = schema["paths"]["/campaigns/{name}/reports"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == wire.body_schema()
    one, many = body["oneOf"]
    assert many["items"] == one
    assert one["additionalProperties"] is False
    assert set(one["properties"]) == {"vocabulary", "nonce", "bits"}


def test_no_column_holds_more_than_the_report(tmp_path: Path, sqlite_service: Service) -> None:
    sqlite_service.send(sqlite_service.report())
    connection = sqlite3.connect(tmp_path / "reports.db")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(reports)")]
    assert columns == ["id", "campaign_id", "nonce", "bits", "minute"]
    assert connection.execute("SELECT minute FROM reports").fetchall() == [(int(sqlite_service.clock()) // 60,)]
    connection.close()


def test_a_campaign_that_has_ended_takes_no_reports(service: Service) -> None:
    assert service.send(service.report()).status_code == 200
    assert service.as_admin("POST", f"/campaigns/{service.campaign.name}/end").status_code == 200
    assert service.send(service.report()).status_code == 410
    assert service.n_stored == 1


def test_rates_are_limited(tmp_path: Path, open_store: Callable[[str], Store], clock: Clock) -> None:
    slow = campaign(reports_per_minute=5)
    with Service(open_store(sqlite_url(tmp_path / "slow.db")), clock, slow) as service:
        assert service.send([service.report() for _ in range(4)]).status_code == 200
        answer = service.send([service.report() for _ in range(4)])
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) in range(30, 38)  # three more, at five a minute
        assert service.n_stored == 4
        assert service.send(service.report()).status_code == 200


def test_a_full_queue_asks_senders_to_come_back(
    tmp_path: Path, open_store: Callable[[str], Store], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(sqlite_url(tmp_path / "full.db"))
    with Service(store, clock, max_queue=10) as service:
        real, go, begun = store.insert, threading.Event(), threading.Event()

        def held(batches: Sequence[Batch]) -> Stored:
            begun.set()
            assert go.wait(60)
            return real(batches)

        monkeypatch.setattr(store, "insert", held)
        answers = []
        senders = [
            threading.Thread(target=lambda: answers.append(service.send([service.report() for _ in range(8)])))
            for _ in range(3)
        ]
        senders[0].start()
        assert begun.wait(30)  # the first is being written
        senders[1].start()
        end = time.monotonic() + 30
        while service.app.state.parts.writer.waiting < 8:  # the second waits
            assert time.monotonic() < end
            time.sleep(0.01)
        senders[2].start()
        senders[2].join(30)  # the third is one too many
        assert [answer.status_code for answer in answers] == [429]
        assert int(answers[0].headers["retry-after"]) >= 1
        go.set()
        for sender in senders:
            sender.join()
        assert sorted(answer.status_code for answer in answers) == [200, 200, 429]
        assert service.n_stored == 16


def test_requests_share_transactions(service: Service) -> None:
    """Forty senders at once need far fewer than forty transactions."""
    bodies = [service.report() for _ in range(40)]
    threads = [threading.Thread(target=service.send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.n_stored == 40
    assert service.app.state.parts.metrics.commits <= 40
    assert writer.MAX_TRANSACTION > 1


def test_health_and_metrics(service: Service) -> None:
    service.send(service.report())
    service.send({})
    assert service.http.get("/healthz").json() == {"ok": True, "problems": []}
    page = service.http.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    lines = page.text.splitlines()
    assert "discreet_reports_stored_total 1" in lines
    assert 'discreet_reports_refused_total{reason="fields"} 1' in lines
    assert 'discreet_responses_total{status="422"} 1' in lines
    assert 'discreet_commit_seconds_bucket{le="+Inf"} 1' in lines
    assert "discreet_database_available 1" in lines


def test_the_campaign_says_what_clients_need(service: Service) -> None:
    shown = service.http.get(f"/campaigns/{service.campaign.name}").json()
    assert shown["vocabulary"] == list(service.campaign.vocabulary)
    assert (shown["threshold"], shown["max_words"], shown["words"]) == (2**30, 4, "english")
    assert shown["vocabulary_hash"] == service.campaign.vocabulary_hash
    assert shown["digest"] == service.campaign.digest
    assert shown["noise"]["epsilon_report"] == pytest.approx(8 * 1.0986, rel=1e-3)
    assert len(shown["statement"]) >= 5
    assert service.http.get("/campaigns/none").status_code == 404


def test_pages_of_other_origins_may_send(sqlite_service: Service) -> None:
    asked = {"origin": "https://example.org", "access-control-request-method": "POST"}
    path = f"/campaigns/{sqlite_service.campaign.name}/reports"
    answer = sqlite_service.http.options(path, headers={**asked, "access-control-request-headers": "authorization"})
    assert answer.headers["access-control-allow-origin"] == "*"
    sent = sqlite_service.send(sqlite_service.report(), origin="https://example.org")
    assert sent.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in sent.headers


def test_reports_of_a_large_vocabulary(tmp_path: Path, open_store: Callable[[str], Store], clock: Clock) -> None:
    letters = "abcdefghij"
    words = tuple(f"word{a}{b}{c}{d}" for a in letters for b in letters for c in letters for d in letters)
    large = campaign(vocabulary=words, max_words=None)
    with Service(open_store(sqlite_url(tmp_path / "large.db")), clock, large) as service:
        assert service.send([service.report() for _ in range(20)]).json() == {"accepted": 20, "failed": []}
        assert {len(body) for body in service.store.bodies(service.id, 0, 10**9)} == {1250}


def test_the_helper_makes_good_reports() -> None:
    about = campaign()
    for _ in range(50):
        parsed = wire.parse(json.dumps(report(about)).encode(), about)
        assert parsed.failed == []
