"""What ``fit`` says before it charges: the plan in short, and a question on a terminal where it expects nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._errors import InputError
from discreet.cli import show
from discreet.cli.wording import in_options

if TYPE_CHECKING:
    from discreet.corpus import Corpus
    from discreet.planning import Plan

TopicsOption = Annotated[
    str | None,
    typer.Option(
        "--topics", "-k", metavar="K|auto", help="Number of topics; 20 by default, adapted 200. private: auto, --units."
    ),
]
WordsShareOption = Annotated[
    float | None,
    typer.Option(
        "--words-share", metavar="S", help="Share of the budget that selects words; 0.05, or with --units by plan."
    ),
]
LengthOption = Annotated[
    float | None,
    typer.Option(
        "--words-per-document", metavar="N", help="Words of a usual document (or user), if public: for the plan."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, whatever is to be expected.")]

AUTO = "auto"
LONGEST = 10_000_000

MAX_TOPICS = 65_535
"""As `discreet.engines.interface.MAX_TOPICS`, which would take a second to import; a test compares them."""


def usual_method(
    given: Mapping[str, Any],
    topics: str | None,
    collection: str | None,
    length: float | None,
    *,
    near: bool,
    quiet: bool,
) -> str:
    """The method if none is named. With public text, which may be ``near``, the plan chooses between adapted and
    private, for units of this or of usual ``length``, and says why."""
    if given["epsilon"] is None:
        return "lda" if given.get("epsilon-bit") is None else "local"
    if collection is not None:
        return "private-cross"
    if given["public"] is None or given["checkpoint"] is not None or topics == AUTO:
        return "private"
    from discreet.planning.choices import USUAL_WORDS
    from discreet.planning.law import TOKENS, Facts
    from discreet.planning.methods import choose

    facts = None
    if given["units"] is not None and given["epsilon"] > 0:
        n_topics = int(topics) if topics is not None and topics.isdecimal() else 20
        delta = given["delta"] if given["delta"] is not None and 0 < given["delta"] < 1 else 1e-6
        facts = Facts(
            n_units=given["units"],
            n_words=2000,
            n_topics=max(n_topics, 2),
            epsilon=given["epsilon"],
            delta=delta,
            tokens=TOKENS * (length if length is not None and 0 < length <= LONGEST else USUAL_WORDS) / USUAL_WORDS,
        )
    chosen = choose(facts, "near" if near else "far")
    if not quiet:
        show.note(f"method: {chosen.method}; {in_options(chosen.reason)}")
    return chosen.method


def topics_asked(text: str | None, method: str, given: Mapping[str, Any]) -> int | str | None:
    """The number of topics, or ``auto``, checked before anything is read."""
    if text is None:
        return None
    if text == AUTO:
        if method != "private":
            raise InputError(f"--topics auto is for --method private; found {method}. Say how many topics you want.")
        if given.get("units") is None:
            raise InputError(
                "--topics auto is decided before anything is charged, and needs the number of documents (or users). "
                "Give --units, if that number is public, or say how many topics you want."
            )
        if given["units"] * float(given.get("delta") or 1e-6) >= 1:
            raise InputError("--delta must be far below one over --units. Choose a smaller one.")
        return AUTO
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= MAX_TOPICS:
        raise InputError(f"--topics must be a whole number from 1 to {MAX_TOPICS:,}, or auto; found {text!r}.")
    return number


def check_share(share: float | None, *, selecting: bool) -> None:
    if share is not None and not selecting:
        raise InputError("--words-share is for words that are selected privately. Leave it or --vocabulary out.")
    if share is not None and not 0 < share < 1:
        raise InputError(f"--words-share must lie between 0 and 1; found {share:g}. Leave it out for the usual share.")


def check_length(length: float | None, method: str, given: Mapping[str, Any], *, named: bool) -> None:
    """Refuse a length that no plan reads: that of private topics does, and the choice of a method that is not
    ``named``."""
    if length is None:
        return
    if not (method == "private" or (method == "adapted" and not named)) or given.get("units") is None:
        raise InputError(
            "--words-per-document is for the plan of --method private, which needs --units. Give it, or leave this out."
        )
    if not 0 < length <= LONGEST:
        raise InputError(f"--words-per-document must be above 0 and at most {LONGEST:,}; found {length:g}. Change it.")


def plan_of(
    method: str,
    given: Mapping[str, Any],
    n_topics: int | str,
    corpus: Corpus,
    share: float | None,
    *,
    selecting: bool,
    length: float | None = None,
) -> Plan | None:
    """The plan of a fit of ``private`` whose number of units is public, for units of this or of usual length; None
    otherwise.

    Of the corpus it reads the number of public words, and whether users are the unit.
    """
    delta = float(given["delta"] or 1e-6)
    if method != "private" or given.get("units") is None or _will_be_refused(given, selecting=selecting):
        return None
    from discreet.planning import choices
    from discreet.planning.forecast import made
    from discreet.planning.plan import best_topics
    from discreet.training.inputs import is_by_user

    known = choices.usual(
        n_units=given["units"],
        users=is_by_user(corpus, corpus.users),
        epsilon=float(given["epsilon"]),
        delta=delta,
        n_words=None if selecting else corpus.n_words,
        share=share,
        words_per_unit=length,
    )
    return made(replace(known, n_topics=best_topics(known) if n_topics == AUTO else int(n_topics)))


def _will_be_refused(given: Mapping[str, Any], *, selecting: bool) -> bool:
    """Whether the fit refuses so few units whatever is planned: its line is enough."""
    from discreet.planning.noise import selection

    delta = float(given["delta"] or 1e-6)
    if not 0 < delta < 1 / given["units"]:
        return True
    if not selecting:
        return False
    found = selection(float(given["epsilon"]), delta, 0.5)
    return found.norm**2 < found.event.max_words or found.units_for_a_word() > given["units"]


def foresee(plan: Plan, *, asked: int | str, yes: bool, quiet: bool, guessed: bool = True) -> None:
    """Print it in short; ``guessed``: nobody said how long a document is.

    Where it expects nothing, a terminal is asked; elsewhere the run goes on with a warning, before anything is charged.
    """
    if asked == AUTO and not quiet:
        many = plan.known.n_topics
        show.note(f"topics: {many}, as many as the noise can carry" if many > 1 else "topics: 1, the word frequencies")
    hopeless = plan.verdict == "nothing" and plan.known.n_topics > 1
    if not quiet or hopeless:
        show.note(f"plan: {in_options(plan.short(guessed=guessed))}")
    ask = hopeless and not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if hopeless and not yes and not ask:
        show.note(
            "warning: nothing is to be expected of these topics, and the budget will be charged all the same. There is "
            "no terminal to ask, so the run goes on; --yes says that you mean it."
        )
    if ask and not typer.confirm("Nothing has been charged yet. Train all the same?", default=False, err=True):
        show.note("stopped: nothing was charged and nothing was written")
        raise typer.Exit(1)
