"""The report in a real Chromium, opened from disk: it asks for nothing, sorts, finds words, prints, and stays calm."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.report import write_report
from tests.support import browser
from tests.support.releases import NASTY, make_release, nasty_release


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if browser.programs() is None:
        pytest.skip("Chromium or its driver is not installed (Debian: chromium, chromium-driver)")
    with browser.open_browser() as driver:
        yield driver


class Page:
    """A report that is open in the browser."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver, self.path = driver, path
        driver.get("about:blank")
        driver.get_log("performance")
        driver.get_log("browser")
        driver.get(path.as_uri())
        end = time.monotonic() + 30
        while not self.run("return document.documentElement.classList.contains('ready')"):
            assert time.monotonic() < end, "the script did not run"
            time.sleep(0.05)

    def run(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def texts(self, selector: str) -> list[str]:
        found = self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)
        return [str(text) for text in found]

    def give(self, selector: str, value: str) -> None:
        """Set a field as a person would, and wait for the next picture."""
        self.driver.execute_async_script(
            """
            const [selector, value, done] = arguments, field = document.querySelector(selector);
            field.value = value;
            field.dispatchEvent(new Event("input", { bubbles: true }));
            requestAnimationFrame(() => requestAnimationFrame(done));
            """,
            *(selector, value),
        )

    def requests(self) -> list[str]:
        """Every request, also one that the policy stopped."""
        return [event["request"]["url"] for name, event in self._log() if name == "Network.requestWillBeSent"]

    def stopped(self) -> list[str]:
        """Why requests came to nothing."""
        return [event.get("blockedReason", "") for name, event in self._log() if name == "Network.loadingFailed"]

    def _log(self) -> list[tuple[str, dict[str, Any]]]:
        found = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [(event["method"], event["params"]) for event in found]

    def complaints(self) -> list[str]:
        """Errors of the script and breaches of the policy."""
        return [str(entry["message"]) for entry in self.driver.get_log("browser")]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Page:
    return Page(chromium, write_report(make_release(), tmp_path / "report.html", names={2: "apple", 0: "pear"}))


def numbers(page: Page, selector: str) -> list[int]:
    code = "return [...document.querySelectorAll(arguments[0])].map((e) => Number(e.dataset.number))"
    return [int(number) for number in page.run(code, selector)]


def test_it_asks_for_nothing(opened: Page) -> None:
    opened.give("#word", "word1")
    opened.give("#relevance", "0.2")
    opened.run("document.querySelector('[data-sort=share]').click()")
    assert opened.requests() == [opened.path.as_uri()]
    assert opened.complaints() == []


def test_the_policy_would_stop_a_request(opened: Page) -> None:
    """So that the test above could fail: an image and a style that somebody adds are blocked, and reported."""
    opened.run(
        """
        const image = document.createElement("img");
        image.src = "https://example.org/x.png";
        document.body.append(image);
        document.body.insertAdjacentHTML("beforeend", "<p style='color: red' id='styled'>x</p>");
        """
    )
    time.sleep(0.3)
    assert opened.stopped() == ["csp"]
    assert len([line for line in opened.complaints() if "Content Security Policy" in line]) >= 2


def test_topics_are_sorted_and_keep_their_numbers(opened: Page) -> None:
    shares = make_release().topic_shares
    falling = np.argsort(-shares).tolist()
    opened.run("document.querySelector('[data-sort=share]').click()")
    assert numbers(opened, "#overview tbody tr") == numbers(opened, "#cards > *") == falling
    assert opened.run("return document.querySelector('th[aria-sort]').textContent.trim()") == "share"
    opened.run("document.querySelector('[data-sort=share]').click()")
    assert numbers(opened, "#overview tbody tr") == falling[::-1]
    opened.run("document.querySelector('[data-sort=name]').click()")
    assert numbers(opened, "#cards > *") == [2, 0, 1, 3]  # apple, pear, and those without a name
    opened.run("document.querySelector('[data-sort=number]').click()")
    assert numbers(opened, "#cards > *") == [0, 1, 2, 3]
    assert opened.complaints() == []


