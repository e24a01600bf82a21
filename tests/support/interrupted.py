"""What the tests of checkpoints share: runs that end too early, by a callback or by kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from discreet import BudgetFile


class Stop(Exception):
    """A run that was interrupted."""


def interrupted_at(number: int) -> list[Any]:
    """Callbacks that end a fit after this round."""

    def callback(info: Any) -> None:
        if info.sweep == number:
            raise Stop

    return [callback]


def in_python(script: str) -> dict[str, Any]:
    """A process of its own, which can import the tests."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return {"args": [sys.executable, "-c", script], "env": {**os.environ, "PYTHONPATH": path}}


def killed(script: str, budget: BudgetFile, *, charges: int, pause: float) -> None:
    """Run Python in a process of its own and kill it ``pause`` seconds after it has charged ``budget`` so often."""
    seen = len(budget.charges())
    child = subprocess.Popen(**in_python(script), stderr=subprocess.DEVNULL)
    while len(budget.charges()) < seen + charges and child.poll() is None:
        time.sleep(0.02)
    time.sleep(pause)
    child.send_signal(signal.SIGKILL)
    child.wait()


def finished(script: str) -> None:
    """Run it to its end."""
    subprocess.run(**in_python(script), check=True, stderr=subprocess.DEVNULL)
