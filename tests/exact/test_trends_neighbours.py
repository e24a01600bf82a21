"""PrivateTrends on neighbouring data sets D and D′: what its proof needs of the code, seen in recorded runs.

Both runs have the same key, and the second is given what the first released (see ``test_private_neighbours.py``).
Everything besides the exact sums must then be the same, to the bit; the sums differ by one contribution within the
sensitivity that was charged; and the noise that was drawn is that of the event, in every cell.
"""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import PrivateTrends, Release
from discreet._random import Key
from discreet.corpus import Corpus, Vocabulary
from discreet.engines.threads.slices import ThreadSlices
from discreet.mechanisms.noise import add_discrete_gaussian
from discreet.mechanisms.release import Releases
from discreet.privacy import Guarantee, Unit
from discreet.training import self_test
from discreet.trends import model as trends_model
from discreet.trends.shares import Trends
from discreet.trends.slices import Periods
from tests.support.neighbours import Run, is_too_long, levels, recorded, used

N_WORDS, N_TOPICS = 30, 3
RELEASE = Release(
    topics=np.kron(np.eye(N_TOPICS), np.full(10, 0.1)) * 0.97 + 0.001,
    vocabulary=tuple(f"w{i}" for i in range(N_WORDS)),
    alpha=np.full(N_TOPICS, 0.1),
    beta=0.01,
    method="lda",
    parameters={},
    guarantee=Guarantee.none("of a test"),
)
YEARS = ("2015", "2021")
"""Nobody writes in the last two, and in 2019 only who comes and goes."""


def people(level: str) -> tuple[Corpus, list[str], Corpus, list[str]]:
    """D and the dates of its documents, and D′ without zoe, who has a clear document in each of four years, or one."""
    generator = np.random.default_rng(3)
    texts = [generator.integers(0, N_WORDS, 15) for _ in range(24)]
    years, users = [f"{2014 + i % 5}-05-01" for i in range(24)], [f"user{i // 3}" for i in range(24)]
    mine = 4 if level == "user" else 1
    # of one topic each, so that her proportions are as long as they can be
    texts[22:22] = [np.full(20, 10 * (i % N_TOPICS)) for i in range(mine)]
    years[22:22] = ["2019-12-31", "2016-02-29", "2017-07-07", "2018-01-01"][:mine]
    users[22:22] = ["zoe"] * mine
    offsets = np.cumsum([0, *map(len, texts)])
    groups = np.array(users) if level == "user" else None
    d = Corpus(np.concatenate(texts), offsets, Vocabulary(RELEASE.vocabulary, "public"), groups)
    others = [i for i, user in enumerate(users) if user != "zoe"]
    return d, years, d[others], [years[i] for i in others]


def fit(corpus: Corpus, years: list[str], answers: list[np.ndarray] | None = None) -> Run:
    """Run and record; ``answers`` take the place of what would be released."""
    run = Run()
    self_test.check(PrivateTrends._self_tests)
    trends = PrivateTrends(
        RELEASE, by="year", start=YEARS[0], end=YEARS[1], epsilon=20.0, public_model=True, n_threads=1, random_state=5
    )
    with recorded(run, answers), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run.model = trends.fit(corpus, years)
    run.warnings, run.charged = [str(one.message) for one in caught], list(run.model.ledger_.entries)
    return run


def drawn(run: Run) -> set[str]:
    """Whether the noise of the run is that of the events that were charged, under the key of its seed."""
    found = set()
    for number, (event, exact, noisy) in enumerate(zip(run.events, run.exact, run.noisy, strict=True), 1):
        right = exact.copy()
        add_discrete_gaussian(right, event.scale, Key.from_seed(5), number)
        if not np.array_equal(right, noisy):
            found.add("noise")
    return found


def compared(level: str) -> tuple[Run, Run, set[str]]:
    d, years, d1, other_years = people(level)
    one = fit(d, years)
    two = fit(d1, other_years, one.noisy)
    found = drawn(one)
    if (one.events, one.charged, one.warnings) != (two.events, two.charged, two.warnings):
        found.add("control flow")
    if [cells.shape for cells in one.exact] != [cells.shape for cells in two.exact]:
        return one, two, found | {"control flow"}
    mine, theirs = one.model.trends_, two.model.trends_
    if str(mine.to_json()) != str(theirs.to_json()) or str(mine.rows()) != str(theirs.rows()):
        found.add("the trends read private data")
    if any(is_too_long(event, a - b) for event, a, b in zip(one.events, one.exact, two.exact, strict=True)):
        found.add("sensitivity")
    return one, two, found


