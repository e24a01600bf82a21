"""The experiments themselves, small, and ``discreet reproduce``."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet import experiments
from discreet.cli import main
from discreet.corpus import Corpus, Vocabulary
from discreet.experiments.data import as_public, zhao_split
from discreet.experiments.experiment import Results
from discreet.experiments.own import cross
from discreet.experiments.own import table as private
from discreet.experiments.papers.huang2021 import adaptive
from discreet.experiments.papers.huang2021 import runs as sub_lda_runs
from discreet.experiments.papers.zhao2021 import figure5 as zhao2021
from discreet.experiments.run import run as run_experiment
from discreet.experiments.store import key_of

real = pytest.mark.skipif(
    not os.environ.get("DISCREET_DATA"), reason="DISCREET_DATA does not point at a folder of data sets"
)

ALL = experiments.experiments()
EXACT = [e for e in ALL if e.grid.exact and not e.grid.bounds]


@pytest.fixture
def run(capfd):
    def call(*arguments):
        code = main([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Figures that share a grid share its cells."""
    return tmp_path_factory.mktemp("work")


# --- each experiment -------------------------------------------------------------------------------------------------


def test_names_are_unique_and_grids_are_shared_on_purpose():
    assert len({e.name for e in ALL}) == len(ALL)
    by_name = {}
    for experiment in ALL:
        assert by_name.setdefault(experiment.grid.name, experiment.grid) is experiment.grid


@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.name)
def test_settings_are_keys(experiment):
    """Plain JSON, all different, and the quick ones are not taken for the paper's."""
    keys = [{key_of(experiment.grid, *cell) for cell in experiment.grid.cells(quick)} for quick in (False, True)]
    assert len(keys[0]) == len(experiment.grid.cells(False))
    assert experiment.grid.exact or not keys[0] & keys[1]


@real
@pytest.mark.parametrize("experiment", [e for e in ALL if e not in EXACT], ids=lambda e: e.name)
def test_quick_run(experiment, run, work, tmp_path):
    code, out, err = run("reproduce", *experiment.name.split(), "--quick", "--work", work, "-o", tmp_path)
    assert code == 0, err
    assert out.startswith(experiment.name)
    assert ("confidence of their own" if experiment.grid.bounds else "promise nothing") in out
    for finding in experiment.findings:
        assert finding.text in out
    stem = f"{experiment.paper}-{experiment.figure}-quick"
    page = (tmp_path / f"{stem}.md").read_text("utf-8")
    assert sum(line.startswith("| ---") for line in page.splitlines()) == len(experiment.tables)
    root = ElementTree.fromstring((tmp_path / f"{stem}.svg").read_text("utf-8"))
    assert len(list(root.iter())) > 20


@pytest.mark.parametrize("experiment", EXACT, ids=lambda e: e.name)
def test_what_is_computed(experiment, run, work):
    code, out, _ = run("reproduce", *experiment.name.split(), "--work", work, "--json")
    assert code == 0
    verdicts = {f["finding"]: (f["verdict"], f["said_by"]) for f in json.loads(out)["findings"]}
    assert set(verdicts.values()) >= {("fails", "the paper"), ("holds", "our reading")}


def test_epsilon_sub_beside_the_papers(tmp_path):
    """privacy/subsampled.py is held against dp-accounting elsewhere; here, that the table has these very numbers."""
    found = run_experiment(experiments.find("huang2021", "table3-epsilon"), tmp_path).results
    exact = [found.interval("epsilon_sub", gamma=g, reading="Theorem 3.1").mean for g in (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)]
    assert exact == pytest.approx([0.0465, 0.7719, 1.2809, 1.6273, 1.8895, 2.0], abs=1e-4)


@pytest.mark.parametrize(
    ("curve", "iterations"),
    [
        ([100.0, 50.0, 20.0, 10.0], 4),  # never settles: all of them
        ([100.0, 50.0, *[49.5] * 20], 8),  # changes 3 to 8 are six small ones: T = 3, s = 5
        ([*[50.0] * 4, 90.0, *[50.0] * 10], 12),  # one jump, and the count begins anew
    ],
)
def test_eq_9(curve, iterations):
    assert sub_lda_runs.iterations_until_settled(curve) == iterations


