"""What the tests of commands share."""

from __future__ import annotations

import pytest

from discreet.cli import main
from tests.support.command import Ran, Run


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def call(*arguments: object) -> Ran:
        code = main([str(a) for a in arguments])
        return Ran(code, *capfd.readouterr())

    return call
