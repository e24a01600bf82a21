"""Usenet posts: the sender of each, and the sender's own words.

Headers, quoted posts and signatures name people and groups. A classifier learns from them what it should learn from
the text, and a quoted post is one person's words in another person's document, which would blur user-level privacy.
"""

from __future__ import annotations

import re

_FROM = re.compile(r"^From:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>()\",;:]+@[^\s<>()\",;:]+")
_QUOTED = re.compile(r"\s*(?:[A-Za-z]{0,3}[>|}]|:\s)")
_OPENERS = ("in article", "in message", "in <", "quoting ", "quoted from")
_VERBS = ("writes", "wrote", "says", "said", "asks", "responds", "write")
_RULE = re.compile(r"\s*(?:[-_=*~#+]\s?){2,}\s*$")

_SIGNATURE = 12  # lines: a rule further from the end than this divides the text; no signature follows it


def sender(post: str) -> str:
    """The e-mail address of the ``From:`` header in small letters, or what is there instead; '' without a header."""
    found = _FROM.search(_head_and_body(post)[0])
    if found is None:
        return ""
    line = found.group(1).strip()
    address = _ADDRESS.search(line)
    return (address.group() if address else line).lower()


def own_words(post: str) -> str:
    """The post without its header, without lines quoted from others, and without its signature."""
    lines = [line for line in _head_and_body(post)[1].split("\n") if not _QUOTED.match(line)]
    kept = [line for line in lines if not _is_attribution(line)]
    return "\n".join(_unsigned(kept)).strip()


def _head_and_body(post: str) -> tuple[str, str]:
    head, _, body = post.partition("\n\n")
    return head, body


def _is_attribution(line: str) -> bool:
    """``In article <id@host> name@host (Name) writes:`` and similar lines."""
    bare = line.strip().lower()
    if bare.startswith(_OPENERS):
        return True
    announced = bare.endswith((":", "...")) or "@" in bare
    return announced and bare.rstrip(":. ").endswith(_VERBS)


def _unsigned(lines: list[str]) -> list[str]:
    """Cut at the last line made of dashes or the like, if only a few lines follow it."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if lines and _RULE.match(lines[-1]):  # the lower edge of a framed signature
        lines = lines[:-1]
    for i in range(len(lines) - 1, max(len(lines) - 1 - _SIGNATURE, 0), -1):
        if _RULE.match(lines[i]):
            return lines[:i]
    return lines
