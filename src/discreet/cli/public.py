"""``--public``: public text, or a model of it, that helps a private fit at no cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli.source import open_corpus

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.release.release import Release

ALPHA = 0.1
"""The prior weight of a public topic in a document."""

PublicOption = Annotated[
    str | None,
    typer.Option(
        "--public",
        metavar="FILE|MODEL|dataset:NAME|english",
        help="Public text, or a model folder of it, to learn from at no cost. It must not be the private text. "
        "english: the model of English that comes with the package.",
    ),
]

PublicTextOption = Annotated[
    str | None,
    typer.Option("--public-text", metavar="COLUMN", help="The column of --public that holds its text."),
]
SameFieldOption = Annotated[
    bool,
    typer.Option("--same-field", help="--public is of the same field as the documents: the plan expects more of it."),
]


def check_public_text(public: str | None, column: str | None) -> None:
    if column is not None and public is None:
        raise InputError("--public-text names a column of the file --public. Give that too, or leave this out.")


def open_public(
    public: str,
    file: str | None,
    dataset: str | None,
    *,
    column: str | None = None,
    n_topics: int | str | None = None,
    **how: Any,
) -> Corpus | Release | str:
    """The text or the model that ``--public`` names. Text is read like FILE (``how``), but in a ``column`` of its own.

    ``n_topics`` was asked for: a model has its own number of topics.
    """
    from discreet.models.knowledge import ENGLISH, N_ENGLISH
    from discreet.release.folder import is_release

    if public == ENGLISH:
        if n_topics not in (None, N_ENGLISH):
            raise InputError(
                f"--topics {n_topics} was given, but the model of English has {N_ENGLISH} topics. Leave --topics out."
            )
        if column is not None:
            raise InputError("--public-text is for text, and --public english is a model. Leave it out.")
        return public
    if public == "-":
        raise InputError("--public cannot be standard input. Name a file, a model folder or dataset:NAME.")
    if public in (file, f"dataset:{dataset}") or _same_file(public, file):
        raise InputError(
            f"--public names the private documents themselves ({public}). Name other text, which is public."
        )
    if not is_release(Path(public)):
        return open_corpus(public, None, text=column, **how)
    from discreet.release.release import Release

    if column is not None:
        raise InputError(f"--public-text is for text, and --public {public} is a model. Leave it out.")
    release = Release.load(public)
    if n_topics not in (None, release.n_topics):
        raise InputError(
            f"--topics {n_topics} was given, but the model {public} has {release.n_topics} topics. Leave --topics out."
        )
    return release


def _same_file(one: str, other: str | None) -> bool:
    """Whether both names lead to one file, through links or other spellings."""
    try:
        return other is not None and Path(one).samefile(other)
    except OSError:  # one of them is no file
        return False


def public_perplexity(public: Any, release: Release, corpus: Corpus, n_threads: int | None) -> float:
    """Of the topics of public text alone, with as many topics as the model: what a private model must beat."""
    from discreet.corpus.vocabulary import Vocabulary
    from discreet.evaluation import completion_perplexity
    from discreet.models.knowledge import public_knowledge
    from discreet.models.private.public import smoothed

    words = Vocabulary(release.vocabulary, "public")
    known = public_knowledge(public, words, n_topics=release.n_topics, n_threads=n_threads)
    return completion_perplexity(smoothed(known.topics), corpus, alpha=ALPHA, n_threads=n_threads)
