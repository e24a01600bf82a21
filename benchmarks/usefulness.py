"""Does a private model know whether its topics are useful? Real sets, cut to 1,000 … 100,000 documents or users.

For each cell `PrivateLDA` is trained (δ = 1e-6) over the most frequent words of the set, taken as public, or over words
that it selects. The truth is held-out: *learnt* is log(unigram / private) over log(unigram / LDA), perplexities by
document completion over the same words: the part of what plain LDA learns that is left under privacy. Where words were
selected, *covered* is the share of held-out tokens that are among them. Topics are useful if at least a third was
learnt (and a fifth is covered), useless if less than a fifth was learnt (or less than 15% is covered); in between,
neither verdict is wrong. A false alarm is a warning at useful topics, a silent failure is no warning at useless ones.
*Before* is the warning that stood here until 2026-11: the noise of an average cell against its count, guessed before
the rounds. *After* is `usefulness_`. Wanted: no false alarm and no silent failure after.

The result stands in docs/results/usefulness.md. The thresholds of ``release/usefulness.py`` were chosen on 137 cells
of the same sets, most of these among them (one run each): this is no independent test of them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.common import verdict
from discreet import LDA, PrivateLDA
from discreet.corpus import Corpus, Vocabulary, load
from discreet.evaluation import completion_perplexity
from discreet.models.fit_text import fit_text
from discreet.models.private import model as private
from discreet.models.private.rounds import PrivateRounds


class Cell(NamedTuple):
    name: str
    unit: str
    n: int
    n_topics: int
    epsilon: float
    n_words: int | None
    """Of a public list; None where words are selected."""


def cells() -> list[Cell]:
    """Grouped by set, as reading takes a while."""
    arxiv = {
        1_000: [(20, 1, None), (5, 8, None), (20, 8, 2000)],
        3_000: [(5, 1, None), (20, 1, 2000), (20, 3, None), (5, 3, 1000), (20, 8, 2000), (5, 8, 2000), (20, 8, None)],
        10_000: [
            *((2, 1, 2000), (2, 3, 2000), (2, 3, None), (5, 1, 500), (5, 1, 1000), (5, 1, 2000)),
            *((20, 1, None), (20, 1, 2000), (20, 3, None), (20, 3, 2000), (20, 8, 2000)),
        ],
        30_000: [(20, 1, None), (20, 1, 2000), (50, 0.5, 2000), (50, 3, 2000)],
        60_000: [(40, 1, None)],
        100_000: [(20, 1, None)],
    }
    users = {
        1_000: [(20, 1, None)],
        3_000: [(5, 1, None), (20, 8, 2000), (20, 8, None)],
        8_000: [(20, 1, None), (20, 1, 2000), (5, 3, 2000), (20, 8, 2000)],
    }
    found = [Cell("20newsgroups", "user", n, *rest) for n, some in users.items() for rest in some]
    found += [Cell("kos", "document", 3_000, 20, epsilon, 2000) for epsilon in (1, 8)]
    found += [Cell("neurips-cvpr", "document", 7_800, *rest) for rest in ((20, 1, None), (20, 8, 2000))]
    found += [Cell("enron", "document", 10_000, *rest) for rest in ((20, 1, None), (20, 1, 2000), (20, 8, 2000))]
    found += [Cell("novels", "document", 3_900, *rest) for rest in ((5, 1, None), (20, 1, 2000), (20, 8, 2000))]
    return found + [Cell("arxiv", "document", n, *rest) for n, some in arxiv.items() for rest in some]


@cache
def whole(name: str) -> Corpus:
    return load(name)


@cache
def split(name: str, unit: str, n: int) -> tuple[Corpus, Corpus]:
    """Training documents of ``n`` units drawn once, and others: 300 users, or up to 1,500 documents."""
    corpus, generator = whole(name), np.random.default_rng(1)
    if unit == "user":
        ids = np.unique(np.asarray(corpus.groups).astype(str))
        generator.shuffle(ids)
        owners = np.asarray(corpus.groups).astype(str)
        return corpus[np.isin(owners, ids[300 : 300 + n])], corpus[np.isin(owners, ids[:300])]
    corpus = replace(corpus, groups=None)
    order = generator.permutation(corpus.n_documents)
    out = min(1_500, corpus.n_documents // 10)
    return corpus[np.sort(order[out : out + n])], corpus[np.sort(order[:out])]


class Watched(PrivateRounds):
    """Rounds that remember what the old warning was made of."""

    last: Watched

    def _learn_frequencies(self) -> None:
        super()._learn_frequencies()
        event, n_words = self.plan.frequencies, self.engine.n_words
        surely = self.n_tokens - 2 * event.scale * (self.clip / event.sensitivity) * math.sqrt(n_words)
        self.tokens_per_unit = max(surely, self.clip) / self.n_units
        Watched.last = self

    def warned_before(self) -> bool:
        """The old rule, word for word."""
        n = self.model.n_rounds // 3 or 1
        multiplier = self.events[-1].scale / self.events[-1].sensitivity
        noise = multiplier * self.clip / (self.plan.rate * self.n_units * math.sqrt(n))
        return bool(noise > self.tokens_per_unit / (self.engine.n_words * self.model.n_topics))


class Found(NamedTuple):
    n_words: int
    covered: float
    private: float
    lda: float
    unigram: float
    clear: float
    before: bool
    after: bool

    def learnt(self) -> float:
        return math.log(self.unigram / self.private) / math.log(self.unigram / self.lda)

    def truth(self, selected: bool) -> str:
        covered = self.covered if selected else 1.0
        if self.learnt() >= 1 / 3 and covered >= 0.2:
            return "useful"
        return "useless" if self.learnt() < 0.2 or covered < 0.15 else "between"


def run(cell: Cell) -> Found | str:
    train, test = split(cell.name, cell.unit, cell.n)
    model = PrivateLDA(cell.n_topics, epsilon=cell.epsilon, n_threads=1, random_state=7)
    with patch.object(private, "PrivateRounds", Watched), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            if cell.n_words is None:
                model = fit_text(model, train)
            else:
                public = whole(cell.name).most_frequent(cell.n_words).vocabulary
                model.fit(train.restrict(Vocabulary(public, "public")))
        except ValueError as refused:
            return str(refused)
    words = model.release().vocabulary
    train, rest = train.restrict(words), test.restrict(words)
    plain = LDA(model.n_topics, alpha=0.1, n_sweeps=100, n_threads=1, random_state=1, algorithm="sampled").fit(train)
    counts = train.word_counts + 1.0
    return Found(
        len(words),
        rest.n_tokens / test.n_tokens,
        completion_perplexity(model.components_, rest, alpha=0.1, n_threads=1),
        completion_perplexity(plain.components_, rest, alpha=0.1, n_threads=1),
        completion_perplexity((counts / counts.sum())[None], rest, alpha=1.0, n_threads=1),
        model.usefulness_.clear_share,
        Watched.last.warned_before(),
        not model.usefulness_.useful,
    )


def main(quick: bool = False) -> bool:
    wrong = {"before": [0, 0], "after": [0, 0]}  # false alarms, silent failures
    judged = 0
    columns = "set, units, topics, ε, words, covered, private, LDA, unigram, learnt, clear, before, after, truth"
    print("| " + " | ".join(columns.split(", ")) + " |\n" + "|---" * 14 + "|")
    for cell in [cell for cell in cells() if not quick or (cell.name == "arxiv" and cell.n <= 3_000)]:
        found = run(cell)
        head = f"| {cell.name} | {cell.n:,} {cell.unit}s | {cell.n_topics} | {cell.epsilon:g} "
        if isinstance(found, str):
            print(f"{head}| {found.split(',')[0]}: refused |" + " |" * 9, flush=True)
            continue
        truth = found.truth(cell.n_words is None)
        source = "selected" if cell.n_words is None else "public"
        said = ["warns" if warned else "–" for warned in (found.before, found.after)]
        print(
            f"{head}| {found.n_words:,} {source} | {found.covered:.0%} | {found.private:.0f} | {found.lda:.0f} "
            f"| {found.unigram:.0f} | {found.learnt():.2f} | {found.clear:.2f} | {said[0]} | {said[1]} | {truth} |",
            flush=True,
        )
        judged += truth != "between"
        for when, warned in (("before", found.before), ("after", found.after)):
            wrong[when][0] += truth == "useful" and warned
            wrong[when][1] += truth == "useless" and not warned
    for when, (alarms, silent) in wrong.items():
        print(f"  {when}: {alarms} false alarms and {silent} silent failures in {judged} cells")
    return verdict("false alarms and silent failures", sum(wrong["after"]), 0, at_least=False)


if __name__ == "__main__":
    main()
