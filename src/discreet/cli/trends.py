"""``discreet trends``: how much of each topic there is in each period or class, under a budget."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.models import ModelArgument
from discreet.cli.notes import warnings_as_notes
from discreet.cli.paid import Paid, stoppable, write_or_keep
from discreet.cli.report import NamesOption
from discreet.cli.source import (
    DatasetOption,
    FileArgument,
    GroupOption,
    JsonOption,
    OverwriteOption,
    TextOption,
    ThreadsOption,
    named_set,
    open_corpus,
)

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.privacy.budget import BudgetFile
    from discreet.release.release import Release
    from discreet.trends.shares import Trends
    from discreet.trends.slices import Slices

PANELS = {
    "Common options": ("output", "by", "start", "end", "classes", "column", "epsilon", "budget", "text", "group"),
    "Privacy": ("delta", "units", "public_model"),
    "Reading": ("dataset", "date_format", "names"),
}
"""How ``trends --help`` shows the parameters below."""

NOISE = "± is one standard error of the noise; (noise?) marks what may be noise alone"
"""Under the table on the terminal."""

SHOWN_WORDS = 6
"""Words of a topic in the table on the terminal."""


def trends(
    model: ModelArgument,
    by: Annotated[
        str, typer.Option("--by", metavar="year|quarter|month|week|day|class", help="What a slice of documents is.")
    ],
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="Privacy budget of these trends.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="The file to make: .html, .csv or .json; - prints CSV."),
    ],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="The first period, such as 2015 or 2015-03; public.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last period; public.")] = None,
    classes: Annotated[
        str | None, typer.Option("--classes", metavar="NAMES", help="All classes to count, such as a,b,c; public.")
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--column", metavar="COLUMN", help="The column with dates or classes; date or label by default."),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            "--date-format", metavar="FORMAT", help="How dates are written, such as %d.%m.%Y; else 2015-03-17."
        ),
    ] = None,
    names: NamesOption = None,
    text: TextOption = None,
    group: GroupOption = None,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The delta of (epsilon, delta).")] = 1e-6,
    budget: Annotated[
        Path | None, typer.Option("--budget", metavar="FILE", help="Charge this budget file (see `discreet budget`).")
    ] = None,
    units: Annotated[
        int | None,
        typer.Option("--units", metavar="N", min=1, help="The number of documents (or users), if that is public."),
    ] = None,
    public_model: Annotated[
        bool, typer.Option("--public-model", help="MODEL and the documents that it was trained on are public.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Repeat a run; it then promises nothing."),
    ] = None,
    threads: ThreadsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no notes and no table.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the share of each topic of MODEL in the documents of FILE, by period or class, with noise for privacy."""
    from discreet.cli.startup import load_sklearn
    from discreet.cli.tables import STDOUT, check_place

    if budget is not None and seed is not None:
        raise InputError(
            "a seeded run promises nothing, so no budget can account for it. Leave --seed or --budget out."
        )
    if output != STDOUT:
        check_place(output, _STARTS, "trends", overwrite=overwrite)
    on_page = output.suffix.lower() == ".html"
    if names is not None and not on_page:
        raise InputError(f"only a page shows names of topics, and {output} is none. Write .html, or leave --names out.")
    load_sklearn()
    from discreet.privacy import Ledger
    from discreet.privacy.budget import BudgetFile
    from discreet.release.release import Release
    from discreet.report.names import names_for
    from discreet.trends.model import PrivateTrends
    from discreet.trends.page import MOST_CELLS

    release = Release.load(model)
    given, chosen = names_for(model, names, release.n_topics) if on_page else ({}, None)
    if chosen is not None and names is None:
        show.note(f"names of topics from {chosen}")
    budget_file: BudgetFile | None = None if budget is None else BudgetFile(budget)
    private = PrivateTrends(
        release,
        by=by,
        start=start,
        end=end,
        classes=_named(classes),
        date_format=date_format,
        epsilon=epsilon,
        delta=delta,
        n_units=units,
        public_model=public_model,
        ledger=None if budget_file is None else Ledger(file=budget_file),
        n_threads=threads,
        random_state=seed,
    )
    plan = private.plan()  # also checks the model, the slices and the numbers, before anything is read
    if on_page and plan.event.cells > MOST_CELLS:
        raise InputError(
            f"{plan.n_slices:,} slices and {plan.n_topics:,} topics are more than a page can show. Write .csv or .json."
        )
    corpus = _documents(release, private.slices(), file, dataset, text, group, column, quiet=quiet)
    if not quiet:
        show.note(plan.described("document" if corpus.groups is None else "user"))
    paid = Paid(budget_file)
    with warnings_as_notes(), stoppable(None, paid, "nothing was written."):
        found = private.fit(corpus, corpus.labels).trends_
        failed = _write(found, output, paid, given)
    if failed is not None:
        raise failed
    with suppress(KeyboardInterrupt):  # the file is written: interrupting the output now is not a failure
        _report(found, output, quiet=quiet, as_json=as_json)


def _named(classes: str | None) -> list[str] | None:
    """The names in ``--classes``, between commas."""
    return None if classes is None else [name.strip() for name in classes.split(",")]


