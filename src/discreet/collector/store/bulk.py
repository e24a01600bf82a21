"""Insert the reports of many requests with one statement per campaign.

One statement, because Python's SQLite driver takes and gives up the interpreter's lock for each execution: report by
report, a busy event loop would make the writer wait for the lock once per report. All reports of a campaign have the
same size, so SQLite can cut them out of one long value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from discreet.collector.store import schema

NONCE_BYTES = 16

_SQLITE = f"""
INSERT INTO reports (campaign_id, nonce, bits, minute)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
SELECT ?2, substr(?3, i * {NONCE_BYTES} + 1, {NONCE_BYTES}), substr(?4, i * ?5 + 1, ?5), ?6 FROM n WHERE true
ON CONFLICT DO NOTHING
"""

_POSTGRESQL = """
INSERT INTO reports (campaign_id, nonce, bits, minute)
SELECT %s, u.nonce, u.bits, %s FROM unnest(%s::bytea[], %s::bytea[]) AS u(nonce, bits)
ON CONFLICT DO NOTHING
"""

_LOCK = 0x64697363  # any number, the same for all collectors that share a database
_AT_ONCE = 500


NONE: frozenset[int] = frozenset()


class Batch(NamedTuple):
    """The reports of one request, one after another."""

    campaign_id: int
    nonces: Sequence[bytes]
    bits: Sequence[bytes]


class Stored(NamedTuple):
    """What became of some batches."""

    new: int
    """How many reports were not there before."""
    conflicts: list[frozenset[int]]
    """For each batch, the positions of the reports whose nonce is there with other bits."""


def lock(connection: Connection) -> None:
    """Reports get their numbers in the order in which they are committed: a window is a range of numbers, and a report
    that turned up inside a closed range would never be trained on. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def insert_batches(connection: Connection, batches: Sequence[Batch], minute: int) -> Stored:
    """Insert all reports. One with a known nonce is left out: the same bits count as stored."""
    of_campaign: dict[int, list[int]] = {}
    for i, batch in enumerate(batches):
        of_campaign.setdefault(batch.campaign_id, []).append(i)
    new, conflicts = 0, [NONE] * len(batches)
    for campaign_id, members in of_campaign.items():
        pairs = [pair for i in members for pair in zip(batches[i].nonces, batches[i].bits, strict=True)]
        added = _insert(connection, campaign_id, pairs, minute)
        new += added
        if added < len(pairs):
            there = _stored_bits(connection, campaign_id, [nonce for nonce, _ in pairs])
            for i in members:
                sent = zip(batches[i].nonces, batches[i].bits, strict=True)
                conflicts[i] = frozenset(j for j, (nonce, body) in enumerate(sent) if there.get(nonce) != body)
    return Stored(new, conflicts)


def _insert(connection: Connection, campaign_id: int, pairs: list[tuple[bytes, bytes]], minute: int) -> int:
    """Returns how many of the (nonce, bits) were new."""
    # In the order of their nonces, which are random: the index is written in one pass, and the order of a list is lost.
    ordered = sorted(pairs)
    keys, bodies = [nonce for nonce, _ in ordered], [body for _, body in ordered]
    if connection.dialect.name == "sqlite":
        values = (len(pairs), campaign_id, b"".join(keys), b"".join(bodies), len(bodies[0]), minute)
        return connection.exec_driver_sql(_SQLITE, values).rowcount
    return connection.exec_driver_sql(_POSTGRESQL, (campaign_id, minute, keys, bodies)).rowcount


def _stored_bits(connection: Connection, campaign_id: int, nonces: list[bytes]) -> dict[bytes, bytes]:
    there: dict[bytes, bytes] = {}
    columns = schema.reports.c
    for first in range(0, len(nonces), _AT_ONCE):
        some = nonces[first : first + _AT_ONCE]
        query = select(columns.nonce, columns.bits).where(columns.campaign_id == campaign_id, columns.nonce.in_(some))
        there |= {bytes(nonce): bytes(body) for nonce, body in connection.execute(query)}
    return there
