"""``discreet topics``, ``transform`` and ``evaluate``: what to do with a model folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError, counted
from discreet.cli import show
from discreet.cli.public import PublicOption, PublicTextOption, check_public_text, open_public, public_perplexity
from discreet.cli.source import (
    PREFIX,
    CollectionOption,
    DatasetOption,
    FileArgument,
    IdOption,
    JsonOption,
    OverwriteOption,
    TextOption,
    ThreadsOption,
    holds_counts,
    holds_pictures,
    open_compared,
    open_corpus,
)
from discreet.cli.wording import in_options

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.release.release import Release

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `discreet fit` made.")]

CURATOR = (
    "note: this is computed from the documents themselves and is not covered by the model's guarantee. "
    "If they are private, only their curator may see it."
)


PREDICTED = {
    "accuracy": "share of the documents whose collection is predicted, all collections being alike beforehand",
    "majority": "the same by the largest collection: what a prediction must beat",
}
"""Measures of cross-collection models."""

UNORDERED = (
    "note: counts and pictures have no word order, so the windows of C_V and C_NPMI are whole documents here; compare "
    "them with each other, not with those of text."
)


def topics(
    model: ModelArgument,
    n_words: Annotated[int, typer.Option("--words", "-n", metavar="N", min=1, help="Words per topic.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show the most probable words of each topic of MODEL, and what the model promises."""
    from discreet.release.release import Release

    release = Release.load(model)
    if as_json:
        about = {"method": release.method, "guarantee": release.guarantee.to_json()}
        show.as_json({**about, "usefulness": show.usefulness_json(release), **show.topics_json(release, n_words)})
        return
    show.topics_table(release, n_words)
    show.note(f"guarantee: {release.guarantee.summary()}")
    if release.usefulness is not None:
        show.note(in_options(show.printable(release.usefulness.summary())))


def transform(
    model: ModelArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="The file to make: .csv, .jsonl or .npy; - prints CSV."),
    ],
    file: FileArgument = None,
    dataset: DatasetOption = None,
    text: TextOption = None,
    collection: CollectionOption = None,
    id_column: IdOption = None,
    threads: ThreadsOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the topic proportions of each document of FILE under MODEL: a row per document, a column per topic."""
    from discreet.cli.tables import STDOUT, check_output, write_rows
    from discreet.release.release import Release

    check_output(output, overwrite=overwrite, with_ids=id_column is not None)
    release = Release.load(model)
    check_collection(model, release, collection)
    opened = open_corpus if release.collections is None else partial(open_compared, str(model), collection=collection)
    corpus = _documents(model, release, file, dataset, text, id_column, opened)
    named = id_column is not None or corpus.codebook is not None  # a picture that cannot be read has no row
    write_rows(output, release.transform(corpus, n_threads=threads), corpus.labels if named else None)
    if output != STDOUT:
        documents, n_topics = counted(corpus.n_documents, "document"), counted(release.n_topics, "topic")
        show.note(f"wrote {output}: {documents}, {n_topics}; only you can read the file")
    show.note(CURATOR)


def predict(
    model: ModelArgument,
    file: FileArgument = None,
    dataset: DatasetOption = None,
    text: TextOption = None,
    id_column: IdOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which collection each document of FILE is most probably from, under a cross-collection MODEL."""
    from discreet.release.release import Release

    release = Release.load(model)
    if release.collections is None:
        raise InputError(
            f"{model} has no collections, so it predicts none. Train one with --collection and --epsilon, or with "
            "--method cross-lda."
        )
    corpus = _documents(model, release, file, dataset, text, id_column, open_corpus)
    if empty := int((corpus.lengths == 0).sum()):
        of = f"{empty:,} of {counted(corpus.n_documents, 'document')}"
        show.note(f"note: no word of the model is in {of}, so that the collection shown for them is a guess")
    chances = release.predict_proba(corpus, n_threads=threads)
    names = range(corpus.n_documents) if corpus.labels is None else corpus.labels.tolist()
    best = [(release.collections[c], row[c]) for row, c in zip(chances, chances.argmax(axis=1), strict=True)]
    if as_json:
        each = [dict(zip(map(str, release.collections), row, strict=True)) for row in chances.tolist()]
        documents = zip(names, best, each, strict=True)
        show.as_json([{"document": name, "collection": one[0], "chances": all_} for name, one, all_ in documents])
    else:
        rows = [(str(name), str(label), f"{chance:.4f}") for name, (label, chance) in zip(names, best, strict=True)]
        show.table(("document", "collection", "chance"), rows, right=("chance",))
    show.note(CURATOR)


