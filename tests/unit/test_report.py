"""What the page of a Release says. The page in a real browser: ``tests/contract/test_report_browser.py``."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from discreet import Guarantee, InputError, LocalLDA, PrivateLDA, Release
from discreet.corpus.synthetic import lda_corpus
from discreet.evaluation.similarity import hellinger
from discreet.privacy import SEEDED, Basis, Entry, Observer, Relation, Unit
from discreet.privacy.events import (
    BoundedRangeDraw,
    DiscreteGaussianRelease,
    DiscreteLaplacePair,
    DiscreteLaplaceRelease,
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    PureRelease,
    UnknownEvent,
    VocabularyRound,
)
from discreet.privacy.guarantee import rounded_up
from discreet.privacy.odds import percent as up
from discreet.privacy.told import told
from discreet.release.usefulness import CLEAR
from discreet.report import read_names, report_html, write_report
from discreet.report.facts import STOPS, Facts
from discreet.report.markup import Html, data, percent, plus_minus, tag
from tests.support.releases import NASTY, make_release, nasty_release, proven


class Page(HTMLParser):
    """The elements of a page, with the text that each holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source, self.elements, self._open = text, [], []
        self.feed(text)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        element = {"tag": name, "text": "", **{key: value or "" for key, value in attributes}}
        self.elements.append(element)
        if name not in ("meta", "input", "col"):
            self._open.append(element)

    def handle_endtag(self, name: str) -> None:
        assert self._open.pop()["tag"] == name, name
        if name in ("td", "th", "li", "p", "caption"):
            self.handle_data(" ")

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append({"tag": name, "text": "", **{key: value or "" for key, value in attributes}})

    def handle_data(self, text: str) -> None:
        for element in self._open:
            element["text"] += text

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = attributes.items()
        return [e for e in self.elements if e["tag"] == tag and all(e.get(key) == value for key, value in wanted)]

    def section(self, identifier: str) -> str:
        (found,) = self.all("section", id=identifier)
        return " ".join(found["text"].split())

    def data(self) -> dict:
        (found,) = self.all("script", id="data")
        return json.loads(found["text"])


def page(release: Release, **more) -> Page:
    return Page(report_html(release, **more))


# --- safe markup -----------------------------------------------------------------------------------------------------


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", Html("<i>x</i>"), ["&", None], cls='"') == '<p class="&quot;">&lt;b&gt;<i>x</i>&amp;</p>'
    assert tag("input", type="range", hidden=True, value=None) == '<input type="range" hidden>'
    assert tag("rect", x=1, aria_hidden="true") == '<rect x="1" aria-hidden="true"/>'


def test_data_cannot_end_its_element() -> None:
    written = data("d", ["</script><script>", "<!--", "\u2028"])
    assert written.count("<") == 2
    inside = re.fullmatch(r"<script[^>]*>(.*)</script>", written)[1]
    assert json.loads(inside) == ["</script><script>", "<!--", "\u2028"]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.1234, "12.3%"), (0.05043, "5.04%"), (0.00525, "0.525%"), (4e-6, "<0.001%"), (0.0, "0.000%"), (1.0, "100.0%")],
)
def test_shares_have_three_digits(share: float, text: str) -> None:
    assert percent(share) == text


def test_errors_have_the_digits_of_their_share() -> None:
    assert plus_minus(0.00103, 0.0504) == "± 0.10"
    assert plus_minus(0.00103, 0.00504, 2) == "± 0.10"
    assert plus_minus(0.00004, 0.0504) == "± <0.01"  # not "± 0.00"
    assert plus_minus(0.0003, 0.2) == "± <0.1"
    assert plus_minus(0.00005, 0.0504) == "± 0.01"
    assert plus_minus(0.0, 0.2) == "± 0.0"
    assert percent(0.00004, 2) == "<0.01%"


# --- one file --------------------------------------------------------------------------------------------------------


