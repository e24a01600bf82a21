"""Words that share a stem, by their spelling."""

from __future__ import annotations

import pytest

from discreet.models.private.stems import same_stem, share_stem


@pytest.mark.parametrize(
    ("one", "other"),
    [("galaxy", "galaxies"), ("model", "modeling"), ("graph", "graphs"), ("straße", "straßen"), ("город", "города")],
)
def test_words_that_share_a_stem(one, other):
    assert share_stem(one, other)
    assert share_stem(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sea", "seas"),  # too short a stem
        ("graph", "grasp"),  # goes apart too early
        ("inter", "international"),  # goes on too long
        ("cat", "dog"),
        ("", "model"),
    ],
)
def test_words_that_do_not(one, other):
    assert not share_stem(one, other)


def test_a_table_of_words_that_share_a_stem():
    words = ["graph", "cat", "graphs", "model", "graphic", "models", "models2"]
    links = same_stem(words).toarray()
    assert (links == links.T).all()
    assert [[words[j] for j in row.nonzero()[0]] for row in links] == [
        ["graphs", "graphic"],
        [],
        ["graph", "graphic"],
        ["models"],
        ["graph", "graphs"],
        ["model"],
        [],
    ]


@pytest.mark.parametrize("words", [[], ["model"], [f"word{i}" for i in range(30)]], ids=["none", "one", "columns"])
def test_no_stems(words):
    """Columns of a matrix without names are numbered words."""
    links = same_stem(words)
    assert links.shape == (len(words), len(words))
    assert not links.nnz
