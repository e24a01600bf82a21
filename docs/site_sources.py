"""A Sphinx extension: source files as pages of the site, with colours.

Links of Markdown pages to source files lead there (MyST would make downloads of them), and so do the links beside the
entries of the API. ``sphinx.ext.viewcode`` is not used: it takes names that are resolved on first use, as ours are, for
those of another module, and its links back lead nowhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

LINKED = "linked_sources"
"""Key of a page's metadata, which Sphinx forgets and merges together with the page."""


def uri_of(app: Sphinx, path: str) -> str:
    """The address of a file's page, as seen from the page that is being read; the file will have a page."""
    app.env.metadata[app.env.docname].setdefault(LINKED, []).append(path)
    return app.builder.get_relative_uri(app.env.docname, path)


class SourceLinks(SphinxTransform):
    """Runs while a page is read: afterwards Sphinx would have copied the files to download."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        for link in list(self.document.findall(addnodes.download_reference)):
            path, _ = self.env.relfn2path(link["reftarget"], self.env.docname)
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri_of(self.app, path), internal=True))


def place(module: str, name: str, root: Path) -> tuple[str, int] | None:
    """File and line where an object is defined; None if it has no code of its own, as fields have none."""
    found: Any = reduce(lambda outer, inner: getattr(outer, inner, None), name.split("."), import_module(module))
    found = inspect.unwrap(getattr(found, "fget", None) or found)
    try:
        file, (_, line) = inspect.getsourcefile(found), inspect.getsourcelines(found)
    except TypeError:
        return None
    path = Path(file or "")
    return (str(path.relative_to(root)), line) if path.is_relative_to(root) else None


def add_source_links(app: Sphinx, doctree: nodes.document) -> None:
    for entry in doctree.findall(addnodes.desc_signature):
        where = place(entry["module"], entry["fullname"], Path(app.srcdir)) if entry.get("module") else None
        if where is not None:
            uri = f"{uri_of(app, where[0])}#L-{where[1]}"
            text = nodes.inline("", "[source]", classes=["viewcode-link"])
            entry += nodes.reference("", "", text, refuri=uri, internal=True)


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    paths = {path for metadata in app.env.metadata.values() for path in metadata.get(LINKED, [])}
    for path in sorted(paths):
        text = Path(app.srcdir, path).read_text("utf-8")
        language = "python" if path.endswith(".py") else "none"
        body = app.builder.highlighter.highlight_block(text, language, lineanchors="L")
        yield path, {"title": Path(path).name, "body": f"<h1><code>{path}</code></h1>\n{body}"}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(SourceLinks)
    app.connect("doctree-read", add_source_links)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
