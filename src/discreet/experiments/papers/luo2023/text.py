"""Figures 5 and 6 and Tables 5 and 6 of Luo et al. 2023: perplexity, prediction of the collection, and coherence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from discreet.experiments.compare import expected
from discreet.experiments.experiment import Experiment, Finding, Plot, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.luo2023.documents import ABSTRACTS, SOURCE
from discreet.experiments.papers.luo2023.models import (
    CC_LBLA,
    CC_LBLA_PUBLISHED,
    CC_LDA,
    CC_LDA_PUBLISHED,
    CROSS,
    LDA,
    MAJORITY,
    NAIVE_BAYES,
    SAME_WEIGHTS,
)
from discreet.experiments.papers.luo2023.runs import BESIDE, GRID, NOTES, SHOWN

COMPARABLE = (0.95, 1.05)
"""Ratios of perplexities."""
MUCH_BETTER = 0.05
"""Of accuracies: a difference. The smallest of Table 5 is 0.14."""
SAME = 0.02
"""An accuracy that falls by less than this does not drop."""

ROWS = ("documents", "method")


def experiment(figure: str, title: str, *notes: str, **shown: Any) -> Experiment:
    """One that shows the runs on text."""
    return Experiment("luo2023", figure, title, SOURCE, GRID, notes=(*NOTES, *notes), **shown)


def against_topics(title: str, y: str, y_label: str, methods: Iterable[str]) -> Plot:
    shown = set(methods)
    label = "number of topics K"
    return Plot(title, "n_topics", y, "method", "documents", label, y_label, show=lambda row: row["method"] in shown)


def places(results: Results, few: int = 0) -> Iterator[tuple[str, Setting]]:
    """Each set of documents at each number of topics from ``few`` on: in words, and as a place in the results."""
    for documents in results.levels("documents"):
        for k in _numbers(results):
            if k >= few:
                yield f"{documents}, K = {k}", {"documents": documents, "n_topics": k}


def _numbers(results: Results) -> list[int]:
    return sorted(k for k in results.levels("n_topics") if k is not None)


def shown_topics(results: Results) -> int:
    """The number of topics of the examples."""
    return int(results.levels("shown")[0]) if results.rows else SHOWN


# --- Figure 5 ---------------------------------------------------------------------------------------------------------


def _lower(measure: str, ones: Iterable[str], other: str, *, few: bool = True) -> Callable[[Results], Iterator[Check]]:
    """The ratio of perplexities is below 1, also with ``few`` topics or only from those of the examples on."""

    def judge(results: Results) -> Iterator[Check]:
        for where, place in places(results, 0 if few else shown_topics(results)):
            for one in ones:
                found = results.ratio(measure, {**place, "method": one}, {**place, "method": other})
                yield Check.below(f"{where}: {one} over {other}", found, 1.0)

    return judge


def _comparable(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        place = {"documents": documents, "n_topics": _numbers(results)[0]}
        found = results.ratio("perplexity", {**place, "method": CC_LBLA}, {**place, "method": CC_LDA})
        yield Check.between(f"{documents}, K = {place['n_topics']}: {CC_LBLA} over {CC_LDA}", found, *COMPARABLE)


FIGURE_5 = experiment(
    "figure5",
    "Perplexity against the number of topics: LDA, ccLDA and ccLBLA",
    f"“Comparable” is read as a ratio of {COMPARABLE[0]} to {COMPARABLE[1]} at the smallest K, “as the number of "
    f"topics increases” as K = {SHOWN} and more.",
    "Perplexity as printed, eq. (21), is neither per word nor logarithmic: this is the usual one, with the likelihood "
    "of eq. (22). Fold-in, the paper's way, scores the words that the proportions were fitted to, and prefers models "
    "whose proportions can bend further; by completion half of a document is scored given the other half.",
    findings=(
        Finding(
            "cross-collection topic models generally achieve a lower perplexity than LDA.",
            _lower("perplexity", (CC_LDA, CC_LBLA), LDA),
            often=True,
        ),
        Finding("ccLBLA and ccLDA have comparable performance when the number of topics is small.", _comparable),
        Finding(
            "ccLBLA achieves lower perplexity than ccLDA as the number of topics increases.",
            _lower("perplexity", (CC_LBLA,), CC_LDA, few=False),
        ),
        expected(
            "if that is so, it is so by completion too.",
            _lower("completion", (CC_LBLA,), CC_LDA, few=False),
        ),
        Finding(
            "the main reason for the improvement is the Beta-Liouville distribution (read as: also with the weights of "
            "ccLDA, ccLBLA has a lower perplexity than ccLDA).",
            _lower("perplexity", (SAME_WEIGHTS,), CC_LDA, few=False),
        ),
    ),
    tables=(
        Table("Perplexity as the paper measures it (fold-in)", "perplexity", ROWS, "n_topics"),
        Table("Completion perplexity", "completion", ROWS, "n_topics"),
    ),
    plots=(
        against_topics("Perplexity (Figure 5 of Luo et al. 2023)", "perplexity", "perplexity (fold-in)", (LDA, *CROSS)),
        against_topics("The same by document completion", "completion", "completion perplexity", (LDA, *CROSS)),
    ),
)


# --- Table 5 and Figure 6 ---------------------------------------------------------------------------------------------


def as_published(measure: str) -> Callable[[Results], Iterator[Check]]:
    """The same comparison of ccLBLA and ccLDA, both by the paper's own sampler."""
    return minus(measure, CC_LBLA_PUBLISHED, CC_LDA_PUBLISHED, 0.0, only=ABSTRACTS)


