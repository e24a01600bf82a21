"""``discreet collect serve`` as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Process:
    """A running collector. Its address is known when it listens."""

    def __init__(self, folder: Path, *options: str, port: int = 0, **environment: str) -> None:
        command = [sys.executable, "-m", "discreet", "collect", "serve", str(folder), "--port", str(port), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env={**os.environ, **environment}
        )
        self.said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if found := re.match(r"listening on (http://\S+)", line):
                self.address = found[1]
                return
        raise AssertionError(f"the collector ended with {self.process.wait()}: {self.said}")

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> int:
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def collector(folder: Path, *options: str, **environment: str) -> Iterator[Process]:
    running = Process(folder, *options, **environment)
    try:
        yield running
    finally:
        running.stop()