def test_words_are_found(opened: Page) -> None:
    release = make_release()
    opened.give("#word", " Word7 ")
    uses = release.topic_shares * release.topics[:, 7]
    order = np.argsort(-uses)
    rows = opened.texts("#found tbody tr th")
    assert [int(row.split()[0]) for row in rows] == order[: len(rows)].tolist()
    assert opened.texts("#found tbody tr td")[0] == f"{100 * uses.max() / uses.sum():.0f}%"
    assert set(opened.run("return [...document.querySelectorAll('.map .found')].map((e) => +e.dataset.topic)")) == set(
        order[: len(rows)].tolist()
    )
    opened.give("#word", "ord5")
    assert "is not a word of this model" in opened.texts("#found")[0]
    assert opened.texts("#found .matches button") == ["word5", *(f"word5{i}" for i in range(10))]
    opened.run("document.querySelector('#found .matches button').click()")
    assert opened.texts("#found strong") == ["word5"]
    opened.give("#word", "")
    assert opened.texts("#found") == [""]


def test_the_slider_ranks_as_the_formula_does(opened: Page) -> None:
    release = make_release()
    usual = release.topic_shares @ release.topics
    first = opened.texts("table.best th[scope=row]")
    for weight in (0.0, 0.6, 1.0):
        opened.give("#relevance", str(weight))
        shown = np.array(opened.texts("table.best th[scope=row]")).reshape(4, 12)
        relevance = weight * np.log(release.topics) + (1 - weight) * np.log(release.topics / usual)
        for k in range(4):
            expected = [release.vocabulary[w] for w in np.argsort(-relevance[k])[:12]]
            assert shown[k].tolist() == expected, (weight, k)
    assert opened.texts("table.best th[scope=row]") == first
    assert opened.texts("#relevance-value") == ["1"]


def test_the_script_draws_what_python_drew(opened: Page) -> None:
    """Back at λ = 1, words, numbers, bars and whiskers are those of the file. (It has four digits of a probability.)"""

    def drawn() -> tuple[list[str], Any]:
        code = "return [...document.querySelectorAll('#cards table')].map((t) => t.tBodies[0].innerHTML).join()"
        texts, html = opened.texts("#cards tbody tr"), str(opened.run(code))
        return texts, [float(number) for number in re.findall(r"\d+\.\d+", html)]

    texts, places = drawn()
    opened.give("#relevance", "0.5")
    assert drawn()[0] != texts
    opened.give("#relevance", "1")
    again, near = drawn()
    assert again == texts
    np.testing.assert_allclose(near, places, atol=0.11)


def test_markup_in_words_and_names_is_inert(chromium: Any, tmp_path: Path) -> None:
    names = {0: NASTY, 1: "<img src=x onerror=\"document.title='broken'\">"}
    page = Page(chromium, write_report(nasty_release(), tmp_path / "nasty.html", names=names, title="safe"))
    for text in (NASTY, "</script>", "<img", "<!--", "img"):
        page.give("#word", text)
    page.give("#relevance", "0.1")
    page.run("document.querySelector('[data-sort=name]').click()")
    assert page.run("return document.title") == "safe"
    assert page.run("return document.querySelectorAll('img, main script, #found script').length") == 0
    assert NASTY in page.texts("#cards")[0]
    assert page.complaints() == []
    assert page.requests() == [page.path.as_uri()]