def test_sub_lda_takes_documents_without_their_authors(monkeypatch):
    """Its published form refuses users, and two of its three sets have them."""
    counts = np.tile([[3, 0, 1], [0, 2, 2]], (10, 1))
    corpus = Corpus.from_counts(counts, Vocabulary(["a", "b", "c"], "public"), groups=np.arange(20) // 2)
    monkeypatch.setattr(sub_lda_runs, "load", lambda name, **options: corpus)
    documents = sub_lda_runs.split.__wrapped__("enron", None, None)
    sub_lda_runs.model_of({"n_topics": 2, "gamma": 0.5, "rounds": 1}, 0).fit(documents.train)
    assert documents.train.n_documents == 18


def test_ratios_of_sample_sizes_are_over_the_equations():
    """1,000 tokens, 500 of them frequent, η = 1: batches of 100 on average with variance 80, as eq. 11 and 12 say."""
    drawn = [100 + sign * 10 for sign in (-1, 1)] * 40  # variance 100 · 80/79
    found = adaptive._ratios(drawn, 500, 1000, 2.0)
    assert found["size_over_eq11"] == found["size_by_share"] == pytest.approx(1)
    assert found["variance_over_eq12"] == pytest.approx(80 / (100 * 80 / 79))
    fewer = adaptive._ratios([50] * 2 + [51], 250, 1000, 2.0)
    assert fewer["size_over_eq11"] == pytest.approx(2, rel=0.01)
    assert fewer["size_by_share"] == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(("share", "verdict"), [(0.5, "holds"), (0.3, "fails")])
def test_findings_of_section_5_6_follow_the_numbers(share, verdict):
    rows = []
    for setting in adaptive.SECTION_5_6.grid.settings(False):
        if setting.get("part") == adaptive.LEMMA:
            rows += [{**setting, **point} for point in adaptive.SECTION_5_6.grid.cell(setting, 0)]
            continue
        quiet = setting["noise"] == adaptive.NONE
        over = 1.0 if quiet else 0.5 / share
        numbers = {"size_over_eq11": over, "variance_over_eq12": over, "size_by_share": 1.0, "variance_by_share": 1.0}
        rows += [{**setting, "iteration": i, **numbers} for i in (1, 100)]
    rows = [{**row, "repetition": n} for n in range(2) for row in rows]
    results = Results(adaptive.SECTION_5_6.grid, rows)
    found = [str(finding.verdict(finding.checks(results))) for finding in adaptive.SECTION_5_6.findings]
    assert found == [verdict, verdict, "holds", "holds", "holds", "fails", "holds", "fails"]


def test_each_word_once():
    corpus = as_public(Corpus.from_counts(np.array([[3, 0, 1], [0, 2, 0]]), Vocabulary(["a", "b", "c"], "public")))
    once = zhao2021.each_word_once(corpus)
    np.testing.assert_array_equal(once.to_counts().toarray(), [[1, 0, 1], [0, 1, 0]])
    assert once.vocabulary.origin == "public"


def test_no_clip_is_no_clip():
    """Non-private is the published sampler with an ε_I whose clip no count can reach."""
    model = zhao2021.model_of({"n_topics": 3, "method": zhao2021.PLAIN, "epsilon": None, "sweeps": 2}, 1)
    model.fit(as_public(Corpus.from_counts(np.full((5, 4), 3))))
    assert model.largest_count_ > 1e9


@real
def test_the_papers_splits():
    kos, nips = zhao_split("kos", 1000), zhao_split("nips", 1000)
    assert (kos.train.n_documents, kos.test.n_documents) == (3000, 430)
    assert (nips.train.n_documents, nips.test.n_documents) == (1350, 150)
    assert kos.train.n_words == nips.train.n_words == 1000
    pairs = sum(part.to_counts().nnz for part in kos)
    assert pairs == 210_323  # told in the notes of Figure 5


def test_the_ratio_is_to_plain_lda_over_the_same_words():
    place = {"words": "public", "n_words": 2000, "n_topics": 20, "method": "private", "epsilon": 1.0}
    assert private.plain_lda(place) == {**place, "method": "lda", "epsilon": None}
    selected = {**place, "words": "selected"}
    assert private.plain_lda(selected) == {**selected, "method": "lda"}
    assert private.plain_lda({**place, "method": "unigram"}) is None


def test_private_collections_are_a_public_rule_and_judged_by_cross_lda():
    found = [
        cross.archive(category) for category in ("cs.LG", "stat.ML", "q-bio.NC", "q-fin.ST", "quant-ph", "math.PR")
    ]
    assert found == ["cs", "stat", "q", "q", "other", "other"]
    place = {"collections": "archive", "method": "private-cross", "epsilon": 1.0}
    assert cross.plain_cross(place) == {**place, "method": "cross-lda", "epsilon": None}
    assert cross.plain_cross({**place, "method": "unigram"}) is None


def test_halves_by_date_are_the_first_and_the_second_half():
    assert cross.halves(5).tolist() == ["earlier", "earlier", "later", "later", "later"]
    cells = cross.DATES.grid.settings(False)
    assert {setting["collections"] for setting in cells} == {"date"}
    assert {(setting["method"], setting["epsilon"]) for setting in cells} == {
        ("private-cross", 1.0),
        ("unigram", None),
        ("cross-lda", None),
    }


# --- the command ------------------------------------------------------------------------------------------------------


def test_alone_it_lists(run):
    code, out, _ = run("reproduce")
    assert code == 0
    for experiment in ALL:
        assert f"{experiment.paper}\t{experiment.figure}\t" in out
    code, out, _ = run("reproduce", "huang2021", "--json")
    assert [row["figure"] for row in json.loads(out)] == [e.figure for e in ALL if e.paper == "huang2021"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (("zaho2021", "figure5"), "did you mean 'zhao2021'?"),
        (("zhao2021", "figre5"), "did you mean 'figure5'?"),
        (("qqq", "figure5"), "there are private, zhao2021"),
        (("zhao2019", "x"), "there are figure1, figure2."),
    ],
)
def test_a_typo_gets_one_line(run, given, hint):
    code, out, err = run("reproduce", *given)
    assert (code, out) == (2, "")
    assert hint in err
    assert len(err.splitlines()) == 1


