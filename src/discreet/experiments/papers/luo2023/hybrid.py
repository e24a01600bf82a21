"""Figure 10 of Luo et al. 2023, private forms of ccLBLA against ε, and the topic samples that section 4.4 announces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet._types import AnyArray
from discreet.corpus import Corpus
from discreet.evaluation import completion_perplexity, match_topics
from discreet.experiments.compare import against_epsilon, at_each_epsilon, epsilons_of, expected
from discreet.experiments.data import JUDGED, Split, as_public, unigram
from discreet.experiments.experiment import Experiment, Finding, Grid, Point, Results, Setting, Table
from discreet.experiments.intervals import Check
from discreet.experiments.methods import quietly
from discreet.experiments.papers.luo2023.documents import ABSTRACTS, MAILS, SOURCE, STAND_INS, fold, size
from discreet.experiments.papers.luo2023.measures import best_words, perplexities

EPSILONS = (1.0, 3.0, 10.0)
DELTA = 1e-6
INHERENT, CLIP = 10.0, 40.0
"""ε_I of one sweep, as in the paper; C as in its public code."""
LARGER = CLIP / math.expm1(INHERENT / 2)
"""The larger λ: the one with which this C costs this ε_I, by eq. (20)."""

HYBRID, SOUND, PLUS = "HPP-ccLBLA as published", "HybridCrossLBLA, sound", "CDP-ccLBLA+"
LIMITED, PLAIN, OTHER_SEED = "limited inherent", "non-private", "non-private, another seed"

N_TOPICS, SWEEPS, N_EXAMPLES = 30, 100, 3

WORD_PRIORS = ("beta", "beta_rest", "beta_collection", "beta_collection_rest")


def _settings(quick: bool) -> list[Setting]:
    """Zhao et al. 2021, whose experiment this repeats, keep the 1,000 most frequent words."""
    if quick:
        small = {**size(ABSTRACTS, n_documents=200, n_words=100), "n_topics": 4, "sweeps": 4}
        return _methods(small, (1.0, 10.0))
    common = {"n_topics": N_TOPICS, "sweeps": SWEEPS}
    each = [_methods({**size(documents, n_words=1000), **common}, EPSILONS) for documents in (ABSTRACTS, MAILS)]
    return [setting for settings in each for setting in settings]


def _methods(common: Setting, epsilons: tuple[float, ...]) -> list[Setting]:
    found: list[Setting] = [{**common, "method": m, "epsilon": e} for m in (HYBRID, PLUS, SOUND) for e in epsilons]
    return found + [{**common, "method": method, "epsilon": None} for method in (LIMITED, PLAIN)]


def _cell(setting: Setting, seed: int) -> Iterator[Point]:
    split = _documents(setting, seed)
    model = quietly(model_of(setting, split.train.n_words, seed).fit, split.train)
    base = completion_perplexity(unigram(split.train), split.test, alpha=1.0)
    point = perplexities(model, split.test)
    point["over_unigram"] = point["completion"] / base
    if setting["method"] == SOUND:
        point["proven"] = _proven(setting)
    yield point


def _documents(setting: Setting, seed: int) -> Split:
    """Under the assumption of the paper that the list of words is public."""
    return Split(*map(as_public, fold(setting, seed)))


def model_of(setting: Setting, n_words: int, seed: int) -> Any:
    """With the document priors of the paper's public code."""
    from discreet.models.cross.hybrid import HybridCrossLBLA
    from discreet.models.cross.laplace import LaplaceCrossLBLA
    from discreet.models.cross.lbla import CrossLBLA

    k, method, epsilon = setting["n_topics"], setting["method"], setting["epsilon"]
    run: dict[str, Any] = {"n_sweeps": setting["sweeps"], "random_state": seed}
    plain = CrossLBLA.public_code_settings(k, n_words, as_published=True, **run)
    if method in (PLAIN, OTHER_SEED):
        return plain
    run |= {"alpha": plain.alpha, "alpha_rest": plain.alpha_rest}
    if method == PLUS:
        words = {name: getattr(plain, name) for name in WORD_PRIORS}
        return LaplaceCrossLBLA(k, epsilon=epsilon, as_published=True, **words, **run)
    run |= {"beta": LARGER, "beta_collection": LARGER}
    parts = {"epsilon_inherent": INHERENT, "epsilon_laplace": epsilon}
    return HybridCrossLBLA(k, **parts, as_published=method != SOUND, **run)


