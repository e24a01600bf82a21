"""The explorer in a real Chromium: lists to their end, keyboard, both themes, and attacks that do nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.explore.explorer import Explorer
from discreet.explore.guard import Guard
from tests.support import browser
from tests.support.exploring import every_page, explorer, hostile, model, notes, shown


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if browser.programs() is None:
        pytest.skip("Chromium or its driver is not installed (Debian: chromium, chromium-driver)")
    with browser.open_browser("--window-size=1200,900") as driver:
        yield driver


class Window:
    """A browser on the pages of an explorer."""

    def __init__(self, driver: Any, guard: Guard) -> None:
        self.driver, self.guard = driver, guard
        driver.get("about:blank")
        self.requests()

    def open(self, path: str = "") -> None:
        self.driver.get(self.guard.address + path)

    def documents(self) -> list[int]:
        found = self.driver.execute_script(
            "return [...document.querySelectorAll('table.documents tbody th a')].map((a) => a.textContent)"
        )
        return [int(d) for d in found]

    def click(self, text: str) -> bool:
        """Follow the first link with this text, if there is one, and wait for its page."""
        old = self.driver.current_url
        link = "[...document.querySelectorAll('main a')].find((a) => a.textContent.trim() === arguments[0])"
        if not self.driver.execute_script(f"const a = {link}; if (a) a.click(); return !!a;", text):
            return False
        end = time.monotonic() + 20
        ready = "return document.readyState === 'complete'"
        while self.driver.current_url == old or not self.driver.execute_script(ready):
            assert time.monotonic() < end, text
        return True

    def requests(self) -> list[str]:
        """The addresses of all requests since the last question, as Chromium's network log has them."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the console says, such as a resource that was refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def ranking(found: Explorer, topic: int) -> list[int]:
    known = np.flatnonzero(found.shares.known)
    order: list[int] = known[np.argsort(-found.shares.table[topic][known], kind="stable")].tolist()
    return order


def test_a_ranking_is_paged_to_its_end(chromium: Any, tmp_path: Path) -> None:
    with closing(explorer(notes(tmp_path / "notes.jsonl", 500))) as found, shown(found) as guard:
        window = Window(chromium, guard)
        chromium.get(guard.opening)
        assert chromium.current_url == guard.address
        window.click("0")
        seen = window.documents()
        while window.click("Next"):
            seen += window.documents()
        assert seen == ranking(found, 0)
        assert window.click("First")
        assert window.documents() == seen[:50]
        assert window.click(str(seen[0]))
        marks = chromium.execute_script("return [...document.querySelectorAll('mark')].map((m) => m.title)")
        assert set(marks) == {"topic 0"}
        assert window.click("Back to topic 0")
        assert all(url.startswith((guard.address, guard.opening, "data:,")) for url in window.requests())
        assert window.complaints() == []


@pytest.mark.long
def test_a_hundred_thousand_documents_are_paged(chromium: Any, tmp_path: Path) -> None:
    """The first 40 pages by their links, the last one, and pages in between by their place, in under a second each."""
    with closing(explorer(notes(tmp_path / "notes.jsonl", 100_000))) as found, shown(found) as guard:
        expected = ranking(found, 1)
        window = Window(chromium, guard)
        window.open("topic/1")
        seen = window.documents()
        for _ in range(39):
            assert window.click("Next")
            seen += window.documents()
        assert seen == expected[:2_000]
        slowest = 0.0
        for place in range(1, len(expected), 997):
            started = time.monotonic()
            window.open(f"topic/1?place={place}")
            slowest = max(slowest, time.monotonic() - started)
            assert window.documents() == expected[place - 1 : place + 49]
        assert slowest < 1.0
        assert window.click("Last")
        assert window.documents()[-1] == expected[-1]
        assert window.click("Previous")
        for path in ("documents?place=99990", "document/99999", "by/group", "by/label/1", "topic/0?by=group&class=3"):
            window.open(path)
            assert "do not publish" in chromium.page_source
        assert window.complaints() == []


