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


def column_names(names: Iterable[Any]) -> str:
    """The columns that a file has. What is too long for a name is counted: it may be the first document."""
    found = [str(name) for name in names]
    listed = [shown(name) for name in found if len(name) <= LONGEST_NAME and len(name.split()) <= MOST_WORDS]
    parts = listed[:LISTED] + (["…"] if len(listed) > LISTED else [])
    if len(found) > len(listed):
        parts.append(f"{len(found) - len(listed)} with text in place of a name")
    return ", ".join(parts) or "none"
