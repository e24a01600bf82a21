"""The explorer's pages: who may see them, that lists are complete, and that nothing they show can act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from discreet.corpus import read
from discreet.explore.app import create_app
from discreet.explore.documents import read_documents
from discreet.explore.explorer import Explorer
from tests.support.exploring import ATTACKS, PORT, Site, every_page, explorer, hostile, model, notes

PRIVATE = "computed from the documents themselves; do not publish"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(explorer(notes(tmp_path / "notes.jsonl"), other=model())) as opened:
        yield Site(opened)


# --- who may see them -------------------------------------------------------------------------------------------------


def test_only_the_key_opens_the_pages(site: Site) -> None:
    key = site.guard.key
    assert len(key) == 43  # 256 bits
    assert site.get().status_code == 200
    assert site.http.get(f"/{key}").headers["location"] == f"/{key}/"
    wrong = ["/", "", "/topic/0", f"/{key[:-1]}/", f"/{key}x/", f"/{key.swapcase()}/", "//", f"//{key}/", "/style.css"]
    wrong += [f"/é{key}/", "/%00/", "/open", "/open/", f"/open/{key}", f"/x/{key}/", f"/?key={key}"]
    for path in wrong:
        found = site.http.get(path)
        assert found.status_code == 403, path
        assert key not in found.text
        assert "rain" not in found.text


def test_the_key_is_compared_in_constant_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("secrets.compare_digest", lambda a, b: asked.append((a, b)) or a == b)
    assert site.http.get("/guess/").status_code == 403
    assert asked == [(b"guess", site.guard.key.encode())]


def test_two_explorers_have_two_keys(site: Site) -> None:
    other = create_app(site.explorer, PORT)
    assert other.key != site.guard.key
    assert other.opening != site.guard.opening
    assert other.key not in other.opening  # a browser is started with it, and arguments of processes are no secret


def test_the_link_for_the_browser_works_once(site: Site) -> None:
    path = site.guard.opening.removeprefix(f"http://127.0.0.1:{PORT}")
    assert site.http.head(path).status_code == 403
    assert site.http.get(path, headers={"sec-purpose": "prefetch"}).status_code == 403
    assert site.http.get(path + "x").status_code == 403
    found = site.http.get(path)
    assert (found.status_code, found.headers["location"]) == (303, f"/{site.guard.key}/")
    assert site.http.get(path).status_code == 403
    assert site.http.get("/open/").status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"LOCALHOST:{PORT}", 200),
        ("127.0.0.1", 421),
        (f"127.0.0.1:{PORT + 1}", 421),
        ("example.org", 421),
        (f"example.org:{PORT}", 421),
        (f"127.0.0.1.example.org:{PORT}", 421),
        (f"127.0.0.1:{PORT}@example.org", 421),
        (f"[::1]:{PORT}", 421),
        ("", 421),
    ],
)
def test_other_names_of_this_machine_are_refused(site: Site, host: str, status: int) -> None:
    """A foreign name that points to 127.0.0.1 (DNS rebinding) gets nothing, even with the key."""
    found = site.get(headers={"host": host})
    assert found.status_code == status
    assert ("rain" in found.text) == (status == 200)


def test_pages_are_only_read(site: Site) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert site.http.request(method, f"/{site.guard.key}/").status_code == 405
    assert site.http.head(f"/{site.guard.key}/").status_code == 200


def test_every_answer_says_that_it_is_private_and_may_not_be_kept(site: Site) -> None:
    for path in [*every_page(site.explorer), "nothing", "topic/9"]:
        found = site.get(path)
        assert found.status_code == (404 if path in ("nothing", "topic/9") else 200), path
        assert PRIVATE in found.text
        assert "<title>" in found.text
    refused = site.http.get("/wrong/")
    for answer in (site.get(), site.get("style.css"), site.get("nothing"), refused, site.get(headers={"host": "a.b"})):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert "script" not in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


# --- what they show ---------------------------------------------------------------------------------------------------


def documents_of(page: str) -> list[int]:
    return [int(d) for d in re.findall(r'<th scope="row" class="n"><a href="[^"]*/document/(\d+)', page)]


def followed(site: Site, path: str) -> list[int]:
    """The documents of a list, page after page by its own links."""
    found: list[int] = []
    for _ in range(100):
        page = site.text(path)
        found += documents_of(page)
        after = re.search(r'<a href="/[^/]+/([^"]*)" rel="next">Next</a>', page)
        if after is None:
            return found
        path = after[1].replace("&amp;", "&")
    raise AssertionError("the list has no end")


def test_lists_are_complete_and_ordered(site: Site) -> None:
    shares = site.explorer.shares
    known = np.flatnonzero(shares.known)
    assert len(known) < 200
    for topic in range(2):
        assert (
            followed(site, f"topic/{topic}") == known[np.argsort(-shares.table[topic][known], kind="stable")].tolist()
        )
    assert followed(site, "documents") == list(range(200))
    first = site.explorer.classes["label"].names.index("kind1")
    assert followed(site, f"documents?by=label&class={first}") == list(range(1, 200, 2))
    assert set(followed(site, f"topic/1?by=label&class={first}")) == {d for d in known.tolist() if d % 2}


def test_people_can_go_anywhere_in_a_list(site: Site) -> None:
    everything = followed(site, "topic/0")
    assert documents_of(site.text("topic/0?place=41")) == everything[40:90]
    assert documents_of(site.text("topic/0?place=1,000")) == everything[-1:]
    last = re.search(r'<a href="/[^/]+/([^"]*)">Last</a>', site.text("topic/0"))
    assert last is not None
    assert documents_of(site.text(last[1]))[-1] == everything[-1]
    assert site.get("document?number=7").headers["location"].endswith("/document/7")
    for path in (
        "document?number=200",
        "document?number=-1",
        "document?number=x",
        "topic/0?first=9999",
        "topic/0?place=",
    ):
        assert site.get(path).status_code == 404, path


@pytest.mark.parametrize(
    "path",
    [
        "topic/2", "topic/-1", "topic/x", "topic/1e3", "topic/٣", "topic/" + "9" * 5000, "topic/", "document/200",
        "document/0?topic=7", "by/nothing", "by/label/2", "by/label/-1", "topic/0?by=label&class=9", "topic/0?by=label",
        "topic/0?by=secret&class=0", "topic/0?first=-1", "topic/0?first=" + "9" * 5000, "by/label?first=99", "../x",
        "static/../pages.py", "style.css/", "documents/",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(site: Site, path: str) -> None:
    assert site.get(path).status_code in (403, 404)  # 403: the client removed the key, with ".."


def test_a_document_shows_its_topics_and_each_word_in_the_colour_of_its_own(site: Site) -> None:
    page = site.text("document/0")  # the rain wind storm cloud rain cloud number 0
    marks = re.findall(r'<mark class="(\w+)" title="topic (\d)">(\w+)</mark>', page)
    assert [word for _, _, word in marks] == ["rain", "wind", "storm", "cloud", "rain", "cloud"]
    assert {topic for _, topic, _ in marks} == {"0"}
    assert {colour for colour, _, _ in marks} == {"c0"}
    assert "<bdi>rain</bdi> ×2" in page
    share = f"{100 * site.explorer.shares.of(0)[0]:.1f}%"
    assert share in page
    assert ' focus" title="topic 0">rain</mark>' in site.text("document/0?topic=0")
    assert "No word of the model is in this document" in site.text("document/3")
    assert "nothing to see" in site.text("document/3")


def test_classes_show_mean_shares(site: Site) -> None:
    column = site.explorer.classes["label"]
    weather = column.names.index("kind0")
    members = [d for d in range(0, 200, 2) if d % 7 != 3]
    expected = site.explorer.shares.table[0, members].astype(float).mean()
    assert f"{100 * expected:.1f}%" in site.text(f"by/label/{weather}")
    assert f"{100 * expected:.1f}%" in site.text("by/label")
    assert f"{100 * expected:.1f}%" in site.text("topic/0")
    page = site.text("by/group")
    assert "1 to 25 of 60 groups" in page
    assert len(re.findall(r"/by/group/\d+", page)) == 25


def test_measures_and_comparison(site: Site) -> None:
    for model_ in (site.explorer.model, site.explorer.other):
        assert model_ is not None
        found = model_.measures.ask(60)
        assert isinstance(found, tuple)
    page = site.text("measures")
    assert "http-equiv" not in page
    assert f"{found[0].held_out.perplexity:,.2f}" in page
    assert f"{found[0].c_v.mean:.4f}" in page
    assert f"{found[1]:.4f}" in page
    page = site.text("compare")
    assert page.count("100.0%") == 3  # the mean and two pairs: both are the same model
    assert "<b>rain</b>" in page


def test_while_measures_are_computed_people_look_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that loads itself again would take it away from those who read slowly or by ear."""
    waited: list[float] = []
    monkeypatch.setattr("discreet.explore.later.Later.ask", lambda self, patience=0.0: waited.append(patience))
    for path in ("measures", "compare"):
        page = site.text(path)
        assert "refresh" not in page
        assert f'/{path}?wait=1">Look again</a>' in page
        before = waited[-1]
        site.text(f"{path}?wait=1")
        assert waited[-1] > before > 0
    monkeypatch.setattr("discreet.explore.later.Later.ask", lambda self, patience=0.0: "there is a reason.")
    assert "could not be measured: there is a reason." in site.text("measures")
    assert "there is a reason." in site.text("compare")


