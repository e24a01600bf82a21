"""LocalLDA: training that knows the noise, the papers' reconstruction, and what both promise."""

from __future__ import annotations

import numpy as np
import pytest

from discreet._errors import InputError, WouldLeak
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary, lda_corpus
from discreet.evaluation import match_topics
from discreet.experiments.data import each_word_once
from discreet.mechanisms.local import RandomisedResponse
from discreet.models.lda import LDA
from discreet.models.local.batch import Batch, normalised
from discreet.models.local.model import LocalLDA
from discreet.models.local.promise import promises
from discreet.models.local.reconstruct import reconstructed
from discreet.models.local.reports import Reports, frequencies
from discreet.privacy import Basis, Observer, Relation, Unit

FEW = {"n_sweeps": 4, "n_average": 2, "n_threads": 1}


def planted(n: int = 60, n_words: int = 40, length: int = 12) -> Corpus:
    corpus = lda_corpus(n, n_words, 3, seed=1, mean_length=length).corpus
    return Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "public"))


def reports_of(corpus: Corpus, epsilon: float = 2.0, seed: int = 3, **cap: int) -> Reports:
    return Reports.of_documents(corpus, RandomisedResponse.for_epsilon(epsilon, corpus.n_words, **cap), seed)


@pytest.mark.parametrize("published", [False, True])
def test_documents_and_their_reports_give_the_same_topics(published):
    corpus = planted()
    options = {"alpha": 0.1, "as_published": published, "random_state": 3, **FEW}
    of_documents = LocalLDA(3, epsilon_bit=2.0, **options).fit(corpus)
    of_reports = LocalLDA(3, **options).fit(reports_of(corpus))
    np.testing.assert_array_equal(of_documents.components_, of_reports.components_)
    np.testing.assert_allclose(of_reports.components_.sum(axis=1), 1)


def test_the_noise_topic_finds_topics_that_the_reconstruction_loses():
    """1,500 documents over 200 words in 5 planted topics at ε = 2: mean ℓ₁ distance to topics found without noise."""
    corpus = each_word_once(lda_corpus(1500, 200, 5, seed=2, mean_length=40).corpus)
    wanted = LDA(5, n_sweeps=60, random_state=0, n_threads=1).fit(corpus).components_

    def distance(**form: object) -> float:
        options = {"n_sweeps": 60, "random_state": 1, "n_threads": 1, **form}
        topics = LocalLDA(5, epsilon_bit=2.0, **options).fit(corpus).components_
        return float(np.mean(match_topics(wanted, topics).distances))

    published = distance(as_published=True)
    assert distance() < 0.7 * published
    assert distance(background=0.0) < 0.7 * published


def test_threads_do_not_change_the_result():
    corpus = planted()
    one, two = (LocalLDA(3, epsilon_bit=1.0, random_state=1, n_sweeps=3, n_threads=n).fit(corpus) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)


def test_without_noise_a_batch_is_lda():
    """β = ½, so that sums of priors are exact."""
    corpus, alpha = planted(), np.full(3, 0.1)
    batch = Batch(corpus, alpha, np.full((40, 3), 0.5), Key.from_seed(7), average_from=2, n_threads=1)
    for number in range(1, 5):
        batch.sweep(number)
    plain = LDA(3, alpha=0.1, beta=0.5, n_sweeps=4, n_average=3, random_state=7, n_threads=1, algorithm="sampled").fit(
        corpus
    )
    np.testing.assert_allclose(normalised(batch.counts(), np.full((40, 3), 0.5)), plain.components_, rtol=1e-13)


def test_false_bits_are_told_from_true_ones():
    """Every document holds the same ten words of a hundred; then 5% of the other bits are set. Nearly all tokens of the
    ten words are true, nearly all others false."""
    n, v = 400, 100
    corpus = Corpus(np.tile(np.arange(10, dtype=np.int32), n), np.arange(n + 1) * 10, Vocabulary(map(str, range(v))))
    response = RandomisedResponse.for_flip(0.1, v)
    reports = Reports.of_documents(corpus, response, 5)
    batch = Batch(
        reports.corpus(), np.array([1.0]), np.full((v, 1), 0.01), Key.from_seed(1), flip=response.flip, average_from=15
    )
    for number in range(1, 21):
        batch.sweep(number)
    counts = batch.counts()[:, 0]
    assert counts[:10].min() > 0.85 * n
    assert counts[10:].mean() < 0.01 * n


def test_the_background_is_what_a_topic_without_tokens_looks_like():
    corpus = planted()
    model = LocalLDA(30, epsilon_bit=2.0, background=1e6, random_state=1, **FEW).fit(corpus)
    reports = reports_of(corpus, seed=1)
    base = frequencies(reports.estimate(), reports.response.variance(60))
    np.testing.assert_allclose(model.components_, np.tile(base, (30, 1)), atol=1e-3)
    assert base.sum() == pytest.approx(1.0)
    assert base.min() > 0


def test_frequencies_trust_estimates_as_far_as_noise_allows():
    estimate = np.array([10.0, 30.0, 50.0])
    np.testing.assert_allclose(frequencies(estimate, 0.0), estimate / 90)
    np.testing.assert_allclose(frequencies(estimate, 1e9), np.full(3, 1 / 3))
    assert frequencies(np.array([-50.0, 100.0]), 0.0).min() > 0
    np.testing.assert_allclose(frequencies(np.full(4, -3.0), 2.0), np.full(4, 0.25))


# --- the papers' reconstruction ---------------------------------------------------------------------------------------


