"""Run the missing cells of an experiment, and return the results of all cells."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from discreet.experiments.experiment import Experiment, Finding, Results, Setting
from discreet.experiments.intervals import Check, Verdict
from discreet.experiments.store import Record, Store, key_of

PACKAGES = ("discreet", "numpy", "numba", "scikit-learn", "dp-accounting")

SEEDED = (
    "Every repetition is seeded, so that it can be repeated: whatever ε is named above, these runs promise nothing "
    "(basis none). The ε says what the same run would cost without a seed."
)

BOUNDS = "Models were trained on made-up text, with seeds. These numbers are bounds with a confidence of their own."
COMPUTED = "Nothing was trained here and no data were read: these numbers are computed, without repetitions."


@dataclass(frozen=True)
class Progress:
    """Reported after each cell."""

    done: int
    total: int
    record: Record
    where: Setting
    """The part of the record's setting that differs between cells."""
    seconds_left: float
    """An estimate from the cells of this run."""


@dataclass(frozen=True)
class Outcome:
    """The results of a run, complete or not."""

    experiment: Experiment
    quick: bool
    results: Results
    n_cells: int
    records: tuple[Record, ...]

    @property
    def complete(self) -> bool:
        return len(self.records) == self.n_cells

    @property
    def seconds(self) -> float:
        """The time of all cells together, also those of earlier runs."""
        return sum(record.seconds for record in self.records)

    @property
    def versions(self) -> list[str]:
        return sorted({record.versions for record in self.records})

    @property
    def promise(self) -> str:
        """What the runs promise: nothing."""
        if self.experiment.grid.bounds:
            return BOUNDS
        return COMPUTED if self.experiment.grid.exact else SEEDED

    def findings(self) -> list[tuple[Finding, Verdict, list[Check]]]:
        judged = []
        for finding in self.experiment.findings:
            checks = finding.checks(self.results)
            judged.append((finding, finding.verdict(checks), checks))
        return judged

    def to_json(self) -> dict[str, Any]:
        return {
            "paper": self.experiment.paper,
            "figure": self.experiment.figure,
            "title": self.experiment.title,
            "quick": self.quick,
            "complete": self.complete,
            "guarantee": self.promise,
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
            "findings": [
                {
                    "finding": finding.text,
                    "said_by": finding.said_by,
                    "verdict": str(verdict),
                    "checks": [check.to_json() for check in checks],
                }
                for finding, verdict, checks in self.findings()
            ],
            "notes": list(self.experiment.notes),
            "rows": self.results.rows,
        }


def run(
    experiment: Experiment,
    work: Path,
    *,
    quick: bool = False,
    repetitions: int | None = None,
    report_cell: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run what is missing. Each finished cell is on disk before the next begins, so stopping loses one cell at most."""
    grid, store = experiment.grid, Store(work, experiment.grid)
    cells = [(key_of(grid, setting, n), setting, n) for setting, n in grid.cells(quick, repetitions)]
    known = store.read()
    missing = [cell for cell in cells if cell[0] not in known]
    check_data({setting["dataset"] for _, setting, _ in missing if "dataset" in setting})
    varied = Results(grid, [setting for _, setting, _ in cells]).varying
    started = time.perf_counter()
    for done, (key, setting, repetition) in enumerate(missing, 1):
        record = _run_cell(experiment, key, setting, repetition)
        store.add(record)
        known[key] = record
        if report_cell is not None:
            pace = (time.perf_counter() - started) / done
            n_done = len(cells) - len(missing) + done
            where = {name: setting[name] for name in varied if setting.get(name) is not None}
            report_cell(Progress(n_done, len(cells), record, where, pace * (len(missing) - done)))
    return outcome(experiment, known, quick=quick, repetitions=repetitions)


def outcome(
    experiment: Experiment, known: dict[str, Record], *, quick: bool, repetitions: int | None = None
) -> Outcome:
    """The outcome of the cells that are on disk."""
    cells = experiment.grid.cells(quick, repetitions)
    keys = [key_of(experiment.grid, setting, n) for setting, n in cells]
    records = tuple(known[key] for key in keys if key in known)
    rows = [row for record in records for row in record.rows]
    return Outcome(experiment, quick, Results(experiment.grid, rows), len(cells), records)


def _run_cell(experiment: Experiment, key: str, setting: Setting, repetition: int) -> Record:
    started = time.perf_counter()
    points = [dict(point) for point in experiment.grid.cell(setting, repetition)]
    return Record(key, setting, repetition, points, round(time.perf_counter() - started, 3), versions())


def check_data(names: set[str]) -> None:
    """Check before hours of work: a data set that is not here and cannot be downloaded stops the run with one line."""
    from discreet.corpus import datasets

    absent = {known.name for known in datasets.available() if not known.present}
    for name in sorted(names & absent):
        datasets.load(name)  # downloads it, or raises an error that says what to do


@cache
def versions() -> str:
    """The versions that a cell ran with. Cells of different versions may share a page, but the page then names them."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"{', '.join(found)}, source {source_digest()}"


def source_digest() -> str:
    """Eight digits that change when a line of the library does (the command line aside)."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] != "cli":
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:8]
