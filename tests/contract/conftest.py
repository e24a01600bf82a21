"""What the tests of commands share."""

from __future__ import annotations

import pytest
from command import Ran, Run

from discreet.cli import main


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def call(*arguments: object) -> Ran:
        code = main([str(a) for a in arguments])
        return Ran(code, *capfd.readouterr())

    return call
