"""Every error that discreet raises on purpose.

    DiscreetError
    ├── InputError          (ValueError)         a file, matrix or argument that cannot be used
    │   └── DataNotFound    (FileNotFoundError)  a file or data set that is not here
    ├── ReleaseError        (ValueError)         a folder that is not a release, or a damaged one
    ├── BudgetExceeded      (ValueError)         a charge exceeds what is left of the budget
    ├── Overdrawn           (RuntimeError)       noise was requested that no ledger was charged for
    ├── SelfTestFailed      (RuntimeError)       compiled code does not compute what its source says
    └── WouldLeak           (ValueError)         a request that would reveal private data

A message is one line that says what is wrong, what was found, and what to do next. The command line prints it and
exits with code 2; nothing has been written and no budget spent, unless the message says that it was.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_HOME = str(Path(__file__).parent)


def warn_caller(message: str) -> None:
    """Warn at the line that called this package, however deep in it the reason was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def counted(n: float, noun: str) -> str:
    """For messages: 1 word, 2,000 words."""
    return f"{n:,.0f} {noun}{'' if n == 1 else 's'}"


def either(choices: Iterable[str]) -> str:
    """For messages: .html, .csv or .json."""
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


class DiscreetError(Exception):
    """Base of all errors below."""


class InputError(DiscreetError, ValueError):
    """A file, matrix or argument that cannot be used."""


class DataNotFound(InputError, FileNotFoundError):
    """A file or a named data set that is not on this machine."""

    def __str__(self) -> str:  # FileNotFoundError would format (errno, strerror) pairs
        return str(self.args[0]) if self.args else ""


class ReleaseError(DiscreetError, ValueError):
    """A folder that is not a release, or a damaged one."""


class BudgetExceeded(DiscreetError, ValueError):
    """A charge exceeds what is left of the budget; nothing was charged and no noise was drawn.

    ``entry`` is the charge that was refused (for a plan, its first entry), ``spent`` what had been spent before it and
    ``budget`` the limit, so that a caller can decide without parsing text.
    """

    def __init__(self, message: str, *, entry: Any, spent: Any, budget: Any) -> None:
        super().__init__(message)
        self.entry, self.spent, self.budget = entry, spent, budget

    def __reduce__(self) -> tuple[Any, ...]:  # so that it can be pickled, as when a worker process returns it
        return _budget_exceeded, (str(self), self.entry, self.spent, self.budget)


def _budget_exceeded(message: str, entry: Any, spent: Any, budget: Any) -> BudgetExceeded:
    return BudgetExceeded(message, entry=entry, spent=spent, budget=budget)


class Overdrawn(DiscreetError, RuntimeError):
    """Noise was requested that no ledger was charged for: a programming error, caught before the draw."""


class SelfTestFailed(DiscreetError, RuntimeError):
    """Compiled code gave a wrong answer to a known question; no guarantee would hold, and nothing was charged."""


class WouldLeak(DiscreetError, ValueError):
    """A request that would reveal private data; the message names a private alternative."""
