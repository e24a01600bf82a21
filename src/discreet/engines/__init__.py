"""Where the work over documents runs. Models open an engine here and do not know which backend it is.

A backend is imported when an engine is opened: a command that opens none does not wait for compiled code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet._random import Key
    from discreet._types import AnyArray, IntArray
    from discreet.corpus.corpus import Corpus
    from discreet.engines.interface import (
        CollapsedEngine,
        KeptUnitEngine,
        MomentEngine,
        ProportionEngine,
        SliceEngine,
        SweepEngine,
        UnitEngine,
        VariationalUnitEngine,
    )


def open_sweeps(
    corpus: Corpus, n_topics: int, key: Key, *, n_threads: int | None = None, parts: IntArray | None = None
) -> SweepEngine:
    """All documents, swept together. They have no topics before the first are drawn or restored.

    ``parts`` holds a number for each document. Documents with the same number have many words in common, and are drawn
    one after the other: weights stay in the cache. It changes the order of documents and not the law of their topics.
    """
    from discreet.engines.threads.sweeps import ThreadSweeps

    return ThreadSweeps(corpus, n_topics, key, n_threads=n_threads, parts=parts)


def open_collapsed(
    corpus: Corpus, n_topics: int, key: Key, *, n_threads: int | None = None, parts: IntArray | None = None
) -> CollapsedEngine:
    """All documents, each with its expected topics. As :func:`open_sweeps` otherwise."""
    from discreet.engines.threads.collapsed import ThreadCollapsed

    return ThreadCollapsed(corpus, n_topics, key, n_threads=n_threads, parts=parts)


def open_units(
    corpus: Corpus, groups: AnyArray | None, n_topics: int, key: Key, *, max_tokens: int, n_threads: int | None = None
) -> UnitEngine:
    """Rounds of local sweeps. ``groups`` holds the user of each document; None: each document is a unit."""
    from discreet.engines.threads.units import ThreadUnits

    return ThreadUnits(corpus, groups, n_topics, key, max_tokens=max_tokens, n_threads=n_threads)


def open_proportions(
    corpus: Corpus, groups: AnyArray | None, n_topics: int, key: Key, *, max_tokens: int, n_threads: int | None = None
) -> ProportionEngine:
    """Rounds of local variational steps; word use and topic proportions of units."""
    from discreet.engines.threads.proportions import ThreadProportions

    return ThreadProportions(corpus, groups, n_topics, key, max_tokens=max_tokens, n_threads=n_threads)


def open_slices(
    corpus: Corpus, groups: AnyArray | None, slices: IntArray, n_slices: int, *, n_threads: int | None = None
) -> SliceEngine:
    """Topic proportions by slice. ``slices`` holds the slice of each document, from 0; outside this range: none."""
    from discreet.engines.threads.slices import ThreadSlices

    return ThreadSlices(corpus, groups, slices, n_slices, n_threads=n_threads)


def open_variational_units(
    corpus: Corpus, groups: AnyArray | None, n_topics: int, key: Key, *, max_tokens: int, n_threads: int | None = None
) -> VariationalUnitEngine:
    """Rounds of local variational steps."""
    from discreet.engines.threads.variational import ThreadVariationalUnits

    return ThreadVariationalUnits(corpus, groups, n_topics, key, max_tokens=max_tokens, n_threads=n_threads)


def open_kept_units(
    corpus: Corpus, groups: AnyArray | None, n_topics: int, key: Key, *, max_tokens: int, n_threads: int | None = None
) -> KeptUnitEngine:
    """Rounds of local sweeps that continue from the topics of the round before."""
    from discreet.engines.threads.kept import ThreadKeptUnits

    return ThreadKeptUnits(corpus, groups, n_topics, key, max_tokens=max_tokens, n_threads=n_threads)


def open_moments(
    corpus: Corpus,
    groups: IntArray | None = None,
    *,
    max_tokens: int | None = None,
    key: Key | None = None,
    n_threads: int | None = None,
) -> MomentEngine:
    """Word moments. Of each unit ``max_tokens`` tokens count, chosen by ``key``; None: all."""
    from discreet.engines.threads.moments import ThreadMoments

    return ThreadMoments(corpus, groups, max_tokens=max_tokens, key=key, n_threads=n_threads)
