"""``discreet fit``: documents in, a model folder out."""

from __future__ import annotations

import difflib
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError, WouldLeak
from discreet.cli import show
from discreet.cli.source import (
    CollectionOption,
    DatasetOption,
    FileArgument,
    GroupOption,
    JsonOption,
    LabelOption,
    MaxWordsOption,
    OverwriteOption,
    StopWordsOption,
    TextOption,
    ThreadsOption,
    VocabularyOption,
    open_corpus,
)

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.models.base import TopicModel
    from discreet.models.loop import SweepInfo
    from discreet.models.release import Release
    from discreet.privacy.budget import BudgetFile

METHODS = ("lda", "private")
"""What ``--method`` takes. Each is one estimator in ``models/``."""

SWEEPS, BETA, DELTA = 200, 0.01, 1e-6
"""What is taken where nothing is said."""


def fit(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The folder to make.")],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Privacy budget of this run; makes it private.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", metavar="D", help=f"The delta that goes with it; {DELTA:g} by default.")
    ] = None,
    budget: Annotated[
        Path | None, typer.Option("--budget", metavar="FILE", help="Charge this budget file (see `discreet budget`).")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="|".join(METHODS), help="The model: private with --epsilon, otherwise lda."),
    ] = None,
    n_topics: Annotated[int, typer.Option("--topics", "-k", metavar="K", min=1, help="Number of topics.")] = 20,
    sweeps: Annotated[
        int | None,
        typer.Option("--sweeps", metavar="N", min=1, help=f"lda: passes over the documents, {SWEEPS} by default."),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Prior weight of each topic in a document.")] = 0.1,
    beta: Annotated[
        float | None, typer.Option("--beta", help=f"lda: prior weight of each word in a topic, {BETA} by default.")
    ] = None,
    text: TextOption = None,
    group: GroupOption = None,
    collection: CollectionOption = None,
    label: LabelOption = None,
    vocabulary: VocabularyOption = None,
    max_words: MaxWordsOption = None,
    stop_words: StopWordsOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Repeat a run; never for a private model."),
    ] = None,
    threads: ThreadsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table of topics.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on FILE and write it to the folder MODEL, completely or not at all."""
    method = method or ("lda" if epsilon is None else "private")
    check_method(method, epsilon, {"delta": delta, "budget": budget}, {"sweeps": sweeps, "beta": beta})
    from discreet.models.release_folder import check_target

    check_target(output, overwrite=overwrite)
    if budget is not None and seed is not None:
        raise InputError(
            "a seeded run promises nothing, so no budget can account for it. Leave --seed or --budget out."
        )
    file_of_budget = _open_budget(budget)
    corpus = open_corpus(
        file,
        dataset,
        text=text,
        group=group,
        collection=collection,
        label=label,
        vocabulary=vocabulary,
        max_words=max_words,
        stop_words=stop_words,
    )
    common: dict[str, Any] = {"alpha": alpha, "n_threads": threads, "random_state": seed, "progress": not quiet}
    model: TopicModel
    if method == "lda":
        from discreet.models.lda import LDA  # after reading: bad input need not wait for it

        told = None if quiet else [partial(_introduce, corpus)]
        common |= {"beta": BETA if beta is None else beta, "n_sweeps": sweeps or SWEEPS}
        model = LDA(n_topics, **common, evaluate_every=0, callbacks=told)  # a release keeps no likelihood
    else:
        from discreet.models.private import PrivateLDA
        from discreet.privacy import Ledger

        check_words(corpus)
        ledger = None if file_of_budget is None else Ledger(file=file_of_budget)
        told = None if quiet or budget is None else [partial(_tell_charge, budget)]
        common |= {"epsilon": epsilon, "delta": DELTA if delta is None else delta}
        model = PrivateLDA(n_topics, **common, ledger=ledger, callbacks=told)
    start = time.perf_counter()
    with _warnings_as_notes():
        release = model.fit(corpus).release()
    seconds = time.perf_counter() - start
    release.save(output, overwrite=overwrite)
    with suppress(KeyboardInterrupt):  # the model is written: stopping the print-out now is no failure
        _report(release, output, None if method == "private" else seconds, quiet=quiet, as_json=as_json)


def _introduce(corpus: Corpus, info: SweepInfo) -> None:
    """Tell the curator what is being read, once the first sweep has shown that it can be used."""
    if info.sweep == 1:
        empty = f" ({corpus.n_empty:,} of them empty)" if corpus.n_empty else ""
        show.note(f"{corpus.n_documents:,} documents{empty}, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens")


def _tell_charge(budget: Path, info: SweepInfo) -> None:
    """Before anybody stops the run: that would not give the budget back."""
    if info.sweep == 1:
        show.note(f"{budget} has been charged for the whole run, also if it is interrupted")


def _open_budget(path: Path | None) -> BudgetFile | None:
    """Before anything is read: a damaged or missing file should not cost the time of reading documents."""
    if path is None:
        return None
    from discreet.privacy.budget import BudgetFile

    return BudgetFile(path)


def check_method(method: str, epsilon: float | None, private_only: dict[str, Any], lda_only: dict[str, Any]) -> None:
    """Before anything is read. The dictionaries hold options of one method alone, None where they were not given."""
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"this version has {', '.join(METHODS)}."
        raise InputError(f"there is no method {method!r}; {hint}")
    if method == "lda" and epsilon is not None:
        raise InputError(
            f"lda takes no epsilon (found {epsilon:g}): it adds no noise and promises nothing. "
            "Leave --method out for a private model, or --epsilon for an ordinary one."
        )
    if method == "private" and epsilon is None:
        raise InputError("a private model needs --epsilon, the privacy budget of the run, such as --epsilon 1.")
    for name, value in (private_only if method == "lda" else lda_only).items():
        if value is not None:
            needed = " It goes with --epsilon." if method == "lda" else ""
            raise InputError(f"{method} takes no --{name} (found {value}). Leave it out.{needed}")


def check_words(corpus: Corpus) -> None:
    """The refusal of private models, in the words of the command line."""
    if corpus.vocabulary_from == "text":
        raise WouldLeak(
            "the words were read from the private text, and a word that one person used gives that person away. Name a "
            "public word list with --vocabulary, and leave --max-words out. (This version cannot choose words from the "
            "text privately.)"
        )


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """What the library warns of, as a line for the person at the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: show.note(f"warning: {message}")
        yield


def _report(release: Release, output: Path, seconds: float | None, *, quiet: bool, as_json: bool) -> None:
    """``seconds`` are told of ordinary models only: how long training took says how much there was to read."""
    if as_json:
        show.as_json(summary(release, output, seconds))
        return
    if not quiet:
        show.topics_table(release.top_words())
    typer.echo(f"guarantee: {release.guarantee.summary()}")
    if seconds is None:
        typer.echo(str(release.guarantee))
        typer.echo(f"wrote {output}")
    else:
        typer.echo(f"trained in {seconds:.1f} s, wrote {output}")


def summary(release: Release, output: Path, seconds: float | None) -> dict[str, Any]:
    return {
        "model": str(output),
        "method": release.method,
        "parameters": release.parameters,
        "n_topics": release.n_topics,
        "n_words": release.n_words,
        **({} if seconds is None else {"seconds": round(seconds, 3)}),
        "guarantee": release.guarantee.to_json(),
        "topics": release.top_words(),
    }
