"""What the tests of private models share: noise that is counted, and refusals that must cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import _patch, patch

import pytest

from discreet._errors import InputError
from discreet.mechanisms import release
from discreet.privacy import Budget, Ledger

hopeless = pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
"""Tests are fast because their corpora are tiny, and the model says what it thinks of that."""


def drawn() -> _patch[Any]:
    """Counts the calls that draw noise."""
    return patch.object(release, "add_discrete_gaussian", wraps=release.add_discrete_gaussian)


def check_refusal(fit: Callable[[Ledger], Any], named: Iterable[str]) -> None:
    """``fit``, given a ledger, must fail with one line that names one of ``named``; nothing is charged or drawn."""
    ledger = Ledger(Budget(5.0, 1e-5))
    with drawn() as noise, pytest.raises(InputError) as error:
        fit(ledger)
    assert "\n" not in str(error.value)
    assert any(name in str(error.value) for name in named)
    assert (ledger.entries, noise.call_count) == ((), 0)
