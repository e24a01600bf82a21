"""The page of trends: whole in one file, no request, no script, words inert, a table behind each figure."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet import Guarantee, Trends
from discreet.privacy import Unit
from discreet.trends.page import html
from tests.support.browser import open_browser, programs

HOSTILE = ("<script>document.title='hurt'</script>", '"><img src=x onerror=alert(1)>', "&amp;", "'; --", "\u202eabc")


def made(by: str = "month", n: int = 24, k: int = 3) -> Trends:
    """The first slices and one in the middle are too small."""
    sums = np.abs(np.random.default_rng(1).normal(300, 60, (n, k)))
    sums[[0, 1, n // 2]] = 1.0
    names = (
        tuple(f"<i>{HOSTILE[i % 5]}{i}" for i in range(n)) if by == "class" else tuple(f"2015-{i:02}" for i in range(n))
    )
    return Trends(by, names, sums, 8.0, (HOSTILE,) * k, Unit.USER, Guarantee.none("<u>reason</u>"), [], 1.25)


class Parsed(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


@pytest.mark.parametrize("by", ["month", "class"])
def test_nothing_from_outside_becomes_markup(by):
    parsed = Parsed(html(made(by), title="<b>&"))
    assert not {"script", "img", "link", "iframe", "object", "i", "u", "a"} & set(parsed.tags)
    assert {name for name, _ in parsed.attributes} & {"src", "href", "style", "onerror", "onload"} == set()
    assert parsed.tags.count("svg") == parsed.tags.count("figure") == 3
    assert parsed.tags.count("table") == 3 + 1  # behind each figure, and the sizes
    policy = next(value for _, value in parsed.attributes if value and value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_figures_show_released_numbers_and_gaps():
    trends = made()
    page = html(trends)
    first = page.partition("<svg")[2].partition("</svg>")[0]
    assert len(re.findall(r'class="few"', first)) == 2  # two runs of slices without shares
    assert len(re.findall(r"<polyline", first)) == 2
    assert len(re.findall(r"<circle", first)) == 21
    numbers = page.partition("Numbers of topic 0")[2].partition("</table>")[0]
    assert numbers.count("<tr>") == 25
    assert numbers.count("<td>–</td>") == 6
    assert f"{100 * trends.shares[3, 0]:.2f}%" in numbers
    assert "ε = 1.25" in page
    assert "A user in n slices counts" in page
    empty = made()
    empty.sums[:] = 0.0
    assert "No slice is large enough" in html(empty)
    assert "<svg" not in html(empty)
    one = made(n=4)
    one.sums[:3] = 0.0
    assert html(one).count('class="dot"') == 3


@pytest.mark.skipif(programs() is None, reason="no Chromium here")
def test_a_browser_opens_it_from_disk_and_asks_for_nothing(tmp_path):
    (tmp_path / "page.html").write_text(html(made("class")), encoding="utf-8")
    with open_browser() as browser:
        browser.get("about:blank")
        browser.get_log("performance")  # what the browser asked for by itself
        browser.get((tmp_path / "page.html").as_uri())
        assert browser.title == "Topics by class"
        assert browser.get_log("browser") == []  # no violation of the policy, no error
        events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        sent = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        assert all(url.startswith("file://") and url.endswith("page.html") for url in sent)
        assert browser.execute_script("return getComputedStyle(document.querySelector('svg')).display") == "block"
        colours = set()
        for theme in ("light", "dark"):
            given = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", given)
            colours.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert colours == {"rgb(255, 255, 255)", "rgb(22, 22, 22)"}
        browser.set_window_size(360, 700)
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_paper_is_white_whatever_the_theme():
    assert "@media screen and (prefers-color-scheme: dark)" in html(made())
