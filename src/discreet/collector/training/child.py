"""The training process as a child of the server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

from discreet.collector.store.folder import Folder

PARENT = "DISCREET_COLLECTOR_PID"
"""The server that a training process belongs to: it ends when that server is gone."""


class Training:
    """Started again when it ends: a crash there must not end the server."""

    def __init__(self, folder: Folder) -> None:
        self._command = [sys.executable, "-m", "discreet", "collect", "train", str(folder.path)]
        # not on the command line, where every user of the machine could read the password
        self._environment = {**os.environ, "DISCREET_DATABASE": folder.database, PARENT: str(os.getpid())}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="collector-training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join(timeout=30)

    def _watch(self) -> None:
        pause = 1.0
        while not self._stopping.is_set():
            started = time.monotonic()
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            while self._process.poll() is None:
                if self._stopping.wait(0.2):
                    self._process.terminate()
                    with suppress(subprocess.TimeoutExpired):
                        self._process.wait(20)
                    self._process.kill()
            pause = 1.0 if time.monotonic() - started > 60 else min(2 * pause, 60.0)
            self._stopping.wait(pause)
