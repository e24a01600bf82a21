"""PrivateLDA with public knowledge: what is taken from it, what is refused, and what the guarantee says."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from discreet import LDA, Budget, Corpus, Ledger, PrivateCrossLDA, PrivateLDA, PrivateVectorizer
from discreet._errors import InputError, WouldLeak
from discreet.corpus import Vocabulary, lda_corpus
from discreet.models.knowledge import TEXT, public_knowledge
from discreet.models.private.public import VECTORS, drawn, known

N_WORDS, N_TOPICS = 40, 3
WORDS = [f"{a}{b}" for a in ("sea", "law", "tea", "art") for b in "abcdefghij"]
hopeless = pytest.mark.filterwarnings("ignore:these topics are unlikely")


def corpus(seed: int, n: int = 400) -> Corpus:
    """Documents of the same topics, whatever the seed."""
    return drawn_from(lda_corpus(1, N_WORDS, N_TOPICS, seed=1).topics, seed, n, WORDS)


def drawn_from(topics: np.ndarray, seed: int, n: int, words: list[str] | None = None) -> Corpus:
    rng = np.random.default_rng(seed)
    counts = [rng.multinomial(40, mixture) for mixture in rng.dirichlet(np.full(len(topics), 0.2), n) @ topics]
    words = words or [f"word{i}" for i in range(topics.shape[1])]
    return Corpus.from_counts(np.array(counts), Vocabulary(words, "public"))


@pytest.fixture(scope="module")
def private() -> Corpus:
    return corpus(2)


@pytest.fixture(scope="module")
def text() -> Corpus:
    return corpus(3)


def short(**options: Any) -> PrivateLDA:
    return PrivateLDA(**{"n_topics": N_TOPICS, "epsilon": 20.0, "n_rounds": 6, **options})


KINDS = {
    "text": lambda text: text,
    "model": lambda text: LDA(N_TOPICS, n_sweeps=20, random_state=1).fit(text),
    "release": lambda text: LDA(7, n_sweeps=20, random_state=1).fit(text).release(),
    "vectors": lambda text: dict(zip(WORDS, np.random.default_rng(0).normal(size=(N_WORDS, 5)), strict=True)),
}


@hopeless
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_taken_and_named_as_a_condition(private, text, kind):
    model = short(public=KINDS[kind](text)).fit(private)
    assert "given as public=" in str(model.guarantee_.reasons)
    plain = short().fit(private)
    assert "public=" not in str(plain.guarantee_.reasons)
    assert model.guarantee_.epsilon == plain.guarantee_.epsilon
    assert model.ledger_.entries == plain.ledger_.entries
    if kind == "vectors":
        assert not hasattr(model, "public_topics_")
    else:
        assert model.public_topics_.shape == (N_TOPICS, N_WORDS)
        np.testing.assert_allclose(model.public_topics_.sum(axis=1), 1)


def test_what_is_known(text):
    words = Vocabulary(WORDS, "public")
    assert known(None, words, 3).links == ()  # these words share no stem
    assert len(known(None, Vocabulary(["graph", "graphs"], "public"), 3).links) == 1
    found = known(text, words, 3)
    assert found.condition == TEXT
    assert found.start.shape == (N_WORDS, 3)
    np.testing.assert_allclose(found.start.sum(axis=1), 1)
    vectors = known(KINDS["vectors"](text), words, 3)
    assert vectors.condition == VECTORS
    assert vectors.start is None
    assert found.digest != vectors.digest
    assert found.digest == known(text, words, 3).digest


def test_a_word_that_public_text_lacks_has_no_neighbours_and_starts_in_all_topics(text):
    words = Vocabulary([*WORDS, "zebra"], "public")
    found = known(text, words, 3)
    assert not found.links[0][[-1]].nnz
    assert not found.links[0][:, [-1]].nnz
    assert found.start[-1].min() > 0


def test_documents_drawn_from_public_topics_have_their_words(text):
    public = public_knowledge(text, Vocabulary(WORDS, "public"), n_topics=5)
    made = drawn(public)
    shares = made.word_counts / made.n_tokens
    assert np.abs(shares - public.shares @ public.topics).max() < 0.01  # 500,000 tokens in clumps


@hopeless
def test_a_start_that_the_documents_contradict_is_left_behind(private, text):
    """Public text with the words of the documents exchanged: at a large epsilon, the topics are those of the
    documents."""
    other = Corpus((text.words + 13) % N_WORDS, text.offsets, text.vocabulary)
    model = short(public=other, n_rounds=150, epsilon=1e4, random_state=1).fit(private)
    truth = LDA(N_TOPICS, n_sweeps=50, random_state=1).fit(private).components_
    for topics, low, high in ((truth, 0.95, 1.0), (model.public_topics_, -1.0, 0.9)):
        similar = np.corrcoef(np.vstack([model.components_, topics]))[:N_TOPICS, N_TOPICS:].max(axis=1)
        assert (similar >= low).all()
        assert (similar <= high).all()


@hopeless
def test_the_first_topics_are_those_of_public_text(private, text):
    """Which the documents then draw from: topics keep their places. With a start of their own, places are random, and
    all three agree with a chance of 1 in 6 in each of five runs: 1e-4."""
    for seed in range(5):
        model = short(public=text, epsilon=1e3, random_state=seed).fit(private)
        similar = np.corrcoef(np.vstack([model.components_, model.public_topics_]))[:N_TOPICS, N_TOPICS:]
        np.testing.assert_array_equal(similar.argmax(axis=1), range(N_TOPICS))


@hopeless
def test_public_text_of_the_same_topics_helps():
    """Three pairs of runs, which differ in nothing but ``public``: perplexities were 149 to 161 without, 124 to 127
    with it, and 107 of LDA."""
    topics = lda_corpus(1, 300, 8, beta=0.1, seed=1).topics
    mine, public, test = (drawn_from(topics, seed, n) for seed, n in ((2, 2000), (3, 1000), (4, 300)))
    options = {"n_topics": 8, "epsilon": 1.0, "n_rounds": 40}
    for seed in range(3):
        alone, helped = (short(**options, random_state=seed, public=x).fit(mine) for x in (None, public))
        assert helped.perplexity(test) < 0.9 * alone.perplexity(test)


@hopeless
def test_where_topics_are_hopeless_public_ones_are_kept_and_words_are_counted():
    """With ε = 0.01 for 60 documents nothing can be learnt of topics, so the rounds count words. How words are spread
    over topics is then what the public text says; without public text all topics are the same."""
    mine, other, test = corpus(2, 60), corpus(3), corpus(4)
    budget = {"epsilon": 0.01, "delta": 1e-4, "n_units": 60, "random_state": 0}
    alone, helped = short(**budget).fit(mine), short(**budget, public=other).fit(mine)
    assert (alone.components_ == alone.components_[0]).all()
    table = helped.components_.T * helped.topic_shares_
    spread = known(other, mine.vocabulary, N_TOPICS).start
    np.testing.assert_allclose(table / table.sum(axis=1, keepdims=True), spread, rtol=1e-6)
    assert helped.perplexity(test) < alone.perplexity(test)
    assert not helped.usefulness_.useful


@hopeless
def test_a_clone_and_a_pickle_keep_it(private, text):
    model = short(public=text, random_state=1)
    again = clone(model).fit(private)
    assert clone(model).public is not None
    loaded = pickle.loads(pickle.dumps(model)).fit(private)
    np.testing.assert_array_equal(again.components_, loaded.components_)


@hopeless
def test_a_run_can_be_resumed(private, text, tmp_path):
    """With the same public text; with another one the checkpoint belongs to another run."""
    from discreet.training.loop import SweepInfo

    def stop(info: SweepInfo) -> None:
        if info.sweep == 4:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "state", "checkpoint_every": 2, "public": text}
    with pytest.raises(KeyboardInterrupt):
        short(**options, callbacks=[stop]).fit(private)
    with pytest.raises(InputError, match="checkpoint"):
        short(**{**options, "public": corpus(9)}).fit(private)
    model = short(**options).fit(private)
    assert "given as public=" in str(model.guarantee_.reasons)
    assert not (tmp_path / "state").exists()


@hopeless
def test_collections_take_it_too(private, text):
    model = PrivateCrossLDA(N_TOPICS, epsilon=20.0, n_rounds=6, public=text)
    model.fit(private, collections=np.arange(400) % 2)
    assert "given as public=" in str(model.guarantee_.reasons)


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ({}, "empty mapping"),
        ({3: [1.0]}, "must map words to vectors"),
        ({"sea": 1.0}, "must map words to vectors"),
        ({"zebra": [1.0, 2.0]}, "none of the words"),
        ({"seaa": [1.0, 2.0], "seab": [1.0]}, "one length"),
        (LDA(3), "not fitted"),
        ("text", "public"),
    ],
    ids=["empty", "number", "no vector", "other words", "lengths", "not fitted", "a text"],
)
def test_what_is_refused_before_anything_is_charged(private, public, message):
    ledger = Ledger(Budget(20.0, 1e-6))
    with pytest.raises(ValueError, match=message):
        short(public=public, ledger=ledger).fit(private)
    assert not ledger.entries


def test_the_documents_themselves_are_no_public_text(private):
    with pytest.raises(WouldLeak):
        short(public=private).fit(private)


@hopeless
def test_seed_words_and_public_text_go_together(private, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = short(public=text, word_prior={0: {"seaa": 1e5}}, epsilon=200.0).fit(private)
    assert model.components_[0, 0] == model.components_[:, 0].max()


@hopeless
@pytest.mark.parametrize("kind", KINDS)
def test_words_that_were_selected_are_not_lost_to_public_text_without_them(text, kind):
    texts = [" ".join(f"zebra{'abc'[(i + j) % 3]}" for j in range(5)) for i in range(300)]
    selection = PrivateVectorizer(epsilon=20.0, random_state=1)
    selected = selection.fit_transform(texts)
    with pytest.warns(UserWarning, match="none of the selected words"):
        model = short(public=KINDS[kind](text), epsilon=40.0).fit(selected)
    assert not any("public=" in reason for reason in model.guarantee_.reasons)


@hopeless
@pytest.mark.parametrize("kind", ["text without these words", "vectors of several lengths", "no numbers", "zeros"])
def test_words_that_were_selected_are_not_lost_to_public_text_that_is_broken(kind):
    """What is wrong shows when the words are known, and they are paid for then."""
    words = [f"zebra{letter}" for letter in "abc"]
    read = Corpus.from_texts([" ".join(words), "quagga okapi quagga okapi"])
    given: Any = {
        "text without these words": read[[1]],
        "vectors of several lengths": {"zebraa": [1.0, 0.0], "zebrab": [1.0], "zebrac": [0.0, 1.0]},
        "no numbers": {"zebraa": [1.0, 0.0], "zebrab": ["one", "two"]},
        "zeros": {word: [0.0, 0.0] for word in words},
    }[kind]
    ledger = Ledger()
    texts = [" ".join(f"zebra{'abc'[(i + j) % 3]}" for j in range(5)) for i in range(300)]
    selected = PrivateVectorizer(epsilon=20.0, ledger=ledger).fit_transform(texts)
    with pytest.warns(UserWarning, match="given as public= is not used: "):
        model = short(public=given, epsilon=40.0, ledger=ledger, random_state=None).fit(selected)
    assert np.isfinite(model.components_).all()
    assert not any("public=" in reason for reason in model.guarantee_.reasons)
