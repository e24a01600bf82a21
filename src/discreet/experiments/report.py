"""An outcome as text for a terminal, and as a page with figures for a folder."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet._errors import InputError
from discreet.experiments.experiment import Heat
from discreet.experiments.heat import draw_heat
from discreet.experiments.intervals import Check, Verdict
from discreet.experiments.run import Outcome
from discreet.experiments.svg import draw
from discreet.experiments.tables import lay_out, markdown

MANY = 8
"""From this many on, comparisons are also counted, and folded on a page."""


def text(outcome: Outcome) -> str:
    """For a terminal: tables, then each finding of the paper with our comparisons and the verdict."""
    return "\n".join(_text(outcome))


def _text(outcome: Outcome) -> Iterator[str]:
    experiment = outcome.experiment
    yield f"{experiment.name}: {experiment.title}"
    if outcome.quick:
        yield "QUICK: small settings that show that everything works. Their verdicts say nothing about the paper."
    yield from _incomplete(outcome)
    for table in experiment.tables:
        grid = lay_out(table, outcome.results)
        widths = [max(map(len, column)) for column in zip(grid.header, *grid.rows, strict=True)]
        yield f"\n{table.title}"
        for row in [grid.header, *grid.rows]:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for finding, verdict, checks in outcome.findings():
        yield f"\n{finding.said_by}: {finding.text}"
        yield from (f"  here: {check}" for check in checks)
        yield f"  {'QUICK, so no evidence' if outcome.quick else 'verdict'}: {verdict}{_tally(checks)}"
    yield f"\n{outcome.promise}"


def page(outcome: Outcome, command: str) -> str:
    """For ``docs/results``: the same, with figures, notes, and how it was made."""
    experiment = outcome.experiment
    parts = [f"# {experiment.title}", f"{experiment.source}. `{experiment.name}` of `discreet reproduce`."]
    if outcome.quick:
        parts.append("**Quick run**: small settings, whose verdicts say nothing about the paper.")
    parts += [f"**{line}**" for line in _incomplete(outcome)]
    parts.append("## Findings")
    for finding, verdict, checks in outcome.findings():
        parts.append(f"**{verdict}** – {finding.said_by}: {finding.text}{_tally(checks)}")
        listed = "\n".join(f"* {check}" for check in checks)
        folded = f"<details><summary>{len(checks)} comparisons</summary>\n\n{listed}\n\n</details>"
        parts += [folded if len(checks) > MANY else listed] if checks else []
    parts += [
        f"![{plot.title}]({_figure_name(outcome, i)})" for i, plot in enumerate(experiment.plots) if outcome.records
    ]
    parts.append("## Tables")
    for table in experiment.tables:
        parts += [f"{table.title}.", markdown(lay_out(table, outcome.results))]
    parts.append("## How it was made")
    parts.append("\n".join(f"* {note}" for note in [*experiment.notes, *_made(outcome, command), outcome.promise]))
    return "\n\n".join(parts) + "\n"


def _tally(checks: list[Check]) -> str:
    """The number of comparisons per verdict, if there are many."""
    if len(checks) <= MANY:
        return ""
    said = Counter(check.verdict for check in checks)
    words = {verdict: str(verdict) if n == 1 else str(verdict).removesuffix("s") for verdict, n in said.items()}
    return " (" + ", ".join(f"{said[verdict]} {words[verdict]}" for verdict in Verdict if said[verdict]) + ")"


def write(outcome: Outcome, folder: Path, command: str) -> list[Path]:
    """The page and its figures. Each file is written whole, then put in place; earlier ones are replaced."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Name a folder for the page and its figures with --output.")
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{_stem(outcome)}.md": page(outcome, command)}
    if outcome.records:
        for i, plot in enumerate(outcome.experiment.plots):
            files[_figure_name(outcome, i)] = (
                draw_heat(plot, outcome.results) if isinstance(plot, Heat) else draw(plot, outcome.results)
            )
    for name, content in files.items():
        temporary = folder / f".{name}.partial"
        temporary.write_text(content, "utf-8")
        os.replace(temporary, folder / name)
    return [folder / name for name in files]


def _incomplete(outcome: Outcome) -> list[str]:
    if outcome.complete:
        return []
    return [f"Incomplete: {len(outcome.records)} of {outcome.n_cells} cells are done; run it again to go on."]


def _made(outcome: Outcome, command: str) -> Iterator[str]:
    yield f"Command: `{command}`."
    cells = f"{len(outcome.records)} cells, {_repetitions(outcome)}"
    yield f"Duration: {duration(outcome.seconds)} for {cells}; {processor()}."
    yield from (f"Versions: {versions}." for versions in outcome.versions)
    if not outcome.experiment.grid.exact:
        yield "Intervals: Student's t at 95% over repetitions; comparisons are paired by repetition. ± is half a width."


def _repetitions(outcome: Outcome) -> str:
    runs = Counter(json.dumps(record.setting, sort_keys=True) for record in outcome.records).values()
    fewest, most = min(runs, default=0), max(runs, default=0)
    return f"{fewest} to {most} repetitions" if fewest < most else f"{most} repetition{'' if most == 1 else 's'}"


def _stem(outcome: Outcome) -> str:
    return f"{outcome.experiment.paper}-{outcome.experiment.figure}{'-quick' if outcome.quick else ''}"


def _figure_name(outcome: Outcome, i: int) -> str:
    return f"{_stem(outcome)}{'' if i == 0 else f'-{i + 1}'}.svg"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def processor() -> str:
    """The kind of processor and its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
