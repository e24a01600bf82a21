"""fit_text: text to topics in one call. Parameters stay as they were given; a run has one ledger."""

from __future__ import annotations

from importlib import import_module
from unittest.mock import patch

import numpy as np
import pytest

from discreet import (
    LDA,
    Budget,
    Corpus,
    HybridLDA,
    InputError,
    Ledger,
    PrivateLDA,
    PrivateVectorizer,
    SpectralLDA,
    SubsampledLDA,
    VariationalLDA,
    WouldLeak,
    fit_text,
)
from discreet._catalogue import METHODS
from discreet.corpus import Tokenizer, Vocabulary, corpus
from discreet.corpus.ids import numbered
from discreet.models.fit_text import selects_words
from discreet.privacy import Unit
from discreet.training.own_ledger import OwnLedger
from tests.support.spending import drawn, hopeless

pytestmark = [
    hopeless,
    pytest.mark.filterwarnings("ignore:only . words were selected from the text"),
    pytest.mark.filterwarnings("ignore:.* topics stand clear of the noise"),
    pytest.mark.filterwarnings("ignore:the tensor decomposition did not settle"),
]

TEXTS = [("The rain and the wind, rain and storm.", "A piano, a violin: a piano concert!")[i % 2] for i in range(400)]
WORDS = ("concert", "piano", "rain", "storm", "violin", "wind")
USERS = [f"user-{i % 200}" for i in range(400)]

MODELS = {
    "private": PrivateLDA(3, epsilon=8.0, n_rounds=5),
    "subsampled": SubsampledLDA(3, epsilon=8.0, n_rounds=5),
    "variational": VariationalLDA(3, epsilon=8.0, n_rounds=5),
    "spectral": SpectralLDA(3, epsilon=8.0),
}


@pytest.mark.parametrize("row", METHODS.values(), ids=lambda row: row.method)
def test_the_catalogue_says_which_models_select_words(row):
    kind = getattr(import_module(row.home), row.name)
    private = {} if row.sound is None or "epsilon" not in row.sound.needs else {"epsilon": 8.0}
    assert selects_words(kind(2, **private)) is row.selects_words
    if "as_published" in kind._get_param_names():
        assert not selects_words(kind(2, **private, as_published=True))
    if private and row.without_epsilon is not None:
        assert not selects_words(kind(2))


@pytest.mark.parametrize("name", MODELS)
def test_the_parameters_of_the_model_do_not_change(name, tmp_path):
    kept = {} if name == "spectral" else {"checkpoint": tmp_path / "c"}
    for options in ({"ledger": Ledger()}, kept):
        model = type(MODELS[name])(**{**MODELS[name].get_params(), **options})
        before = model.get_params()
        fitted = fit_text(model, TEXTS, share=0.2)
        assert model.get_params() == before
        assert not hasattr(model, "components_")
        assert fitted.get_params() == {**before, "n_topics": 2}  # as many as six words can make
        assert len(fitted.components_) == 2


def test_callbacks_are_not_copied():
    heard = []

    class Listener:
        def __call__(self, info):
            heard.append(self)

    listener = Listener()
    fit_text(PrivateLDA(2, epsilon=8.0, n_rounds=3, callbacks=[listener]), TEXTS)
    assert heard == [listener] * 3


def test_a_run_opens_one_ledger_makes_one_plan_of_words_and_numbers_its_users_once():
    def counted(owner, name):
        return patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))

    with (
        counted(OwnLedger, "__init__") as ledgers,
        patch.object(corpus, "numbered", side_effect=numbered) as numberings,
        counted(PrivateVectorizer, "plan") as plans,
    ):
        fitted = fit_text(MODELS["private"], TEXTS, groups=USERS, share=0.2)
    assert fitted.guarantee_.unit is Unit.USER
    assert (ledgers.call_count, numberings.call_count, plans.call_count) == (1, 1, 1)
    assert {"vocabulary", "topic counts"} < {entry.label for entry in fitted.ledger_.entries}


def test_text_or_its_corpus_gives_the_same():
    seeded = PrivateLDA(2, epsilon=8.0, n_rounds=5, random_state=3)
    tables = [fit_text(seeded, given, share=0.2).components_ for given in (TEXTS, Corpus.from_texts(TEXTS))]
    np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize("given", [TEXTS, Corpus.from_texts(TEXTS)], ids=["texts", "corpus"])
@pytest.mark.parametrize("form", ["list", "file", "vocabulary"])
def test_with_public_words_nothing_is_selected(given, form, tmp_path):
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    words = {"list": WORDS, "file": tmp_path / "words.txt", "vocabulary": Vocabulary(WORDS, "public")}[form]
    fitted = fit_text(MODELS["private"], given, vocabulary=words)
    assert fitted.release().vocabulary == WORDS
    assert "the word list is public" in fitted.guarantee_.reasons
    assert "vocabulary" not in {entry.label for entry in fitted.ledger_.entries}
    assert fitted.n_topics == 3


