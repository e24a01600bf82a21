"""Huang and Chen's SUB-LDA (Findings of EMNLP 2021): its Figures 1 to 6, Table 3 and section 5.6."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval
from discreet.experiments.papers.huang2021 import sums as sub_lda_sums
from discreet.experiments.papers.huang2021.adaptive import SECTION_5_6
from discreet.experiments.papers.huang2021.runs import ADAPTIVE, BY_RATE, CURVES
from discreet.experiments.papers.huang2021.sums import SOURCE
from discreet.experiments.tables import label, symbol

OVER_UNIGRAM = "Completion perplexity over the unigram model's: from 1 on, no topics were found"

NOTES = (
    "SubsampledLDA(as_published=True), α = 14, ε(α) = 2, 100 iterations. What the paper does not give: τ = 0.1, "
    "β = 0.01, no clip; its split (every tenth document is held out here); its repetitions.",
    "20 Newsgroups: the 11,314 posts of the by-date training part without headers, quotes and signatures (the paper "
    "has 9,740 documents). NIPS: UCI's, all words.",
    "`enron` stands in for UCI's Enron: 16,545 other e-mails of the same company, the 28,102 most frequent words.",
    "Perplexity is by fold-in on held-out documents, as in HDP-LDA's paper; completion perplexity stands beside it.",
    "The published form is reproduced, not recommended: its noise stays in the counts and grows with every visit of a "
    "token.",
)


def _experiment(figure: str, title: str, grid: Grid, *more_notes: str, **shown: Any) -> Experiment:
    return Experiment("huang2021", figure, title, SOURCE, grid, notes=(*NOTES, *more_notes), **shown)


def _plot(title: str, x: str, lines: str, x_label: str, y: str = "perplexity", **more: Any) -> Plot:
    return Plot(title, x, y, lines, "dataset", x_label=x_label, **more)


def _perplexity_tables(rows: tuple[str, str], columns: str) -> tuple[Table, ...]:
    return (
        Table("Perplexity (fold-in)", "perplexity", rows, columns),
        Table("Completion perplexity", "completion", rows, columns),
        Table(OVER_UNIGRAM, "over_unigram", rows, columns),
    )


def whole(place: Setting) -> Setting | None:
    """γ = 1, which is HDP-LDA in this paper: the divisor of the ratios."""
    return {**place, "gamma": 1.0}


def _places(results: Results) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in results.levels("dataset"):
        for k in results.levels("n_topics"):
            yield f"{name}, K = {k}", {"dataset": name, "n_topics": k}


def _ends(results: Results, key: str) -> tuple[Any, Any]:
    levels = sorted(level for level in results.levels(key) if level is not None)
    return levels[0], levels[-1]


def _from_one(results: Results, measure: str, place: Setting, other: Setting) -> Interval:
    """|a/b − 1| of Eq. 7 and 8, at one point minus at another, for ratios to γ = 1 that are all above 1 or all below
    1."""
    parts = [_distances(results, measure, where) for where in (place, other)]
    both = sorted(parts[0].keys() & parts[1].keys())
    return Interval.of([parts[0][i] - parts[1][i] for i in both])


def _distances(results: Results, measure: str, place: Setting) -> dict[int, float]:
    top, base = results.values(measure, place), results.values(measure, {**place, "gamma": 1.0})
    return {i: abs(top[i] / base[i] - 1) for i in top.keys() & base.keys()}


def _smaller_rate_gives_more(measure: str, what: str) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        rates = [rate for rate in results.levels("gamma") if rate < 1]
        low, high = min(rates), max(rates)
        for name, place in _places(results):
            found = _from_one(results, measure, {**place, "gamma": low}, {**place, "gamma": high})
            yield Check.above(f"{name}: {what} at γ = {low} minus at {high}", found, 0.0)

    return judge


def _more_topics_give_more(measure: str, what: str) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        (few, many), (rate, _) = _ends(results, "n_topics"), _ends(results, "gamma")
        for name in results.levels("dataset"):
            place = {"dataset": name, "gamma": rate}
            found = _from_one(results, measure, {**place, "n_topics": many}, {**place, "n_topics": few})
            yield Check.above(f"{name}, γ = {rate}: {what} at K = {many} minus at K = {few}", found, 0.0)

    return judge


def _fewer_tokens_are_worse(results: Results) -> Iterator[Check]:
    """The distance of Eq. 8 has no sign: one that shrinks as γ grows may be a gain from training on less."""
    low, high = _ends(results, "gamma")
    for name, place in _places(results):
        found = results.ratio("perplexity", {**place, "gamma": low}, {**place, "gamma": high})
        yield Check.above(f"{name}: perplexity at γ = {low} over that at {high}", found, 1.0)


def _ratio_figure(
    figure: str, title: str, measure: str, what: str, findings: tuple[str, str], y: str, more: tuple[Finding, ...] = ()
) -> Experiment:
    rows = ("dataset", "n_topics")
    return _experiment(
        figure,
        title,
        BY_RATE,
        "Figures 2, 3 and 5 show the same runs. Time is processor time of one thread, per iteration.",
        findings=(
            Finding(findings[0], _smaller_rate_gives_more(measure, what)),
            Finding(findings[1], _more_topics_give_more(measure, what), often=True),
            *more,
        ),
        tables=(
            Table(f"{y} over that at γ = 1 ({what} is its distance from 1)", measure, rows, "gamma", over=whole),
            Table(y, measure, rows, "gamma"),
        ),
        plots=(_plot(title, "gamma", "n_topics", "γ (lines: K)", measure, y_label=f"{y} over γ = 1", over=whole),),
    )


FIGURE_2 = _ratio_figure(
    "figure2",
    "Speed-up by subsampling ratio",
    "seconds",
    "speed-up ratio",
    ("a smaller subsampling ratio is faster.", "a larger K often gives a larger speed-up."),
    "seconds per iteration",
)
FIGURE_3 = _ratio_figure(
    "figure3",
    "Perplexity ratio by subsampling ratio",
    "perplexity",
    "perplexity ratio",
    ("the larger the subsampling ratio, the smaller the difference in perplexity.", "it is often larger for larger K."),
    "perplexity",
    (
        Finding(
            "a smaller subsampling ratio results in a higher perplexity (said of Figure 4).", _fewer_tokens_are_worse
        ),
    ),
)


def _finds_topics(results: Results) -> Iterator[Check]:
    for place in dict.fromkeys(
        tuple((key, row.get(key)) for key in ("dataset", "n_topics", "gamma", "eta") if key in row)
        for row in results.rows
        if "over_unigram" in row
    ):
        what = ", ".join(str(value) if key == "dataset" else f"{symbol(key)} = {label(value)}" for key, value in place)
        yield Check.below(f"{what}: over the unigram model", results.interval("over_unigram", **dict(place)), 1.0)


FINDS_TOPICS = expected("SUB-LDA is better than the unigram model (completion perplexity).", _finds_topics)


# --- Figure 5 ---------------------------------------------------------------------------------------------------------


def _bends(results: Results) -> Iterator[Check]:
    rates = sorted(results.levels("gamma"))
    for name, place in _places(results):
        values = [results.values("perplexity", {**place, "gamma": rate}) for rate in rates]
        both = sorted(set.intersection(*(set(value) for value in values)))
        for start, shape in ((0, "small γ: concave"), (len(rates) - 4, "large γ: convex")):
            a, b, c = (values[max(0, start) + i] for i in range(3))
            bend = Interval.of([a[i] - 2 * b[i] + c[i] for i in both])
            check = Check.below if start == 0 else Check.above
            yield check(f"{name}, {shape}: second difference of the perplexity", bend, 0.0)


FIGURE_5 = replace(
    FIGURE_3,
    figure="figure5",
    title="Perplexity by subsampling ratio",
    findings=(Finding("perplexity against γ is concave first and then convex.", _bends), FINDS_TOPICS),
    tables=_perplexity_tables(("dataset", "n_topics"), "gamma"),
    plots=(_plot("Perplexity by subsampling ratio", "gamma", "n_topics", "γ (lines: K)"),),
)


# --- Figure 4 and Table 3 ---------------------------------------------------------------------------------------------


def _smaller_is_worse(results: Results) -> Iterator[Check]:
    last = max(i for i in results.levels("iteration") if i is not None)
    (low, high), where = _ends(results, "gamma"), {"iteration": last}
    for name in results.levels("dataset"):
        place = {**where, "dataset": name}
        found = results.ratio("perplexity", {**place, "gamma": low}, {**place, "gamma": high})
        yield Check.above(f"{name}: perplexity after {last} iterations at γ = {low} over that at {high}", found, 1.0)


def _larger_settles_sooner(results: Results) -> Iterator[Check]:
    low, high = _ends(results, "gamma")
    for name in results.levels("dataset"):
        place = {"dataset": name, "iteration": None}
        found = results.difference("settled", {**place, "gamma": high}, {**place, "gamma": low})
        yield Check.below(f"{name}: iterations until settled at γ = {high} minus at {low}", found, 0.0)


FIGURE_4 = _experiment(
    "figure4",
    "Convergence of SUB-LDA, K = 100",
    CURVES,
    "Here the perplexity is that of the training documents under their own Θ and Φ, as the paper's seems to be.",
    "Eq. 9 with D̂ = 1 and s = 5, which the paper does not give; a run that never settles counts as 100.",
    findings=(
        Finding("a smaller subsampling ratio results in a higher perplexity.", _smaller_is_worse),
        Finding("a larger subsampling ratio often converges faster.", _larger_settles_sooner, often=True),
    ),
    tables=(
        Table(
            "Perplexity of the training documents by iteration",
            "perplexity",
            ("dataset", "gamma"),
            "iteration",
            show=lambda row: row.get("iteration") in (1, 5, 10, 20, 50, 100),
        ),
        Table("Iterations until settled", "settled", ("dataset",), "gamma"),
    ),
    plots=(_plot("Convergence of SUB-LDA, K = 100", "iteration", "gamma", "iteration (lines: γ)"),),
)


def _costs_more(results: Results) -> Iterator[Check]:
    for rate in (0.7, 0.9):
        place = {"dataset": "nips", "iteration": None}
        found = results.difference("total", {**place, "gamma": rate}, {**place, "gamma": 1.0})
        yield Check.above(f"nips: Iter·ε_sub (exact) at γ = {rate} minus at γ = 1", found, 0.0)


TABLE_3 = replace(
    FIGURE_4,
    figure="table3",
    title="SUB-LDA's privacy loss until it has converged, K = 100",
    findings=(
        Finding("on NIPS, Iter·ε_sub is larger at γ = 0.7 and 0.9 than at γ = 1.", _costs_more),
        FIGURE_4.findings[1],
    ),
    tables=(
        Table("Iterations until settled", "settled", ("dataset",), "gamma"),
        Table("ε_sub(14), exactly", "epsilon_sub", ("dataset",), "gamma"),
        Table("Iter·ε_sub, exactly", "total", ("dataset",), "gamma"),
        Table("Iter·ε_sub with the sum that the paper prints", "printed_total", ("dataset",), "gamma"),
    ),
    plots=(
        Plot("Iter·ε_sub until converged", x="gamma", y="total", lines="dataset", x_label="γ", y_label="Iter·ε_sub"),
    ),
)


# --- Figure 6 ---------------------------------------------------------------------------------------------------------


def _adaptive_over_uniform(check: Callable[..., Check], names: Iterable[str], *bounds: float) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for name in names:
            found = results.ratio("perplexity", {"dataset": name, "eta": 1.0}, {"dataset": name, "eta": None})
            yield check(f"{name}, η = 1: adaptive over uniform", found, *bounds)

    return judge


FIGURE_6 = _experiment(
    "figure6",
    "Adaptive subsampling, K = 20, γ = 0.1",
    ADAPTIVE,
    "η = 1 is meant to visit as many tokens as uniform sampling (Eq. 11). In fact it visits fewer and fewer, because "
    "the noise hides which words are frequent (`huang2021 section5.6`). q = 0.5 is ours. “Similar” is within 5%.",
    findings=(
        Finding(
            "adaptive subsampling improves the perplexity on NIPS and Enron.",
            _adaptive_over_uniform(Check.below, ("nips", "enron"), 1.0),
        ),
        Finding(
            "on 20 Newsgroups the utility is similar.",
            _adaptive_over_uniform(Check.between, ("20newsgroups",), 0.95, 1.05),
        ),
        FINDS_TOPICS,
    ),
    tables=_perplexity_tables(("dataset", "sampling"), "eta"),
    plots=(_plot("Adaptive subsampling, K = 20, γ = 0.1", "eta", "sampling", "η = 1/(vq), q = 0.5"),),
)

EXPERIMENTS = (*sub_lda_sums.EXPERIMENTS, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, TABLE_3, SECTION_5_6)