def test_missing_data_are_one_line(run, tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    code, out, err = run("reproduce", "private", "table", "--quick", "--work", tmp_path)
    assert (code, out) == (2, "")
    assert "neurips-cvpr" in err
    assert len(err.splitlines()) == 1


def test_places_must_be_folders(run, tmp_path):
    (tmp_path / "file").write_text("")
    for option in ("--output", "--work"):
        code, _, err = run("reproduce", "huang2021", "table3-epsilon", option, tmp_path / "file")
        assert code == 2
        assert option in err


def test_only_show_runs_nothing(run, tmp_path):
    code, out, err = run("reproduce", "private", "table", "--only-show", "--work", tmp_path, "-o", tmp_path / "new")
    assert (code, out) == (2, "")
    assert "nothing of private table is finished yet" in err
    assert not list(tmp_path.iterdir())


def test_an_interrupted_run_says_that_its_cells_are_kept(run, tmp_path, monkeypatch):
    experiment = experiments.find("huang2021", "table3-epsilon")
    done = []

    def cell(setting, seed):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(setting)
        return experiment.grid.cell(setting, seed)

    stopped = replace(experiment, grid=replace(experiment.grid, cell=cell))
    monkeypatch.setattr(experiments, "find", lambda *_: stopped)
    code, out, err = run("reproduce", "huang2021", "table3-epsilon", "--work", tmp_path)
    assert (code, out) == (130, "")
    assert "finished cells are kept" in err
    assert "nothing was written" not in err
    monkeypatch.undo()
    code, _, err = run("reproduce", "huang2021", "table3-epsilon", "--work", tmp_path)
    assert code == 0
    assert [line.split("]")[0] for line in err.splitlines()] == ["[3/6", "[4/6", "[5/6", "[6/6"]
