"""An open-loop load generator for the collector: requests leave when they are due, whether or not earlier ones were
answered.

Latency is counted from the moment at which a request was due, so a server that stalls cannot hide it by slowing the
generator down. Raw HTTP/1.1 on kept-alive connections; a request that finds no free connection waits for one, and its
latency counts that too. Nonces are random and never repeat.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from base64 import b64encode
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from discreet.collector.campaign import Campaign

POOL = 4_096
"""Different bodies, drawn beforehand; each is sent under many nonces."""


class Bodies:
    """Requests with fresh nonces. ``size``: reports in a list; 0 for a report alone."""

    def __init__(self, campaign: Campaign, host: str, token: str, size: int) -> None:
        n_words = campaign.response.n_words
        rng = np.random.default_rng(1)
        words = rng.integers(0, n_words, 40 * POOL).astype(np.int32)
        rows = campaign.response.randomise(words, np.arange(0, 40 * POOL + 1, 40))
        self._tails = [f'","bits":"{b64encode(row.tobytes()).decode()}"}}' for row in rows]
        self._head = f'{{"vocabulary":"{campaign.vocabulary_hash}","nonce":"'
        self.size, self._next = size, 0
        self._request = (
            f"POST /campaigns/{campaign.name}/reports HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    def __call__(self) -> bytes:
        n = max(self.size, 1)
        drawn = os.urandom(18 * n)  # 24 letters of base64 for 18 bytes, of which a nonce uses 16
        head, tails, first = self._head, self._tails, self._next
        self._next = (first + n) % POOL
        reports = []
        for i in range(n):
            nonce = b64encode(drawn[18 * i : 18 * i + 16]).decode()
            reports.append(f"{head}{nonce}{tails[(first + i) % POOL]}")
        body = f"[{','.join(reports)}]" if self.size else reports[0]
        return f"{self._request}{len(body)}\r\n\r\n{body}".encode()


@dataclass
class Result:
    """What came back."""

    rate: float
    seconds: float
    size: int
    latencies: list[float] = field(default_factory=list)
    """Of answered requests, in seconds from when each was due."""
    due: list[float] = field(default_factory=list)
    """When each of them was due, in seconds from the start."""
    statuses: Counter[int] = field(default_factory=Counter)
    accepted: int = 0
    """Reports that were acknowledged."""
    took: float = 0.0
    unanswered: int = 0

    @property
    def accepted_rate(self) -> float:
        return self.accepted / self.took if self.took else 0.0

    def quantile(self, q: float) -> float:
        return float(np.quantile(self.latencies, q)) if self.latencies else float("inf")

    def late_seconds(self, bound: float) -> int:
        """In how many seconds of the run the 99th percentile was above the bound: one stall, or all the time?"""
        due, latencies = np.asarray(self.due).astype(int), np.asarray(self.latencies)
        return sum(float(np.quantile(latencies[due == second], 0.99)) > bound for second in np.unique(due))


class Connection(asyncio.Protocol):
    """One kept-alive connection with at most one request under way."""

    def __init__(self, load: Load) -> None:
        self.load, self.buffer, self.due = load, b"", 0.0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by name

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(body) >= length:
            self.buffer = b""
            self.load.answered(self, int(head[9:12]), body)

    def connection_lost(self, exc: Exception | None) -> None:
        self.load.lost(self)

    def send(self, due: float, request: bytes) -> None:
        self.due = due
        assert self.transport is not None
        self.transport.write(request)


class Load:
    """Sends at a rate for a while over some connections."""

    def __init__(self, bodies: Bodies, *, rate: float, seconds: float, connections: int) -> None:
        self.bodies, self.result = bodies, Result(rate, seconds, max(bodies.size, 1))
        self.n_connections, self.started = connections, 0.0
        self.free: deque[Connection] = deque()
        self.waiting: deque[float] = deque()
        self.under_way: set[Connection] = set()

    def answered(self, connection: Connection, status: int, body: bytes) -> None:
        self.result.statuses[status] += 1
        self.result.latencies.append(time.perf_counter() - connection.due)
        self.result.due.append(connection.due - self.started)
        if status == 200:
            self.result.accepted += 1 if not self.bodies.size else json.loads(body)["accepted"]
        self.under_way.discard(connection)
        if self.waiting:
            self._send(connection, self.waiting.popleft())
        else:
            self.free.append(connection)

    def lost(self, connection: Connection) -> None:
        if connection in self.under_way:
            self.under_way.discard(connection)
            self.result.unanswered += 1
        if connection in self.free:
            self.free.remove(connection)

    def _send(self, connection: Connection, due: float) -> None:
        self.under_way.add(connection)
        connection.send(due, self.bodies())

    async def run(self, host: str, port: int) -> Result:
        loop = asyncio.get_running_loop()
        for _ in range(self.n_connections):
            _, connection = await loop.create_connection(lambda: Connection(self), host, port)
            self.free.append(connection)
        every, started = self.result.size / self.result.rate, time.perf_counter()
        self.started = started
        n, total = 0, int(self.result.seconds / every)
        while n < total:
            now = time.perf_counter()
            while n < total and started + n * every <= now:
                due = started + n * every
                if self.free:
                    self._send(self.free.popleft(), due)
                else:
                    self.waiting.append(due)
                n += 1
            await asyncio.sleep(max(0.0, min(0.001, started + n * every - time.perf_counter())))
        give_up = time.perf_counter() + 20
        while (self.under_way or self.waiting) and time.perf_counter() < give_up and (self.under_way or self.free):
            await asyncio.sleep(0.01)
        self.result.took = time.perf_counter() - started
        self.result.unanswered += len(self.under_way) + len(self.waiting)
        for connection in [*self.free, *self.under_way]:
            if connection.transport is not None:
                connection.transport.abort()
        return self.result


def fire(bodies: Bodies, address: str, *, rate: float, seconds: float, connections: int) -> Result:
    """``rate`` is in reports per second."""
    host, port = address.removeprefix("http://").rsplit(":", 1)
    load = Load(bodies, rate=rate, seconds=seconds, connections=connections)
    gc.collect()
    gc.freeze()  # a stall of the generator would count as one of the server
    try:
        import uvloop
    except ImportError:
        return asyncio.run(load.run(host, int(port)))
    return uvloop.run(load.run(host, int(port)))
