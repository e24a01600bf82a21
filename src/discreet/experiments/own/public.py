"""What public text gives to private topics: in small corpora, for users, and where it is far away.

No paper has published this table; it is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from discreet._types import FloatArray
from discreet.corpus import Corpus
from discreet.evaluation import completion_perplexity
from discreet.experiments.compare import expected
from discreet.experiments.data import Split, unigram
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Point, Results, Setting, Table
from discreet.experiments.intervals import Check, Interval
from discreet.experiments.methods import quietly
from discreet.experiments.own.public_text import OWN_WORDS, PUBLIC_WORDS, documents_of, pair

DELTA = 1e-6
FREQUENCIES, PLAIN, PUBLIC_ONLY = "word frequencies", "LDA", "public text only"
PRIVATE, ANCHORED, ADAPTED = "PrivateLDA", "PrivateLDA, public", "AdaptedLDA"
ONE_TOPIC = "PrivateLDA, one topic"
"""Word frequencies, released with the whole budget."""
NEAR = "neurips-cvpr"

PUBLIC_TOPICS = 200
"""Topics of public text that are adapted; also those of `PUBLIC_ONLY` where few documents are private."""
MORE_TOPICS = 400
"""The default of AdaptedLDA."""

FEW = {3_000: 960.0, 10_000: 885.0}
"""Documents, and the largest perplexity of AdaptedLDA at ε = 1 with NEAR: the aim."""

KEPT = {  # private set, public set, documents: the least share kept of what plain LDA gains over word frequencies
    ("arxiv", NEAR, 10_000): 0.92,
    ("arxiv", NEAR, 3_000): 0.85,
    ("enron", "20newsgroups", 10_000): 0.60,
    ("enron", "20newsgroups", 3_000): 0.35,
    ("20newsgroups", "arxiv", 10_000): 0.60,
    ("20newsgroups", "arxiv", 3_000): 0.35,
}
SHORT = "arxiv-titles"
TOKENS = {SHORT: 5.5}
"""Tokens of a usual document, where the plan must be told them: other texts are as long as an abstract, or longer."""

USERS = {34_000: 880.0, 19_000: 910.0, 8_000: 960.0}
"""Users, and the largest perplexity at ε = 1 with NEAR: the aim."""

REPETITIONS, MORE_REPETITIONS = 5, 20
"""More for the noisiest runs, of the fewest documents without public text: they take seconds."""

NOISE = 0.01
"""Two ways that come to the same differ by the noise of their runs: a ratio up to 1.01 is *not worse*."""

HARM = (("arxiv", "20newsgroups"), ("enron", "novels"))
"""Pairs whose public text is of another kind."""


def _settings(quick: bool) -> list[Setting]:
    if quick:
        small = size("neurips-cvpr", "docstrings", 100, OWN_WORDS, 400)
        return list(compared({**small, "rounds": 5, "sweeps": 10}, 4, (8.0,), public_topics=(6, 8)))
    settings: list[Setting] = []
    for n_users in USERS:
        place = {**size("arxiv", NEAR, 2000, OWN_WORDS, None), "n_users": n_users, "n_topics": 20, "epsilon": 1.0}
        settings += [{**place, "public": None, "method": PRIVATE}, {**place, "method": ANCHORED}]
        settings += [{**place, "method": ADAPTED, "n_topics": k} for k in (PUBLIC_TOPICS, MORE_TOPICS)]
    for n_documents in (1_000, *FEW, 30_000):
        settings += compared(size("arxiv", NEAR, 2000, OWN_WORDS, n_documents), 20, (0.25, 1.0, 4.0))
    for dataset, public, n_documents in KEPT:
        if public != NEAR:
            settings += compared(pair_size(dataset, public, n_documents), 20, (1.0,))
    for dataset, public in HARM:
        settings += compared(pair_size(dataset, public, 10_000), 20, (1.0,))
    return once(settings)


def _repetitions(setting: Setting) -> int:
    noisy = setting["method"] in (PRIVATE, ONE_TOPIC) and setting["n_documents"] in (1_000, 3_000)
    return MORE_REPETITIONS if noisy else REPETITIONS


def once(settings: list[Setting]) -> list[Setting]:
    """Each setting once: plain LDA stands beside several public texts."""
    return list({tuple(sorted(setting.items(), key=str)): setting for setting in settings}.values())


def pair_size(dataset: str, public: str, n_documents: int) -> Setting:
    """Abstracts have words of their own; other sets those of the public text."""
    n_words, words = (2000, OWN_WORDS) if dataset == "arxiv" else (3000, PUBLIC_WORDS)
    return size(dataset, public, n_words, words, n_documents)


def size(dataset: str, public: str | None, n_words: int, words: str, n_documents: int | None) -> Setting:
    found: Setting = {"dataset": dataset, "public": public, "n_words": n_words, "words": words}
    return {**found, "n_documents": n_documents, "n_users": None, "rounds": None, "sweeps": 150}


def compared(
    common: Setting,
    n_topics: int,
    epsilons: Any,
    *,
    public_topics: tuple[int, ...] = (PUBLIC_TOPICS, MORE_TOPICS),
    adapted: bool = True,
) -> Iterator[Setting]:
    """Each method once, or once per ε; what reads no public text is the same beside every one over the same words."""
    alone = {**common, "public": common["public"] if common["words"] == PUBLIC_WORDS else None, "n_topics": n_topics}
    common = {**common, "n_topics": n_topics}
    yield {**alone, "method": FREQUENCIES, "epsilon": None}
    yield {**alone, "method": PLAIN, "epsilon": None}
    for k in public_topics:
        yield {**common, "method": PUBLIC_ONLY, "n_topics": k, "epsilon": None, "n_documents": None}
    for epsilon in epsilons:
        yield {**alone, "method": PRIVATE, "epsilon": epsilon}
        yield {**common, "method": ANCHORED, "epsilon": epsilon}
        if adapted:
            yield {**alone, "method": ONE_TOPIC, "n_topics": 1, "epsilon": epsilon}
            yield from ({**common, "method": ADAPTED, "n_topics": k, "epsilon": epsilon} for k in public_topics)


def cell(setting: Setting, seed: int) -> Iterator[Point]:
    split, public = documents_of(setting, seed)
    topics, alpha = _topics(setting, split, public, seed)
    yield {"perplexity": completion_perplexity(topics, split.test, alpha=alpha)}


def _topics(setting: Setting, split: Split, public: Corpus | None, seed: int) -> tuple[FloatArray, Any]:
    """Topics, and the prior that they are judged with: AdaptedLDA's own, which is released with it, or 0.1."""
    from discreet.models.private.public import smoothed

    method, k = setting["method"], setting["n_topics"]
    if method == FREQUENCIES:
        return unigram(split.train), 1.0
    if method == PUBLIC_ONLY and k == MORE_TOPICS:  # trained once: minutes
        return smoothed(_knowledge(setting).topics), 0.1
    if method in (PLAIN, PUBLIC_ONLY):
        documents = split.train if method == PLAIN else public
        assert documents is not None
        return _plain(documents, k, setting["sweeps"], seed), 0.1
    model = quietly(_model(setting, public, seed).fit, split.train)
    return model.components_, model.alpha_