def test_it_prints_on_a4(opened: Page) -> None:
    pdf = base64.b64decode(opened.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert pdf.startswith(b"%PDF")
    boxes = pdf.split(b"/MediaBox")[1:]
    assert 2 <= len(boxes) <= 12
    width, height = (float(n) for n in boxes[0].split(b"]")[0].strip(b" [").split()[2:4])
    assert (round(width), round(height)) == (595, 842)
    # what is folded away is printed too
    opened.run("dispatchEvent(new Event('beforeprint'))")
    assert opened.run("return document.querySelectorAll('details:not([open])').length") == 0
    opened.run("dispatchEvent(new Event('afterprint'))")
    assert opened.run("return document.querySelectorAll('details[open]').length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_fits_the_window_in_both_themes(opened: Page, theme: str, width: int) -> None:
    feature = {"name": "prefers-color-scheme", "value": theme}
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    try:
        opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert opened.run("return document.documentElement.scrollWidth") <= width
        paper = opened.run("return getComputedStyle(document.body).backgroundColor")
        level = sum(int(n) for n in paper.strip("rgb()").split(",")) / 3
        assert (level > 200) if theme == "light" else (level < 60)
    finally:
        opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        opened.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_can_be_read_without_seeing_and_used_without_a_mouse(opened: Page) -> None:
    found = opened.run(
        """
        const all = (s) => [...document.querySelectorAll(s)];
        const label = (e) => e.labels?.[0]?.textContent || e.getAttribute("aria-label") || e.textContent;
        const named = (e) => label(e).trim();
        const tables = (e) => e.querySelectorAll("table").length;
        return {
          landmarks: ["header", "nav", "main", "footer"].map((n) => all(`body > ${n}, header > ${n}`).length),
          language: document.documentElement.lang,
          headings: all("h1, h2, h3").map((e) => Number(e.tagName[1])),
          unnamed: all("input, button, section, table, svg[role]").filter((e) =>
            e.tagName === "SECTION" ? !document.getElementById(e.getAttribute("aria-labelledby"))
            : e.tagName === "TABLE" ? !e.caption?.textContent : !named(e)).map((e) => e.outerHTML.slice(0, 90)),
          headless: all("table").filter((t) => !t.tHead).length,
          bodies: all("tbody tr").filter((r) => r.cells[0].scope !== "row").length,
          figures: all("figure").map((f) => tables(f) || tables(f.parentNode)),
          hidden: all("svg:not([role=img]):not([aria-hidden=true])").length,
          scrollers: all(".scroll:not([tabindex='0'])").length,
        };
        """
    )
    assert found["landmarks"] == [1, 1, 1, 1]
    assert found["language"] == "en"
    assert found["headings"][0] == 1
    assert all(b - a <= 1 for a, b in zip(found["headings"], found["headings"][1:], strict=False))
    assert found["unnamed"] == []
    assert {name: found[name] for name in ("headless", "bodies", "hidden", "scrollers")} == {
        "headless": 0,
        "bodies": 0,
        "hidden": 0,
        "scrollers": 0,
    }
    assert all(n >= 1 for n in found["figures"])
    assert len(found["figures"]) == 3
    from selenium.webdriver import ActionChains, Keys

    opened.run("document.querySelector('[data-sort=share]').focus()")
    ActionChains(opened.driver).send_keys(Keys.ENTER).perform()
    assert opened.run("return document.querySelector('th[aria-sort]').textContent.trim()") == "share"
    opened.run("document.getElementById('relevance').focus()")
    ActionChains(opened.driver).send_keys(Keys.ARROW_LEFT).perform()
    assert opened.texts("#relevance-value") == ["0.9"]


@pytest.mark.long
def test_it_survives_a_large_model(chromium: Any, tmp_path: Path) -> None:
    """200 topics of 20,000 words: it opens, sorts, finds and prints, each within seconds."""
    release = make_release(200, 20_000)
    page = Page(chromium, write_report(release, tmp_path / "large.html"))
    start = time.monotonic()
    page.run("document.querySelector('[data-sort=share]').click()")
    page.give("#word", "word19999")
    page.give("#relevance", "0.4")
    assert numbers(page, "#cards > *") == np.argsort(-release.topic_shares, kind="stable").tolist()
    assert page.texts("#found strong") == ["word19999"]
    pdf = base64.b64decode(page.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
    assert time.monotonic() - start < 60
    assert page.complaints() == []
