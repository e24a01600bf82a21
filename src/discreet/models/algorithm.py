"""Which algorithm a plain model trains with: sampled sweeps, or collapsed steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeGuard

from discreet import engines
from discreet._errors import InputError
from discreet._random import Key
from discreet._types import IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines.interface import CollapsedEngine, SweepEngine

Algorithm: TypeAlias = Literal["sampled", "collapsed", "auto"]
Engine: TypeAlias = SweepEngine | CollapsedEngine

MOST_TOPICS = 13
"""``auto`` collapses with up to so many topics for each token of a mean document; with more topics it samples.
Documents then have few topics each, a collapsed step computes the shares of all, and a table of documents by topics
grows large. The limit lies between cells of ``benchmarks/algorithms.py``: 6.6 topics a token on documents of 30 tokens,
10 on 10 and 12.9 on 77 were better collapsed, 13.3 on 30 and 20 on 10 were not."""

FEWEST_DOCUMENTS = 16
"""With fewer, ``auto`` samples. Most words are then in one document only, and without its own tokens a step knows
nothing of them: two planted topics were found in 1 of 20 runs on four documents, in 20 of 20 on ten."""


def is_collapsed(corpus: Corpus, n_topics: int) -> bool:
    """What ``auto`` chooses, from the size of the corpus and the number of topics alone."""
    enough = corpus.n_documents >= FEWEST_DOCUMENTS
    return enough and n_topics * corpus.n_documents <= MOST_TOPICS * corpus.n_tokens


def open_engine(
    algorithm: Algorithm,
    corpus: Corpus,
    n_topics: int,
    key: Key,
    *,
    n_threads: int | None = None,
    parts: IntArray | None = None,
    callbacks: Iterable[object] | None = None,
    backend: Any = engines,
) -> Engine:
    """The engine of the chosen algorithm, with the first topics. ``auto`` samples if a callback looks at the run."""
    looks_inside = any(hasattr(callback, "begin") for callback in callbacks or ())
    if algorithm == "collapsed" or (algorithm == "auto" and not looks_inside and is_collapsed(corpus, n_topics)):
        engine: Engine = backend.open_collapsed(corpus, n_topics, key, n_threads=n_threads, parts=parts)
    else:
        engine = backend.open_sweeps(corpus, n_topics, key, n_threads=n_threads, parts=parts)
    try:
        engine.draw_first_topics()
    except BaseException:
        engine.close()
        raise
    return engine


def draws_topics(engine: Engine) -> TypeGuard[SweepEngine]:
    """Whether each token has one topic; if not, counts are expected ones."""
    return hasattr(engine, "tokens")


def check_same(algorithm: Algorithm, engine: Engine) -> None:
    """Refuse to continue a run by another algorithm than it began with."""
    begun = "sampled" if draws_topics(engine) else "collapsed"
    if algorithm not in ("auto", begun):
        raise InputError(
            f"warm_start continues a run with algorithm={begun!r}; found algorithm={algorithm!r}. Set warm_start=False "
            "to start anew."
        )
