"""Slices of documents, and which slice a document is in: periods of the calendar, or classes of a list.

A slice is public: it was named without looking at the documents, and it is there whether or not a document is in it.
Which slice a document is in is private, like its words. So no message here repeats a date or a class of a document, or
says how many cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set, Sized
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet._errors import InputError, WouldLeak
from discreet._types import IntArray
from discreet.corpus.ids import is_missing

PERIODS = ("year", "quarter", "month", "week", "day")
CLASS = "class"
"""What `by` may be, besides the periods."""

OUTSIDE, UNREADABLE = -1, -2
"""The place of a document in no slice, and of one whose date cannot be read."""

MOST_SLICES = 10_000

_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T\s].*)?", re.DOTALL)
_MONTH = re.compile(r"(\d{4})[-/.](\d{1,2})")
_QUARTER = re.compile(r"(\d{4})[-/.]?\s?Q([1-4])", re.IGNORECASE)
_WEEK = re.compile(r"(\d{4})-?W(\d{2})", re.IGNORECASE)
_YEAR = re.compile(r"(\d{4})(?:\.0)?")  # a column of years with gaps is read as floats

Span = tuple[date, date]
"""The first and the last day that a date may mean: 2015 is a year of days."""


@dataclass(frozen=True)
class Periods:
    """Years, quarters, months, ISO weeks or days: all that have a day from ``start`` to ``end``, each whole.

    Bounds are dates, or text such as 2015, 2015-Q2, 2015-03, 2015-W07 or 2015-03-17. A document's date may be a date of
    Python, numpy or pandas, or text that starts like these, with any time after the day, which is read as written (no
    time zone is converted); with ``date_format``, text of that form (as in ``datetime.strptime``). A date that may mean
    days of two periods (2015, by month) cannot be read.
    """

    by: str
    start: Any
    end: Any
    date_format: str | None = None

    def __post_init__(self) -> None:
        if self.by not in PERIODS:
            raise InputError(f"by={self.by!r} is none of {', '.join(PERIODS)} or {CLASS}. Choose one of them.")
        if self.start is None or self.end is None:
            raise WouldLeak(
                "the first and the last date of the documents are private, so the periods cannot be read from them. "
                "Name public bounds: start= and end=, such as start='2015', end='2020'."
            )
        first, last = _bound(self.start, "start")[0], _bound(self.end, "end")[1]
        if first > last:
            raise InputError(f"start={self.start} lies after end={self.end}. Exchange them.")
        if (last - first).days / _SHORTEST[self.by] > MOST_SLICES:
            raise InputError(
                f"start={self.start} to end={self.end} are more than {MOST_SLICES:,} slices by {self.by}. Choose "
                "longer periods, or other bounds."
            )

    @cached_property
    def edges(self) -> tuple[date, ...]:
        """The first day of each period, and the day after the last."""
        first, last = _bound(self.start, "start")[0], _bound(self.end, "end")[1]
        edges = [_begin(first, self.by)]
        while edges[-1] <= last:
            edges.append(_next(edges[-1], self.by))
        return tuple(edges)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(_name(day, self.by) for day in self.edges[:-1])

    @property
    def condition(self) -> str:
        """What a guarantee must assume."""
        return (
            f"the slices were chosen without looking at the documents (each {self.by} from {self.names[0]} to "
            f"{self.names[-1]})"
        )

    @property
    def span(self) -> str:
        """The slices in words."""
        return f"the periods from {self.names[0]} to {self.names[-1]}"

    @property
    def unreadable(self) -> str:
        """What to say where most documents have no date that can be read."""
        how = "like 2015-03-17" if self.date_format is None else f"by date_format={self.date_format!r}"
        return (
            f"the dates of most documents cannot be read {how}, or do not say the {self.by}. Name the column of dates, "
            "write them as year-month-day, or say how they are written (date_format=). Nothing was charged."
        )

    def plain(self, value: Any) -> str:
        """A document's date as text, empty where it cannot be read: what a reader of files keeps."""
        span = self._span(value)
        return "" if span is None else f"{span[0]}/{span[1]}"

    def place(self, value: Any) -> int:
        """The number of the slice, `OUTSIDE` or `UNREADABLE`."""
        span = self._span(value)
        if span is None:
            return UNREADABLE
        first, last = (int(np.searchsorted(self._days, day.toordinal(), "right")) - 1 for day in span)
        if first != last:
            return UNREADABLE
        return first if first < len(self._days) - 1 else OUTSIDE

    @cached_property
    def _days(self) -> IntArray:
        return np.array([day.toordinal() for day in self.edges])

    def _span(self, value: Any) -> Span | None:
        """The days that a document's date may mean; None where it cannot be read."""
        if self.date_format is None or not isinstance(value, str) or _SPAN.fullmatch(value):
            return _span(value)
        try:
            day = datetime.strptime(value.strip(), self.date_format).date()
        except Exception:  # of whatever kind: its message would repeat the date
            return None
        return day, day