def evaluate(
    model: ModelArgument,
    file: FileArgument = None,
    dataset: DatasetOption = None,
    text: TextOption = None,
    collection: CollectionOption = None,
    n_words: Annotated[
        int, typer.Option("--words", "-n", metavar="N", min=2, help="Words per topic for the coherence measures.")
    ] = 10,
    public: PublicOption = None,
    public_text: PublicTextOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure MODEL on the documents of FILE: completion perplexity, coverage, coherence and topic diversity."""
    from discreet.corpus import Tokenizer
    from discreet.evaluation import coverage
    from discreet.release.measured import ignored_words, measured
    from discreet.release.release import Release

    check_public_text(public, public_text)
    release = Release.load(model)
    known = (release.tokenizer or Tokenizer()).for_vocabulary(release.vocabulary)
    tokenizer = replace(known, stop_words=None)  # the vocabulary decides which words count
    check_collection(model, release, collection)
    pictures = documents_are_pictures(model, release, file, dataset)
    how: dict[str, Any] = {"codebook": release.codebook} if pictures else {"tokenizer": tokenizer}
    opened = open_corpus if release.collections is None else partial(open_compared, str(model))
    everything = opened(file, dataset, text=text, collection=collection, **how)
    corpus = _known(model, everything.restrict(release.vocabulary))
    covered = coverage(everything, release.vocabulary, ignored=ignored_words(release.tokenizer))
    beside: dict[str, float] = {}  # only with --public
    if public is not None:
        text_of_others = open_public(public, file, dataset, column=public_text, tokenizer=tokenizer)
        beside["public_perplexity"] = public_perplexity(text_of_others, release, corpus, threads)
    ordered = not pictures and not holds_counts(file, dataset)
    found = measured(release, corpus, top_n=n_words, ordered=ordered, n_threads=threads)
    held_out, best, wide, spread = found.held_out, found.top_n, found.wide, found.diversity
    coherences = {"c_v": found.c_v.mean, "c_npmi": found.c_npmi.mean, "u_mass": found.u_mass.mean}
    mixed = {} if found.mixed_c_v is None else {"mixed_c_v": found.mixed_c_v.mean}  # of cross-collection models
    predicted = {} if release.collections is None else _prediction(release, corpus, threads)
    if as_json:
        show.as_json(
            {
                "perplexity": held_out.perplexity,
                "unigram_perplexity": found.unigram,
                **beside,
                "coverage": covered,
                "scored_documents": held_out.n_documents,
                "scored_tokens": held_out.n_tokens,
                "coherence": {**coherences, **mixed},
                **predicted,
                "windows": "usual" if ordered else "documents",
                "diversity": spread,
            }
        )
    else:
        scored = f"{counted(held_out.n_tokens, 'token')} of {counted(held_out.n_documents, 'document')}"
        union = "C_V of the best common words and each collection's together"
        show.table(
            ("measure", "value", "meaning"),
            [
                ("perplexity", f"{held_out.perplexity:.2f}", f"document completion, {scored}; lower is better"),
                ("unigram", f"{found.unigram:.2f}", "the same by word frequencies alone: what topics must beat"),
                *(("public", f"{value:.2f}", "the same by topics of --public alone") for value in beside.values()),
                ("coverage", f"{covered:.4f}", "share of the tokens, stop words apart, that are words of the model"),
                ("C_V", f"{found.c_v.mean:.4f}", f"coherence of the {best} best words of each topic; higher is better"),
                ("C_NPMI", f"{found.c_npmi.mean:.4f}", "the same by normalised mutual information"),
                ("U_Mass", f"{found.u_mass.mean:.4f}", "the same by documents that hold both words"),
                *(("mixed C_V", f"{value:.4f}", union) for value in mixed.values()),
                *((name, f"{predicted[name]:.4f}", meaning) for name, meaning in PREDICTED.items() if predicted),
                ("diversity", f"{spread:.4f}", f"share of different words among the best {wide} of each topic"),
            ],
            right=("value",),
        )
    if not ordered:
        show.note(UNORDERED)
    show.note(CURATOR)


def _prediction(release: Release, corpus: Corpus, threads: int | None) -> dict[str, float]:
    """How often the collection of a document is predicted, and how often the largest collection is right."""
    import numpy as np

    from discreet.corpus.collections import collection_labels, collection_numbers

    assert release.collections is not None
    numbers = collection_numbers(collection_labels(corpus), release.collections)
    found = release.predict_proba(corpus, n_threads=threads).argmax(axis=1)
    return {"accuracy": float((found == numbers).mean()), "majority": float(np.bincount(numbers).max() / len(numbers))}


def _documents(
    model: Path,
    release: Release,
    file: str | None,
    dataset: str | None,
    text: str | None,
    id_column: str | None,
    opened: Callable[..., Corpus],
) -> Corpus:
    """The documents over the vocabulary of the model. Documents without any of its words are an error."""
    pictures = documents_are_pictures(model, release, file, dataset)
    words: dict[str, Any] = {"vocabulary": release.vocabulary, "tokenizer": release.tokenizer}
    how = {"codebook": release.codebook} if pictures else words
    corpus = opened(file, dataset, text=text, id_column=id_column, **how)
    return _known(model, corpus.restrict(release.vocabulary) if pictures else corpus)


def documents_are_pictures(model: Path, release: Release, file: str | None, dataset: str | None) -> bool:
    """Whether the documents are pictures, as those of the model must be too."""
    found = holds_pictures(file, dataset)
    if found and release.codebook is None:
        raise InputError(f"{model} was not trained on pictures, and these are. Give it text, or train one on pictures.")
    here = file is None or file.startswith(PREFIX) or Path(file).exists()  # if not, the reader says so
    if here and not found and release.codebook is not None and not holds_counts(file, dataset):
        raise InputError(
            f"{model} was trained on pictures, and there are none in {dataset or file}. Give a folder of pictures."
        )
    return found


def check_collection(model: Path, release: Release, collection: str | None) -> None:
    if collection is not None and release.collections is None:
        raise InputError(f"{model} has no collections. Leave --collection out.")


def _known(model: Path, corpus: Corpus) -> Corpus:
    if corpus.n_tokens == 0:
        raise InputError(f"no document holds a word of {model}. Are they of the same kind and language?")
    return corpus
