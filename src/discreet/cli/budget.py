"""``discreet budget``: the budget of one data set, across runs and people."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.source import JsonOption

if TYPE_CHECKING:
    from discreet.privacy.budget import BudgetFile


def budget(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The budget file of one data set.", show_default=False)],
    create: Annotated[bool, typer.Option("--create", help="Make FILE; it must not exist yet.")] = False,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="The most that may ever be spent.")
    ] = None,
    delta: Annotated[float | None, typer.Option("--delta", metavar="D", help="The delta that goes with it.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="What is protected: document (default), user, word, bit or report."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what has been charged to FILE and what is left; or, with --create, make it."""
    from discreet.privacy.budget import BudgetFile

    if not create:
        if epsilon is not None or delta is not None or unit is not None:
            raise InputError("a budget is set once, when its file is made. Add --create, or leave the numbers out.")
        _show(BudgetFile(file), as_json=as_json)
        return
    if epsilon is None or delta is None:
        raise InputError("a new budget needs --epsilon and --delta, such as --epsilon 3 --delta 1e-6.")
    made = BudgetFile.create(file, epsilon, delta, unit or "document")
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
                "spent": spent.epsilon,
                "method": spent.method,
                "left": left,
                "charges": [
                    {"time": c.time, "by": c.by, "entries": [entry.to_json() for entry in c.entries]} for c in charges
                ],
            }
        )
        return
    if charges:
        show.table(
            ("time", "by", "what", "times", "event"),
            [(c.time, c.by, e.label, str(e.count), str(e.event)) for c in charges for e in c.entries],
            right=("times",),
        )
    from discreet.privacy.guarantee import rounded_up

    used = rounded_up(spent.epsilon, 4) if math.isfinite(spent.epsilon) else "infinite"
    typer.echo(f"budget: {file.budget} per {file.unit} ({file.relation})")
    typer.echo(f"spent: ε = {used} ({spent.method}), left: {left:.4g}")
