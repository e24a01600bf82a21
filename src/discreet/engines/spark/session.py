"""Opens a session of Spark by the address of a cluster, for the command line."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from discreet._errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_session(master: str, **settings: str) -> SparkSession:
    """A session on ``master``: ``local[4]``, ``spark://host:7077``, ``yarn``, or ``sc://host`` for Spark Connect."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("Spark needs more packages. Install discreet[spark].") from None
    builder = SparkSession.builder.appName("discreet")
    for name, value in settings.items():
        builder = builder.config(name, value)
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        check_java()
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of this machine: this Python
        builder = builder.master(master).config("spark.ui.showConsoleProgress", "false")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"Spark cannot be started on {master}: {said[-1].strip()[:300]}") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ours lets a round end, and cancels only our jobs
    return session


def check_java() -> None:
    """Spark's own error for this is a page long."""
    home = os.environ.get("JAVA_HOME")
    if home is not None and not (Path(home) / "bin" / "java").exists():
        raise InputError(f"Spark needs Java, and JAVA_HOME={home} has no bin/java. Correct it, or unset it.")
    if home is None and shutil.which("java") is None:
        raise InputError("Spark needs Java 17 or later, and there is none on this machine. Install one.")
