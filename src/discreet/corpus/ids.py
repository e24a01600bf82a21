"""User ids: one place decides what identifies a user, for every kind of input.

A private model protects one user at a time. Two people with one id change a release by more than was charged for one of
them, and so does one person with two ids. So ids keep their own type, a missing id is refused in every spelling that
readers give it, and so is an id that may have merged two users before it was passed in.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Set, Sized
from numbers import Integral
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, IntArray

LONGEST_ID = 1_000
"""Characters of a group, collection or label. A longer value means that a text column was named by mistake."""

MISSING = frozenset(
    {"", "nan", "-nan", "none", "null", "(null)", "nil", "na", "<na>", "n/a", "#n/a", "#na", "#n/a n/a", "nat"}
    | {"\\n", "undefined", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "#null!", "#value!", "#ref!"}
    | {"[null]", "<null>", "<nil>", "<none>", "(none)", "(blank)"}
)
"""What pandas, numpy, spreadsheets, databases and programs write where there is no value, in small letters.

Placeholder names (``unknown``, ``anonymous``, ``[deleted]``) cannot be distinguished from ids."""

_MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # of pandas and numpy, without importing them
_WHOLE_BITS = {"float16": 11, "halffloat": 11, "float32": 24, "float": 24}
"""These floats hold each whole number below 2 to this power; others below 2^53. (``float`` is Arrow's name for 32
bits.)"""
_WHOLE_FLOAT = re.compile(r"([+-]?\d+)[.,]0*")
_EXPONENT = re.compile(r"[+-]?(\d+[.,]\d*e[+-]?\d+|\d+e\+\d+|\de\d\d)", re.IGNORECASE)
"""How programs write floats. Other digits with an ``e``, such as ``1234e567``, are more often a hash than a number."""


def is_missing(value: Any) -> bool:
    """Whether a reader says that there is no value: None, NaN, NA, NaT or masked. A string is a value."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in _MISSING_TYPES


class IdReader:
    """Reads user ids one by one and remembers them, so that no user appears in two spellings."""

    def __init__(self, whole_bits: int = 53) -> None:
        self._bits = whole_bits
        self._read: dict[str | int, str | int] = {}
        self._spelled: dict[str, str | int] = {}

    def __call__(self, value: Any) -> str | int:
        """The id: a whole number, or a string in Unicode's composed form (NFC) without blanks at its ends."""
        plain = type(value) is str or type(value) is int
        if plain and (known := self._read.get(value)) is not None:
            return known
        one = self.parsed(value)
        if self._spelled.setdefault(str(one).removesuffix(".0"), one) != one:
            raise InputError(
                "the user id is the same number as an earlier one in another spelling (such as 1, '1' and '1.0'), "
                "which may be one user or two. Write all ids in one way."
            )
        if plain:
            self._read[value] = one
        return one

    def parsed(self, value: Any) -> str | int:
        """The id by itself, without a look at others."""
        if isinstance(value, str):
            visible = "".join(c for c in value if unicodedata.category(c) != "Cf")  # no zero-width characters
            one = unicodedata.normalize("NFC", visible).strip()
            if one.casefold() in MISSING:
                raise _missing(repr(one))
            if len(value) > LONGEST_ID:
                raise InputError(
                    f"a user id (group) has {len(value):,} characters. Is this the column of text? Name another."
                )
            _check_spelled_float(one)
            return one
        if is_missing(value):
            raise _missing("nan" if isinstance(value, float | np.floating) else str(value))
        if isinstance(value, float | np.floating) and float(value).is_integer():
            bits = self._bits if isinstance(value, float) else _WHOLE_BITS.get(value.dtype.name, 53)
            if abs(value) >= 2**bits:
                raise InputError(
                    f"a user id (group) is a float at or beyond 2^{bits}, where two users get the same number. "
                    "Read the ids as integers or as strings."
                )
            return int(value)
        if isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
        raise InputError(
            f"a user id (group) must be a string or a whole number; found a value of type {type(value).__name__}. "
            "Turn the ids into strings."
        )


def user_ids(given: Any) -> AnyArray:
    """One id for each document, as integers or as objects; an error names the first row without an id."""
    if (
        isinstance(given, str | bytes | Mapping | Set)
        or not (isinstance(given, Iterable) and isinstance(given, Sized))
        or getattr(given, "ndim", 1) != 1
    ):
        raise InputError(
            f"groups must hold exactly one user id for each document; found {type(given).__name__}. Pass a list or one "
            "column, in the order of the documents."
        )
    masked = isinstance(given, np.ma.MaskedArray)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and not masked:
        return given.copy()
    dtype = getattr(given, "dtype", "")
    name = dtype.name if isinstance(dtype, np.dtype) else str(dtype).lower().removesuffix("[pyarrow]")
    read = IdReader(_WHOLE_BITS.get(name, 53))
    ids: list[str | int] = []
    for row, value in enumerate(given.tolist() if isinstance(given, np.ndarray) and not masked else given):
        try:
            ids.append(read(value))
        except InputError as error:
            raise InputError(f"groups, row {row} (the first is row 0): {error}") from None
    return id_array(ids)


def id_array(ids: list[str | int]) -> AnyArray:
    """Integers where all are, objects otherwise: a numpy array of strings would turn 7 into '7'."""
    if ids and all(type(one) is int and -(2**63) <= one < 2**63 for one in ids):
        return np.array(ids, np.int64)
    out = np.empty(len(ids), object)
    out[:] = ids
    return out


def numbered(ids: AnyArray | None) -> IntArray | None:
    """A number for each different id, from 0 in the order of appearance; None where there are no ids."""
    if ids is None:
        return None
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in ids.tolist()], np.int64)


def _check_spelled_float(one: str) -> None:
    """Refuse text that was a float before it was written: its digits may be those of several users."""
    whole = _WHOLE_FLOAT.fullmatch(one)
    if _EXPONENT.fullmatch(one) or (whole and abs(int(whole[1])) >= 2**53):
        raise InputError(
            "a user id (group) was written as a float too large to keep all digits, so two users get the same number. "
            "Read the ids as integers or as strings from a source that has all digits, and write them again."
        )


def _missing(found: str) -> InputError:
    return InputError(
        f"the user id is missing (found {found}), and documents without one would all count as one user's. Give each "
        "of them an id of its own, or leave them out."
    )
