"""PrivateTrends: which slice a document is in, what is found, and what is refused before anything is charged."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from discreet import (
    LDA,
    Budget,
    BudgetExceeded,
    InputError,
    Ledger,
    PrivateTrends,
    PrivateVectorizer,
    Trends,
    WouldLeak,
)
from discreet.cli.wording import in_options
from discreet.corpus import Corpus, Vocabulary
from discreet.privacy import Basis, Guarantee, Observer, Relation, Unit
from discreet.trends.model import COUNTED_APART, LEFT_OUT, PUBLIC_MODEL
from discreet.trends.plan import LEAST, TrendsPlan
from discreet.trends.shares import quantile
from discreet.trends.slices import OUTSIDE, UNREADABLE, Classes, Periods, places_of, slices_of

WORDS = {
    "sea": ["wave", "tide", "ship", "harbour", "gull"],
    "law": ["court", "judge", "appeal", "clause", "verdict"],
}
LIST = Vocabulary(sorted(WORDS["sea"] + WORDS["law"]), "public")


def texts(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of one subject each, and their dates: from 2015 to 2018 there is more and more of the law."""
    generator = np.random.default_rng(seed)
    found, dates = [], []
    for i in range(n):
        year = 2015 + i % 4
        subject = "law" if generator.random() < 0.2 * (year - 2014) else "sea"
        found.append(" ".join(generator.choice(WORDS[subject], 10)))
        dates.append(f"{year}-{1 + i % 12:02}-{1 + i % 28:02}")
    return found, dates


TEXTS, DATES = texts(4000, 1)


@pytest.fixture(scope="module")
def release():
    corpus = Corpus.from_texts(texts(400, 2)[0], vocabulary=LIST)
    model = LDA(2, n_sweeps=60, random_state=0).fit(corpus)
    found = model.release()
    return found if "court" in found.top_words(5)[1] else replace(found, topics=found.topics[::-1])


def years(release, **options):
    return PrivateTrends(release, by="year", start="2015", end="2018", public_model=True, **options)


# --- slices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "start", "end", "names"),
    [
        ("year", "2015", 2017, ["2015", "2016", "2017"]),
        ("quarter", "2015-11", "2016-Q2", ["2015-Q4", "2016-Q1", "2016-Q2"]),
        ("month", "2015-11-30", "2016-01-01", ["2015-11", "2015-12", "2016-01"]),
        ("week", "2015-12-28", "2016-01-04", ["2015-W53", "2016-W01"]),
        ("week", "2016-W01", "2016-W02", ["2016-W01", "2016-W02"]),
        ("day", date(2016, 2, 28), np.datetime64("2016-03-01"), ["2016-02-28", "2016-02-29", "2016-03-01"]),
        ("month", "2016", "2016", [f"2016-{m:02}" for m in range(1, 13)]),
    ],
)
def test_periods_are_whole_and_have_a_day_between_the_bounds(by, start, end, names):
    assert Periods(by, start, end).names == tuple(names)


def test_every_day_is_in_the_period_of_its_name():
    """Over ten years, against numpy's calendar and Python's weeks."""
    days = np.arange("2010-01-01", "2020-01-01", dtype="datetime64[D]")
    months = [str(day) for day in days.astype("datetime64[M]")]
    names = {
        "year": [month[:4] for month in months],
        "quarter": [f"{month[:4]}-Q{(int(month[5:]) + 2) // 3}" for month in months],
        "month": months,
        "week": [f"{year}-W{week:02}" for year, week, _ in (day.isocalendar() for day in days.tolist())],
        "day": [str(day) for day in days],
    }
    for by, expected in names.items():
        periods = Periods(by, "2010", "2019")
        for given in (days, days.tolist(), names["day"], days.astype("datetime64[ns]"), pl.Series(days)):
            assert [periods.names[i] for i in places_of(periods, given, len(days))] == expected


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("2015-03-17", 2),
        (" 2015-03-17T23:59:59+14:00 ", 2),
        ("2015-03-17 08:15", 2),
        ("2015/3/7", 2),
        ("2015.03.07", 2),
        ("2015-03", 2),
        (date(2016, 12, 31), 23),
        (datetime(2016, 12, 31, 23, 59), 23),
        (np.datetime64("2016-12-31T10"), 23),
        ("2014-12-31", OUTSIDE),
        ("2017-01-01", OUTSIDE),
        ("2015", UNREADABLE),  # which month?
        ("2015-Q1", UNREADABLE),
        ("2015-02-30", UNREADABLE),
        ("17.03.2015", UNREADABLE),
        ("Tuesday", UNREADABLE),
        ("", UNREADABLE),
        (None, UNREADABLE),
        (float("nan"), UNREADABLE),
        (np.datetime64("NaT"), UNREADABLE),
        (True, UNREADABLE),
        (1426550400, UNREADABLE),
        ("9999-12-31", OUTSIDE),
        ("0000-00-00", UNREADABLE),
        pytest.param(10**5000, UNREADABLE, id="5,000 digits"),
    ],
)
def test_the_place_of_a_date_by_month(value, place):
    periods = Periods("month", "2015", "2016")
    assert periods.place(value) == place
    kept = periods.plain(value)
    assert periods.place(kept) == place
    assert (kept == "") == (place == UNREADABLE and value not in ("2015", "2015-Q1"))


