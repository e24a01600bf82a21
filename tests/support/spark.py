"""A session of Spark on this machine, tasks that fail and are run again, and broken copies of the engine."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]


def missing() -> str | None:
    """Why there is no Spark here."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed (discreet[spark])"
    return (
        None if shutil.which("java") or os.environ.get("JAVA_HOME") else "Java is not installed (Debian: a JRE of 17)"
    )


def session(master: str = "local[2,4]", **settings: str) -> Any:
    """Two tasks at a time, each of which may fail three times."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(master).appName("tests")
    fixed = {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()


class FailsFirst:
    """A task that does its work and then fails, the first time that Spark runs it."""

    def __init__(self, task: Callable[..., Any]) -> None:
        self.task = task

    def __call__(self, batches: Any) -> Any:
        found = self.task(batches)
        from pyspark import TaskContext

        if TaskContext.get() is not None and attempt() == 0:
            raise RuntimeError("a lost worker")
        return found


class CoinsByAttempt:
    """Broken: each attempt at a task tosses its coins anew."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def __call__(self, batches: Any) -> Any:
        from dataclasses import replace

        task = self.task
        if task.coin is not None:
            number, threshold = task.coin
            task = replace(task, coin=(number + 1000 * attempt(), threshold))
        return FailsFirst(task)(batches)


class Accumulates:
    """Broken: what a task has added stays, also if the task then fails. (So do the accumulators of Spark.)"""

    def __init__(self, task: Any, folder: str) -> None:
        self.task, self.folder = task, folder

    def __call__(self, batches: Any) -> Any:
        found = self.task(batches)
        from pyspark import TaskContext

        if TaskContext.get() is not None:
            np.save(Path(self.folder) / f"{uuid.uuid4().hex}.npy", found)
            if attempt() == 0:
                raise RuntimeError("a lost worker")
        return found
