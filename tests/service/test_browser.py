"""The browser's client in a real Chromium: the same words and the same flips as in Python, and nothing else is sent."""

from __future__ import annotations

import json
import math
import re
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.collector.service.app import create_app
from discreet.collector.store.engine import sqlite_url
from discreet.collector.store.store import Store
from tests.support import browser
from tests.support.collecting import Clock, Service, campaign
from tests.support.listening import listening

TEXT = "Rain and wind, then a Storm; winter thunder. A café_rain is no rain9."
"""The words of the campaign in it: rain, storm, thunder, wind, winter."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if browser.programs() is None:
        pytest.skip("Chromium or its driver is not installed (Debian: chromium, chromium-driver)")
    with browser.open_browser() as driver:
        yield driver


@pytest.fixture
def page(chromium: Any, tmp_path: Path, open_store: Callable[[str], Store], clock: Clock) -> Iterator[Page]:
    """The demonstration page of a campaign. Each test has a port, and so an origin and a storage, of its own."""
    with (
        Service(open_store(sqlite_url(tmp_path / "web.db")), clock) as service,
        listening(create_app(service.store)) as address,
    ):
        yield Page(chromium, service, address)


class Page:
    def __init__(self, driver: Any, service: Service, address: str) -> None:
        self.driver, self.service, self.address = driver, service, address

    def open(self, path: str = "/campaigns/weather/try", ready: bool = True) -> Page:
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(f"{self.address}{path}")
        self.wait("document.documentElement.dataset.ready === 'yes'" if ready else "true")
        return self

    def wait(self, condition: str, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not self.driver.execute_script(f"return {condition}"):
            assert time.monotonic() < end, condition
            time.sleep(0.05)

    def module(self, body: str, *arguments: Any) -> Any:
        """Run code that has the module's exports as ``m``; it returns a promise's value."""
        script = f"""
        const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);
        import("/static/client.js").then(async (m) => {{ {body} }}).then(done, (e) => done({{error: String(e)}}));
        """
        return self.driver.execute_async_script(script, *arguments)

    def text_of(self, name: str) -> str:
        return str(self.driver.execute_script("return document.getElementById(arguments[0]).textContent", name))

    def click(self, name: str) -> None:
        self.driver.execute_script("document.getElementById(arguments[0]).click()", name)

    def write(self, text: str) -> None:
        self.driver.execute_script("document.getElementById('text').value = arguments[0]", text)

    def requests(self) -> list[dict[str, Any]]:
        """Every request that the page made, with its body, as Chromium's network log has it."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"] for e in events if e["method"] == "Network.requestWillBeSent"]


def test_the_page_sends_nothing_but_random_bits(page: Page) -> None:
    token = page.service.write
    page.open(f"/campaigns/weather/try#token={token}")
    page.write(TEXT)
    page.click("draw")
    page.wait("!document.getElementById('leaves').hidden")
    assert [one["method"] for one in page.requests()] == ["GET"] * 5  # page, style, two scripts, campaign: no text yet
    page.click("send")
    page.wait("document.getElementById('sent').textContent !== ''")
    assert page.text_of("sent").startswith("Stored")
    sent = page.requests()
    assert [(one["method"], one["url"]) for one in sent] == [("POST", f"{page.address}/campaigns/weather/reports")]
    body = json.loads(sent[0]["postData"])
    assert set(body) == {"vocabulary", "nonce", "bits"}
    assert body["vocabulary"] == page.service.campaign.vocabulary_hash
    assert [len(b64decode(body[name])) for name in ("nonce", "bits")] == [16, 2]
    headers = {name.lower(): value for name, value in sent[0]["headers"].items()}
    assert headers["authorization"] == f"Bearer {token}"
    assert (headers.get("cookie"), headers.get("referer", "")) == (None, "")
    assert "rain" not in json.dumps(sent).lower()
    assert page.service.store.bodies(page.service.id, 0, 10**9) == [b64decode(body["bits"])]


