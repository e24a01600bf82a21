"""``discreet audit``: attack our own code with canaries, and say which ε the attack refutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.source import JsonOption

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 1.0
"""Seconds between two notes on how far it is."""


def audit(
    method: Annotated[str, typer.Option("--method", "-m", metavar="NAME", help="What to audit.")] = "private",
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="The claim.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The delta of (epsilon, delta).")] = 1e-5,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="UNIT", help="document, user, word or bit, if there is a choice.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Runs; with one canary, of each kind.")] = 1000,
    canaries: Annotated[
        int | None, typer.Option("--canaries", metavar="N", help="Canaries in a run; the method's own by default.")
    ] = None,
    black_box: Annotated[
        bool, typer.Option("--black-box", help="The attack sees the topics alone, not every release.")
    ] = False,
    failure: Annotated[
        float, typer.Option("--failure-probability", metavar="P", help="Chance that the bound is wrong, at most.")
    ] = 0.001,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="To repeat an audit.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Write the picture here.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not say how far it is.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a method with canaries in made-up text, and print the claimed epsilon and the largest one it refutes.

    It audits the program and spends no budget. A bound above the claim refutes it; a bound below proves nothing.
    """
    if output is not None and output.suffix.lower() != ".svg":
        raise InputError(f"the picture is an SVG; found {str(output)!r}. Name a file that ends in .svg.")
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError(f"there is no folder {str(output.absolute().parent)!r}. Make it, or name another file.")
    from discreet.attacks.audit import audit as run

    found = run(
        method,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        n_runs=runs,
        n_canaries=canaries,
        black_box=black_box,
        failure_probability=failure,
        seed=seed,
        progress=(lambda done, total: None) if quiet else _notes(),
    )
    if output is not None:
        output.write_text(found.picture(), "utf-8")
    if as_json:
        show.as_json(found.to_json())
    else:
        typer.echo(str(found))
    if output is not None:
        show.note(f"wrote {output}")


def _notes() -> Callable[[int, int], None]:
    """One line that moves on, on a terminal only."""
    last = [time.monotonic()]

    def note(done: int, total: int) -> None:
        if not sys.stderr.isatty() or (time.monotonic() - last[0] < PATIENCE and done < total):
            return
        last[0] = time.monotonic()
        print(f"\r{done:,} of {total:,} runs", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return note