def _plain(documents: Corpus, n_topics: int, n_sweeps: int, seed: int) -> FloatArray:
    from discreet.models.lda import LDA

    model = LDA(
        n_topics, alpha=0.1, beta=0.05, n_sweeps=n_sweeps, evaluate_every=0, algorithm="sampled", random_state=seed
    )
    return model.fit(documents).components_


def _knowledge(setting: Setting) -> Any:
    """The public topics of a setting, trained once for all private documents: they have a seed of their own."""
    return _public_topics(*(setting[name] for name in ("dataset", "public", "n_words", "words", "n_topics")))


@cache
def _public_topics(dataset: str, public: str, n_words: int, words: str, n_topics: int) -> Any:
    from discreet.models.knowledge import public_knowledge

    found = pair(dataset, public, n_words, words)
    return public_knowledge(found.public, found.pool.vocabulary, n_topics=n_topics)


def _model(setting: Setting, public: Corpus | None, seed: int) -> Any:
    from discreet.models.adapted.model import AdaptedLDA
    from discreet.models.private.model import PrivateLDA

    budget = {"epsilon": setting["epsilon"], "delta": DELTA, "random_state": seed}
    if setting["method"] == ADAPTED:
        return AdaptedLDA(public=_knowledge(setting), **budget)
    rounds = {} if setting["rounds"] is None else {"n_rounds": setting["rounds"]}
    return PrivateLDA(setting["n_topics"], public=public if setting["method"] == ANCHORED else None, **budget, **rounds)


# --- findings ---------------------------------------------------------------------------------------------------------