def minus(measure: str, one: str, other: str, bound: float, *, only: str = "") -> Callable[[Results], Iterator[Check]]:
    """With the topics of the examples, one method's measure less another's is above a bound. What has no topics, such
    as the majority class, has no number of them."""

    def judge(results: Results) -> Iterator[Check]:
        for documents in [only] if only else results.levels("documents"):
            place = {"documents": documents, "method": one, "n_topics": shown_topics(results)}
            base = {**place, "method": other, "n_topics": None if other in BESIDE else place["n_topics"]}
            found = results.difference(measure, place, base)
            yield Check.above(f"{documents}, K = {place['n_topics']}: {one} minus {other}", found, bound)

    return judge


def _drop(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        few, many = _numbers(results)[0], _numbers(results)[-1]
        for method in (CC_LBLA, CC_LDA):
            place = {"documents": documents, "method": method}
            found = results.difference("accuracy_prior", {**place, "n_topics": many}, {**place, "n_topics": few})
            what = f"{documents}, {method}: accuracy at K = {many} minus at K = {few}"
            stays = method == CC_LBLA
            yield Check.above(what, found, -SAME) if stays else Check.below(what, found, -SAME)


ACCURACIES = (
    Table("Accuracy by eq. (23), with P(c): shares of the training documents", "accuracy_prior", ROWS, "n_topics"),
    Table("Accuracy by eq. (24), without P(c)", "accuracy", ROWS, "n_topics"),
)
ACCURACY_NOTES = (
    "Predicted is the collection with the largest P(c)·p(words | c). The evidence p(words | c) has the document's "
    "proportions integrated out, estimated from left to right by particles. The paper fits proportions to the document "
    "and scores the same words under them.",
    "The majority class and multinomial naive Bayes on the same counts stand beside (no K). Table 5's 0.40 for ccLDA "
    "on two collections is less than a coin reaches.",
)
ACCURACY_PLOT = against_topics(
    "Accuracy (Figure 6 of Luo et al. 2023)",
    "accuracy_prior",
    "accuracy, eq. (23)",
    (*CROSS, *BESIDE),
)

TABLE_5 = experiment(
    "table5",
    "Which collection a document is from: ccLDA and ccLBLA",
    *ACCURACY_NOTES,
    f"The paper does not say at which K Table 5 was made; judged at K = {SHOWN}. “Much better” is read as "
    f"{MUCH_BETTER} more.",
    findings=(
        Finding(
            "ccLBLA is much better than ccLDA (0.59 against 0.40, 0.91 against 0.76 on academic papers, 0.81 against "
            "0.67, 0.63 against 0.45).",
            minus("accuracy_prior", CC_LBLA, CC_LDA, MUCH_BETTER),
        ),
        expected("ccLDA is better than the majority class.", minus("accuracy_prior", CC_LDA, MAJORITY, 0.0)),
        expected("ccLBLA is better than the majority class.", minus("accuracy_prior", CC_LBLA, MAJORITY, 0.0)),
        expected("ccLBLA is better than naive Bayes.", minus("accuracy_prior", CC_LBLA, NAIVE_BAYES, 0.0)),
        expected("without P(c), ccLBLA is better than ccLDA.", minus("accuracy", CC_LBLA, CC_LDA, 0.0)),
        expected(
            "with the weights of ccLDA, ccLBLA is better than ccLDA.",
            minus("accuracy_prior", SAME_WEIGHTS, CC_LDA, 0.0),
        ),
        expected("by the sampler as published, ccLBLA is better than ccLDA.", as_published("accuracy_prior")),
    ),
    tables=ACCURACIES,
    plots=(ACCURACY_PLOT,),
)

FIGURE_6 = experiment(
    "figure6",
    "Which collection a document is from, against the number of topics",
    *ACCURACY_NOTES,
    f"To drop is read as: by more than {SAME}.",
    findings=(
        Finding("ccLBLA's accuracy does not drop like that of ccLDA with increasing number of topics.", _drop),
        Finding(
            "ccLBLA has a better ability to separate collection-common and collection-specific words (read as: its "
            "accuracy is higher).",
            minus("accuracy_prior", CC_LBLA, CC_LDA, 0.0),
        ),
    ),
    tables=ACCURACIES,
    plots=(ACCURACY_PLOT,),
)


# --- Table 6 ----------------------------------------------------------------------------------------------------------


TABLE_6 = experiment(
    "table6",
    "Mixed topic coherence of ccLDA and ccLBLA",
    "C_V of the union of a topic's ten best common words and the ten best words of each collection, mean over topics. "
    "Meetings of words are counted in the training documents. The paper has Palmetto count them in an external corpus, "
    "so its numbers are on another scale.",
    f"The paper does not say how many topics it had; judged at K = {SHOWN}.",
    findings=(
        Finding(
            "ccLBLA obtains slightly higher topic coherence than ccLDA (0.4211 against 0.3886 on academic papers).",
            minus("coherence", CC_LBLA, CC_LDA, 0.0),
        ),
        expected(
            "with the weights of ccLDA, ccLBLA is more coherent than ccLDA.",
            minus("coherence", SAME_WEIGHTS, CC_LDA, 0.0),
        ),
        expected("by the sampler as published, ccLBLA is more coherent than ccLDA.", as_published("coherence")),
    ),
    tables=(Table("Mixed topic coherence (C_V)", "coherence", ROWS, "n_topics"),),
    plots=(against_topics("Coherence (Table 6 of Luo et al. 2023)", "coherence", "C_V", CROSS),),
)