def test_the_policy_allows_the_style_and_the_script_alone() -> None:
    found = page(make_release())
    (policy,) = (meta["content"] for meta in found.all("meta", **{"http-equiv": "Content-Security-Policy"}))
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    for name, element in (("style-src", found.all("style")), ("script-src", found.all("script", type="module"))):
        (one,) = element
        digest = base64.b64encode(hashlib.sha256(one["text"].encode()).digest()).decode()
        assert parts[name] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


def test_nothing_is_loaded_from_anywhere() -> None:
    found = page(nasty_release(), names={0: NASTY}, title=NASTY)
    for element in found.elements:
        assert element["tag"] not in ("link", "img", "iframe", "object", "base", "form")
        assert not {"src", "srcset", "style", "action"} & set(element)
        assert not [key for key in element if key.startswith("on")]
        assert element.get("href", "#").startswith("#")
    (style,) = found.all("style")
    assert not re.search(r"url\(|@import", style["text"])
    assert not re.search(r"\bimport\b|fetch|XMLHttp|innerHTML|eval", found.all("script", type="module")[0]["text"])


def test_markup_in_texts_is_text() -> None:
    found = page(nasty_release(), names={1: NASTY}, title=NASTY)
    assert len(found.all("script")) == 2  # ours: the data and the module
    assert found.all("title")[0]["text"] == NASTY
    for place in ("topics", "promise", "ledger", "made", "each"):
        assert NASTY in found.section(place), place
    assert found.data()["words"][0] == NASTY


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    found = page(make_release())
    ids = [element["id"] for element in found.elements if "id" in element]
    assert len(ids) == len(set(ids))
    for element in found.elements:
        for key in ("aria-labelledby", "aria-describedby", "for"):
            assert element.get(key, ids[0]) in ids
        if "href" in element:
            assert element["href"][1:] in ids


def test_it_is_written_complete_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = make_release()
    path = write_report(release, tmp_path / "r.html")
    assert path.read_text("utf-8") == report_html(release)
    with pytest.raises(InputError, match="exists already"):
        write_report(release, path)
    write_report(make_release(n_topics=3), path, overwrite=True)
    other = tmp_path / "thesis.html"
    other.write_text("<p>mine")
    with pytest.raises(InputError, match="not an earlier report"):
        write_report(release, other, overwrite=True)
    for bad, why in (("r.txt", "end in .html"), ("no/r.html", "does not exist"), (".html", "end in .html")):
        with pytest.raises(InputError, match=why):
            write_report(release, tmp_path / bad)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_report(release, tmp_path / "new.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "thesis.html"]


def test_fifty_topics_of_five_thousand_words_stay_below_a_megabyte() -> None:
    text = report_html(make_release(50, 5000))
    assert 200_000 < len(text.encode()) < 1_000_000


# --- the promise -----------------------------------------------------------------------------------------------------


def test_the_card_has_the_odds_of_both_kinds() -> None:
    release = make_release()
    odds, card = release.odds(), page(release).section("promise")
    assert odds.own.accuracy < odds.bound.accuracy - 0.02
    for one in (odds.own, odds.bound):
        assert up(one.accuracy) in card
        assert up(one.true_positives) in card
    assert "guesses whether one given document was in the data" in card
    assert "the word list is public" in card
    assert release.guarantee.change in card
    assert "What is not promised" in card


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (Guarantee.none(SEEDED), "No privacy guarantee. Reason: seeded"),
        (proven(basis=Basis.CLAIMED, reasons=("draws are not charged",)), "only claimed, and no ledger"),
        (proven(epsilon=0.01), "the ledger does not account for the guarantee"),
        (proven(unit=Unit.BIT, relation=Relation.REPLACE, observer=Observer.REPORT), "noise was added to each report"),
    ],
    ids=["seeded", "claimed", "another ledger", "local"],
)
def test_it_says_plainly_where_the_models_own_odds_are_not_known(guarantee: Guarantee, words: str) -> None:
    card = page(make_release(guarantee=guarantee)).section("promise")
    assert words in card
    assert "this model, at most" not in card


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({}, "good", "Private, with a proof"),
        ({"guarantee": proven(epsilon=6.0), "ledger": []}, "bad", "A weak promise"),
        ({"guarantee": proven(unit=Unit.WORD)}, "bad", "The proof protects single words: a whole document has less"),
        (
            {"guarantee": proven(unit=Unit.BIT, relation=Relation.REPLACE, observer=Observer.REPORT)},
            "bad",
            "The proof protects single words: a whole report has less",
        ),
        ({"guarantee": Guarantee.none("exact counts")}, "bad", "Not private"),
        ({"guarantee": proven(basis=Basis.CLAIMED, reasons=("x",))}, "bad", "The privacy of this model is claimed"),
    ],
)
def test_the_first_line_says_what_may_be_done_with_it(changed: dict, kind: str, words: str) -> None:
    (line,) = [e for e in page(make_release(**changed)).all("p") if e.get("class", "").startswith("status")]
    assert line["class"] == f"status {kind}"
    assert line["text"].startswith(words)


