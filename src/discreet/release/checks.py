"""What a field of a Release may hold: checked when it is made, and so when it is loaded from anybody's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet._errors import InputError
from discreet._types import AnyArray, FloatArray

ROW_SUM_TOLERANCE = 1e-9


def floats(values: Any, dimensions: int, name: str) -> FloatArray:
    """A private, read-only float64 copy."""
    try:
        array: FloatArray = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; found {type(values).__name__}.") from None
    if array.ndim != dimensions or not array.size:
        raise InputError(f"{name} must have {dimensions} dimensions and not be empty; found shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; found {_first(array, ~np.isfinite(array))}.")
    array.setflags(write=False)
    return array


def positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < np.inf:
        raise InputError(f"{name} must be a positive number; found {value!r}.")
    return float(value)


def not_negative(values: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    array = floats(values, len(shape), name)
    if array.shape != shape or (array < 0).any():
        raise InputError(f"{name} must be of shape {shape} and not negative; found {array.shape}, {array.min():.3g}.")
    return array


def check_topics(topics: FloatArray) -> None:
    if (topics < 0).any():
        raise InputError(f"topics must not be negative; found {_first(topics, topics < 0)}.")
    sums = topics.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        raise InputError(f"each topic must sum to 1; topic {worst} sums to {sums[worst]:.9g}.")


def check_words(vocabulary: Sequence[str], n_columns: int) -> None:
    if len(vocabulary) != n_columns:
        raise InputError(f"the vocabulary has {len(vocabulary):,} words but the topics {n_columns:,} columns.")
    seen: set[str] = set()
    for word in vocabulary:
        if not isinstance(word, str):
            raise InputError(f"the vocabulary must hold words; found {word!r}.")
        if word in seen:
            raise InputError(f"the vocabulary holds {word!r} more than once. Each word needs its own column.")
        seen.add(word)
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(f"the word {word!r} cannot be written as UTF-8. Leave it out of the vocabulary.") from None


def check_lists(history: dict[str, Any], versions: dict[str, Any], ledger: list[Any]) -> None:
    for name, values in history.items():
        if not isinstance(values, list) or not all(type(v) in (int, float) for v in values):
            raise InputError(f"history[{name!r}] must be a list of numbers.")
    if not all(isinstance(text, str) for text in versions.values()):
        raise InputError(f"versions must be texts; found {versions}.")
    if not all(isinstance(entry, dict) for entry in ledger):
        raise InputError("each entry of the ledger must be a dictionary.")


def json_values(value: Any, kind: type, name: str) -> Any:
    """A deep copy made of JSON values only, so that what is kept is what can be saved."""
    if not isinstance(value, kind if kind is list else Mapping):
        raise InputError(f"{name} must be a {kind.__name__}; found {type(value).__name__}.")

    def unwrap(other: object) -> Any:
        if isinstance(other, np.generic | np.ndarray):
            return other.tolist()
        raise TypeError(f"{type(other).__name__} is not a JSON value")

    try:
        return json.loads(json.dumps(value, default=unwrap, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} must hold JSON values only: {error}.") from None


def _first(array: AnyArray, where: AnyArray) -> str:
    place = tuple(int(i) for i in np.argwhere(where)[0])
    return f"{array[place]} at {place}"
