"""Messages of the library in the words of the command line: ``n_topics=5`` is ``--topics 5`` there."""

from __future__ import annotations

import re
from contextlib import suppress

OPTIONS = {
    "n_topics": "--topics",
    "n_units": "--units",
    "share": "--words-share",
    "public": "--public",
    "n_sweeps": "--sweeps",
    "n_threads": "--threads",
    "random_state": "--seed",
    "alpha0": "--alpha times --topics",
    "epsilon_laplace": "--epsilon-laplace",
    "epsilon_inherent": "--epsilon-inherent",
    "epsilon_bit": "--epsilon-bit",
    "report_words": "--report-words",
    "batch_size": "--batch",
    "as_published": "--as-published",
    "max_words": "--max-words",
    "stop_words": "--stop-words",
    "token_pattern": "--token-pattern",
    "lemmas": "--lemmas",
    "phrases": "--phrases",
    "alpha_rest": "--alpha-rest",
    "beta_rest": "--beta-rest",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "alpha": "--alpha",
    "beta": "--beta",
    "groups": "--group",
    "group": "--group",
    "collection_names": "--collections",
    "collections": "--collection",
    "collection": "--collection",
    "text": "--text",
    "label": "--label",
    "overwrite": "--overwrite",
    "vocabulary": "--vocabulary",
    "codebook": "--codebook",
    "checkpoint": "--checkpoint",
    "configuration": "--configuration",
    "adaptive": "--adaptive",
    "by": "--by",
    "start": "--from",
    "end": "--to",
    "classes": "--classes",
    "date_format": "--date-format",
    "public_model": "--public-model",
}
"""Parameter → option."""

_PLAIN = (
    *("epsilon", "delta", "alpha", "beta", "groups", "collections", "vocabulary", "public"),
    *("share", "checkpoint", "configuration", "adaptive", "lemmas", "phrases", "codebook"),
    *("group", "collection", "text", "label", "overwrite", "by", "start", "end", "classes"),
)
"""Parameters whose names are also words: they are options only where ``=`` follows."""

_names = "|".join(OPTIONS)
_odd = "|".join(name for name in OPTIONS if name not in _PLAIN)
_RANGE = re.compile(
    r"The '(?P<name>\w+)' parameter of \w+ must be (?:a float|an int) in the range "
    r"(?P<open>[\[(])(?P<low>[^,]+), (?P<high>[^\])]+)(?P<close>[\])])"
    r"(?: or (?:an array-like|None|a str among \{'auto'\}))*\. "
    r"Got (?P<found>.*) instead\."
)


def in_options(message: str) -> str:
    """The same message, with options in place of the parameters that they set."""
    message = _RANGE.sub(_in_range, message)
    message = re.sub(rf"\b({_names})=True\b", lambda found: OPTIONS[found[1]], message)
    message = re.sub(rf"\b({_names})=(?=[\w.'\"+-])", lambda found: f"{OPTIONS[found[1]]} ", message)
    message = re.sub(rf"\b({_names})=(?!=)", lambda found: OPTIONS[found[1]], message)
    message = re.sub(rf"(?<![-\w])({_odd})\b", lambda found: OPTIONS[found[1]], message)
    return message.replace("the ledger counts per", "the budget file counts per").replace(
        "Use a ledger of", "Use a budget file of"
    )


def of_plan(message: str) -> str:
    """A message of ``discreet.plan``: its parameters are plain words, so they are options only where they begin it."""
    options = {**OPTIONS, **{name: f"--{name}" for name in ("documents", "users", "topics", "words")}}
    options["words_per_document"] = "--words-per-document"
    return re.sub(r"^(\w+)(?= must )", lambda found: options.get(found[1], found[1]), message)


_LIMITS = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}
"""Typer's newer versions check values by pydantic, in words that are meant for programmers."""


def bad_value(message: str) -> str:
    """The message about a value that an option does not take, in our words where they are known."""
    found = re.fullmatch(r"Invalid value for (?:'-\w' / )*'(--[\w-]+)'(?: / '-\w')*: Input should be (.*?)\.?", message)
    if found is None:
        return message
    for theirs, ours in _LIMITS.items():
        if found[2].startswith(theirs):
            limit = "" if theirs.startswith("a valid") else found[2].removeprefix(theirs)
            return f"Invalid value for {found[1]}: it must be {ours}{limit}."
    return message


def _in_range(found: re.Match[str]) -> str:
    name = OPTIONS.get(found["name"], found["name"])
    low = f"above {_number(found['low'])}" if found["open"] == "(" else f"at least {_number(found['low'])}"
    high = f"below {_number(found['high'])}" if found["close"] == ")" else f"at most {_number(found['high'])}"
    bounds = " and ".join(bound for bound in (low, high) if "inf" not in bound)
    return f"{name} must be {bounds}; found {_number(found['found'])}."


def _number(text: str) -> str:
    with suppress(ValueError):
        return f"{int(text):,}"
    with suppress(ValueError):
        return f"{float(text):g}"
    return text
