"""The ledger as a history that people can read, the noise of local reports, and how the model was made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from discreet._errors import InputError
from discreet.privacy import Basis, Entry, Observer
from discreet.privacy.guarantee import rounded_up
from discreet.privacy.odds import Guess, percent
from discreet.privacy.told import steps, told
from discreet.release.release import Release
from discreet.report.markup import Html, Part, table, tag


def history(release: Release) -> Html:
    parts: list[Part] = [tag("h2", "What was charged", id="ledger-title")]
    entries = _entries(release)
    if entries is None:
        parts.append(tag("p", "The ledger of this model cannot be read by this version of the program."))
    elif not entries:
        local = release.guarantee.observer is Observer.REPORT
        said = (
            "Nothing: noise was added on each device, and there is no ledger."
            if local
            else "Nothing: there is no ledger."
        )
        parts.append(tag("p", said))
    else:
        unit = str(release.guarantee.unit or "unit")
        unsaid = release.guarantee.basis is Basis.NONE
        remark = " This run promises nothing all the same: see above." if unsaid else ""
        parts += [
            tag(
                "p",
                "Each step was charged before its noise was drawn. Noise is told in multiples of the most that one "
                f"{unit} can change the released numbers, all together.{remark}",
                cls="soft",
            ),
            _steps(entries, release),
        ]
    return tag("section", parts, id="ledger", aria_labelledby="ledger-title")


def _entries(release: Release) -> list[Entry] | None:
    try:
        return [Entry.from_json(entry) for entry in release.ledger]
    except InputError:
        return None


def _steps(entries: Sequence[Entry], release: Release) -> Html:
    from discreet.privacy import accounting

    rows: list[tuple[str, ...]] = []
    before: list[Entry] = []
    delta, unit = release.guarantee.delta, str(release.guarantee.unit or "unit")
    if release.guarantee.basis is Basis.NONE:  # seeded, for instance: its planned δ
        planned = release.parameters.get("delta")
        delta = planned if isinstance(planned, float) and 0 < planned < 1 else 1e-6
    for number, (label, times, together) in enumerate(steps(entries), start=1):
        before += together
        so_far = accounting.epsilon(before, delta)
        rows.append((str(number), label, f"{times:,}", told(together, unit), rounded_up(so_far, 4)))
    columns = ("step", "released", "times", "how", f"ε so far, at δ = {delta:g}")
    return table("The ledger, step by step", columns, rows, numbers=(0, 2, 4))


# --- local models -----------------------------------------------------------------------------------------------------


def local(release: Release) -> Html | None:
    """The noise of a report and the number of reports, for models of randomised reports."""
    epsilon, words = release.parameters.get("epsilon_bit"), release.parameters.get("report_words")
    if release.method not in ("local", "online-local") or not isinstance(epsilon, int | float):
        return None
    from discreet.mechanisms.local import RandomisedResponse

    try:
        response = RandomisedResponse.for_epsilon(epsilon, release.n_words, words)
    except InputError:
        return None
    counts = release.history.get("n_reports") or []
    rows = [
        ("a word that is in the text is reported", f"{1 - response.flip:.1%} of the time"),
        ("a word that is not in the text is reported", f"{response.flip:.1%} of the time"),
        ("false words in a report", f"{response.flip * release.n_words:,.1f} on average, of {release.n_words:,}"),
        ("words of a text that are reported, at most", f"{words:,}" if words else "all"),
        ("ε of one word", rounded_up(response.epsilon_word)),
        ("ε of a whole report replaced by another", rounded_up(response.epsilon_report)),
        (
            "right guesses which of two texts a report is of",
            f"{percent(Guess.of(response.epsilon_report, 0).accuracy)} at most",
        ),
    ]
    if counts:
        n = int(counts[-1])
        deviation = float(response.variance(n)) ** 0.5
        rows += [
            ("reports", f"{n:,}"),
            (
                "error of the estimated number of reports with a given word",
                f"± {deviation:,.0f} ({deviation / max(n, 1):.2%} of them)",
            ),
        ]
    return tag(
        "section",
        tag("h2", "The noise in each report", id="local-title"),
        tag(
            "p",
            "The bits of each report were flipped by chance before it was sent: one bit for each word of the list.",
            cls="soft",
        ),
        table("Noise level and counts", ("of a report", "value"), rows),
        id="local",
        aria_labelledby="local-title",
    )


# --- how it was made --------------------------------------------------------------------------------------------------


def making(release: Release) -> Html:
    planned = [(name, _value(value)) for name, value in sorted(release.parameters.items()) if value is not None]
    versions = [(name, text) for name, text in sorted(release.versions.items())]
    rows = [("method", release.method), *planned]
    if release.tokenizer is not None:
        rows += [
            (f"words: {name}", _value(value))
            for name, value in release.tokenizer.to_json().items()
            if value is not None
        ]
    inner = [
        table("Parameters", ("parameter", "value"), rows),
        table("Versions of the software", ("software", "version"), versions) if versions else None,
    ]
    return tag(
        "section",
        tag("h2", "How it was made", id="made-title"),
        tag("details", tag("summary", "Parameters and versions"), inner),
        id="made",
        aria_labelledby="made-title",
    )


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
