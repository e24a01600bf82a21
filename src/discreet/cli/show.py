"""How results are printed. A terminal gets a table; a pipe gets one line per row, after one with the names of the
columns; a program gets JSON."""

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
    """Print a note for the user at the terminal on stderr: stdout is for the result."""
    print(text, file=sys.stderr)  # looked up at each call: a progress bar replaces stderr to write above it


def as_json(value: Any) -> None:
    typer.echo(json.dumps(_finite(value), indent=1, ensure_ascii=False, allow_nan=False))


LONGEST_LABEL = 24
"""Characters of a label in a table for people: the words beside it need the room."""


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    labels: Sequence[str] = (),
    grouped: bool = False,
) -> None:
    """Columns named in ``right`` are numbers. On a terminal, those named in ``labels`` are shortened in the middle, and
    with ``grouped`` the first column is printed once for rows that share it, with an empty line after them."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            typer.echo("\t".join(printable(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        shown.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for number, row in enumerate(rows):
        cells = [shortened(cell) if name in labels else cell for name, cell in zip(columns, row, strict=True)]
        if grouped and number:
            if row[0] == rows[number - 1][0]:
                cells[0] = ""
            else:
                shown.add_row()
        shown.add_row(*(Text(printable(cell)) for cell in cells))
    Console().print(shown)


def shortened(label: str) -> str:
    """Its beginning and its end: labels of one kind often differ in the end only."""
    if len(label) <= LONGEST_LABEL:
        return label
    end = LONGEST_LABEL // 2 - 1
    return f"{label[: LONGEST_LABEL - end - 1]}…{label[-end:]}"


def topics_table(release: Release, n_words: int = 10, most: int | None = None) -> int:
    """One row per topic. A cross-collection model has one more per collection: its own words for the topic, and their
    share of the topic's text there. With ``most``, no more topics than that; returns how many were left out by it."""
    common = [" ".join(best) for best in release.top_words(n_words)]
    if release.share_errors is not None:
        return _prevalent_topics(release, common, most)
    left_out = max(0, len(common) - most) if most else 0
    common = common[: len(common) - left_out]
    if release.switch is None:
        table(("topic", "words"), [(str(k), words) for k, words in enumerate(common)], right=("topic",))
        return left_out
    best = release.collection_top_words(n_words)
    rows: list[tuple[str, ...]] = []
    for k, words in enumerate(common):
        rows.append((str(k), "common", "", words))
        for c, (label, own) in enumerate(best.items()):
            rows.append((str(k), str(label), f"{release.switch[k, c]:.0%}", " ".join(own[k])))
    columns = ("topic", "collection", "share", "words")
    table(columns, rows, right=("topic", "share"), labels=("collection",), grouped=True)
    return left_out


UNKNOWN = 10
"""Words unknown to the public text that are printed."""


def _prevalent_topics(release: Release, words: Sequence[str], most: int | None) -> int:
    """The topics that the text is known to have, with their shares; and words that the public text does not know."""
    from discreet.release.notebook import share_text
    from discreet.release.release import PRESENT

    assert release.topic_shares is not None
    assert release.share_errors is not None
    rows = [
        (str(k), share_text(share, error), words[k])
        for k, (share, error) in enumerate(zip(release.topic_shares, release.share_errors, strict=True))
        if release.present[k]
    ]
    table(("topic", "share", "words"), rows[:most], right=("topic", "share"))
    hardly = release.n_topics - len(rows)
    if hardly:
        note(f"{hardly} of {release.n_topics} topics are not shown: the text hardly has them, or the noise hides them")
    unknown = [(word, share, error) for word, share, error in release.unknown_words() if share > PRESENT * error]
    if unknown:
        found = ", ".join(f"{printable(word)} {share_text(share, error)}" for word, share, error in unknown[:UNKNOWN])
        note(f"words that the public text does not have, with their share: {found}")
    return max(0, len(rows) - most) if most else 0


def topics_json(release: Release, n_words: int = 10) -> dict[str, Any]:
    """The words of each topic, and of each collection's own topics."""
    topics: dict[str, Any] = {"topics": release.top_words(n_words)}
    if release.share_errors is not None and release.topic_shares is not None:
        topics["shares"], topics["share_errors"] = release.topic_shares.tolist(), release.share_errors.tolist()
        topics["present"] = release.present.tolist()
        topics["unknown_words"] = [list(word) for word in release.unknown_words()]
    if release.switch is None:
        return topics
    own = release.collection_top_words(n_words).items()
    switch = release.switch.T.tolist()
    named = [
        {"collection": label, "switch": share, "topics": best} for (label, best), share in zip(own, switch, strict=True)
    ]
    return {**topics, "collections": named}


def usefulness_json(release: Release) -> Any:
    """null if the model adds no noise, or has no verdict."""
    return release.usefulness and {**release.usefulness.to_json(), "summary": release.usefulness.summary()}


def printable(text: str) -> str:
    """Words come from outside: control characters in them must not reach the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: null stands for both."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
