"""The share of the text that a model uses: a perplexity over few words looks better than it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from discreet._errors import InputError
from discreet.corpus.corpus import Corpus


def coverage(corpus: Corpus, vocabulary: Iterable[str], *, ignored: Collection[str] = ()) -> float:
    """The share of the tokens of ``corpus`` that are words of ``vocabulary``.

    ``corpus`` must hold all words of its text, not only those of the model. Tokens of ``ignored``, such as stop words,
    are not counted unless they are in the vocabulary.
    """
    known = set(vocabulary)
    counts = corpus.word_counts
    mine = np.array([word in known for word in corpus.vocabulary])
    left_out = np.array([word in ignored and word not in known for word in corpus.vocabulary])
    total = int(counts[~left_out].sum())
    if not total:
        raise InputError(f"the corpus has no token, in {corpus.n_documents:,} documents. Give documents with words.")
    return int(counts[mine].sum()) / total
