"""Figure 7 of Zhao et al. 2021: the membership attack on an LDA-based classifier, against ε."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from discreet._types import IntArray
from discreet.attacks.membership.classifier import attack_classifier
from discreet.corpus import Corpus
from discreet.experiments.compare import against_epsilon, epsilons_of
from discreet.experiments.data import as_public, each_word_once, whole
from discreet.experiments.experiment import Experiment, Finding, Grid, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.papers.zhao2021.figure5 import SOURCE
from discreet.experiments.papers.zhao2021.local import CDP, EPSILONS, LP, PLAIN, model_of

PAIRS = 10
CLOSE = 0.05
"""How far below the non-private accuracy we read “approach”."""


def _settings(quick: bool) -> list[Setting]:
    size: Setting = {"dataset": "novels", "n_words": 1000, "n_topics": 50, "sweeps": 300, "n_shadows": 4}
    size |= {"alpha": 1.0, "n_fragments": 200}
    epsilons: tuple[float, ...] = EPSILONS
    if quick:
        size |= {"n_words": 100, "n_topics": 5, "sweeps": 5, "n_shadows": 1, "n_fragments": 24}
        epsilons = (1.0, 7.6)
    found = [{**size, "method": method, "epsilon": e} for e in epsilons for method in (LP, CDP)]
    return [{**size, "method": PLAIN, "epsilon": None}, *found]


@cache
def author_pairs() -> tuple[tuple[str, str], ...]:
    """The twenty authors with the most fragments, in order of their names, two by two."""
    labels = whole("novels").labels
    assert labels is not None
    counted = Counter(map(str, labels.tolist()))
    authors = sorted(sorted(counted, key=lambda name: (-counted[name], name))[: 2 * PAIRS])
    return tuple(zip(authors[::2], authors[1::2], strict=True))


@cache
def pair_documents(pair: int, n_words: int, n_fragments: int) -> tuple[Corpus, IntArray]:
    """As many fragments of each of the two, over their most frequent words; labels 0 and 1."""
    corpus, (one, other) = whole("novels"), author_pairs()[pair]
    labels = np.asarray(corpus.labels).astype(str)
    of = [np.flatnonzero(labels == name) for name in (one, other)]
    n = min(n_fragments, *map(len, of))
    chosen = np.concatenate([np.random.default_rng(pair).permutation(part)[:n] for part in of])
    return each_word_once(as_public(corpus[chosen].most_frequent(n_words))), np.repeat([0, 1], n)


def _cell(setting: Setting, pair: int) -> Iterator[Point]:
    documents, labels = pair_documents(pair % PAIRS, setting["n_words"], setting["n_fragments"])
    found = attack_classifier(
        lambda train, seed: model_of(setting, seed).fit(train),
        documents,
        labels,
        n_shadows=setting["n_shadows"],
        seed=pair,
    )
    yield {"attack": found.attack, "accuracy": found.accuracy, "f1": found.f1}


# --- findings ---------------------------------------------------------------------------------------------------------


def _below_plain(results: Results) -> Iterator[Check]:
    for epsilon in epsilons_of(results):
        for method in (LP, CDP):
            one, other = {"method": method, "epsilon": epsilon}, {"method": PLAIN, "epsilon": None}
            found = results.difference("attack", one, other)
            yield Check.below(f"{method}, ε = {epsilon:g}: attack accuracy minus that on non-private", found, 0.0)


def _rises(*measures: str) -> Callable[[Results], Iterator[Check]]:
    def judge(results: Results) -> Iterator[Check]:
        low, high = min(epsilons_of(results)), max(epsilons_of(results))
        for measure in measures:
            for method in (LP, CDP):
                place = {"method": method}
                found = results.difference(measure, {**place, "epsilon": high}, {**place, "epsilon": low})
                yield Check.above(f"{method}: {measure} at ε = {high:g} minus that at {low:g}", found, 0.0)

    return judge


def _better(results: Results) -> Iterator[Check]:
    high = max(epsilons_of(results))
    for measure in ("accuracy", "f1"):
        place = {"epsilon": high}
        found = results.difference(measure, {**place, "method": LP}, {**place, "method": CDP})
        yield Check.above(f"ε = {high:g}: {measure} of LP-LDA minus that of CDP-LDA", found, 0.0)


def _approaches(results: Results) -> Iterator[Check]:
    high = max(epsilons_of(results))
    found = results.difference("accuracy", {"method": LP, "epsilon": high}, {"method": PLAIN, "epsilon": None})
    yield Check.above(f"ε = {high:g}: accuracy of LP-LDA minus that without noise", found, -CLOSE)


def _leaks(results: Results) -> Iterator[Check]:
    yield Check.above("attack accuracy on non-private", results.interval("attack", method=PLAIN, epsilon=None), 0.5)


FIGURE_7 = Experiment(
    paper="zhao2021",
    figure="figure7",
    title="Zhao et al. 2021, Figure 7: the membership attack on an LDA-based classifier",
    source=SOURCE,
    grid=Grid("zhao2021-members", 1, _settings, _cell, measures=("attack", "accuracy", "f1"), repetitions=PAIRS),
    findings=(
        Finding("the attack is below that on the non-private model for LP-LDA and CDP-LDA.", _below_plain),
        Finding("attack accuracy rises with ε.", _rises("attack")),
        Finding("accuracy and F1 of the classifier rise with ε.", _rises("accuracy", "f1")),
        Finding("with much ε the classifier of LP-LDA is better than that of CDP-LDA.", _better),
        Finding("with much ε LP-LDA even approaches training without noise.", _approaches),
        Finding("the attack finds something at all without noise.", _leaks, said_by="expected"),
    ),
    tables=(
        Table("Attack accuracy (0.5 is guessing)", "attack", ("method",), "epsilon"),
        Table("Accuracy of the classifier on held-out documents", "accuracy", ("method",), "epsilon"),
        Table("Its F1 score, mean of both labels", "f1", ("method",), "epsilon"),
    ),
    plots=tuple(
        against_epsilon(title, measure, "ε (of one bit for LP-LDA)", title.lower())
        for measure, title in (("attack", "Attack accuracy"), ("accuracy", "Accuracy"), ("f1", "F1 score"))
    ),
    notes=(
        "`novels` stands in for FVENA: other English novels, 1,000-word fragments, at most 200 of each author. The "
        "paper has one pair of authors, 900 documents each. Here intervals are over ten fixed pairs: the twenty "
        "authors with the most fragments, in order of their names, two by two. Repetition i is pair i.",
        "A quarter of the fragments trains the target, a quarter is its test set; each of four shadows is trained on a "
        "random half of the rest. Classifier: logistic regression on fold-in topic proportions. Attack: logistic "
        "regression per label on the log-odds of the true label and their square. The paper gives no details.",
        "K = 50, α = 1, β = 0.01, 300 sweeps, the pair's 1,000 most frequent words, documents as sets of words.",
        f"We read *approaches* as an accuracy less than {CLOSE} below.",
    ),
)