def test_the_page_shows_what_was_flipped_and_what_leaves(page: Page) -> None:
    page.open()
    page.write(TEXT)
    page.click("draw")
    page.wait("!document.getElementById('leaves').hidden")
    shown = {
        name: page.driver.execute_script(
            "return [...document.querySelectorAll(`#${arguments[0]} li:not(.none)`)].map((e) => e.textContent)", name
        )
        for name in ("kept", "hidden", "false")
    }
    body = json.loads(page.text_of("body"))
    bits = np.unpackbits(np.frombuffer(b64decode(body["bits"]), np.uint8), bitorder="little")[:10]
    words = page.service.campaign.vocabulary
    mine = {"rain", "storm", "thunder", "wind", "winter"}
    assert set(shown["kept"]) | set(shown["hidden"]) == mine
    assert {words[w] for w in np.nonzero(bits)[0]} == set(shown["kept"]) | set(shown["false"])
    assert not mine & set(shown["false"])
    assert "5 words of the list; 4 of them" in page.text_of("same")
    assert len(page.driver.execute_script("return [...document.querySelectorAll('#statement li')]")) >= 6
    page.click("repeat")
    page.wait("!document.getElementById('table').hidden")
    rows = page.driver.execute_script("return [...document.querySelectorAll('#rows tr')].map((r) => r.textContent)")
    assert len(rows) == 6
    assert rows[-1].startswith("300")
    assert not [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"]


def test_the_answer_is_remembered(page: Page) -> None:
    def answer() -> str:
        page.open()
        page.write(TEXT)
        page.click("draw")
        page.wait("!document.getElementById('leaves').hidden")
        return page.text_of("body")

    first = answer()
    assert "A new answer" in page.text_of("same")
    assert answer() == first  # after the page was loaded anew
    assert "repeats that answer" in page.text_of("same")
    page.write("wind, thunder; RAIN storm in winter")
    page.click("draw")
    page.wait("true")
    time.sleep(0.3)
    assert page.text_of("body") == first
    stored = page.driver.execute_script("return JSON.stringify(localStorage)")
    assert "rain" not in stored.lower()
    assert page.text_of("device").startswith("1 of 100")


def test_without_a_token_nothing_is_sent(page: Page) -> None:
    page.open()
    page.write(TEXT)
    page.click("draw")
    page.wait("!document.getElementById('leaves').hidden")
    page.requests()
    page.click("send")
    page.wait("!document.getElementById('ask-token').hidden")
    assert page.requests() == []
    page.driver.execute_script("document.getElementById('token').value = arguments[0]", "dcw_wrong")
    page.click("send")
    page.wait("document.getElementById('sent').textContent.includes('401')")
    assert page.service.n_stored == 0


def test_a_campaign_that_changed_or_lies_is_refused(page: Page) -> None:
    page.open()
    open_it = "const c = await m.Client.open({name: 'weather'}); return c.hash;"
    assert page.module(f"{open_it}") == page.service.campaign.vocabulary_hash
    too_much = page.module("return m.Client.open({name: 'weather', maxEpsilon: 8}).then(() => 'taken');")
    assert "more than you allow" in too_much["error"]
    page.driver.execute_script(
        "const k = Object.keys(localStorage).find((k) => k.endsWith(':campaign')); localStorage.setItem(k, 'x');"
    )
    assert "has changed" in page.module(open_it)["error"]
    wrong = """
      const real = fetch;
      window.fetch = async (...a) => {
        const found = await (await real(...a)).json();
        return new Response(JSON.stringify({...found, ...given[0]}));
      };
      try { localStorage.clear(); return await m.Client.open({name: 'weather'}).then(() => 'taken'); }
      finally { window.fetch = real; }
    """
    for lie in ({"threshold": 0}, {"vocabulary": ["rain"]}, {"name": "other"}, {"words": ".*"}, {"max_words": 0}):
        assert "error" in page.module(wrong, lie), lie
    assert page.module(wrong, {}) == "taken"


def test_the_digest_and_epsilon_are_those_of_python(page: Page) -> None:
    page.open()
    found = page.module("""
      const c = await m.Client.open({name: 'weather'});
      return [localStorage.getItem(`${c.prefix}campaign`), m.epsilonsOf(c.campaign)];
    """)
    about = page.service.campaign
    assert found[0] == about.digest
    assert found[1]["bit"] == pytest.approx(about.response.epsilon_bit, rel=1e-12)
    assert found[1]["report"] == pytest.approx(about.response.epsilon_report, rel=1e-12)


TEXTS = (
    "Rain, rain; RAIN_ rain9 9rain ärain rainä x-rain rain's",
    "İstanbul ΣΊΣΥΦΟΣ straße STRASSE naïve cafe\u0301 ﬁnd ²³ ⅫⅫⅫ",
    "Ångström日本語テキスト、東京 московский ЗИМА مرحبا ไทย हिन्दी",
    "a_b __init__ \u200bzero\u200bwidth soft\u00adhyphen tab\tnew\nline 𝒳𝒴𝒵 😀rain😀",
    "".join(map(chr, range(0x20, 0x250))),
    " ".join(chr(c) * 3 for c in range(0xA0, 0x600)),
)


@pytest.mark.parametrize("kind", ["english", "letters"])
def test_both_clients_find_the_same_words(page: Page, kind: str) -> None:
    page.open()
    tokenizer = campaign(words=kind).tokenizer
    found = page.module("return given[0].map((text) => m.wordsOf(text, given[1]));", TEXTS, kind)
    assert found == [tokenizer.words_of(text) for text in TEXTS]
    assert any(found)


def test_both_clients_flip_with_the_same_probability(page: Page) -> None:
    """20,000 reports of 40 words from each client: how often each kind of bit flips.

    The threshold is 2³²/10, so a bit flips with probability p = 0.1. Each client has two counts (bits that were clear
    and bits that were set, 400,000 of each), and each count is binomial: 40,000 ± 190. The bounds are its quantiles
    1e-7 and 1 - 1e-7, ± 987, so right code fails with probability 8e-7. A client that flips with f in place of f/2, or
    with a fair coin f/2 of the time, is more than 100 deviations away; one with p = 0.104 is caught with probability
    0.999.
    """
    n, n_words, threshold = 20_000, 40, round(0.1 * 2**32)
    columns = list(range(0, n_words, 2))
    page.open()
    packed = page.module(
        """
        const [n, nWords, threshold, columns] = given, all = new Uint8Array(n * 5), random = m.randomNumbers();
        for (let i = 0; i < n; i++) all.set(m.randomised(columns, nWords, threshold, random), 5 * i);
        return m.base64(all);
        """,
        *(n, n_words, threshold, columns),
    )
    about = campaign(vocabulary=[f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(n_words)])
    response = type(about.response)(threshold=threshold, n_words=n_words)
    words, offsets = np.tile(np.array(columns, np.int32), n), np.arange(0, n * 20 + 1, 20)
    low, high = binom.ppf([1e-7, 1 - 1e-7], n * 20, threshold / 2**32)
    assert high - low < 0.05 * n * 20 * 0.1
    for rows in (np.frombuffer(b64decode(packed), np.uint8).reshape(n, 5), response.randomise(words, offsets)):
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :n_words]
        assert low <= (1 - bits[:, 0::2].astype(int)).sum() <= high
        assert low <= bits[:, 1::2].astype(int).sum() <= high


