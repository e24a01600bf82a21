"""Sphinx: the Markdown pages of this repository as a site, with the API from docstrings.

The source folder is the repository itself (``sphinx-build -c docs . build/site``), so that a link between two files is
right on a code host and in the site: pages link to proofs beside the code, and proofs link back.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))  # for site_sources

project = "discreet"
author = "the authors of discreet"
release = version = version_of("discreet")
language = "en"

extensions = [
    "myst_nb",  # Markdown (MyST) and notebooks
    "sphinx.ext.autodoc",
    "numpydoc",
    "site_sources",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "src/discreet/**/*.md",
]
exclude_patterns = ["**/.ipynb_checkpoints"]

# --- Markdown and notebooks

myst_heading_anchors = 4  # links name headings as code hosts do
nb_execution_mode = "off"  # they show what they printed on real data (run_notebooks.py)

# --- API

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # docstrings say types in words
numpydoc_show_class_members = False  # autodoc lists them
add_module_names = False

nitpicky = True  # a name in a docstring that leads nowhere is an error


def skip_member(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """scikit-learn adds methods that route metadata to every estimator, and documents them itself."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


# --- pages

html_theme = "pydata_sphinx_theme"
html_title = f"discreet {release}"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # index.html, which leads to docs/index.html
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which browsers refuse to do from disk
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_theme_options = {
    "logo": {"text": "discreet"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


TOCTREE = re.compile(r"^```{toctree}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def list_the_rest(app: Sphinx, docname: str, source: list[str]) -> None:
    """A page of ``docs`` that no section names is listed in the guide, before the page on local collection."""
    if docname != "docs/guide":
        return
    pages = {path.stem: path.read_text("utf-8") for path in sorted(Path(app.confdir).glob("*.md"))}
    lists = "".join(block for text in pages.values() for block in TOCTREE.findall(text))
    rest = [name for name in pages if name not in {*lists.splitlines(), "index"}]
    source[0] = source[0].replace("\ncollecting\n", "\n".join(["", *rest, "collecting", ""]))
    app.env.note_reread()  # there may be new pages next time


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", list_the_rest)
