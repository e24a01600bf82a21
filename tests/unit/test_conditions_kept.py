"""Conditions that must not go missing beside a proven ε, and refusals that must come before the charge."""

from __future__ import annotations

import pytest
from sklearn.model_selection import GridSearchCV

from discreet import PrivateLDA, PrivateVectorizer, WouldLeak, fit_text, plan
from discreet._errors import DiscreetError
from discreet.cli.public import open_public
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.knowledge import MODEL, public_knowledge, refuse_same_text
from discreet.models.lda import LDA
from discreet.models.local.model import LocalLDA
from discreet.models.local.online_local import OnlineLocalLDA
from discreet.models.local.promise import CLIENTS, SIMULATED
from discreet.models.local.reports import Reports
from discreet.planning.words import TEXTS, measured_text
from discreet.privacy.ledger import Budget, Ledger

FEW = {"n_sweeps": 3, "n_average": 1, "n_threads": 1}


def planted(n=40):
    corpus = lda_corpus(n, 20, 2, seed=1, mean_length=12).corpus
    return Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"))


def test_a_simulation_says_that_each_run_is_another_report():
    assert SIMULATED in LocalLDA(2, epsilon_bit=1.0, **FEW).fit(planted()).guarantee_.reasons


def test_a_search_over_local_models_is_a_condition():
    search = GridSearchCV(LocalLDA(2, epsilon_bit=1.0, **FEW), {"alpha": [0.1, 0.2]}, cv=2).fit(planted().to_counts())
    assert any("chosen without looking" in reason for reason in search.best_estimator_.guarantee_.reasons)


def test_words_that_were_selected_on_the_texts_are_refused_for_reports_too():
    texts = ["rain wind storm", "piano violin concert"] * 300
    corpus = PrivateVectorizer(8.0, output="corpus").fit_transform(texts)
    reports = Reports.of_documents(corpus, RandomisedResponse.for_epsilon(1.0, corpus.n_words))
    with pytest.raises(DiscreetError, match="cannot be added"):
        LocalLDA(2, **FEW).fit(reports)


def test_a_stream_keeps_the_conditions_of_its_earlier_batches():
    corpus = planted()
    response = RandomisedResponse.for_epsilon(1.0, corpus.n_words)
    model = OnlineLocalLDA(2, epsilon_bit=1.0, **FEW)
    model.partial_fit(Reports.of_documents(corpus[:20], response)).partial_fit(corpus[20:])
    assert {CLIENTS, SIMULATED} <= set(model.guarantee_.reasons)


def test_public_text_that_is_the_private_text_is_refused_before_words_are_charged():
    texts = [f"rain wind storm cloud sun snow ice hail fog mist dew number{i}" for i in range(300)]
    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.raises(WouldLeak, match="holds the documents"):
        fit_text(PrivateLDA(2, epsilon=2.0, ledger=ledger, public=Corpus.from_texts(texts)), texts)
    assert not ledger.entries


def test_short_documents_are_recognised_too():
    letters = "abcdefghijklmnopqrst"
    words = [f"word{a}{b}" for a in letters for b in letters]
    texts = [f"{words[i]} {words[(7 * i) % 400]} {words[(3 * i + 1) % 400]}" for i in range(400)]
    with pytest.raises(WouldLeak, match="holds the documents"):
        refuse_same_text(Corpus.from_texts(texts), Corpus.from_texts(texts))


def test_a_model_without_a_guarantee_needs_public_documents():
    corpus = planted()
    model = LDA(2, n_sweeps=3, evaluate_every=0, random_state=0).fit(corpus)
    assert public_knowledge(model, corpus.vocabulary).condition == MODEL
    assert "documents that it was trained on" in MODEL


def test_another_spelling_of_the_private_file_is_not_public(tmp_path):
    private = tmp_path / "mails.txt"
    private.write_text("rain\n")
    (tmp_path / "link.txt").symlink_to(private)
    for name in ("link.txt", "./mails.txt"):
        with pytest.raises(DiscreetError, match="private documents themselves"):
            open_public(str(tmp_path / name), str(private), None)


def test_a_plan_says_which_public_text_it_read():
    facts = {"documents": 5_000, "words_per_document": 100}
    text = measured_text("notes.txt", planted().word_counts)
    like = plan(**facts, texts=(text, text, text))
    assert like.to_json()["reads"] == "public: notes.txt"
    assert "notes.txt, which is taken as public" in str(like)
    assert "notes.txt, which is taken as public" in like._repr_html_()
    assert plan(**facts, texts=TEXTS).to_json()["reads"] == "nothing"


def test_short_documents_over_few_words_are_alike_by_chance():
    texts = [" ".join(pair) for pair in (["rain", "wind", "storm"], ["piano", "violin", "song"])] * 40
    refuse_same_text(Corpus.from_texts(texts), Corpus.from_texts(texts[:20]))
