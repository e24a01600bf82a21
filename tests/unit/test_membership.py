"""Membership attacks: scores, curves, intervals, and the bank of shadow models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, norm

from discreet._errors import InputError
from discreet.attacks.membership import bank as bank_module
from discreet.attacks.membership.attacked import Claim, attack
from discreet.attacks.membership.bank import Cost, Plan, open_bank
from discreet.attacks.membership.picture import draw
from discreet.attacks.membership.recipe import Published, Recipe, published_topics
from discreet.attacks.membership.roc import Curve, Share, implied_bound
from discreet.attacks.membership.scores import ATTACKS, INVERTED, OFFLINE, ONLINE, PER_TOKEN, scores_of, scores_of_each
from discreet.attacks.membership.statistics import NAMES, statistics_of
from discreet.corpus import Corpus

LDA = Recipe("discreet.models.lda", "LDA", {"n_topics": 3, "n_sweeps": 3, "n_average": 1, "evaluate_every": 0})


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(0)
    return Corpus.from_counts(rng.poisson(0.5, (40, 30)) + np.eye(40, 30, dtype=int))


def made_up(n_models: int = 20, n_documents: int = 15) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    statistics = rng.normal(-500, 10, (n_models, len(NAMES), n_documents))
    return statistics, rng.random((n_models, n_documents)) < 0.5, rng.integers(1, 100, n_documents)


# --- scores -----------------------------------------------------------------------------------------------------------


def test_online_is_the_ratio_of_two_gaussians() -> None:
    statistics, members, lengths = made_up()
    found = scores_of(statistics[1:], members[1:], statistics[0], lengths)
    for d in range(15):
        inside, outside = (statistics[1:, 0, d][where] for where in (members[1:, d], ~members[1:, d]))
        x = statistics[0, 0, d]
        ratio = norm.logpdf(x, inside.mean(), inside.std(ddof=1)) - norm.logpdf(x, outside.mean(), outside.std(ddof=1))
        assert math.isclose(found[ONLINE][d], ratio, rel_tol=1e-9)
        assert math.isclose(found[OFFLINE][d], (x - outside.mean()) / outside.std(ddof=1), rel_tol=1e-9)
    assert (found[INVERTED] == -found[OFFLINE]).all()
    assert np.allclose(found[PER_TOKEN], statistics[0, 0] / lengths)


def test_every_model_as_the_target_leaves_only_itself_out() -> None:
    statistics, members, lengths = made_up()
    together = scores_of_each(statistics, members, lengths)
    for i in range(len(members)):
        others = np.arange(len(members)) != i
        alone = scores_of(statistics[others], members[others], statistics[i], lengths)
        for name in ATTACKS:
            assert np.allclose(together[name][i], alone[name], rtol=1e-7, equal_nan=True)


def test_too_few_shadows_give_no_score() -> None:
    statistics, members, lengths = made_up()
    members[:, 0], members[1, 0] = False, True  # one shadow with the document: no Gaussian
    found = scores_of(statistics[2:], members[2:], statistics[0], lengths)
    assert np.isnan(found[ONLINE][0])
    assert np.isfinite(found[ONLINE][1:]).all()


# --- curves -----------------------------------------------------------------------------------------------------------


def test_clopper_and_pearson() -> None:
    low, high = Share(3, 50).interval
    assert math.isclose(low, beta.ppf(0.025, 3, 48))
    assert math.isclose(high, beta.ppf(0.975, 4, 47))
    assert Share(0, 50).interval[0] == 0.0
    assert Share(50, 50).interval[1] == 1.0


def test_rates_of_a_small_curve() -> None:
    """Scores 5 4 3 2 1 0 of M M o M o o."""
    curve = Curve(np.array([[5.0, 4, 3, 2, 1, 0]]), np.array([[True, True, False, True, False, False]]))
    assert curve.tpr_at(0.0).k == 2
    assert curve.tpr_at(0.3).k == 2  # a third is more than 0.3
    assert curve.tpr_at(1 / 3).k == 3
    assert math.isclose(curve.auc, 8 / 9)
    assert math.isclose(curve.balanced_accuracy, (1 + 2 / 3) / 2)


def test_equal_scores_are_decided_together() -> None:
    curve = Curve(np.zeros((1, 10)), np.arange(10)[None, :] < 5)
    assert curve.tpr_at(0.5).k == 0
    assert curve.tpr_at(1.0).k == 5
    assert curve.auc == 0.5


def test_one_kind_of_documents_is_refused() -> None:
    with pytest.raises(InputError, match="none of one kind"):
        Curve(np.zeros((1, 4)), np.ones((1, 4), bool))


def test_resampled_documents_are_wider_than_pooled_decisions() -> None:
    """Fifty targets that all score a document the same: the pooled interval believes in fifty times the documents."""
    rng = np.random.default_rng(0)
    scores = np.tile(rng.normal(size=100), (50, 1))
    members = rng.random((50, 100)) < 0.5 + 0.2 * (scores > 1)
    curve = Curve(scores, members)
    low, high = curve.tpr_at(0.1).interval
    wide = curve.resampled_tpr_at(0.1)
    assert wide[1] - wide[0] > 2 * (high - low)


def test_what_epsilon_and_delta_allow() -> None:
    assert math.isclose(implied_bound(0.001, 1.0, 1e-6), math.e * 0.001 + 1e-6)
    assert math.isclose(implied_bound(0.5, 1.0, 0.0), 1 - math.exp(-1) * 0.5)
    assert implied_bound(0.3, 0.0, 0.0) == 0.3
    assert implied_bound(0.001, 5000.0, 0.0) == 1.0


# --- the bank ---------------------------------------------------------------------------------------------------------


def test_a_larger_bank_begins_with_the_same_models(corpus: Corpus, tmp_path: Path, monkeypatch: Any) -> None:
    plan = Plan(LDA)
    small = open_bank(corpus, plan, 8, folder=tmp_path, n_processes=1)
    trained = []
    train = bank_module._train
    monkeypatch.setattr(bank_module, "_train", lambda *a: (trained.append(a[2]), train(*a))[1])
    large = open_bank(corpus, plan, 10, folder=tmp_path, n_processes=1)
    assert trained == [8, 9]
    assert (large.statistics[:8] == small.statistics).all()
    assert (large.members[:8] == small.members).all()


def test_a_damaged_model_is_trained_again(corpus: Corpus, tmp_path: Path) -> None:
    plan = Plan(LDA)
    before = open_bank(corpus, plan, 8, folder=tmp_path, n_processes=1)
    (path,) = tmp_path.glob("*/model-00003.npz")
    path.write_bytes(path.read_bytes()[:100])
    assert (open_bank(corpus, plan, 8, folder=tmp_path, n_processes=1).statistics == before.statistics).all()


def test_another_recipe_seed_or_corpus_has_its_own_folder(corpus: Corpus) -> None:
    other = Recipe(LDA.home, LDA.name, {**LDA.parameters, "n_topics": 4})
    stamps = {plan.stamp(corpus) for plan in (Plan(LDA), Plan(other), Plan(LDA, seed=1), Plan(LDA, "target"))}
    assert len({*stamps, Plan(LDA).stamp(corpus[:39])}) == 5


def test_processes_change_nothing_and_the_cost_is_told_before(corpus: Corpus) -> None:
    told: list[Cost] = []
    done: list[tuple[int, int]] = []
    one = open_bank(corpus, Plan(LDA), 8, n_processes=1, tell_cost=told.append, report=lambda *a: done.append(a))
    two = open_bank(corpus, Plan(LDA), 8, n_processes=2)
    assert (one.statistics == two.statistics).all()
    (cost,) = told
    assert (cost.n_missing, cost.n_models) == (7, 8)
    assert "7 of 8 models" in str(cost)
    assert done[-1] == (8, 8)


def test_the_words_of_the_target_give_members_away(corpus: Corpus) -> None:
    """A word that only one document has is there exactly if the document is in the target's training set."""
    plan = Plan(LDA, "target")
    members = plan.members(0, corpus.n_documents)
    known = plan.corpus(corpus)
    counts = corpus.to_counts().toarray()
    assert known.n_words == int((counts[members] > 0).any(axis=0).sum())
    assert known.n_documents == corpus.n_documents
    found = attack(open_bank(corpus, plan, 9, n_processes=1))
    assert found.n_targets == 1
    assert found.n_shadows == 8


