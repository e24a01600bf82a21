"""Figure 4 of Zhao et al. 2021: the topic-based attack against iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from discreet.attacks.topic import TopicAttack
from discreet.experiments.data import zhao_split
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.zhao2021.figure5 import ALPHA, BETA, INHERENT, LARGER_BETA, NO_CLIP, SOURCE
from discreet.models.published import observed_by

HYBRID, PLUS, PLAIN = "HDP-LDA", "CDP-LDA+", "non-private"
PUBLISHED, EXACT = "eq. (24), normalised", "exact posterior of the draws"
SWEEPS = (1, 2, 5, 10, 20, 50, 100, 200)
TOKENS = 100
EPSILON_PLUS, EPSILON_NOISE = 1.0, 10.0
"""CDP-LDA+ "in the strong privacy regime (ε = 1)"; the noise of HDP-LDA at the largest ε of Figure 5."""
SHARP, LITTLE = 0.5, 0.1
"""How we read "sharp increases" and "effectively defend": mean probabilities of the true word after the last sweep."""


def _settings(quick: bool) -> list[Setting]:
    size: Setting = {"dataset": "kos", "n_documents": None, "n_words": 1000, "n_topics": 50, "sweeps": SWEEPS[-1]}
    size |= {"n_tokens": TOKENS}
    if quick:
        size |= {"n_documents": 150, "n_words": 100, "n_topics": 5, "sweeps": 10, "n_tokens": 20}
    return [{**size, "method": method} for method in (PLAIN, PLUS, HYBRID)]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    from discreet.models.hybrid.model import HybridLDA
    from discreet.models.laplace import LaplaceLDA

    train = zhao_split(setting["dataset"], setting["n_words"], setting["n_documents"]).train
    n_attacked = min(setting["n_tokens"], int((train.lengths > 0).sum()))
    chosen = np.random.default_rng(seed).choice(int((train.lengths > 0).sum()), n_attacked, replace=False)
    attack = TopicAttack(chosen.tolist(), SWEEPS)
    common = {"alpha": ALPHA, "n_sweeps": setting["sweeps"], "random_state": seed, "as_published": True}
    k, method = setting["n_topics"], setting["method"]
    model: LaplaceLDA | HybridLDA
    if method == PLUS:
        model = LaplaceLDA(k, epsilon=EPSILON_PLUS, every_sweep=True, beta=BETA, **common)
    elif method == PLAIN:
        model = HybridLDA(k, epsilon_inherent=NO_CLIP, beta=BETA, **common)
    else:
        model = HybridLDA(k, epsilon_inherent=INHERENT, epsilon_laplace=EPSILON_NOISE, beta=LARGER_BETA, **common)
    with observed_by(attack):
        model.fit(train)
    for found in attack.found:
        answers = {PUBLISHED: (found.published, found.published_right), EXACT: (found.exact, found.exact_right)}
        for posterior, (probability, right) in answers.items():
            line = f"{method}, {'exact' if posterior == EXACT else 'eq. (24)'}"
            yield {
                "iterations": found.sweep,
                "posterior": posterior,
                "line": line,
                "probability": probability,
                "right": right,
            }


# --- findings ---------------------------------------------------------------------------------------------------------


def _last(results: Results) -> int:
    return int(max(results.levels("iterations"), default=0))


def _judge(methods: tuple[str, ...], bound: float, *, above: bool) -> Callable[[Results], Iterator[Check]]:
    def judge(results: Results) -> Iterator[Check]:
        last = _last(results)
        for method in methods:
            for posterior in (PUBLISHED, EXACT):
                found = results.interval("probability", method=method, posterior=posterior, iterations=last)
                check = Check.above if above else Check.below
                yield check(f"{method} after {last} iterations, {posterior}", found, bound)

    return judge


def _rises(results: Results) -> Iterator[Check]:
    last = _last(results)
    for method in (PLAIN, PLUS):
        for posterior in (PUBLISHED, EXACT):
            place = {"method": method, "posterior": posterior}
            found = results.difference("probability", {**place, "iterations": last}, {**place, "iterations": 1})
            yield Check.above(f"{method}, {posterior}: after {last} iterations minus after one", found, 0.0)


FIGURE_4 = Experiment(
    paper="zhao2021",
    figure="figure4",
    title="Zhao et al. 2021, Figure 4: the topic-based attack against iterations",
    source=SOURCE,
    grid=Grid("zhao2021-topic", 1, _settings, _cell, measures=("probability", "right"), repetitions=3),
    findings=(
        Finding("without intervention and with CDP-LDA+ (ε = 1), attack accuracy rises with the iterations.", _rises),
        Finding(
            "it rises sharply for both.",
            _judge((PLAIN, PLUS), SHARP, above=True),
        ),
        Finding(
            "HDP-LDA effectively defends against the attack even when ε = 10.", _judge((HYBRID,), LITTLE, above=False)
        ),
    ),
    tables=(
        Table("Mean probability of the true word", "probability", ("method", "posterior"), "iterations"),
        Table(
            "Share of the tokens whose true word is the most probable", "right", ("method", "posterior"), "iterations"
        ),
    ),
    plots=(
        Plot(
            "The topic-based attack",
            "iterations",
            "probability",
            "line",
            y_label="mean probability of the true word",
            log_x=True,
        ),
    ),
    notes=(
        "KOS, 3,000 documents, the 1,000 most frequent words, K = 50, α = 1; the paper does not name the data set of "
        "this figure. CDP-LDA+: ε = 1, β = 0.01. HDP-LDA: ε_I = 10 in each iteration, β = 1 (“a larger β”, which it "
        "does not give), Laplace noise of ε = 10. Non-private: plain collapsed Gibbs sampling, β = 0.01.",
        "Eq. (24) as printed is a product of factors of 1 at most and can only fall with T, while the figure rises. "
        "Here it is normalised over words, with β added to the counts. Beside it the exact posterior of the draws "
        "from the sampler's own probabilities. Both have a flat prior: guessing has a probability of 1/1,000.",
        "The paper attacks one word, the last of the data set. Here: the last token, in a secret order, of 100 "
        "documents.",
        f"We read *sharply* as a mean probability above {SHARP} after {SWEEPS[-1]} iterations, and *effectively "
        f"defends* as one below {LITTLE}; both were chosen before this run.",
    ),
)
