"""A real server under load: killed, out of disk space, with slow senders. What it acknowledged is there, once."""

from __future__ import annotations

import http.client
import json
import os
import resource
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from discreet.collector.campaign import Campaign
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from discreet.collector.store.tokens import new_token
from tests.support.collecting import campaign, report, text64
from tests.support.collector_process import Process, collector


def prepared(folder: Path) -> tuple[Campaign, int, str]:
    """A folder with a campaign and a token, before its server starts."""
    about = campaign(max_words=None, window_reports=10_000_000, reports_per_minute=100_000_000)
    store = Store(sqlite_url(folder / "reports.db"), create=True)
    stored = store.add_campaign(about)
    token, row = new_token(stored.id, "", None)
    store.add_token(row)
    store.close()
    return about, stored.id, token


class Sender(threading.Thread):
    """Sends reports one after another, singly and in lists, and keeps those that were acknowledged."""

    def __init__(self, about: Campaign, address: str, token: str) -> None:
        super().__init__(daemon=True)
        self.about, self.token = about, token
        self.host, self.port = address.removeprefix("http://").split(":")
        self.acknowledged: list[dict[str, str]] = []
        self.sent: list[dict[str, str]] = []
        self.done = threading.Event()

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=20)
        n = 0
        while not self.done.is_set():
            n += 1
            reports = [report(self.about) for _ in range(1 if n % 4 else 20)]
            self.sent += reports
            try:
                body = json.dumps(reports if len(reports) > 1 else reports[0])
                connection.request("POST", f"/campaigns/{self.about.name}/reports", body, headers)
                answer = connection.getresponse()
                said = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                break
            if answer.status == 200:
                assert said == {"accepted": len(reports), "failed": []}
                self.acknowledged += reports
        connection.close()


def stored_in(folder: Path, campaign_id: int) -> dict[str, str]:
    """Nonce and bits of all reports in the database; a nonce that is there twice fails."""
    import sqlite3

    connection = sqlite3.connect(folder / "reports.db")
    rows = connection.execute("SELECT nonce, bits FROM reports WHERE campaign_id = ?", (campaign_id,)).fetchall()
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    found = {text64(nonce): text64(bits) for nonce, bits in rows}
    assert len(found) == len(rows)
    return found


def kill_under_load(folder: Path, times: int) -> int:
    """Kill the server ``times`` times while it is written to. Returns how many reports were acknowledged in all."""
    about, campaign_id, token = prepared(folder)
    acknowledged: list[dict[str, str]] = []
    sent: dict[str, str] = {}
    for _ in range(times):
        server = Process(folder, "--no-training")
        senders = [Sender(about, server.address, token) for _ in range(4)]
        for sender in senders:
            sender.start()
        end = time.monotonic() + 20
        while sum(len(sender.acknowledged) for sender in senders) < 200:
            assert time.monotonic() < end
            time.sleep(0.01)
        server.kill()  # SIGKILL: no handler, no clean-up
        for sender in senders:
            sender.join(30)
            acknowledged += sender.acknowledged
            sent |= {one["nonce"]: one["bits"] for one in sender.sent}
        there = stored_in(folder, campaign_id)
        assert all(there.get(one["nonce"]) == one["bits"] for one in acknowledged)
        assert all(sent[nonce] == bits for nonce, bits in there.items())  # none half, none made up
    return len(acknowledged)


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    assert kill_under_load(tmp_path, 2) >= 400


@pytest.mark.long
def test_what_was_acknowledged_survives_ten_kills(tmp_path: Path) -> None:
    assert kill_under_load(tmp_path, 10) >= 2_000


def post(address: str, about: Campaign, token: str, n: int) -> int:
    """The status of a list of ``n`` reports."""
    request = urllib.request.Request(
        f"{address}/campaigns/{about.name}/reports",
        json.dumps([report(about) for _ in range(n)]).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code if "Retry-After" in error.headers or error.code != 503 else 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process can be set on Linux only")
def test_a_full_disk_and_recovery(tmp_path: Path) -> None:
    """The operating system refuses to let the server's files grow, as on a full disk; then there is space again."""
    about, campaign_id, token = prepared(tmp_path)
    with collector(tmp_path, "--no-training") as server:
        assert post(server.address, about, token, 100) == 200
        log = os.path.getsize(tmp_path / "reports.db-wal")
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (log + 10_000, unlimited[1]))
        answers = [post(server.address, about, token, 500) for _ in range(5)]
        assert answers[-1] == 503
        assert set(answers) <= {200, 503}
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        time.sleep(0.3)
        assert post(server.address, about, token, 500) == 200
        with urllib.request.urlopen(f"{server.address}/healthz") as answer:
            assert answer.status == 200
    stored = stored_in(tmp_path, campaign_id)
    assert len(stored) == 100 + 500 * (answers.count(200) + 1)


def test_slow_senders_harm_nobody(tmp_path: Path) -> None:
    """Three hundred connections that send nothing, half a request, or a body that never ends; others are served."""
    about, campaign_id, token = prepared(tmp_path)
    head = (
        f"POST /campaigns/{about.name}/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    ).encode()
    with collector(tmp_path, "--no-training") as server:
        host, port = server.address.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port))) for _ in range(300)]
        for i, sock in enumerate(slow):
            sock.sendall((b"", head[:40], head + b"[")[i % 3])
        started = time.monotonic()
        assert [post(server.address, about, token, 1) for _ in range(20)] == [200] * 20
        assert time.monotonic() - started < 10
        for sock in slow:  # all of them are closed by the server in the end
            sock.settimeout(30)
            said = b""
            while block := sock.recv(4096):
                said += block
            assert said == b"" or said.startswith(b"HTTP/1.1 408 "), said[:40]
            sock.close()
        assert post(server.address, about, token, 1) == 200
    assert len(stored_in(tmp_path, campaign_id)) == 21
