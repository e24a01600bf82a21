"""LiRA catches a model that compares collections without privacy, and a private one stays within its ε.

An attack that guesses about N documents whose membership N fair coins decided is right at most as often as N coins that
fall right with probability e^ε / (1 + e^ε), in distribution, if the topics are ε-DP for a document (Steinke, Nasr and
Jagielski 2023, Theorem 5.2; δ = 1e-12 for each of 480 documents changes nothing here). MOST is exceeded with
probability 1e-6.

**Chances.** *Private*: a right program fails with probability 1e-6 at most. The others have a fixed seed and fail only
if the attack gets weaker. *Without privacy*: with 4 seeds the attack was right about 468 or more of 480 documents,
where 304 are the most. *Hardly any noise*: with 8 seeds about 316 or more (mean 344, standard deviation 14); with the
noise of ε = 0.1, and 2 seeds, 253 and 270.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from discreet.attacks.membership.bank import Plan, open_bank
from discreet.attacks.membership.recipe import Recipe, published_topics
from discreet.attacks.membership.scores import ONLINE, scores_of
from discreet.attacks.membership.statistics import statistics_of
from discreet.corpus import Corpus, Vocabulary

N, EPSILON = 480, 0.1
MOST = int(binom.isf(1e-6, N, math.exp(EPSILON) / (1 + math.exp(EPSILON))))

LEAKY = Recipe("discreet.models.cross.model", "CrossLDA", {"n_topics": 20, "n_sweeps": 40, "n_average": 5, "lag": 1})


def private(epsilon: float) -> Recipe:
    parameters = {"n_topics": 20, "epsilon": epsilon, "delta": 1e-12, "n_rounds": 4}
    return Recipe("discreet.models.cross.private", "PrivateCrossLDA", parameters)


def documents() -> Corpus:
    """A few random words each, half of them in each of two collections."""
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(40, rng.dirichlet(np.full(300, 0.05))) for _ in range(N)])
    corpus = Corpus.from_counts(counts, collections=np.array(["east", "west"] * (N // 2)))
    return corpus.restrict(Vocabulary([f"word{i}" for i in range(300)], "public"))


def right(recipe: Recipe, seed: int = 5) -> int:
    """About how many documents online LiRA is right, if it says "member" where that is the likelier case."""
    corpus = documents()
    bank = open_bank(corpus, Plan(recipe, seed=seed), 25, n_processes=1)
    members = np.random.default_rng(seed).random(N) < 0.5
    target = recipe.fit(corpus[np.flatnonzero(members)], seed)
    found = statistics_of(published_topics(target, corpus), corpus)
    scores = scores_of(bank.statistics, bank.members, found, bank.lengths)[ONLINE]
    return int(((scores > 0) == members).sum())


def test_a_model_without_privacy_is_caught() -> None:
    assert right(LEAKY) > MOST


def test_a_private_model_stays_within_its_epsilon() -> None:
    assert right(private(EPSILON)) <= MOST


def test_the_same_model_with_hardly_any_noise_does_not() -> None:
    """So the test above can fail."""
    assert right(private(10_000.0)) > MOST