def place_of(dataset: str, n_words: int, n_documents: int | None, **more: Any) -> Setting:
    return {"dataset": dataset, "n_words": n_words, "n_documents": n_documents, "n_users": None, **more}


def _few(results: Results) -> Iterator[Check]:
    for n_documents, bound in FEW.items():
        place = place_of("arxiv", 2000, n_documents, method=ADAPTED, public=NEAR, epsilon=1.0, n_topics=PUBLIC_TOPICS)
        yield Check.below(f"{n_documents:,} documents: perplexity", results.interval("perplexity", **place), bound)


def kept(results: Results, place: Setting) -> Interval:
    """The share that a method keeps of what plain LDA gains over word frequencies, paired by repetition."""
    public = place["public"] if place["words"] == PUBLIC_WORDS else None
    alone = {**place, "public": public, "n_topics": 20, "epsilon": None}
    own = results.values("perplexity", place)
    plain = results.values("perplexity", {**alone, "method": PLAIN})
    flat = results.values("perplexity", {**alone, "method": FREQUENCIES})
    both = sorted(own.keys() & plain.keys() & flat.keys())
    return Interval.of([(flat[i] - own[i]) / (flat[i] - plain[i]) for i in both])


def _kept(results: Results) -> Iterator[Check]:
    for (dataset, public, n_documents), bound in KEPT.items():
        size = pair_size(dataset, public, n_documents)
        place = place_of(dataset, size["n_words"], n_documents, words=size["words"], public=public)
        place |= {"method": ADAPTED, "epsilon": 1.0, "n_topics": MORE_TOPICS}
        what = f"{n_documents:,} of {dataset} with {public}: share kept"
        yield Check.above(what, kept(results, place), bound)


def _users(results: Results) -> Iterator[Check]:
    """What the plan picks for so many users."""
    for n_users, bound in USERS.items():
        method = _pick(n_users, 2000, 1.0, NEAR)
        n_topics = MORE_TOPICS if method == ADAPTED else 20
        place = {"dataset": "arxiv", "n_users": n_users, "method": method, "public": NEAR, "n_topics": n_topics}
        found = results.interval("perplexity", **place)
        yield Check.below(f"{n_users:,} users, {method}: perplexity", found, bound)


def _no_worse_than_frequencies(results: Results) -> Iterator[Check]:
    """Every cell with few documents, against the same budget spent on word frequencies alone."""
    for row in _cells(results, PRIVATE):
        found = results.ratio("perplexity", row, {**row, "method": ONE_TOPIC, "n_topics": 1})
        yield Check.below(f"{_name(row)}: PrivateLDA over word frequencies at the same ε", found, 1 + NOISE)


def picked(results: Results) -> Iterator[Check]:
    """What the plan picks for a fit with public text, against the other ways."""
    for row in _cells(results, ADAPTED):
        if row["n_topics"] == PUBLIC_TOPICS:
            continue
        pick = _pick(row["n_documents"], row["n_words"], row["epsilon"], row["public"], TOKENS.get(row["dataset"]))
        alone = {**row, "public": row["public"] if row["words"] == PUBLIC_WORDS else None, "n_topics": 20}
        places = {
            ADAPTED: row,
            ANCHORED: {**row, "method": ANCHORED, "n_topics": 20},
            PRIVATE: {**alone, "method": PRIVATE},
            PUBLIC_ONLY: {**row, "method": PUBLIC_ONLY, "n_documents": None, "epsilon": None},
        }
        for other in (ADAPTED, ANCHORED, PRIVATE, PUBLIC_ONLY):
            if other != pick:
                found = results.ratio("perplexity", places[pick], places[other])
                what = f"{_name(row)}, {row['public']}: {pick} over {other}"
                yield Check.below(what, found, 1 + NOISE)


def _pick(n_units: int, n_words: int, epsilon: float, public: str, tokens: float | None = None) -> str:
    """The method that the plan picks. It is told whether the public text is of the same field."""
    from discreet.planning.law import TOKENS as USUAL
    from discreet.planning.law import Facts
    from discreet.planning.methods import choose

    facts = Facts(n_units=n_units, n_words=n_words, n_topics=20, epsilon=epsilon, tokens=tokens or USUAL)
    return {"adapted": ADAPTED, "private": ANCHORED}[choose(facts, "near" if public == NEAR else "far").method]


