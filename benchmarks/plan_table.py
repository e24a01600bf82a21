"""The measurements behind `discreet plan`: how much of what plain LDA learns is left, for many sizes of corpus.

For each cell `PrivateLDA` (defaults, δ = 1e-6) is trained on N units over the V most frequent words of the set, taken
as public, or over words that it selects. Three completion perplexities of held-out documents over the same words stand
in a row: the private topics', plain LDA's on the same documents, and the unigram model's. *kept* is
log(unigram / private) over log(unigram / LDA). Cells with more than 117,000 units are drawn from an LDA that was fitted
to the abstracts; `generated` in the column `data` says so. One run per cell.

    python -m benchmarks.plan_table FILE.jsonl [--seconds 240]

adds the cells that FILE does not have yet, one line each, and stops when the time is over: start it again to go on.
With ``--collect src/discreet/planning/measured.csv`` it writes the table of the package: these cells, and those that
`docs/results` has published before. ``benchmarks/plan_law.py`` fits the law to that table.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet import LDA, PrivateLDA
from discreet.corpus import Corpus, Vocabulary, datasets, load, read
from discreet.evaluation import completion_perplexity
from discreet.models.fit_text import fit_text


class Cell(NamedTuple):
    data: str
    unit: str
    n_units: int
    n_words: int | None
    """Of a public list; None where words are selected."""
    n_topics: int
    epsilon: float

    @property
    def key(self) -> str:
        return json.dumps(list(self))


GRID: list[tuple[str, str, int, int | None, int, tuple[float, ...]]] = [
    # small and cheap
    ("kos", "document", 3_000, 500, 20, (1, 4)),
    ("kos", "document", 3_000, 2_000, 20, (2, 4)),
    ("neurips-cvpr", "document", 7_800, 500, 20, (1, 4)),
    ("neurips-cvpr", "document", 7_800, 2_000, 20, (2, 4)),
    ("neurips-cvpr", "document", 7_800, None, 20, (4,)),
    ("novels", "document", 3_900, 500, 20, (1, 4)),
    ("novels", "document", 3_900, 500, 5, (1,)),
    ("novels", "document", 3_900, 2_000, 20, (4,)),
    ("novels", "document", 3_900, None, 20, (4,)),
    ("enron", "document", 14_000, 500, 20, (1, 4)),
    ("enron", "document", 14_000, 2_000, 20, (2, 4)),
    ("enron", "document", 14_000, None, 20, (4,)),
    ("20newsgroups", "user", 8_000, 500, 20, (1, 4)),
    ("20newsgroups", "user", 8_000, 2_000, 20, (2, 4)),
    ("20newsgroups", "document", 17_000, 500, 20, (1,)),
    ("20newsgroups", "document", 17_000, 2_000, 20, (1, 2, 4)),
    ("20newsgroups", "document", 17_000, None, 20, (1, 4)),
    ("nips", "document", 1_350, 500, 20, (2, 8)),
    ("nips", "document", 1_350, 2_000, 20, (4, 8)),
    ("nips", "document", 1_350, 2_000, 5, (2,)),
    ("arxiv", "document", 1_000, 500, 5, (1, 8)),
    ("arxiv", "document", 1_000, 500, 20, (8,)),
    ("arxiv", "document", 3_000, 500, 5, (1, 3)),
    ("arxiv", "document", 3_000, 500, 20, (2, 8)),
    ("arxiv", "document", 3_000, 2_000, 20, (4,)),
    ("arxiv", "document", 10_000, 500, 20, (0.5, 1, 2)),
    ("arxiv", "document", 10_000, 2_000, 20, (2,)),
    ("arxiv", "document", 10_000, 5_000, 20, (2, 8)),
    ("arxiv", "document", 10_000, 5_000, 5, (2,)),
    ("arxiv-titles", "document", 10_000, 500, 20, (1, 4)),
    ("arxiv-titles", "document", 10_000, 2_000, 20, (2, 8)),
    ("arxiv-titles", "document", 30_000, 500, 20, (1,)),
    ("arxiv-titles", "document", 30_000, 2_000, 20, (1, 4)),
    ("arxiv-titles", "document", 117_000, 2_000, 20, (1, 4)),
    ("arxiv-first-15", "document", 30_000, 2_000, 20, (1, 4)),
    # larger
    ("arxiv", "document", 30_000, 2_000, 20, (0.25, 0.5, 2, 4)),
    ("arxiv", "document", 30_000, 5_000, 20, (1, 4)),
    ("arxiv", "document", 30_000, 2_000, 5, (0.5,)),
    ("arxiv", "document", 3_000, 2_000, 50, (8,)),
    ("arxiv", "document", 10_000, 500, 50, (2,)),
    ("arxiv", "document", 10_000, 2_000, 50, (4,)),
    ("arxiv", "document", 10_000, 2_000, 100, (8,)),
    ("arxiv-dealt", "user", 8_000, 2_000, 20, (1, 4)),
    ("arxiv-dealt", "user", 3_000, 2_000, 20, (2, 8)),
    ("enron", "document", 14_000, 2_000, 50, (8,)),
    ("generated", "document", 200_000, 2_000, 20, (0.25, 1)),
    ("generated-short", "document", 500_000, 2_000, 20, (0.25, 1)),
    ("generated", "document", 200_000, 5_000, 50, (0.5,)),
    ("generated", "document", 500_000, 2_000, 50, (0.25,)),
    ("arxiv", "document", 30_000, 500, 100, (1,)),
    ("arxiv", "document", 30_000, 5_000, 50, (4,)),
    ("arxiv", "document", 117_000, 2_000, 20, (0.25,)),
    ("arxiv-titles", "document", 117_000, 2_000, 50, (4,)),
    ("arxiv", "document", 10_000, 500, 10, (0.5, 1)),
    ("arxiv", "document", 30_000, 1_000, 30, (0.5, 1, 2)),
    ("arxiv-first-15", "document", 117_000, 2_000, 20, (0.5, 1)),
    ("arxiv-titles", "document", 117_000, 500, 20, (0.5, 1)),
    ("enron", "document", 3_400, 1_000, 10, (1, 4)),
    ("20newsgroups", "document", 3_400, 1_000, 10, (1, 4)),
    ("neurips-cvpr", "document", 3_400, 1_000, 10, (1, 4)),
    ("kos", "document", 3_000, 1_000, 10, (1, 2)),
    ("nips", "document", 1_350, 1_000, 10, (1, 4)),
    ("novels", "document", 3_900, 1_000, 10, (1, 2)),
    ("docstrings", "document", 10_000, 1_000, 20, (1, 4)),
    ("docstrings", "document", 10_000, None, 20, (1, 4)),
    ("enron", "document", 14_000, 5_000, 20, (4,)),
    ("20newsgroups", "document", 17_000, 5_000, 50, (8,)),
]


def cells() -> Iterator[Cell]:
    for *rest, epsilons in GRID:
        yield from (Cell(*rest, epsilon) for epsilon in epsilons)


# --- the data ---------------------------------------------------------------------------------------------------------


@cache
def whole(name: str) -> Corpus:
    if name == "arxiv-titles":
        path = next(one.where for one in datasets.available() if one.name == "arxiv")
        return read(path, text="title")
    if name == "arxiv-first-15":
        return _first(whole("arxiv"), 15)
    if name == "arxiv-dealt":
        return whole("arxiv")
    return load(name)


def _first(corpus: Corpus, n: int) -> Corpus:
    """The first tokens of each document."""
    starts, lengths = corpus.offsets[:-1], np.minimum(np.diff(corpus.offsets), n)
    kept = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(corpus.words[kept], offsets, corpus.vocabulary)


@cache
def split(name: str, unit: str, n: int) -> tuple[Corpus, Corpus]:
    """Training documents of ``n`` units drawn once, and others: 300 users, or up to 1,500 documents."""
    corpus, generator = whole(name), np.random.default_rng(1)
    if name == "arxiv-dealt":  # 30,000 abstracts; user u of n has a share of about u^-0.6, and one abstract at least
        order = generator.permutation(corpus.n_documents)
        shares = (1.0 + np.arange(n)) ** -0.6
        owners = np.concatenate([np.arange(n), generator.choice(n, 30_000 - n, p=shares / shares.sum())])
        train = corpus[np.sort(order[1_500:31_500])]
        return replace(train, groups=generator.permutation(owners).astype(str)), corpus[np.sort(order[:1_500])]
    if unit == "user":
        owners = np.asarray(corpus.groups).astype(str)
        ids = np.unique(owners)
        generator.shuffle(ids)
        return corpus[np.isin(owners, ids[300 : 300 + n])], corpus[np.isin(owners, ids[:300])]
    corpus = replace(corpus, groups=None, collections=None)
    order = generator.permutation(corpus.n_documents)
    out = min(1_500, corpus.n_documents // 10)
    return corpus[np.sort(order[out : out + n])], corpus[np.sort(order[:out])]


@cache
def generated(n: int, n_words: int, mean_length: int) -> tuple[Corpus, Corpus]:
    """Documents drawn from an LDA of 100 topics that was fitted to 30,000 abstracts, and 1,500 others.

    Each takes the proportions of an abstract, without the part that the prior adds. Proportions from a Dirichlet would
    make all topics equally frequent, and those with the prior would be so mixed that LDA gains a third of what it gains
    on abstracts (0.13 nats with 20 topics, not 0.42).
    """
    train, _ = split("arxiv", "document", 30_000)
    public = Vocabulary(whole("arxiv").most_frequent(n_words).vocabulary, "public")
    known = train.restrict(public)
    fitted = LDA(100, alpha=0.1, n_sweeps=60, n_threads=1, random_state=1, algorithm="sampled").fit(known)
    some = known[:10_000]
    counts = fitted.transform(some) * (np.diff(some.offsets)[:, None] + 100 * 0.1) - 0.1
    counts = np.maximum(counts, 1e-9)
    proportions = np.cumsum(counts / counts.sum(axis=1, keepdims=True), axis=1)
    generator = np.random.default_rng(2)
    lengths = np.maximum(generator.poisson(mean_length, n + 1_500), 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    cumulative = np.cumsum(fitted.components_, axis=1)
    words = np.empty(offsets[-1], np.int32)
    for start in range(0, n + 1_500, 20_000):
        some = lengths[start : start + 20_000]
        like = proportions[generator.integers(len(proportions), size=len(some))]
        owner = np.repeat(np.arange(len(some)), some)
        topics = (like[owner] < generator.random(len(owner))[:, None]).sum(axis=1).clip(max=99)
        draws, part = generator.random(len(owner)), words[offsets[start] : offsets[start] + len(owner)]
        for k in range(100):
            here = topics == k
            part[here] = np.searchsorted(cumulative[k], draws[here]).clip(max=n_words - 1)
    both = Corpus(words, offsets, public)
    return both[:n], both[n:]


# --- one cell ---------------------------------------------------------------------------------------------------------


def perplexity(topics: Any, held_out: Corpus, alpha: float = 0.1) -> float:
    return float(completion_perplexity(topics, held_out, alpha=alpha, n_threads=1))


@cache
def plain(data: str, unit: str, n: int, words: Vocabulary, n_topics: int) -> tuple[float, float]:
    """The perplexities of plain LDA and of the unigram model."""
    train, test = documents(data, unit, n, words)
    fitted = LDA(n_topics, alpha=0.1, n_sweeps=100, n_threads=1, random_state=1, algorithm="sampled").fit(train)
    counts = train.word_counts + 1.0
    return perplexity(fitted.components_, test), perplexity((counts / counts.sum())[None], test, 1.0)


def documents(data: str, unit: str, n: int, words: Vocabulary) -> tuple[Corpus, Corpus]:
    if data.startswith("generated"):
        return generated(n, len(words), 12 if data.endswith("short") else 30)
    train, test = split(data, unit, n)
    return train.restrict(words), test.restrict(words)


def run(cell: Cell) -> dict[str, Any]:
    started = time.process_time()
    row: dict[str, Any] = {**cell._asdict(), "words": "selected" if cell.n_words is None else "public"}
    model = PrivateLDA(cell.n_topics, epsilon=cell.epsilon, n_threads=1, random_state=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if cell.n_words is None:
            model = fit_text(model, split(cell.data, cell.unit, cell.n_units)[0])
        else:
            known = "arxiv" if cell.data.startswith("generated") else cell.data
            public = Vocabulary(whole(known).most_frequent(cell.n_words).vocabulary, "public")
            model.fit(documents(cell.data, cell.unit, cell.n_units, public)[0])
    words = model.release().vocabulary
    train, test = documents(cell.data, cell.unit, cell.n_units, words)
    lda, unigram = plain(cell.data, cell.unit, cell.n_units, words, model.n_topics)
    all_tokens = test.n_tokens if cell.data.startswith("generated") else split(*cell[:3])[1].n_tokens
    row |= {
        "n_words": len(words),
        "n_topics": model.n_topics,
        "covered": round(test.n_tokens / all_tokens, 4),
        **sizes(train),
        "private": round(perplexity(model.components_, test), 2),
        "lda": round(lda, 2),
        "unigram": round(unigram, 2),
        "clear_share": round(model.usefulness_.clear_share, 4),
    }
    row["kept"] = round(math.log(row["unigram"] / row["private"]) / math.log(row["unigram"] / row["lda"]), 4)
    row["seconds"] = round(time.process_time() - started, 1)
    return {"key": cell.key, **row}


def sizes(train: Corpus) -> dict[str, float]:
    """Of the units, in words of the vocabulary: mean and median number of tokens, median norm of the word counts."""
    units = np.arange(train.n_documents) if train.groups is None else train.users
    owner = np.repeat(units, np.diff(train.offsets))
    tokens = np.bincount(owner, minlength=int(units.max()) + 1)
    pairs, counts = np.unique(owner.astype(np.int64) * train.n_words + train.words, return_counts=True)
    norms = np.sqrt(np.bincount(pairs // train.n_words, counts.astype(float) ** 2, minlength=len(tokens)))
    medians = {"median_tokens": float(np.median(tokens)), "median_norm": round(float(np.median(norms)), 3)}
    return {"mean_tokens": round(float(tokens.mean()), 2), **medians}


# --- what was published before ----------------------------------------------------------------------------------------

RESULTS = Path(__file__).parents[1] / "docs" / "results"

COLUMNS = (
    *("source", "data", "unit", "n_units", "words", "n_words", "n_topics", "epsilon"),
    *("mean_tokens", "median_tokens", "private", "lda", "unigram"),
)
"""Of the table in the package. Tokens are those of a unit that are among the words."""

DEALT = ((34_000, 905), (19_000, 959), (8_000, 1081))
"""117,000 abstracts dealt to so many users by a power law (exponent 0.6), and the private perplexity at ε = 1 over
2,000 words with 20 topics, one run each; plain LDA 810, unigram 1239."""


def published() -> Iterator[dict[str, Any]]:
    """The cells of ``docs/results/usefulness.md`` and ``private-table.md``, with the sizes of their units."""
    for line in (RESULTS / "usefulness.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 14 and cells[6].isdigit():
            number, unit = cells[1].split()
            words, origin = cells[4].split()
            yield {
                "source": "usefulness",
                "data": cells[0],
                "unit": unit.removesuffix("s"),
                "n_units": int(number.replace(",", "")),
                "words": origin,
                "n_words": int(words.replace(",", "")),
                "n_topics": int(cells[2]),
                "epsilon": float(cells[3]),
                **{name: float(cells[i]) for i, name in ((6, "private"), (7, "lda"), (8, "unigram"))},
            }
    yield from _private_table()
    for n_units, private in DEALT:
        row = {"source": "trial", "data": "arxiv-dealt", "unit": "user", "n_units": n_units, "words": "public"}
        yield {**row, "n_words": 2_000, "n_topics": 20, "epsilon": 1.0, "private": private, "lda": 810, "unigram": 1239}


def _private_table() -> Iterator[dict[str, Any]]:
    page = (RESULTS / "private-table.md").read_text("utf-8")
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for line in page.split("The same over plain LDA's")[0].splitlines():
        cells = [cell.strip().split(" ")[0] for cell in line.strip().strip("|").split("|")]
        if len(cells) == 10 and cells[0] in ("public", "selected"):
            found.setdefault((cells[0], cells[1], cells[2]), {})[cells[3]] = cells[4:]
    for (origin, words, topics), rows in found.items():
        for i, epsilon in enumerate((0.5, 1, 2, 4, 8), 1):
            value = {name: float(row[i] or row[0]) for name, row in rows.items()}
            n_words = 1_791 if (origin, epsilon) == ("selected", 0.5) else int(words.replace(",", ""))
            row = {"source": "private-table", "data": "arxiv", "unit": "document", "n_units": 117_000}
            yield {**row, "words": origin, "n_words": n_words, "n_topics": int(topics), "epsilon": epsilon, **value}


def with_sizes(row: dict[str, Any]) -> dict[str, Any]:
    """Selected words were not kept: the most frequent ones stand for them."""
    if row["source"] == "trial":  # the same power law as in `split`, over all abstracts
        corpus, n = split("arxiv", "document", 117_000)[0], row["n_units"]
        generator, shares = np.random.default_rng(1), (1.0 + np.arange(n)) ** -0.6
        owners = np.concatenate([np.arange(n), generator.choice(n, 117_000 - n, p=shares / shares.sum())])
        train = replace(corpus, groups=generator.permutation(owners).astype(str))
    else:
        train = split(row["data"], row["unit"], row["n_units"])[0]
    words = Vocabulary(whole(row["data"]).most_frequent(row["n_words"]).vocabulary, "public")
    return {**row, **sizes(train.restrict(words))}


def collect(measured: Path, table: Path) -> None:
    """The table of the package: the lines of ``measured``, and what was published before."""
    rows = [{"source": "plan", **json.loads(line)} for line in measured.read_text("utf-8").splitlines()]
    rows += [with_sizes(row) for row in published()]
    lines = [",".join(str(row[name]) for name in COLUMNS) for row in rows]
    table.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan_table")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--data", default=None, help="only these sets, separated by commas")
    parser.add_argument("--collect", type=Path, default=None, help="write the table of the package instead")
    options = parser.parse_args()
    if options.collect is not None:
        collect(options.file, options.collect)
        return
    done = set()
    if options.file.exists():
        done = {json.loads(line)["key"] for line in options.file.read_text("utf-8").splitlines()}
    started = time.monotonic()
    for cell in cells():
        if cell.key in done or (options.data and cell.data not in options.data.split(",")):
            continue
        if time.monotonic() - started > options.seconds:
            print("more to do")
            break
        row = run(cell)
        with options.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
