"""``discreet fit --engine spark``: documents of a Parquet table on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli.source import list_language, stop_list

if TYPE_CHECKING:
    from discreet.corpus.stored import StoredCorpus
    from discreet.corpus.vocabulary import Vocabulary
    from discreet.engines.spark.engine import SparkEngine

EngineOption = Annotated[
    str, typer.Option("--engine", metavar="threads|spark", help="Where to train; spark needs discreet[spark].")
]
MasterOption = Annotated[
    str | None,
    typer.Option("--master", metavar="ADDRESS", help="spark: the cluster; local[*], spark://…, yarn, sc://…"),
]
ShardsOption = Annotated[
    str | None,
    typer.Option("--shards", metavar="PATH", help="spark: a private folder that all executors can write to."),
]
METHODS = ("private", "adapted", "variational", "lda", "lbla")


def open_engine(
    context: typer.Context, engine: str, master: str | None, shards: str | None, method: str
) -> SparkEngine | None:
    """The engine that was asked for; None for the threads of this machine. It stops when the command ends."""
    if engine == "threads":
        for option, value in (("master", master), ("shards", shards)):
            if value is not None:
                raise InputError(f"--{option} goes with --engine spark. Leave it out, or add that.")
        return None
    if engine != "spark":
        raise InputError(f"--engine must be threads or spark; found {engine}.")
    if method not in METHODS:
        able = ", ".join(METHODS[:-1])
        raise InputError(f"{method} runs on threads only; --engine spark goes with --method {able} or {METHODS[-1]}.")
    if master is None or shards is None:
        raise InputError("--engine spark needs --master, the cluster, and --shards, a private folder on it.")
    from discreet.engines.spark.session import open_session

    session = open_session(master)
    context.call_on_close(session.stop)
    from discreet.engines.spark import SparkEngine

    return SparkEngine(session, shards)


def open_stored(
    context: typer.Context,
    engine: SparkEngine,
    file: str | None,
    dataset: str | None,
    *,
    text: str | None,
    group: str | None,
    vocabulary: str | Vocabulary | None,
    max_words: int | None,
    stop_words: str | None,
    token_pattern: str | None,
    lemmas: str | None,
    max_tokens: int | None,
    quiet: bool,
    **others: Any,
) -> StoredCorpus:
    """The documents of the table ``file``. They are removed from the cluster when the command ends.

    Without a ``vocabulary`` they have all words of the text, or the ``max_words`` most frequent ones.
    """
    from discreet.corpus import Tokenizer, word_list
    from discreet.corpus.vocabulary import given_vocabulary
    from discreet.corpus.word_lists import usual_tokenizer
    from discreet.engines.spark.jobs import job

    for option, value in {"dataset": dataset, **others}.items():
        if value is not None:
            raise InputError(f"--{option.replace('_', '-')} does not go with --engine spark. Leave it out.")
    if file is None or text is None:
        raise InputError("--engine spark reads a Parquet table: name it, and its column of text with --text.")
    with job(engine.spark, f"read {file}", "Name a Parquet file or folder that the cluster can read."):
        table = engine.spark.read.parquet(file)
    language = list_language(vocabulary)
    stop = stop_list(stop_words)
    if language is not None and stop is None:
        stop = usual_tokenizer(language).stop_words or frozenset()
    tokenizer = Tokenizer(token_pattern, stop_words="auto" if stop is None else stop, lemmas=lemmas)
    if language is None:
        words, most = given_vocabulary(vocabulary, max_words), max_words
    else:
        words, most = word_list(language, max_words, tokenizer=tokenizer), None
    stored = engine.read(table, text=text, groups=group, vocabulary=words, tokenizer=tokenizer)
    context.call_on_close(stored.remove)
    if most is None:
        return stored
    chosen = stored.most_frequent(most)
    context.call_on_close(chosen.remove)
    return chosen


def words_of_public(public: Any, max_words: int | None) -> Vocabulary:
    """The words of ``adapted`` if no others are given: those of the public text, known before a document is read."""
    from discreet.models.adapted.model import MOST_WORDS
    from discreet.models.knowledge import most_frequent_words

    return most_frequent_words(public, max_words or MOST_WORDS)
