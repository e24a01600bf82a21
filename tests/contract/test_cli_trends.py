"""``discreet trends``: files, budget, and messages that tell nothing about private dates."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from discreet import LDA, BudgetFile, PrivateLDA
from discreet.cli import tables
from discreet.corpus import Corpus, Vocabulary
from discreet.mechanisms.release import Releases

WORDS = {"rain": ["rain", "wind", "storm", "cloud", "<b>"], "song": ["piano", "violin", "cello", "flute", "harp"]}
YEARS = ("--by", "year", "--from", "2015", "--to", "2019", "--text", "body")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Mails, and two models: a private one, and one without a guarantee."""
    folder, generator, lines = tmp_path_factory.mktemp("trends"), np.random.default_rng(1), []
    for i in range(2000):
        year = 2015 + i % 4
        words = WORDS["song" if generator.random() < 0.2 * (year - 2014) else "rain"]
        row = {
            "body": " ".join(generator.choice(words[:4], 9)),
            "date": f"{year}-05-{1 + i % 28:02}",
            "who": f"u{i % 500}",
        }
        lines.append({**row, "place": ["east", "west"][i % 2]})
    (folder / "mails.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = Vocabulary([*WORDS["rain"], *WORDS["song"]], "public")
    corpus = Corpus.from_texts([line["body"] for line in lines], vocabulary=words)
    PrivateLDA(2, epsilon=20, n_rounds=20, n_units=2000).fit(corpus).release().save(folder / "model")
    LDA(2, n_sweeps=20).fit(corpus).release().save(folder / "plain")
    return folder


@pytest.fixture
def mails(home, monkeypatch):
    monkeypatch.chdir(home)
    return ("trends", "model", "mails.jsonl")


def test_a_page_a_table_and_json(run, mails, tmp_path, home):
    run("budget", tmp_path / "b", "--create", "--epsilon", 2, "--delta", 1e-5)
    for ending in ("html", "csv", "json"):
        out = tmp_path / f"trends.{ending}"
        done = run(*mails, *YEARS, "--epsilon", 0.5, "--budget", tmp_path / "b", "-o", out)
        assert done.code == 0, done.err
        assert "each year from 2015 to 2019" in done.out
        assert "with the model, if it was trained on the same documents: ε = " in done.out
        assert "1 of 5 slices are not shown" in done.out
        assert "a slice of 1,000 documents has a standard error of about" in done.err
        assert "\tchange in points\t" in done.out
        assert "± is one standard error of the noise" in done.err
        assert "2000" not in done.out + done.err  # how many documents there are
        assert out.stat().st_mode & 0o077 == 0o044
        assert run(*mails, *YEARS, "--epsilon", 0.5, "-o", out).code == 2  # it exists
    assert len(BudgetFile(tmp_path / "b").charges()) == 3
    rows = list(csv.DictReader((tmp_path / "trends.csv").read_text().splitlines()))
    assert len(rows) == 5 * 2
    assert [row["enough"] for row in rows] == ["yes"] * 8 + ["no"] * 2
    assert rows[0]["change"] == rows[-1]["share"] == ""
    shares = [float(row["share"]) for row in rows[:8]]
    song = next(row["topic"] for row in rows if row["words"].startswith(tuple(WORDS["song"])))
    assert shares[int(song) :: 2] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.25)
    found = json.loads((tmp_path / "trends.json").read_text())
    assert [part["slice"] for part in found["slices"]] == ["2015", "2016", "2017", "2018", "2019"]
    assert found["guarantee"]["observer"] == "trends"
    page = (tmp_path / "trends.html").read_text()
    assert "default-src 'none'" in page
    assert page.count("<svg") == 2
    assert "<b>" not in page.replace("<b>Topic", "")


def test_it_is_charged_before_noise_is_drawn_and_kept_if_the_place_is_gone(run, mails, tmp_path, monkeypatch):
    run("budget", tmp_path / "b", "--create", "--epsilon", 1, "--delta", 1e-5)
    charges = []
    real = Releases.release

    def release(self, cells, event):
        charges.append(len(BudgetFile(tmp_path / "b").charges()))
        return real(self, cells, event)

    monkeypatch.setattr(Releases, "release", release)
    whole = tables.write_whole

    def full(path, write, **options):
        if path.parent == tmp_path:
            raise OSError(28, "No space left on device")
        whole(path, write, **options)

    monkeypatch.setattr(tables, "write_whole", full)
    done = run(*mails, *YEARS, "--epsilon", 0.5, "--budget", tmp_path / "b", "-o", tmp_path / "x.csv")
    assert charges == [1]
    assert done.code == 2
    assert "The result is complete: it is in " in done.err
    assert "has been charged" in done.err
    kept = done.err.partition("it is in ")[2].partition(". Move")[0]
    with open(kept) as file:
        assert file.readline().startswith("slice,topic,share")


def test_an_interruption_before_the_charge_costs_nothing(run, mails, tmp_path, monkeypatch):
    from discreet.engines.threads.slices import ThreadSlices

    def stop(self, *_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadSlices, "proportions", stop)
    run("budget", tmp_path / "b", "--create", "--epsilon", 1, "--delta", 1e-5)
    done = run(*mails, *YEARS, "--epsilon", 0.5, "--budget", tmp_path / "b", "-o", tmp_path / "x.csv")
    assert done.code == 130
    assert "nothing was written." in done.err
    assert "has not been charged" in done.err
    assert not (tmp_path / "x.csv").exists()


