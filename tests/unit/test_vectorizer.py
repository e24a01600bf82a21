"""PrivateVectorizer as people meet it: what it refuses, what it charges and keeps, and how its cost reaches a model."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from discreet import (
    Budget,
    BudgetExceeded,
    BudgetFile,
    Corpus,
    HybridLDA,
    InputError,
    Ledger,
    PrivateLDA,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
    WouldLeak,
)
from discreet.corpus import CorpusBuilder, Vocabulary
from discreet.models.fit_text import fit_text
from discreet.models.vectorizer import PrivateVectorizer
from discreet.privacy import Basis, Unit
from discreet.privacy.accounting import epsilon
from discreet.training.inputs import SAME_UNITS, UNKNOWN_WORDS, check_vocabulary
from tests.support.spending import check_refusal, drawn, hopeless

WEATHER, MUSIC = "The rain and the wind, rain and storm.", "A piano, a violin: a piano concert!"
TEXTS = [f"{(WEATHER, MUSIC)[i % 2]} Secret{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10 % 10]}" for i in range(400)]
WORDS = ["concert", "piano", "rain", "storm", "violin", "wind"]
USERS = [f"secret-user-{i % 200}" for i in range(400)]


# --- what it gives ---------------------------------------------------------------------------------------------------


def test_counts_over_selected_words():
    vectorizer = PrivateVectorizer(4.0, random_state=1)  # without a seed, 3 runs of 400 selected a rare word
    counts = vectorizer.fit_transform(TEXTS)
    assert sp.issparse(counts)
    assert list(vectorizer.get_feature_names_out()) == WORDS == list(vectorizer.vocabulary_)
    np.testing.assert_array_equal(counts.toarray()[:2], [[0, 0, 2, 1, 0, 1], [1, 2, 0, 0, 1, 0]])
    np.testing.assert_array_equal(vectorizer.transform(TEXTS).toarray(), counts.toarray())
    known = CountVectorizer(vocabulary=WORDS, lowercase=True)
    np.testing.assert_array_equal(known.transform(TEXTS).toarray(), counts.toarray())
    assert vectorizer.transform(["", None, "nothing of it", "RAIN " * 70_000]).toarray()[:, 2].tolist() == [
        0,
        0,
        0,
        70_000,
    ]


def test_a_corpus_that_knows_what_its_words_cost():
    vectorizer = PrivateVectorizer(4.0, output="corpus")
    corpus = vectorizer.fit_transform(TEXTS, groups=USERS)
    assert corpus.vocabulary.origin == "private-selection"
    assert corpus.vocabulary.cost.entries == vectorizer.ledger_.entries
    assert vectorizer.guarantee_.unit is Unit.USER
    assert len(set(corpus.groups.tolist())) == 200
    assert vectorizer.to_corpus(TEXTS[:7]).n_documents == 7
    assert corpus[:5].vocabulary.cost is corpus.vocabulary.cost
    for again in (corpus.restrict(WORDS[:2]), corpus.restrict(Vocabulary(WORDS[:2], "public"))):
        assert (again.vocabulary.origin, again.vocabulary.cost) == ("unknown", corpus.vocabulary.cost)
    assert corpus.most_frequent(2).vocabulary.cost is None


def test_a_choice_of_words_cannot_be_called_a_private_selection():
    """Before, the eight most frequent of the selected words kept their cost, and the guarantee named no condition."""
    corpus = PrivateVectorizer(4.0, output="corpus").fit_transform(TEXTS)
    for one in (corpus, Corpus.from_texts(TEXTS)):
        with pytest.raises(InputError, match="only PrivateVectorizer does"):
            one.restrict(Vocabulary(WORDS[:2], "private-selection"))


@pytest.mark.parametrize(
    ("origin", "complete", "becomes"),
    [
        ("text", True, "private-selection"),
        ("public", False, "private-selection"),
        ("text", False, "text"),
        ("unknown", False, "unknown"),
    ],
)
def test_selected_words_stay_selected_only_where_none_was_left_out(origin, complete, becomes):
    """Which of the selected words a corpus still has must depend on no other document."""
    selected = PrivateVectorizer(4.0, output="corpus").fit_transform(TEXTS).vocabulary
    part = Corpus([0], [0, 1], Vocabulary(WORDS, origin, complete), all_tokens=complete).restrict(selected).vocabulary
    assert (part, part.origin) == (selected, becomes)
    assert part.cost is (None if becomes == "text" else selected.cost)


def test_the_same_from_a_corpus_and_from_texts():
    builder = CorpusBuilder()
    for text in TEXTS:
        builder.add(text)
    corpus = builder.build()
    one = PrivateVectorizer(2.0, random_state=1).fit_transform(corpus)
    other = PrivateVectorizer(2.0, random_state=1).fit_transform(TEXTS)
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def test_the_best_words_are_kept():
    every = PrivateVectorizer(4.0, random_state=1).fit(TEXTS)
    best = PrivateVectorizer(4.0, random_state=1, max_words=2).fit(TEXTS)
    assert len(best.vocabulary_) == 2
    assert set(best.vocabulary_) < set(every.vocabulary_)
    assert list(best.vocabulary_.values()) == [0, 1]
    assert best.ledger_.entries == every.ledger_.entries  # it costs nothing


def test_words_are_what_the_options_say():
    texts = ["Ünï-code wörter, Москва! a1"] * 500
    assert list(PrivateVectorizer(8.0, token_pattern=r"\w+", stop_words=None).fit(texts).vocabulary_) == sorted(
        ["ünï", "code", "wörter", "москва", "a1"]
    )
    assert "Москва" in PrivateVectorizer(8.0, token_pattern=r"\w+", lowercase=False).fit(texts).vocabulary_
    some = PrivateVectorizer(8.0, token_pattern=r"\w+", stop_words=["code", "a1"]).fit(texts).vocabulary_
    assert set(some) == {"ünï", "wörter", "москва"}


def test_the_cap_is_on_different_words_of_a_unit():
    """One unit cannot push words by writing them often, nor by writing many documents."""
    many = ["secretword " * 10_000] * 300 + [f"other{c} words" for c in "abc"]
    with pytest.raises(InputError, match="no word stood out"):
        PrivateVectorizer(2.0).fit(many, groups=["one"] * 300 + ["a", "b", "c"])
    assert list(PrivateVectorizer(2.0).fit(many).vocabulary_) == ["secretword"]  # 300 documents, each a unit


# --- what it promises and charges ------------------------------------------------------------------------------------


def test_the_guarantee_and_the_ledger():
    vectorizer = PrivateVectorizer(1.0, 1e-7).fit(TEXTS)
    assert vectorizer.guarantee_.basis is Basis.PROVEN
    assert (vectorizer.guarantee_.delta, vectorizer.guarantee_.unit) == (1e-7, Unit.DOCUMENT)
    assert 0.98 < vectorizer.guarantee_.epsilon == epsilon(vectorizer.ledger_.entries, 1e-7) <= 1.0
    seeded = PrivateVectorizer(random_state=1).fit(TEXTS)
    assert seeded.guarantee_.basis is Basis.NONE
    assert "seeded" in seeded.guarantee_.summary()


@pytest.mark.parametrize("texts", [[], [""], [None, "a 1 !"], ["the and of"], ["lonely words here"]])
def test_no_word_is_an_error_that_has_been_charged(texts):
    """Whether there is no document or no frequent word: the same line."""
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(InputError, match=r"no word stood out of the noise at epsilon=1, .*charged: ε = 0\.99\d\."):
        PrivateVectorizer(ledger=ledger).fit(texts)
    assert ledger.entries == PrivateVectorizer().plan().entries


nan, inf = float("nan"), float("inf")
BAD = [
    *({"epsilon": value} for value in (0, -1, nan, inf, "1", None)),
    {"epsilon": 1e-4},
    *({"delta": value} for value in (0, 1, -1e-6, nan, None)),
    {"max_words_per_unit": 0},
    {"max_words_per_unit": 2.5},
    {"rerouting": "sips"},
    {"max_words": 0},
    {"share": 0},
    {"share": 1.5},
    {"token_pattern": 3},
    {"token_pattern": "(a)(b)"},
    {"stop_words": "klingon"},
    {"stop_words": 3},
    {"output": "frame"},
    {"ledger": 3},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_parameters_are_one_line_and_cost_nothing(options):
    named = [*options, "token pattern", "stop words"]
    check_refusal(lambda ledger: PrivateVectorizer(**{"ledger": ledger, **options}).fit(TEXTS), named)


INPUTS = {
    "a string": (WEATHER, "list of documents.*found str"),
    "bytes": (b"rain", "found bytes"),
    "a number": (5, "found int"),
    "numbers": ([WEATHER, 5], "document 1 .* a whole number"),
    "bytes in a list": ([b"rain"], "document 0 .* of type bytes"),
    "infinite": ([WEATHER, float("inf")], "document 1 .* a number"),
    "a table": (np.array([[WEATHER, MUSIC]]), "2 dimensions"),
    "counts": (sp.csr_matrix([[1, 2]]), "2 dimensions"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_no_text(name):
    texts, message = INPUTS[name]
    ledger = Ledger(Budget(5.0, 1e-5))
    with drawn() as noise, pytest.raises(InputError, match=message):
        PrivateVectorizer(ledger=ledger).fit(texts)
    assert (ledger.entries, noise.call_count) == ((), 0)


def test_a_corpus_that_lacks_words_is_refused():
    """Rare words left out beforehand are a decision that looked at everybody."""
    builder, cut = CorpusBuilder(), CorpusBuilder(max_words=3)
    for text in TEXTS:
        builder.add(text)
        cut.add(text)
    corpus = builder.build()
    assert corpus.vocabulary.complete
    assert corpus[::2].vocabulary.complete
    vectorizer = PrivateVectorizer(4.0).fit(corpus)
    for other in (cut.build(), corpus.most_frequent(5), corpus.restrict(WORDS), Corpus.from_counts([[1, 2]])):
        for use in (PrivateVectorizer().fit, vectorizer.transform, vectorizer.to_corpus):
            with pytest.raises(WouldLeak, match="does not hold all words"):
                use(other)
    public = corpus.restrict(Vocabulary(WORDS, "public"))  # its words hang on nobody
    assert vectorizer.to_corpus(public).vocabulary.cost == vectorizer.to_corpus(corpus).vocabulary.cost


@hopeless
def test_a_choice_among_selected_words_keeps_their_cost_and_adds_a_condition():
    corpus = PrivateVectorizer(1.0, output="corpus").fit_transform(TEXTS)
    fitted = model().fit(corpus.restrict(WORDS[:4]))
    assert [e.label for e in fitted.ledger_.entries].count("vocabulary") == 1
    assert fitted.guarantee_.reasons == (UNKNOWN_WORDS,)


@hopeless
def test_one_document_must_not_decide_what_others_are_left_with():
    """Of the three most frequent words one is "wind" in D′ alone. No list makes up for that, public or selected."""
    texts = ["rain wind storm"] * 300 + ["piano violin concert"] * 300

    def cut(more):
        builder = CorpusBuilder(max_words=3)
        for text in texts + more:
            builder.add(text)
        return builder.build()

    d, d1 = (cut(more).restrict(Vocabulary(["rain", "wind"], "public")) for more in ([], ["wind"]))
    assert (d.word_counts != d1.word_counts).all()  # by far more than one document
    assert d.vocabulary.origin == "unknown"
    fitted = model().fit(d)
    assert fitted.guarantee_.reasons == (UNKNOWN_WORDS,)


@pytest.mark.parametrize(
    ("groups", "message"), [(USERS[:-1], "exactly one user id"), ([None, *USERS[1:]], "user id is missing")]
)
def test_groups_that_cannot_be_used(groups, message):
    ledger = Ledger(Budget(5.0, 1e-5), unit="user")
    with pytest.raises(InputError, match=message):
        PrivateVectorizer(ledger=ledger).fit(TEXTS, groups=groups)
    with pytest.raises(InputError, match="ledger counts per user"):
        PrivateVectorizer(ledger=ledger).fit(TEXTS)
    assert ledger.entries == ()


def test_a_ledger_without_enough_left_refuses_before_noise_is_drawn():
    ledger = Ledger(Budget(0.5, 1e-6))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        PrivateVectorizer(1.0, ledger=ledger).fit(TEXTS)
    assert (ledger.entries, noise.call_count) == ((), 0)


# --- what it keeps ---------------------------------------------------------------------------------------------------


def test_nothing_private_is_left_in_the_estimator():
    vectorizer = PrivateVectorizer(4.0, random_state=1).fit(TEXTS, groups=USERS)
    assert {name for name in vars(vectorizer) if name not in vectorizer.get_params()} == {
        "ledger_",
        "guarantee_",
        "_spent",
        "_selected",
        "vocabulary_",
    }
    assert vectorizer._spent == vectorizer.plan().entries  # public: a function of the parameters
    pickled = pickle.dumps(vectorizer)
    for secret in (b"secret", b"Secret", b"Corpus", b"Key"):
        assert not re.search(secret + rb"(?!s)", pickled), secret
    again = pickle.loads(pickled)
    assert again.vocabulary_ == vectorizer.vocabulary_
    np.testing.assert_array_equal(again.transform(TEXTS[:9]).toarray(), vectorizer.transform(TEXTS[:9]).toarray())
    with pytest.raises(InputError, match="copy"):
        again.ledger_.reserve(vectorizer.plan().entries)


def test_cloning_shares_the_ledger_and_nothing_else():
    ledger = Ledger(Budget(3.0, 1e-6))
    vectorizer = PrivateVectorizer(1.0, ledger=ledger, max_words=3).fit(TEXTS)
    copy = clone(vectorizer)
    assert not hasattr(copy, "vocabulary_")
    assert copy.ledger is ledger
    copy.fit(TEXTS)
    assert len(ledger.entries) == 2


@pytest.mark.filterwarnings("ignore:Can't test estimator PrivateVectorizer")  # its other checks are for matrices
def test_scikit_learn_contract():
    check_estimator(PrivateVectorizer(), on_skip=None)
    chosen = PrivateVectorizer(2.0, 1e-7, 50, rerouting=False, stop_words=["a"])
    assert clone(chosen).get_params() == chosen.get_params()
    assert repr(chosen) == (
        "PrivateVectorizer(delta=1e-07, epsilon=2.0, max_words_per_unit=50,\n"
        "                  rerouting=False, stop_words=['a'])"
    )
    for use in (lambda: chosen.transform(TEXTS), chosen.get_feature_names_out, lambda: chosen.to_corpus(TEXTS)):
        with pytest.raises(NotFittedError):
            use()


# --- one budget with a model -----------------------------------------------------------------------------------------


def model(**options):
    return PrivateLDA(**{"n_topics": 2, "n_rounds": 6, "epsilon": 3.0, "n_threads": 1, **options})


@hopeless
def test_the_models_guarantee_covers_the_words():
    ledger = Ledger(Budget(3.0, 1e-6))
    vectorizer = PrivateVectorizer(1.0, ledger=ledger, output="corpus")
    fitted = make_pipeline(vectorizer, model(ledger=ledger)).fit(TEXTS)[-1]
    assert ledger.entries[0].label == "vocabulary"
    assert fitted.guarantee_.epsilon == pytest.approx(ledger.spent().epsilon, abs=1e-9)
    assert 0.98 * 3 < fitted.guarantee_.epsilon <= 3
    assert fitted.guarantee_.reasons == ()
    builder = CorpusBuilder(vocabulary=WORDS)
    for text in TEXTS:
        builder.add(text)
    alone = model().fit(builder.build())
    louder = [
        next(e for e in m.ledger_.entries if e.label == "topic counts").event.sensitivity for m in (fitted, alone)
    ]
    assert louder[0] < 0.98 * louder[1]  # the words took their part: more noise on the topics


@hopeless
@pytest.mark.parametrize("users", [None, USERS], ids=["documents", "users"])
def test_so_it_does_in_a_pipeline_of_matrices(users):
    vectorizer = PrivateVectorizer(1.0)
    counts = vectorizer.fit_transform(TEXTS, groups=users)
    fitted = model().fit(counts)
    assert [e.label for e in fitted.ledger_.entries].count("vocabulary") == 1
    assert 0.98 * 3 < fitted.guarantee_.epsilon <= 3
    assert fitted.guarantee_.reasons == ()
    assert fitted.guarantee_.unit is (Unit.DOCUMENT if users is None else Unit.USER)
    assert fitted.release().vocabulary == tuple(WORDS)
    assert fitted.transform(vectorizer.transform(TEXTS[:5])).shape == (5, 2)
    counts.data[:] = 1  # what the matrix holds is what counts, now
    assert counts.to_corpus().n_tokens == counts.nnz
    np.testing.assert_array_equal(counts.to_corpus().to_counts().toarray(), counts.toarray())
    assert pickle.loads(pickle.dumps(counts)).to_corpus().vocabulary.origin == "private-selection"


def test_rows_of_the_matrix_know_it_too():
    counts = PrivateVectorizer(1.0).fit_transform(TEXTS, groups=USERS)
    mask = np.arange(400) % 3 == 0
    for rows in (slice(10, 300), np.array([5, 3, 8]), mask, 7, [1, 2]):
        part = counts[rows].to_corpus()
        assert part.vocabulary.cost is counts.to_corpus().vocabulary.cost
        np.testing.assert_array_equal(part.groups, np.atleast_1d(counts.to_corpus().groups[rows]))
        np.testing.assert_array_equal(part.to_counts().toarray(), counts.toarray()[np.atleast_1d(np.arange(400)[rows])])
    for same in (counts[...], counts[:, :], counts[3:, ...], counts.copy()):
        assert same.to_corpus().vocabulary.origin == "private-selection"


@hopeless
def test_cross_validation_loses_no_charge():
    found = cross_validate(model(), PrivateVectorizer(1.0).fit_transform(TEXTS), cv=2, return_estimator=True)
    for fitted in found["estimator"]:
        assert [e.label for e in fitted.ledger_.entries].count("vocabulary") == 1
        only, units = fitted.guarantee_.reasons
        assert only.startswith("only this one of 2 private fits")
        assert units == SAME_UNITS.format(unit="document")  # half of them: nobody looks whether they are the same


@hopeless
def test_a_choice_of_columns_does_not_know_and_the_guarantee_says_so():
    counts = PrivateVectorizer(1.0).fit_transform(TEXTS)
    cut = counts.copy()
    cut.resize(400, 5)
    assert cut.to_corpus() is None
    for part in (cut, counts[:, :5], counts[:, ::-1], counts[:, np.array([2, 0, 1])], 2 * counts):
        *others, reason = model().fit(part).guarantee_.reasons
        assert reason == UNKNOWN_WORDS
        assert "private fits" in others[0]  # one of them selected the words


@hopeless
def test_words_that_were_paid_elsewhere_are_charged_here_too():
    vectorizer = PrivateVectorizer(1.0, output="corpus")
    corpus = vectorizer.fit_transform(TEXTS)
    fitted = model().fit(corpus)
    assert [e.label for e in fitted.ledger_.entries].count("vocabulary") == 1
    assert 0.98 * 3 < fitted.ledger_.spent().epsilon <= 3
    small = Ledger(Budget(2.9, 1e-6))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        model(ledger=small).fit(corpus)
    assert (small.entries, noise.call_count) == ((), 0)
    with pytest.raises(BudgetExceeded):  # the words alone have cost more than the model may
        model(epsilon=0.5).fit(corpus)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "other",
    [
        SpectralLDA(2, alpha0=0.2, epsilon=3.0),
        VariationalLDA(2, epsilon=3.0, as_published=True, clip=4.0, n_rounds=5, n_units=600),
    ],
    ids=["spectral", "published variational"],
)
def test_so_they_are_by_models_that_pay_all_at_once(other):
    corpus = PrivateVectorizer(1.0, output="corpus").fit_transform(TEXTS)
    fitted = clone(other).fit(corpus)
    assert [e.label for e in fitted.ledger_.entries].count("vocabulary") == 1
    assert 0.98 * 3 < fitted.ledger_.spent().epsilon <= 3
    again = clone(other).set_params(ledger=Ledger(Budget(2.9, 1e-6)))
    with drawn() as noise, pytest.raises(BudgetExceeded):
        again.fit(corpus)
    assert noise.call_count == 0


@hopeless
def test_the_same_budget_file_is_charged_once(tmp_path):
    file = BudgetFile.create(tmp_path / "b", 3.0, 1e-6)
    corpus = PrivateVectorizer(1.0, ledger=Ledger(file=file), output="corpus").fit_transform(TEXTS)
    model(ledger=Ledger(file=BudgetFile(tmp_path / "b"))).fit(corpus)
    assert [entry.label for entry in file.ledger().entries].count("vocabulary") == 1


def test_words_of_another_unit_are_refused():
    corpus = PrivateVectorizer(1.0, output="corpus").fit_transform(TEXTS)
    with pytest.raises(InputError, match="selected to protect one document, but this fit protects one user"):
        model().fit(corpus, groups=USERS)
    with pytest.raises(InputError, match=r"this fit protects one word: .* Use public words"):
        HybridLDA(2, epsilon=5.0).fit(corpus)


@hopeless
def test_words_selected_on_sentences_are_a_condition_for_documents():
    """A document of 300 sentences can push a word into the list alone, and is still one document of the model."""
    sentences = [sentence for text in TEXTS for sentence in text.split(", ")]
    corpus = PrivateVectorizer(1.0, output="corpus").fit(sentences).to_corpus(TEXTS)
    assert model().fit(corpus).guarantee_.reasons[-1] == SAME_UNITS.format(unit="document")
    assert check_vocabulary(corpus.restrict(WORDS[:4])) == (UNKNOWN_WORDS, SAME_UNITS.format(unit="document"))


@hopeless
@pytest.mark.parametrize("output", ["matrix", "corpus"])
def test_words_selected_for_sessions_are_a_condition_for_people(output):
    vectorizer = PrivateVectorizer(1.0, output=output)
    given = vectorizer.fit_transform(TEXTS, groups=[f"session {i}" for i in range(400)])
    corpus = given if output == "corpus" else given.to_corpus()
    assert check_vocabulary(corpus) == ()
    assert check_vocabulary(corpus, USERS) == (SAME_UNITS.format(unit="user"),)
    assert model().fit(given, groups=USERS).guarantee_.reasons[-1] == SAME_UNITS.format(unit="user")
    assert check_vocabulary(vectorizer.to_corpus(TEXTS, groups=USERS)) == (SAME_UNITS.format(unit="user"),)


def test_the_same_units_are_no_condition():
    other_names = [f"{user}@example.org" for user in USERS]
    for users, same in ((None, None), (USERS, other_names)):
        vectorizer = PrivateVectorizer(4.0, output="corpus")
        corpora = [vectorizer.fit_transform(TEXTS, groups=users), vectorizer.to_corpus(TEXTS, groups=same)]
        corpora.append(vectorizer.to_corpus(Corpus.from_texts(TEXTS, groups=users)))
        for corpus in corpora:
            assert check_vocabulary(corpus) == check_vocabulary(corpus, users) == ()
        (part,) = check_vocabulary(corpora[0][:300])  # a part of them may be trained on: it is no error
        assert part == SAME_UNITS.format(unit="document" if users is None else "user")


def test_what_tells_the_units_cannot_be_computed_elsewhere(monkeypatch):
    """A pickled vectorizer may be published: without a secret, trying all numbers of documents would find theirs."""
    corpus = PrivateVectorizer(4.0, output="corpus").fit_transform(TEXTS)
    monkeypatch.setattr("discreet.training.inputs._SECRET", b"of another process")
    assert check_vocabulary(corpus) == (SAME_UNITS.format(unit="document"),)


@hopeless
def test_a_seed_anywhere_promises_nothing():
    corpus = PrivateVectorizer(1.0, output="corpus", random_state=1).fit_transform(TEXTS)
    assert model().fit(corpus).guarantee_.basis is Basis.NONE
    assert corpus.vocabulary.cost is not None


SELECTING = {
    "private": lambda **options: model(**options),
    "subsampled": lambda **options: SubsampledLDA(3, n_rounds=5, **options),
    "spectral": lambda **options: SpectralLDA(3, **options),
    "variational": lambda **options: VariationalLDA(3, n_rounds=5, local_sweeps=2, **options),
}


@hopeless
@pytest.mark.filterwarnings("ignore:only . words were selected from the text")
@pytest.mark.filterwarnings("ignore:.* topics stand clear of the noise")
@pytest.mark.filterwarnings("ignore:the tensor decomposition did not settle")
@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize("name", SELECTING)
def test_text_to_topics_in_one_step(name, users):
    model = SELECTING[name]
    builder = CorpusBuilder()
    for text, user in zip(TEXTS, USERS, strict=True):
        builder.add(text, group=user if users else None)
    corpus = builder.build()
    heard: list[int] = []
    fitted = fit_text(model(epsilon=8.0), corpus, share=0.2, after_selection=heard.append)
    assert not any("when the words were selected" in reason for reason in fitted.guarantee_.reasons)
    assert heard == [len(fitted._vocabulary)]
    assert set(fitted._vocabulary) <= set(WORDS)
    assert fitted.guarantee_.unit is (Unit.USER if users else Unit.DOCUMENT)
    assert 0.98 * 8 < fitted.guarantee_.epsilon <= 8
    assert fitted.guarantee_.epsilon == pytest.approx(fitted.ledger_.spent().epsilon)
    assert fitted.ledger is None
    small = Ledger(Budget(7.5, 1e-6), unit="user" if users else "document")
    with drawn() as noise, pytest.raises(BudgetExceeded):  # the words would fit, the topics would not
        fit_text(model(epsilon=8.0, ledger=small), corpus)
    assert (small.entries, noise.call_count) == ((), 0)


def test_a_bar_shows_the_rounds_of_the_selection(capsys):
    PrivateVectorizer(4.0).fit(TEXTS)
    assert capsys.readouterr().err == ""
    PrivateVectorizer(4.0, progress=True).fit(TEXTS)
    assert re.search(r"selecting words .* 10/10", capsys.readouterr().err)


@hopeless
def test_a_model_that_shows_its_rounds_shows_those_of_the_selection(capsys):
    corpus = Corpus.from_texts(TEXTS)
    fit_text(model(progress=True), corpus)
    assert "selecting words" in capsys.readouterr().err
    fit_text(model(), corpus)
    assert capsys.readouterr().err == ""


def test_a_refit_that_finds_no_word_leaves_none_of_the_first():
    texts = ["rain wind storm"] * 200
    vectorizer = PrivateVectorizer(8.0, random_state=1).fit(texts)
    assert vectorizer.transform(texts).shape[1] == 3
    with pytest.raises(InputError, match="no word stood out"):
        vectorizer.set_params(epsilon=0.5).fit(["rain wind storm"] * 2)
    with pytest.raises(InputError, match="the vocabulary is empty"):
        vectorizer.transform(texts)
