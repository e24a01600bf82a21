"""What every test starts with."""

from __future__ import annotations

import pytest

from discreet.training import own_ledger


@pytest.fixture(autouse=True)
def no_earlier_fits() -> None:
    """Guarantees count the private fits of a process, and all tests run in one."""
    own_ledger._RUNS.clear()