def test_reconstruction_gives_each_word_its_estimated_number_and_changes_no_more_bits_than_that():
    corpus = planted(200, 77)
    reports = reports_of(corpus, 1.0)
    found = reconstructed(reports, Key.from_seed(2)).to_counts().toarray()
    before = reports.corpus().to_counts().toarray()
    wanted = np.rint(np.clip(reports.estimate(), 0, 200))
    assert found.max() == 1
    np.testing.assert_array_equal(found.sum(axis=0), wanted)
    np.testing.assert_array_equal(abs(found - before).sum(axis=0), abs(wanted - before.sum(axis=0)))
    assert (wanted == 0).any()  # an estimate below zero was clamped


def test_reconstruction_takes_other_numbers():
    reports = reports_of(planted(50, 9), 1.0)
    found = reconstructed(reports, Key.from_seed(2), np.array([-4.0, 0.4, 1, 2, 3, 49.6, 50, 51, 25]))
    assert found.to_counts().toarray().sum(axis=0).tolist() == [0, 0, 1, 2, 3, 50, 50, 50, 25]


def test_reconstruction_in_pieces_is_the_same(monkeypatch):
    from discreet.models.local import reconstruct

    reports = reports_of(planted(30, 77), 1.0)
    whole = reconstructed(reports, Key.from_seed(2)).to_counts().toarray()
    monkeypatch.setattr(reconstruct, "_CHUNK", 1)
    assert (reconstructed(reports, Key.from_seed(2)).to_counts().toarray() == whole).all()


# --- promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("published", [False, True])
def test_both_guarantees_are_there_and_both_forms_are_proven(published):
    model = LocalLDA(2, epsilon_bit=1.5, report_words=4, as_published=published, **FEW).fit(planted())
    word, report = model.guarantee_, model.report_guarantee_
    assert (word.unit, word.basis) == (Unit.BIT, Basis.PROVEN)
    assert (report.unit, report.basis) == (Unit.REPORT, Basis.PROVEN)
    assert report.epsilon == pytest.approx(8 * 1.5)
    assert word.epsilon == model.response_.epsilon_word > 2.6
    assert "For a whole report replaced by another it is ε = 12" in str(word)
    assert word.summary().index("for a whole report replaced by another it is ε = 12") < word.summary().index("proven")
    assert not any("whole report" in condition for condition in word.conditions)
    assert "the word list is public" in word.summary()
    assert word == model.release().guarantee


def test_promises_say_what_they_cover():
    word, report = promises(RandomisedResponse.for_epsilon(1.0, 1000))
    assert (word.unit, word.observer, word.relation) == (Unit.BIT, Observer.REPORT, Relation.REPLACE)
    assert (word.epsilon, report.epsilon) == pytest.approx((1.0, 1000.0))
    assert "What many reports have in common is not hidden" in str(word)
    assert "protects nothing in practice" in str(report)


def test_a_seed_promises_nothing():
    model = LocalLDA(2, epsilon_bit=1.5, random_state=1, **FEW).fit(planted())
    assert model.guarantee_.basis == Basis.NONE
    assert model.report_guarantee_.basis == Basis.NONE
    assert LocalLDA(2, **FEW).fit(reports_of(planted())).guarantee_.basis == Basis.NONE


def test_reports_are_only_as_good_as_their_clients():
    corpus = planted()
    response = RandomisedResponse.for_epsilon(1.0, corpus.n_words)
    model = LocalLDA(2, **FEW).fit(Reports.of_documents(corpus, response))
    assert model.guarantee_.basis == Basis.PROVEN
    assert "every client randomises as these numbers say" in model.guarantee_.reasons


def test_two_fits_randomise_afresh():
    corpus = planted()
    one, two = (LocalLDA(2, epsilon_bit=1.0, **FEW).fit(corpus) for _ in range(2))
    assert not np.array_equal(one.components_, two.components_)


def test_words_read_from_private_text_are_refused():
    corpus = planted()
    read = Corpus(corpus.words, corpus.offsets, Vocabulary(corpus.vocabulary, "text"))
    with pytest.raises(WouldLeak, match="read from the private text"):
        LocalLDA(2, epsilon_bit=1.0, **FEW).fit(read)


def test_bad_requests():
    corpus = planted()
    for options in ({}, {"epsilon_bit": 1.0, "f": 0.5}):
        with pytest.raises(InputError, match="give either epsilon_bit="):
            LocalLDA(2, **options, **FEW).fit(corpus)
    with pytest.raises(InputError, match="randomised with epsilon_bit=2 and report_words=None"):
        LocalLDA(2, epsilon_bit=1.0, **FEW).fit(reports_of(corpus))
    with pytest.raises(InputError, match="about 40 words, but the vocabulary has 2"):
        Reports(reports_of(corpus).response, reports_of(corpus).packed, ["a", "b"])
    assert LocalLDA(2, epsilon_bit=2.0, **FEW).fit(reports_of(corpus)).n_features_in_ == 40
    assert LocalLDA(2, f=0.5, **FEW).fit(corpus).response_.f == 0.5


def test_documents_without_words_can_be_reported():
    empty = Corpus(np.zeros(0, np.int32), np.zeros(6, np.int64), Vocabulary(["a", "b", "c"], "public"))
    model = LocalLDA(2, epsilon_bit=2.0, **FEW).fit(empty)
    assert np.isfinite(model.components_).all()


def test_reports_can_be_cut_and_shown():
    reports = reports_of(planted())
    assert len(reports[:10]) == 10
    assert repr(reports[:10]) == "<Reports: 10 reports about 40 words, ε = 2 for one word>"
