"""The order of documents in memory, and which of them a thread draws one after the other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from discreet._random import Key
from discreet.corpus import Corpus, lda_corpus
from discreet.engines.threads.layout import Layout, pieces
from discreet.engines.threads.sweeps import ThreadSweeps


def some(n_documents: int = 400, seed: int = 4) -> Corpus:
    return lda_corpus(n_documents, 30, 5, mean_length=40, seed=seed).corpus


def offsets_of(layout: Layout) -> np.ndarray:
    return np.r_[0, np.cumsum(layout.lengths[layout.numbers])]


@pytest.mark.parametrize("n_documents", [1, 5, 400])
@pytest.mark.parametrize("n_parts", [None, 1, 3, 40])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_every_document_is_in_one_piece(n_documents, n_parts, n_threads):
    corpus = some(n_documents)
    layout = Layout(corpus, None if n_parts is None else np.arange(n_documents) % n_parts)
    assert sorted(layout.documents) == sorted(layout.numbers) == list(range(n_documents))
    assert_array_equal(layout.lengths, corpus.lengths[layout.documents])
    found = pieces(offsets_of(layout), layout.ends, n_threads)
    assert sorted(d for first, last in found for d in range(first, last)) == list(range(n_documents))
    assert len(found) == (1 if n_threads == 1 else 3 * n_threads)


def test_a_thread_has_its_share_of_tokens_and_few_parts():
    """Two parts of the same documents, on two threads: a part each. Its last pieces are small."""
    corpus, parts = some(400), np.repeat([0, 1], 200)
    corpus = corpus[np.tile(np.arange(200), 2)]
    layout = Layout(corpus, parts)
    offsets, in_memory = offsets_of(layout), parts[layout.documents][layout.numbers]
    found = pieces(offsets, layout.ends, 2)
    for thread in (0, 1):
        mine = found[thread::2]
        assert {int(part) for first, last in mine for part in in_memory[first:last]} == {thread}
        shares = [(offsets[last] - offsets[first]) / offsets[-1] for first, last in mine]
        assert shares == pytest.approx([0.25, 0.125, 0.125], abs=0.02)
        assert all(a[1] == b[0] for a, b in pairwise(mine))  # one after the other


def test_parts_lie_together_in_blocks_that_end_with_short_documents():
    corpus, parts = some(), np.arange(400) % 3
    layout = Layout(corpus, parts)
    in_memory = layout.documents[layout.numbers]
    assert (np.diff(parts[in_memory]) >= 0).all()
    for first, last in pairwise(layout.ends):
        assert (np.diff(corpus.lengths[in_memory[first:last]]) <= 0).all()
    assert len(layout.ends) == 3 * 32 + 1


def test_tokens_are_in_the_order_of_numbers():
    """As without pieces: the order in memory is the engine's own business."""
    corpus, parts = some(), np.arange(400) % 3
    engine = ThreadSweeps(corpus, 5, Key.from_seed(1), parts=parts)
    engine.draw_first_topics()
    words, offsets, topics = engine.tokens()
    assert_array_equal(np.diff(offsets), corpus.lengths[engine._layout.documents])
    for number in (0, 7, 399):
        mine = corpus.words[slice(*corpus.offsets[engine._layout.documents[number] + np.array([0, 1])])]
        assert sorted(words[offsets[number] : offsets[number + 1]]) == sorted(mine)
    assert_array_equal(np.bincount(words * 5 + topics, minlength=150).reshape(30, 5), engine.count())
