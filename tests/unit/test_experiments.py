"""What every experiment shares: intervals and verdicts, finished cells that survive a kill, tables and figures."""

from __future__ import annotations

import json
import math
import re
import subprocess
import textwrap
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from discreet import _svg
from discreet._errors import DataNotFound, InputError
from discreet.experiments import report, svg
from discreet.experiments.experiment import Experiment, Finding, Grid, Plot, Results, Table
from discreet.experiments.intervals import Check, Interval, Verdict, number
from discreet.experiments.run import outcome, run
from discreet.experiments.store import Store, key_of
from discreet.experiments.tables import lay_out, markdown
from tests.support.interrupted import in_python

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED


def toy_cell(setting, seed):
    """Perplexity 100/ε and some noise that the repetition decides for all settings alike."""
    shift = [0.0, 7.0, -5.0, 3.0, 1.0][seed % 5]
    if setting["epsilon"] is None:
        return [{"perplexity": 10.0 + shift}]
    return [{"perplexity": 100.0 / setting["epsilon"] + shift}]


def toy_settings(quick):
    flat = [{"method": "plain", "epsilon": None}]
    return flat + [{"method": "private", "epsilon": e} for e in ((1.0,) if quick else (1.0, 2.0, 4.0))]


def toy_grid(**changes):
    parts = {"version": 1, "settings": toy_settings, "cell": toy_cell, "measures": ("perplexity",), "repetitions": 3}
    return Grid("toy", **{**parts, **changes})


def falls(results):
    ends = ({"method": "private", "epsilon": e} for e in (4.0, 1.0))
    return [Check.below("at 4 minus at 1", results.difference("perplexity", *ends), 0.0)]


def plain(place):
    return None if place["method"] == "plain" else {"method": "plain", "epsilon": None}


def toy(**changes):
    parts = {
        "paper": "toy",
        "figure": "figure1",
        "title": "A toy <&>",
        "source": "Nobody",
        "grid": toy_grid(),
        "findings": (Finding("it falls.", falls),),
        "tables": (
            Table("Perplexity", "perplexity", ("method",), "epsilon"),
            Table("Over plain", "perplexity", ("method",), "epsilon", over=plain),
        ),
        "plots": (Plot("A toy <&>", x="epsilon", y="perplexity", lines="method", log_x=True),),
        "notes": ("a note",),
    }
    return Experiment(**{**parts, **changes})


@pytest.fixture
def results():
    grid = toy_grid()
    return Results(
        grid,
        [{**setting, **p, "repetition": n} for setting, n in grid.cells(False) for p in toy_cell(setting, n)],
    )


# --- intervals and verdicts ------------------------------------------------------------------------------------------


def test_the_interval_is_students():
    values = [3.0, 5.0, 4.0, 8.0]
    found = Interval.of(values)
    low, high = stats.t.interval(0.95, 3, loc=5.0, scale=stats.sem(values))
    assert (found.mean, found.n) == (5.0, 4)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_interval_covers_as_often_as_it_says():
    """4,000 intervals of 4 normal values: 95% ± 4.5 deviations, a false alarm once in 150,000; ±1.96 would give 87%."""
    draws = np.random.default_rng(1).normal(size=(4000, 4))
    covered = np.mean([found.low < 0 < found.high for found in map(Interval.of, draws)])
    assert abs(covered - 0.95) < 4.5 * math.sqrt(0.95 * 0.05 / 4000)


def test_equal_values_leave_no_rounding_behind():
    assert np.std([0.1] * 3, ddof=1) > 0
    assert Interval.of([0.1] * 3) == Interval(0.1, 0.1, 0.1, 3)


def test_one_run_says_nothing_and_something_computed_says_all():
    assert Interval.of([2.0]) == Interval(2.0, -math.inf, math.inf, 1)
    assert Interval.of([]).n == 0
    assert Interval.of([1.0, math.inf]).low == -math.inf
    assert Interval.exact(2.0) == Interval(2.0, 2.0, 2.0, 1)


def test_ratios_are_geometric():
    found = Interval.of_ratio([2.0, 8.0], [1.0, 1.0])
    assert found.mean == pytest.approx(4.0)
    assert found.low * found.high == pytest.approx(16.0)


