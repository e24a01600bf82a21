"""Do rare words explain what the published attack finds on 20 Newsgroups and ours, over frequent words, does not?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from discreet.attacks.membership.bank import Plan
from discreet.corpus import Corpus
from discreet.experiments.compare import expected
from discreet.experiments.data import whole
from discreet.experiments.experiment import Experiment, Grid, Point, Results, Setting
from discreet.experiments.intervals import Check, Interval
from discreet.experiments.own.attack import FEWER, NEAR, PLAIN, PUBLISHED, SCIKIT, THEIRS, recipe_of
from discreet.experiments.own.membership import HOW, TABLES, bank_of, each, finding, interval_of, measured, plot

FREQUENT, ALL = 10_000, None

SMALL: Setting = {"dataset": "20newsgroups", "n_topics": 3, "every": 200, "shadows": 12}
NEWS: Setting = {"dataset": "20newsgroups", "n_topics": 10, "every": 1, "shadows": FEWER}


def _settings(quick: bool) -> list[Setting]:
    if quick:
        return [_setting(SMALL, PLAIN, n_words, effort=4) for n_words in (200, ALL)]
    return [_setting(NEWS, method, n_words) for method in (PLAIN, SCIKIT) for n_words in (FREQUENT, ALL)]


def _setting(common: Setting, method: str, n_words: int | None, *, effort: int | None = None) -> Setting:
    kept = _words_kept(n_words)
    line = f"{method}, {kept}"
    more = {"method": method, "epsilon": None, "words": "public", "effort": effort, "line": line}
    return {**common, "n_words": n_words, "kept": kept, **more}


def _words_kept(n_words: int | None) -> str:
    return "all words" if n_words is None else f"{n_words:,} words"


@cache
def _documents(name: str, every: int, n_words: int | None) -> Corpus:
    corpus = whole(name)[::every]
    return corpus if n_words is None else corpus.most_frequent(n_words)


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    documents = _documents(setting["dataset"], setting["every"], setting["n_words"])
    bank = bank_of(documents, Plan(recipe_of(setting), seed=seed), setting["shadows"], kept=setting["effort"] is None)
    yield from measured(bank, None)


# --- findings ---------------------------------------------------------------------------------------------------------


def _found(results: Results, method: str, kept: str) -> Interval:
    """Empty where it was not run, which leaves a finding undecided."""
    place = next((place for _, place in each(results, method=method, kept=kept)), None)
    found = None if place is None else interval_of(results, {**place, "kept": kept})
    return found or Interval.of([])


def _more(results: Results) -> Iterator[Check]:
    few, every = _words_kept(FREQUENT), _words_kept(ALL)
    for method in (PLAIN, SCIKIT):
        below, above = _found(results, method, few), _found(results, method, every)
        yield Check.above(f"{method}: {every}, against {few}", above, below.high)


def _as_published(results: Results) -> Iterator[Check]:
    """With all words, as theirs."""
    wanted, kept = PUBLISHED["20newsgroups", 10], _words_kept(ALL)
    yield Check.between(f"{SCIKIT}, {kept}", _found(results, SCIKIT, kept), wanted - NEAR, wanted + NEAR)


ATTACK_WORDS = Experiment(
    paper="private",
    figure="attack-words",
    title="Membership attacks on 20 Newsgroups: what rare words give away",
    source=f"Our own, with the published figure of {THEIRS} (TMLR)",
    grid=Grid("private-attack-words", 1, _settings, _cell, measures=("value", "tpr"), repetitions=1),
    findings=(
        finding("LiRA recognises 21.1% of 20 Newsgroups at 0.1% false positives.", _as_published, THEIRS),
        expected("with all words the attack finds more members than with the 10,000 most frequent ones.", _more),
    ),
    tables=tuple(replace(table, rows=(*table.rows, "kept")) for table in TABLES),
    plots=(plot("Online LiRA", lambda row: True),),
    notes=(
        *HOW,
        "20 Newsgroups: all 18,846 posts without headers, quotes and signatures; 89,293 words of three letters or "
        "more, or the 10,000 most frequent of them. K = 10, 32 shadows. scikit-learn's LDA has its defaults; LDA: "
        "sampled, 200 sweeps.",
        f"{THEIRS} have 128 shadows, and text that they have cleaned; their code keeps every word of it (a "
        "`CountVectorizer` with its defaults).",
    ),
)
