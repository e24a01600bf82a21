"""Finished cells, one line each, appended and flushed at once: a run that was killed continues where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet._errors import InputError
from discreet.experiments.experiment import Grid, Point, Setting


@dataclass(frozen=True)
class Record:
    """The stored result of a cell."""

    key: str
    setting: Setting
    repetition: int
    points: list[Point]
    seconds: float
    versions: str
    """The versions of the programs that ran it."""

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        for point in self.points:
            yield {**self.setting, **point, "repetition": self.repetition}


def key_of(grid: Grid, setting: Setting, repetition: int) -> str:
    """Everything that decides the numbers, in one short name."""
    told = [grid.name, grid.version, setting, repetition]
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Store:
    """A file of records in a folder of work."""

    def __init__(self, folder: Path, grid: Grid) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is not a folder. Name a folder for the unfinished work with --work.")
        self.grid = grid
        self.path = folder / f"{grid.name}.jsonl"

    def read(self) -> dict[str, Record]:
        """By key. A line that was cut short by a kill is skipped; its cell runs again."""
        if not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_bytes().split(b"\n"):
            try:
                record = Record(**json.loads(line))
            except (ValueError, TypeError):  # cut short, empty, or of an older form
                continue
            found[record.key] = record
        return found

    def add(self, record: Record) -> None:
        """On disk before this returns. It begins a new line if the last one was cut short."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(asdict(record), ensure_ascii=False).encode() + b"\n"
        with open(self.path, "ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
