"""LDA as people use it: parameters, reproducibility, options, results, and life among scikit-learn's other tools."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from discreet import LDA, Corpus, InherentPrivacyMonitor, InputError, RelatedWordsMonitor
from discreet.corpus import lda_corpus
from discreet.evaluation import completion_perplexity, match_topics
from discreet.models.algorithm import is_collapsed
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED, Basis


@pytest.fixture(scope="module")
def known():
    """500 documents from five topics over 80 words."""
    return lda_corpus(500, 80, 5, mean_length=60, alpha=0.1, beta=0.1, seed=1)


@pytest.fixture(scope="module")
def small():
    """Counts of 30 documents over 12 words; document 4 is empty."""
    counts = np.random.default_rng(2).poisson(1.2, (30, 12))
    counts[4] = 0
    return counts


DEFAULTS = {"n_sweeps": 6, "random_state": 0}


@pytest.fixture(autouse=True, params=["sampled", "collapsed"])
def algorithm(request, monkeypatch):
    """Every test runs with both."""
    monkeypatch.setitem(DEFAULTS, "algorithm", request.param)
    return request.param


def quick(n_topics=3, **options):
    return LDA(n_topics, **{**DEFAULTS, **options})


# --- parameters -----------------------------------------------------------------------------------------------------


BAD_PARAMETERS = [
    ({"n_topics": 0}, "n_topics"),
    ({"n_topics": 2.5}, "n_topics"),
    ({"n_topics": 65_536}, "n_topics"),
    ({"alpha": 0}, "alpha"),
    ({"alpha": "symmetric"}, "alpha"),
    ({"alpha": [0.1, 0.2]}, "alpha"),
    ({"alpha": [0.1, 0.2, -0.1]}, "alpha"),
    ({"alpha": [0.1, 0.2, np.inf]}, "alpha"),
    ({"alpha": ["a", "b", "c"]}, "alpha"),
    ({"alpha": [[0.1], [0.2, 0.3]]}, "alpha"),
    ({"alpha": np.full(40, 0.1)}, "alpha"),
    ({"beta": 0}, "beta"),
    ({"beta": np.ones((40, 2))}, "beta"),
    ({"beta": np.nan}, "beta"),
    ({"beta": np.inf}, "beta"),
    ({"n_sweeps": 0}, "n_sweeps"),
    ({"n_average": 0}, "n_average"),
    ({"learn_alpha": "yes"}, "learn_alpha"),
    ({"evaluate_every": -1}, "evaluate_every"),
    ({"algorithm": "colapsed"}, "algorithm"),
    ({"n_threads": 0}, "n_threads"),
    ({"random_state": "seed"}, "random_state"),
    ({"callbacks": print}, "callbacks"),
    ({"word_prior": np.ones((3, 5))}, "word_prior"),
    ({"word_prior": np.full((3, 12), -1.0)}, "word_prior"),
    ({"word_prior": [["a"] * 12] * 3}, "word_prior"),
    ({"word_prior": {3: {"word0": 1}}}, "topic 3"),
    ({"word_prior": {0: {"nobody": 1}}}, "'nobody'"),
    ({"word_prior": {0: {"word0": -1}}}, "'word0'"),
    ({"word_prior": {0: {"word0": "much"}}}, "'word0'"),
    ({"word_prior": {0: 5}}, "word_prior"),
    ({"word_prior": {0: ["word0", "word1"]}}, "word_prior"),
    ({"word_prior": np.ones((3, 12)), "learn_beta": True}, "learn_beta"),
]


@pytest.mark.parametrize(
    ("options", "found"), BAD_PARAMETERS, ids=[" ".join(repr(o)[1:40].split()) for o, _ in BAD_PARAMETERS]
)
def test_bad_parameters_are_named_in_one_line(small, options, found):
    with pytest.raises(InputError) as caught:
        quick(**options).fit(small)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ([[1, -1], [2, 0]], "Negative values in data .* found -1"),
        ([[1, 0.5], [2, 0]], "found 0.5 in row 0, column 1"),
        ([[1.0, 1e12], [2, 0]], "found 1000000000000.0"),
        (np.zeros((3, 4), int), "no token"),
        (np.ones((1, 2), int), "n_topics=3 is more than the corpus has tokens: 2"),
    ],
    ids=["negative", "fraction", "too large", "no token", "more topics than tokens"],
)
@pytest.mark.parametrize("form", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
def test_bad_counts_are_named_in_one_line(form, counts, found):
    with pytest.raises(InputError, match=found) as caught:
        quick().fit(form(counts))
    assert "\n" not in str(caught.value)


def test_a_model_must_be_fitted_before_it_is_used(small):
    for use in (lambda m: m.transform(small), lambda m: m.perplexity(small), lambda m: m.score(small), LDA.release):
        with pytest.raises(NotFittedError):
            use(LDA())


def test_new_documents_must_have_the_words_of_the_old(small):
    model = quick().fit(small)
    with pytest.raises(ValueError, match="features"):
        model.transform(small[:, :5])
    corpus = Corpus.from_counts(small)
    by_name = quick().fit(corpus)
    shorter = corpus.restrict(corpus.vocabulary[:5])
    assert_allclose(by_name.transform(shorter), by_name.transform(np.where(np.arange(12) < 5, small, 0)))


# --- randomness -----------------------------------------------------------------------------------------------------


def test_a_seed_repeats_the_run(small):
    one, again, other = (quick(random_state=s).fit(small) for s in (3, 3, 4))
    assert_array_equal(one.components_, again.components_)
    assert one.history_ == again.history_
    assert (one.components_ != other.components_).any()
    for make in (np.random.RandomState, np.random.default_rng):
        a, b = (quick(random_state=make(5)).fit(small).components_ for _ in range(2))
        assert_array_equal(a, b)


def test_without_a_seed_no_run_repeats(small):
    """Two runs of 360 tokens end with the same counts with a probability that nobody will meet."""
    one, other = (quick(random_state=None).fit(small) for _ in range(2))
    assert (one.components_ != other.components_).any()


def test_threads_do_not_change_the_topics(known):
    options = {"n_sweeps": 21, "learn_alpha": True, "learn_beta": True}
    one = quick(5, n_threads=1, **options).fit(known.corpus)
    for n_threads in (2, 3, None):
        other = quick(5, n_threads=n_threads, **options).fit(known.corpus)
        assert_array_equal(other.components_, one.components_)
        assert_array_equal(other.alpha_, one.alpha_)
        assert (other.beta_, other.history_) == (one.beta_, one.history_)
        assert_array_equal(other.transform(known.corpus), one.transform(known.corpus))


# --- the forms of counts --------------------------------------------------------------------------------------------


def test_every_form_of_the_same_counts_gives_the_same_model(small):
    expected = quick().fit(small)
    forms = [
        small.tolist(),
        small.astype(np.float64),
        small.astype(np.float32),
        small.astype(np.uint8),
        np.asfortranarray(small),
        sp.csr_matrix(small),
        sp.csc_matrix(small.astype(float)),
        sp.csr_array(small),
        Corpus.from_counts(small),
    ]
    for form in forms:
        model = quick().fit(form)
        assert_array_equal(model.components_, expected.components_)
        assert_array_equal(model.transform(form), expected.transform(small))


def test_the_input_is_not_changed(small):
    for form in (small.copy(), sp.csr_matrix(small)):
        before = form.copy()
        quick().fit(form).transform(form)
        assert abs(form - before).sum() == 0


# --- options --------------------------------------------------------------------------------------------------------


def test_history_has_one_entry_for_each_sweep(small):
    assert len(quick(n_sweeps=7).fit(small).history_["log_likelihood"]) == 7
    assert len(quick(n_sweeps=7, evaluate_every=3).fit(small).history_["log_likelihood"]) == 2
    assert quick(n_sweeps=7, evaluate_every=0).fit(small).history_ == {}


def test_log_likelihood_rises(known):
    history = quick(5, n_sweeps=40).fit(known.corpus).history_["log_likelihood"]
    assert np.mean(history[-5:]) > np.mean(history[:5]) + 0.2
    assert np.isfinite(history).all()


def test_callbacks_hear_of_every_sweep_and_can_end_it(small):
    heard, also = [], []
    model = quick(callbacks=[heard.append, lambda info: also.append(info.sweep)]).fit(small)
    assert [info.sweep for info in heard] == also == [1, 2, 3, 4, 5, 6]
    assert {info.n_sweeps for info in heard} == {6}
    assert [info.measures["log_likelihood"] for info in heard] == model.history_["log_likelihood"]
    assert all(a.seconds <= b.seconds for a, b in pairwise(heard))

    also.clear()
    stopped = quick(callbacks=[lambda info: info.sweep == 4, lambda info: also.append(info.sweep)]).fit(small)
    assert stopped.n_sweeps_ == len(stopped.history_["log_likelihood"]) == 4
    assert also == [1, 2, 3, 4]
    assert_array_equal(stopped.components_, quick(n_sweeps=4, n_average=4).fit(small).components_)
    before_the_average = quick(callbacks=[lambda info: info.sweep == 2], n_average=1).fit(small)
    assert_array_equal(before_the_average.components_, quick(n_sweeps=2, n_average=1).fit(small).components_)


def test_a_callback_that_returns_something_true_but_not_true_ends_nothing(small):
    assert quick(callbacks=[lambda info: 1, lambda info: "on"]).fit(small).n_sweeps_ == 6


def test_the_progress_bar_is_on_standard_error(small, capsys):
    silent = quick().fit(small)
    assert capsys.readouterr() == ("", "")
    shown = quick(progress=True).fit(small)
    out, err = capsys.readouterr()
    assert out == ""
    assert "training" in err
    assert "6/6" in err
    assert "per second" in err
    assert_array_equal(shown.components_, silent.components_)


def test_an_error_in_a_callback_reaches_the_caller_and_ends_the_bar(small):
    def fail(info):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        quick(progress=True, callbacks=[fail]).fit(small)
    quick(progress=True).fit(small)  # a bar left open would refuse a second one


ROUNDED = {"sampled": 1e-10, "collapsed": 1e-4}
"""Expected counts are known only from topics and word totals, which they match to rounding."""


def whole_counts(model, word_totals, prior):
    """The counts behind one sample: ``components_`` are (n + prior) / norm, and Σ_k n is known for each word."""
    norms = np.linalg.lstsq(model.components_.T, word_totals + np.sum(prior, axis=0), rcond=None)[0]
    n = model.components_ * norms[:, None] - prior
    if DEFAULTS["algorithm"] == "collapsed":
        return n
    assert_allclose(n, np.rint(n), atol=1e-8)
    return np.rint(n)


def test_topics_are_the_mean_of_the_last_samples(small):
    """Mean counts plus β, normalised; the samples are where shorter runs end."""
    prior = np.full((3, 12), 0.5)
    runs = [quick(n_sweeps=n, n_average=1, beta=0.5).fit(small) for n in (4, 5, 6)]
    samples = [whole_counts(model, small.sum(axis=0), prior) for model in runs]
    mean = np.mean(samples, axis=0) + prior
    averaged = quick(n_sweeps=6, n_average=3, beta=0.5).fit(small)
    assert_allclose(averaged.components_, mean / mean.sum(axis=1, keepdims=True), rtol=ROUNDED[DEFAULTS["algorithm"]])


def test_warm_start_continues(small):
    """Two fits of five sweeps are one of ten."""
    whole = quick(n_sweeps=10, n_average=1).fit(small)
    parts = quick(n_sweeps=5, n_average=1, warm_start=True).fit(small)
    assert parts.n_sweeps_ == 5
    parts.fit(small)
    assert parts.n_sweeps_ == 10
    assert_array_equal(parts.components_, whole.components_)
    assert parts.history_ == whole.history_

    more = quick(n_sweeps=7, n_average=2, warm_start=True).fit(small).set_params(n_sweeps=3, n_threads=2).fit(small)
    assert_array_equal(more.components_, quick(n_sweeps=10, n_average=2).fit(small).components_)


def test_without_warm_start_a_fit_starts_anew(small):
    model = quick().fit(small)
    first = model.components_
    assert_array_equal(model.fit(small).components_, first)
    assert model.n_sweeps_ == len(model.history_["log_likelihood"]) == 6
    warm = quick(warm_start=True).fit(small).set_params(warm_start=False).fit(small)
    assert_array_equal(warm.components_, first)


def test_warm_start_refuses_other_documents_and_topics(small):
    model = quick(warm_start=True).fit(small)
    with pytest.raises(InputError, match="warm_start continues with the same documents"):
        model.fit(small[:20])
    with pytest.raises(InputError, match="warm_start continues with the same documents"):
        model.set_params(n_topics=4).fit(small)
    assert model.set_params(n_topics=3).fit(small).n_sweeps_ == 12


def test_warm_start_refuses_another_algorithm(small, algorithm):
    model = quick(warm_start=True).fit(small)
    other = "collapsed" if algorithm == "sampled" else "sampled"
    with pytest.raises(InputError, match=f"algorithm='{algorithm}'; found algorithm='{other}'"):
        model.set_params(algorithm=other).fit(small)
    assert model.set_params(algorithm="auto").fit(small).n_sweeps_ == 12


def test_warm_start_learns_priors_as_one_run_does(known):
    options = {"n_average": 1, "learn_alpha": True, "learn_beta": True}
    whole = quick(5, n_sweeps=42, **options).fit(known.corpus)
    parts = quick(5, n_sweeps=21, warm_start=True, **options).fit(known.corpus).fit(known.corpus)
    assert_array_equal(parts.alpha_, whole.alpha_)
    assert parts.beta_ == whole.beta_ != 0.01
    assert_array_equal(parts.components_, whole.components_)


def test_alpha_may_differ_between_topics(known):
    """A topic with a large α takes more tokens; the model keeps the array."""
    alpha = np.array([5.0, 0.05, 0.05])
    model = quick(alpha=alpha, n_sweeps=30).fit(known.corpus)
    assert_array_equal(model.alpha_, alpha)
    assert model.transform(known.corpus).mean(axis=0).argmax() == 0
    same = quick(alpha=alpha.tolist(), n_sweeps=30).fit(known.corpus)
    assert_array_equal(same.components_, model.components_)
    alpha[0] = 9
    assert model.alpha_[0] == 5


@pytest.mark.parametrize("by_name", [False, True], ids=["array", "dictionary"])
def test_word_prior_seeds_topics(known, by_name):
    """Seeded with the likeliest words of the true topics in an order of ours, the topics come out in that order."""
    wanted = [3, 0, 4, 1, 2]
    prior = np.zeros((5, 80))
    for k, true in enumerate(wanted):
        prior[k, np.argsort(-known.topics[true])[:8]] = 20.0
    names = known.corpus.vocabulary
    given = {k: {names[w]: 20.0 for w in np.flatnonzero(row)} for k, row in enumerate(prior)} if by_name else prior
    model = quick(5, n_sweeps=40, word_prior=given).fit(known.corpus)
    assert_array_equal(match_topics(model.components_, known.topics).order, wanted)
    assert np.isfinite(model.history_["log_likelihood"]).all()


def test_word_prior_is_added_to_beta(small):
    """Column 12 holds no token: there a topic is prior and nothing else."""
    counts = np.c_[small, np.zeros(30, int)]
    prior = np.zeros((3, 13))
    prior[1, 12] = 2.0
    model = quick(word_prior=prior, beta=0.5, n_average=1).fit(counts)
    n = whole_counts(model, counts.sum(axis=0), prior + 0.5)
    assert_allclose(n[:, 12], 0, atol=ROUNDED[DEFAULTS["algorithm"]])
    assert n.sum() == pytest.approx(counts.sum(), rel=1e-5)
    assert_array_equal(quick(word_prior=np.zeros((3, 12))).fit(small).components_, quick().fit(small).components_)


# --- what comes out -------------------------------------------------------------------------------------------------


def test_rows_are_probabilities(small):
    model = quick().fit(small)
    theta = model.transform(small)
    assert model.components_.shape == (3, 12)
    assert theta.shape == (30, 3)
    for rows in (model.components_, theta):
        assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)
        assert (rows > 0).all()


def test_an_empty_document_gets_the_prior(small):
    alpha = np.array([1.0, 2.0, 5.0])
    theta = quick(alpha=alpha).fit_transform(small)
    assert_allclose(theta[4], alpha / 8)
    assert_array_equal(theta, quick(alpha=alpha).fit(small).transform(small))


def test_one_topic_is_the_unigram_model(small):
    model = quick(1, beta=0.5).fit(small)
    n = small.sum(axis=0) + 0.5
    assert_allclose(model.components_[0], n / n.sum())
    assert_array_equal(model.transform(small), np.ones((30, 1)))


def test_training_pays(known):
    """Held-out perplexity falls with training, beats the unigram model, and comes near that of the true topics.

    One run in five ends in a local optimum here (8 of 40 seeds): three runs, the best counts.
    """
    train, test = known.corpus[:400], known.corpus[400:]
    early = quick(5, n_sweeps=1, n_average=1).fit(train)
    runs = [quick(5, n_sweeps=100, n_average=1, random_state=seed).fit(train) for seed in range(3)]
    late = min(runs, key=lambda model: model.perplexity(test))
    unigram = completion_perplexity(train.word_counts[None] / train.n_tokens, test, alpha=1.0)
    truth = completion_perplexity(known.topics, test, alpha=0.1)
    assert late.perplexity(test) < 0.8 * unigram
    assert late.perplexity(test) < 0.8 * early.perplexity(test)
    assert late.perplexity(test) < 1.05 * truth
    assert late.score(test) == pytest.approx(-np.log(late.perplexity(test)))


def test_topics_are_recovered(known):
    """Hungarian ℓ1 distance to the true topics, 0 to 2, is below 0.1; untrained topics are 1.0 away."""
    model = quick(5, n_sweeps=150, n_average=30).fit(known.corpus)
    assert match_topics(model.components_, known.topics).mean < 0.1
    untrained = quick(5, n_sweeps=1, n_average=1).fit(known.corpus)
    assert match_topics(untrained.components_, known.topics).mean > 0.8


def test_the_guarantee_is_none_and_says_why(small):
    secret, seeded = quick(random_state=None).fit(small).guarantee_, quick().fit(small).guarantee_
    assert secret.basis is seeded.basis is Basis.NONE
    assert secret.reasons == (EXACT_COUNTS,)
    assert seeded.reasons == (EXACT_COUNTS, SEEDED)
    assert quick().fit(small).release().guarantee == seeded


def test_a_release_carries_the_model(small):
    words = [f"name{i}" for i in range(12)]
    model = quick(alpha=[0.1, 0.2, 0.3]).fit(Corpus.from_counts(small, words))
    release = model.release()
    assert_array_equal(release.topics, model.components_)
    assert_array_equal(release.alpha, model.alpha_)
    assert release.vocabulary == tuple(words)
    assert model.top_words(4) == release.top_words(4)
    assert quick().fit(small).release(words).vocabulary == tuple(words)
    assert quick().fit(small).release().vocabulary[0] == "word0"


# --- among scikit-learn's tools -------------------------------------------------------------------------------------


def test_a_pickle_holds_the_model_and_no_document(known):
    """Neither tokens nor their topics nor counts: looked for as bytes, sixteen tokens at a time."""
    corpus = known.corpus
    model = quick(5, warm_start=True).fit(corpus)
    training = model._training
    frozen = pickle.dumps(model)
    engine = training.engine
    if DEFAULTS["algorithm"] == "sampled":
        own = (engine.words, engine.topics)
    else:
        own = (engine._words, engine._pair_counts, engine._expected)
    for secret in (corpus.words, *own, training.counts, corpus.offsets):
        pieces = [secret[i : i + 16].tobytes() for i in range(0, 512, 16)]
        assert not any(piece in frozen for piece in pieces if any(piece))
        assert all(piece in pickle.dumps(secret) for piece in pieces)  # the search can find something
    thawed = pickle.loads(frozen)
    assert not hasattr(thawed, "_training")
    assert_array_equal(thawed.components_, model.components_)
    assert_array_equal(thawed.transform(corpus), model.transform(corpus))
    assert thawed.history_ == model.history_
    assert thawed.guarantee_ == model.guarantee_
    assert thawed.fit(corpus).n_sweeps_ == 6  # starts anew
    assert model.fit(corpus).n_sweeps_ == 12


def test_without_warm_start_nothing_of_the_training_stays(small):
    assert "_training" not in vars(quick().fit(small))


def test_clone_keeps_the_parameters_and_forgets_the_rest(small):
    model = quick(alpha=[0.1, 0.2, 0.3], warm_start=True, word_prior={0: {"word1": 3.0}}).fit(small)
    copy = clone(model)
    assert copy.get_params()["word_prior"] == {0: {"word1": 3.0}}
    assert not hasattr(copy, "components_")
    assert not hasattr(copy, "_training")
    assert_array_equal(copy.fit(small).components_, model.components_)


TEXTS = ["the cat sat on the mat", "the dog and the cat", "stocks fell as banks sold", "banks and stocks rose"] * 5


def test_in_a_pipeline_with_a_vectorizer():
    pipeline = make_pipeline(CountVectorizer(), quick(2, n_sweeps=30))
    theta = pipeline.fit_transform(TEXTS)
    assert theta.shape == (20, 2)
    assert_allclose(pipeline.transform(["unknown words only"]), [[0.5, 0.5]])
    assert_array_equal(pipeline.get_feature_names_out(), ["lda0", "lda1"])
    words = pipeline[0].get_feature_names_out()
    assert set(np.concatenate(pipeline[1].release(words).top_words(3))) <= set(words)


def test_get_feature_names_out(small):
    assert_array_equal(quick().fit(small).get_feature_names_out(), ["lda0", "lda1", "lda2"])


def test_grid_search_finds_the_number_of_topics(known):
    """Five topics made the corpus: one and two are far worse by held-out score."""
    search = GridSearchCV(quick(n_sweeps=60), {"n_topics": [1, 2, 5]}, cv=3)
    search.fit(known.corpus.to_counts())
    assert search.best_params_ == {"n_topics": 5}
    assert search.best_estimator_.components_.shape == (5, 80)


# --- the algorithm --------------------------------------------------------------------------------------------------


def test_auto_chooses_by_size(small):
    """Up to 13 topics for each token of a mean document."""
    corpus = Corpus.from_counts(small)
    most = int(13 * corpus.n_tokens / corpus.n_documents)
    assert is_collapsed(corpus, most)
    assert not is_collapsed(corpus, most + 1)
    for n_topics, chosen in ((most, "collapsed"), (most + 1, "sampled")):
        auto, same = (LDA(n_topics, n_sweeps=3, random_state=2, algorithm=a).fit(small) for a in ("auto", chosen))
        assert_array_equal(auto.components_, same.components_)
    assert LDA().algorithm == "auto"
    assert is_collapsed(corpus[:16], 2)
    assert not is_collapsed(corpus[:15], 2)


def test_auto_samples_for_a_callback_that_looks_at_draws(small, algorithm):
    for monitor in (InherentPrivacyMonitor(), RelatedWordsMonitor()):
        watched = quick(callbacks=[monitor], algorithm="auto").fit(small)
        assert_array_equal(watched.components_, quick(algorithm="sampled").fit(small).components_)
        if algorithm == "collapsed":
            with pytest.raises(InputError, match=f"{type(monitor).__name__} measures the draws of topics"):
                quick(callbacks=[monitor]).fit(small)


def test_collapsed_steps_reach_a_lower_perplexity_on_short_documents(algorithm):
    """Of six seeds each, sampled runs had 581 to 616 and collapsed ones 521 to 536."""
    corpus = lda_corpus(3500, 1000, 30, mean_length=20, alpha=0.1, beta=0.05, seed=3).corpus
    train, test = corpus[:3000], corpus[3000:]
    runs = [quick(30, n_sweeps=80, random_state=seed, evaluate_every=0).fit(train) for seed in (1, 2, 3)]
    lowest, highest = {"sampled": (570, 630), "collapsed": (510, 550)}[algorithm]
    assert all(lowest < model.perplexity(test) < highest for model in runs)
