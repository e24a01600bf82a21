"""axe-core finds nothing, in both themes, in any kind of page that people open: reports, trends, the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Guarantee, Release
from discreet.privacy import EXACT_COUNTS
from discreet.report import write_report
from discreet.trends.page import html
from tests.contract.test_trends_page import made
from tests.support import axe, browser
from tests.support.exploring import explorer, model, notes, shown
from tests.support.releases import make_release, nasty_release


@pytest.fixture(scope="module")
def script() -> str:
    found = axe.script()
    if found is None:
        pytest.skip(f"axe-core is not here: {axe.VARIABLE} names no axe.min.js (npm install axe-core)")
    return found


@pytest.fixture(scope="module")
def chromium(script: str) -> Iterator[Any]:
    if browser.programs() is None:
        pytest.skip("Chromium or its driver is not installed (Debian: chromium, chromium-driver)")
    with browser.open_browser("--window-size=1200,900") as driver:
        yield driver


def reports() -> dict[str, Release]:
    """One of each kind that the report shows in another way."""
    noisy = np.full((4, 60), 0.05)  # hollow bars
    return {
        "proven": make_release(),
        "noisy": make_release(standard_errors=noisy),
        "none": make_release(guarantee=Guarantee.none(EXACT_COUNTS), ledger=[], standard_errors=None, method="lda"),
        "adapted": make_release(topic_shares=np.array([0.5, 0.3, 0.199, 0.001]), share_errors=np.full(4, 0.01)),
        "collections": nasty_release(),
        "local": make_release(
            method="local",
            parameters={"epsilon_bit": 2.0, "report_words": None},
            history={"n_reports": [1000]},
            topic_shares=None,
            standard_errors=None,
        ),
    }


@pytest.mark.parametrize("kind", reports())
def test_reports(chromium: Any, script: str, tmp_path: Path, kind: str) -> None:
    path = write_report(reports()[kind], tmp_path / "report.html", names={0: "weather"})
    chromium.get(path.as_uri())
    chromium.execute_script(
        """
        for (const part of document.querySelectorAll("details")) part.open = true;
        const field = document.querySelector("#word");
        field.value = "word1";
        field.dispatchEvent(new Event("input", { bubbles: true }));
        """
    )
    assert axe.violations(chromium, script) == []


@pytest.mark.parametrize("by", ["month", "class"])
def test_trends(chromium: Any, script: str, tmp_path: Path, by: str) -> None:
    (tmp_path / "trends.html").write_text(html(made(by)), encoding="utf-8")
    chromium.get((tmp_path / "trends.html").as_uri())
    assert axe.violations(chromium, script) == []


def test_the_explorer(chromium: Any, script: str, tmp_path: Path) -> None:
    columns = {"label": "kind", "group": "who"}
    found = explorer(notes(tmp_path / "notes.jsonl"), other=model(), names={0: "weather"}, **columns)
    paths = ["", "topic/1", "topic/0?by=label&class=0", "documents", "document/0", "document/3", "document?number=x"]
    paths += ["by/label", "by/label/0", "by/group", "measures", "compare"]
    with closing(found), shown(found) as guard:
        for path in paths:
            chromium.get(guard.address + path)
            assert axe.violations(chromium, script) == [], path


def test_it_would_find_a_fault(chromium: Any, script: str, tmp_path: Path) -> None:
    page = "<!doctype html><title>x</title><main><h1>x</h1><img src='data:,'><p style='color: #999'>pale</p></main>"
    (tmp_path / "page.html").write_text(page)
    chromium.get((tmp_path / "page.html").as_uri())
    found = axe.violations(chromium, script)
    assert any("image-alt" in one for one in found)
    assert any("color-contrast" in one for one in found)