def test_without_a_second_model_or_columns_there_are_no_such_pages(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("rain and wind\npiano and violin\n")
    release = model()
    documents = read_documents(release, lambda: read(tmp_path / "plain.txt", vocabulary=release.vocabulary), "m")
    with closing(Explorer.opened(documents, ("m", release))) as opened:
        plain = Site(opened)
        assert plain.get("compare").status_code == 404
        assert "/by/" not in plain.text()
        assert plain.get("by/label").status_code == 404


def test_names_of_topics_stand_beside_their_numbers(tmp_path: Path) -> None:
    names = {0: "bad & wet", 1: ATTACKS[0]}
    with closing(explorer(notes(tmp_path / "notes.jsonl"), other=model(), names=names)) as opened:
        named = Site(opened)
        assert "<h1>Topic 0 <bdi>bad &amp; wet</bdi>" in named.text("topic/0")
        for path in ("", "documents", "by/label", "by/label/0", "compare"):
            assert "bad &amp; wet" in named.text(path), path
        assert "<script" not in "".join(named.text(path) for path in every_page(opened))
        assert "wet" not in re.findall("<title>.*</title>", named.text("topic/0"))[0]  # a browser remembers titles


def test_topics_that_a_document_hardly_has_are_one_line(site: Site) -> None:
    page = site.text("document/0")  # of the weather alone: its share of music is that of the prior
    assert 0 < site.explorer.shares.of(0)[1] < 0.05
    assert re.findall(r'<tr[^>]*><th scope="row" class="n"><a href="[^"]*/topic/(\d)"', page) == ["0"]
    assert "All other topics together: " in page
    assert (
        len(re.findall(r'<th scope="row" class="n"><a href="[^"]*/topic/(\d)"', site.text("document/0?topic=1"))) == 2
    )


def test_a_number_that_no_document_has_is_answered_with_those_that_there_are(site: Site) -> None:
    for asked in ("200", "x", "-1", ""):
        found = site.get(f"document?number={asked}")
        assert found.status_code == 404
        assert "Documents have numbers from 0 to 199" in found.text


def test_a_long_text_is_cut_unless_all_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("rain wind " * 6_000 + "the last words\n")
    release = model()
    documents = read_documents(release, lambda: read(tmp_path / "long.txt", vocabulary=release.vocabulary), "m")
    with closing(Explorer.opened(documents, ("m", release))) as opened:
        long = Site(opened)
        assert "the last words" not in long.text("document/0")
        assert "Show all 60,014 characters" in long.text("document/0")
        assert "the last words" in long.text("document/0?whole=1")


# --- injection --------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


ELEMENTS = frozenset(re.findall(r"\w+", """
    html head meta title link body a p aside strong b bdi header nav main h1 h2 small div table caption thead tbody
    tr th td svg rect ol ul li span details summary form label input button section mark code
"""))  # fmt: skip
ATTRIBUTES = frozenset(re.findall(r"[\w-]+", """
    lang charset name content rel href class role id aria-label aria-current aria-hidden scope viewbox width height dir
    preserveaspectratio open action method type value inputmode size required title
"""))  # fmt: skip


def acting(page: str, key: str) -> list[object]:
    """What a page holds that is not one of our own elements, or leads out of the explorer."""
    wrong: list[object] = []
    for tag, attributes in Tags(page).found:
        addresses = [attributes.get("href"), attributes.get("action")]
        out = [one for one in addresses if one and not one.startswith((f"/{key}/", "#", "data:,"))]
        if tag not in ELEMENTS or set(attributes) - ATTRIBUTES or out:
            wrong.append((tag, attributes))
    return wrong


@pytest.mark.parametrize("attack", ["<script>x</script>", '<p onclick="x">', '<a href="http://x.org">', "<base>"])
def test_the_search_finds_what_acts(attack: str) -> None:
    assert acting(f"<html><p>{attack}</p></html>", "key") != []
    assert acting('<html><p><a href="/key/x">text</a></p></html>', "key") == []


def test_what_documents_hold_is_inert(tmp_path: Path) -> None:
    """Attacks as words, names of models and files, texts, labels and users: pages have them as text only."""
    with closing(hostile(tmp_path)) as opened:
        bad = Site(opened)
        for one in (opened.model, opened.other):
            assert one is not None
            assert isinstance(one.measures.ask(60), tuple)
        opened.comparison.ask(60)
        for path in every_page(opened):
            page = bad.text(path)
            assert acting(page, bad.guard.key) == [], path
            assert "1337" not in page  # 7 · 191: no template ran
        assert "&lt;script&gt;" in bad.text("document/0")
        assert all(attack not in bad.text() for attack in ATTACKS[:4])