@pytest.mark.parametrize("unit", list(Unit))
def test_the_checklist_has_all_layers_for_every_unit(unit: Unit) -> None:
    observer = Observer.REPORT if unit in (Unit.BIT, Unit.REPORT) else Observer.STATISTICS
    whom = "One word of one report" if unit is Unit.BIT else f"One {unit}"
    guarantee = proven(unit=unit, observer=observer, relation=Relation.REPLACE)
    text = page(make_release(guarantee=guarantee)).section("check")
    assert "NIST SP 800-226" in text
    for words in ("At the top", "In the middle", "At the base", whom, "the word list is public"):
        assert words in text


def test_the_checklist_of_a_model_that_promises_nothing() -> None:
    text = page(make_release(guarantee=Guarantee.none("exact counts"), ledger=[])).section("check")
    assert "There is no proof: exact counts" in text
    assert "Keep the model where the documents are" in text
    assert "here: Nothing is proven, so there are no conditions to keep. In the middle" in text  # and nothing to do


# --- the ledger ------------------------------------------------------------------------------------------------------


def test_the_ledger_is_a_history() -> None:
    release = make_release()
    text = page(release).section("ledger")
    assert "1 word frequencies 1 Gaussian noise of 20" in text
    assert "2 topic counts 20 Gaussian noise of 12 falling to 8; each document takes part with probability 0.1" in text
    assert text.endswith(f" {rounded_up(release.guarantee.epsilon, 4)}")  # the last step has spent all of it


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (GaussianRelease(sigma=3.0), "Gaussian noise of 3"),
        (DiscreteGaussianRelease(scale=4096.0, sensitivity=1024.0, cells=5000), "5,000 numbers, Gaussian noise of 4"),
        (VocabularyRound(sigma=2.0, delta_threshold=1e-8, max_words=100), "at most 100 words of one unit count"),
        (LaplaceRelease(scale=2.0), "Laplace noise of 2"),
        (DiscreteLaplacePair(epsilon=0.5), "scale 4"),
        (DiscreteLaplaceRelease(scale=8.0, sensitivity=2.0, cells=70), "70 numbers, discrete Laplace noise of 4"),
        (BoundedRangeDraw(eta=0.25), "within 0.25"),
        (PureRelease(epsilon=0.5), "ε = 0.5"),
        (NonPrivate(), "without protection"),
        (UnknownEvent(name="Later"), "Later, which this version"),
    ],
)
def test_every_event_is_told_in_words(event, words: str) -> None:
    assert words in told([Entry(event, 2, "x")])
    assert "unit" not in told([Entry(event, 2, "x")], "user")


def test_no_line_ends_inside_a_number() -> None:
    found = page(make_release())
    assert "plus 1e-06 (δ)" in found.section("promise")
    assert {element["text"] for element in found.all("span", **{"class": "whole"})} == {"1e-06"}