def _documents(
    release: Release,
    slices: Slices,
    file: str | None,
    dataset: str | None,
    text: str | None,
    group: str | None,
    column: str | None,
    *,
    quiet: bool,
) -> Corpus:
    """The documents in the words of the model; the label of each is its date or class, or empty."""
    from discreet.corpus.lines import inner_suffix
    from discreet.corpus.readers.tables import SUFFIXES
    from discreet.trends.slices import CLASS

    by_class = slices.by == CLASS
    how: dict[str, Any] = {"vocabulary": release.vocabulary, "tokenizer": release.tokenizer, "quiet": quiet}
    name = named_set(file, dataset)
    if name is not None:
        if column is not None:
            raise InputError(f"the data set {name!r} has fixed columns. Leave --column out.")
        corpus = open_corpus(file, dataset, text=text, group=group, **how) if by_class else None
        if corpus is None or corpus.labels is None:
            raise InputError(
                f"the data set {name!r} is read without {'classes' if by_class else 'dates'}. Name a file."
            )
        return corpus
    what = "classes" if by_class else "dates"
    if file != "-" and Path(str(file)).exists() and inner_suffix(Path(str(file))) not in SUFFIXES:
        raise InputError(f"trends need a column of {what}, and {file} has no columns. Give CSV, JSON lines or Parquet.")
    column = column or ("label" if by_class else "date")
    try:
        return open_corpus(file, dataset, text=text, group=group, label=column, label_as=slices.plain, **how)
    except InputError as error:
        if f"no column {column!r}" not in str(error):
            raise
        # one document without a date, perhaps: which one is not told
        where, numbered = re.subn(r": (?:line|item|row) [\d,]+(?= has no column)", ": a document", str(error))
        more = f", and null stands for a missing {'class' if by_class else 'date'}" if numbered else ""
        raise InputError(f"{where} (--column names the column of {what}{more}.)") from None


def _write(found: Trends, output: Path, paid: Paid, names: dict[int, str]) -> Any:
    """The file, despite a full disk: the trends are paid for."""
    from discreet.cli.tables import STDOUT, write_whole

    if output == STDOUT:
        sys.stdout.flush()
        _csv(sys.stdout.buffer, found)
        return None
    writer = partial(_html, names=names) if output.suffix.lower() == ".html" else _WRITERS[output.suffix.lower()]
    return write_or_keep(
        lambda path: write_whole(path, lambda to: writer(to, found), private=False), output, "The result", paid
    )


def _report(found: Trends, output: Path, *, quiet: bool, as_json: bool) -> None:
    from discreet.cli.tables import STDOUT
    from discreet.privacy.guarantee import rounded_up

    if as_json:
        show.as_json({"output": str(output), **found.to_json()})
        return
    say = show.note if output == STDOUT else typer.echo
    if not quiet:
        if output != STDOUT and _table(found):
            show.note(NOISE)
        few = int((~found.enough).sum())
        if few:
            say(f"{few} of {len(found.slices)} slices are not shown: by their noisy size they are too small, or empty")
    say(f"guarantee: {found.guarantee.summary()}")
    if not quiet:
        say(str(found.guarantee))
        if found.with_model is not None:
            together = f"ε = {rounded_up(found.with_model, 4)} at δ = {found.guarantee.delta:g}"
            say(f"with the model, if it was trained on the same documents: {together}")
    if output != STDOUT:
        say(f"wrote {output}")


def _table(found: Trends) -> bool:
    """Both halves of the time, and the change between them in points; for classes, the largest share. False if no slice
    has shares."""
    leading, halves, overall = found.leading(), found.halves(), found.overall()
    if leading is None:
        return False
    words = [" ".join(topic[:SHOWN_WORDS]) for topic in found.topics]

    def cell(share: float, error: float) -> str:
        return f"{share:.2%} ± {error:.2%}".replace("-", "−")

    if halves is None or overall is None:
        shares, errors, (best, clear) = found.shares, found.standard_errors, leading
        rows = [
            (
                str(k),
                found.slices[i] + ("" if clear[k] else " (noise?)"),
                cell(shares[i, k], errors[i, k]),
                words[k],
            )
            for k, i in enumerate(best)
        ]
        show.table(("topic", "most in", "share", "words"), rows, right=("topic", "share"), labels=("most in",))
        return True
    (first, second), (moved, margin) = halves, overall
    names = ("topic", first.name, second.name, "change in points", "words")
    rows_over_time = [
        (
            str(k),
            cell(first.shares[k], first.errors[k]),
            cell(second.shares[k], second.errors[k]),
            f"{100 * moved[k]:+.2f}{'' if abs(moved[k]) > margin[k] else ' (noise?)'}".replace("-", "−"),
            words[k],
        )
        for k in range(found.n_topics)
    ]
    show.table(names, rows_over_time, right=names[:4])
    return True


# --- files ------------------------------------------------------------------------------------------------------------


def _csv(file: IO[bytes], found: Trends) -> None:
    out, rows = io.StringIO(newline=""), found.rows()
    table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({name: "" if value != value else _plain(value) for name, value in row.items()})
    file.write(out.getvalue().encode())


def _plain(value: Any) -> Any:
    """Numbers in full; names as they are, unless a spreadsheet would take them for a formula."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(("=", "+", "@", "\t", "\r")) else value
    return value if isinstance(value, int) else repr(float(value))


def _json(file: IO[bytes], found: Trends) -> None:
    file.write(json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _html(file: IO[bytes], found: Trends, names: dict[int, str]) -> None:
    from discreet.trends.page import html

    file.write(html(found, names=names).encode())


_STARTS = {
    ".html": (b"<!doctype html>\n<!-- discreet trends",),
    ".csv": (b"slice,topic,share",),
    ".json": (b'{\n "by":',),
}
_WRITERS = {".csv": _csv, ".json": _json}