def _proven(setting: Setting) -> float:
    """What the sound form costs in all, for one word: releases and draws of every sweep."""
    from discreet.models.hybrid.plan import HybridPlan

    sizes = {"n_topics": setting["n_topics"], "n_sweeps": setting["sweeps"]}
    return HybridPlan.make(None, DELTA, setting["epsilon"], INHERENT, **sizes).epsilon


def _over(what: str, one: str, other: str) -> Callable[[Results], Iterator[Check]]:
    """The ratio of two methods' perplexities at each ε is below 1."""

    def judge(results: Results) -> Iterator[Check]:
        for where, place in at_each_epsilon(results, "documents"):
            found = results.ratio("perplexity", {**place, "method": one}, {**place, "method": other})
            yield Check.below(f"{where}: {what}", found, 1.0)

    return judge


def _degrades(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        place = {"documents": documents, "epsilon": None}
        found = results.ratio("perplexity", {**place, "method": LIMITED}, {**place, "method": PLAIN})
        yield Check.above(f"{documents}: limited inherent over non-private", found, 1.0)


def _falls(results: Results) -> Iterator[Check]:
    for documents in results.levels("documents"):
        low, high = (end(epsilons_of(results, documents=documents)) for end in (min, max))
        for method in (HYBRID, PLUS):
            place = {"documents": documents, "method": method}
            found = results.ratio("perplexity", {**place, "epsilon": high}, {**place, "epsilon": low})
            yield Check.below(f"{documents}, {method}: perplexity at ε = {high:g} over that at {low:g}", found, 1.0)


def _finds_topics(results: Results) -> Iterator[Check]:
    for where, place in at_each_epsilon(results, "documents"):
        found = results.interval("over_unigram", **place, method=HYBRID)
        yield Check.below(f"{where}: HPP-ccLBLA over the unigram model", found, 1.0)


NOTES = (
    *STAND_INS,
    "The 1,000 most frequent words, taken as public (as Zhao et al. 2021 do, whose experiment this repeats), K = "
    f"{N_TOPICS}, {SWEEPS} sweeps, ε_I = 10 in each sweep. Repetitions are folds of a cross-validation; the paper does "
    "not say how many it had.",
    "The paper gives neither C nor the larger λ. Its public code has C = 40, with which eq. (20) makes ε_I = 10 if λ "
    f"= {LARGER:.3f}: that is the larger λ of HPP, its sound form and limited inherent. All other priors are those of "
    "the public code. Non-private is the paper's sequential sampler.",
    "An ε here is that of the Laplace noise of one sweep for one word. Over all sweeps, and with the draws, nothing is "
    "protected by any accounting: see the last table of Figure 10.",
)

TABLES = {
    "Perplexity as the paper measures it (fold-in)": "perplexity",
    "Completion perplexity": "completion",
    "The same over the unigram model's: from 1 on, no topics were found": "over_unigram",
    "What the sound form costs in all: ε for one word at δ = 1e-6, releases and draws together": "proven",
}

FIGURE_10 = Experiment(
    paper="luo2023",
    figure="figure10",
    title="Perplexity against ε: HPP-ccLBLA, CDP-ccLBLA+, limited inherent privacy and non-private",
    source=SOURCE,
    grid=Grid("luo2023-figure10", 1, _settings, _cell, measures=(*JUDGED, "proven"), repetitions=3),
    findings=(
        Finding("Limited Inherent has a utility degradation compared with Non-Privacy.", _degrades),
        Finding("the utility of HPP-ccLBLA outperforms CDP-ccLBLA+.", _over("HPP over CDP+", HYBRID, PLUS)),
        Finding("(by its figure) perplexity falls as ε grows.", _falls),
        expected(
            "fresh noise on exact counts (the sound form) is better than noise in the token loop (as published).",
            _over("sound over published", SOUND, HYBRID),
        ),
        expected("HPP-ccLBLA is better than the unigram model (completion perplexity).", _finds_topics),
    ),
    tables=tuple(Table(title, measure, ("documents", "method"), "epsilon") for title, measure in TABLES.items()),
    plots=(
        against_epsilon(
            "Perplexity against ε (Figure 10 of Luo et al. 2023)",
            "perplexity",
            "ε of the Laplace noise in one sweep",
            "perplexity (fold-in)",
            "documents",
        ),
    ),
    notes=NOTES,
)


# --- section 4.4: topic samples ---------------------------------------------------------------------------------------


def _sample_settings(quick: bool) -> list[Setting]:
    """Of abstracts, at both ends of the ε."""
    ends = (min(EPSILONS), max(EPSILONS), None)
    settings = [s for s in _settings(quick) if s["documents"] == ABSTRACTS and s["epsilon"] in ends]
    taken = {HYBRID: HYBRID, SOUND: SOUND, PLAIN: OTHER_SEED}
    found = [{**s, "method": taken[s["method"]]} for s in settings if s["method"] in taken]
    return sorted(found, key=lambda setting: setting["epsilon"] is not None)


def _sample_cell(setting: Setting, seed: int) -> Iterator[Point]:
    """The common topics of a model, each beside the nearest one of the non-private model of the same seed."""
    split = _documents(setting, seed)
    plain = model_of({**setting, "method": PLAIN}, split.train.n_words, seed).fit(split.train)
    model = model_of(setting, split.train.n_words, seed + 1000 if setting["method"] == OTHER_SEED else seed)
    quietly(model.fit, split.train)
    matching = match_topics(plain.components_, model.components_)
    best = [set(best_words(topic).tolist()) for topic in plain.components_]
    partners = [best_words(topic) for topic in model.components_[matching.order]]
    shared = [len(words & set(partner.tolist())) for words, partner in zip(best, partners, strict=True)]
    yield {"distance": matching.mean, "shared_words": float(np.mean(shared))}
    if seed == 0:
        shown = np.random.default_rng(0).permutation(setting["n_topics"])[:N_EXAMPLES].tolist()
        if setting["method"] == OTHER_SEED:
            for topic in shown:
                words = _text(split.train, best_words(plain.components_[topic]))
                yield {"method": PLAIN, "topic": topic, "best_words": words, "topic_distance": 0.0}
        for topic in shown:
            words, distance = _text(split.train, partners[topic]), float(matching.distances[topic])
            yield {"topic": topic, "best_words": words, "topic_distance": distance}


def _text(corpus: Corpus, words: AnyArray) -> str:
    return " ".join(corpus.vocabulary[word] for word in words)


def _farther(one: str) -> Callable[[Results], Iterator[Check]]:
    def judge(results: Results) -> Iterator[Check]:
        for where, place in at_each_epsilon(results, "documents"):
            other = {**place, "method": OTHER_SEED, "epsilon": None}
            found = results.difference("shared_words", {**place, "method": one}, other)
            yield Check.above(f"{where}: shared words of {one} minus those of another seed", found, -1.0)

    return judge


SECTION_4_4 = Experiment(
    paper="luo2023",
    figure="section4.4",
    title="Topic samples of HPP-ccLBLA beside non-private ones",
    source=SOURCE,
    grid=Grid(
        "luo2023-samples",
        1,
        _sample_settings,
        _sample_cell,
        measures=("distance", "shared_words", "topic_distance"),
        repetitions=3,
    ),
    findings=(
        expected(
            "HPP-ccLBLA finds about the topics of the non-private model: of the ten best words of a topic, it shares "
            "at most one less than another seed does.",
            _farther(HYBRID),
        ),
        expected("the sound form does so.", _farther(SOUND)),
    ),
    tables=(
        Table(
            "Of the ten best words of a topic, those that its partner has too",
            "shared_words",
            ("documents", "method"),
            "epsilon",
        ),
        Table(
            "Mean ℓ1 distance of matched common topics (0: equal, 2: no word in common)",
            "distance",
            ("documents", "method"),
            "epsilon",
        ),
        Table(
            "Ten best common words of three topics drawn at random (first fold), and of their partners",
            "topic_distance",
            ("documents", "topic", "method", "best_words"),
            "epsilon",
        ),
    ),
    plots=(
        against_epsilon(
            "Words shared with non-private topics",
            "shared_words",
            "ε of the Laplace noise in one sweep",
            "of ten",
            "documents",
        ),
    ),
    notes=(
        *NOTES,
        "Section 4.4 says that topic samples of HPP-ccLBLA and of the non-private model will be compared; the paper "
        "does not show them. Topics are matched so that the sum of distances is least. The bound, one word, was chosen "
        "before these runs.",
    ),
)