def test_a_tokenizer_says_what_a_word_is():
    fitted = fit_text(PrivateLDA(1, epsilon=8.0, n_rounds=3), ["Übung größe"] * 400, tokenizer=Tokenizer(r"\w{3,}"))
    assert fitted.release().vocabulary == ("größe", "übung")


def test_ordinary_models_read_their_words_from_the_text():
    fitted = fit_text(LDA(2, n_sweeps=3), TEXTS, max_words=4)
    assert len(fitted.release().vocabulary) == 4


@pytest.mark.parametrize("model", [HybridLDA(2, epsilon=100.0), SpectralLDA(2, epsilon=8.0, configuration=1)])
def test_a_form_that_cannot_charge_a_selection_refuses_text(model):
    with pytest.raises(WouldLeak, match="read from the private text"):
        fit_text(model, TEXTS)


@pytest.mark.parametrize(
    "model",
    [
        SubsampledLDA(2, epsilon=8.0, n_rounds=3, as_published=True),
        SpectralLDA(2, epsilon=8.0, configuration=1, as_published=True),
    ],
)
def test_a_published_form_reads_its_words_and_says_so(model):
    assert "the vocabulary was read from the private text" in fit_text(model, TEXTS).guarantee_.reasons


def test_refused_before_anything_is_charged():
    ledger = Ledger()
    private = PrivateLDA(2, epsilon=8.0, ledger=ledger)
    counts = Corpus.from_counts(np.ones((5, 4), int))
    with drawn() as noise:
        with pytest.raises(WouldLeak, match=r"most frequent words of a matrix .* Leave max_words out"):
            fit_text(private, counts, max_words=2)
        with pytest.raises(WouldLeak, match="read from the private text"):
            fit_text(private, Corpus.from_texts(TEXTS, max_words=3))
        with pytest.raises(InputError, match="takes no tokenizer"):
            fit_text(private, counts, tokenizer=str.split)
        with pytest.raises(InputError, match="LDA does not protect users"):
            fit_text(LDA(2), TEXTS, groups=USERS)
        with pytest.raises(InputError, match="exactly one user id for each document"):
            fit_text(private, TEXTS, groups=USERS[1:])
        with pytest.raises(InputError, match="vocabulary and max_words were both given"):
            fit_text(private, TEXTS, vocabulary=WORDS, max_words=2)
    assert (ledger.entries, noise.call_count) == ((), 0)


def test_tokens_left_out_by_global_counts_are_not_selected_from():
    """Their sensitivity is not one document: whether a token stays depends on the others."""
    full = Corpus.from_texts(TEXTS)
    rare = full.word_counts[full.words] < 5
    offsets = np.concatenate([[0], np.cumsum(~rare)])[full.offsets]
    filtered = Corpus(full.words[~rare], offsets, full.vocabulary)
    ledger = Ledger(Budget(8.0, 1e-6), unit="document")
    with pytest.raises(WouldLeak):
        fit_text(PrivateLDA(2, epsilon=8.0, n_rounds=3, ledger=ledger), filtered)
    with pytest.raises(WouldLeak):
        PrivateVectorizer(8.0, ledger=ledger).fit(filtered)
    assert not ledger.entries


@pytest.mark.parametrize(
    "model",
    [
        lambda **more: SubsampledLDA(2, epsilon=8.0, tolerance=0.1, **more),
        lambda **more: VariationalLDA(2, epsilon=8.0, noise_multiplier=1.0, **more),
        lambda **more: PrivateLDA(2, epsilon=8.0, alpha=[0.1, 0.1, 0.1], **more),
        lambda **more: SpectralLDA(2, epsilon=8.0, split=(1.0, 2.0), **more),
    ],
    ids=["tolerance", "multiplier", "alpha", "split"],
)
def test_parameters_are_refused_before_the_words_are_charged(model):
    ledger = Ledger(Budget(8.0, 1e-6), unit="document")
    with pytest.raises(InputError):
        fit_text(model(ledger=ledger), TEXTS)
    assert not ledger.entries


def test_users_are_refused_where_words_are_protected():
    model = SubsampledLDA(2, as_published=True, n_rounds=2)
    with pytest.raises(InputError, match="does not protect users"):
        fit_text(model, TEXTS, groups=range(len(TEXTS)), vocabulary=["rain", "wind"])


def test_texts_without_a_word_are_like_texts_of_which_no_word_stands_out():
    """An error that came before the charge would be a fact about the documents, and their number another."""
    ledger = Ledger(Budget(8.0, 1e-6), unit="document")
    with pytest.raises(InputError, match="no word stood out of the noise") as error:
        fit_text(PrivateLDA(2, epsilon=8.0, ledger=ledger), ["of the"] * 37)
    assert "37" not in str(error.value)
    assert ledger.entries
