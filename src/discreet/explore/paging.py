"""Addresses with numbers in them: what a request asks for, and links to the pages before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

LONGEST_NUMBER = 12


def number(text: str | None, below: int, default: int | None = None) -> int:
    """A whole number from 0, below a limit. Anything else is a page that is not there."""
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or len(text) > LONGEST_NUMBER or int(text) >= below:
        raise HTTPException(404)
    return int(text)


def place(request: Request, total: int, default: int = 0) -> int:
    """Where a list shall start. People may also name the place, from 1, in a form; one beyond the end is the last."""
    asked = request.query_params.get("place")
    if asked is not None:
        digits = asked.strip().replace(",", "")
        if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER:
            return min(max(1, int(digits)), max(1, total)) - 1
        raise HTTPException(404)
    return number(request.query_params.get("first"), max(1, total), default)


@dataclass(frozen=True)
class Pager:
    """A part of a list, and the links to its other parts."""

    first: int
    size: int
    total: int
    path: str
    query: dict[str, str | int]
    """What the links keep."""

    @property
    def end(self) -> int:
        return min(self.first + self.size, self.total)

    def at(self, first: int) -> str:
        return f"{self.path}?{urlencode({**self.query, 'first': first})}"

    @property
    def before(self) -> str | None:
        return self.at(max(0, self.first - self.size)) if self.first > 0 else None

    @property
    def after(self) -> str | None:
        return self.at(self.end) if self.end < self.total else None

    @property
    def start(self) -> str:
        return self.at(0)

    @property
    def last(self) -> str:
        return self.at((self.total - 1) // self.size * self.size if self.total else 0)