def _cells(results: Results, method: str) -> Iterator[Setting]:
    """The coordinates of each cell of ``method`` with a given number of documents, once."""
    seen = set()
    names = ("dataset", "public", "n_words", "words", "n_documents", "n_users", "n_topics", "epsilon", "method")
    for row in results.rows:
        place = tuple(row[name] for name in names)
        if row["method"] == method and row["n_documents"] is not None and place not in seen:
            seen.add(place)
            yield dict(zip(names, place, strict=True))


def _name(row: Setting) -> str:
    return f"{row['n_documents']:,} of {row['dataset']}, ε = {row['epsilon']:g}"


_ROWS = ("n_words", "n_topics", "n_users", "method", "public")
_FEW_ROWS = ("dataset", "n_documents", "method", "n_topics", "public")


def _is_of_users(row: Any) -> bool:
    return row["n_users"] is not None


def _is_few(row: Any) -> bool:
    """Of the pair that is near: its cells, and public text alone, which is drawn across."""
    few = row["n_documents"] is not None or (row["n_topics"] == MORE_TOPICS and row["n_users"] is None)
    return few and row["n_topics"] != PUBLIC_TOPICS and row["public"] in (None, NEAR)


PUBLIC = Experiment(
    paper="private",
    figure="public",
    title="Private topics of few documents, or of users, with the help of public text",
    source="Our own: nobody has published this table",
    grid=Grid(
        "private-public",
        3,
        _settings,
        cell,
        measures=("perplexity",),
        repetitions=REPETITIONS,
        repetitions_of=_repetitions,
    ),
    findings=(
        Finding(
            "many users: the perplexity of what the plan picks, at ε = 1, is at most as below.",
            _users,
            said_by="our aim",
        ),
        Finding("few documents: the perplexity of AdaptedLDA at ε = 1 is at most as below.", _few, said_by="our aim"),
        Finding(
            "few documents: at ε = 1, AdaptedLDA keeps at least this share of what LDA gains over word frequencies.",
            _kept,
            said_by="our goal",
        ),
        expected("what the plan picks is not worse than adapted, private or public topics alone.", picked),
        expected("PrivateLDA is never worse than its own word frequencies.", _no_worse_than_frequencies),
    ),
    tables=(
        Table(
            "Users: completion perplexity on held-out documents",
            "perplexity",
            _ROWS,
            "epsilon",
            show=_is_of_users,
        ),
        Table(
            "Few documents: completion perplexity on held-out documents",
            "perplexity",
            _FEW_ROWS,
            "epsilon",
            show=lambda row: not _is_of_users(row),
        ),
    ),
    plots=(
        Plot(
            "Few documents",
            "n_documents",
            "perplexity",
            "method",
            x_label="private documents (ε = 1, δ = 1e-6)",
            y_label="completion perplexity",
            log_x=True,
            show=lambda row: row["dataset"] in ("arxiv", NEAR) and row["epsilon"] in (None, 1.0) and _is_few(row),
        ),
    ),
    notes=(
        "arXiv: every fortieth abstract (3,000) is held out, 5,000 of the others are set aside as public text (*5,000 "
        "abstracts*), and 112,000 are for training, or as many as *n documents* says, drawn anew in each repetition. "
        "Of other sets every tenth document is held out.",
        "Words: the most frequent ones of the private set, taken as public, for arXiv; of the public set for the "
        "others. Perplexities over different words do not compare.",
        "*public text only*: plain LDA on the public text, without any private document, with as many topics as the "
        "model beside it. Plain LDA: 150 sweeps, α = 0.1, β = 0.05. *word frequencies* are exact, those of all "
        "training documents.",
        f"AdaptedLDA adapts {PUBLIC_TOPICS} public topics, and {MORE_TOPICS}, its default: shares that are kept and "
        f"what the plan picks are those of {MORE_TOPICS}. Public topics are trained once for all repetitions.",
        "Users: the 112,000 abstracts are dealt to users; user i gets one with probability ∝ i^−0.6. The largest has "
        "about 700 to 1,200.",
        "δ = 1e-6; the number of documents or users is not given and therefore charged. Topics are judged with the "
        "prior α of their model.",
        "PrivateLDA without public text on up to 3,000 documents, and with one topic beside it, runs "
        f"{MORE_REPETITIONS} times: its noise is large. With so few documents its rounds count words, so that both "
        "make the same releases, with other noise.",
        "Many documents: `private public-many`.",
    ),
)
