"""The plan as an object that prints well: a table, a sentence, JSON, HTML for notebooks, and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

from discreet.planning.law import Range
from discreet.planning.plan import (
    EPSILONS,
    Known,
    Outcome,
    best_topics,
    epsilon_needed,
    known,
    outcome,
    units_for_a_word,
    units_needed,
)
from discreet.planning.words import TEXTS, Text

READS_NOTHING = "No private document was read: this is made of these numbers and of measurements on other texts."

VERSION = 1
"""Of the JSON form."""


@dataclass(frozen=True)
class Plan:
    """What to expect of ``PrivateLDA``, from public facts alone. Made by :func:`discreet.plan`.

    ``print`` it, or show it in a notebook; ``to_json()`` for programs; ``picture()`` gives an SVG.
    """

    known: Known
    """The facts that it was made from."""
    expected: Outcome
    """At the ε and the number of topics asked for."""
    others: tuple[Outcome, ...]
    """What other ε would buy."""
    units_for_a_word: int | None
    """How many units must share a word for it to be selected; None with a public word list."""
    best_topics: int
    """The number of topics with which the text gains most over word frequencies; 1: word frequencies only."""
    epsilon_needed: float | None
    """About the smallest ε for useful topics; None above 8."""
    units_needed: int | None
    """About the smallest number of units for useful topics."""

    @property
    def verdict(self) -> str:
        """*useful*, *uncertain* or *nothing*."""
        return self.expected.verdict

    def summary(self) -> str:
        """One sentence, and what would help if it needs help."""
        found, facts = self.expected, self.known
        if found.n_topics == 1:
            return "A single topic is the word frequencies: there is nothing to expect of topics."
        words = ""
        if facts.n_words is None:
            words = f"About {_count(found.n_words.expected)} words, {found.covered.expected:.0%} of the text, and "
        kept = f"{_percent(found.kept)} of what {found.n_topics} topics of plain LDA learn beyond word frequencies"
        sentence = f"{words}{kept if words else kept[:1].upper() + kept[1:]}"
        unsure = "Topics may be useful" if found.likely else "Expect little of topics, or nothing"
        said = {"useful": "Expect useful topics", "uncertain": unsure, "nothing": "Expect nothing of topics"}
        return f"{said[self.verdict]}. {sentence}. {'' if found.likely else self.advice()}".rstrip()

    def advice(self) -> str:
        """What would make useful topics, of which one thing is enough."""
        ways, facts = [], self.known
        if self.epsilon_needed is not None and self.epsilon_needed > facts.epsilon:
            ways.append(f"epsilon={self.epsilon_needed:g}")
        if self.units_needed is not None and self.units_needed > facts.n_units:
            ways.append(f"about {self.units_needed:,} {facts.unit}")
        if self.expected.n_topics > self.best_topics > 1:
            fewer = replace(facts, n_topics=self.best_topics)
            if outcome(fewer).verdict == "useful":
                ways.append(f"{self.best_topics} topics")
        return f"For useful topics: {', or '.join(ways)}." if ways else ""

    def short(self) -> str:
        """For a command that is about to spend: one line."""
        return f"{self.summary()} (From public facts and measurements on other texts; `discreet plan` says more.)"

    # --- forms --------------------------------------------------------------------------------------------------------

    def _facts(self) -> str:
        facts = self.known
        words = "words selected privately" if facts.n_words is None else f"a public list of {facts.n_words:,} words"
        share = f" with {self.expected.share:.0%} of the budget" if facts.n_words is None else ""
        return (
            f"{facts.n_units:,} {facts.unit} of {facts.words_per_unit:,.0f} words, ε = {facts.epsilon:g}, "
            f"δ = {facts.delta:g}, {facts.n_topics} topics, {words}{share}"
        )

    def rows(self) -> list[tuple[str, str]]:
        """What to expect: name, text."""
        found, unit = self.expected, self.known.unit
        rows = []
        if self.units_for_a_word is not None:
            share = self.units_for_a_word / self.known.n_units
            rows += [
                (
                    "a word appears",
                    f"if about {self.units_for_a_word:,} {unit} share it ({min(share, 9.99):.0%} of them)",
                ),
                (
                    "words",
                    f"{_count(found.n_words.expected)} ({_count(found.n_words.low)} to {_count(found.n_words.high)})",
                ),
            ]
        rows.append(("part of the text", _percent(found.covered)))
        if found.n_topics > 1:
            rows += [
                ("noise in a cell", f"{found.noise:.2g} times what an average cell of word × topic holds"),
                ("topics keep", f"{_percent(found.kept)} of what plain LDA learns beyond word frequencies"),
                (
                    "perplexity",
                    f"{_times(found.ratio)} times plain LDA's, {found.over_frequencies:.2f} times that of frequencies",
                ),
                ("best number of topics", "none" if self.best_topics == 1 else str(self.best_topics)),
            ]
        return rows

    def table(self) -> list[tuple[str, ...]]:
        """What other ε would buy; the first row holds the names of the columns."""
        head = ("ε", "words", "part of the text", "topics keep", "perplexity over LDA's", "verdict")
        return [
            head,
            *(
                (
                    f"{one.epsilon:g}",
                    _count(one.n_words.expected),
                    f"{one.covered.expected:.0%}",
                    _percent(one.kept),
                    _times(one.ratio),
                    one.verdict,
                )
                for one in self.others
            ),
        ]

    def __str__(self) -> str:
        rows, table = self.rows(), self.table()
        wide = max(len(name) for name, _ in rows)
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [self._facts(), READS_NOTHING, ""]
        lines += [f"  {name:<{wide}}  {text}" for name, text in rows]
        lines += ["", "Other ε:"]
        lines += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join([*lines, "", self.summary()])

    def _repr_html_(self) -> str:
        """Small, without styles, every text escaped, as the other forms for notebooks."""
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in self.rows())
        head, *rest = self.table()
        columns = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rest)
        return (
            f"<p><b>{escape(self.summary())}</b></p><p>{escape(self._facts())}. {escape(READS_NOTHING)}</p>"
            f"<table>{rows}</table><table><tr>{columns}</tr>{body}</table>"
        )

    def to_json(self) -> dict[str, Any]:
        """Numbers for programs. Keys are added, and never change their meaning, while ``version`` stays."""
        facts = asdict(self.known)
        facts["texts"] = [text.name for text in self.known.texts]
        return {
            "version": VERSION,
            "facts": facts,
            "verdict": self.verdict,
            "summary": self.summary(),
            "units_for_a_word": self.units_for_a_word,
            "expected": _outcome_json(self.expected),
            "other_epsilons": [_outcome_json(one) for one in self.others],
            "best_topics": self.best_topics,
            "epsilon_needed": self.epsilon_needed,
            "units_needed": self.units_needed,
            "reads": "nothing",
        }

    def picture(self) -> str:
        """An SVG: what topics keep, against the number of units, for several ε."""
        from discreet.planning.picture import draw

        return draw(self.known)


def _outcome_json(found: Outcome) -> dict[str, Any]:
    ranges = {
        name: {part: round(value, 4) for part, value in getattr(found, name)._asdict().items()}
        for name in ("n_words", "covered", "kept", "ratio")
    }
    rest = {"noise": float(f"{found.noise:.3g}"), "over_frequencies": round(found.over_frequencies, 4)}
    head = {"epsilon": found.epsilon, "n_topics": found.n_topics, "share": found.share, "verdict": found.verdict}
    return {**head, **ranges, **rest}


def _count(number: float) -> str:
    """To two digits: a forecast knows no more."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _percent(found: Range) -> str:
    return f"{found.expected:.0%} ({found.low:.0%} to {found.high:.0%})"