def test_years_may_be_numbers_and_dates_may_have_a_form_of_their_own():
    assert places_of(Periods("year", 2015, 2016), np.array([2015, 2016, 2017]), 3).tolist() == [0, 1, OUTSIDE]
    assert places_of(Periods("year", 2015, 2016), [2015.0, "2016.0"], 2).tolist() == [0, 1]
    german = Periods("day", "2015-03-16", "2015-03-17", "%d.%m.%Y")
    assert places_of(german, ["17.03.2015", "2015-03-17", "16.03.2015"], 3).tolist() == [1, UNREADABLE, 0]
    assert german.place(german.plain("17.03.2015")) == 1
    assert Periods("day", "2015", "2015", "%").place("17.03.2015") == UNREADABLE


def test_arrays_and_columns_of_dates():
    periods = Periods("month", "2015", "2016")
    column = pl.Series([date(2015, 1, 5), None, date(2016, 2, 1)])
    for given in (column, column.to_numpy(), column.to_list(), column.cast(pl.String)):
        assert places_of(periods, given, 3).tolist() == [0, UNREADABLE, 13]
    assert places_of(periods, [["2015"], {}, "2015-01-01"], 3).tolist() == [UNREADABLE, UNREADABLE, 0]


def test_classes():
    classes = Classes.of(["east", "west", 2000])
    assert classes.names == ("east", "west", "2000")
    places = places_of(classes, ["west", " east ", "2000", 2000, 2000.0, "south", None, ["east"]], 8)
    assert places.tolist() == [1, 0, 2, 2, 2, OUTSIDE, OUTSIDE, UNREADABLE]
    assert [classes.plain(value) for value in ("west", "south", None, 10**5000)] == ["west", "", "", ""]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": "year"}, WouldLeak, "private"),
        ({"by": "year", "start": "2015"}, WouldLeak, "public bounds"),
        ({"by": "class"}, WouldLeak, "public list"),
        ({"by": "moth", "start": "2015", "end": "2016"}, InputError, "'moth'"),
        ({"by": "year", "start": "2017", "end": "2016"}, InputError, "lies after"),
        ({"by": "year", "start": "soon", "end": "2016"}, InputError, "'soon'"),
        ({"by": "day", "start": "1900", "end": "2016"}, InputError, "10,000"),
        ({"by": "year", "start": "2015", "end": "2016", "classes": ["a"]}, InputError, "classes="),
        ({"by": "class", "classes": ["a"], "start": "2015"}, InputError, "Leave them out"),
        ({"by": "class", "classes": "a,b"}, InputError, "a list"),
        ({"by": "class", "classes": []}, InputError, "each class once"),
        ({"by": "class", "classes": ["a", " a"]}, InputError, "twice"),
    ],
)
def test_slices_that_cannot_be(options, error, message):
    every = {"start": None, "end": None, "classes": None, "date_format": None, **options}
    with pytest.raises(error, match=message):
        slices_of(**every)


# --- what is found ---------------------------------------------------------------------------------------------------


