"""Windows: ranges of a campaign's reports that are trained on together.

The training process closes them, never the service, so taking reports waits for nothing. Reports are numbered in the
order of their commits; a window is the reports after the last window's, up to a number.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from discreet.collector.campaign import DAY
from discreet.collector.store import schema
from discreet.collector.store.store import Store, StoredCampaign

_REPORTS, _WINDOWS = schema.reports.c, schema.windows.c


class Window(NamedTuple):
    """Reports numbered ``after_id`` + 1 to ``last_id``, those of other campaigns left out."""

    number: int
    after_id: int
    last_id: int
    n_reports: int


class Counts(NamedTuple):
    """How far a campaign is."""

    received: int
    """All reports that ever arrived, deleted ones too."""
    trained: int
    windows_trained: int


def close_windows(store: Store, of: StoredCampaign, most: int = 1_000) -> int:
    """Close every window that is full or old enough. Returns how many were closed."""
    for n in range(most):
        with store.reading() as connection:
            window = _next(connection, of, store.clock())
        if window is None:
            return n
        with store.writing() as connection:
            connection.execute(
                insert(schema.windows).values(
                    campaign_id=of.id,
                    window=window.number,
                    after_id=window.after_id,
                    last_id=window.last_id,
                    n_reports=window.n_reports,
                    closed=int(store.clock()),
                )
            )
    return most


def _next(connection: Connection, of: StoredCampaign, now: float) -> Window | None:
    after, number = _last(connection, of.id)
    size = of.campaign.window_reports
    waiting = select(_REPORTS.id).where(_REPORTS.campaign_id == of.id, _REPORTS.id > after).order_by(_REPORTS.id)
    full = connection.execute(waiting.offset(size - 1).limit(1)).scalar()
    if full is not None:
        return Window(number + 1, after, int(full), size)
    seconds = of.campaign.window_seconds
    if seconds is None and not of.ended:
        return None
    first, last, n = connection.execute(
        select(func.min(_REPORTS.minute), func.max(_REPORTS.id), func.count()).where(
            _REPORTS.campaign_id == of.id, _REPORTS.id > after
        )
    ).one()
    if n < of.campaign.min_reports:
        return None
    old = seconds is not None and now >= 60 * first + seconds
    return Window(number + 1, after, int(last), int(n)) if old or of.ended else None


def _last(connection: Connection, campaign_id: int) -> tuple[int, int]:
    """Where the last closed window ends, and its number."""
    last, number = connection.execute(
        select(func.max(_WINDOWS.last_id), func.max(_WINDOWS.window)).where(_WINDOWS.campaign_id == campaign_id)
    ).one()
    return int(last or 0), int(number or 0)


def untrained(store: Store, campaign_id: int) -> list[Window]:
    """Closed windows that wait for training, the oldest first."""
    query = (
        select(_WINDOWS.window, _WINDOWS.after_id, _WINDOWS.last_id, _WINDOWS.n_reports)
        .where(_WINDOWS.campaign_id == campaign_id, _WINDOWS.trained.is_(None))
        .order_by(_WINDOWS.window)
    )
    with store.reading() as connection:
        return [Window(*row) for row in connection.execute(query)]


def mark_trained(store: Store, campaign_id: int, number: int) -> None:
    with store.writing() as connection:
        connection.execute(
            update(schema.windows)
            .where(_WINDOWS.campaign_id == campaign_id, _WINDOWS.window == number)
            .values(trained=int(store.clock()))
        )


def counts(store: Store, campaign_id: int) -> Counts:
    with store.reading() as connection:
        of_campaign = _WINDOWS.campaign_id == campaign_id
        total, newest = func.coalesce(func.sum(_WINDOWS.n_reports), 0), func.coalesce(func.max(_WINDOWS.window), 0)
        closed = connection.execute(select(total).where(of_campaign)).scalar_one()
        trained, number = connection.execute(
            select(total, newest).where(of_campaign, _WINDOWS.trained.is_not(None))
        ).one()
        last, _ = _last(connection, campaign_id)
        waiting = connection.execute(
            select(func.count()).where(_REPORTS.campaign_id == campaign_id, _REPORTS.id > last)
        ).scalar_one()
    return Counts(int(closed) + int(waiting), int(trained), int(number))


def delete_old(store: Store, of: StoredCampaign, limit: int = 10_000) -> int:
    """Delete reports that were trained on and are older than the campaign keeps them. Returns how many.

    Looks at the first reports only, for a campaign may have millions. Their minutes rise with their numbers; if the
    clock was set back, reports wait for those before them.
    """
    with store.reading() as connection:
        first_open = connection.execute(
            select(func.min(_WINDOWS.window)).where(_WINDOWS.campaign_id == of.id, _WINDOWS.trained.is_(None))
        ).scalar()
        done = _WINDOWS.campaign_id == of.id
        if first_open is not None:
            done = done & (_WINDOWS.window < first_open)
        last = connection.execute(select(func.max(_WINDOWS.last_id)).where(done)).scalar()
    if last is None:
        return 0
    before = (int(store.clock()) - of.campaign.retention_days * DAY) // 60
    with store.reading() as connection:  # takes no lock of a writer when there is nothing to delete, as usual
        oldest = connection.execute(
            select(_REPORTS.minute).where(_REPORTS.campaign_id == of.id).order_by(_REPORTS.id).limit(1)
        ).scalar()
    if oldest is None or oldest >= before:
        return 0
    return store.delete_reports(of.id, int(last), before, limit)


def window_folder(models: Path, name: str, window: int) -> Path:
    """Where the release of a window lies."""
    return models / name / f"window-{window:06d}"
