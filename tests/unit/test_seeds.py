"""Seed words of PrivateLDA: public knowledge that names the topics, and a condition of the guarantee."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import BudgetFile, Corpus, Ledger, PrivateLDA
from discreet._errors import InputError
from discreet.corpus import Vocabulary, lda_corpus
from discreet.corpus.builder import CorpusBuilder
from discreet.models.fit_text import fit_text
from discreet.models.private.shrink import seeded, without_topics

pytestmark = pytest.mark.filterwarnings("ignore:this", "ignore:these topics")

K = 4
MADE = lda_corpus(3000, 80, K, mean_length=40, seed=3)
CORPUS = MADE.corpus.restrict(Vocabulary(MADE.corpus.vocabulary, "public"))
PLACES = [2, 0, 3, 1]
"""Where each true topic is to be found."""


def seeds(weight: float) -> dict[int, dict[str, float]]:
    """Three words that are typical of each true topic."""
    typical = (MADE.topics / MADE.topics.sum(axis=0) * np.sqrt(MADE.topics)).argsort(axis=1)[:, ::-1][:, :3]
    return {PLACES[t]: {CORPUS.vocabulary[w]: weight for w in typical[t]} for t in range(K)}


def places(model: PrivateLDA) -> list[int]:
    """The topic of the model that is nearest to each true one (Hellinger)."""
    apart = (np.sqrt(MADE.topics)[:, None] - np.sqrt(model.components_)[None]) ** 2
    return apart.sum(axis=2).argmin(axis=1).tolist()


def fit(**options):
    given = {"epsilon": 1.0, "n_rounds": 60, "n_threads": 1, "random_state": 1}
    return PrivateLDA(K, **{**given, **options}).fit(CORPUS)


@pytest.mark.parametrize("weight", [300.0, 3000.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_topics_are_where_their_seed_words_are(weight, seed):
    """A word has about 1,500 tokens. Without seeds one order of the four topics is as good as another: the control
    finds others, and a right one would come by chance once in 24."""
    model = fit(word_prior=seeds(weight), random_state=seed)
    assert places(model) == PLACES
    for topic, words in seeds(weight).items():
        columns = [CORPUS.vocabulary.index(word) for word in words]
        assert (model.components_[:, columns].argmax(axis=0) == topic).all()
    assert sorted(places(fit(random_state=seed))) == list(range(K))
    assert places(fit(random_state=seed)) != PLACES


def test_an_array_says_the_same_as_a_dictionary():
    array = np.zeros((K, CORPUS.n_words))
    for topic, words in seeds(300.0).items():
        for word, weight in words.items():
            array[topic, CORPUS.vocabulary.index(word)] = weight
    one, other = (fit(word_prior=prior, n_rounds=5) for prior in (array, seeds(300.0)))
    np.testing.assert_array_equal(one.components_, other.components_)


def test_nothing_changes_without_weights():
    none, zero = (fit(word_prior=prior, n_rounds=5) for prior in (None, {0: {"word1": 0.0}}))
    np.testing.assert_array_equal(none.components_, zero.components_)


def test_the_guarantee_names_the_condition():
    with_seeds = fit(word_prior=seeds(300.0), n_rounds=5, random_state=None)
    assert "word_prior is public" in with_seeds.guarantee_.reasons
    assert "word_prior is public" not in fit(n_rounds=5, random_state=None).guarantee_.reasons


def test_a_prior_of_as_many_tokens_as_the_word_has_counts_half():
    prior = np.array([[100.0, 0.0], [0.0, 0.0]])
    share = seeded(prior, np.array([100.0, 50.0]))
    np.testing.assert_allclose(share, [[0.5, 0.0], [0.0, 0.0]])
    table = np.array([[3.0, 1.0], [3.0, 1.0]])
    flat = without_topics(table, np.array([0.5, 0.5]), share)
    np.testing.assert_allclose(flat, [[0.5 * 3 + 0.25 * 8, 0.5 * 1], [3.0, 1.0]])
    np.testing.assert_allclose(flat.sum(axis=1), without_topics(table, np.array([0.5, 0.5])).sum(axis=1))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({9: {"word1": 1.0}}, "topics are 0 to 3"),
        ({0: ["word1"]}, "must be a dictionary of words"),
        ({0: {"nowhere": 1.0}}, "'nowhere', which is not in the vocabulary"),
        ({0: {"word1": 1e9}}, "weights are 0 to 1e"),
        ({0: {"word1": -1.0}}, "weights are 0 to 1e"),
        (np.zeros((2, 3)), "one for each of 4 topics and 80 words"),
    ],
)
def test_bad_seeds_are_refused_before_anything_is_charged(prior, message):
    ledger = Ledger()
    with pytest.raises(InputError, match=message):
        fit(word_prior=prior, ledger=ledger)
    assert not ledger.entries


def texts() -> Corpus:
    builder = CorpusBuilder()
    kinds = ("rain wind storm cloud sleet hail", "piano violin concert music cello flute")
    for i in range(3000):
        builder.add(kinds[i % 2])
    return builder.build()


def test_seed_words_that_were_not_selected_are_left_out():
    """They cannot be refused: the selection has been charged."""
    prior = {1: {"rain": 5000.0, "unheard": 10.0}, 0: {"piano": 5000.0}}
    model = PrivateLDA(2, epsilon=4.0, n_rounds=20, word_prior=prior, n_threads=1, random_state=1)
    with pytest.warns(UserWarning, match="1 of 3 seed words were not selected from the text, for instance 'unheard'"):
        model = fit_text(model, texts())
    best = [words[:6] for words in model.top_words(6)]
    assert "storm" in best[1]
    assert "violin" in best[0]


def test_an_array_goes_with_public_words_only(tmp_path):
    budget = BudgetFile.create(tmp_path / "b", 5.0, 1e-6)
    model = PrivateLDA(2, epsilon=4.0, word_prior=np.zeros((2, 12)), ledger=Ledger(file=budget))
    with pytest.raises(InputError, match="word_prior must be a dictionary"):
        fit_text(model, texts())
    assert not budget.charges()


def test_other_seeds_are_another_run(tmp_path):
    def lost(info):
        raise RuntimeError("lost")

    options = {"checkpoint": tmp_path / "c", "n_rounds": 5}
    with pytest.raises(RuntimeError):
        fit(**options, word_prior=seeds(300.0), callbacks=[lost])
    with pytest.raises(InputError, match="of another run"):
        fit(**options, word_prior=seeds(400.0))
    fit(**options, word_prior=seeds(300.0))