def test_shares_follow_the_documents(release):
    """The law has 20%, 40%, 60% and 80%; the noise of a share of 1,000 documents is 0.01 at ε = 2, and the shares of
    the documents drawn are off by 0.016. Four errors of both together are 0.08."""
    found = years(release, epsilon=2.0).fit(TEXTS, DATES).trends_
    assert found.slices == ("2015", "2016", "2017", "2018")
    assert found.enough.all()
    assert found.shares[:, 1] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.08)
    assert found.shares.sum(axis=1) == pytest.approx(np.ones(4))
    assert found.sizes == pytest.approx(np.full(4, 1000), abs=6 * found.size_error)
    moved, error = found.change("2015", "2018")
    assert moved[1] == pytest.approx(0.6, abs=0.1)
    assert error[1] == pytest.approx(np.hypot(*found.standard_errors[[0, 3], 1]))
    assert np.array_equal(found.change(0, -1)[0], moved)
    assert found.change(1, 1)[1].tolist() == [0, 0]
    early, late = found.halves()
    assert (early.name, late.name) == ("2015 to 2016", "2017 to 2018")
    assert found.overall()[0] == pytest.approx(late.shares - early.shares)
    assert found.overall()[0][1] == pytest.approx(0.4, abs=0.08)


def test_the_guarantee_says_what_it_assumes(release):
    trends = years(release, epsilon=0.5).fit(TEXTS, DATES)
    promise = trends.guarantee_
    assert (promise.basis, promise.observer, promise.unit) == (Basis.PROVEN, Observer.TRENDS, Unit.DOCUMENT)
    assert 0.49 < promise.epsilon <= 0.5
    assert "(each year from 2015 to 2018)" in str(promise)
    assert PUBLIC_MODEL in promise.reasons
    assert [entry.label for entry in trends.ledger_.entries] == ["topic shares by slice"]
    assert trends.trends_.ledger == [entry.to_json() for entry in trends.ledger_.entries]
    assert years(release, random_state=1).fit(TEXTS, DATES).guarantee_.basis is Basis.NONE


def test_a_private_model_is_counted_apart_and_added_up(release):
    promise = Guarantee(1.0, 1e-6, Unit.DOCUMENT, Observer.STATISTICS, Relation.ADD_REMOVE, Basis.PROVEN)
    entry = TrendsPlan.make(1.0, 1e-6, 3, 2).entry
    private = replace(release, guarantee=promise, ledger=[entry.to_json()])
    trends = PrivateTrends(private, by="year", start="2015", end="2018", epsilon=0.5).fit(TEXTS, DATES)
    assert COUNTED_APART.format("1", 1e-6, "document") in trends.guarantee_.reasons
    assert 1.0 < trends.trends_.with_model < 1.25  # composed by their distributions: less than 1.5
    users = PrivateTrends(private, by="year", start="2015", end="2018").fit(TEXTS, DATES, groups=range(4000))
    assert users.trends_.with_model is None
    assert users.guarantee_.unit is Unit.USER