def test_the_cap_chooses_each_word_as_often(page: Page) -> None:
    """3 of 8 columns, 40,000 times: each is kept with probability 3/8, and so is each pair with 3/28.

    Bounds as above at 1e-8 each (8 counts and 28 pairs: below 1e-6 in all). Columns in the order of the vocabulary, or
    the first three, would be at more than 100 deviations.
    """
    page.open()
    kept = page.module(
        """
        const random = m.randomNumbers(), pairs = Array.from({length: 8}, () => new Array(8).fill(0));
        for (let i = 0; i < 40000; i++) {
          const some = m.capped([0, 1, 2, 3, 4, 5, 6, 7], 3, random);
          for (const a of some) for (const b of some) pairs[a][b]++;
        }
        return pairs;
        """
    )
    pairs = np.array(kept)
    for share, counts in ((3 / 8, np.diag(pairs)), (3 / 28, pairs[np.triu_indices(8, 1)])):
        low, high = binom.ppf([1e-8, 1 - 1e-8], 40_000, share)
        assert (low <= counts).all()
        assert (counts <= high).all()
    assert np.diag(pairs).sum() == 120_000
    assert page.module("return m.capped([3, 5], 2)") == [3, 5]
    assert page.module("return m.capped([3, 5], null)") == [3, 5]


def test_the_live_page_numbers_topics_as_the_models_do(page: Page) -> None:
    trained = """
        const real = fetch, words = [{ word: "rain", probability: 0.5 }];
        window.fetch = async (...given) => {
          const found = await (await real(...given)).json();
          found.topics = [{ share: null, words }, { share: 0.25, words }];
          return new Response(JSON.stringify(found));
        };
    """
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": trained})
    page.open("/campaigns/weather/live")
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    titles = page.driver.execute_script("return [...document.querySelectorAll('.topic h3')].map((e) => e.textContent)")
    assert titles == ["Topic 0", "Topic 1 · 25% of the words"]


def test_pages_load_nothing_from_elsewhere(page: Page) -> None:
    page.open("/campaigns/weather/live")
    response = page.service.campaign.response
    whole, word = (math.ceil(10**n * e) / 10**n for n, e in ((1, response.epsilon_report), (2, response.epsilon_word)))
    assert page.text_of("numbers").startswith(f"ε for a whole report{whole:.1f}ε for one word of it{word:.2f}reports")
    assert all(one["url"].startswith((page.address, "data:")) for one in page.requests())
    answer = page.service.http.get("/campaigns/weather/try")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name in ("client.js", "try.js", "live.js", "style.css", "../service.py", "none.js"):
        found = page.service.http.get(f"/static/{name}").status_code
        assert found == (404 if name in ("../service.py", "none.js") else 200), name
    source = page.service.http.get("/static/client.js").text
    assert not re.search(r"Math\.random|^import ", source, re.M)
    assert math.isclose(
        page.module(
            "return m.epsilonsOf({threshold: 2**30, vocabulary: [1], max_words: null, reports_per_client: 1}).bit"
        ),
        math.log(3),
    )
    assert page.service.http.get("/campaigns/none/try").status_code == 404
