"""``discreet reproduce``: a paper's figure or table, run again, and whether its findings hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import InputError
from discreet.cli import Kept, show
from discreet.cli.source import JsonOption

if TYPE_CHECKING:
    from discreet.experiments.experiment import Experiment
    from discreet.experiments.run import Progress


def reproduce(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Leave it out for a list.")] = None,
    figure: Annotated[str | None, typer.Argument(metavar="FIGURE", help="A figure or table of the paper.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few small settings in seconds, to see that everything works.")
    ] = False,
    repetitions: Annotated[
        int | None,
        typer.Option("--repetitions", metavar="N", min=1, help="Runs of each setting; the list has the default."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write a page and its figures into this folder."),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option("--work", metavar="DIR", help="Where finished cells are kept; in the user's cache by default."),
    ] = None,
    only_show: Annotated[bool, typer.Option("--only-show", help="Run nothing: show what is finished so far.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each finished cell.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run FIGURE of PAPER at the paper's scale and say whether its findings hold here.

    Finished cells are kept: after an interruption the same command continues. Repetitions are seeded, so nothing that
    is trained here has a guarantee.
    """
    from discreet import experiments

    if paper is None or figure is None:
        _list(experiments.experiments(paper), as_json=as_json)
        return
    experiment = experiments.find(paper, figure)
    for place, option in ((output, "--output"), (work, "--work")):
        if place is not None and place.exists() and not place.is_dir():
            raise InputError(f"{place} is not a folder. Name a folder, there or to be made, with {option}.")
    from discreet.experiments import report
    from discreet.experiments.run import outcome, run
    from discreet.experiments.store import Store

    folder = work or _cache()
    if only_show:
        found = outcome(experiment, Store(folder, experiment.grid).read(), quick=quick, repetitions=repetitions)
        if not found.records:
            raise InputError(f"nothing of {experiment.name} is finished yet in {folder}. Run it without --only-show.")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)  # fail now, not after hours
        if not os.access(output, os.W_OK):
            raise InputError(f"{output} cannot be written to. Name another folder with --output.")
    if not only_show:
        report_cell = None if quiet else _print_progress
        try:
            found = run(experiment, folder, quick=quick, repetitions=repetitions, report_cell=report_cell)
        except KeyboardInterrupt:
            show.note(f"interrupted: finished cells are kept in {folder}; the same command resumes the run")
            raise Kept from None
    if as_json:
        show.as_json(found.to_json())
    else:
        typer.echo(report.text(found))
    if output is not None:
        for path in report.write(found, output, _command(experiment, quick, repetitions)):
            show.note(f"wrote {path}")


def _list(found: list[Experiment], *, as_json: bool) -> None:
    rows = [
        (e.paper, e.figure, e.title, e.source, f"{len(e.grid.cells(quick=False))} cells", str(e.grid.repetitions))
        for e in found
    ]
    columns = ("paper", "figure", "what", "source", "cells", "repetitions")
    if as_json:
        show.as_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show.table(columns, rows)


def _print_progress(progress: Progress) -> None:
    from discreet.experiments.intervals import number
    from discreet.experiments.report import duration
    from discreet.experiments.tables import label, symbol

    record = progress.record
    where = "".join(f"{symbol(key)} {label(value)}, " for key, value in progress.where.items())
    last = record.points[-1] if record.points else {}
    found = ", ".join(f"{key} {number(value)}" for key, value in last.items() if isinstance(value, float))
    left = f", about {duration(progress.seconds_left)} left" if progress.done < progress.total else ""
    show.note(
        f"[{progress.done}/{progress.total}] {where}repetition {record.repetition}: {found} "
        f"({duration(record.seconds)}{left})"
    )


def _command(experiment: Experiment, quick: bool, repetitions: int | None) -> str:
    options = (" --quick" if quick else "") + ("" if repetitions is None else f" --repetitions {repetitions}")
    return f"discreet reproduce {experiment.name}{options}"


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("discreet")) / "reproduce"
