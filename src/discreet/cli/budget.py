"""``discreet budget``: the budget of one data set, across runs and people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.source import JsonOption

if TYPE_CHECKING:
    from discreet.privacy.budget import BudgetFile, Charge

DELTA = 1e-6
"""As in ``discreet fit``."""


def budget(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The budget file of one data set.", show_default=False)],
    create: Annotated[bool, typer.Option("--create", help="Make FILE; it must not exist yet.")] = False,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="The most that may ever be spent.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", metavar="D", help=f"The delta that goes with it; by default {DELTA:g}.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="What is protected: document (default), user, word, bit or report."
        ),
    ] = None,
    counter: Annotated[
        Path | None,
        typer.Option(
            "--counter",
            metavar="FILE",
            help="A second file, on another disk, to notice when an older copy replaces the budget file.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what has been charged to FILE and what is left; or, with --create, make it."""
    from discreet.privacy.budget import BudgetFile

    if not create:
        if (epsilon, delta, unit, counter) != (None, None, None, None):
            raise InputError("a budget is set once, when its file is made. Add --create, or leave its options out.")
        _show(BudgetFile(file), as_json=as_json)
        return
    if epsilon is None:
        raise InputError("a new budget needs --epsilon, the most that may ever be spent, such as --epsilon 3.")
    made = BudgetFile.create(file, epsilon, DELTA if delta is None else delta, unit or "document", counter=counter)
    if as_json:
        _show(made, as_json=True)
    else:
        typer.echo(f"wrote {file}: {made.budget} per {made.unit} ({made.relation})")


def _show(file: BudgetFile, *, as_json: bool) -> None:
    charges = file.charges()
    ledger = file.ledger_of(charges)
    spent, left = ledger.spent(), ledger.remaining()
    if as_json:
        show.as_json(
            {
                "file": str(file.path),
                **file.budget.to_json(),
                "unit": str(file.unit),
                "relation": str(file.relation),
                "counter": None if file.counter is None else str(file.counter),
                "spent": spent.epsilon,
                "method": spent.method,
                "left": left,
                "charges": [
                    {
                        "date": c.date,
                        "by": c.by,
                        "run": c.run,
                        "method": c.method,
                        "entries": [entry.to_json() for entry in c.entries],
                    }
                    for c in charges
                ],
            }
        )
        return
    if charges:
        columns = ("date", "model", "ε alone", "released", "by")
        show.table(columns, [_row(file, run) for run in _runs(charges)], right=("ε alone",))
    typer.echo(f"budget: {file.budget} per {file.unit} ({file.relation})")
    typer.echo(f"spent: ε = {_rounded(spent.epsilon)} ({spent.method}), left: {left:.4g}")
    if file.counter is None:
        typer.echo("no counter: only a process that has read this file would notice that an older copy replaced it")
    else:
        typer.echo(f"counter: {file.counter} agrees")


def _runs(charges: Sequence[Charge]) -> list[list[Charge]]:
    """The charges of each run together, in the order in which runs began. A charge without a run counts as a run of its
    own."""
    runs: dict[object, list[Charge]] = {}
    for number, charge in enumerate(charges):
        runs.setdefault(number if charge.run is None else charge.run, []).append(charge)
    return list(runs.values())


def _row(file: BudgetFile, run: Sequence[Charge]) -> tuple[str, ...]:
    """The ε is that of this run alone, at the budget's δ: several runs together cost less than the sum."""
    first, last = run[0], run[-1]
    times: dict[str, int] = {}
    for entry in (entry for charge in run for entry in charge.entries):
        label = entry.label or "(no label)"
        times[label] = times.get(label, 0) + entry.count
    released = [label if n == 1 else f"{n} × {label}" for label, n in times.items()]
    if len(released) > 3:
        released[2:] = [f"{len(released) - 2} more"]
    return (
        first.date if first.date == last.date else f"{first.date} to {last.date}",
        first.method or "-",
        _rounded(file.ledger_of(run).spent().epsilon),
        ", ".join(released),
        ", ".join(dict.fromkeys(charge.by for charge in run)),
    )


def _rounded(epsilon: float) -> str:
    from discreet.privacy.guarantee import rounded_up

    return rounded_up(epsilon, 4) if math.isfinite(epsilon) else "infinite"
