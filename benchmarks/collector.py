"""How many reports per second does the collector acknowledge durably?

``discreet collect serve`` on SQLite, all checks on, a campaign of 1,000 words, windows of 1,000 reports, and the
training process at work all the while. Open loop (``benchmarks/load.py``): latency counts from when a request was due.
Single reports at 2,000 per second for 60 s, then lists of 500 at 30,000 reports per second for 20 s; then rates rise
until the 99th percentile passes 100 ms or a request is refused. Server, training and generator share the machine's
cores. After each run the database must hold what was acknowledged. ``python -m benchmarks.collector single`` (or
``lists``, ``saturation``) runs one part.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import line, verdict
from benchmarks.load import Bodies, Result, fire
from discreet.collector.campaign import Campaign
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from discreet.collector.store.tokens import new_token
from discreet.mechanisms.local import RandomisedResponse

N_WORDS, LIST = 1_000, 500


class Running(NamedTuple):
    address: str
    campaign: Campaign
    token: str
    pid: int
    store: Store
    campaign_id: int


def words() -> list[str]:
    return [f"word{chr(97 + i // 100)}{chr(97 + i // 10 % 10)}{chr(97 + i % 10)}" for i in range(N_WORDS)]


@contextmanager
def collector(folder: Path) -> Iterator[Running]:
    """A collector with one campaign, in a process of its own."""
    response = RandomisedResponse.for_epsilon(2.0, N_WORDS)
    campaign = Campaign(
        name="load",
        vocabulary=words(),  # type: ignore[arg-type]
        threshold=response.threshold,
        window_reports=1_000,
        reports_per_minute=100_000_000,
    )
    store = Store(sqlite_url(folder / "reports.db"), create=True)
    stored = store.add_campaign(campaign)
    token, row = new_token(stored.id, "load", None)
    store.add_token(row)
    try:
        with serving(folder) as (address, pid):
            yield Running(address, campaign, token, pid, store, stored.id)
    finally:
        store.close()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    """``discreet collect serve`` in a process of its own: its address and its number."""
    command = [sys.executable, "-m", "discreet", "collect", "serve", str(folder), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield next(m[1] for text in server.stdout if (m := re.match(r"listening on (\S+)", text))), server.pid
        finally:
            server.terminate()
            server.wait(60)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_run(rate: float, seconds: float, size: int, connections: int) -> tuple[Result, bool]:
    """A fresh collector, so that runs do not depend on each other. Returns whether nothing was lost, too."""
    with tempfile.TemporaryDirectory() as name, collector(Path(name)) as running:
        bodies = Bodies(running.campaign, running.address.removeprefix("http://"), running.token, size)
        warm = fire(bodies, running.address, rate=min(rate, 500), seconds=2, connections=connections)
        before, at = cpu_seconds(running.pid), time.perf_counter()
        result = fire(bodies, running.address, rate=rate, seconds=seconds, connections=connections)
        used = (cpu_seconds(running.pid) - before) / (time.perf_counter() - at)
        stored = running.store.n_reports(running.campaign_id)
        more = stored - warm.accepted - result.accepted
        kept = 0 <= more <= max(size, 1) * result.unanswered  # stored, and its answer not waited for
        topics = json.load(urllib.request.urlopen(f"{running.address}/campaigns/load/topics", timeout=30))
    line(
        f"{'single' if size == 0 else f'lists of {size}'}, {rate:,.0f}/s for {seconds:g} s",
        f"acknowledged {result.accepted_rate:,.0f}/s",
        f"p50 {1e3 * result.quantile(0.5):.0f} ms",
        f"p99 {1e3 * result.quantile(0.99):.0f} ms",
        f"max {1e3 * result.quantile(1):.0f} ms",
        f"{result.late_seconds(0.1)} s with a p99 above 100 ms",
        f"other answers {sum(n for s, n in result.statuses.items() if s != 200) + result.unanswered}",
        f"server {100 * used:.0f}% of a core",
        f"{topics['window']} windows trained",
        "all there" if kept else f"{stored:,} STORED",
    )
    return result, kept


def single(seconds: float = 60) -> bool:
    result, kept = one_run(2_000, seconds, 0, 1_000)
    p99 = result.quantile(0.99)
    return all(
        (
            verdict("single reports acknowledged per second", result.accepted_rate, 1_990, at_least=True),
            verdict("their 99th percentile, from when they were due", p99, 0.1, at_least=False, unit=" s"),
            verdict("acknowledged single reports in the database (1: all)", float(kept), 1, at_least=True),
        )
    )


def lists(seconds: float = 20) -> bool:
    result, kept = one_run(30_000, seconds, LIST, 16)
    return all(
        (
            verdict("reports in lists acknowledged per second", result.accepted_rate, 29_000, at_least=True),
            verdict("acknowledged reports of lists in the database (1: all)", float(kept), 1, at_least=True),
        )
    )


def saturation() -> bool:
    """Rates rise until the 99th percentile is too high or a request is refused."""
    for size, connections, rates in ((0, 256, (2_500, 3_000, 3_500, 4_000, 5_000)), (LIST, 16, (40_000, 50_000))):
        for rate in rates:
            result, _ = one_run(rate, 10, size, connections)
            if result.quantile(0.99) > (0.1 if size == 0 else 1.0) or set(result.statuses) != {200}:
                break
    return True


PARTS = {"single": single, "lists": lists, "saturation": saturation}


def main(quick: bool = False) -> bool:
    if quick:
        return all([single(10), lists(5)])
    return all([part() for part in PARTS.values()])  # noqa: C419  # all of them, also after one that fails


if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
