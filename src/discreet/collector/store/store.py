"""Store: campaigns, tokens and reports in a database.

Everything here waits for the database, so the service calls it in threads. What happens to a window of reports is in
``windows.py``; how many requests share one transaction, in ``writer.py``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from discreet._errors import DiscreetError, InputError
from discreet.collector.campaign import Campaign
from discreet.collector.store import bulk, engine, schema
from discreet.collector.store.checkpoint import Log
from discreet.collector.store.place import Place
from discreet.collector.store.tokens import Token


class Unavailable(DiscreetError, RuntimeError):
    """The database cannot be reached or cannot write now. Nothing was acknowledged; try again later."""


class Exists(InputError):
    """A campaign of this name is there already."""


class StoredCampaign(NamedTuple):
    id: int
    campaign: Campaign
    ended: bool


class Store:
    """A database of reports. ``clock`` gives the time in seconds; tests turn it."""

    def __init__(self, url: str, *, create: bool = False, clock: Callable[[], float] = time.time) -> None:
        self.url = engine.parsed(url)
        self.clock = clock
        path = engine.sqlite_path(self.url)
        if path is not None and create and not path.exists():
            engine.create_file(path)
        self.place, self.log = Place(path), Log(path)
        self.engine = engine.open_engine(self.url)
        self._writer: Connection | None = None
        with self._errors():
            if create:
                self._create()
            self._check_version()

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    def _create(self) -> None:
        with self.engine.connect().execution_options(**engine.WRITES) as connection, connection.begin():
            if not inspect(connection).has_table(schema.about.name):
                schema.metadata.create_all(connection)
                connection.execute(insert(schema.about).values(version=schema.VERSION))

    def _check_version(self) -> None:
        with self.engine.connect() as connection:
            if not inspect(connection).has_table(schema.about.name):
                raise InputError(
                    "this database does not belong to a collector. Start 'discreet collect serve' once to make its "
                    "tables, or check the address."
                )
            found = connection.execute(select(schema.about.c.version)).scalar_one()
        if found != schema.VERSION:
            raise InputError(
                f"the database has version {found} of the collector's tables, and this program knows {schema.VERSION}. "
                "Use the version of discreet that made it."
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Database errors as ours. Their text may hold values or addresses, so only the kind is passed on."""
        try:
            yield
        except IntegrityError:
            raise
        except (SQLAlchemyError, OSError) as error:
            kind = type(getattr(error, "orig", None) or error).__name__
            raise Unavailable(f"the database is not available now ({kind}). Try again later.") from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self._errors():
            self.place.check()
            with self.engine.connect().execution_options(**engine.WRITES) as connection, connection.begin():
                yield connection

    def probe(self) -> None:
        """Raise `Unavailable` if nothing could be read now."""
        if self.place.path is not None and not self.place.path.exists():
            raise Unavailable("the database file is gone.")
        with self.reading() as connection:
            connection.execute(select(schema.about.c.version)).one()

    def close(self) -> None:
        self._drop_writer()
        self.engine.dispose()

    # --- campaigns ---------------------------------------------------------------------------------------------------

    def add_campaign(self, campaign: Campaign) -> StoredCampaign:
        row = insert(schema.campaigns).values(
            name=campaign.name, spec=json.dumps(campaign.to_json()), created=int(self.clock()), ended=False
        )
        try:
            with self.writing() as connection:
                key = connection.execute(row).inserted_primary_key
        except IntegrityError:
            raise Exists(f"there is a campaign {campaign.name!r} already, and campaigns never change.") from None
        assert key is not None
        return StoredCampaign(int(key[0]), campaign, ended=False)

    def campaign(self, name: str, known: StoredCampaign | None = None) -> StoredCampaign | None:
        """``known`` is what this returned before: campaigns never change, so only its end is read again."""
        columns = schema.campaigns.c
        with self.reading() as connection:
            found = connection.execute(select(columns.id, columns.ended).where(columns.name == name)).one_or_none()
            if found is None:
                return None
            if known is not None and known.id == found.id:
                return known._replace(ended=found.ended)
            row = connection.execute(select(schema.campaigns).where(columns.id == found.id)).one()
        return _campaign(row)

    def campaigns(self) -> list[StoredCampaign]:
        with self.reading() as connection:
            return [_campaign(row) for row in connection.execute(select(schema.campaigns).order_by("id"))]

    def end_campaign(self, campaign_id: int) -> None:
        """From now on it takes no reports. Its topics stay."""
        with self.writing() as connection:
            connection.execute(update(schema.campaigns).where(schema.campaigns.c.id == campaign_id).values(ended=True))

    # --- tokens ------------------------------------------------------------------------------------------------------

    def add_token(self, token: Token) -> None:
        with self.writing() as connection:
            connection.execute(insert(schema.tokens).values(**token._asdict(), created=int(self.clock())))

    def token(self, token_id: str) -> Token | None:
        columns = [schema.tokens.c[name] for name in Token._fields]
        with self.reading() as connection:
            row = connection.execute(select(*columns).where(schema.tokens.c.id == token_id)).one_or_none()
        return None if row is None else Token(*row)

    def has_admin(self) -> bool:
        columns = schema.tokens.c
        with self.reading() as connection:
            n = connection.execute(
                select(func.count()).where(columns.campaign_id.is_(None), columns.revoked.is_(False))
            ).scalar_one()
        return bool(n)

    def revoke_token(self, token_id: str) -> bool:
        """Returns whether there is such a token."""
        with self.writing() as connection:
            done = connection.execute(update(schema.tokens).where(schema.tokens.c.id == token_id).values(revoked=True))
        return done.rowcount > 0

    # --- reports -----------------------------------------------------------------------------------------------------

    def insert(self, batches: Sequence[bulk.Batch]) -> bulk.Stored:
        """Store all batches in one transaction. When this returns, they are on disk.

        One connection is kept open for it: only the writer thread calls this.
        """
        try:
            with self._errors():
                self.place.check()
                connection = self._writer
                if connection is None or connection.invalidated:
                    self._drop_writer()
                    connection = self._writer = self.engine.connect().execution_options(**engine.WRITES)
                minute = int(self.clock()) // 60
                with connection.begin():
                    bulk.lock(connection)
                    stored = bulk.insert_batches(connection, batches, minute)
                if self.log.path is not None:
                    driver: Any = connection.connection.driver_connection
                    self.log.after_commit(driver)
                self.place.check(written=True)  # not before this is a commit into a deleted file ruled out
                return stored
        except BaseException:
            self._drop_writer()
            raise

    def _drop_writer(self) -> None:
        connection, self._writer = self._writer, None
        self.place.forget()
        if connection is not None:
            try:
                connection.close()
            except (SQLAlchemyError, OSError):
                connection.invalidate()

    def n_reports(self, campaign_id: int) -> int:
        """How many are in the database now; deleted ones do not count."""
        with self.reading() as connection:
            columns = schema.reports.c
            return int(connection.execute(select(func.count()).where(columns.campaign_id == campaign_id)).scalar_one())

    def bodies(self, campaign_id: int, after_id: int, last_id: int) -> list[bytes]:
        """The bits of the reports numbered after ``after_id``, up to ``last_id``."""
        columns = schema.reports.c
        query = (
            select(columns.bits)
            .where(columns.campaign_id == campaign_id, columns.id > after_id, columns.id <= last_id)
            .order_by(columns.id)
        )
        with self.reading() as connection:
            return [bytes(bits) for bits in connection.execute(query).scalars()]

    def delete_reports(self, campaign_id: int, last_id: int, before_minute: int, limit: int = 10_000) -> int:
        """Of the first ``limit`` reports numbered up to ``last_id``, delete those that arrived before the minute."""
        columns = schema.reports.c
        first = (
            select(columns.id, columns.minute)
            .where(columns.campaign_id == campaign_id, columns.id <= last_id)
            .order_by(columns.id)
            .limit(limit)
            .subquery()
        )
        old = select(first.c.id).where(first.c.minute < before_minute)
        with self.writing() as connection:
            return int(connection.execute(delete(schema.reports).where(columns.id.in_(old))).rowcount)


def _campaign(row: Row[Any]) -> StoredCampaign:
    return StoredCampaign(row.id, Campaign.from_json(json.loads(row.spec)), row.ended)
