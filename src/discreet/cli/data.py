"""``discreet data``: the named data sets."""

from __future__ import annotations

import typer

from discreet.cli import show
from discreet.cli.source import JsonOption

app = typer.Typer(help="Named real data sets.", rich_markup_mode=None)


@app.callback()
def data() -> None:
    """Named real data sets, for experiments and tests."""


@app.command("ls", epilog="\b\nExample:  discreet data ls --json", short_help="List the data sets")
def ls(as_json: JsonOption = False) -> None:
    """List the named data sets and say which of them are here."""
    from discreet.corpus import datasets

    sets = datasets.available()
    if as_json:
        show.as_json([known._asdict() for known in sets])
        return
    show.table(
        ("name", "here", "what", "where, or where to get it"),
        [(known.name, "yes" if known.present else "no", known.description, known.where) for known in sets],
    )
