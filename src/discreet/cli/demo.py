"""``discreet demo``: train on text that is on every machine, as if it were private."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet._errors import counted
from discreet.cli import show
from discreet.cli.source import ThreadsOption
from discreet.cli.wording import in_options

if TYPE_CHECKING:
    from discreet.corpus import Corpus

EPSILON = 4.0
"""With this ε 11,400 docstrings give topics clearly better than the unigram model. Measured in one fit each (completion
perplexity of each tenth document, held out; unigram in brackets; words selected from the same budget): 20 topics at ε =
4: 222 (362), 644 words. With an earlier recipe, which had 239 there: 10 topics at ε = 1: 86 (112), but over 155 words
only; at 2: 152 (206), 324 words; at 8: 380 (582), 1,199 words, where 20 topics reached 361 and plain LDA
306. Perplexities over different words cannot be compared."""

SHARE = 0.05
"""Of the budget, for words: what ``fit_text`` takes where the number of units is not said to be public."""


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer topics and rounds.")] = False,
    threads: ThreadsOption = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="The report; an earlier one is replaced.")
    ] = Path("discreet-demo.html"),
) -> None:
    """Train a private model on the documentation of the installed Python packages; show what it finds and promises, and
    write a report about it."""
    from dataclasses import replace

    from discreet.corpus import datasets
    from discreet.models.fit_text import fit_text
    from discreet.models.private.model import PrivateLDA
    from discreet.report.page import check_report, write_report

    check_report(output, overwrite=True)  # before minutes of training
    typer.echo("Reading the docstrings of the standard library, numpy, scipy and scikit-learn …")
    corpus = replace(datasets.docstrings(), groups=None)  # documents are the unit: modules are too few for it
    held_out = [d % 10 == 0 for d in range(corpus.n_documents)]
    train, rest = corpus[[not held for held in held_out]], corpus[held_out]
    typer.echo(
        f"{train.n_documents:,} docstrings to train on, {rest.n_documents:,} held out. They are public, so their "
        "number may be shown; everything else is done as if they were private, one document being the unit."
    )
    n_topics, rounds = (10, 60) if quick else (20, 240)
    typer.echo(
        f"Training {n_topics} topics at ε = {EPSILON:g}, δ = 1e-6, words and topics from one budget. This ε is large "
        "because the corpus is small: noise that hides one document among ten thousand hides much of the rest. With a "
        "hundred thousand documents ε = 1 is enough."
    )
    typer.echo(f"`discreet plan` would have said: {in_options(_planned(train, n_topics))}")
    start = time.perf_counter()
    model = PrivateLDA(n_topics, epsilon=EPSILON, n_rounds=rounds, n_threads=threads, progress=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer topics, or topics of little use: printed below
        model = fit_text(model, train)
    seconds = time.perf_counter() - start
    release = model.release()
    show.topics_table(release)
    words, topics = counted(release.n_words, "word"), counted(release.n_topics, "topic")
    typer.echo(f"{words} selected and {topics} trained in {seconds:.1f} s")
    typer.echo(_compared(model.perplexity(rest), train, rest.restrict(release.vocabulary)))
    if release.usefulness is not None:
        typer.echo(in_options(release.usefulness.summary()))
    typer.echo(f"guarantee: {release.guarantee.summary()}")
    typer.echo(str(release.guarantee))
    write_report(release, output, title="Docstrings of Python packages", overwrite=True)
    typer.echo(f"report: {output.resolve()}  (open it in a browser)")
    typer.echo("next: discreet fit FILE --epsilon 1 -o MODEL  (discreet fit --help)")


def _planned(train: Corpus, n_topics: int) -> str:
    """What the plan says of this corpus, told its number of documents and their usual length."""
    from discreet.planning import plan
    from discreet.planning.plan import LEFT

    length = train.n_tokens / train.n_documents / LEFT  # running words: those of docstrings are not counted
    made = plan(documents=train.n_documents, words_per_document=length, epsilon=EPSILON, topics=n_topics, share=SHARE)
    return made.summary()


def _compared(perplexity: float, train: Corpus, rest: Corpus) -> str:
    """Against word frequencies alone, counted exactly."""
    import numpy as np

    from discreet.evaluation import completion_perplexity

    counts = train.restrict(rest.vocabulary).word_counts + 0.5
    unigram = completion_perplexity((counts / counts.sum())[None, :], rest, alpha=np.ones(1))
    return (
        f"perplexity of the held-out docstrings: {perplexity:.0f}; with word frequencies alone, no topics: "
        f"{unigram:.0f} (lower is better)"
    )
