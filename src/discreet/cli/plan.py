"""``discreet plan``: what to expect of a private model, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.foresee import topics_asked
from discreet.cli.source import JsonOption
from discreet.cli.wording import in_options, of_plan

if TYPE_CHECKING:
    from discreet.planning.words import Text


def plan(
    documents: Annotated[
        int | None,
        typer.Option("--documents", "-d", metavar="N", help="How many documents there are; --like knows its own."),
    ] = None,
    users: Annotated[
        int | None, typer.Option("--users", metavar="N", help="How many users wrote them, if users are protected.")
    ] = None,
    words_per_document: Annotated[
        float | None,
        typer.Option("--words-per-document", "-w", metavar="N", help="Words of a usual document; stop words count."),
    ] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", metavar="E", help="Privacy budget.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The delta of (epsilon, delta).")] = 1e-6,
    topics: Annotated[
        str, typer.Option("--topics", "-k", metavar="K|auto", help="Number of topics; auto: what the noise can carry.")
    ] = "20",
    words: Annotated[
        int | None,
        typer.Option("--words", metavar="V", help="Size of a public word list; otherwise words are selected."),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option("--words-share", metavar="S", help="Share of the budget that selects words; chosen by default."),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option("--public", metavar="near|far", help="There is public text, of the same field or of another."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="FILE", help="Public text of the same kind, or dataset:NAME: it is read."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.svg", help="Write the picture here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what to expect of a private model, from public facts alone. It reads no data and spends nothing."""
    if output is not None and output.suffix.lower() != ".svg":
        raise InputError(f"the picture is an SVG; found {str(output)!r}. Name a file that ends in .svg.")
    texts: tuple[Text, ...] | None = None
    if like is not None:
        n_documents, length, texts = _like(like)
        documents = n_documents if documents is None else documents
        words_per_document = words_per_document or length
    if documents is None:
        raise InputError(
            "a plan needs the number of documents. Give it with --documents, or name public text that is as large "
            "with --like."
        )
    if words_per_document is None:
        raise InputError(
            "a plan needs the length of a usual document. Give it with --words-per-document, such as 150, or name "
            "public text of the same kind with --like."
        )
    from discreet.planning import plan as make

    asked = topics_asked(topics, "private", {"units": documents})
    try:
        found = make(
            documents=documents,
            users=users,
            words_per_document=words_per_document,
            epsilon=epsilon,
            delta=delta,
            topics=asked or 20,  # type: ignore[arg-type]
            words=words,
            share=share,
            public=public,
            **({} if texts is None else {"texts": texts}),
        )
    except InputError as error:
        raise InputError(of_plan(str(error))) from None
    if output is not None:
        output.write_text(found.picture(), "utf-8")
    if as_json:
        show.as_json(found.to_json())
        return
    typer.echo(in_options(str(found)))
    if output is not None:
        typer.echo(f"wrote {output}")


def _like(name: str) -> tuple[int, float, tuple[Text, ...]]:
    """The number of documents of public text, their usual length, and the word frequencies."""
    import numpy as np

    from discreet.corpus import load, read
    from discreet.planning.words import measured_text

    kind, _, dataset = name.partition(":")
    corpus = load(dataset) if kind == "dataset" and dataset else read(name)
    lengths = np.diff(corpus.offsets)
    if not corpus.n_tokens:
        raise InputError(f"{name} has no words. Name public text with --like, or leave it out.")
    from discreet.planning.plan import LEFT

    usual = float(np.sqrt(lengths.mean() * max(float(np.median(lengths)), 1.0))) / LEFT
    text = measured_text(name, np.asarray(corpus.word_counts))
    return corpus.n_documents, usual, (text, text, text)
