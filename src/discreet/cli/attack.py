"""``discreet attack``: how many training documents do the topics of a method give away?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._catalogue import METHODS
from discreet._errors import InputError
from discreet.cli import Kept, show
from discreet.cli.methods import PARAMETERS, TOPICS, check_method
from discreet.cli.source import (
    CollectionOption,
    DatasetOption,
    FileArgument,
    JsonOption,
    MaxWordsOption,
    OverwriteOption,
    TextOption,
    open_compared,
    open_corpus,
)

if TYPE_CHECKING:
    from discreet.attacks.membership.attacked import Attacked, Claim
    from discreet.attacks.membership.recipe import Recipe

SCIKIT_LEARN = "scikit-learn"

WHO = (
    "note: members are drawn anew for every model, and every model is the target once. This says how much the "
    "method gives away about such documents, and is itself computed from them: if they are private, only their curator "
    "may see it."
)


def attack(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="A method of `discreet fit`, or scikit-learn for its LDA.")
    ],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    text: TextOption = None,
    collection: CollectionOption = None,
    max_words: MaxWordsOption = None,
    topics: Annotated[int, typer.Option("--topics", metavar="K", min=1, help="Topics of each model.")] = TOPICS,
    epsilon: Annotated[float | None, typer.Option("--epsilon", metavar="E", help="Of each private model.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", metavar="D", help="Of each private model.")] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help="The paper's form of the method.")] = False,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="NAME=VALUE", help="Any parameter of the estimator, such as n_sweeps=50."),
    ] = None,
    shadows: Annotated[
        int, typer.Option("--shadows", metavar="N", min=7, help="Shadow models that each target is compared with.")
    ] = 128,
    words_from: Annotated[
        str,
        typer.Option(
            "--words-from",
            metavar="public|target",
            help="Words of all documents, or of the target's own as in the published attack (one target).",
        ),
    ] = "public",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="SVG", help="Draw the curves, on logarithmic axes.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option("--work", metavar="DIR", help="Where finished models are kept; in the user's cache by default."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", metavar="N", min=1, max=256, help="All cores by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Decides members and models.")] = 0,
    overwrite: OverwriteOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no notes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Attack METHOD on the documents of FILE: how many training documents can be recognised from its topics?

    Models are trained on random halves of the documents. LiRA compares each document's best likelihood under one of
    them with what it is under the others, trained with the document and without it.
    """
    recipe, claim = _recipe(method, topics, epsilon, delta, as_published, parameter or [])
    if words_from not in ("public", "target"):
        raise InputError(f"--words-from must be public or target; found {words_from!r}.")
    if output is not None:
        _check_output(output, overwrite)
    if work is not None and work.exists() and not work.is_dir():
        raise InputError(f"{work} is not a folder. Name a folder, there or to be made, with --work.")
    if recipe.compares_collections:
        how: dict[str, Any] = {"collection": collection, "text": text, "max_words": max_words, "quiet": quiet}
        documents = open_compared(method, file, dataset, **how)
    elif collection is not None:
        raise InputError(f"{method} compares no collections. Leave --collection out, or attack cross-lda, say.")
    else:
        documents = open_corpus(file, dataset, text=text, max_words=max_words, quiet=quiet)
    from discreet.attacks.membership.attacked import attack as attack_bank
    from discreet.attacks.membership.bank import Plan, open_bank

    if words_from == "target":
        claim = None  # such words are read from the documents, outside the guarantee
    plan = Plan(recipe, "target" if words_from == "target" else "public", seed)
    place = work or cache()
    tell: Callable[[Any], None] | None = None if quiet else lambda cost: show.note(f"cost: {cost}")
    try:
        with _bar(quiet) as report:
            running: dict[str, Any] = {"n_processes": processes, "tell_cost": tell, "report": report}
            bank = open_bank(documents, plan, shadows + 1, folder=place, **running)
    except KeyboardInterrupt:
        show.note(f"interrupted: finished models are kept in {place}; the same command resumes")
        raise Kept from None
    found = attack_bank(bank, claim)
    if as_json:
        show.as_json({"method": method, "recipe": recipe.to_json(), "words": words_from, **found.to_json()})
    else:
        _print(found)
    if output is not None:
        from discreet.attacks.membership.picture import draw

        output.write_text(draw(found.curves, f"Membership attacks on {recipe.name}, K = {topics}", claim), "utf-8")
        show.note(f"wrote {output}")
    if not quiet:
        show.note(WHO)


