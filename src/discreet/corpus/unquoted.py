"""What a message says about a value that was read: what it is, and not what it holds.

Messages are kept where nobody looks for private text: in logs of jobs, in mails to those who help, in reports of CI. So
they name the place, which is enough to find the value, and its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from discreet._errors import counted
from discreet.corpus.lines import shown

LONGEST_NAME, MOST_WORDS = 30, 4
"""Characters and words of what may be the name of a column. More are text: a file without a header begins with it."""
LISTED = 12
"""Names of columns in a message."""

_VALUE = re.compile(r".*@.*|[\d\s.,:/()+-]{4,}")
"""An address, or a date or another long number: what a file without a header has in its first row."""

_YEAR = re.compile(r"[12]\d{3}")
"""Classes are often years; as the name of a column it would be a value."""

_NUMBERS = re.compile(rb"[\d\s.+-]{0,40}")


def kind_of(value: Any) -> str:
    """A value of JSON, Parquet or Python."""
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else "true or false"
    if isinstance(value, str):
        return f"a string of {counted(len(value), 'character')}"
    if isinstance(value, list | tuple):
        return f"a list of {counted(len(value), 'item')}"
    if isinstance(value, dict):
        return "an object (dict)"
    if isinstance(value, Real):
        return "a whole number" if isinstance(value, Integral) else "a number"
    return f"a value of type {type(value).__name__}"


def as_numbers(raw: bytes) -> str:
    """A piece of a file of numbers as it is; anything else may be text."""
    found = raw.strip()
    return repr(found.decode()) if _NUMBERS.fullmatch(found) else "text"


def is_name(value: Any) -> bool:
    """Whether it may be the name of a column or of a class, and not a text or what identifies somebody."""
    text = str(value)
    return len(text) <= LONGEST_NAME and len(text.split()) <= MOST_WORDS and not _VALUE.fullmatch(text)


def name_or_kind(value: Any) -> str:
    """A class that a message must name; of a text that stands in its place, the kind."""
    return repr(value) if is_name(value) or _YEAR.fullmatch(str(value)) else kind_of(value)


def listed_names(names: Iterable[Any]) -> list[str]:
    """The columns that a message may name: all, or none if one of them cannot be a name. Then the file has no header,
    and beside a text lie the words and the ids of its author, which may be as short as names."""
    found = [str(name) for name in names]
    return found if all(map(is_name, found)) else []


def column_names(names: Iterable[Any]) -> str:
    """The columns that a file has. Where one of them cannot be a name they are counted."""
    found = [str(name) for name in names]
    if not (listed := listed_names(found)):
        return f"{len(found)} with text in place of names" if found else "none"
    return ", ".join([*map(shown, listed[:LISTED]), *(["…"] if len(listed) > LISTED else [])])