@pytest.mark.parametrize(
    ("low", "high", "below", "above", "between"),
    [
        (-2.0, -1.0, HOLDS, FAILS, FAILS),
        (1.0, 2.0, FAILS, HOLDS, FAILS),
        (-1.0, 1.0, UNDECIDED, UNDECIDED, UNDECIDED),
        (-0.2, 0.2, UNDECIDED, UNDECIDED, HOLDS),
        (0.0, 0.0, FAILS, FAILS, HOLDS),
        (0.2, 0.7, FAILS, HOLDS, UNDECIDED),
        (-math.inf, math.inf, UNDECIDED, UNDECIDED, UNDECIDED),
    ],
)
def test_the_interval_decides_and_not_the_mean(low, high, below, above, between):
    found = Interval(-5.0, low, high, 3)  # a mean outside its own interval: nobody may look at it
    assert Check.below("x", found, 0.0).verdict is below
    assert Check.above("x", found, 0.0).verdict is above
    assert Check.between("x", found, -0.5, 0.5).verdict is between


def test_a_finding_holds_when_all_do_and_fails_when_one_does():
    assert Verdict.of_all([HOLDS, HOLDS]) is HOLDS
    assert Verdict.of_all([HOLDS, UNDECIDED]) is UNDECIDED
    assert Verdict.of_all([HOLDS, UNDECIDED, FAILS]) is FAILS
    assert Verdict.of_all([]) is UNDECIDED
    assert Verdict.of_most([HOLDS, HOLDS, FAILS]) is HOLDS
    assert Verdict.of_most([HOLDS, FAILS]) is UNDECIDED
    assert Verdict.of_most([FAILS, FAILS, HOLDS]) is FAILS
    assert Verdict.of_most([]) is UNDECIDED


def test_often_means_most():
    checks = [Check.below("x", Interval.exact(v), 0.0) for v in (-1.0, -1.0, 1.0)]
    assert Finding("x", lambda results: checks).verdict(checks) is FAILS
    assert Finding("x", lambda results: checks, often=True).verdict(checks) is HOLDS


def test_comparisons_are_paired_by_repetition(results):
    """The toy's noise is the same for all settings of a repetition: a paired difference has none of it."""
    one, four = ({"method": "private", "epsilon": e} for e in (1.0, 4.0))
    assert results.interval("perplexity", **one).half > 10
    assert results.difference("perplexity", one, four).half == pytest.approx(0, abs=1e-9)
    results.rows = [row for row in results.rows if (row["epsilon"], row["repetition"]) != (4.0, 1)]
    assert results.difference("perplexity", one, four).n == 2


def test_conditions_must_name_one_point(results):
    with pytest.raises(ValueError, match="does not name one point"):
        results.interval("perplexity", method="private")
    assert results.interval("perplexity", method="nobody").n == 0
    assert (
        Check.below("x", results.ratio("perplexity", {"method": "nobody"}, {"method": "plain"}), 1.0).verdict
        is UNDECIDED
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.56, "1235"), (0.04646, "0.04646"), (-2.5, "−2.5"), (100.0, "100"), (1e-7, "1e-07")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


# --- running, stopping, going on --------------------------------------------------------------------------------------


def test_cells_go_repetition_by_repetition():
    cells = toy_grid().cells(quick=False)
    assert [n for _, n in cells] == [0] * 4 + [1] * 4 + [2] * 4
    assert len(toy_grid().cells(quick=True)) == 4
    assert len(toy_grid().cells(quick=False, repetitions=7)) == 28
    assert len(toy_grid(exact=True).cells(quick=False)) == 4


def test_settings_with_much_noise_run_more_often(tmp_path):
    grid = toy_grid(repetitions_of=lambda setting: 5 if setting["epsilon"] == 1.0 else 2)
    cells = grid.cells(quick=False)
    assert [n for _, n in cells] == [0] * 4 + [1] * 4 + [2, 3, 4]
    assert all(setting["epsilon"] == 1.0 for setting, n in cells if n > 1)
    assert len(grid.cells(quick=False, repetitions=1)) == len(grid.cells(quick=True)) == 4
    found = run(toy(grid=grid), tmp_path)
    assert found.complete
    (page, *_) = report.write(found, tmp_path / "page", "command")
    assert "11 cells, 2 to 5 repetitions" in page.read_text()
    many = found.results.interval("perplexity", method="private", epsilon=1.0)
    assert many.n == 5


def test_a_second_run_runs_nothing(tmp_path):
    ran = []

    def cell(setting, seed):
        ran.append((setting["epsilon"], seed))
        return toy_cell(setting, seed)

    experiment = toy(grid=toy_grid(cell=cell))
    first = run(experiment, tmp_path)
    again = run(experiment, tmp_path)
    assert len(ran) == len(set(ran)) == 12
    assert first.results.rows == again.results.rows
    assert first.complete
    assert first.findings()[0][1] is HOLDS
    run(experiment, tmp_path, repetitions=4)
    assert len(ran) == 16
    run(toy(grid=toy_grid(cell=cell, version=2)), tmp_path)
    assert len(ran) == 28  # another version trusts nothing of the old one


