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

PublicOption = Annotated[
    str | None,
    typer.Option(
        "--public",
        metavar="FILE|MODEL|dataset:NAME|english",
        help="Public text, or a model folder of it, to learn from at no cost. It must not be the private text. "
        "english: the model of English that comes with the package.",
    ),
]


def open_public(
    public: str, file: str | None, dataset: str | None, *, n_topics: int | str | None = None, **how: Any
) -> Corpus | Release | str:
    """The text or the model that ``--public`` names. Text is read like FILE (``how``), but in columns of its own.

    ``n_topics`` was asked for: a model has its own number of topics.
    """
    from discreet.models.knowledge import ENGLISH, N_ENGLISH
    from discreet.release.folder import is_release

    if public == ENGLISH:
        if n_topics not in (None, N_ENGLISH):
            raise InputError(
                f"--topics {n_topics} was given, but the model of English has {N_ENGLISH} topics. Leave --topics out."
            )
        return public
    if public == "-":
        raise InputError("--public cannot be standard input. Name a file, a model folder or dataset:NAME.")
    if public in (file, f"dataset:{dataset}") or _same_file(public, file):
        raise InputError(
            f"--public names the private documents themselves ({public}). Name other text, which is public."
        )
    if not is_release(Path(public)):
        return open_corpus(public, None, **how)
    from discreet.release.release import Release

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
