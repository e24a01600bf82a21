"""``discreet fit --engine spark``, as a stranger would type it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("pyspark", reason="Spark needs discreet[spark]")

from discreet import Release
from discreet._catalogue import METHODS
from discreet.cli import spark
from tests.support.spark import ROOT

SHORT = """
import sys
from discreet import PrivateLDA
from discreet.cli import main
PrivateLDA.__init__.__kwdefaults__["n_rounds"] = 4  # of 300: the command has no option for it
sys.exit(main(sys.argv[1:]))
"""


def discreet(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", SHORT, *arguments]
    known = {**os.environ, "PYTHONPATH": paths, "SPARK_LOCAL_IP": "127.0.0.1", **environment}
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    texts = ["rain and wind", "piano and violin", "wind <script> storm"]
    rows = {"user": [f"user{i // 3}" for i in range(300)], "body": [texts[i % 3] for i in range(300)]}
    pl.DataFrame(rows).write_parquet(tmp_path / "notes.parquet")
    (tmp_path / "words.txt").write_text("rain\nwind\nstorm\npiano\nviolin\nscript\n")
    return tmp_path


SPARK = ("--engine", "spark", "--master", "local[1]", "--shards", "shards")


def test_a_parquet_table_becomes_a_model(notes):
    words = ("--vocabulary", "words.txt", "--epsilon", "8", "-k", "2")
    ran = discreet(notes, "fit", "notes.parquet", "--text", "body", "--group", "user", *words, *SPARK, "-o", "model")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "all documents of one user" in ran.stdout
    assert "Spark cluster" in ran.stdout
    assert Release.load(notes / "model").n_words == 6
    assert list((notes / "shards").iterdir()) == []


def test_words_of_public_text(notes):
    """``adapted`` takes its words from public text, before it reads a document."""
    public = [f"rain and wind, {word} and storm" for word in ("piano", "violin", "rain", "wind", "harp")] * 40
    pl.DataFrame({"body": public}).write_parquet(notes / "public.parquet")
    given = ("--public", "public.parquet", "--public-text", "body", "--method", "adapted", "-k", "3")
    ran = discreet(notes, "fit", "notes.parquet", "--text", "body", *given, "--epsilon", "8", *SPARK, "-o", "model")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "is public" in ran.stdout
    assert "Spark cluster" in ran.stdout
    assert set(Release.load(notes / "model").vocabulary) == {"harp", "piano", "rain", "storm", "violin", "wind"}
    assert list((notes / "shards").iterdir()) == []


def test_an_ordinary_model(notes):
    """The most frequent words of the text, and nothing promised."""
    given = ("--max-words", "4", "--sweeps", "3", "-k", "2")
    ran = discreet(notes, "fit", "notes.parquet", "--text", "body", *given, *SPARK, "-o", "model")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "none" in ran.stdout
    words = Release.load(notes / "model").vocabulary
    assert len(words) == 4
    assert "wind" in words
    assert list((notes / "shards").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("notes.parquet", "--text", "body", "--engine", "spark"), "needs --master"),
        (("notes.parquet", "--text", "body", "--master", "local[1]"), "--master goes with --engine spark"),
        (("notes.parquet", "--text", "body", "--engine", "sparks"), "must be threads or spark"),
        (("notes.parquet", "--text", "body", "--method", "spectral", *SPARK), "spectral runs on threads only"),
        (("notes.parquet", "--text", "body", "--collection", "user", *SPARK), "private-cross runs on threads only"),
    ],
)
def test_mistakes_are_told_before_spark_starts(notes, arguments, line):
    assert_refused(notes, line, *arguments, "--epsilon", "1")


def test_the_methods_are_those_of_models_that_take_an_engine():
    able = {name for name, one in METHODS.items() if getattr(import_module(one.home), one.name).runs_elsewhere}
    assert able == set(spark.METHODS)


def test_user_ids_are_of_no_use_to_an_ordinary_model(notes):
    assert_refused(notes, "no use for --group", "notes.parquet", "--text", "body", "--group", "user", *SPARK)


def assert_refused(notes: Path, line: str, *arguments: str) -> None:
    ran = discreet(notes, "fit", *arguments, "-o", "model")
    assert (ran.returncode, len(ran.stderr.strip().splitlines())) == (2, 1), ran.stderr
    assert line in ran.stderr
    assert not (notes / "model").exists()


def test_without_java(notes, tmp_path):
    ran = discreet(
        notes, "fit", "notes.parquet", "--text", "body", "--epsilon", "1", *SPARK, "-o", "model", JAVA_HOME="x"
    )
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert "JAVA_HOME=x has no bin/java" in ran.stderr


def test_a_table_or_column_that_is_not_there(notes):
    words = ("--vocabulary", "words.txt", "--epsilon", "8", "-k", "2", "-o", "model", *SPARK)
    for file, column, said in (
        ("other.parquet", "body", "could not read other.parquet"),
        ("notes.parquet", "text", "has 'user', 'body'"),
    ):
        ran = discreet(notes, "fit", file, "--text", column, *words)
        assert ran.returncode == 2, ran.stderr
        assert said in ran.stderr.strip().splitlines()[-1]
        assert "Traceback" not in ran.stderr
