"""How results look. A terminal gets a table; a pipe gets one line per row; a program gets JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from discreet.release.release import Release


def note(text: str) -> None:
    """Something for the person at the terminal, on stderr: stdout belongs to the result."""
    print(text, file=sys.stderr)  # looked up here and now: a progress bar lends its own stderr, which writes above it


def as_json(value: Any) -> None:
    typer.echo(json.dumps(_finite(value), indent=1, ensure_ascii=False, allow_nan=False))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Columns named in ``right`` are numbers."""
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(printable(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        shown.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(shown)


def topics_table(words: Sequence[Sequence[str]]) -> None:
    table(("topic", "words"), [(str(k), " ".join(best)) for k, best in enumerate(words)], right=("topic",))


def usefulness_json(release: Release) -> Any:
    """null where the model adds no noise, or does not judge itself."""
    return release.usefulness and {**release.usefulness.to_json(), "summary": release.usefulness.summary()}


def printable(text: str) -> str:
    """Words come from outside: nothing in them may steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: null stands for both."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
