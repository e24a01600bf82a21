"""HTML and SVG written safely: every text is escaped unless it was made here.

>>> print(tag("td", "<script>", Html("<b>5</b>"), cls="number"))
<td class="number">&lt;script&gt;<b>5</b></td>
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any, TypeAlias

VOID = frozenset({"col", "input", "meta"})
"""HTML elements without an end."""

EMPTY = frozenset({"rect", "path", "line"})
"""SVG elements that this package never fills."""


_POWER = re.compile(r"(\d(?:\.\d+)?e-\d+)")


class Html(str):
    """Text that is markup already, and safe."""

    __slots__ = ()


Part: TypeAlias = "str | Html | Iterable[Part] | None"
"""What may stand inside an element: text, which is escaped, or markup."""


def join(*parts: Part) -> Html:
    return Html("".join(_text(part) for part in parts))


def tag(name: str, /, *parts: Part, **attributes: Any) -> Html:
    """An element. ``cls`` is its class; ``_`` in the name of an attribute is a hyphen, and a last one is left out.

    An attribute that is None or False is left out; True has no value.
    """
    written = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{written}>")
    if name in EMPTY:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(*parts)}</{name}>")


def whole(text: str) -> list[Part]:
    """A sentence in which no line ends inside a number such as 1e-06."""
    return [tag("span", part, cls="whole") if i % 2 else part for i, part in enumerate(_POWER.split(text))]


def data(identifier: str, value: Any) -> Html:
    """JSON that a script reads. ``<`` is written as an escape, so nothing in it can end the element."""
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Html(f'<script type="application/json" id="{escape(identifier)}">{safe}</script>')


def table(
    caption: Part,
    columns: Iterable[Part],
    rows: Iterable[Iterable[Part]],
    *,
    numbers: Iterable[int] = (),
    cls: str | None = None,
) -> Html:
    """The first cell of each row is its heading. Columns whose places are in ``numbers`` are aligned to the right."""
    right = frozenset(numbers)
    head = [tag("th", name, scope="col", cls="number" if i in right else None) for i, name in enumerate(columns)]
    body = [
        tag(
            "tr",
            [
                tag("th", cell, scope="row", cls="number" if 0 in right else None)
                if i == 0
                else tag("td", cell, cls="number" if i in right else None)
                for i, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    made = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body), cls=cls)
    return tag("div", made, cls="scroll", tabindex="0", role="region", aria_label=_plain(caption))


def percent(share: float, most: int = 3) -> str:
    """Three digits of a probability, at most ``most`` of them after the point. (The script writes the same.)"""
    value = 100 * share
    return f"<{10.0**-most:g}%" if 0 < value < 10.0**-most else f"{value:.{_digits(value, most)}f}%"


def plus_minus(error: float, share: float, most: int = 3) -> str:
    """An error in percent, with as many digits after the point as its share has. One that is not zero never looks like
    it. (The script writes the same.)"""
    value, digits = 100 * error, _digits(100 * share, most)
    least = 10.0**-digits
    return f"± <{least:g}" if 0 < value < least / 2 else f"± {value:.{digits}f}"


def _digits(value: float, most: int) -> int:
    return min(1 if value >= 10 else 2 if value >= 1 else 3, most)


def _text(part: Part) -> str:
    if part is None:
        return ""
    if isinstance(part, Html):
        return part
    if isinstance(part, str):
        return escape(part)
    return "".join(_text(one) for one in part)


def _name(key: str) -> str:
    return "class" if key == "cls" else key.rstrip("_").replace("_", "-")


def _plain(part: Part) -> str:
    return part if isinstance(part, str) and not isinstance(part, Html) else "table"
