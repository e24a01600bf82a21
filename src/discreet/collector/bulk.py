"""Insert many reports with one statement.

One statement, because Python's SQLite driver takes and gives up the interpreter's lock for each execution: row by row,
a busy event loop would make the writer wait for the lock once per report. All reports of a campaign have the same size,
so SQLite can cut them out of one long value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from discreet.collector import schema

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


class Stored(NamedTuple):
    """What became of a batch."""

    new: int
    """How many reports were not there before."""
    conflicts: frozenset[int] = frozenset()
    """Positions of the reports whose nonce is there with other bits."""


def lock(connection: Connection) -> None:
    """Reports get their numbers in the order in which they are committed: a window is a range of numbers, and a report
    that turned up inside a closed range would never be trained on. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def insert_reports(
    connection: Connection, campaign_id: int, nonces: Sequence[bytes], bits: Sequence[bytes], minute: int
) -> Stored:
    """Insert the reports of one campaign. One with a known nonce is left out: the same bits count as stored."""
    n = len(nonces)
    pairs = list(zip(nonces, bits, strict=True))
    # In the order of their nonces, which are random: the index is written in one pass, and the order of a list is lost.
    ordered = sorted(pairs)
    if connection.dialect.name == "sqlite":
        keys, bodies = b"".join(nonce for nonce, _ in ordered), b"".join(body for _, body in ordered)
        done = connection.exec_driver_sql(_SQLITE, (n, campaign_id, keys, bodies, len(bits[0]), minute))
    else:
        keys_and_bodies = [nonce for nonce, _ in ordered], [body for _, body in ordered]
        done = connection.exec_driver_sql(_POSTGRESQL, (campaign_id, minute, *keys_and_bodies))
    new = done.rowcount
    if new == n:
        return Stored(n)
    there: dict[bytes, bytes] = {}
    columns = schema.reports.c
    for first in range(0, n, _AT_ONCE):
        some = list(nonces[first : first + _AT_ONCE])
        query = select(columns.nonce, columns.bits).where(columns.campaign_id == campaign_id, columns.nonce.in_(some))
        there |= {bytes(nonce): bytes(body) for nonce, body in connection.execute(query)}
    return Stored(new, frozenset(i for i, (nonce, body) in enumerate(pairs) if there.get(nonce) != body))