@dataclass(frozen=True)
class Classes:
    """The classes of a public list. A document of another class, or without one, is in no slice."""

    classes: tuple[str, ...]
    by: ClassVar[str] = CLASS
    span: ClassVar[str] = "the classes that were named"
    unreadable: ClassVar[str] = "the classes of most documents cannot be read."  # any value is another class

    @classmethod
    def of(cls, given: Any) -> Classes:
        if given is None:
            raise WouldLeak(
                "the classes of the documents are private, so their list cannot be read from them. Name those to be "
                "counted, from a public list (classes=)."
            )
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise InputError(f"classes= takes a list of names; found a {type(given).__name__}.")
        names = tuple(_class_name(one) for one in given)
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if not names or "" in names or twice is not None:
            raise InputError(
                "classes= must name each class once"
                + (f"; found {twice!r} twice." if twice else ", and no name may be empty.")
            )
        if len(names) > MOST_SLICES:
            raise InputError(f"classes= has {len(names):,} names; at most {MOST_SLICES:,} can be compared.")
        return cls(names)

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes

    @property
    def condition(self) -> str:
        return f"the list of {len(self.classes)} classes was chosen without looking at the documents"

    def plain(self, value: Any) -> str:
        return name if (name := _class_name(value)) in self._places else ""

    def place(self, value: Any) -> int:
        return self._places.get(_class_name(value), OUTSIDE)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}


Slices: TypeAlias = Periods | Classes
"""The slices of one run: their names in order, and the place of a document among them."""


def slices_of(by: str, start: Any, end: Any, classes: Any, date_format: str | None) -> Slices:
    """What the parameters of a run say."""
    if by == CLASS:
        if start is not None or end is not None or date_format is not None:
            raise InputError("start=, end= and date_format= are for dates, and by='class' has none. Leave them out.")
        return Classes.of(classes)
    if classes is not None:
        raise InputError(f"classes= is for by='class', and by={by!r} takes dates. Leave one of them out.")
    return Periods(by, start, end, date_format)


def places_of(slices: Slices, values: Any, n_documents: int) -> IntArray:
    """The place of each document. A message must not say how many documents there are: logs may keep it."""
    wrong = isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable | Sized)
    found: list[Any] = [] if wrong else _listed(values)
    if wrong or len(found) != n_documents:
        what = "class" if slices.by == CLASS else "date"
        raise InputError(f"y must hold exactly one {what} for each document. Pass one value for each row, in order.")
    known: dict[tuple[type, Any], int] = {}
    places = np.empty(len(found), np.int64)
    for i, value in enumerate(found):
        key = (type(value), value)
        try:
            place = known.get(key)
            if place is None:
                place = known[key] = slices.place(value)  # [place]
        except TypeError:  # not hashable, so neither a date nor a class
            place = UNREADABLE
        places[i] = place
    return places


def _listed(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            return []
        if values.dtype.kind == "M":
            return list(values.astype("datetime64[D]").tolist())  # else a list of nanoseconds
        return list(values.tolist())
    return list(values)


# --- dates ------------------------------------------------------------------------------------------------------------

_SHORTEST = {"year": 365, "quarter": 90, "month": 28, "week": 7, "day": 1}
_SPAN = re.compile(r"(\d{4}-\d\d-\d\d)/(\d{4}-\d\d-\d\d)")
"""How `Periods.plain` writes the days that a date may mean."""


def _span(value: Any) -> Span | None:
    if is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, date):  # a datetime is one too
        day = value.date() if isinstance(value, datetime) else value
        return day, day
    if isinstance(value, bool) or not isinstance(value, str | int | float | np.integer | np.floating):
        return None
    try:
        text = str(value).strip()  # not of an integer of 5,000 digits
        if found := _SPAN.fullmatch(text):
            return date.fromisoformat(found[1]), date.fromisoformat(found[2])
        if found := _DATE.fullmatch(text):
            day = date(int(found[1]), int(found[2]), int(found[3]))
            return day, day
        if found := _YEAR.fullmatch(text):
            return _whole(date(int(found[1]), 1, 1), "year")
        if found := _MONTH.fullmatch(text):
            return _whole(date(int(found[1]), int(found[2]), 1), "month")
        if found := _QUARTER.fullmatch(text):
            return _whole(date(int(found[1]), 3 * int(found[2]) - 2, 1), "quarter")
        if found := _WEEK.fullmatch(text):
            return _whole(date.fromisocalendar(int(found[1]), int(found[2]), 1), "week")
    except (ValueError, OverflowError):
        return None
    return None


def _bound(value: Any, name: str) -> Span:
    span = _span(value)
    if span is None or not 1 < span[0].year < 9998:
        raise InputError(f"{name}={value!r} cannot be read. Write a date such as 2015, 2015-03 or 2015-03-17.")
    return span


def _whole(day: date, by: str) -> Span:
    begin = _begin(day, by)
    return begin, _next(begin, by) - timedelta(days=1)


def _begin(day: date, by: str) -> date:
    """The first day of its period."""
    if by == "year":
        return day.replace(month=1, day=1)
    if by == "quarter":
        return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    if by == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if by == "week" else day


def _next(begin: date, by: str) -> date:
    """The first day of the next period."""
    if by in ("week", "day"):
        return begin + timedelta(days=7 if by == "week" else 1)
    month = begin.month + {"year": 12, "quarter": 3, "month": 1}[by]
    return begin.replace(year=begin.year + (month > 12), month=(month - 1) % 12 + 1)


def _name(begin: date, by: str) -> str:
    if by == "year":
        return f"{begin.year:04}"
    if by == "quarter":
        return f"{begin.year:04}-Q{(begin.month + 2) // 3}"
    if by == "week":
        year, week, _ = begin.isocalendar()
        return f"{year:04}-W{week:02}"
    return begin.isoformat()[: 7 if by == "month" else 10]


def _class_name(value: Any) -> str:
    """The number 2000 and the text "2000" are one class: JSON and Parquet files have numbers, CSV files only text."""
    if is_missing(value):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    try:
        return str(value).strip() if isinstance(value, str | int | np.integer) else ""
    except ValueError:  # an integer of 5,000 digits
        return ""
