"""What a model is worth on documents: the measures of ``evaluation`` that belong together, each taken once.

They are computed from the documents themselves. If these are private, only their curator may see the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.corpus.corpus import Corpus
from discreet.corpus.stop_words import ENGLISH
from discreet.corpus.tokenizer import Tokenizer
from discreet.evaluation import (
    Coherence,
    Completion,
    coherence,
    diversity,
    mixed_coherence,
    unigram_perplexity,
)
from discreet.release.release import Release

WIDE = 25
"""Words of each topic that diversity looks at."""


def ignored_words(tokenizer: Tokenizer | None) -> frozenset[str]:
    """Stop words, which coverage does not count unless the model has them: of the model's language, or English."""
    known = tokenizer or Tokenizer()
    return replace(known, stop_words=known.stop_words or ENGLISH).stop_set


@dataclass(frozen=True)
class Measured:
    """Measures of one model on one corpus."""

    held_out: Completion
    unigram: float
    """The perplexity of word frequencies alone."""
    c_v: Coherence
    c_npmi: Coherence
    u_mass: Coherence
    mixed_c_v: Coherence | None
    """Of cross-collection models."""
    diversity: float
    top_n: int
    """Words of each topic that coherence looks at."""
    wide: int
    """Words of each topic that diversity looks at."""


def measured(
    release: Release, corpus: Corpus, *, top_n: int = 10, ordered: bool = True, n_threads: int | None = None
) -> Measured:
    """Measure a model on documents over its vocabulary. Counts and pictures are not ``ordered``: the windows of C_V and
    C_NPMI are then whole documents."""
    best, wide = min(top_n, release.n_words), min(WIDE, release.n_words)
    window = None if ordered else max(1, int(corpus.lengths.max()))
    mixed = None
    if release.collection_topics is not None:
        mixed = mixed_coherence(release.topics, release.collection_topics, corpus, top_n=best, window=window)
    return Measured(
        held_out=release.completion(corpus, n_threads=n_threads),
        unigram=unigram_perplexity(corpus, n_threads=n_threads),
        c_v=coherence(release.topics, corpus, "c_v", top_n=best, window=window),
        c_npmi=coherence(release.topics, corpus, "c_npmi", top_n=best, window=window),
        u_mass=coherence(release.topics, corpus, "u_mass", top_n=best),
        mixed_c_v=mixed,
        diversity=diversity(release.topics, top_n=wide),
        top_n=best,
        wide=wide,
    )