def test_the_key_is_what_decides_the_numbers():
    grid, setting = toy_grid(), {"method": "private", "epsilon": 1.0}
    key = key_of(grid, setting, 0)
    assert key == key_of(toy_grid(repetitions=9), dict(reversed(setting.items())), 0)
    others = [key_of(grid, setting, 1), key_of(toy_grid(version=2), setting, 0), key_of(grid, {**setting, "x": 1}, 0)]
    assert len({key, *others}) == 4


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.unit.test_experiments import toy, toy_cell, toy_grid
from discreet.experiments.run import run

done = []
def cell(setting, seed):
    if len(done) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(seed)
    return toy_cell(setting, seed)

run(toy(grid=toy_grid(cell=cell)), Path({work!r}))
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    code = KILLED.format(work=str(tmp_path))
    assert subprocess.run(**in_python(textwrap.dedent(code)), check=False).returncode == -9
    ran = []

    def cell(setting, seed):
        ran.append(seed)
        return toy_cell(setting, seed)

    found = run(toy(grid=toy_grid(cell=cell)), tmp_path)
    assert len(ran) == 12 - 5
    assert found.results.rows == run(toy(), tmp_path / "other").results.rows


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_cut_short_is_run_again(tmp_path, cut):
    run(toy(), tmp_path)
    path = tmp_path / "toy.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    kept = Store(tmp_path, toy_grid()).read()
    assert len(kept) == (12 if cut == 1 else 11)  # without its newline alone the line is still whole
    found = run(toy(), tmp_path)
    assert found.complete
    assert len(Store(tmp_path, toy_grid()).read()) == 12
    assert all(json.loads(line)["key"] for line in path.read_text().splitlines()[-1:])


def test_a_part_of_a_run_can_be_shown(tmp_path):
    experiment = toy()
    known = Store(tmp_path, experiment.grid).read()
    nothing = outcome(experiment, known, quick=False)
    assert not nothing.complete
    assert "0 of 12 cells" in report.text(nothing)
    assert nothing.findings()[0][1] is UNDECIDED
    run(experiment, tmp_path, repetitions=1)
    part = outcome(experiment, Store(tmp_path, experiment.grid).read(), quick=False)
    assert "4 of 12 cells" in report.text(part)
    assert part.findings()[0][1] is UNDECIDED  # one repetition has no interval


def test_missing_data_stop_the_run_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    grid = toy_grid(settings=lambda quick: [{"dataset": "docstrings"}, {"dataset": "arxiv"}])
    with pytest.raises(DataNotFound, match="arxiv"):
        run(toy(grid=grid), tmp_path)
    assert not list(tmp_path.iterdir())


def test_work_and_output_must_be_folders(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="not a folder"):
        run(toy(), file)
    with pytest.raises(InputError, match="not a folder"):
        report.write(run(toy(), tmp_path / "work"), file, "command")


# --- tables, figures, pages -------------------------------------------------------------------------------------------


def test_tables(results):
    perplexity, over = (lay_out(table, results) for table in toy().tables)
    assert perplexity.header == ["method", "", "ε = 1", "ε = 2", "ε = 4"]
    assert [row[0] for row in perplexity.rows] == ["plain", "private"]
    half = Interval.of([100.0, 107.0, 95.0]).half
    assert perplexity.rows[1][:3] == ["private", "", f"100.7 ± {half:.0f}"]
    assert [row[0] for row in over.rows] == ["private"]
    assert over.rows[0][2].startswith(number(results.ratio("perplexity", {"epsilon": 1.0}, {"epsilon": None}).mean))
    lines = markdown(perplexity).splitlines()
    assert len(lines) == 4
    assert all(line.count("|") == 6 for line in lines)


