"""``discreet explore``: pages on this machine that show what is behind the topics of a model."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.models import ModelArgument, check_collection, documents_are_pictures
from discreet.cli.progress import reading
from discreet.cli.report import NamesOption
from discreet.cli.source import (
    CollectionOption,
    DatasetOption,
    FileArgument,
    TextOption,
    ThreadsOption,
    holds_counts,
    named_set,
    open_compared,
    open_corpus,
)

if TYPE_CHECKING:
    from discreet.explore.explorer import Explorer

LabelOption = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="A column to show topics by, such as a class.")
]
GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="COLUMN", help="Another column to show topics by: user ids.")
]


def explore(
    model: ModelArgument,
    file: FileArgument = None,
    dataset: DatasetOption = None,
    text: TextOption = None,
    label: LabelOption = None,
    group: GroupOption = None,
    collection: CollectionOption = None,
    other: Annotated[
        Path | None, typer.Option("--with", metavar="MODEL", help="A second model, to compare with the first.")
    ] = None,
    names: NamesOption = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free port.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in the browser.")
    ] = True,
    threads: ThreadsOption = None,
) -> None:
    """Show the documents of FILE behind the topics of MODEL, on a private page of this machine, until Ctrl-C."""
    try:
        from discreet.explore import serve
    except ModuleNotFoundError as error:
        raise InputError(
            f"the explorer needs the package {error.name}. Install it with: pip install 'discreet[explore]'."
        ) from None
    with serve.bound(port) as listening:
        columns = {"text": text, "label": label, "group": group, "collection": collection}
        with closing(opened(model, other, file, dataset, columns, threads, names)) as explorer:
            serve.serve(explorer, listening, browser=browser, say=_say)


def opened(
    model: Path,
    other: Path | None,
    file: str | None,
    dataset: str | None,
    columns: dict[str, Any],
    threads: int | None,
    names: Path | None = None,
) -> Explorer:
    """Load the models, read the documents and compute their topics."""
    from discreet.explore.documents import read_documents
    from discreet.explore.explorer import Explorer
    from discreet.release.release import Release
    from discreet.report.names import names_for

    release = Release.load(model)
    given, chosen = names_for(model, names, release.n_topics)
    if chosen is not None and names is None:
        show.note(f"names of topics from {chosen}")
    second = None if other is None else (str(other), Release.load(other))
    compared = [(str(model), release), *([] if second is None else [second])]
    comparing = next((name for name, one in compared if one.collections is not None), None)
    if comparing is None:
        check_collection(model, release, columns["collection"])
    how: dict[str, Any] = {"vocabulary": release.vocabulary, "tokenizer": release.tokenizer}
    if documents_are_pictures(model, release, file, dataset):
        how = {"codebook": release.codebook}
    elif holds_counts(file, dataset):
        how = {}
    open_them = open_corpus if comparing is None else partial(open_compared, comparing)
    source = named_set(file, dataset) or ("standard input" if file == "-" else str(file))
    documents = read_documents(release, lambda: open_them(file, dataset, **columns, **how), str(model))
    with reading(quiet=False):
        return Explorer.opened(documents, (str(model), release), second, source=source, names=given, n_threads=threads)


def _say(line: str) -> None:
    """At once, also into a pipe."""
    print(line, flush=True)
