"""``discreet fit``: documents in, a model folder out."""

from __future__ import annotations

import difflib
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
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
    from discreet.models.loop import SweepInfo
    from discreet.models.release import Release

METHODS = ("lda",)
"""What ``--method`` takes. Each is one estimator in ``models/``."""


def fit(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The folder to make.")],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    method: Annotated[str, typer.Option("--method", metavar="|".join(METHODS), help="The model.")] = "lda",
    n_topics: Annotated[int, typer.Option("--topics", "-k", metavar="K", min=1, help="Number of topics.")] = 20,
    sweeps: Annotated[int, typer.Option("--sweeps", metavar="N", min=1, help="Passes over the documents.")] = 200,
    alpha: Annotated[float, typer.Option("--alpha", help="Prior weight of each topic in a document.")] = 0.1,
    beta: Annotated[float, typer.Option("--beta", help="Prior weight of each word in a topic.")] = 0.01,
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
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Privacy budget.", hidden=True)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table of topics.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on FILE and write it to the folder MODEL, completely or not at all."""
    check_method(method, epsilon)
    from discreet.models.release_folder import check_target

    check_target(output, overwrite=overwrite)
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
    from discreet.models.lda import LDA  # after reading: bad input need not wait for it

    model = LDA(
        n_topics,
        alpha=alpha,
        beta=beta,
        n_sweeps=sweeps,
        evaluate_every=0,  # a release keeps no likelihood, so none is computed
        n_threads=threads,
        random_state=seed,
        progress=not quiet,
        callbacks=None if quiet else [partial(_introduce, corpus)],
    )
    start = time.perf_counter()
    release = model.fit(corpus).release()
    seconds = time.perf_counter() - start
    release.save(output, overwrite=overwrite)
    with suppress(KeyboardInterrupt):  # the model is written: stopping the print-out now is no failure
        _report(release, output, seconds, quiet=quiet, as_json=as_json)


def _introduce(corpus: Corpus, info: SweepInfo) -> None:
    """Tell the curator what is being read, once the first sweep has shown that it can be used."""
    if info.sweep == 1:
        empty = f" ({corpus.n_empty:,} of them empty)" if corpus.n_empty else ""
        show.note(f"{corpus.n_documents:,} documents{empty}, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens")


def check_method(method: str, epsilon: float | None) -> None:
    """Before anything is read."""
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"this version has {', '.join(METHODS)}."
        raise InputError(f"there is no method {method!r}; {hint}")
    if epsilon is not None:
        raise InputError(
            f"lda takes no epsilon (found {epsilon:g}): it adds no noise and promises nothing. "
            "Private training comes with PrivateLDA, which is not in this version; leave --epsilon out."
        )


def _report(release: Release, output: Path, seconds: float, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        show.as_json(summary(release, output, seconds))
        return
    if not quiet:
        show.topics_table(release.top_words())
    typer.echo(f"guarantee: {release.guarantee.summary()}")
    typer.echo(f"trained in {seconds:.1f} s, wrote {output}")


def summary(release: Release, output: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(output),
        "method": release.method,
        "parameters": release.parameters,
        "n_topics": release.n_topics,
        "n_words": release.n_words,
        "seconds": round(seconds, 3),
        "guarantee": release.guarantee.to_json(),
        "topics": release.top_words(),
    }
