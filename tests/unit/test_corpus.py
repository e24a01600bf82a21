"""Corpus: what it holds, what it refuses, and that nothing can change it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.model_selection import cross_val_score

from discreet import LDA, Ledger
from discreet._errors import InputError
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.corpus.vocabulary import VocabularyCost

COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])


@pytest.fixture
def small() -> Corpus:
    return Corpus.from_counts(COUNTS, ["ant", "bee", "cat"], groups=["u", "v", "u"], labels=[1, 2, 3])


def test_sizes(small):
    assert (small.n_documents, small.n_words, small.n_tokens, small.n_empty, len(small)) == (3, 3, 6, 1, 3)
    assert_array_equal(small.lengths, [3, 0, 3])
    assert_array_equal(small.word_counts, [2, 3, 1])
    assert "3 documents, 1 of them empty" in repr(small)


def test_dtypes_are_settled(small):
    assert small.words.dtype == np.int32
    assert small.offsets.dtype == np.int64


def test_nothing_can_be_written(small):
    for array in (small.words, small.offsets, small.groups, small.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        small.words = small.words


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 4)))
def test_counts_survive_the_round_trip(counts):
    for form in (counts, counts.astype(float), sp.csr_matrix(counts), sp.coo_array(counts), sp.csc_matrix(counts)):
        assert_array_equal(Corpus.from_counts(form).to_counts().toarray(), counts)


def test_the_matrix_given_is_left_alone():
    unsorted = sp.csr_matrix((np.array([1, 2]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    Corpus.from_counts(unsorted)
    assert_array_equal(unsorted.indices, [2, 0])


def test_output_of_a_scikit_learn_vectorizer():
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(["the cat sat", "", "cat and cat"])
    corpus = Corpus.from_counts(counts, vectorizer.get_feature_names_out())
    assert corpus.vocabulary == ("and", "cat", "sat", "the")
    assert all(type(word) is str for word in corpus.vocabulary)
    assert corpus.vocabulary.origin == "unknown"
    assert_array_equal(corpus.to_counts().toarray(), counts.toarray())


def test_choosing_documents(small):
    assert_array_equal(small[[2, 0]].to_counts().toarray(), COUNTS[[2, 0]])
    assert_array_equal(small[np.array([True, False, True])].groups, ["u", "u"])
    assert_array_equal(small[1:].labels, [2, 3])
    assert len(small[1]) == 1
    assert len(small[[]]) == 0


def test_cross_validation_takes_a_corpus():
    corpus = lda_corpus(60, 20, 2, mean_length=20, seed=1).corpus
    scores = cross_val_score(LDA(2, n_sweeps=5, random_state=1), corpus, cv=3)
    thirds = [np.arange(60) // 20 == i for i in range(3)]
    own = [LDA(2, n_sweeps=5, random_state=1).fit(corpus[~third]).score(corpus[third]) for third in thirds]
    assert_array_equal(scores, own)


def test_restricting_the_vocabulary(small):
    public = small.restrict(Vocabulary(["cat", "dog", "ant"], "public"))
    assert public.vocabulary.origin == "unknown"  # as the matrix was
    assert_array_equal(public.to_counts().toarray(), [[1, 0, 2], [0, 0, 0], [0, 0, 0]])
    assert public.n_documents == small.n_documents
    assert_array_equal(public.groups, small.groups)


def test_only_the_caller_can_say_that_a_chosen_list_is_public():
    """Before, a public corpus that was cut down to words chosen by their counts was still called public."""
    public = Corpus.from_counts(COUNTS, Vocabulary(["ant", "bee", "cat"], "public"))
    frequent = [public.vocabulary[i] for i in np.argsort(-public.word_counts)[:2]]
    assert public.restrict(frequent).vocabulary.origin == "unknown"
    assert public.restrict(Vocabulary(frequent, "public")).vocabulary.origin == "public"
    text = replace(public, vocabulary=Vocabulary(public.vocabulary, "text", complete=True), all_tokens=True)
    assert text.restrict(frequent).vocabulary.origin == "text"  # as private as before
    assert text.restrict(Vocabulary(frequent, "public")).vocabulary.origin == "public"


def test_a_vocabulary_is_a_sequence_of_words():
    vocabulary = Corpus([0, 1], [0, 2], ["rain", np.str_("wind")]).vocabulary
    assert (len(vocabulary), vocabulary[1], vocabulary[-1:]) == (2, "wind", ("wind",))
    assert list(vocabulary) == ["rain", "wind"]
    assert type(vocabulary[1]) is str
    assert [word in vocabulary for word in ("rain", "sun", 0)] == [True, False, False]
    assert (vocabulary.index("wind"), vocabulary.columns) == (1, {"rain": 0, "wind": 1})
    assert (vocabulary.origin, vocabulary.complete, vocabulary.cost) == ("unknown", False, None)
    assert repr(vocabulary) == "<Vocabulary: 2 words ('rain', 'wind'), unknown>"


def test_vocabularies_are_equal_if_their_words_are():
    one, other = Vocabulary(["rain", "wind"], "public"), Vocabulary(("rain", "wind"), "text", complete=True)
    assert one == other == ("rain", "wind") == one
    assert hash(one) == hash(other) == hash(("rain", "wind"))
    for different in (Vocabulary(["wind", "rain"], "public"), ("rain",), ["rain", "wind"]):
        assert one != different


def test_a_pickled_vocabulary_knows_what_it_knew():
    vocabulary = Vocabulary(["rain", "wind"], "text", complete=True)
    assert "rain" in vocabulary  # fills the table of columns, which is not pickled
    again = pickle.loads(pickle.dumps(vocabulary))
    known = {"words": ("rain", "wind"), "origin": "text", "complete": True, "cost": None, "source": ""}
    assert vars(again) == known


def test_an_origin_that_is_none():
    with pytest.raises(InputError, match="one of public, private-selection, text, unknown; found 'pubic'"):
        Vocabulary(["rain"], "pubic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("had", "complete", "chosen", "becomes"),
    [
        ("public", False, "public", "public"),
        ("public", False, "unknown", "unknown"),
        ("public", False, "text", "text"),
        ("text", True, "public", "public"),
        ("text", True, "unknown", "text"),
        ("text", False, "public", "unknown"),
        ("text", False, "unknown", "text"),
        ("unknown", False, "public", "unknown"),
        ("unknown", False, "text", "text"),
    ],
)
def test_where_restricted_words_come_from(had, complete, chosen, becomes):
    corpus = Corpus([0, 1], [0, 2], Vocabulary(["rain", "wind"], had, complete), all_tokens=complete)
    part = corpus.restrict(Vocabulary(["wind"], chosen, complete=True)).vocabulary
    assert (part, part.origin, part.complete) == (("wind",), becomes, False)


def test_a_given_vocabulary_keeps_its_origin():
    """Before, words that were read from one private text became public for the next text that was read with them."""
    private = Corpus.from_texts(["rain and wind", "storm"]).vocabulary
    assert private.complete
    again = Corpus.from_texts(["storm", "rain and sun"], vocabulary=private).vocabulary
    assert (again, again.origin, again.complete) == (("rain", "storm", "wind"), "text", False)
    assert Corpus.from_counts(np.eye(3, dtype=int), private).vocabulary.complete is False


def test_most_frequent_words_come_from_the_text(small):
    frequent = small.most_frequent(2)
    assert frequent.vocabulary == ("ant", "bee")
    assert frequent.vocabulary.origin == "text"
    assert frequent.n_tokens == 5


HUGE = 2_000_000_000
"""As tokens, 8 GB; as counts, one cell."""


def test_a_huge_row_is_thinned_before_it_is_expanded():
    counts = sp.csr_matrix([[1, 0, 2, 0], [HUGE, 3 * (HUGE // 4), 0, 1], [0, 0, 0, 0], [4, 3, 2, 1]])
    thinned = Corpus.from_counts(counts, max_tokens=10).to_counts().toarray()
    assert_array_equal(thinned, [[1, 0, 2, 0], [5, 4, 0, 1], [0, 0, 0, 0], [4, 3, 2, 1]])
    alone = Corpus.from_counts(counts[1], max_tokens=10).to_counts().toarray()
    assert_array_equal(alone[0], thinned[1])  # whatever other rows hold
    assert_array_equal(Corpus.from_counts(counts[[0, 2, 3]], max_tokens=10).to_counts().toarray(), thinned[[0, 2, 3]])


@pytest.mark.parametrize("most", [1, 7, 1000, 2**24])
def test_thinning_keeps_the_shares(most):
    row = np.random.default_rng(1).integers(0, 2**31, 300)
    kept = Corpus.from_counts([row], max_tokens=most).word_counts
    assert kept.sum() == most
    assert np.abs(kept - row / row.sum() * most).max() <= 1


def test_a_huge_row_without_a_cap_is_an_error():
    with pytest.raises(InputError, match=r"row 1 holds 2,000,000,000 tokens.*max_tokens="):
        Corpus.from_counts([[1], [HUGE]])
    with pytest.raises(InputError, match="row 0 holds 2,000,000,000 tokens"):
        LDA(2).fit([[HUGE]])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -1]], "-1 in row 0, column 1"),
        ([[0.0, 0.5]], "0.5 in row 0, column 1"),
        ([[np.nan]], "nan"),
        ([[np.inf]], "inf"),
        ([[2**40]], "0 to 2,147,483,647"),
        ([["a"]], "must be numbers"),
        (np.array([[None]]), "must be numbers"),
        (sp.csr_matrix([[1 + 2j]]), "must be numbers"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((2, 0)), "vocabulary is empty"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus.from_counts(counts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0, 2], ["a"]), "offsets must rise"),
        (([0], [1, 1], ["a"]), "offsets must rise"),
        (([0, 0], [0, 2, 1, 2], ["a"]), "offsets must rise"),
        (([0], [], ["a"]), "offsets must rise"),
        (([0.5], [0, 1], ["a"]), "flat array of integers"),
        (([[0]], [0, 1], ["a"]), "flat array of integers"),
        (([1], [0, 1], ["a"]), "indices from 0 to 0"),
        (([-1], [0, 1], ["a"]), "indices from 0 to 0"),
        (([2**32], [0, 1], ["a"]), "below 2\\^31"),
        (([0], [0, 1], []), "vocabulary is empty"),
        (([0], [0, 1], ["b", "a", "a"]), "'a' more than once"),
        (([0], [0, 1], "ab"), "one string"),
        (([0], [0, 1], [7]), "must be strings"),
        (([0], [0, 1], ["a"], ["u", "v"]), "groups must hold one value"),
    ],
)
def test_bad_parts(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus(*arguments)
    assert "\n" not in str(caught.value)


def test_vocabulary_and_matrix_must_agree():
    with pytest.raises(InputError, match="2 words but the matrix 3 columns"):
        Corpus.from_counts(COUNTS, ["a", "b"])


def test_importing_the_room_is_cheap():
    """No reader pays for numba, polars, pooch or scikit-learn before it uses them."""
    code = (
        "import sys, discreet.corpus as c; assert 'numpy' not in sys.modules; c.read, c.load, c.lda_corpus; "
        "print([m for m in ('numba', 'polars', 'pooch', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_exported_name_exists():
    import discreet.corpus as room

    assert all(getattr(room, name) is not None for name in room.__all__)
    assert set(room.__all__) <= set(dir(room))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        room.nothing  # noqa: B018


# --- a vocabulary and its tokens --------------------------------------------------------------------------------------


def test_a_complete_vocabulary_is_complete_only_with_all_tokens():
    """Tokens that were left out by looking at other documents must not pass for the whole text."""
    full = Corpus.from_texts(["rain wind", "rain storm", "wind rain"])
    assert full.vocabulary.complete
    assert full[:2].vocabulary.complete
    assert replace(full, groups=[1, 2, 3]).vocabulary.complete
    kept = full.words[full.words != 0]
    fewer = Corpus(kept, np.array([0, 1, 2, kept.size]), full.vocabulary)
    assert not fewer.vocabulary.complete
    assert fewer.vocabulary.origin == "text"
    assert not full.restrict(full.vocabulary).vocabulary.complete


def test_numbers_of_users_cannot_be_written_to():
    corpus = Corpus.from_texts(["rain", "wind", "storm"], groups=["a", "b", "a"])
    assert corpus.users.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="read-only"):
        corpus.users[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        corpus.restrict(["rain"]).users[0] = 2


def test_a_copy_of_a_vocabulary_keeps_its_origin_and_cost():
    cost = VocabularyCost((), Ledger(unit="document"), seeded=False)
    selected = Vocabulary(["rain", "wind"], "private-selection", cost=cost)
    assert (Vocabulary(selected).origin, Vocabulary(selected).cost) == ("private-selection", cost)
    assert Vocabulary(selected, "unknown").cost is cost
    assert Vocabulary(Vocabulary(["rain"], "text", complete=True)).complete is False


def test_two_private_selections_are_not_one():
    one, other = (VocabularyCost((), Ledger(unit="document"), seeded=False, units=name) for name in "ab")
    corpus = Corpus(np.array([0, 1]), np.array([0, 2]), Vocabulary(["rain", "wind"], "private-selection", cost=one))
    assert corpus.restrict(Vocabulary(["rain"], "private-selection", cost=one)).vocabulary.cost is one
    with pytest.raises(InputError, match="both vocabularies were selected privately"):
        corpus.restrict(Vocabulary(["rain"], "private-selection", cost=other))
