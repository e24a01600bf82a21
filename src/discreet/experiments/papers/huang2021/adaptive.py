"""Section 5.6 of SUB-LDA's paper: what adaptive subsampling draws (Eq. 11 and 12), and what it costs (Lemma 5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.huang2021.runs import ALPHA, SHARE, model_of, sizes, split
from discreet.experiments.papers.huang2021.sums import EPSILON, ORDER, SOURCE
from discreet.models.subsampled.rules import size_ratio, variance_ratio
from discreet.privacy.subsampled import adaptive_epsilon, lemma_5_1, sampled_epsilon, subsampled_rdp

GAMMA = 0.1
ETAS = (1.0, 0.5, 0.25)
SHOWN = (1, 10, 100)
"""Iterations after which batches are drawn."""

COSTS = (0.5, 1.0, 2.0, 4.0)
"""ε of the mechanism that Lemma 5.1 is about."""

BATCHES = 300
TOKENS = 1000
"""Of each of the two words of the neighbours that Lemma 5.1 is held against."""

PUBLISHED, NONE = "the published noise", "almost no noise"
QUIET = 1e-6
"""The deviation of almost no noise."""

NEAR_SIZE, NEAR_VARIANCE = 0.02, 0.25
LEMMA = "Lemma 5.1"


def _settings(quick: bool) -> list[Setting]:
    rates = [{"gamma": GAMMA, "eta": eta, "noise": PUBLISHED} for eta in ETAS]
    rates.append({"gamma": GAMMA, "eta": 1.0, "noise": NONE})
    k = 5 if quick else 20
    measured = [{**size, "n_topics": k, **rate} for size in sizes(quick) for rate in rates]
    lemma = [{"part": LEMMA, "eta": eta, "epsilon": epsilon} for eta in ETAS for epsilon in COSTS]
    if quick:
        lemma = [{**setting, "tokens": 10} for setting in lemma if setting["epsilon"] == EPSILON]
    return [*measured, *lemma]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    yield from _lemma(setting) if setting.get("part") == LEMMA else _measured(setting, seed)


def _measured(setting: Setting, seed: int) -> Iterator[Point]:
    """Batches of one state, drawn again and again: their mean size and its variance, beside what the equations say."""
    from discreet._random import Key
    from discreet.models.subsampled.published import PublishedRun

    boost = 1 / (setting["eta"] * SHARE)
    model = model_of(setting, seed, adaptive=True, frequent_share=SHARE, boost=boost)
    corpus = split(setting["dataset"], setting["n_words"], setting["n_documents"]).train
    sigma = (ORDER / (2 * EPSILON)) ** 0.5 if setting["noise"] == PUBLISHED else QUIET
    run = PublishedRun(model, corpus, np.full(model.n_topics, ALPHA), Key.from_seed(seed), sigma, None)
    last = setting["rounds"]
    for number in range(1, last + 1):
        run.iterate(number)
        if number in SHOWN or number == last:
            frequent = run.frequent_tokens()
            first = number * BATCHES + last  # coins that no iteration uses
            drawn = [int((run.coins(first + i) & frequent).sum()) for i in range(1, BATCHES + 1)]
            yield {"iteration": number, **_ratios(drawn, int(frequent.sum()), corpus.n_tokens, boost)}


def _ratios(drawn: list[int], n_frequent: int, n_tokens: int, boost: float) -> dict[str, float]:
    """Of uniform over adaptive sampling, each also over what the equation says: with q, and with the share found."""
    found = n_frequent / n_tokens
    size = GAMMA * n_tokens / float(np.mean(drawn))
    variance = GAMMA * (1 - GAMMA) * n_tokens / float(np.var(drawn, ddof=1))
    return {
        "share": found,
        "size": size,
        "variance": variance,
        "size_over_eq11": size / size_ratio(boost, SHARE),
        "variance_over_eq12": variance / variance_ratio(GAMMA, boost, SHARE),
        "size_by_share": size / size_ratio(boost, found),
        "variance_by_share": variance / variance_ratio(GAMMA, boost, found),
    }


def _lemma(setting: Setting) -> Iterator[Point]:
    epsilon, eta = setting["epsilon"], setting["eta"]
    rate = GAMMA / (eta * SHARE)
    yield {
        "uniform": sampled_epsilon(epsilon, GAMMA),
        "adaptive": sampled_epsilon(epsilon, rate),
        "bound": lemma_5_1(epsilon, GAMMA, SHARE, eta),
        "neighbours": adaptive_epsilon(epsilon, rate, setting.get("tokens", TOKENS)),
        "rdp": subsampled_rdp(ORDER, EPSILON, rate),
    }


# --- findings ---------------------------------------------------------------------------------------------------------


def _as_said(measure: str, what: str, noise: str, near: float) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for name in results.levels("dataset", noise=noise):
            for eta in results.levels("eta", dataset=name, noise=noise):
                for iteration in results.levels("iteration", dataset=name, noise=noise):
                    place = {"dataset": name, "eta": eta, "noise": noise, "iteration": iteration}
                    found = results.interval(measure, **place)
                    label = f"{name}, η = {eta:g}, after {iteration}: {what}"
                    yield Check.between(label, found, 1 - near, 1 + near)

    return judge


def _within_the_bound(measure: str, what: str) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for eta, epsilon in _lemma_places(results):
            place = {"part": LEMMA, "eta": eta, "epsilon": epsilon}
            found = results.interval(measure, **place)
            bound = results.interval("bound", **place).mean
            yield Check.below(f"η = {eta:g}, ε = {epsilon:g}: {what}", found, bound * (1 + 1e-12))

    return judge


def _worth_sampling(results: Results) -> Iterator[Check]:
    for eta, epsilon in _lemma_places(results):
        found = results.interval("bound", part=LEMMA, eta=eta, epsilon=epsilon)
        yield Check.below(f"η = {eta:g}: the bound where M alone costs ε = {epsilon:g}", found, epsilon)


def _lemma_places(results: Results) -> list[tuple[float, float]]:
    levels = results.levels("eta", part=LEMMA)
    return [(eta, epsilon) for eta in levels for epsilon in results.levels("epsilon", part=LEMMA, eta=eta)]


def _measured_table(title: str, measure: str) -> Table:
    return Table(title, measure, ("dataset", "noise", "eta"), "iteration", show=lambda row: row.get("part") != LEMMA)


def _lemma_table(title: str, measure: str, **only: Any) -> Table:
    """``only``: of a number that does not depend on the other coordinate."""
    where = {"part": LEMMA, **only}
    return Table(
        title, measure, ("eta",), "epsilon", show=lambda row: all(row.get(key) == value for key, value in where.items())
    )


SECTION_5_6 = Experiment(
    paper="huang2021",
    figure="section5.6",
    title="Adaptive subsampling: the size of its samples, and its privacy",
    source=SOURCE,
    grid=Grid(
        "sub-lda-section5.6",
        1,
        _settings,
        _cell,
        measures=(
            *("share", "size", "variance", "size_over_eq11", "variance_over_eq12", "size_by_share"),
            *("variance_by_share", "uniform", "adaptive", "bound", "neighbours", "rdp"),
        ),
        repetitions=3,
    ),
    findings=(
        Finding(
            "(Eq. 11) the expected size of a uniform sample over that of an adaptive one is η.",
            _as_said("size_over_eq11", "ratio of sizes over η", PUBLISHED, NEAR_SIZE),
        ),
        Finding(
            "(Eq. 12) the variance of the size of a uniform sample over that of an adaptive one is (1−γ)/(qv(1−vγ)).",
            _as_said("variance_over_eq12", "ratio of variances over Eq. 12", PUBLISHED, NEAR_VARIANCE),
        ),
        Finding(
            "Eq. 11 holds for counts without noise.",
            _as_said("size_over_eq11", "ratio of sizes over η", NONE, NEAR_SIZE),
            said_by="our reading",
        ),
        Finding(
            "Eq. 11 holds with any noise if q is the share of the tokens that the chosen cells really have.",
            _as_said("size_by_share", "ratio of sizes over 1/(vq̂)", PUBLISHED, NEAR_SIZE),
            said_by="our reading",
        ),
        Finding(
            "so does Eq. 12.",
            _as_said("variance_by_share", "ratio of variances over Eq. 12 with q̂", PUBLISHED, NEAR_VARIANCE),
            said_by="our reading",
        ),
        Finding(
            "(Lemma 5.1) M with adaptive subsampling costs at most ε′ − log(ηq).",
            _within_the_bound("neighbours", "what neighbours lose whose frequent word changes"),
        ),
        Finding(
            "it does if the rates do not depend on the documents (Eq. 20).",
            _within_the_bound("adaptive", "ε̄ by Eq. 20"),
            said_by="our reading",
        ),
        expected("the bound says more than no sampling at all would: it is below ε.", _worth_sampling),
    ),
    tables=(
        _measured_table("Expected size of a uniform sample over that of an adaptive one (Eq. 11: η)", "size"),
        _measured_table("Variance of the size, uniform over adaptive", "variance"),
        _measured_table("The same over Eq. 12", "variance_over_eq12"),
        _measured_table(f"Share of the tokens that the cells chosen for q = {SHARE:g} have", "share"),
        _lemma_table(
            f"ε′ of uniform sampling at γ = {GAMMA:g} (Eq. 19), where M alone costs ε, for any η", "uniform", eta=1.0
        ),
        _lemma_table("ε̄ of rates vγ that do not depend on the documents (Eq. 20)", "adaptive"),
        _lemma_table("The bound of Lemma 5.1", "bound"),
        _lemma_table(f"What neighbours lose: two words of {TOKENS:,} tokens, one of which is taken away", "neighbours"),
        _lemma_table(
            f"ε_sub({ORDER}) of the runs, ε({ORDER}) = {EPSILON:g}, at vγ (Theorem 3.1; at γ: 0.0465)",
            "rdp",
            epsilon=EPSILON,
        ),
    ),
    plots=(
        Plot(
            "Ratio of expected sizes over η (Eq. 11: 1)",
            "iteration",
            "size_over_eq11",
            "eta",
            "dataset",
            x_label="iteration (lines: η)",
            y_label="over η",
            log_x=True,
            show=lambda row: row.get("noise") == PUBLISHED,
        ),
    ),
    notes=(
        "SubsampledLDA(as_published=True, adaptive=True), K = 20, γ = 0.1 as in the paper's Figure 6, 100 iterations, "
        "three repetitions; q = 0.5 is ours, and η = 1, 0.5 and 0.25. Data and priors as on the page of Figure 6.",
        f"After 1, 10 and 100 iterations the state is kept and {BATCHES} batches are drawn from it with fresh coins: "
        "their mean size and the variance of it. Of uniform sampling both are known: γn and γ(1−γ)n.",
        f"“Is” means within {NEAR_SIZE:.0%} for sizes, and {NEAR_VARIANCE:.0%} for variances, whose own error is 8% "
        "for one repetition.",
        "Eq. 11 and 12 take the frequent cells to hold just q of the tokens. The counts by which they are chosen carry "
        "the noise of all visits before, so that cells without tokens are chosen too. Without noise the cells hold a "
        "little more than q, because the last one is taken whole. (Almost no noise is a deviation of "
        f"{QUIET:g}.)",
        "Lemma 5.1 rests on Eq. 20, amplification at rate vγ, which is for rates that do not depend on the documents. "
        "The rates of Eq. 10 do. Two words have n tokens each in one topic, and q = ½: the first is frequent. Take one "
        "of its tokens away, and the second is: the n − 1 others are no longer sampled. For sampled counts with "
        "Laplace noise of scale 1/ε the loss reaches n·log(1 + vγ(e^ε − 1)). δ = 0 in all of this.",
        "These are numbers of one mechanism M, as in the lemma. What Algorithm 1 costs is another matter "
        "(docs/papers.md).",
    ),
)
