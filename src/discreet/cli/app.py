"""The list of commands. Nothing heavy is imported here: ``discreet --help`` must start fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperCommand

from discreet.cli import (
    attack,
    audit,
    budget,
    collect,
    data,
    demo,
    explore,
    fit,
    models,
    plan,
    report,
    reproduce,
    trends,
)
from discreet.cli.panels import InPanels

app = typer.Typer(
    name="discreet",
    help="Topic models of text that must stay private, with the guarantee stated exactly.",
    epilog="\b\nExample:  discreet fit mails.jsonl --text body -o mails-model",
    add_completion=False,
    rich_markup_mode=None,  # plain help: rich would take as long to load as everything else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _version(asked: bool) -> None:
    if asked:
        import discreet

        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Topic models of text that must stay private, with the guarantee stated exactly."""


class Fit(InPanels):
    """The command with the most options."""

    panels = fit.PANELS


class Trends(InPanels):
    """Has nearly as many."""

    panels = trends.PANELS


def _add(function: Callable[..., None], short_help: str, example: str, kind: type[TyperCommand] = TyperCommand) -> None:
    """``\b`` keeps the example on its own line, unwrapped, so that it can be copied."""
    app.command(cls=kind, short_help=short_help, epilog=f"\b\nExample:  {example}")(function)


_add(demo.demo, "Train on text that is on every machine", "discreet demo --quick")
_add(
    plan.plan,
    "Say what to expect of a private model before anything is spent",
    "discreet plan --documents 3400 --words-per-document 120 --epsilon 1 --topics 20",
)
_add(
    fit.fit,
    "Train a model and write its folder",
    "discreet fit mails.jsonl --text body --epsilon 1 --topics 20 -o mails-model",
    Fit,
)
_add(models.topics, "Show the topics of a model", "discreet topics mails-model -n 15")
_add(
    report.report,
    "Write a page about a model: its promise, its topics",
    "discreet report mails-model -o report.html",
)
_add(
    models.transform,
    "Write the topic proportions of documents",
    "discreet transform mails-model new.jsonl --text body -o new-topics.csv",
)
_add(
    models.predict,
    "Say which collection documents are from",
    "discreet predict mails-model new.jsonl --text body",
)
_add(
    models.evaluate,
    "Measure a model on documents",
    "discreet evaluate mails-model held-out.jsonl --text body --json",
)
_add(
    trends.trends,
    "Write topic shares by time or class, with noise for privacy",
    "discreet trends mails-model mails.jsonl --by month --from 2015 --to 2016 --epsilon 0.5 -o trends.html",
    Trends,
)
_add(
    explore.explore,
    "Look at the documents behind the topics, on a private page of this machine",
    "discreet explore mails-model mails.jsonl --text body --label folder",
)
_add(
    budget.budget,
    "Show or make the privacy budget of a data set",
    "discreet budget mails.budget --create --epsilon 3 --delta 1e-6",
)
_add(
    attack.attack,
    "Attack a method: how many training documents does it give away?",
    "discreet attack private dataset:nips --epsilon 1 --topics 10 -o roc.svg",
)
_add(
    audit.audit,
    "Attack a method with canaries and bound its epsilon from below",
    "discreet audit --method private --epsilon 1 -o audit.svg",
)
_add(
    reproduce.reproduce,
    "Run a paper's figure or table again and judge its findings",
    "discreet reproduce zhao2021 figure5 --quick",
)
app.add_typer(data.app, name="data", short_help="List the named data sets", epilog="\b\nExample:  discreet data ls")
app.add_typer(
    collect.app,
    name="collect",
    short_help="Collect randomised reports, and send them",
    epilog="\b\nExample:  discreet collect serve collector",
)