def test_names_of_topics_stand_on_the_page(run, mails, tmp_path, home):
    years = (*YEARS, "--epsilon", 1, "-o")
    (tmp_path / "names.txt").write_text("1 <i>music</i>\n")
    done = run(*mails, *years, tmp_path / "a.html", "--names", tmp_path / "names.txt")
    assert "<b>Topic 1: &lt;i&gt;music&lt;/i&gt;</b>" in (tmp_path / "a.html").read_text()
    assert "names of topics" not in done.err
    (home / "model.names.txt").write_text("0 weather\n")
    done = run(*mails, *years, tmp_path / "b.html")
    (home / "model.names.txt").unlink()
    assert "<b>Topic 0: weather</b>" in (tmp_path / "b.html").read_text()
    assert "<b>Topic 1</b>" in (tmp_path / "b.html").read_text()
    assert "names of topics from " in done.err
    done = run(*mails, *years, tmp_path / "c.csv", "--names", tmp_path / "names.txt")
    assert done.code == 2
    assert "only a page shows names of topics" in done.err


def test_users_classes_and_standard_output(run, mails, tmp_path):
    by_class = ("--by", "class", "--column", "place", "--classes", "east, west", "--text", "body")
    done = run(*mails, *by_class, "--group", "who", "--epsilon", 2, "--units", 10, "--delta", 1e-6, "-o", "-")
    assert "a slice of 1,000 users has a standard error of about" in done.err
    assert "a user in n slices counts 1/√n in each" in done.err
    assert "and 10 users are in 2 slices" in done.err
    assert done.code == 0, done.err
    assert done.out.startswith("slice,topic,share,")
    assert "for one user" in done.err
    done = run(*mails, *by_class, "--epsilon", 2, "-o", tmp_path / "x.html", "--json", "-q")
    assert json.loads(done.out)["by"] == "class"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "year"), "Name public bounds: --from and --to"),
        (("--by", "class"), "from a public list (--classes)"),
        (("--by", "moth", "--from", 2015, "--to", 2019), "--by 'moth' is none of"),
        (("--by", "year", "--from", "soon", "--to", 2019), "--from 'soon' cannot be read"),
        (("--by", "year", "--from", 2015, "--to", 2019, "--column", "when"), "--column names the column of dates"),
        (("--by", "year", "--from", 2015, "--to", 2019, "--column", "who"), "(--date-format)"),
        (("--by", "year", "--from", 2050, "--to", 2051), "hardly any document is in one of the periods"),
        (("--by", "day", "--from", 1990, "--to", 2020), "more than 10,000 slices"),
        (("--by", "year", "--from", 2015, "--to", 2019, "--seed", 1, "--budget", "b"), "promises nothing"),
        (("--by", "year", "--from", 2015, "--to", 2019, "--budget", "nowhere"), "no budget file"),
        (("--by", "year", "--from", 2015, "--to", 2019, "-o", "x.txt"), "must end in .html, .csv or .json, which"),
        (("--by", "year", "--from", 2015, "--to", 2019, "-o", "mails.jsonl"), "must end in"),
    ],
)
def test_bad_input_is_one_line_and_charges_nothing(run, mails, options, message, tmp_path):
    done = run(*mails, "--text", "body", "--epsilon", 1, "-o", tmp_path / "x.csv", *options)
    assert done.code == 2
    line = done.err.splitlines()[-1]
    assert message in line
    assert not any(secret in line for secret in ("2015-05", "2018", "u1", "2000"))
    assert not list(tmp_path.iterdir())


def test_models_without_a_guarantee_and_files_without_columns(run, mails, tmp_path):
    years = (*YEARS, "--epsilon", 1, "-o", tmp_path / "x.csv")
    assert "(--public-model)" in run("trends", "plain", "mails.jsonl", *years).err
    assert run("trends", "plain", "mails.jsonl", *years, "--public-model").code == 0
    (tmp_path / "lines.txt").write_text("rain and wind\n")
    assert "has no columns" in run("trends", "model", tmp_path / "lines.txt", *years, "--overwrite").err
    assert "is read without dates" in run("trends", "model", "dataset:kos", *years, "--overwrite").err


def test_a_document_without_the_column_is_not_numbered(run, mails, tmp_path):
    rows = [{"body": "rain", "date": "2015-01-01"}] * 7 + [{"body": "rain"}]
    (tmp_path / "gap.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("trends", "model", tmp_path / "gap.jsonl", *YEARS, "--epsilon", 1, "-o", tmp_path / "x.json", "-q")
    assert done.code == 2
    assert "gap.jsonl: a document has no column 'date'; its columns are 'body'." in done.err  # the file has it
    assert "null stands for a missing date" in done.err
    assert "8" not in done.err.replace(str(tmp_path), "")


def test_an_odd_date_is_never_quoted(run, mails, tmp_path):
    """Dates of every kind: the reader turns them into text that can be read, or into nothing."""
    odd = ["2015-05-01", "secret", None, 20150501, ["secret"], {"a": "secret"}, "s" * 5000, 1e300, True, "2016-06-06"]
    rows = [{"body": "rain wind storm", "date": value} for value in [*odd, *["2017-01-01"] * 30]]
    (tmp_path / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("trends", "model", tmp_path / "odd.jsonl", *YEARS, "--epsilon", 100, "-o", tmp_path / "x.json", "-q")
    assert done.code == 0, done.err
    assert "secret" not in done.err + done.out
    sizes = [part["size"] for part in json.loads((tmp_path / "x.json").read_text())["slices"]]
    assert sizes == pytest.approx([1, 1, 30, 0, 0], abs=3)