def _recipe(
    method: str, topics: int, epsilon: float | None, delta: float | None, as_published: bool, given: list[str]
) -> tuple[Recipe, Claim | None]:
    """How models are trained, and what (ε, δ) they promise about a document, if anything."""
    from discreet.attacks.membership.attacked import Claim
    from discreet.attacks.membership.recipe import Recipe

    more = dict(_parameter(one) for one in given)
    if method == SCIKIT_LEARN:
        if epsilon is not None or delta is not None or as_published:
            raise InputError("scikit-learn's LDA has no privacy. Leave --epsilon, --delta and --as-published out.")
        return Recipe.scikit_learn(topics, **more), None
    options = {"epsilon": epsilon, "delta": delta, "as-published": as_published or None}
    names = {parameter: option for option, parameter in PARAMETERS.items()}
    options |= {names[name]: value for name, value in more.items() if name in names}
    if method not in METHODS:
        raise InputError(f"there is no method {method!r}; there are {SCIKIT_LEARN}, {', '.join(METHODS)}.")
    chosen = check_method(method, options)
    parameters = {**chosen.form.defaults, "n_topics": topics}
    parameters |= {PARAMETERS[option]: value for option, value in options.items() if value is not None}
    if parameters.get("alpha", 0) is None:
        del parameters["alpha"]
    recipe = Recipe(chosen.model.home, chosen.model.name, {**parameters, **more})
    model = recipe.model(0)  # a wrong parameter is found now, not after the documents have been read
    sound = chosen.form is chosen.model.sound and chosen.private and chosen.model.unit == "document"
    return recipe, Claim(float(model.epsilon), float(model.delta)) if sound else None


def _parameter(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"--parameter takes NAME=VALUE, such as n_sweeps=50; found {given!r}.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _check_output(output: Path, overwrite: bool) -> None:
    if output.suffix.lower() != ".svg":
        raise InputError(f"{output} must end in .svg: the figure is drawn as SVG.")
    if output.exists() and not overwrite:
        raise InputError(f"{output} exists. Add --overwrite to replace it, or name another file.")
    if not output.parent.is_dir():
        raise InputError(f"there is no folder {output.parent}. Make it first, or name another with --output.")


def _print(found: Attacked) -> None:
    from discreet.attacks.membership.roc import RATES

    rows: list[tuple[str, ...]] = []
    bounds: list[float | None] = []
    for name, curve in found.curves.items():
        cells = []
        for fpr in RATES:
            low, high = (one := found.found(name, fpr)).share.interval
            wide = one.resampled
            cells.append(f"{one.share.value:.2%} [{low:.2%}, {high:.2%}], by documents [{wide[0]:.2%}, {wide[1]:.2%}]")
            bounds = [*bounds, one.bound]
        rows.append((name, *cells, f"{curve.auc:.4f}", f"{curve.balanced_accuracy:.4f}"))
    if found.claim is not None:
        rows.append(("allowed by (ε, δ)", *(f"{bound:.2%}" for bound in bounds[: len(RATES)]), "", ""))
    names = [f"TPR at {fpr:.1%} FPR" for fpr in RATES]
    show.table(("attack", *names, "AUC", "balanced accuracy"), rows, right=("AUC", "balanced accuracy"))
    curve = next(iter(found.curves.values()))
    show.note(
        f"{found.n_targets:,} target{'s' * (found.n_targets != 1)} with {found.n_shadows:,} shadows each: "
        f"{curve.n_members:,} decisions on members, {curve.n_others:,} on others. Intervals of 95%: Clopper and "
        "Pearson's, which treats them as independent, and by resampling documents."
    )
    if curve.n_others * RATES[0] < 1:
        show.note("warning: 0.1% of the others is less than one document here, so TPR at 0.1% FPR is that at none.")


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on a terminal; nothing in a log."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("models", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def cache() -> Path:
    import pooch

    return Path(pooch.os_cache("discreet")) / "attack"
