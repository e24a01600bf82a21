"""The site: its lists are complete, its checker finds what is broken, and its notebooks show what a run printed.

`make docs` builds it, and `docs/run_notebooks.py` runs the notebooks; `.ci/run` does both.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import discreet
from tests.contract.test_docs import ROOT, loaded

DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
ENTRY = re.compile(r"^\.\. auto(?:class|function|exception|module):: ([\w.]+)$", re.MULTILINE)

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def entries() -> list[str]:
    return [name for page in sorted((DOCS / "api").glob("*.rst")) for name in ENTRY.findall(page.read_text("utf-8"))]


def test_every_public_name_is_in_the_api_once() -> None:
    counted = Counter(entries())
    assert [name for name, times in counted.items() if times > 1] == []
    modules = {"datasets": "discreet.corpus.datasets"}
    missing = [name for name in discreet.__all__ if modules.get(name, f"discreet.{name}") not in counted]
    assert missing == [], "list them on a page of docs/api"


def test_every_entry_of_the_api_exists() -> None:
    for name in entries():
        parts = name.split(".")
        home = next(n for n in range(len(parts), 0, -1) if is_module(".".join(parts[:n])))
        assert reduce(getattr, parts[home:], import_module(".".join(parts[:home]))) is not None


def is_module(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def test_every_page_of_the_api_is_listed() -> None:
    listed = (DOCS / "api/index.rst").read_text("utf-8").split()
    for page in (DOCS / "api").glob("*.rst"):
        assert page.stem in [*listed, "index"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#there">ok</a><a href="https://example.org/">outside</a><img src="data:,x">', None),
        ('<a href="nowhere.html">broken</a>', "index.html: no file behind nowhere.html"),
        ('<a href="other.html#elsewhere">broken</a>', "index.html: no anchor behind other.html#elsewhere"),
        ('<a href="#elsewhere">broken</a>', "index.html: no anchor behind #elsewhere"),
        ('<img src="lost.svg">', "index.html: no file behind lost.svg"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "index.html: asks the network for https://cdn.example/x.js",
        ),
        ('<link href="//cdn.example/x.css">', "index.html: asks the network for //cdn.example/x.css"),
    ],
)
def test_the_checker_of_the_site_finds_what_is_broken(body: str, problem: str | None, tmp_path: Path) -> None:
    problems = loaded(DOCS / "check_site.py").problems
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "other.html").write_text('<p id="there">')
    assert problems(tmp_path) == ([] if problem is None else [problem])


def test_the_checker_does_not_pass_an_empty_site(tmp_path: Path) -> None:
    assert loaded(DOCS / "check_site.py").problems(tmp_path) == [f"{tmp_path} has no pages"]


def test_there_are_three_notebooks_and_a_list_of_them() -> None:
    assert len(NOTEBOOKS) >= 3
    page = (DOCS / "notebooks/index.md").read_text("utf-8")
    for path in NOTEBOOKS:
        assert f"({path.name})" in page
        assert f"\n{path.stem}\n" in page


@every_notebook
def test_a_notebook_shows_one_whole_run_on_real_data(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    shown = json.dumps(outputs, ensure_ascii=False)
    assert "for want of" not in shown, "it ran without the data sets: set DISCREET_DATA and `make notebooks`"
    assert "proven" in shown
    assert not re.search(r"/(home|root|work|tmp|Users)/", path.read_text("utf-8"))
