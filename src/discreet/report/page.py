"""One self-contained file: no request of any kind, and a policy that would stop one.

The policy is a meta element: ``default-src 'none'``, and the hashes of the one style sheet and the one script. Nothing
in the page needs an inline style or handler, so a word or a name that looks like markup, were it ever not escaped,
could still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from discreet._errors import InputError, counted
from discreet.release.release import Release
from discreet.report.cards import cards
from discreet.report.checklist import checklist
from discreet.report.facts import Facts
from discreet.report.history import history, local, making
from discreet.report.markup import Html, Part, data, join, tag
from discreet.report.promise import promise, status
from discreet.report.topics import look_up, overview, relations

WORDS = 12
"""Words shown of each topic."""

MARK = '<meta name="generator" content="discreet report">'
"""By which an earlier report is recognised: nothing else is overwritten."""


def report_html(
    release: Release, *, title: str = "Topics", names: Mapping[int, str] | None = None, words: int = WORDS
) -> str:
    """The page as text. ``names`` are those that people gave to topics; ``words`` the number shown of each topic."""
    if words < 1:
        raise InputError(f"the number of words per topic must be at least 1; found {words}.")
    given = {int(topic): str(name) for topic, name in (names or {}).items()}
    strange = sorted(set(given) - set(range(release.n_topics)))
    if strange:
        raise InputError(f"there is no topic {strange[0]}: the model has topics 0 to {release.n_topics - 1}.")
    odds = release.odds()
    facts = Facts(release, given, min(words, release.n_words))
    style, script = _part("report.css"), _part("report.js")
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    sections = [
        promise(release.guarantee, odds),
        local(release),
        overview(facts),
        look_up(facts),
        relations(facts),
        cards(facts),
        checklist(release),
        history(release),
        making(release),
    ]
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        Html(MARK),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    body = join(
        tag("a", "Skip to the topics", href="#topics", cls="skip"),
        _header(release, title, *status(release.guarantee, odds)),
        tag("main", sections),
        _footer(release),
        data("data", facts.for_script()),
        Html(f'<script type="module">{script}</script>'),
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def write_report(
    release: Release,
    path: str | os.PathLike[str],
    *,
    title: str = "Topics",
    names: Mapping[int, str] | None = None,
    words: int = WORDS,
    overwrite: bool = False,
) -> Path:
    """Write the page, complete or not at all. Replaces an earlier report only with ``overwrite=True``, and never
    another file."""
    target = check_report(path, overwrite=overwrite)
    text = report_html(release, title=title, names=names, words=words)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.absolute().parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())  # a report may be given away: as readable as other new files
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C included
        os.unlink(temporary)
        raise
    return target


def check_report(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Where a report would be written, or an error; before anything is computed."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path} must end in .html, so that a browser opens it. Choose such a name.")
    if target.is_dir():
        raise InputError(f"{path} is a folder. Name a file that does not exist yet.")
    if target.exists() and not overwrite:
        raise InputError(f"{path} exists already. Choose another name, or pass overwrite=True.")
    if target.exists():
        with open(target, "rb") as file:
            start = file.read(2000)
        if start and MARK.encode() not in start:
            raise InputError(f"{path} is not an earlier report, so it is not overwritten. Choose another name.")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: its folder does not exist. Create it first.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from None
    return target


def _header(release: Release, title: str, kind: str, said: str) -> Html:
    sizes = f"{counted(release.n_topics, 'topic')}, {counted(release.n_words, 'word')}, method {release.method}"
    links = [
        ("promise", "What is promised"),
        ("topics", "Topics"),
        ("words", "Words"),
        ("map", "Map"),
        ("each", "Each topic"),
    ]
    links += [("check", "Left to do"), ("ledger", "What was charged"), ("made", "How it was made")]
    if release.n_topics < 2:
        links.remove(("map", "Map"))
    inner: list[Part] = [tag("a", name, href=f"#{place}") for place, name in links]
    return tag(
        "header",
        tag("h1", title),
        tag("p", sizes, cls="soft"),
        tag("p", said, cls=f"status {kind}"),
        tag("nav", inner, aria_label="Parts of this page"),
    )


def _footer(release: Release) -> Html:
    made = f"Made by discreet {release.versions.get('discreet', '')} from a model folder alone: "
    private = release.guarantee.basis == "proven"
    said = (
        "this page holds nothing that the folder does not hold, and loads nothing from anywhere. Names of topics are "
        "not covered by the guarantee."
        if private
        else "it loads nothing from anywhere. It is as confidential as the documents."
    )
    return tag("footer", tag("p", made + said, cls="soft"))


def _part(name: str) -> str:
    """A file of the page, without the end of its last line."""
    return (files("discreet.report") / "web" / name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
