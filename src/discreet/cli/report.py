"""``discreet report``: a model folder as one page for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.models import ModelArgument
from discreet.cli.source import OverwriteOption

NamesOption = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="Names of topics, such as '7 meetings'; else MODEL.names.txt."),
]


def report(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.html", help="The page to write.")] = Path(
        "report.html"
    ),
    overwrite: OverwriteOption = False,
    names: NamesOption = None,
    title: Annotated[str | None, typer.Option("--title", help="The heading; else the name of the folder.")] = None,
    words: Annotated[int, typer.Option("-n", "--words", min=1, max=100, help="Words shown of each topic.")] = 12,
) -> None:
    """Write what a model promises and what its topics are as one HTML file that loads nothing from anywhere.

    It is made from the model folder alone, so it may go wherever the folder may.
    """
    from discreet.release.release import Release
    from discreet.report.names import names_for
    from discreet.report.page import check_report, write_report

    check_report(output, overwrite=overwrite)
    release = Release.load(model)
    if output.absolute().parent.resolve() == model.resolve():
        raise InputError(f"{output} would lie in the model's folder, which holds nothing else. Choose another place.")
    given, chosen = names_for(model, names, release.n_topics)
    if chosen is not None and names is None:
        show.note(f"names of topics from {chosen}")
    write_report(release, output, title=title or model.resolve().name, names=given, words=words, overwrite=overwrite)
    typer.echo(f"wrote {output}")
    typer.echo(f"guarantee: {release.guarantee.summary()}")
