"""The Python client: what it sends, what it remembers, whom it does not trust."""

from __future__ import annotations

import http.server
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import InputError
from discreet.collector import Campaign, Client
from discreet.collector.client.http import Answered, Connection, NotReached, checked_server
from discreet.collector.client.memory import Answer, Memory, key_of
from discreet.collector.statement import public
from tests.support.collecting import Service, campaign
from tests.support.listening import listening

TEXT = "Rain and wind, then a storm; WINTER. Rain again."


@pytest.fixture
def served(sqlite_service: Service) -> Iterator[tuple[Service, str]]:
    """The database of the service behind a real socket. (Its in-process form has been started too; it is not used.)"""
    from discreet.collector.service.app import create_app

    with listening(create_app(sqlite_service.store)) as address:
        yield sqlite_service, address


def test_only_random_bits_leave(served: tuple[Service, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, address = served
    bodies: list[bytes] = []
    connection = Connection(address, service.write)
    real = connection._open

    def spying(request: Any, **options: Any) -> Any:
        bodies.append(request.data or b"")
        return real(request, **options)

    connection._open = spying  # type: ignore[method-assign]
    with Client(address, "weather", memory=tmp_path / "m.db", connection=connection) as client:
        assert client.report([TEXT, "piano music"]) == (2, 0)
    assert bodies[0] == b""
    sent = json.loads(bodies[1])
    assert [set(one) for one in sent] == [{"vocabulary", "nonce", "bits"}] * 2
    assert [len(one["bits"]) for one in sent] == [4, 4]  # two bytes
    for word in ("rain", "piano", "text"):
        assert word not in bodies[1].decode().lower()
    assert service.n_stored == 2


def test_a_text_is_randomised_once(served: tuple[Service, str], tmp_path: Path) -> None:
    service, address = served
    for again in range(3):  # a new process each time, as far as the memory goes
        with Client(address, "weather", service.write, memory=tmp_path / "m.db") as client:
            assert client.report([TEXT]) == (1, min(again, 1))
    with Client(address, "weather", service.write, memory=tmp_path / "m.db") as client:
        assert client.report(["wind: storm, rain in winter!", TEXT, "violin"]) == (3, 2)  # the same words
    assert service.n_stored == 2


def test_a_lost_answer_is_sent_again_unchanged(served: tuple[Service, str], tmp_path: Path) -> None:
    """The server stored the report, and the device never heard of it: the memory was written first."""
    service, address = served

    class Cut(Connection):
        def request(self, method: str, path: str, body: Any = None) -> Any:
            answered = super().request(method, path, body)
            if method == "POST":
                raise NotReached("cut")
            return answered

    cut = Cut(address, service.write)
    with Client(address, "weather", memory=tmp_path / "m.db", connection=cut) as client, pytest.raises(NotReached):
        client.report([TEXT])
    assert service.n_stored == 1
    with Client(address, "weather", service.write, memory=tmp_path / "m.db") as client:
        assert client.report([TEXT]) == (1, 1)
    assert service.n_stored == 1


def test_a_device_reports_so_many_texts_and_no_more(served: tuple[Service, str], tmp_path: Path) -> None:
    service, address = served
    service.store.add_campaign(campaign("few", reports_per_client=2))
    token = service.as_admin("POST", "/campaigns/few/tokens", json={}).json()["token"]
    with Client(address, "few", token, memory=tmp_path / "m.db") as client:
        client.report(["rain", "wind"])
        with pytest.raises(InputError, match="may report 2 different texts"):
            client.report(["storm"])
        assert client.report(["wind", "rain", "rain"]) == (3, 3)
    few = service.store.campaign("few")
    assert few is not None
    assert service.store.n_reports(few.id) == 2


def test_campaigns_of_too_little_protection_are_refused(served: tuple[Service, str], tmp_path: Path) -> None:
    service, address = served
    with (
        Client(address, "weather", service.write, memory=tmp_path / "m.db", max_epsilon=8) as client,
        pytest.raises(InputError, match=r"ε = 8\.7889, and you allow 8"),
    ):
        client.report([TEXT])
    assert service.n_stored == 0
    with Client(address, "weather", service.write, memory=tmp_path / "m.db", max_epsilon=9) as client:
        assert client.report([TEXT]) == (1, 0)
        word, whole = client.guarantees
    assert whole.epsilon == pytest.approx(8 * np.log(3))
    assert word.epsilon < whole.epsilon
    assert (word.basis, whole.basis) == ("proven", "proven")


@contextmanager
def lying(*answers: tuple[int, dict[str, str], Any]) -> Iterator[tuple[str, list[str]]]:
    """A server that gives these answers, one after another, whatever is asked; the last again and again."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            asked.append(f"{self.command} {self.path}")
            status, headers, value = answers[min(len(asked), len(answers)) - 1]
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def shown(**changes: Any) -> dict[str, Any]:
    return public(campaign()) | changes


BAD_CAMPAIGNS = {
    "no JSON": b"<html>",
    "a list": [],
    "another name": shown(name="other"),
    "other words than the hash says": shown(vocabulary=["rain", "wind"]),
    "no noise at all": shown(threshold=0),
    "words that no text holds": shown(vocabulary=["a b"]),
    "a pattern of its own": shown(words=".*"),
}


@pytest.mark.parametrize("kind", BAD_CAMPAIGNS)
def test_a_server_that_lies_gets_nothing(tmp_path: Path, kind: str) -> None:
    with (
        lying((200, {}, BAD_CAMPAIGNS[kind])) as (address, asked),
        Client(address, "weather", "token", memory=tmp_path / "m.db") as client,
        pytest.raises((InputError, Answered)),
    ):
        client.report([TEXT])
    assert asked == ["GET /campaigns/weather"]


def test_a_campaign_that_changed_is_refused(tmp_path: Path) -> None:
    """Another threshold under the same name would be a second random answer about the same text."""
    good = {"accepted": 1, "failed": []}
    for threshold, works in ((2**30, True), (2**30 - 1, False), (2**30, True)):
        changed = public(campaign(threshold=threshold))
        with lying((200, {}, changed), (200, {}, good)) as (address, asked):
            connection = Connection(address)
            connection.server = "https://collect.example.org"  # the same place each time, whatever the port
            with Client(address, "weather", memory=tmp_path / "m.db", connection=connection) as client:
                client._http.server = address
                if works:
                    assert client.report([TEXT]).accepted == 1
                else:
                    with pytest.raises(InputError, match="has changed"):
                        client.report([TEXT])
                    assert len(asked) == 1


def test_patience_and_its_end() -> None:
    slept: list[float] = []
    busy = (503, {"retry-after": "7"}, {"error": {"code": "database", "reason": "later"}})
    with lying(busy, busy, (200, {}, {"good": 1})) as (address, asked):
        assert Connection(address, sleep=slept.append).request("GET", "/x") == {"good": 1}
    assert (len(asked), slept) == (3, [7.0, 7.0])
    with lying(busy) as (address, asked), pytest.raises(NotReached, match="4 attempts"):
        Connection(address, sleep=slept.append, attempts=4).request("GET", "/x")
    with pytest.raises(NotReached, match="could not be reached"):
        Connection(address, sleep=slept.append, attempts=2).request("GET", "/x")
    bad = {"error": {"code": "token", "reason": "a valid token is needed"}}
    with lying((401, {}, bad)) as (address, asked), pytest.raises(Answered, match=r"\(401\): a valid token") as found:
        Connection(address, sleep=slept.append).request("GET", "/x")
    assert (found.value.status, found.value.code, len(asked)) == (401, "token", 1)


def test_a_token_follows_no_redirect() -> None:
    with (
        lying((200, {}, {})) as (other, others),
        lying((302, {"location": other}, b"")) as (address, _),
        pytest.raises(Answered, match="302"),
    ):
        Connection(address, "secret").request("GET", "/x")
    assert others == []


@pytest.mark.parametrize(
    "server", ["http://example.org", "ftp://a", "", "example.org", "https://a:b@c", "https://a?b=c"]
)
def test_addresses_that_would_leak_are_refused(server: str) -> None:
    with pytest.raises(InputError):
        checked_server(server)
    assert checked_server("https://example.org/sub/") == "https://example.org/sub"


def test_the_memory_is_private_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    memory = Memory(path)
    answers = {key_of([1, 2]): Answer(b"n" * 16, b"b", sent=False)}
    assert memory.remember("p", answers, 10) == answers
    other = Memory(path)  # as another process
    assert other.remember("p", {key_of([2, 1, 1]): Answer(b"m" * 16, b"c", sent=False)}, 1) == answers
    assert other.n_answers("p") == 1
    assert other.n_answers("q") == 0
    memory.sent("p", list(answers))
    assert other.answers("p", list(answers))[key_of([1, 2])].sent
    assert os.stat(path).st_mode & 0o777 == 0o600
    memory.close()
    other.close()
    (tmp_path / "text").write_text("no database, but long enough to be looked at as one" * 10)
    for wrong in (tmp_path / "text", tmp_path / "none" / "m.db", tmp_path):
        with pytest.raises(InputError, match="memory file"):
            Memory(wrong)


def test_the_memory_holds_no_words(served: tuple[Service, str], tmp_path: Path) -> None:
    service, address = served
    with Client(address, "weather", service.write, memory=tmp_path / "m.db") as client:
        client.report([TEXT])
    dump = "\n".join(sqlite3.connect(tmp_path / "m.db").iterdump())
    assert "answers" in dump
    assert "rain" not in dump.lower()


def test_campaigns_are_checked() -> None:
    for wrong in (
        {"name": "A"},
        {"name": "-a"},
        {"name": "a" * 65},
        {"threshold": 2**31},
        {"max_words": 0},
        {"words": "regex"},
        {"vocabulary": ["in"]},
        {"vocabulary": ["rain", "rain"]},
        {"window_seconds": 5},
        {"retention_days": 0},
        {"remark": "x" * 2001},
        {"n_topics": True},
    ):
        with pytest.raises(InputError):
            campaign(**{"name": "a", **wrong})
    about = campaign()
    assert Campaign.from_json(json.loads(json.dumps(about.to_json()))) == about
    assert about.columns_of("Rain, rain and THUNDER; rainy") == [4, 6]
    for wrong_json in ([], {}, {**about.to_json(), "word": 1}, {**about.to_json(), "vocabulary": "rain"}):
        with pytest.raises(InputError):
            Campaign.from_json(wrong_json)


def test_the_digest_covers_what_clients_act_on() -> None:
    base = campaign().digest
    for changed in ({"threshold": 5}, {"max_words": None}, {"words": "letters"}, {"reports_per_client": 5}):
        assert campaign(**changed).digest != base
    assert campaign(vocabulary=["rain"]).digest != base
    for same in ({"remark": "x"}, {"retention_days": 3}, {"reports_per_minute": 9}):
        assert campaign(**same).digest == base
