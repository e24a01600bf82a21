"""OLP-LDA and O-LDA on streams: Figures 8, 9 and 10 of Zhao et al. 2021."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.corpus import Corpus
from discreet.experiments.compare import expected
from discreet.experiments.data import STAND_IN, Split, each_word_once, zhao_split
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.zhao2021.figure5 import NO_CLIP, SOURCE

ALPHA, BETA, CORRELATION, OMEGA = 1.0, 0.01, 0.5, 0.4
BATCH = 160
PRIOR = {"kos": 500, "nips": 200, "enron": 1000}
EPSILON = 3.0
"""Of Figures 9 and 10; the paper says so for Figure 9."""

EPSILONS = (1.0, 3.0, 5.0, 7.6)
PRIOR_SIZES = {"kos": (100, 250, 500, 1000), "nips": (50, 100, 200, 400), "enron": (250, 500, 1000, 2000)}
BATCHES = (40, 80, 160, 320)

O_LDA, OLP, OURS, CGS = "O-LDA", "OLP-LDA", "OnlineLocalLDA", "non-private batch CGS"
BARE = "OLP-LDA without prior"
MEASURES = ("perplexity", "completion", "averaged")

CLOSE, MUCH_LARGER = 1.05, 1.05
"""Ratios of perplexities by which we read “very close” and “much larger”."""


def _size(quick: bool) -> Setting:
    if quick:
        return {"n_documents": 150, "n_words": 100, "n_topics": 5, "sweeps": 3, "prior": 30, "batch": 60}
    return {"n_documents": None, "n_words": 1000, "n_topics": 50, "sweeps": 100, "batch": BATCH}


def _datasets(quick: bool) -> tuple[str, ...]:
    return ("kos",) if quick else ("kos", "nips", "enron")


def _common(quick: bool, name: str) -> Setting:
    return {"dataset": name, "prior": PRIOR[name], **_size(quick)}


def _settings_8(quick: bool) -> list[Setting]:
    found: list[Setting] = []
    for name in _datasets(quick):
        common = _common(quick, name)
        found.append({**common, "method": O_LDA, "epsilon": None})
        for epsilon in EPSILONS[::3] if quick else EPSILONS:
            found += [{**common, "method": method, "epsilon": epsilon} for method in (OLP, OURS)]
    return found


def _settings_9(quick: bool) -> list[Setting]:
    found: list[Setting] = []
    for name in _datasets(quick):
        common = {**_common(quick, name), "epsilon": EPSILON}
        for size in (20, 60) if quick else PRIOR_SIZES[name]:
            found += [{**common, "prior": size, "method": method} for method in (O_LDA, OLP, OURS)]
        found.append({**common, "prior": None, "method": CGS})
    return found


def _settings_10(quick: bool) -> list[Setting]:
    return [
        {**_common(quick, name), "epsilon": EPSILON, "batch": batch, "method": method}
        for name in _datasets(quick)
        for batch in ((30, 60) if quick else BATCHES)
        for method in (O_LDA, OLP, BARE, OURS)
    ]


def _cell_8(setting: Setting, seed: int) -> Iterator[Point]:
    """A point for each batch, with the mean perplexity of the batches so far."""
    total = 0.0
    for number, point in enumerate(stream(setting, seed), 1):
        total += point["perplexity"]
        yield {"batch_number": number, **point, "averaged": total / number}


def _cell_last(setting: Setting, seed: int) -> Iterator[Point]:
    """The model after the last batch."""
    if setting["method"] == CGS:
        from discreet.models.hybrid.model import HybridLDA

        split = once(setting)
        options: dict[str, Any] = {"alpha": ALPHA, "beta": BETA, "n_sweeps": 3 * setting["sweeps"]}
        model = HybridLDA(
            setting["n_topics"], epsilon_inherent=NO_CLIP, as_published=True, random_state=seed, **options
        )
        yield _measured(model.fit(split.train), split.test)
        return
    *_, last = stream(setting, seed, every=False)
    yield last


def once(setting: Setting) -> Split:
    split = zhao_split(setting["dataset"], setting["n_words"], setting["n_documents"])
    return Split(*map(each_word_once, split))


def stream(setting: Setting, seed: int, *, every: bool = True) -> Iterator[Point]:
    """Train batch by batch, in an order that the seed decides; measure after each batch, or after the last."""
    split = once(setting)
    order = np.random.default_rng(seed).permutation(split.train.n_documents)
    public, private = split.train[order[: setting["prior"]]], split.train[order[setting["prior"] :]]
    model = model_of(setting, seed)
    if setting["method"] == O_LDA:
        model.partial_fit(public)
    elif setting["method"] != BARE:
        model.fit_prior(public)
    starts = range(0, private.n_documents - setting["batch"] + 1, setting["batch"])
    for start in starts:
        model.partial_fit(private[start : start + setting["batch"]])
        if every or start == starts[-1]:
            yield _measured(model, split.test)


def model_of(setting: Setting, seed: int) -> Any:
    from discreet.models.local.online import OnlineLDA
    from discreet.models.local.online_local import OnlineLocalLDA

    common: dict[str, Any] = {"alpha": ALPHA, "beta": BETA, "correlation": CORRELATION, "random_state": seed}
    common["n_sweeps"] = setting["sweeps"]
    if setting["method"] == O_LDA:
        return OnlineLDA(setting["n_topics"], **common)
    published = setting["method"] != OURS
    return OnlineLocalLDA(
        setting["n_topics"], epsilon_bit=setting["epsilon"], omega=OMEGA, as_published=published, **common
    )


def _measured(model: Any, test: Corpus) -> Point:
    from discreet.evaluation import completion_perplexity, fold_in_perplexity

    topics = model.components_
    return {
        "perplexity": fold_in_perplexity(topics, test, alpha=ALPHA),
        "completion": completion_perplexity(topics, test, alpha=ALPHA),
    }


# --- findings ---------------------------------------------------------------------------------------------------------


def _falls_8(results: Results) -> Iterator[Check]:
    for name in results.levels("dataset"):
        last = max(results.levels("batch_number", dataset=name))
        for method, epsilon in ((O_LDA, None), *((OLP, e) for e in results.levels("epsilon", method=OLP))):
            place = {"dataset": name, "method": method, "epsilon": epsilon}
            found = results.ratio("averaged", {**place, "batch_number": last}, {**place, "batch_number": 1})
            what = method if epsilon is None else f"{method}, ε = {epsilon:g}"
            yield Check.below(
                f"{name}, {what}: mean perplexity after {last} batches over that of the first", found, 1.0
            )


def _trade_off(results: Results) -> Iterator[Check]:
    epsilons = sorted(e for e in results.levels("epsilon") if e is not None)
    for name in results.levels("dataset"):
        place = {"dataset": name, "method": OLP, "batch_number": max(results.levels("batch_number", dataset=name))}
        low, high = ({**place, "epsilon": e} for e in (epsilons[0], epsilons[-1]))
        found = results.ratio("averaged", high, low)
        yield Check.below(f"{name}: OLP-LDA at ε = {epsilons[-1]:g} over ε = {epsilons[0]:g}", found, 1.0)


def _ours_8(results: Results) -> Iterator[Check]:
    for name in results.levels("dataset"):
        last = max(results.levels("batch_number", dataset=name))
        for epsilon in results.levels("epsilon", method=OLP):
            place = {"dataset": name, "epsilon": epsilon, "batch_number": last}
            found = results.ratio("completion", {**place, "method": OURS}, {**place, "method": OLP})
            yield Check.below(f"{name}, ε = {epsilon:g}, last batch: OnlineLocalLDA over OLP-LDA", found, 1.0)


def _larger_prior(results: Results) -> Iterator[Check]:
    for name in results.levels("dataset"):
        sizes = sorted(s for s in results.levels("prior", dataset=name) if s is not None)
        place = {"dataset": name, "method": OLP}
        found = results.ratio("perplexity", {**place, "prior": sizes[-1]}, {**place, "prior": sizes[0]})
        yield Check.below(f"{name}: OLP-LDA with {sizes[-1]:,} prior documents over {sizes[0]:,}", found, 1.0)


def _over(one: str, other: str, what: str, *, bound: float, above: bool = False) -> Any:
    def judge(results: Results) -> Iterator[Check]:
        for name in results.levels("dataset"):
            for batch in results.levels("batch", dataset=name):
                place = {"dataset": name, "batch": batch}
                found = results.ratio("perplexity", {**place, "method": one}, {**place, "method": other})
                check = Check.above if above else Check.below
                yield check(f"{name}, batches of {batch}: {what}", found, bound)

    return judge


def _falls_10(results: Results) -> Iterator[Check]:
    for name in results.levels("dataset"):
        small, large = (f(results.levels("batch", dataset=name)) for f in (min, max))
        for method in (BARE, O_LDA):
            place = {"dataset": name, "method": method}
            found = results.ratio("perplexity", {**place, "batch": large}, {**place, "batch": small})
            yield Check.below(f"{name}, {method}: batches of {large} over batches of {small}", found, 1.0)


# --- pages ------------------------------------------------------------------------------------------------------------

NOTES = (
    "K = 50, α = 1, β = 0.01, λ = 0.5, ω = 0.4, batches of 160, prior data of 500, 200 and 1,000 documents, 1,000 most "
    "frequent words, as the paper says. It does not say how many sweeps a batch has (100 here), the ε of the curves, "
    "or the repetitions (3).",
    "Each document is a set of words. Prior data are drawn from the training documents, as in the paper: they are not "
    "protected. A last batch that would be shorter is left out. O-LDA has the prior data as its first batch.",
    STAND_IN,
    "OLP-LDA is Algorithm 2 with the prior update of eq. (21); `OnlineLocalLDA` without `as_published` trains on the "
    "reports as they are. Sweeps are frozen, as in all our models, and counts are means of ten sweeps.",
    f"“Very close” is read as at most {CLOSE} times the perplexity, “much larger” as at least {MUCH_LARGER} times; "
    "chosen when ten batches of KOS had been seen with one seed.",
)


def _experiment(
    figure: str, title: str, grid: Grid, findings: tuple[Finding, ...], tables: Any, plot: Plot, *notes: str
) -> Experiment:
    return Experiment(
        paper="zhao2021",
        figure=figure,
        title=title,
        source=SOURCE,
        grid=grid,
        findings=findings,
        tables=tables,
        plots=(plot,),
        notes=(*notes, *NOTES),
    )


def _line(row: Any) -> bool:
    return row["method"] == OLP and row["epsilon"] is not None


SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 43)

FIGURE_8 = _experiment(
    "figure8",
    "Perplexity of OLP-LDA against the number of batches, at several ε",
    Grid("zhao2021-figure8", 1, _settings_8, _cell_8, MEASURES, repetitions=3),
    (
        Finding("the mean perplexity of the batches so far falls as batches arrive, at every ε.", _falls_8),
        Finding("a larger ε gives a lower perplexity.", _trade_off),
        expected("after the last batch OnlineLocalLDA is better than OLP-LDA (completion perplexity).", _ours_8),
    ),
    tuple(
        Table(
            title, measure, ("dataset", "method", "epsilon"), "batch_number", show=lambda r: r["batch_number"] in SHOWN
        )
        for title, measure in (
            ("Mean of the fold-in perplexities of the batches so far (the paper's curve)", "averaged"),
            ("Fold-in perplexity after each batch", "perplexity"),
            ("Completion perplexity after each batch", "completion"),
        )
    ),
    Plot(
        "OLP-LDA: mean perplexity of the batches so far (Figure 8 of Zhao et al. 2021)",
        x="batch_number",
        y="averaged",
        lines="epsilon",
        panels="dataset",
        x_label="batches",
        y_label="mean perplexity (fold-in)",
        show=_line,
    ),
)

FIGURE_9 = _experiment(
    "figure9",
    "Perplexity of OLP-LDA against the size of the prior data",
    Grid("zhao2021-figure9", 1, _settings_9, _cell_last, MEASURES, repetitions=3),
    (
        Finding("more prior data make OLP-LDA better.", _larger_prior),
        expected(
            "at ε = 3 OnlineLocalLDA is better than OLP-LDA at every size (completion perplexity).",
            lambda results: [
                Check.below(
                    f"{name}, {size:,} prior documents: OnlineLocalLDA over OLP-LDA",
                    results.ratio(
                        "completion",
                        {"dataset": name, "prior": size, "method": OURS},
                        {"dataset": name, "prior": size, "method": OLP},
                    ),
                    1.0,
                )
                for name in results.levels("dataset")
                for size in results.levels("prior", dataset=name)
                if size is not None
            ],
        ),
    ),
    tuple(
        Table(title, measure, ("dataset", "method"), "prior")
        for title, measure in (("Fold-in perplexity", "perplexity"), ("Completion perplexity", "completion"))
    ),
    Plot(
        "Perplexity against prior data, ε = 3 (Figure 9 of Zhao et al. 2021)",
        x="prior",
        y="perplexity",
        lines="method",
        panels="dataset",
        x_label="documents of prior data",
        y_label="perplexity (fold-in)",
    ),
    "ε = 3 (f = 0.0949), and batch CGS without noise as the dashed line, with 300 sweeps.",
)

FIGURE_10 = _experiment(
    "figure10",
    "Perplexity of OLP-LDA against the size of batches",
    Grid("zhao2021-figure10", 1, _settings_10, _cell_last, MEASURES, repetitions=3),
    (
        Finding(
            "without prior data OLP-LDA's perplexity is much larger than with them.",
            _over(BARE, OLP, "without prior over with it", bound=MUCH_LARGER, above=True),
        ),
        Finding(
            "with prior data OLP-LDA is very close to the non-private O-LDA.",
            _over(OLP, O_LDA, "OLP-LDA over O-LDA", bound=CLOSE),
        ),
        Finding("larger batches make O-LDA, and OLP-LDA without prior, better.", _falls_10),
    ),
    tuple(
        Table(title, measure, ("dataset", "method"), "batch")
        for title, measure in (("Fold-in perplexity", "perplexity"), ("Completion perplexity", "completion"))
    ),
    Plot(
        "Perplexity against the size of batches, ε = 3 (Figure 10 of Zhao et al. 2021)",
        x="batch",
        y="perplexity",
        lines="method",
        panels="dataset",
        x_label="documents in a batch",
        y_label="perplexity (fold-in)",
    ),
    "ε = 3 as in Figure 9; the paper does not say which. Without prior data the first batch is reconstructed by "
    "moments (eq. 8), later ones with the mean of eq. (21).",
)
