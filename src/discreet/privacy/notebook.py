"""HTML of guarantees and ledgers for notebooks: small, without styles, every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from discreet.privacy.told import steps, told

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.ledger import Ledger


def guarantee_html(guarantee: Guarantee) -> str:
    """The summary line in bold, then the full paragraph."""
    return f"<p><b>{escape(guarantee.summary())}</b></p><p>{escape(str(guarantee))}</p>"


def ledger_html(ledger: Ledger) -> str:
    """What was charged as a table, between the first and the last line of the printed text."""
    title, *rest = str(ledger).splitlines()
    end = rest[len(ledger.entries) :]
    rows = "".join(
        f"<tr><td>{escape(label)}</td><td>{times:,}</td><td>{escape(told(together, str(ledger.unit)))}</td></tr>"
        for label, times, together in steps(ledger.entries)
    )
    head = "<tr><th>charged for</th><th>times</th><th>how</th></tr>"
    table = f"<table>{head}{rows}</table>" if rows else ""
    return f"<p><b>{escape(title)}</b></p>{table}" + "".join(f"<p>{escape(line)}</p>" for line in end)