def test_a_ledger_that_cannot_be_read_is_none() -> None:
    found = page(make_release(ledger=[{"label": 3}]))
    assert "cannot be read" in found.section("ledger")
    assert "there is no ledger" in found.section("promise")


# --- topics ----------------------------------------------------------------------------------------------------------


def test_numbers_of_topics_are_those_of_the_model_and_names_come_from_people() -> None:
    release = make_release()
    found = page(release, names={2: "gas & contracts"})
    rows = [e for e in found.all("tr") if "data-number" in e]
    assert [row["data-number"] for row in rows] == ["0", "1", "2", "3"]
    assert "gas & contracts" in rows[2]["text"]
    for k, best in enumerate(release.top_words(8)):
        assert ", ".join(best) in rows[k]["text"]
    with pytest.raises(InputError, match="no topic 9"):
        report_html(release, names={9: "x"})


def test_bars_are_hollow_exactly_where_noise_may_have_made_them() -> None:
    release = make_release()
    facts = Facts(release, {}, 12)
    tables = [e for e in page(release).elements if e.get("class") in ("bar", "bar hollow") and e["tag"] == "rect"]
    drawn = np.array([e["class"] == "bar hollow" for e in tables[-48:]]).reshape(4, 12)
    p = np.take_along_axis(release.topics, facts.best, axis=1)
    np.testing.assert_array_equal(drawn, p <= CLEAR * 0.008)
    assert "After ± stands one standard error" in page(release).section("each")
    assert 0 < drawn.sum() < drawn.size


def test_without_known_noise_there_are_no_whiskers() -> None:
    found = page(make_release(standard_errors=None))
    assert "hollow" not in "".join(e.get("class", "") for e in found.all("rect"))
    assert "there are no whiskers" in found.section("each")
    assert found.data()["noisy"] is False


def test_every_stop_of_the_slider_has_its_words() -> None:
    """The script ranks candidates alone: at each stop, the best of all words must be among them."""
    release = make_release(6, 400)
    facts = Facts(release, {}, 12)
    for k in range(6):
        p, candidates = release.topics[k], set(facts.candidates(k).tolist())
        assert len(candidates) < 100
        for stop in STOPS:
            relevance = stop * np.log(p) + (1 - stop) * np.log(p / facts.usual)
            assert set(np.argsort(-relevance)[:12].tolist()) <= candidates


def test_places_of_words_are_those_of_the_model() -> None:
    release = make_release()
    stored = page(release).data()
    uses = release.topic_shares[:, None] * release.topics
    uses /= uses.sum(axis=0)
    for w in range(release.n_words):
        row = np.array(stored["places"][w]).reshape(-1, 3)
        assert len(row) <= 5
        np.testing.assert_allclose(row[:, 1] / 10_000, uses[row[:, 0], w], atol=1e-4)
        for k, _, rank in row:
            assert abs(rank) == 1 + (release.topics[k] > release.topics[k, w]).sum()
            assert (rank > 0) == (release.topics[k, w] > CLEAR * 0.008)


@pytest.mark.parametrize("n_topics", [2, 5, 20])
def test_few_topics_are_not_drawn_larger_than_many(n_topics: int) -> None:
    """A drawing is as wide as its column: a narrow one would be stretched, and its numbers with it."""
    drawing = report_html(make_release(n_topics)).partition('aria-label="Similarity')[0].rpartition("<svg")[2]
    assert re.search(r'viewBox="0 0 560 ', drawing), drawing


def test_the_colours_of_the_matrix_have_a_scale() -> None:
    found = re.search(r"from (0\.\d\d) \(no colour\) to (0\.\d\d) \(the strongest", page(make_release()).section("map"))
    assert found is not None
    likeness = 1 - hellinger(make_release().topics)[~np.eye(4, dtype=bool)]
    assert [float(number) for number in found.groups()] == [round(likeness.min(), 2), round(likeness.max(), 2)]