@levels
def test_neighbours_differ_by_one_contribution(level):
    d, d1, found = compared(level)
    assert found == set()
    assert len(d.exact) == 1 == d.charged_for
    assert d.exact[0].shape == (7, N_TOPICS)
    assert d.model.ledger_.unit == d1.model.ledger_.unit == Unit(level)
    (length,) = used(d, d1)
    assert 0.98 < length <= 1  # the comparison did see the unit, and the bound is reached
    moved = (d.exact[0] - d1.exact[0]).any(axis=1)
    assert moved.sum() == (4 if level == "user" else 1)


@levels
def test_the_last_of_all_units_may_go(level):
    d, years, _, _ = people(level)
    mine = np.flatnonzero(d.groups == "zoe") if level == "user" else np.array([22])
    with_unit = fit(d[mine], [years[i] for i in mine])
    without = fit(d[mine][[]], [], with_unit.noisy)
    assert str(with_unit.model.trends_.to_json()) == str(without.model.trends_.to_json())
    assert not without.exact[0].any()
    assert with_unit.warnings == without.warnings


# --- broken copies: each is caught by the same check -----------------------------------------------------------------


def test_clipping_each_slice_of_a_user_is_caught():
    """As if every slice of a user were a user."""
    real = ThreadSlices.__init__

    def by_piece(self, *arguments, **options):
        real(self, *arguments, **options)
        self._unit_ends = np.arange(1, len(self._piece_ends) + 1)

    with patch.object(ThreadSlices, "__init__", by_piece):
        assert compared("user")[2] == {"sensitivity"}


def test_clipping_documents_instead_of_users_is_caught():
    real = trends_model.open_slices

    def by_document(corpus, groups, *arguments, **options):
        return real(corpus, None, *arguments, **options)

    with patch.object(trends_model, "open_slices", by_document):
        assert compared("user")[2] == {"sensitivity"}


@levels
def test_a_missing_clip_is_caught(level):
    real = ThreadSlices.proportions

    def unclipped(self, *arguments, scale, clip, **options):
        return real(self, *arguments, scale=1.1 * scale, clip=10 * clip, **options)

    with patch.object(ThreadSlices, "proportions", unclipped):
        assert "sensitivity" in compared(level)[2]


def broken_noise(change: Any) -> Any:
    """A patch of the release: ``change(exact, noisy)`` is what leaves."""
    real = Releases.release

    def release(self, cells, event):
        exact = cells.copy()
        return change(exact, real(self, cells, event))

    return patch.object(Releases, "release", release)


@levels
@pytest.mark.parametrize(
    "change",
    [
        lambda exact, noisy: exact + (noisy - exact) // 2,
        lambda exact, noisy: np.where(exact > 0, noisy, 0),
        lambda exact, noisy: np.where(exact.any(axis=1, keepdims=True), noisy, 0),
        lambda exact, noisy: exact,
    ],
    ids=["half of the noise", "none in empty cells", "none in empty slices", "none"],
)
def test_missing_noise_is_caught(level, change):
    with broken_noise(change):
        assert "noise" in compared(level)[2]


class MarkedByExactSizes(Trends):
    """Slices are marked by how many units they have."""

    exact: list[np.ndarray] = []

    def __init__(self, **fields):
        super().__init__(**fields)
        object.__setattr__(self, "units", self.exact[-1])

    @property
    def enough(self):
        return self.units > 0.2  # she counts a half in each of four slices


@levels
def test_slices_marked_by_exact_sizes_are_caught(level):
    real = ThreadSlices.proportions

    def kept(self, *arguments, scale, **options):
        MarkedByExactSizes.exact.append(real(self, *arguments, scale=scale, **options).sum(axis=1) / scale)
        return real(self, *arguments, scale=scale, **options)

    with patch.object(ThreadSlices, "proportions", kept), patch.object(trends_model, "Trends", MarkedByExactSizes):
        assert compared(level)[2] == {"the trends read private data"}


@levels
def test_slices_that_are_read_from_the_documents_are_caught(level):
    real = PrivateTrends.fit

    def from_dates(self, X, y, **options):
        self.start, self.end = min(y), max(y)
        return real(self, X, y, **options)

    with patch.object(PrivateTrends, "fit", from_dates):
        assert compared(level)[2] == {"control flow"}


# --- slices ----------------------------------------------------------------------------------------------------------


def test_a_document_of_any_date_moves_no_other_documents_slice():
    """The places of others are the same whatever the odd document says of its date."""
    periods = Periods("month", "2015", "2016")
    usual = ["2015-03-01", "2016-12-31", "1999-01-01"]
    for odd in ("2015-04-01", "", "no date", None, "9999-99-99", 10**30, float("inf"), [1], {"a": 1}, b"2015"):
        places = trends_model.places_of(periods, [*usual, odd], 4)
        assert places[:3].tolist() == [2, 23, -1]