def test_attacks_do_nothing(chromium: Any, tmp_path: Path) -> None:
    with closing(hostile(tmp_path)) as found, shown(found) as guard:
        window = Window(chromium, guard)
        for path in every_page(found):
            window.open(path)
            assert chromium.title.endswith(" · private"), path
            assert chromium.current_url == guard.address + path, path
            assert chromium.execute_script("return document.scripts.length + document.images.length") == 0
        assert window.complaints() == []  # the policy had nothing to refuse: nothing was an element
        assert {url.split("/")[2] for url in window.requests() if url.startswith("http")} == {
            guard.address.split("/")[2]
        }
        window.open("document/1")
        assert "<script>" in chromium.execute_script("return document.body.innerText")


def test_the_keyboard_reaches_everything(chromium: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    with closing(explorer(notes(tmp_path / "notes.jsonl"), other=model())) as found, shown(found) as guard:
        window = Window(chromium, guard)
        window.open("topic/1")
        focused = []
        for _ in range(12):
            chromium.switch_to.active_element.send_keys(Keys.TAB)
            focused.append(chromium.switch_to.active_element.text)
        assert focused[0] == "Skip to the content"
        menu = ["Topics", "Documents", "By label", "By group", "Measures", "Two models"]
        assert focused[1:7] == menu
        window.open("topic/1")
        chromium.find_element("name", "place").send_keys("101", Keys.ENTER)
        end = time.monotonic() + 10
        while "place=101" not in chromium.current_url:
            assert time.monotonic() < end
        assert window.documents() == ranking(found, 1)[100:150]


def luminance(colour: str) -> float:
    """Of rgb(…) as WCAG 2 has it."""
    parts = [int(part) / 255 for part in colour.split("(")[1].split(")")[0].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_in_both_themes(chromium: Any, tmp_path: Path, theme: str) -> None:
    """WCAG's contrast of 4.5 for text on every background that the style has: paper, cards, banner, bars, colours."""
    with closing(explorer(notes(tmp_path / "notes.jsonl", 50))) as found, shown(found) as guard:
        Window(chromium, guard).open()
        features = [{"name": "prefers-color-scheme", "value": theme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        script = """
            const made = document.createElement("span"), out = {};
            document.body.append(made);
            for (const name of arguments[0]) {
                made.style.setProperty("color", `var(--${name})`);
                out[name] = getComputedStyle(made).color;
            }
            return out;
        """
        marks = [*(f"c{i}" for i in range(8)), "other"]
        names = ["paper", "card", "ink", "soft", "accent", "warn", "warn-paper", "bar", *marks]
        value = {name: luminance(c) for name, c in chromium.execute_script(script, names).items()}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        pairs = [("ink", b) for b in ("paper", "card", "bar", *marks)] + [("warn", "warn-paper"), ("warn", "paper")]
        pairs += [(front, back) for front in ("soft", "accent") for back in ("paper", "card")] + [("accent", "bar")]
        assert (value["paper"] > 0.5) == (theme == "light")
        for front, back in pairs:
            high, low = max(value[front], value[back]), min(value[front], value[back])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)


def test_pages_are_as_wide_as_the_window_and_text_has_room(chromium: Any, tmp_path: Path) -> None:
    """With columns for labels and groups beside the text, also between a phone and a wide window."""
    with closing(explorer(notes(tmp_path / "notes.jsonl", 60))) as found, shown(found) as guard:
        window = Window(chromium, guard)
        for width in (390, 800, 1000, 1080):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            for path in ("document/1", "topic/0", "by/group"):
                window.open(path)
                assert chromium.execute_script("return document.documentElement.scrollWidth") <= width, (path, width)
            window.open("topic/0")
            shares = chromium.execute_script(
                "return ['.begins', 'table.documents'].map((s) => document.querySelector(s).offsetWidth)"
            )
            assert shares[0] >= (0.9 if width == 390 else 0.3) * shares[1], width
            ends = chromium.execute_script(
                "return [...document.querySelectorAll('.begins, caption')].map((e) => e.getBoundingClientRect().right)"
            )
            assert max(ends) <= width, "text can be read without scrolling to the side"
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
