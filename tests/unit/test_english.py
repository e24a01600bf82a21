"""The public model of English: what its file holds, and that models take it by name."""

from __future__ import annotations

import os
from importlib.resources import files

import numpy as np
import pytest

from discreet import AdaptedLDA, Corpus, PrivateLDA, Vocabulary
from discreet._errors import InputError
from discreet.corpus import Tokenizer
from discreet.models.english import CONDITION, FILE, english, packed, unpacked


def documents(n=60):
    known = english()
    words = Vocabulary([known.vocabulary[int(i)] for i in np.argsort(-known.frequencies)[:40]], "public")
    counts = np.random.default_rng(0).poisson(1.0, (n, 40))
    return Corpus.from_counts(counts, words)


def test_topics_and_frequencies_are_distributions():
    known = english()
    assert known.topics.shape == (200, len(known.vocabulary))
    np.testing.assert_allclose(known.topics.sum(axis=1), 1)
    np.testing.assert_allclose([known.shares.sum(), known.frequencies.sum()], 1)
    assert (np.diff(known.shares) < 1e-4).all()  # the largest topic first, but for rounding


def test_words_are_such_as_the_tokenizer_finds():
    words = list(english().vocabulary)
    tokenizer = Tokenizer()
    assert len(set(words)) == len(words) == 8_000
    assert not [word for word in words if tokenizer(word) != [word]]  # none is a stop word or half of a contraction


def test_file_is_small_and_holds_no_objects():
    file = files("discreet.models").joinpath(FILE)
    with file.open("rb") as opened:
        stored = np.load(opened, allow_pickle=False)
        assert {stored[name].dtype.kind for name in stored.files} == {"u"}
        assert opened.seek(0, os.SEEK_END) < 2_000_000


def test_packing_keeps_whole_counts_and_empty_topics():
    counts = np.array([[0, 3, 1.0], [0, 0, 0], [2, 0, 0.4]])
    stored = packed(Vocabulary(["a", "b", "c"], "public"), counts)
    found = unpacked(stored["ends"], stored["columns"], stored["counts"], 3)
    np.testing.assert_array_equal(found, np.rint(counts))


def test_models_take_it_by_name_and_say_so():
    corpus = documents()
    adapted = AdaptedLDA(public="english", epsilon=8).fit(corpus)
    assert len(adapted.components_) == 200
    with pytest.warns(UserWarning, match="unlikely to be useful"):
        private = PrivateLDA(3, public="english", epsilon=8, n_rounds=4).fit(corpus)
    for model in (adapted, private):
        assert CONDITION in model.guarantee_.reasons


def test_another_name_is_refused_before_anything_is_charged():
    with pytest.raises((InputError, ValueError), match="public"):
        AdaptedLDA(public="englisch").fit(documents())