def test_the_only_pair_has_a_colour_and_all_of_the_map_is_drawn() -> None:
    text = report_html(make_release(2))
    assert 'class="shade4"' in text
    assert "from" not in text.partition("Similarity of each pair")[2].partition("</figcaption>")[0]
    assert "holds 100% of" in text
    assert "cannot be drawn" not in text
    assert "cannot be drawn" in report_html(make_release(5))


def test_numbers_on_the_map_of_many_topics_can_be_read() -> None:
    for n_topics in (60, 200):
        drawn, _, below = report_html(make_release(n_topics)).partition('aria-label="Map')[2].partition("</svg>")
        at = np.array(re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', drawn), float)
        x, y = np.abs(at[:, None] - at[None]).transpose(2, 0, 1)
        apart = (x > 21.8) | (y > 11.8) | np.eye(len(at), dtype=bool)  # rounded in the drawing
        assert drawn.count("<circle") == n_topics
        assert len(at) == 60 if n_topics == 60 else 40 < len(at) < 200
        assert n_topics == 60 or apart.all()
        assert ("point at the circle" in below) == (n_topics == 200)


def test_every_figure_has_a_table() -> None:
    text = report_html(make_release())
    for figure in re.findall(r"<figure>.*?</figure>", text, re.S):
        assert "<svg" in figure
        assert 'role="img"' in figure
        assert 'aria-label="' in figure
    assert text.count("<figure>") == 3
    assert text.count("<summary>The same as a table</summary>") == 2  # that of the odds stands beside its figure
    assert "The odds as numbers" in text


def test_shares_with_errors_are_shown_by_prevalence() -> None:
    shares = np.array([0.1, 0.5, 0.001, 0.399])
    release = make_release(topic_shares=shares, share_errors=np.full(4, 0.01))
    found = page(release)
    rows = [e for e in found.all("tr") if "data-number" in e]
    assert [row["data-number"] for row in rows] == ["1", "3", "0", "2"]
    assert "50.0% ± 1.0" in rows[0]["text"]
    assert "After ± stands one standard error" in found.section("topics")
    assert rows[-1]["class"] == "absent"
    assert "only the 3 topics that the text is known to have" in found.section("topics")
    (heading,) = [e for e in found.all("th", scope="col") if e["text"].strip() == "share"]
    assert heading["class"] == "number", "it stands above numbers that are aligned to the right"


def test_where_the_noise_hides_all_topics_there_is_nothing_to_choose() -> None:
    found = page(make_release(topic_shares=np.full(4, 0.25), share_errors=np.full(4, 0.2)))
    assert "No topic is known to be in the text" in found.section("topics")
    assert not found.all("input", id="known")


def test_words_that_public_text_does_not_have() -> None:
    frequencies = np.full(60, 1 / 60)
    public = frequencies.copy()
    public[7] = 0
    release = make_release(word_frequencies=frequencies, frequency_errors=np.full(60, 1e-3), public_frequencies=public)
    assert "word7 1.67% ± 0.10" in page(release).section("words")


def test_collections_stand_beside_the_common_words() -> None:
    release = make_release()
    other = release.topics[::-1]
    tables = {"collection_topics": np.stack([other, release.topics]), "switch": np.full((4, 2), 0.3)}
    found = page(make_release(collections=("east", "west"), **tables))
    (card,) = (e for e in found.all("article") if e["data-number"] == "1")
    assert "Common to all collections" in card["text"]
    assert "east's own: 30% of the topic there" in card["text"]
    best = release._best_words(other, 12)[1]
    assert [word for word in best if word in card["text"]] == best


@pytest.mark.filterwarnings("ignore")
def test_local_models_tell_noise_and_counts() -> None:
    corpus = lda_corpus(300, 40, 3, seed=1).corpus
    model = LocalLDA(3, epsilon_bit=2.0, report_words=10, n_sweeps=5).fit(corpus)
    release = model.release()
    text = page(release).section("local")
    assert "reports 300" in text
    assert f"{1 - model.response_.flip:.1%} of the time" in text
    assert "This is proven. For a whole report replaced by another it is ε = 40 (" in page(release).section("promise")
    assert "ε of a whole report replaced by another 40" in text
    assert release.history == {"n_reports": [300]}
    assert [e["id"] for e in page(make_release()).all("section")].count("local") == 0


@pytest.mark.filterwarnings("ignore")
def test_the_noise_of_given_reports_is_told_too() -> None:
    from discreet.mechanisms.local import RandomisedResponse
    from discreet.models.local.reports import Reports

    corpus = lda_corpus(100, 30, 2, seed=1).corpus
    response = RandomisedResponse.for_epsilon(3.0, n_words=corpus.n_words, max_words=7)
    release = LocalLDA(2, n_sweeps=2).fit(Reports.of_documents(corpus, response)).release()
    assert release.parameters["epsilon_bit"] == pytest.approx(3.0)
    assert release.parameters["report_words"] == 7
    assert "words of a text that are reported, at most 7" in page(release).section("local")


@pytest.mark.filterwarnings("ignore")
def test_a_model_as_it_is_trained(tmp_path: Path) -> None:
    """From fit to folder to page: the odds of what was charged, and the verdict."""
    corpus = lda_corpus(300, 40, 2, seed=1).corpus
    PrivateLDA(2, epsilon=4.0, n_rounds=8).fit(corpus).release().save(tmp_path / "model")
    release = Release.load(tmp_path / "model")
    found = page(release)
    assert up(release.odds().own.accuracy) in found.section("promise")
    assert release.usefulness.verdict[1:] in found.section("topics")
    assert "histogram of unit sizes" in found.section("ledger")


@pytest.mark.parametrize("n_topics", [1, 2])
def test_few_topics_and_few_words(n_topics: int) -> None:
    topics = np.eye(n_topics, 3)
    assert len(page(make_release(n_topics)).all("article")) == n_topics
    release = Release(
        topics=topics,
        vocabulary=["a", "b", "c"],
        alpha=np.ones(n_topics),
        beta=0.1,
        method="lda",
        parameters={},
        guarantee=Guarantee.none("exact counts"),
    )
    found = page(release, words=40)
    assert len(found.all("article")) == n_topics
    assert len(found.all("section", id="map")) == n_topics - 1
    with pytest.raises(InputError, match="at least 1"):
        report_html(release, words=0)


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_are_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("\ufeff# topics\n0 gas contracts\n\n 2:\tmeetings, calendars \n3. 3rd\n", "utf-8")
    assert read_names(path, 4) == {0: "gas contracts", 2: "meetings, calendars", 3: "3rd"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gas", "line 1: a line must be"),
        ("0 a\n7 b", "line 2: there is no topic 7"),
        ("0 a\n0 b", "line 2: topic 0 has a name already"),
        ("1", "line 1: a line must be"),
        ("0 " + "x" * 201, "201 characters"),
    ],
)
def test_bad_names_are_refused_with_their_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "names.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=why):
        read_names(path, 4)


def test_names_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        read_names(tmp_path / "none.txt", 4)
    with pytest.raises(InputError, match=r"is a folder\. Give a text file with a line such as '7 meetings'"):
        read_names(tmp_path, 4)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe0")
    with pytest.raises(InputError, match="not UTF-8"):
        read_names(tmp_path / "bytes", 4)


# --- in a notebook ---------------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_short_form() -> None:
    release = make_release(topic_shares=np.array([0.1, 0.5, 0.001, 0.399]), share_errors=np.full(4, 0.01))
    html = release._repr_html_()
    assert all(sentence.split(",")[0] in html for sentence in release.odds().sentences())
    assert html.index("<td>1</td><td>50.00% ± 1.00%</td>") < html.index("<td>0</td>")
    exact = make_release(topic_shares=np.full(4, 0.25), share_errors=np.full(4, 3e-5))
    assert "25.00% ± &lt;0.01%" in exact._repr_html_()  # an error that is not zero never looks like it
    assert "<script" not in nasty_release()._repr_html_()
    assert "and 10 more topics" in make_release(60)._repr_html_()