def test_membership_is_a_coin_of_each_document() -> None:
    """An exact half would give a document away to whoever knows the others. The chance that all of 200 models have
    exactly half of 100 members is 0.08^200."""
    sizes = {int(Plan(LDA).members(i, 100).sum()) for i in range(200)}
    assert len(sizes) > 1


def test_too_few_models_or_documents(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="8 models or more"):
        open_bank(corpus, Plan(LDA), 7)
    with pytest.raises(InputError, match="cannot be split"):
        open_bank(corpus[:1], Plan(LDA), 8)


def test_scikit_learn_is_trained_with_its_defaults(corpus: Corpus) -> None:
    model = Recipe.scikit_learn(4).fit(corpus, 0)
    assert model.max_iter == 10
    assert model.n_components == 4
    published = published_topics(model, corpus)
    assert published.topics.shape == (1, 4, corpus.n_words)
    assert np.allclose(published.topics.sum(axis=2), 1)
    assert (published.topics > 0).all()
    assert (published.of_document == 0).all()


def test_parameters_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be made"):
        Recipe(LDA.home, LDA.name, {"sweeeps": 3}).model(0)


def test_statistics_speak_for_members_when_they_are_large(corpus: Corpus) -> None:
    topics = np.full((2, corpus.n_words), 1.0) + np.eye(2, corpus.n_words) * 50
    topics /= topics.sum(axis=1, keepdims=True)
    found = statistics_of(Published(topics[None], np.zeros(corpus.n_documents, int)), corpus)
    assert found.shape == (len(NAMES), corpus.n_documents)
    pure, mixed = np.argmax(found[1]), np.argmin(found[1])
    assert found[2, pure] > found[2, mixed]
    assert found[3, pure] > found[3, mixed]


def test_the_result_and_its_picture(corpus: Corpus) -> None:
    found = attack(open_bank(corpus, Plan(LDA), 8, n_processes=1), Claim(1.0, 1e-6))
    written = found.to_json()
    assert set(written["attacks"]) == set(ATTACKS)
    first = written["attacks"][ONLINE]["tpr"][0]
    assert math.isclose(first["bound"], math.e * 0.001 + 1e-6)
    picture = draw(found.curves, "title", found.claim)
    assert picture.startswith("<svg")
    assert "allowed by ε = 1" in picture
    assert "allowed" not in draw(found.curves, "title")