def test_users_count_once_over_all_slices(release):
    """1,000 users with a text in each of four years: each adds 1/2 to every year."""
    ledger = Ledger(Budget(2.5, 1e-6), unit="user")
    trends = years(release, epsilon=2.0, ledger=ledger).fit(TEXTS, DATES, groups=np.arange(4000) // 4)
    assert trends.trends_.sizes == pytest.approx(np.full(4, 500), abs=6 * trends.trends_.size_error)
    assert trends.trends_.shares[:, 1] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.1)
    with pytest.raises(BudgetExceeded, match=r"Choose a smaller epsilon or delta .more noise., or ask for a larger"):
        trends.fit(TEXTS, DATES, groups=np.arange(4000) // 4)
    with pytest.raises(InputError, match=r"^one document is to be protected .* the ledger counts per user"):
        trends.fit(TEXTS, DATES)
    assert not hasattr(trends, "trends_")
    assert len(ledger.entries) == 1


def test_classes_and_documents_outside(release):
    kinds = ["east" if i % 2 else "west" if i % 4 else "south" for i in range(4000)]
    trends = PrivateTrends(release, by="class", classes=["east", "west", "north"], epsilon=2.0, public_model=True)
    found = trends.fit(TEXTS, kinds).trends_
    assert found.sizes == pytest.approx([2000, 1000, 0], abs=6 * found.size_error)
    assert found.enough.tolist() == [True, True, False]
    assert np.isnan(found.shares[2]).all()
    assert found.overall() is None


def test_fitted_models_corpora_and_counts(release):
    corpus = Corpus.from_texts(TEXTS)
    model = LDA(2, n_sweeps=5, random_state=0).fit(corpus)
    shares = [
        years(given, random_state=3).fit(X, DATES).trends_.sizes for given, X in ((model, TEXTS), (model, corpus))
    ]
    assert np.array_equal(*shares)
    counts = corpus.restrict(LIST).to_counts()
    found = years(release, epsilon=1.0).fit(counts, DATES)
    assert LEFT_OUT in found.guarantee_.reasons
    assert LEFT_OUT not in years(release).fit(corpus, DATES).guarantee_.reasons
    vectorizer = PrivateVectorizer(8.0, random_state=0)
    selected = vectorizer.fit_transform(TEXTS)
    over = LDA(2, n_sweeps=5, random_state=0).fit(vectorizer.to_corpus(TEXTS)).release()
    assert LEFT_OUT not in years(over).fit(selected, DATES).guarantee_.reasons


# --- shares ----------------------------------------------------------------------------------------------------------


def made(sums, noise=1.0, by="year"):
    sums = np.array(sums, float)
    names = tuple(str(2000 + i) for i in range(len(sums)))
    words = tuple((f"w{k}", "<b>") for k in range(sums.shape[1]))
    return Trends(by, names, sums, noise, words, Unit.DOCUMENT, Guarantee.none("a test"), [])


def test_errors_by_hand():
    """Two topics, 75 and 25 of 100, noise 1: the variance of p̂ is (1 − 2p + 2p²) / 100²."""
    found = made([[75.0, 25.0]])
    assert found.shares.tolist() == [[0.75, 0.25]]
    assert found.standard_errors[0] == pytest.approx(np.sqrt([0.625, 0.625]) / 100)
    assert found.size_error == pytest.approx(np.sqrt(2))


def test_too_few_is_decided_by_the_noisy_size():
    edge = LEAST * np.sqrt(2)
    found = made([[edge, 0.0], [edge, -0.1], [-20.0, -20.0], [np.sqrt(2) * LEAST + 1, 0.0]])
    assert found.enough.tolist() == [True, False, False, True]
    assert np.isnan(found.standard_errors[1:3]).all()
    assert np.isnan(found.change(0, 1)[0]).all()
    assert found.overall()[0].tolist() == [0.0, 0.0]
    rows = found.rows()
    assert [row["enough"] for row in rows] == ["yes"] * 2 + ["no"] * 4 + ["yes"] * 2
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["slices"][1]["shares"] is None
    assert made([[1.0, 1.0]]).overall() is None


def test_halves_by_hand():
    """Three years: the first two together have 150 and 50 of 200, with noise of √2; the last 40 and 60 of 100."""
    found = made([[80.0, 20.0], [70.0, 30.0], [40.0, 60.0]])
    early, late = found.halves()
    assert (early.name, late.name) == ("2000 to 2001", "2002")
    assert early.shares.tolist() == [0.75, 0.25]
    assert early.errors == pytest.approx(np.sqrt(2 * 0.625) * np.ones(2) / 200)
    moved, margin = found.overall()
    assert moved == pytest.approx([-0.35, 0.35])
    assert margin == pytest.approx(np.hypot(early.errors, late.errors) * quantile(2))
    assert made([[80.0, 20.0]] * 2, by="class").halves() is None


def test_margins_of_changes_hold_for_all_topics_together():
    """4,000 runs, nothing changes: at most 5% may be called a change (6.4% is four deviations above). Noise of m slices
    taken for that of one would call more than 30% so, and a margin for one topic alone more than 15%."""
    generator = np.random.default_rng(7)
    truth = np.tile([400.0, 300.0, 200.0, 50.0, 50.0], (6, 1)) * np.array([1, 1, 2, 3, 4, 5])[:, None]
    called = 0
    for _ in range(4000):
        moved, margin = made(truth + 10 * generator.standard_normal(truth.shape), noise=10.0).overall()
        called += bool((abs(moved) > margin).any())
    assert 0.02 < called / 4000 < 0.064


def test_the_largest_share_is_marked_where_it_may_be_noise():
    found = made([[500.0, 480.0, 20.0], [300.0, 490.0, 210.0], [5.0, 0.0, 0.0]], noise=5.0, by="class")
    best, clear = found.leading()
    assert best.tolist() == [0, 1, 1]
    assert clear.tolist() == [True, False, True]
    assert made([[1.0, 1.0]], by="class").leading() is None


def test_a_model_of_users_needs_users(release):
    promise = Guarantee(1.0, 1e-6, Unit.USER, Observer.STATISTICS, Relation.ADD_REMOVE, Basis.PROVEN)
    ledger, users = Ledger(), replace(release, guarantee=promise, ledger=[])
    trends = PrivateTrends(users, by="year", start="2015", end="2018", ledger=ledger)
    with pytest.raises(InputError, match="without user ids the trends would protect single documents only") as refused:
        trends.fit(TEXTS, DATES)
    assert in_options(str(refused.value)).count("--group") == 1
    assert not ledger.entries
    trends = PrivateTrends(users, by="year", start="2015", end="2018").fit(TEXTS, DATES, groups=range(4000))
    assert trends.guarantee_.unit is Unit.USER


def test_shares_below_zero_stay():
    assert made([[-1.0, 101.0]]).shares[0, 0] == -0.01


def test_an_unknown_slice():
    with pytest.raises(InputError, match="no slice '1999'"):
        made([[1.0, 2.0]]).change("1999", "2000")


def test_quantiles_are_those_of_all_topics_together():
    assert quantile(1) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(20) == pytest.approx(3.023341, abs=1e-6)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"epsilon": 0}, InputError, "epsilon"),
        ({"epsilon": True}, InputError, "epsilon"),
        ({"epsilon": 1e-8}, InputError, "only noise"),
        ({"n_units": 10**7}, InputError, "one over n_units"),
        ({"public_model": False}, WouldLeak, "public_model"),
        ({"release": 3}, InputError, "found a int"),
        ({"release": LDA(2)}, InputError, "not fitted"),
        ({"start": "2050", "end": "2060"}, InputError, "hardly any document"),
        ({"date_format": "%d.%m.%Y"}, InputError, "most documents cannot be read"),
        ({"tokenizer": lambda text: ["others"]}, InputError, "hardly any document holds a word"),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_charged(release, options, error, message):
    ledger = Ledger(Budget(100.0, 1e-5), unit="document")
    with pytest.raises(error, match=message) as refused:
        years(release, ledger=ledger).set_params(**options).fit(TEXTS, DATES)
    assert not ledger.entries
    assert not any(secret in str(refused.value) for secret in ("4000", "4,000", *set(DATES)))