def _times(found: Range) -> str:
    return f"{found.expected:.2f} ({max(found.low, 1.0):.2f} to {found.high:.2f})"


def plan(
    *,
    documents: int | None = None,
    users: int | None = None,
    words_per_document: float = 150.0,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    topics: int = 20,
    words: int | None = None,
    share: float | None = None,
    public: str | None = None,
    texts: Iterable[Text] = TEXTS,
) -> Plan:
    """What to expect of ``PrivateLDA``, before anything is spent. It reads no data.

    The forecast rests on a law that was fitted to measurements on other texts (``docs/enough.md``); its ranges held
    nine in ten of the cells of data sets that were left out of the fit.

    Parameters
    ----------
    documents : int
        How many documents there are.
    users : int, optional
        How many users wrote them, where users are the unit of privacy.
    words_per_document : float
        The usual length of a document, in words of running text; stop words count.
    epsilon, delta : float
        The budget.
    topics : int
        The number of topics.
    words : int, optional
        The size of a public word list. Without one, words are selected privately from the same budget.
    share : float, optional
        The share of the budget (as precision) for that selection; by default the plan chooses.
    public : "near" or "far", optional
        Whether there is public text, of the same field or of another one.
    texts : three Text, optional
        Word frequencies of a broad, a usual and a narrow text, for instance those of a public text.
    """
    facts = known(
        documents=documents,
        users=users,
        words_per_document=words_per_document,
        epsilon=epsilon,
        delta=delta,
        topics=topics,
        words=words,
        share=share,
        public=public,
        texts=texts,
    )
    return made(facts)


def made(facts: Known) -> Plan:
    """The plan of checked facts."""
    found = outcome(facts)
    others = tuple(outcome(replace(facts, epsilon=epsilon)) for epsilon in sorted({*EPSILONS, facts.epsilon}))
    return Plan(
        known=facts,
        expected=found,
        others=others,
        units_for_a_word=None if facts.n_words is not None else units_for_a_word(facts, found.share),
        best_topics=best_topics(facts),
        epsilon_needed=epsilon_needed(facts) if facts.n_topics > 1 else None,
        units_needed=units_needed(facts) if facts.n_topics > 1 else None,
    )