def test_the_figure_is_well_formed_and_its_points_are_where_they_belong(results):
    plot = toy().plots[0]
    root = ElementTree.fromstring(svg.draw(plot, results))
    name = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in root.iter(f"{name}text")]
    assert "A toy <&>" in texts
    assert {"plain", "private", "1", "2", "4", "ε", "perplexity"} <= set(texts)
    (polyline,) = root.iter(f"{name}polyline")
    points = np.array([[float(v) for v in point.split(",")] for point in polyline.get("points").split()])
    assert points.shape == (3, 2)
    assert np.diff(points[:, 0]) == pytest.approx(np.diff(points[:, 0])[::-1], abs=0.15)  # 1, 2, 4 on a log axis
    ticks = {t.text: float(t.get("y")) - 4 for t in root.iter(f"{name}text") if t.get("text-anchor") == "end"}
    (low, at_low), (high, at_high) = sorted((float(text.replace("−", "-")), y) for text, y in ticks.items())[
        :: len(ticks) - 1
    ]
    read_off = low + (points[:, 1] - at_low) / (at_high - at_low) * (high - low)
    means = [results.interval("perplexity", epsilon=e).mean for e in (1.0, 2.0, 4.0)]
    assert read_off == pytest.approx(means, abs=0.3)
    bars = [line for line in root.iter(f"{name}line") if line.get("x1") == line.get("x2") == f"{points[0, 0]:.1f}"]
    heights = [abs(float(bar.get("y1")) - float(bar.get("y2"))) for bar in bars]
    half = results.interval("perplexity", epsilon=1.0).half
    assert max(heights) == pytest.approx(2 * half * abs(at_high - at_low) / (high - low), abs=0.3)
    assert any("dasharray" in str(line.attrib) for line in root.iter(f"{name}line"))  # the method without ε
    for element in root.iter(f"{name}circle"):
        assert 0 <= float(element.get("cx")) <= float(root.get("width"))


def test_lines_of_numbers_are_named():
    assert [svg._named("epsilon", 0.5), svg._named("method", "plain")] == ["ε = 0.5", "plain"]


def test_axes_have_round_ticks():
    assert _svg._linear_ticks(0.0, 10.0) == pytest.approx([0, 2, 4, 6, 8, 10])
    assert _svg._linear_ticks(401.0, 428.0) == pytest.approx([410, 420])
    assert _svg._log_ticks(1.0, 100.0) == pytest.approx([1, 2, 5, 10, 20, 50, 100])
    assert len(_svg._log_ticks(101.0, 109.0)) >= 2


def test_a_figure_of_one_value_is_still_drawn():
    grid = toy_grid()
    one = Results(grid, [{"method": "private", "epsilon": 1.0, "perplexity": 5.0, "repetition": 0}])
    ElementTree.fromstring(svg.draw(toy().plots[0], one))


def test_the_page_says_how_it_was_made(tmp_path):
    found = run(toy(), tmp_path / "work")
    paths = report.write(found, tmp_path / "out", "discreet reproduce toy figure1")
    assert sorted(path.name for path in paths) == ["toy-figure1.md", "toy-figure1.svg"]
    page = paths[0].read_text("utf-8")
    for words in (
        "**holds** – the paper: it falls.",
        "`discreet reproduce toy figure1`",
        "numpy ",
        "Duration:",
        "seeded",
    ):
        assert words in page
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert links == ["toy-figure1.svg"]
    assert (tmp_path / "out" / links[0]).exists()
    assert not list((tmp_path / "out").glob(".*"))


def test_many_comparisons_are_counted_and_folded(tmp_path):
    def many(results):
        one = [Check.below("once", Interval.exact(2.0), 1.0)]
        return one + [Check.below(f"number {i}", Interval.exact(0.0), 1.0) for i in range(12)]

    found = run(toy(findings=(Finding("it falls.", many), Finding("it falls.", falls))), tmp_path / "work")
    page = report.page(found, "x")
    assert "**fails** – the paper: it falls. (12 hold, 1 fails)" in page
    assert page.count("<details>") == page.count("</details>") == 1  # the other finding has one comparison
    assert page.count("* number") == 12
    assert "verdict: fails (12 hold, 1 fails)" in report.text(found)


def test_a_quick_run_says_that_it_has_no_weight(tmp_path):
    found = run(toy(), tmp_path, quick=True)
    assert "no evidence" in report.text(found)
    assert found.to_json()["quick"] is True
    (path, *_) = report.write(found, tmp_path / "out", "x")
    assert path.name == "toy-figure1-quick.md"


def test_failing_is_a_result(tmp_path):
    def rises(results):
        return [Check.above(check.what, check.found, 0.0) for check in falls(results)]

    found = run(toy(findings=(Finding("it rises.", rises),)), tmp_path)
    assert "verdict: fails" in report.text(found)
    assert found.to_json()["findings"][0]["verdict"] == "fails"


def test_repetitions_promise_nothing(tmp_path):
    assert "promise nothing" in report.text(run(toy(), tmp_path))


def test_cells_tell_which_source_they_ran_under(tmp_path):
    found = run(toy(), tmp_path)
    (told,) = found.versions
    assert re.search(r"numpy \d.*source [0-9a-f]{8}$", told)
