"""LiRA finds the members of an overfitted model, and nothing where there is nothing to be found.

A hundred and twenty documents of a few random words, twenty topics, forty sweeps: topics remember their documents.
Under the hypothesis that scores say nothing about membership, the area under the curve of n₁ members and n₂ others
has mean ½ and variance (n₁ + n₂ + 1) / (12 n₁ n₂) (Mann and Whitney); it is nearly normal at these sizes. FAR
standard deviations are exceeded with probability 1e-6, on both sides together.

**Chances.** *Nothing to be found*: a right program fails with probability 1e-6. Scores that read the target's
membership where they must not have the area of the other test, over 9 standard deviations away. *Overfitted*: with 20
seeds of the members the area was 0.9917 or more for both attacks (mean 0.9997, standard deviation 0.0013), and 0.9 is
70 of these below the mean; scores that say nothing pass with probability 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.attacks.membership.bank import Bank, Plan, open_bank
from discreet.attacks.membership.recipe import Recipe, published_topics
from discreet.attacks.membership.roc import Curve
from discreet.attacks.membership.scores import OFFLINE, ONLINE, scores_of
from discreet.attacks.membership.statistics import statistics_of
from discreet.corpus import Corpus, Vocabulary

FAR = 4.89
N = 120
RECIPE = Recipe("discreet.models.lda", "LDA", {"n_topics": 20, "n_sweeps": 40, "n_average": 5, "evaluate_every": 0})


def documents(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    counts = np.stack([rng.multinomial(40, rng.dirichlet(np.full(300, 0.05))) for _ in range(N)])
    return Corpus.from_counts(counts).restrict(Vocabulary([f"word{i}" for i in range(300)], "public"))


@pytest.fixture(scope="module")
def bank() -> Bank:
    return open_bank(documents(0), Plan(RECIPE), 25, n_processes=1)


def deviations(curve: Curve) -> float:
    one, two = curve.n_members, curve.n_others
    return (curve.auc - 0.5) / math.sqrt((one + two + 1) / (12 * one * two))


def target_scores(bank: Bank, trained_on: Corpus) -> dict[str, np.ndarray]:
    read = documents(0)
    published = published_topics(RECIPE.fit(trained_on, 99), read)
    return scores_of(bank.statistics, bank.members, statistics_of(published, read), bank.lengths)


def test_members_of_an_overfitted_model_are_found(bank: Bank) -> None:
    members = np.random.default_rng(5).random(N) < 0.5
    found = target_scores(bank, documents(0)[np.flatnonzero(members)])
    for name in (ONLINE, OFFLINE):
        curve = Curve(found[name], members)
        assert deviations(curve) > FAR
        assert curve.auc > 0.9


def test_nothing_is_found_if_the_target_was_trained_on_other_documents(bank: Bank) -> None:
    members = np.random.default_rng(5).random(N) < 0.5
    found = target_scores(bank, documents(1)[np.flatnonzero(members)])
    for name in (ONLINE, OFFLINE):
        assert abs(deviations(Curve(found[name], members))) < FAR
