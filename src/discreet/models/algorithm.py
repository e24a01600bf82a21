"""Which algorithm a plain model trains with: sampled sweeps, or collapsed steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from discreet._random import Key
from discreet._types import IntArray
from discreet.corpus.corpus import Corpus
from discreet.engines import open_collapsed, open_sweeps
from discreet.engines.interface import CollapsedEngine, SweepEngine

Algorithm: TypeAlias = Literal["sampled", "collapsed", "auto"]
Engine: TypeAlias = SweepEngine | CollapsedEngine


def open_engine(
    algorithm: Algorithm,
    corpus: Corpus,
    n_topics: int,
    key: Key,
    *,
    n_threads: int | None = None,
    parts: IntArray | None = None,
    callbacks: Iterable[object] | None = None,
) -> Engine:
    """The engine of the chosen algorithm, with its first topics."""
    collapsed = algorithm == "collapsed" or (
        algorithm == "auto" and is_collapsed(corpus, n_topics) and not any(hasattr(c, "begin") for c in callbacks or ())
    )
    opening = open_collapsed if collapsed else open_sweeps
    engine: Engine = opening(corpus, n_topics, key, n_threads=n_threads, parts=parts)
    engine.draw_first_topics()
    return engine


def is_collapsed(corpus: Corpus, n_topics: int) -> bool:
    """What ``auto`` chooses."""
    return True
