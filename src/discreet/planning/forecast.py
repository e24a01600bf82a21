"""The plan as an object that prints well: a table, a sentence, JSON, HTML for notebooks, and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal

from discreet._errors import InputError, counted
from discreet.planning.law import Range
from discreet.planning.methods import Way, ways
from discreet.planning.plan import (
    EPSILONS,
    Known,
    Outcome,
    best_topics,
    epsilon_needed,
    known,
    law_facts,
    outcome,
    units_for_a_word,
    units_needed,
)
from discreet.planning.words import TEXTS, Text

READS_NOTHING = "No private document was read: this is made of these numbers and of measurements on other texts."
READS_PUBLIC = "No private document was read: this is made of these numbers, and of {}, which is taken as public."

USUAL_TOPICS = 20

VERSION = 1
"""Of the JSON form."""


UNKNOWN = "–"
"""Where too few words are expected for any topics."""


@dataclass(frozen=True, repr=False)
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
    """How many units must share a word for it to be selected; None with a public word list, or if none can be."""
    best_topics: int
    """The number of topics with which the text gains most over word frequencies; 1: word frequencies only."""
    epsilon_needed: float | None
    """About the smallest ε for useful topics; None above 8."""
    units_needed: int | None
    """About the smallest number of units for useful topics."""
    ways: tuple[Way, ...] = ()
    """What each method is expected to keep, the best first, where there is public text."""

    @property
    def verdict(self) -> str:
        """*useful*, *uncertain* or *nothing*."""
        return self.expected.verdict

    def summary(self) -> str:
        """One sentence with its reason, and what would help if it needs help."""
        found, facts = self.expected, self.known
        if found.n_topics == 1:
            return "A single topic is the word frequencies: there is nothing to expect of topics."
        said = {
            "useful": "Expect useful topics",
            "uncertain": f"Uncertain, topics may be useful or not: {found.doubt}",
            "nothing": f"Expect nothing of topics: {found.doubt}",
        }
        parts = [said[self.verdict]]
        words = ""
        if facts.n_words is None:
            words = f"About {_words(found)}, {found.covered.expected:.0%} of the text, and "
        if found.enough_words:
            kept = f"{_percent(found.kept)} of what {found.n_topics} topics of plain LDA learn beyond word frequencies"
            few = f" (only {found.n_topics} topics: so few words carry no more)" if self._fewer else ""
            parts.append(f"{words}{kept}{few}")
        return f"{'. '.join(parts)}. {'' if self.verdict == 'useful' else self.advice()}".rstrip()

    @property
    def _fewer(self) -> bool:
        return self.expected.enough_words and self.expected.n_topics < self.known.n_topics

    def advice(self) -> str:
        """What would make useful topics, of which one thing is enough."""
        helps: list[str] = []
        facts = self.known
        if self.epsilon_needed is not None and self.epsilon_needed > facts.epsilon:
            helps.append(f"epsilon={self.epsilon_needed:g}")
        if self.units_needed is not None and self.units_needed > facts.n_units:
            helps.append(f"about {self.units_needed:,} {facts.unit}")
        if self.expected.n_topics > self.best_topics > 1:
            fewer = replace(facts, n_topics=self.best_topics)
            if outcome(fewer).verdict == "useful":
                helps.append(f"{self.best_topics} topics")
        if facts.public is None and self.verdict == "nothing":
            helps.append("public text (AdaptedLDA)")
        return f"For useful topics: {', or '.join(helps)}." if helps else ""

    def short(self, *, guessed: bool = False) -> str:
        """For a command that is about to spend: one line. ``guessed``: nobody said how long a unit is."""
        facts = self.known
        length = f"{facts.unit} of about {counted(facts.words_per_unit, 'word')}"
        usual = ", as abstracts have" if guessed else ""
        return (
            f"{self.summary()} (For {length}{usual}; from public facts and measurements on other texts; "
            "`discreet plan` says more.)"
        )

    # --- forms --------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        facts = self.known
        size = counted(facts.n_units, facts.unit[:-1])
        return f"<Plan of {size}, epsilon={facts.epsilon:g}, {counted(facts.n_topics, 'topic')}: {self.verdict}>"

    def _facts(self) -> str:
        facts = self.known
        listed = "" if facts.n_words is None else f"a public list of {counted(facts.n_words, 'word')}"
        share = f"words selected privately with {self.expected.share:.0%} of the budget"
        return (
            f"{counted(facts.n_units, facts.unit[:-1])} of {counted(facts.words_per_unit, 'word')}, "
            f"ε = {facts.epsilon:g}, δ = {facts.delta:g}, {counted(facts.n_topics, 'topic')}, {listed or share}"
        )

    def rows(self) -> list[tuple[str, str]]:
        """What to expect: name, text."""
        found = self.expected
        rows = []
        if self.known.n_words is None:
            few = _count(found.n_words.low), _count(found.n_words.high)
            rows = [
                ("a word appears", self._appears()),
                ("words", _count(found.n_words.expected) + ("" if few[0] == few[1] else f" ({few[0]} to {few[1]})")),
            ]
        rows.append(("part of the text", _percent(found.covered)))
        if found.n_topics > 1:
            if self._fewer:
                rows.append(("topics", f"only {found.n_topics}: so few words carry no more"))
            noise = f"{found.noise:.2g} times what an average cell of word × topic holds"
            kept = f"{_percent(found.kept)} of what plain LDA learns beyond word frequencies"
            over = f"{found.over_frequencies:.2f} times that of frequencies"
            perplexity = f"over these words {_times(found.ratio)} times plain LDA's, {over}"
            known = found.enough_words
            rows += [
                ("noise in a cell", noise if known else UNKNOWN),
                ("topics keep", kept if known else UNKNOWN),
                ("perplexity", perplexity if known else UNKNOWN),
                ("best number of topics", "none" if self.best_topics == 1 else str(self.best_topics)),
            ]
        return rows

    def _appears(self) -> str:
        if self.units_for_a_word is None:
            return "never: with so small an ε the noise hides every word"
        units = counted(self.units_for_a_word, self.known.unit[:-1])
        share = self.units_for_a_word / self.known.n_units
        verb = "has" if self.units_for_a_word == 1 else "share"
        return f"if about {units} {verb} it ({f'{share:.0%} of them' if share <= 1 else 'more than there are'})"

    def table(self) -> list[tuple[str, ...]]:
        """What other ε would buy; the first row holds the names of the columns."""
        head = ["ε", "words", "part of the text", "topics", "topics keep", "over LDA's (these words)", "verdict"]
        rows = [
            [
                f"{one.epsilon:g}",
                _count(one.n_words.expected),
                f"{one.covered.expected:.0%}",
                str(one.n_topics) if one.enough_words else UNKNOWN,
                _percent(one.kept) if one.enough_words else UNKNOWN,
                _times(one.ratio) if one.enough_words else UNKNOWN,
                one.verdict,
            ]
            for one in self.others
        ]
        if all(one.n_topics == self.known.n_topics for one in self.others if one.enough_words):
            rows = [[*row[:3], *row[4:]] for row in rows]
            head.remove("topics")
        return [tuple(row) for row in (head, *rows)]

    @property
    def _like(self) -> str | None:
        """The name of public text of the same kind, where that was read."""
        return None if self.known.texts == TEXTS else self.known.texts[0].name

    def _reads(self) -> str:
        return READS_NOTHING if self._like is None else READS_PUBLIC.format(self._like)

    def __str__(self) -> str:
        rows, table = self.rows(), self.table()
        wide = max(len(name) for name, _ in rows)
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [self._facts(), self._reads(), ""]
        lines += [f"  {name:<{wide}}  {text}" for name, text in rows]
        lines += ["", "Other ε:"]
        lines += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines += ["", self.summary()]
        if self.ways:
            kept = ", ".join(f"{way.name} {way.kept:.0%}" for way in self.ways)
            lines.append(f"With {self.known.public} public text (measured on two pairs of corpora), expect: {kept}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Small, without styles, every text escaped, as the other forms for notebooks."""
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in self.rows())
        head, *rest = self.table()
        columns = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rest)
        return (
            f"<p><b>{escape(self.summary())}</b></p><p>{escape(self._facts())}. {escape(self._reads())}</p>"
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
            "ways": [{"method": way.method, "name": way.name, "kept": round(way.kept, 4)} for way in self.ways],
            "reads": "nothing" if self._like is None else f"public: {self._like}",
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


def _words(found: Outcome) -> str:
    return f"{_count(found.n_words.expected)} word{'' if round(found.n_words.expected) == 1 else 's'}"


def _percent(found: Range) -> str:
    """Without a range where nothing is known of it: of one public text, not of three kinds."""
    low, high = f"{found.low:.0%}", f"{found.high:.0%}"
    return f"{found.expected:.0%}" + ("" if low == high else f" ({low} to {high})")


def _times(found: Range) -> str:
    return f"{found.expected:.2f} ({max(found.low, 1.0):.2f} to {found.high:.2f})"


def plan(
    *,
    documents: int | None = None,
    users: int | None = None,
    words_per_document: float = 150.0,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    topics: int | Literal["auto"] = 20,
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
    topics : int or "auto"
        The number of topics; "auto": as many as the noise can carry, for each ε.
    words : int, optional
        The size of a public word list. Without one, words are selected privately from the same budget.
    share : float, optional
        The share of the budget (as precision) for that selection; by default the plan chooses.
    public : "near" or "far", optional
        Whether there is public text, of the same field or of another one.
    texts : three Text, optional
        Word frequencies of a broad, a usual and a narrow text, for instance those of a public text.
    """
    auto = topics == "auto"
    if isinstance(topics, str) and not auto:
        raise InputError(f"topics must be a whole number of at least 1, or 'auto'; found {topics!r}. Change it.")
    facts = known(
        documents=documents,
        users=users,
        words_per_document=words_per_document,
        epsilon=epsilon,
        delta=delta,
        topics=USUAL_TOPICS if isinstance(topics, str) else topics,
        words=words,
        share=share,
        public=public,
        texts=texts,
    )
    return made(facts, auto=auto)


def made(facts: Known, *, auto: bool = False) -> Plan:
    """The plan of checked facts. ``auto``: with as many topics as the noise can carry, for each ε."""

    def at(epsilon: float) -> Known:
        one = replace(facts, epsilon=epsilon)
        return replace(one, n_topics=best_topics(one)) if auto else one

    others = tuple(outcome(at(epsilon)) for epsilon in sorted({*EPSILONS, facts.epsilon}))
    facts = at(facts.epsilon)
    found = outcome(facts)
    return Plan(
        known=facts,
        expected=found,
        others=others,
        units_for_a_word=None if facts.n_words is not None else units_for_a_word(facts, found.share),
        best_topics=facts.n_topics if auto else best_topics(facts),
        epsilon_needed=epsilon_needed(facts) if facts.n_topics > 1 else None,
        units_needed=units_needed(facts) if facts.n_topics > 1 else None,
        ways=() if facts.public is None else ways(law_facts(facts), facts.public),
    )
