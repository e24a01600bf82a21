"""Checks a built site: every internal link and anchor leads somewhere, and no page asks the network for anything.

``python docs/check_site.py build/site`` prints what is wrong, one line each, and exits with 1.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""What a browser fetches by itself; of <link> also icons and style sheets."""


@dataclass
class Page(HTMLParser):
    """Ids and references of one page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loaded.append(found[LOADED[tag]])


def parsed(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


def problems(site: Path) -> list[str]:
    pages = {path.resolve(): parsed(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    if not pages:
        return [f"{site} has no pages"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme != "data":
                    found.append(f"{name}: asks the network for {target}")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not file.is_file():
                found.append(f"{name}: no file behind {target}")
            elif anchor and file in pages and anchor not in pages[file].ids:
                found.append(f"{name}: no anchor behind {target}")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong) or "all links and anchors lead somewhere")
    sys.exit(bool(wrong))
