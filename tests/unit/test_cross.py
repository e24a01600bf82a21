"""CrossLDA: planted topics are found, collections are named, and documents are read by their own."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import Corpus, CrossLBLA, CrossLDA, InputError, Release, ReleaseError, fit_text
from discreet.evaluation import completion_perplexity, fold_in_perplexity
from discreet.evaluation.matching import match_topics
from discreet.models.cross.published import PublishedTraining
from discreet.models.cross.tables import CrossPriors, CrossTables
from discreet.models.cross.training import Training

N, V, K = 600, 60, 3
NAMES = np.array(["east", "west"])[np.arange(N) % 2]


def planted(switch, seed=0, length=80, names=NAMES):
    """Counts of documents of two collections, common topics, collection topics and proportions. ``switch``: of all
    documents, or one number for each."""
    rng = np.random.default_rng(seed)
    common, own = rng.dirichlet(np.full(V, 0.1), K), rng.dirichlet(np.full(V, 0.1), (2, K))
    theta = rng.dirichlet(np.full(K, 0.2), N)
    switch, place = np.broadcast_to(switch, N), (names == "west").astype(int)
    mixed = [(1 - switch[d]) * common + switch[d] * own[place[d]] for d in range(N)]
    counts = np.array([rng.multinomial(length, theta[d] @ mixed[d]) for d in range(N)])
    return counts, common, own, theta


SETTINGS = {"n_topics": K, "n_sweeps": 150, "n_average": 5, "random_state": 1}


@pytest.fixture(scope="module")
def different():
    counts, *truth = planted(0.4)
    return CrossLDA(**SETTINGS).fit(counts, collections=NAMES), counts, *truth


@pytest.fixture(scope="module", params=["sampled", "collapsed"])
def by_both(request, different):
    """The same by each algorithm."""
    _, counts, *truth = different
    return CrossLDA(**SETTINGS, algorithm=request.param).fit(counts, collections=NAMES), counts, *truth


def distance(found, true):
    return np.abs(found - true).sum(axis=-1) / 2


def test_planted_topics_are_found(by_both):
    model, counts, common, own, theta = by_both
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < 0.2
    assert distance(model.collection_components_[:, order], own).max() < 0.3
    assert_allclose(model.switch_, 0.4, atol=0.12)
    mine = model.transform(counts, collections=NAMES)[:, order]
    assert np.abs(mine - theta).mean() < 0.05
    # a topic is the same one in both collections, and its own words are not those of the other
    swapped = model.collection_components_[::-1][:, order]
    assert (distance(model.collection_components_[:, order], own) < distance(swapped, own) - 0.3).all()


def test_a_small_collection_is_compared_with_a_large_one():
    """One document of six is western. Without a balanced start the switch is near 0 in the east and 1 in the west."""
    names = np.array(["west", *["east"] * 5])[np.arange(N) % 6]
    counts, common, own, _ = planted(0.4, names=names)
    model = CrossLDA(**SETTINGS).fit(counts, collections=names)
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < 0.2
    assert distance(model.collection_components_[:, order], own).max() < 0.3
    assert_allclose(model.switch_, 0.4, atol=0.15)


def test_mixed_topics_are_found_where_their_common_part_is_not_determined():
    """ψ is 0.6 in the large collection and 0.2 in the small one. Many φ and σ give the same mixtures."""
    names = np.array(["west", *["east"] * 5])[np.arange(N) % 6]
    switch = np.where(names == "west", 0.2, 0.6)
    counts, common, own, _ = planted(switch, names=names)
    model = CrossLDA(**SETTINGS).fit(counts, collections=names)
    true, found = (
        np.array([(1 - s) * shared + s * mine[c] for c, s in enumerate(part)])
        for shared, mine, part in (
            (common, own, [0.6, 0.2]),
            (model.components_, model.collection_components_, model.switch_.T[:, :, None]),
        )
    )
    order = match_topics(*(np.hstack(mixed) / 2 for mixed in (true, found))).order
    assert distance(found[:, order], true).max() < 0.1
    assert distance(model.collection_components_[:, order], own).max() > 0.3


def test_collections_are_predicted(different):
    model, *_ = different
    fresh = planted(0.4, length=160)[0][::7] // 2
    assert (model.predict(fresh) == NAMES[::7]).mean() > 0.95
    chances = model.predict_proba(fresh)
    assert_allclose(chances.sum(axis=1), 1)
    assert (model.predict(fresh, prior=[0.0, 1.0]) == "west").all()
    assert_allclose(model.predict_proba(np.zeros((1, V)), prior=[0.3, 0.7]), [[0.3, 0.7]])
    assert_allclose(model.collection_shares_, [0.5, 0.5])
    for prior in ([1.0], [-1.0, 1.0], "east"):
        with pytest.raises(InputError, match="prior must hold"):
            model.predict_proba(fresh, prior=prior)


def test_collections_that_do_not_differ_share_all():
    """What σ takes are words that chance made more frequent in one of them; of three thousand tokens per topic and
    collection, less than 5%. A switch that started at one half would stay there."""
    counts, common, *_ = planted(0.0)
    model = CrossLDA(**SETTINGS).fit(counts, collections=NAMES)
    assert model.switch_.max() < 0.06
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < 0.05


def test_perplexity_is_that_of_each_collection_under_its_own_topics(different):
    model, counts, *_ = different
    logs = tokens = 0.0
    for c, name in enumerate(("east", "west")):
        chance = model.switch_[:, c, None]
        mixed = (1 - chance) * model.components_ + chance * model.collection_components_[c]
        part = Corpus.from_counts(counts[name == NAMES])
        value = completion_perplexity(mixed, part, alpha=model.alpha_)
        assert model.perplexity(part, collections=[name] * len(part)) == pytest.approx(value)
        logs += np.log(value) * part.n_tokens
        tokens += part.n_tokens
    found = model.release().completion(counts, collections=NAMES)
    assert found.log_likelihood == pytest.approx(found.per_document.sum())
    assert found.perplexity == pytest.approx(np.exp(-found.log_likelihood / found.n_tokens))
    everything = model.perplexity(counts, collections=NAMES)
    assert everything == pytest.approx(np.exp(logs / tokens), rel=0.01)  # the halves are drawn otherwise
    assert model.score(counts, collections=NAMES) == pytest.approx(-np.log(everything))
    assert model.fold_in_perplexity(counts, collections=NAMES) < everything
    assert model.perplexity(counts, collections=NAMES[::-1]) > 1.2 * everything


@pytest.mark.parametrize("alpha_rest", [None, 3.0])
def test_fold_in_perplexity_is_that_of_each_collection_under_its_own_topics(alpha_rest):
    counts = planted(0.4)[0][:120]
    model = CrossLBLA(K, n_sweeps=20, n_average=1, alpha_rest=alpha_rest).fit(counts, collections=NAMES[:120])
    logs = tokens = 0.0
    for c, name in enumerate(("east", "west")):
        chance = model.switch_[:, c, None]
        mixed = (1 - chance) * model.components_ + chance * model.collection_components_[c]
        part = Corpus.from_counts(counts[name == NAMES[:120]])
        value = fold_in_perplexity(mixed, part, alpha=model.alpha_, alpha_rest=alpha_rest)
        logs, tokens = logs + np.log(value) * part.n_tokens, tokens + part.n_tokens
    assert model.fold_in_perplexity(counts, collections=NAMES[:120]) == pytest.approx(np.exp(logs / tokens))
    assert model.release().fold_in_perplexity(counts, collections=NAMES[:120]) == pytest.approx(np.exp(logs / tokens))


def test_averages_are_of_so_many_sweeps_at_a_lag(monkeypatch):
    counts, seen, sweep = planted(0.4)[0][:60], {}, Training.sweep

    def watched(training, number):
        measures = sweep(training, number)
        seen[number] = training.counts.copy(), training.counts * training.weights.own_share.astype(float)
        return measures

    monkeypatch.setattr(Training, "sweep", watched)
    model = CrossLDA(K, n_sweeps=7, n_average=3, lag=2).fit(counts, collections=NAMES[:60])
    means = (np.mean([seen[n][i] for n in (3, 5, 7)], axis=0) for i in range(2))
    tables = CrossTables.of(*means, CrossPriors(0.01, 0.01, 1.0, 1.0))
    assert_allclose(model.components_, tables.common.T)
    assert_allclose(model.collection_components_, tables.own.transpose(0, 2, 1))
    assert_allclose(model.switch_, tables.switch.T)
    assert_allclose(model.history_["own_share"], [seen[n][1].sum() / counts.sum() for n in range(1, 8)])


@pytest.mark.parametrize("algorithm", ["sampled", "collapsed"])
def test_threads_do_not_change_it(algorithm):
    counts, options = planted(0.4)[0], {"n_average": 2, "lag": 3, "random_state": 3, "algorithm": algorithm}
    one, two = (CrossLDA(K, n_sweeps=12, n_threads=n, **options).fit(counts, collections=NAMES) for n in (1, 2))
    for name in ("components_", "collection_components_", "switch_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    assert_array_equal(one.predict_proba(counts[:9]), two.predict_proba(counts[:9]))


@pytest.mark.parametrize("algorithm", ["sampled", "collapsed"])
def test_warm_start_goes_on_where_it_stopped(algorithm):
    counts, options = planted(0.4)[0], {"n_average": 2, "lag": 3, "random_state": 3, "warm_start": True}
    options["algorithm"] = algorithm
    model = CrossLDA(K, n_sweeps=20, **options).fit(counts, collections=NAMES)
    half = model.history_["own_share"]
    model.set_params(n_threads=1, n_sweeps=12).fit(counts, collections=NAMES)
    assert model.n_sweeps_ == len(model.history_["own_share"]) == 32
    assert model.history_["own_share"][:20] == half
    seen = []
    once = CrossLDA(K, n_sweeps=20, **options).fit(counts, collections=NAMES)
    once.set_params(n_sweeps=4, callbacks=[seen.append])
    for _ in range(3):
        once.fit(counts, collections=NAMES)
    assert len(seen) == 12
    assert_array_equal(once.components_, model.components_)  # the same sweeps and samples: after 29 and 32
    for documents, collections, n_topics in ((counts[::-1], NAMES, K), (counts, NAMES[::-1], K), (counts, NAMES, 2)):
        with pytest.raises(InputError, match="warm_start continues with the same documents, the same collections"):
            model.set_params(n_topics=n_topics).fit(documents, collections=collections)
    other = {"sampled": "collapsed", "collapsed": "sampled"}[algorithm]
    with pytest.raises(InputError, match=f"found algorithm='{other}'"):
        model.set_params(n_topics=K, algorithm=other).fit(counts, collections=NAMES)
    with pytest.raises(InputError, match="as_published=True is the sampler of the paper"):
        CrossLDA(K, as_published=True, algorithm="collapsed").fit(counts, collections=NAMES)
    assert not hasattr(pickle.loads(pickle.dumps(once)), "_training")
    anew = once.set_params(warm_start=False, n_sweeps=20, callbacks=None).fit(counts, collections=NAMES)
    assert anew.n_sweeps_ == 20
    assert anew.history_["own_share"] == half


def test_the_published_sampler_finds_planted_topics_too(monkeypatch):
    """In more sweeps: x moves slowly, one token at a time. After 150, σ of some topics is still 0.6 away."""
    starts, sweep = [], PublishedTraining._sweep

    def watched(training, number):
        starts.append(training.sampler.own_totals.sum() + training.sampler.coins.sum())
        return sweep(training, number)

    monkeypatch.setattr(PublishedTraining, "_sweep", watched)
    counts, common, own, _ = planted(0.4)
    model = CrossLDA(**{**SETTINGS, "n_sweeps": 600}, as_published=True).fit(counts, collections=NAMES)
    assert starts[0] == 0
    assert starts[2] > 0
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < 0.3
    assert distance(model.collection_components_[:, order], own).max() < 0.4
    assert model.release().parameters["as_published"] is True
    assert model.guarantee_.basis == "none"


def test_the_published_sampler_keeps_its_counts():
    counts = planted(0.4)[0][:80]
    model = CrossLDA(K, n_sweeps=3, n_average=1, random_state=2, as_published=True, warm_start=True)
    model.fit(counts, collections=NAMES[:80]).fit(counts, collections=NAMES[:80])
    run = model._training.sampler
    assert model.n_sweeps_ == 6
    cells = np.zeros((2, 2, V, K))
    np.add.at(cells, (run.coins.astype(int), run.words // V, run.words % V, run.topics), 1.0)
    assert_array_equal(run.common, cells[0].sum(axis=0))
    assert_array_equal(run.own, cells[1])
    assert_array_equal(run.by_switch, cells.sum(axis=2))
    tables = CrossTables.of(cells.sum(axis=0), cells[1], run.priors)
    for found, expected in zip(run.tables(), tables, strict=True):
        assert_allclose(found, expected)
    assert_allclose(model.components_, tables.common.T)
    assert_allclose(model.switch_, tables.switch.T)
    with pytest.raises(InputError, match="the same as_published"):
        model.set_params(as_published=False).fit(counts, collections=NAMES[:80])


# --- Beta-Liouville priors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_published", [False, True])
def test_without_rests_cross_lbla_is_cross_lda(as_published):
    counts = planted(0.4)[0][:200]
    same = {"n_topics": K, "n_sweeps": 20, "n_average": 3, "lag": 2, "random_state": 5, "as_published": as_published}
    plain, liouville = (kind(**same).fit(counts, collections=NAMES[:200]) for kind in (CrossLDA, CrossLBLA))
    for name in ("components_", "collection_components_", "switch_"):
        assert_array_equal(getattr(plain, name), getattr(liouville, name))
    rests = {"alpha_rest": 0.1 * (K - 1), "beta_rest": 0.01 * (V - 1), "beta_collection_rest": 0.01 * (V - 1)}
    summed = CrossLBLA(**same, **rests).fit(counts, collections=NAMES[:200])  # the same prior, by its other formula
    assert_allclose(summed.components_, plain.components_, rtol=1e-5)
    for other in ({"alpha_rest": 5.0}, {"beta_rest": 50.0}, {"beta_collection_rest": 50.0}):
        changed = CrossLBLA(**same, **other).fit(counts, collections=NAMES[:200])
        assert not np.allclose(changed.components_, plain.components_, rtol=1e-5)


@pytest.mark.parametrize("as_published", [False, True])
def test_cross_lbla_finds_planted_topics(as_published):
    counts, common, own, _ = planted(0.4)
    options = {**SETTINGS, "n_sweeps": 600 if as_published else 150, "as_published": as_published}
    rests = {"alpha_rest": 2.0, "beta_rest": 5.0, "beta_collection_rest": 0.3}
    model = CrossLBLA(**options, **rests).fit(counts, collections=NAMES)
    order = match_topics(common, model.components_).order
    assert distance(model.components_[order], common).max() < (0.25 if as_published else 0.2)
    assert distance(model.collection_components_[:, order], own).max() < (0.4 if as_published else 0.3)
    assert_allclose(model.components_.sum(axis=1), 1)
    assert model.alpha_rest_ == 2.0
    assert model.release().method == "cross-lbla"
    assert model.release().parameters["beta_rest"] == 5.0


def test_settings_of_the_paper_and_of_the_public_code():
    paper = CrossLDA.paper_settings(n_topics=20)
    assert (paper.n_topics, paper.alpha, paper.beta, paper.beta_collection) == (20, 0.1, 0.01, 0.01)
    assert (paper.gamma0, paper.gamma1, paper.n_sweeps, paper.n_average, paper.lag) == (1.0, 1.0, 600, 10, 10)
    assert paper.as_published
    code = CrossLBLA.public_code_settings(4, V, n_sweeps=3, as_published=False)
    assert_allclose(code.alpha, [1 / 5, 2 / 5, 3 / 5, 0.1])
    assert_allclose(code.beta, [1 / (V + 1)] * (V - 1) + [0.1])
    assert_array_equal(code.beta_collection, code.beta)
    assert (code.alpha_rest, code.beta_rest, code.beta_collection_rest, code.lag) == (0.1, 0.1, 0.1, 10)
    model = code.fit(planted(0.4)[0], collections=NAMES)
    assert model.alpha_rest_ == 0.1
    assert model.beta_ == pytest.approx(code.beta.mean())
    assert CrossLBLA.public_code_settings(2, 5).beta[0] == 0.1  # few words


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beta": [0.1, 0.2]}, "beta must be a number .* or one for each of 60 words; found shape"),
        ({"beta_collection": [0.0] * V}, "beta_collection must be a number .* found 0.0"),
        ({"alpha_rest": 0.0}, "alpha_rest.*must be a float in the range"),
    ],
)
def test_bad_priors_get_one_clear_line(changes, message):
    with pytest.raises(InputError, match=message):
        CrossLBLA(**{"n_topics": K, "n_sweeps": 2, **changes}).fit(planted(0.4)[0], collections=NAMES)


@pytest.mark.parametrize("as_published", [False, True])
def test_priors_at_the_ends_of_their_range_give_numbers(as_published):
    """Weights are float32, and some of these are too small for it."""
    counts = planted(0.4)[0][:30, :12]
    names = ("alpha", "beta", "beta_collection", "gamma0", "gamma1", "alpha_rest")
    for values in product((1e-6, 1e6), repeat=len(names)):
        given, rest = dict(zip(names, values, strict=True)), values[-1]
        rests = {"beta_rest": rest, "beta_collection_rest": 1 / rest}
        model = CrossLBLA(K, **given, **rests, n_sweeps=4, n_average=1, random_state=1, as_published=as_published)
        model.fit(counts, collections=NAMES[:30])
        for name in ("components_", "collection_components_"):
            assert_allclose(getattr(model, name).sum(axis=-1), 1, err_msg=str(given))
        assert ((model.switch_ >= 0) & (model.switch_ <= 1)).all()


@pytest.mark.parametrize("as_published", [False, True])
def test_one_topic_or_one_word_has_no_rest(as_published):
    counts, options = planted(0.4)[0][:40], {"n_sweeps": 3, "random_state": 1, "as_published": as_published}
    plain, one = (
        kind(1, **options).fit(counts, collections=NAMES[:40])
        for kind in (CrossLDA, partial(CrossLBLA, alpha_rest=3.0))
    )
    assert_array_equal(one.components_, plain.components_)
    assert one.alpha_rest_ is None
    rests = {"beta_rest": 2.0, "beta_collection_rest": 0.1}
    word = CrossLBLA(1, **rests, **options).fit(np.ones((4, 1), int), collections=[0, 1, 0, 1])
    assert_array_equal(word.components_, [[1.0]])


def test_labels_come_with_the_corpus_or_beside_it(different):
    model, counts, *_ = different
    corpus = Corpus.from_counts(counts, collections=NAMES)
    again = CrossLDA(**SETTINGS).fit(corpus)
    assert_array_equal(again.components_, model.components_)
    assert_array_equal(again.transform(corpus[:5]), model.transform(counts[:5], collections=NAMES[:5]))
    assert again.collections_.tolist() == ["east", "west"]
    numbered = CrossLDA(**SETTINGS).fit(corpus, collections=np.where(NAMES == "east", 3, 12))  # before the corpus's own
    assert numbered.collections_.tolist() == [3, 12]
    assert_array_equal(numbered.components_, model.components_)
    assert_array_equal(CrossLDA(**SETTINGS).fit(counts, collections=list(NAMES)).components_, model.components_)
    chosen = fit_text(
        CrossLDA(2, n_sweeps=2), Corpus.from_texts(["rain wind", "wind storm"] * 4, collections=[1, 2] * 4)
    )
    assert chosen.collections_.tolist() == [1, 2]
    chosen = fit_text(CrossLDA(2, n_sweeps=2), ["rain wind", "wind storm"] * 4, collections=["b", "a"] * 4)
    assert chosen.collections_.tolist() == ["a", "b"]


def test_y_is_taken_for_the_collections(different):
    """So that tools of scikit-learn can pass them on; labels that come with the corpus, or are named, go first."""
    model, counts, *_ = different
    by_y = CrossLDA(**SETTINGS).fit(counts, NAMES)
    assert_array_equal(by_y.components_, model.components_)
    assert by_y.score(counts, NAMES) == model.score(counts, collections=NAMES)
    quick = CrossLDA(2, n_sweeps=3, n_average=1, random_state=1)
    by_name = quick.fit(counts, collections=NAMES).transform(counts, collections=NAMES)
    assert_array_equal(quick.fit_transform(counts, NAMES), by_name)
    other = np.arange(N) % 3
    assert_array_equal(quick.fit_transform(Corpus.from_counts(counts, collections=NAMES), other), by_name)
    assert quick.fit(counts, other, collections=NAMES).collections_.tolist() == ["east", "west"]
    scores = cross_val_score(quick, counts, NAMES, cv=KFold(2), error_score="raise")
    first, second = slice(None, N // 2), slice(N // 2, None)
    by_hand = [quick.fit(counts[a], NAMES[a]).score(counts[b], NAMES[b]) for a, b in ((second, first), (first, second))]
    assert_allclose(scores, by_hand)
    search = GridSearchCV(quick, {"n_topics": [1, 2]}, cv=2, error_score="raise").fit(counts, NAMES)
    assert search.score(counts, NAMES) == search.best_estimator_.score(counts, collections=NAMES)


def test_numbers_and_their_text_are_one_label(different):
    _, counts, *_ = different
    years = np.where(NAMES == "east", 2000, 2001)
    model = CrossLDA(2, n_sweeps=2, n_average=1, random_state=1).fit(counts, collections=years)
    mixtures = model.transform(counts, collections=years)
    assert_array_equal(model.transform(counts, collections=years.astype(str)), mixtures)
    with pytest.raises(InputError, match="no collection '2002'; it was trained on 2000, 2001"):
        model.transform(counts, collections=np.where(NAMES == "east", "2000", "2002"))


def test_a_collection_for_each_document_gets_a_warning(different):
    _, counts, *_ = different
    with pytest.warns(UserWarning, match="there are 12 collections of 20 documents, too many to compare"):
        CrossLDA(2, n_sweeps=1, n_average=1).fit(counts[:20], collections=np.arange(20) % 12)
    CrossLDA(2, n_sweeps=1, n_average=1).fit(counts[:24], collections=np.arange(24) % 12)


@pytest.mark.parametrize(
    ("collections", "message"),
    [
        (None, "collection of each document is not known. Pass collections="),
        (["east"], "exactly one label for each document"),
        ([None, *NAMES[1:]], "row 0 .*missing"),
        (["nan", *NAMES[1:]], "row 0 .*missing"),
        ([np.nan] * N, "row 0 .*missing"),
        ([0.5] * N, "strings or whole numbers; found a number in row 0"),
        ([b"x"] * N, "strings or whole numbers"),
        ([True] * N, "strings or whole numbers"),
    ],
)
def test_bad_labels_get_one_clear_line(different, collections, message):
    model, counts, *_ = different
    for call in (CrossLDA(K, n_sweeps=1).fit, model.transform):
        with pytest.raises(InputError, match=message) as error:
            call(counts, collections=collections)
        assert "\n" not in str(error.value)


def test_unknown_collections_are_refused(different):
    model, counts, *_ = different
    with pytest.raises(InputError, match="no collection 'north'; it was trained on 'east', 'west'"):
        model.transform(counts, collections=["north", *NAMES[1:]])


def test_metadata_routing_carries_the_labels(different):
    model, counts, *_ = different
    with config_context(enable_metadata_routing=True):
        routed = CrossLDA(**SETTINGS).set_fit_request(collections=True).set_score_request(collections=True)
        routed.set_transform_request(collections=True)
        pipeline = make_pipeline(FunctionTransformer(), routed).fit(counts, collections=NAMES)
        assert_array_equal(pipeline[-1].components_, model.components_)
        found = pipeline.transform(counts, collections=NAMES)
        assert_array_equal(found, model.transform(counts, collections=NAMES))
        short = routed.set_params(n_sweeps=20, n_average=1)
        scores = cross_validate(short, counts, cv=2, params={"collections": NAMES}, error_score="raise")["test_score"]
    assert (scores > -np.log(V)).all()


def test_fit_transform_is_fit_and_transform(different):
    model, counts, *_ = different
    found = CrossLDA(**SETTINGS).fit_transform(counts, collections=NAMES)
    assert_array_equal(found, model.transform(counts, collections=NAMES))


def test_the_release_carries_collections(different, tmp_path):
    model, counts, *_ = different
    again = Release.load(model.release().save(tmp_path / "model"))
    assert again.collections == ("east", "west")
    assert_array_equal(again.collection_topics, model.collection_components_)
    assert_array_equal(again.switch, model.switch_)
    assert_array_equal(again.transform(counts, collections=NAMES), model.transform(counts, collections=NAMES))
    assert_array_equal(again.predict_proba(counts[:9]), model.predict_proba(counts[:9]))
    assert again.completion(counts, collections=NAMES).perplexity == model.perplexity(counts, collections=NAMES)
    assert again.method == "cross-lda"
    assert_array_equal(again.predict(counts), model.predict(counts))
    assert again.predict(counts[:3], prior=[0, 1]).tolist() == ["west"] * 3
    with pytest.raises(ReleaseError, match="Choose another place, or pass overwrite=True"):
        again.save(tmp_path / "model")
    assert again.parameters["beta_collection"] == 0.01
    assert model.guarantee_.basis == again.guarantee.basis == "none"


def test_one_collection_is_lda_with_two_tables():
    """Nothing can be compared; φ and σ share the words."""
    counts = planted(0.0)[0]
    with pytest.warns(UserWarning, match="found only one collection, 'all': nothing is compared; check that coll"):
        model = CrossLDA(**SETTINGS).fit(counts, collections=["all"] * N)
    assert_allclose(model.components_.sum(axis=1), 1)
    assert model.predict(counts[:3]).tolist() == ["all"] * 3


def test_a_callback_ends_the_run(different):
    _, counts, *_ = different
    ends = {"random_state": 1, "callbacks": [_end_after_three]}
    before, within = (
        CrossLDA(K, n_sweeps=n, n_average=n_average, **ends).fit(counts, collections=NAMES)
        for n, n_average in ((90, 5), (93, 10))  # before the first sample, and after sweep 3, which is one
    )
    assert len(before.history_["own_share"]) == 3
    assert_array_equal(before.components_, within.components_)
    assert_array_equal(pickle.loads(pickle.dumps(before)).switch_, within.switch_)


def _end_after_three(info):
    return info.sweep == 3


def test_a_wrong_number_of_labels_is_refused_without_the_number_of_documents():
    corpus = Corpus([0, 1] * 37, range(0, 75, 2), ["rain", "wind"])
    with pytest.raises(InputError, match="exactly one label for each document") as refused:
        CrossLDA(2).fit(corpus, collections=["a"] * 36)
    assert "37" not in str(refused.value)
    assert "36" not in str(refused.value)