@pytest.mark.parametrize("y", [DATES[:-1], "2015", None, {"a": 1}, np.zeros((4000, 2))])
def test_one_date_for_each_document(release, y):
    with pytest.raises(InputError, match="exactly one date for each document") as refused:
        years(release).fit(TEXTS, y)
    assert "000" not in str(refused.value)


def test_words_left_out_by_looking_at_all_documents_are_refused(release):
    with pytest.raises(WouldLeak, match="depends on the others"):
        years(release).fit(Corpus.from_texts(TEXTS, max_words=8), DATES)


def test_cross_collection_models_are_refused(release):
    parts = {"collections": ("a", "b"), "collection_topics": np.stack([release.topics] * 2), "switch": np.zeros((2, 2))}
    with pytest.raises(InputError, match="cross-collection"):
        years(replace(release, **parts)).fit(TEXTS, DATES)


def test_unreadable_dates_of_a_few_are_in_no_slice(release):
    dates = ["someday" if i % 8 == 0 else day for i, day in enumerate(DATES)]
    found = years(release, epsilon=2.0).fit(TEXTS, dates).trends_
    assert found.sizes == pytest.approx([500, 1000, 1000, 1000], abs=6 * found.size_error)


# --- warnings before anything is spent -------------------------------------------------------------------------------


def test_a_budget_that_leaves_nothing_is_warned_of_from_public_facts(release):
    with pytest.warns(UserWarning, match="hardly show anything: .* 4,000 documents are in 4 slices"):
        years(release, epsilon=0.01, n_units=4000).fit(TEXTS, DATES)
    plan = TrendsPlan.make(0.001, 1e-6, 4, 2)
    assert "hardly show anything" in plan.foreseen(None)
    assert TrendsPlan.make(1.0, 1e-6, 4, 2).foreseen(None) == ""
    assert TrendsPlan.make(1.0, 1e-6, 4, 2).foreseen(4000) == ""
    with pytest.warns(UserWarning, match="no slice is large enough"):
        years(release, epsilon=0.02).fit(TEXTS[:100], DATES[:100])


def test_the_plan_is_what_is_charged_and_more_cells_cost_nothing(release):
    trends = years(release, epsilon=0.5)
    plan = trends.plan()
    assert trends.fit(TEXTS, DATES).ledger_.entries == (plan.entry,)
    assert trends.trends_.noise == plan.noise
    many = TrendsPlan.make(0.5, 1e-6, 1000, 400)
    assert many.noise == pytest.approx(plan.noise, rel=0.01)
    with pytest.raises(InputError, match="cells"):
        TrendsPlan.make(0.5, 1e-6, 10_000, 60_000)
