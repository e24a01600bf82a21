"""``discreet demo``: train on text that is on every machine."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.source import ThreadsOption


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer documents and sweeps.")] = False,
    threads: ThreadsOption = None,
) -> None:
    """Train a model on the documentation of the installed Python packages, and show what it finds and promises."""
    from discreet.corpus import datasets
    from discreet.models.lda import LDA

    typer.echo("Reading the docstrings of the standard library, numpy, scipy and scikit-learn …")
    corpus = datasets.docstrings(max_words=5_000)
    if quick:
        corpus = corpus[::4]
    typer.echo(f"{corpus.n_documents:,} documents, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens")
    n_topics, sweeps = (10, 50) if quick else (20, 200)
    start = time.perf_counter()
    model = LDA(n_topics, n_sweeps=sweeps, evaluate_every=0, n_threads=threads, progress=True).fit(corpus)
    seconds = time.perf_counter() - start
    release = model.release()
    show.topics_table(release.top_words())
    typer.echo(
        f"trained {release.n_topics} topics in {seconds:.1f} s ({corpus.n_tokens * sweeps / seconds:,.0f} tokens/s)"
    )
    typer.echo(f"guarantee: {release.guarantee.summary()}")
    typer.echo("next: discreet fit FILE -o MODEL  (discreet fit --help)")
