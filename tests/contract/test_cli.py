"""The command line: what it prints, what it writes, and one clear line for whatever is wrong."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.cli.wording import in_options
from discreet.corpus import Tokenizer, Vocabulary, read
from discreet.corpus.lemmas import lemmatizer
from discreet.evaluation import mixed_coherence
from discreet.privacy import EXACT_COUNTS, Guarantee
from discreet.privacy.budget import BudgetFile
from discreet.release import folder as release_folder
from discreet.release.release import Release
from tests.support.command import Run

COMMANDS = (
    ["demo"],
    ["fit"],
    ["topics"],
    ["report"],
    ["transform"],
    ["predict"],
    ["evaluate"],
    ["data"],
    ["explore"],
    ["data", "ls"],
)


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Run a command in its own process, warnings being errors. It hears Ctrl-C even if these tests run in a shell's
    background, where children would inherit that they shall not."""
    command = [sys.executable, "-W", "error", "-m", "discreet", *map(str, arguments)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, **options)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with forty small documents of two kinds, and a model of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    kinds = ("rain wind storm cloud rain", "piano violin music concert piano")
    rows = [{"body": f"the {kinds[i % 2]} day{i}", "who": f"user{i % 5}", "kind": i % 2} for i in range(40)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind")
    weather = np.array([1, 0, 0, 0, 2, 1, 0, 1]) / 5
    music = np.array([0, 1, 1, 2, 0, 0, 1, 0]) / 5
    topics = 0.999 * np.array([weather, music]) + 0.001 / 8
    none = Guarantee.none(EXACT_COUNTS)
    Release(topics, words, np.array([0.1, 0.1]), 0.01, "lda", {"n_topics": 2}, none).save(tmp_path / "model")
    return tmp_path


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


# --- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_ends_with_an_example(run: Run, command: list[str]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0
    last = ran.out.rstrip().splitlines()[-1]
    assert last.startswith("  Example:  discreet " + command[0])


def test_fit_shows_the_options_that_matter_first(run: Run) -> None:
    """Under headings; and no option is shown twice or left out."""
    from typer.main import get_command

    from discreet.cli.app import app
    from discreet.cli.fit import PANELS

    out = run("fit", "--help").out
    lines = out.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Arguments:", *(f"{panel}:" for panel in PANELS), "Other options:"]
    common = lines[lines.index("Common options:") + 1 : lines.index("Privacy:")]
    assert [re.search(r"--[a-z-]+", line)[0] for line in common if line.strip().startswith("-")] == [
        *("--output", "--text", "--topics", "--epsilon", "--group", "--vocabulary", "--budget", "--quiet")
    ]
    options = [parameter for parameter in get_command(app).commands["fit"].params if parameter.name != "file"]
    assert {name for panel in PANELS.values() for name in panel} <= {parameter.name for parameter in options}
    for parameter in options:
        assert len(re.findall(rf"^  (-., )?{parameter.opts[0]}\b(?!-)", out, re.M)) == 1, parameter.name


def test_without_arguments_it_helps(run: Run) -> None:
    assert run() == run("--help")
    assert "Commands:" in run().out


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("discreet 0.")


def test_help_takes_less_than_half_a_second() -> None:
    """Processor time, the best of three: the machine may be busy with other tests."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "discreet", "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


# --- fit -------------------------------------------------------------------------------------------------------------


def test_fit_makes_a_model_and_shows_it(here: Path, run: Run) -> None:
    ran = run("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 30, "--seed", 1, "-o", "new", "--threads", 1)
    assert ran.code == 0, ran.err
    assert "40 documents" in ran.err
    head, *lines = ran.out.splitlines()
    assert head == "topic\twords"
    assert {frozenset(line.split("\t")[1].split()[:2]) >= {"rain"} for line in lines[:2]} == {True, False}
    assert lines[2].startswith("guarantee: none: ")
    assert re.fullmatch(r"trained in [\d.]+ s, wrote new", lines[3])
    release = Release.load(here / "new")
    assert release.n_topics == 2
    assert release.method == "lda"
    assert release.guarantee.summary().startswith("none")
    assert "the" not in release.vocabulary


def test_words_of_any_alphabet(here: Path, run: Run) -> None:
    """A model keeps what a word is: other text is read the same way."""
    rows = [{"text": ("Der Ärger über das Geräusch", "日本 の 天気 日本")[i % 2]} for i in range(20)]
    Path("other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit = ("fit", "other.jsonl", "--sweeps", 2, "-k", 2, "-q", "--stop-words", "none")
    ran = run(*fit, "--token-pattern", r"\w{2,}", "-o", "new")
    assert ran.code == 0, ran.err
    words = {"das", "der", "geräusch", "ärger", "über", "天気", "日本"}
    assert set(Release.load(here / "new").vocabulary) == words
    Path("more.jsonl").write_text(json.dumps({"text": "日本 天気 天気"}) + "\n" + json.dumps({"text": "Ärger"}) + "\n")
    assert run("transform", "new", "more.jsonl", "-o", "topics.npy").code == 0
    of_text = np.load("topics.npy")
    assert of_text.max(axis=1).min() > 0.5
    assert not np.allclose(*of_text)
    assert run("evaluate", "new", "other.jsonl").code == 0


def test_lemmas(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model keeps the language; other text is read by its lemmas too. Where there are none, one line says why."""
    pytest.importorskip("simplemma", reason="simplemma is not installed: pip install 'discreet[lemmas]'")
    rows = [
        {"text": ("Rains and storms, raining; a storm", "Two pianos made of a piano, many pianos; a piano")[i % 2]}
        for i in range(20)
    ]
    Path("forms.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit = ("fit", "forms.jsonl", "--sweeps", 30, "-k", 2)
    ran = run(*fit, "-q", "--lemmas", "en", "-o", "new")
    assert ran.code == 0, ran.err
    assert Release.load(here / "new").vocabulary == ("piano", "rain", "storm")
    Path("more.jsonl").write_text(json.dumps({"text": "rained storms"}) + "\n" + json.dumps({"text": "pianos"}) + "\n")
    assert run("transform", "new", "more.jsonl", "-o", "topics.npy").code == 0
    assert np.load("topics.npy").max(axis=1).min() > 0.5
    assert json.loads(run("evaluate", "new", "forms.jsonl", "--json").out)["coverage"] == 1.0
    Path("words.txt").write_text("rains\nrain\npiano\n")
    assert (
        "note: 1 of 3 words of words.txt have another word as their lemma, for instance 'rains'; text is read by its"
    ) in run(*fit, "--lemmas", "en", "--vocabulary", "words.txt", "-o", "list").err
    ran = run(*fit, "--lemmas", "LA", "-o", "latin")
    assert "note: the stop words are English; give those of the language LA with --stop-words FILE" in ran.err
    assert Release.load("latin").tokenizer == Tokenizer(lemmas="la", stop_words=None)
    assert "the stop words are English" not in run(*fit, "--lemmas", "la", "--stop-words", "none", "-o", "all").err
    assert "the stop words are English" not in run(*fit, "--lemmas", "DE", "-o", "german").err
    assert Release.load("german").tokenizer == Tokenizer(lemmas="de", stop_words="de")
    ran = run(*fit, "--lemmas", "english", "-o", "none")
    assert (ran.code, "there are no lemmas for the language 'english'. Give the code" in ran.err) == (2, True)
    uci(here, "1\n1\n1\n1 1 2\n", "rain\n")
    ran = run("fit", "docword.x.txt", "-o", "none", "--lemmas", "en")
    assert (ran.code, "already word counts. Leave --lemmas out." in ran.err) == (2, True)
    monkeypatch.setitem(sys.modules, "simplemma", None)
    lemmatizer.cache_clear()
    ran = run(*fit, "--lemmas", "en", "-o", "none")
    assert ran.code == 2
    assert ran.err == (
        "discreet: --lemmas 'en' needs the package simplemma, which is not installed. Install it with "
        "pip install 'discreet[lemmas]', or leave --lemmas out.\n"
    )
    assert not (here / "none").exists()


def test_public_words_that_no_text_can_hold_get_a_note(here: Path, run: Run) -> None:
    Path("words.txt").write_text("rain\nwind\nx-ray\npiano\nnew york\n")
    fit = ("fit", "texts.jsonl", "--text", "body", "--sweeps", 1, "-k", 2, "--vocabulary", "words.txt")
    ran = run(*fit, "-o", "new")
    assert ran.code == 0, ran.err
    assert (
        "note: 2 of 5 words of words.txt cannot be found in any text, for instance 'x-ray': --token-pattern says "
        "what a word is"
    ) in ran.err
    assert "cannot be found" not in run(*fit, "-q", "-o", "quiet").err
    assert "1 of 5 words" in run(*fit, "--token-pattern", r"[\w-]+", "-o", "wide").err


def test_fit_tells_programs_in_json(here: Path, run: Run) -> None:
    ran = run("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 5, "-o", "new", "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert told["n_topics"] == 2
    assert told["guarantee"]["basis"] == "none"
    assert told["topics"] == Release.load(here / "new").top_words()


def test_fit_with_every_option(here: Path, run: Run) -> None:
    Path("words.txt").write_text("rain\nwind\npiano\nmusic\n")
    common = ("fit", "texts.jsonl", "--text", "body", "--sweeps", 3, "--quiet", "--method", "lda", "--threads", 2)
    ran = run(
        *common, "-k", 3, "--alpha", 0.5, "--beta", 0.1, "--vocabulary", "words.txt", "--group", "who", "-o", "one"
    )
    assert (ran.code, ran.err) == (0, "")
    one = Release.load(here / "one")
    assert one.vocabulary == ("rain", "wind", "piano", "music")
    assert (one.n_topics, one.beta, list(one.alpha)) == (3, 0.1, [0.5, 0.5, 0.5])
    ran = run(*common, "--max-words", 2, "--label", "kind", "--collection", "kind", "-o", "one", "--overwrite")
    assert ran.code == 0, ran.err
    assert Release.load(here / "one").vocabulary == ("piano", "rain")


@pytest.mark.parametrize(("stop", "left_out"), [("english", "the"), ("none", ""), ("stop.txt", "rain")])
def test_stop_words(here: Path, run: Run, stop: str, left_out: str) -> None:
    Path("stop.txt").write_text("# mine\nrain\n")
    ran = run("fit", "texts.jsonl", "--text", "body", "--sweeps", 1, "-q", "--stop-words", stop, "-o", "new")
    assert ran.code == 0, ran.err
    vocabulary = Release.load(here / "new").vocabulary
    assert {"the", "rain", "wind"} - set(vocabulary) == ({left_out} if left_out else set())


def test_a_bag_of_words_loses_its_stop_words_when_asked(here: Path, run: Run) -> None:
    uci(here, "2\n3\n4\n1 1 2\n1 2 1\n2 2 5\n2 3 1\n", "rain\nthe\nwind\n")
    for stop, kept in ((), ("rain", "the", "wind")), (("--stop-words", "english"), ("rain", "wind")):
        ran = run("fit", "docword.x.txt", "--sweeps", 1, "-k", 2, "-q", "-o", "new", "--overwrite", *stop)
        assert ran.code == 0, ran.err
        assert Release.load(here / "new").vocabulary == kept
    ran = run("fit", here, "--sweeps", 1, "-k", 2, "-q", "-o", "most", "--stop-words", "english", "--max-words", 1)
    assert Release.load(here / "most").vocabulary == ("rain",)
    ran = run("fit", "docword.x.txt", "-o", "none", "--token-pattern", "x+")
    assert (ran.code, ran.err) == (
        2,
        "discreet: these documents are already word counts. Leave --token-pattern out.\n",
    )


def test_a_named_data_set_in_both_spellings(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.corpus import Corpus, datasets

    asked: list[tuple[str, dict[str, Any]]] = []

    def load(name: str, **options: Any) -> Corpus:
        asked.append((name, options))
        return Corpus.from_counts([[3, 1], [1, 4]], ("rain", "the"))

    monkeypatch.setattr(datasets, "load", load)
    common = ("--sweeps", 1, "-k", 2, "-q", "--overwrite", "-o", "new")
    assert run("fit", "dataset:kos", *common, "--max-words", 5).code == 0
    assert run("fit", "--dataset", "arxiv", *common, "--stop-words", "none").code == 0
    assert asked[0] == ("kos", {"max_words": 5})
    assert asked[1][0] == "arxiv"
    assert asked[1][1]["tokenizer"].stop_words == frozenset()
    assert run("fit", "dataset:kos", *common, "--stop-words", "english").code == 0
    assert Release.load(here / "new").vocabulary == ("rain",)


@pytest.mark.parametrize("unit", ["document", "user"])
def test_a_private_fit(here: Path, run: Run, unit: str) -> None:
    """Words are public, the guarantee is told in full, and nothing is told of how much was read."""
    words(here)
    user = ("--group", "who") if unit == "user" else ()
    ran = run("fit", "texts.jsonl", "--text", "body", *WORDS, *user, "--epsilon", 2, "-k", 2, "-o", "new")
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.method, release.vocabulary[0]) == ("private", "rain")
    assert (release.guarantee.basis, release.guarantee.unit) == ("proven", unit)
    assert 0.98 * 2 < release.guarantee.epsilon <= 2
    assert sum(entry["count"] for entry in release.ledger) == 302
    guarantee, useful, paragraph, wrote = ran.out.splitlines()[3:]
    assert guarantee == f"guarantee: {release.guarantee.summary()}"
    assert useful == in_options(release.usefulness.summary())
    assert paragraph == str(release.guarantee)
    assert wrote == "wrote new"
    about = (here / "new" / "release.json").read_text()
    for told in (ran.out, ran.err, about):
        assert not re.search(r"\b(40|160|200) (documents|tokens)|seconds|n_documents|n_tokens|user\d", told)


@pytest.mark.parametrize("unit", ["document", "user"])
def test_words_and_topics_from_one_budget(here: Path, run: Run, unit: str) -> None:
    """No --vocabulary: words are selected from the text, and the guarantee covers them."""
    many(here)
    user = ("--group", "who") if unit == "user" else ()
    file = BudgetFile.create(here / "mails.budget", 8.0, 1e-6, unit)
    fit = ("fit", "many.jsonl", "--text", "body", *user, "-k", 2, "--epsilon", 8, "--budget", "mails.budget")
    ran = run(*fit, "--max-words", 7, "-o", "new")
    assert ran.code == 0, ran.err
    assert "words; mails.budget has been charged for them" in ran.err
    release = Release.load(here / "new")
    known = {"cloud", "concert", "music", "piano", "rain", "storm", "violin", "wind"}
    assert 4 <= release.n_words <= 7
    assert set(release.vocabulary) < known
    assert list(release.vocabulary) == sorted(release.vocabulary)
    assert (release.guarantee.basis, release.guarantee.unit) == ("proven", unit)
    assert release.guarantee.reasons == ()
    assert 0.98 * 8 < release.guarantee.epsilon <= 8
    labels = [entry.label for entry in file.ledger().entries]
    assert labels[:2] == ["vocabulary", "histogram of unit sizes"]
    assert [entry["label"] for entry in release.ledger] == labels
    assert abs(file.ledger().spent().epsilon - release.guarantee.epsilon) < 1e-9
    before = everything_in(here)
    ran = run(*fit, "-o", "other")
    assert ran.code == 2
    assert "the budget is ε = 8" in ran.err
    assert everything_in(here) == before  # the words alone would have fitted, but nothing was charged


def many(folder: Path) -> None:
    """The documents fifty times, each time by other people."""
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    lines = [json.dumps({**row, "who": f"{row['who']}-{i}"}) for i in range(50) for row in rows]
    (folder / "many.jsonl").write_text("\n".join(lines) + "\n")


def test_counted_words_that_were_chosen_by_looking_are_refused(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.corpus import Corpus, datasets

    kos = Corpus.from_counts([[3, 1], [1, 4]], Vocabulary(("rain", "wind"), "text"))
    monkeypatch.setattr(datasets, "load", lambda name, **_: kos)
    before = everything_in(here)
    for more in ((), ("--max-words", 1)):
        ran = run("fit", "dataset:kos", "--epsilon", 1, "-o", "new", *more)
        assert (ran.code, ran.out) == (2, "")
        assert "can identify that person" in ran.err
        assert "not from counts" in ran.err
    assert everything_in(here) == before


def test_every_method_of_the_table_is_an_estimator() -> None:
    """Rows name parameters that exist, and options that fit knows."""
    from discreet._catalogue import METHODS
    from discreet.cli.methods import PARAMETERS, Chosen, make_model

    for chosen in (Chosen(model, form) for model in METHODS.values() for form in model.forms):
        assert set(chosen.options) <= {*PARAMETERS, "budget"}, chosen.called
        model = make_model(chosen, 3, dict.fromkeys(PARAMETERS, 1))
        assert type(model).__name__ == chosen.model.name
        assert model.get_params()["n_topics"] == 3
        for option in set(chosen.options) & set(PARAMETERS):
            assert model.get_params()[PARAMETERS[option]] == 1, option


def test_a_beta_liouville_prior_is_asked_for_and_kept(here: Path, run: Run) -> None:
    fit = ("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 5, "--seed", 1, "-q")
    rest = ("--alpha-rest", 2.5, "--beta-rest", 3)
    ran = run(*fit, "--method", "lbla", *rest, "-o", "new")
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.method, release.alpha_rest, release.parameters["beta_rest"]) == ("lbla", 2.5, 3.0)
    assert run("evaluate", "new", "texts.jsonl", "--text", "body").code == 0
    ran = run(*fit, *rest, "-o", "other")
    assert (ran.code, "lda takes no --alpha-rest" in ran.err) == (2, True)
    assert "It goes with --method lbla or cross-lbla." in ran.err  # which take no --epsilon
    ran = run(*fit, "--method", "lbla", "--alpha-rest", 0, "-o", "other")
    assert (ran.code, "--alpha-rest must be at least" in ran.err) == (2, True)


def test_collections_are_compared(here: Path, run: Run) -> None:
    """Each topic, then each collection's own words, in one table; a column that is used gets no note."""
    fit = ("fit", "texts.jsonl", "--text", "body", "-k", 2, "--method", "cross-lda", "--sweeps", 20, "-o", "new")
    ran = run(*fit)
    assert (ran.code, ran.out) == (2, "")
    assert "cross-lda needs --collection COLUMN, the column that names" in ran.err
    ran = run(*fit, "--collection", "who")
    assert ran.code == 0, ran.err
    assert "does not use" not in ran.err
    release = Release.load(here / "new")
    assert release.collections == tuple(f"user{i}" for i in range(5))
    shown = run("topics", "new", "-n", 3)
    head, *lines = (line.split("\t") for line in shown.out.splitlines())
    assert head == ["topic", "collection", "share", "words"]
    assert [line[:2] for line in lines[:6]] == [["0", "common"], *(["0", f"user{i}"] for i in range(5))]
    assert len(lines) == 12
    assert lines[6][3].split() == release.top_words(3)[1]
    assert lines[2][2:] == [f"{release.switch[0, 1]:.0%}", " ".join(release.collection_top_words(3)["user1"][0])]
    out = ("--collection", "who", "-o", "rows.npy")
    ran = run("transform", "new", "texts.jsonl", "--text", "body", *out)
    assert ran.code == 0, ran.err
    assert np.load(here / "rows.npy").shape == (40, 2)
    ran = run("evaluate", "new", "texts.jsonl", "--text", "body", "--collection", "who", "--json")
    assert ran.code == 0, ran.err
    corpus = read(here / "texts.jsonl", text="body", collection="who")
    assert json.loads(ran.out)["perplexity"] == pytest.approx(release.completion(corpus).perplexity)
    known = corpus.restrict(release.vocabulary)
    mixed = mixed_coherence(release.topics, release.collection_topics, known, top_n=min(10, release.n_words)).mean
    assert json.loads(ran.out)["coherence"]["mixed_c_v"] == pytest.approx(mixed)
    shown = run("evaluate", "new", "texts.jsonl", "--text", "body", "--collection", "who").out
    assert f"mixed C_V\t{mixed:.4f}\t" in shown
    accuracy = (release.predict(corpus) == corpus.collections).mean()
    largest = np.unique(corpus.collections, return_counts=True)[1].max() / 40
    assert [json.loads(ran.out)[name] for name in ("accuracy", "majority")] == pytest.approx([accuracy, largest])
    assert f"accuracy\t{accuracy:.4f}\t" in shown
    for command in ("transform", "evaluate"):
        written = ("-o", "more.csv") if command == "transform" else ()
        ran = run(command, "model", "texts.jsonl", "--text", "body", "--collection", "who", *written)
        assert (ran.code, "model has no collections. Leave --collection out." in ran.err) == (2, True)
        ran = run(command, "new", "texts.jsonl", "--text", "body", *written)
        assert (ran.code, "new needs --collection COLUMN" in ran.err) == (2, True)
    found = json.loads(run("topics", "new", "-n", 3, "--json").out)["collections"]
    assert [one["collection"] for one in found] == list(release.collections)
    assert found[1]["topics"] == release.collection_top_words(3)["user1"]
    assert found[4]["switch"] == release.switch[:, 4].tolist()


def test_collections_are_compared_under_beta_liouville_priors_and_as_published(here: Path, run: Run) -> None:
    fit = ("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 5, "--collection", "kind", "-q", "-o")
    ran = run(*fit, "new", "--method", "cross-lbla", "--alpha-rest", 2.5, "--beta-rest", 3)
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.method, release.alpha_rest, release.parameters["beta_rest"]) == ("cross-lbla", 2.5, 3.0)
    assert run("evaluate", "new", "texts.jsonl", "--text", "body", "--collection", "kind").code == 0
    assert run("predict", "new", "texts.jsonl", "--text", "body").code == 0
    for method in ("cross-lda", "cross-lbla"):
        ran = run(*fit, method, "--method", method, "--as-published")
        assert ran.code == 0, ran.err
        release = Release.load(here / method)
        assert (release.parameters["as_published"], release.guarantee.basis) == (True, "none")


def test_collections_are_predicted(here: Path, run: Run) -> None:
    texts = ("--text", "body")
    ran = run("predict", "model", "texts.jsonl", *texts)
    assert (ran.code, ran.out) == (2, "")
    assert "model has no collections, so it predicts none" in ran.err
    fit = ("--method", "cross-lda", "--collection", "kind", "-k", 1, "--sweeps", 30, "-q", "-o", "new")
    assert run("fit", "texts.jsonl", *texts, *fit).code == 0
    ran = run("predict", "new", "texts.jsonl", *texts, "--id", "who")
    assert ran.code == 0, ran.err
    head, *rows = (line.split("\t") for line in ran.out.splitlines())
    assert head == ["document", "collection", "chance"]
    assert [row[:2] for row in rows] == [[f"user{i % 5}", str(i % 2)] for i in range(40)]
    assert all(float(row[2]) > 0.9 for row in rows)
    assert "curator" in ran.err
    found = json.loads(run("predict", "new", "texts.jsonl", *texts, "--json").out)
    assert [one["document"] for one in found] == list(range(40))
    assert all(sum(one["chances"].values()) == pytest.approx(1) for one in found)
    assert [str(one["collection"]) for one in found] == [max(one["chances"], key=one["chances"].get) for one in found]


def test_labels_that_are_numbers_in_json_and_text_in_csv(here: Path, run: Run) -> None:
    years = [2000 + i % 2 for i in range(40)]
    rows = ["rain wind storm cloud" if year == 2000 else "piano violin music concert" for year in years]
    lines = (json.dumps({"text": text, "year": year}) for text, year in zip(rows, years, strict=True))
    (here / "years.jsonl").write_text("\n".join(lines))
    (here / "years.csv").write_text("text,year\n" + "".join(f"{t},{y}\n" for t, y in zip(rows, years, strict=True)))
    for name, other in (("years.jsonl", "years.csv"), ("years.csv", "years.jsonl")):
        fit = ("--method", "cross-lda", "--collection", "year", "-k", 2, "--sweeps", 5, "-q", "-o", f"model-{name}")
        assert run("fit", name, *fit).code == 0
        same, found = (run("transform", f"model-{name}", f, "--collection", "year", "-o", "-") for f in (name, other))
        assert (found.code, found.out) == (0, same.out), found.err
        assert run("evaluate", f"model-{name}", other, "--collection", "year").code == 0


def test_prediction_tells_of_documents_without_a_known_word(here: Path, run: Run) -> None:
    fit = ("--method", "cross-lda", "--collection", "kind", "-k", 1, "--sweeps", 5, "-q", "-o", "new")
    assert run("fit", "texts.jsonl", "--text", "body", *fit).code == 0
    assert "guess" not in run("predict", "new", "texts.jsonl", "--text", "body").err
    (here / "unknown.txt").write_text("rain and wind\nxylophone quartz\n")
    ran = run("predict", "new", "unknown.txt")
    assert ran.code == 0, ran.err
    assert "no word of the model is in 1 of 2 documents, so that the collection shown for them is a guess" in ran.err


def test_one_collection_gets_a_warning(here: Path, run: Run) -> None:
    rows = ({"text": f"rain wind storm {'piano violin' * (i % 2)}", "all": "all", "id": f"x{i}"} for i in range(40))
    (here / "one.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fit = ("fit", "one.jsonl", "--method", "cross-lda", "-k", 2, "--sweeps", 2, "-q")
    ran = run(*fit, "--collection", "all", "-o", "new")
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert ran.err.startswith("warning: found only one collection, 'all': nothing is compared; check that --collection")
    ran = run(*fit, "--collection", "id", "-o", "newer")
    assert ran.err.startswith("warning: there are 40 collections of 40 documents, too many to compare; check that --co")


@pytest.mark.parametrize("group", [(), ("--group", "who")])
def test_epsilon_with_collections_picks_the_private_cross_model(here: Path, run: Run, group: tuple[str, ...]) -> None:
    words(here)
    fit = ("fit", "texts.jsonl", "--text", "body", "--collection", "kind", "-k", 2, *group)
    ran = run(*fit, "--epsilon", 8, *WORDS, "-o", "new")
    assert ran.code == 0, ran.err
    assert "the list of collections is public (it was read from the documents)" in ran.out
    release = Release.load(here / "new")
    unit = "user" if group else "document"
    assert (release.method, release.guarantee.basis, release.guarantee.unit) == ("private-cross", "proven", unit)
    assert release.collections == (0, 1)
    assert run("topics", "new").out.count("\n") >= 6
    texts = ("new", "texts.jsonl", "--text", "body")
    by_kind = ("--collection", "kind")
    for command in (("transform", *by_kind, "-o", "-"), ("evaluate", *by_kind), ("predict",)):
        ran = run(command[0], *texts, *command[1:])
        assert ran.code == 0, ran.err


def test_collections_can_be_named(here: Path, run: Run) -> None:
    """Then the list is not read from the documents, and a document of another collection is refused, unnamed."""
    words(here)
    fit = ("fit", "texts.jsonl", "--text", "body", "--collection", "who", "-k", 2, "--epsilon", 8, *WORDS, "-o", "new")
    ran = run(*fit, "--collections", "user0, user1,user2,user3,user4,nobody")
    assert ran.code == 0, ran.err
    assert "read from the documents" not in ran.out
    assert "the list of collections is public" in ran.out
    assert Release.load(here / "new").collections == ("nobody", "user0", "user1", "user2", "user3", "user4")
    ran = run(*fit, "--collections", "user0,user1", "--overwrite")
    assert ran.code == 2
    assert "a document is of a collection that --collections does not name" in ran.err
    assert "user2" not in ran.err
    for wrong in ("user0,,user1", "", "user0,user0"):
        ran = run(*fit, "--collections", wrong, "--overwrite")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "--collections must name each collection once" in ran.err
    ran = run(*FIT, "texts.jsonl", "--text", "body", "--collections", "a,b")
    assert ran.code == 2
    assert "takes no --collections" in ran.err


CLAIMS = {
    "subsampled": ("--epsilon", 1),
    "laplace": ("--epsilon", 1, "--sweeps", 2),
    "laplace-plus": ("--epsilon", 1, "--sweeps", 2),
    "hybrid": ("--epsilon-inherent", 2, "--epsilon-laplace", 1, "--sweeps", 2),
    "hybrid-cross": ("--epsilon-inherent", 2, "--epsilon-laplace", 1, "--sweeps", 2, "--collection", "who"),
    "laplace-cross": ("--epsilon", 1, "--sweeps", 2, "--collection", "who"),
}

CLAIMED = {"laplace-plus": 2, "hybrid": 6, "hybrid-cross": 3, "laplace-cross": 2}
"""The cross-collection paper prints the epsilon of one sweep."""


@pytest.mark.parametrize("method", CLAIMS)
def test_the_papers_own_forms_are_claims(here: Path, run: Run, method: str) -> None:
    words(here)
    fit = ("fit", "texts.jsonl", "--text", "body", *WORDS, "-k", 2, "-q", "-o", "new", "--method", method)
    ran = run(*fit, "--as-published", *CLAIMS[method])
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.guarantee.basis, release.method) == ("claimed", method)
    assert release.parameters["as_published"] is True
    assert release.guarantee.epsilon == pytest.approx(CLAIMED.get(method, 1), rel=1e-3)


def test_the_limited_inherent_curve_has_no_noise(here: Path, run: Run) -> None:
    words(here)
    fit = ("fit", "texts.jsonl", "--text", "body", *WORDS, "-k", 2, "-o", "new", "--method", "hybrid")
    ran = run(*fit, "--as-published", "--epsilon-inherent", 2, "--sweeps", 2, "--group", "who")
    assert ran.code == 0, ran.err
    assert "guarantee: none: limited inherent privacy only" in ran.out
    assert "hybrid does not use --group" in ran.err


def test_adaptive_rates(here: Path, run: Run) -> None:
    words(here)
    for more in ((), ("--as-published",)):
        ran = run(*PRIVATE, *WORDS, "--overwrite", "--method", "subsampled", "--adaptive", *more)
        assert ran.code == 0, ran.err
        release = Release.load(here / "new")
        assert release.parameters["adaptive"] is True
        assert release.guarantee.basis == ("claimed" if more else "proven")


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_configurations_of_spectral_are_claims(here: Path, run: Run, configuration: int) -> None:
    words(here)
    ran = run(
        *PRIVATE, *WORDS, "--method", "spectral", "--as-published", "--configuration", configuration, "--group", "who"
    )
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.guarantee.basis, release.guarantee.unit) == ("claimed", "document")
    assert release.parameters["configuration"] == configuration


@pytest.mark.parametrize("method", ["spectral", "variational"])
def test_without_epsilon_nothing_is_promised(here: Path, run: Run, method: str) -> None:
    ran = run("fit", "texts.jsonl", "--text", "body", "-k", 2, "--method", method, "-o", "new")
    assert ran.code == 0, ran.err
    assert "guarantee: none: topics are computed from exact counts" in ran.out
    assert re.search(r"trained in [\d.]+ s, wrote new", ran.out)
    release = Release.load(here / "new")
    assert (release.method, release.guarantee.basis) == (method, "none")
    assert not release.ledger


@pytest.mark.parametrize("method", ["subsampled", "spectral", "variational", "private-cross", "hybrid", "hybrid-cross"])
def test_other_private_methods_charge_a_budget(here: Path, run: Run, method: str) -> None:
    words(here)
    unit = "word" if method.startswith("hybrid") else "document"
    file = BudgetFile.create(here / "mails.budget", 8.0, 1e-6, unit)
    collections = ("--collection", "who") if method.endswith("-cross") else ()
    ran = run(*PRIVATE[:-1], 8, *WORDS, "--method", method, "--budget", "mails.budget", *collections)
    assert ran.code == 0, ran.err
    release = Release.load(here / "new")
    assert (release.method, release.guarantee.basis, release.guarantee.unit) == (method, "proven", unit)
    assert release.guarantee.epsilon <= 8
    assert file.ledger().spent().epsilon == pytest.approx(release.guarantee.epsilon)


def test_a_private_fit_for_programs_charges_the_budget(here: Path, run: Run) -> None:
    words(here)
    file = BudgetFile.create(here / "mails.budget", 1.3, 1e-6)
    ran = run(*PRIVATE, *WORDS, "--budget", "mails.budget", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert told["guarantee"]["basis"] == "proven"
    assert told["method"] == "private"
    assert "seconds" not in told
    assert 0.98 < file.ledger().spent().epsilon <= 1
    before = everything_in(here)
    ran = run(*PRIVATE, *WORDS, "--budget", "mails.budget", "--overwrite")
    assert ran.code == 2
    assert "the budget is ε = 1.3" in ran.err
    assert everything_in(here) == before


def test_what_a_model_warns_of_is_one_line(here: Path, run: Run) -> None:
    words(here)
    ran = run(*PRIVATE[:-1], "0.05", *WORDS)
    assert ran.code == 0, ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("warning: these topics are unlikely to be useful: 5 words are too few for 2 topics")


def test_columns_that_a_method_does_not_use_are_told(here: Path, run: Run) -> None:
    (here / "labelled.jsonl").write_text('{"body": "rain and wind", "who": "ann", "kind": "a"}\n' * 20)
    columns = ("--text", "body", "--group", "who", "--label", "kind", "--collection", "kind")
    fit = ("fit", "labelled.jsonl", *columns, "-k", 2, "--sweeps", 1)
    ran = run(*fit, "-o", "labelled")
    assert ran.code == 0
    assert "lda does not use --collection" in ran.err
    assert "lda does not use --group" in ran.err
    assert "lda does not use --label" in ran.err
    assert "no use" not in run(*fit, "-q", "-o", "quiet").err


def test_a_private_fit_that_is_stopped_has_been_charged(here: Path) -> None:
    words(here)
    file = BudgetFile.create(here / "mails.budget", 1.3, 1e-6)
    (here / "many.jsonl").write_text((here / "texts.jsonl").read_text() * 2000)
    many = tuple("many.jsonl" if a == "texts.jsonl" else a for a in PRIVATE if a != "-q")
    with start(*many, *WORDS, "--budget", "mails.budget", stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = iter(process.stderr.readline, "")  # a warning may come first
        assert any("has been charged for the whole run" in line for line in told)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    last = r"interrupted: no model was written. mails.budget has been charged: ε = (0.99\d*|1) of 1.3 is spent now."
    assert re.fullmatch(last, err.splitlines()[-1])
    assert not (here / "new").exists()
    assert sum(entry.count for entry in file.ledger().entries) == 302


def test_a_private_fit_that_is_stopped_goes_on_from_its_checkpoint(here: Path, run: Run) -> None:
    words(here)
    file = BudgetFile.create(here / "mails.budget", 5, 1e-6)
    (here / "many.jsonl").write_text((here / "texts.jsonl").read_text() * 500)
    many = tuple("many.jsonl" if a == "texts.jsonl" else a for a in PRIVATE if a != "-q")
    command = (*many, *WORDS, "--budget", "mails.budget", "--checkpoint", "kept")
    with start(*command, stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = iter(process.stderr.readline, "")
        assert any("has been charged for its first rounds" in line for line in told)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping after this round; Ctrl-C again stops at once" in err
    kept = "interrupted: the run is kept in kept (private). The same command resumes it; nothing is repeated"
    assert err.splitlines()[-1].startswith(kept)
    assert "mails.budget has been charged: ε = " in err.splitlines()[-1]
    assert (here / "kept").is_dir()
    assert not (here / "new").exists()
    ran = run(*command)
    assert ran.code == 0
    assert "charged a second time" not in ran.out
    assert not (here / "kept").exists()
    assert sum(entry.count for entry in file.ledger().entries) == 302


def test_selected_words_are_kept_by_a_checkpoint(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.models import estimator, vectorizer

    many(here)
    file = BudgetFile.create(here / "mails.budget", 8, 1e-6)
    fit = ("fit", "many.jsonl", "--text", "body", "-k", 2, "--epsilon", 8, "--budget", "mails.budget", "-o", "new")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(estimator, "run_sweeps", stop)
        ran = run(*fit, "--checkpoint", "kept")
    assert ran.code == 130
    assert "the run is kept in kept (private). The same command resumes it, and is charged again" in ran.err
    assert not (here / "new").exists()
    kept = json.loads((here / "kept" / "words.json").read_text())
    monkeypatch.setattr(vectorizer, "select_words", stop)
    ran = run(*fit, "--checkpoint", "kept")
    assert ran.code == 2  # the first rounds would have to be charged again, and the budget has no more than eight
    assert "the budget is ε = 8" in ran.err
    assert "The run in kept cannot be resumed" in ran.err
    assert "Remove that folder and train anew with a smaller --epsilon; what was spent stays spent." in ran.err
    assert [entry.label for entry in file.ledger().entries].count("vocabulary") == 1
    assert json.loads((here / "kept" / "words.json").read_text()) == kept


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_nothing(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(release_folder, "_sync", fail)
    before = everything_in(here)
    ran = run("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 1, "-o", "new", "-q")
    if isinstance(error, OSError):
        assert ran.code == 2
        assert ran.err == (
            "discreet: new cannot be written: No space left on device. Choose another place. The model is lost.\n"
        )
    else:
        assert ran.code == 130
        assert ran.err == "interrupted: nothing was written\n"
    assert everything_in(here) == before


def fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when the model is written, and not when it is written elsewhere."""
    real, failed = release_folder._sync, []

    def settle(file: Any) -> None:
        if not failed:
            failed.append(file)
            raise OSError(28, "No space left on device", file.name)
        real(file)

    monkeypatch.setattr(release_folder, "_sync", settle)


@pytest.mark.parametrize("more", [(), ("--checkpoint", "kept")], ids=["at once", "in stages"])
def test_a_model_that_was_paid_for_is_kept_elsewhere(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    words(here)
    BudgetFile.create(here / "mails.budget", 1.3, 1e-6)
    (here / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "elsewhere"))
    fails_once(monkeypatch)
    ran = run(*PRIVATE, *WORDS, "--budget", "mails.budget", *more)
    assert ran.code == 2
    last = ran.err.splitlines()[-1]
    assert "partial" not in last
    assert last.startswith("discreet: new cannot be written: No space left on device.")
    assert re.search(r"mails.budget has been charged: ε = 0.99\d* of 1.3 is spent now.$", last)
    (kept,) = (here / "elsewhere").glob("discreet-*/new")
    assert f"The model is complete: it is in {kept}. Move it where you want it." in last
    assert Release.load(kept).guarantee.basis == "proven"
    assert not (here / "new").exists()
    assert not (here / "kept").exists()  # the model is safe: no private state stays behind


def test_a_full_disk_is_found_before_anything_is_charged(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words(here)
    file = BudgetFile.create(here / "mails.budget", 1.3, 1e-6)
    usage = shutil.disk_usage(here)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    before = everything_in(here)
    ran = run(*PRIVATE, *WORDS, "--budget", "mails.budget")
    assert ran.code == 2
    assert "new cannot be written: its disk has 1,000 bytes left, and a model needs about" in ran.err
    assert not file.charges()
    assert everything_in(here) == before


@pytest.fixture
def disk(here: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    folder = here / "disk"
    folder.mkdir()
    if (
        sys.platform != "linux"
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], stderr=subprocess.DEVNULL, check=False
        ).returncode
    ):
        pytest.skip("mounting a disk is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_while_training(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch, disk: Path) -> None:
    from discreet.training.private_fit import PrivateFit

    words(here)
    real = PrivateFit.end

    def fill(self: Any, *entries: Any, **more: Any) -> None:
        real(self, *entries, **more)
        with suppress(OSError), open(disk / "other", "wb") as other:
            other.write(bytes(2**20))

    (here / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "elsewhere"))
    monkeypatch.setattr(PrivateFit, "end", fill)
    ran = run(*("disk/new" if a == "new" else a for a in PRIVATE), *WORDS)
    assert ran.code == 2
    assert "disk/new cannot be written: No space left on device" in ran.err
    (kept,) = (here / "elsewhere").glob("discreet-*/new")
    assert Release.load(kept).n_topics == 2


def test_ctrl_c_in_the_middle_of_training_leaves_nothing(here: Path) -> None:
    before = everything_in(here)
    fit = ("fit", "texts.jsonl", "--text", "body", "-k", 2, "--sweeps", 100_000_000, "-o", "new")
    with start(*fit, stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert "40 documents" in process.stderr.readline()  # told after the first sweep
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: nothing was written"
    assert out == ""
    assert everything_in(here) == before


# --- topics, transform, evaluate, data, demo -------------------------------------------------------------------------


def test_topics(here: Path, run: Run) -> None:
    ran = run("topics", "model", "-n", 2)
    assert ran.code == 0
    assert ran.out == "topic\twords\n0\train cloud\n1\tpiano concert\n"
    assert ran.err.startswith("guarantee: none: topics are computed from exact counts")
    told = json.loads(run("topics", "model", "--json").out)
    assert told["topics"][0][0] == "rain"
    assert told["guarantee"]["basis"] == "none"


def test_topics_on_a_terminal_come_as_a_table(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = run("topics", "model").out
    assert "words" in out.splitlines()[0]
    assert "rain cloud" in out


def test_a_fit_with_many_topics_prints_the_first_ones(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.fit.MOST_TOPICS", 1)
    ran = run("fit", "texts.jsonl", "--text", "body", "--topics", 3, "--sweeps", 2, "-o", "a model")
    assert ran.code == 0
    assert [line[:1] for line in ran.out.splitlines()[:3]] == ["t", "0", "g"]  # header, one topic, guarantee
    assert "2 more topics: discreet topics 'a model'" in ran.err
    assert run("topics", "a model").out.count("\n") == 4


def test_words_cannot_steer_the_terminal(here: Path, run: Run) -> None:
    none = Guarantee.none(EXACT_COUNTS)
    Release(np.full((1, 2), 0.5), ("\x1b[31mred\n", "[bold]"), np.ones(1), 1.0, "lda", {}, none).save(here / "odd")
    assert run("topics", "odd").out == "topic\twords\n0\t?[31mred? [bold]\n"


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npy"])
def test_transform(here: Path, run: Run, suffix: str) -> None:
    output = here / f"out{suffix}"
    ran = run("transform", "model", "texts.jsonl", "--text", "body", "-o", output)
    assert (ran.code, ran.out) == (0, "")
    assert "only their curator may see it" in ran.err
    if suffix == ".csv":
        with open(output) as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["document", "topic0", "topic1"]
        theta = np.array([[float(row["topic0"]), float(row["topic1"])] for row in rows])
    elif suffix == ".jsonl":
        theta = np.array([json.loads(line)["topics"] for line in output.read_text().splitlines()])
    else:
        theta = np.load(output, allow_pickle=False)
    assert theta.shape == (40, 2)
    assert (theta[::2, 0] > 0.9).all()
    assert (theta[1::2, 1] > 0.9).all()
    assert output.stat().st_mode & 0o777 == 0o600
    assert run("transform", "model", "texts.jsonl", "--text", "body", "-o", output, "--overwrite").code == 0


def test_evaluate(here: Path, run: Run) -> None:
    ran = run("evaluate", "model", "texts.jsonl", "--text", "body", "-n", 4)
    assert ran.code == 0, ran.err
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == [
        "measure",
        "perplexity",
        "unigram",
        "coverage",
        "C_V",
        "C_NPMI",
        "U_Mass",
        "diversity",
    ]
    assert "only their curator may see it" in ran.err
    told = json.loads(run("evaluate", "model", "texts.jsonl", "--text", "body", "--json", "--threads", 1).out)
    assert 1 < told["perplexity"] < 8
    assert set(told["coherence"]) == {"c_v", "c_npmi", "u_mass"}
    assert told["scored_documents"] == 40
    assert told["perplexity"] < told["unigram_perplexity"]
    assert told["coverage"] == 1.0  # "the" is a stop word, and "day7" no word


def test_evaluate_tells_how_much_of_the_text_it_sees(here: Path, run: Run) -> None:
    """A model over few words has a flattering perplexity: this one sees four of each seven tokens, stop words apart."""
    (here / "wide.jsonl").write_text('{"text": "rain and wind, rain, storm: sailors like harbours"}\n' * 9)
    told = json.loads(run("evaluate", "model", "wide.jsonl", "--json").out)
    assert told["coverage"] == pytest.approx(4 / 7)
    assert 1 < told["unigram_perplexity"] < 4


def test_usefulness_is_said_wherever_a_model_is_shown(here: Path, run: Run) -> None:
    words(here)
    ran = run(*PRIVATE, *WORDS)
    assert ran.code == 0, ran.err
    verdict = "topics are unlikely to be useful: 5 words are too few for 2 topics, which need 5 each"
    assert any(line.startswith(verdict) for line in ran.out.splitlines())
    about = json.loads((here / "new" / "release.json").read_text())
    assert about["usefulness"]["useful"] is False
    assert verdict in run("topics", "new").err
    for told in (run("topics", "new", "--json").out, run(*PRIVATE, *WORDS, "--overwrite", "--json").out):
        found = json.loads(told)["usefulness"]
        assert found["summary"].startswith(verdict)
        assert found["useful"] is False
    assert json.loads(run("topics", "model", "--json").out)["usefulness"] is None


def test_sixteen_users_are_refused_before_anything_is_charged(here: Path, run: Run) -> None:
    file = BudgetFile.create(here / "mails.budget", 1.0, 1e-6, "user")
    before = everything_in(here)
    fit = ("fit", "texts.jsonl", "--text", "body", "--group", "who", "--epsilon", 1, "--units", 16)
    ran = run(*fit, "--budget", "mails.budget", "-o", "new")
    assert ran.code == 2
    assert ran.err.startswith(
        "discreet: 16 units are too few to select any word from at --epsilon 1: a word must be shared"
    )
    assert len(ran.err.splitlines()) == 1
    assert file.ledger().entries == ()
    assert everything_in(here) == before


def test_evaluate_on_counts_takes_whole_documents_as_windows(here: Path, run: Run) -> None:
    """Words of a topic stand in all of its documents: in windows of ten tokens, column by column, few would meet."""
    weather, music = ("cloud", "rain", "storm", "wind"), ("concert", "music", "piano", "violin")
    pairs = [(d, word) for d in range(30) for word in (weather if d % 3 else music)]
    found = []
    for order in (weather + music, [w for pair in zip(weather, music, strict=True) for w in pair]):
        column = {word: i for i, word in enumerate(order, start=1)}
        body = "".join(f"{d + 1} {column[word]} 7\n" for d, word in pairs)
        uci(here, f"30\n8\n{len(pairs)}\n{body}", "\n".join(order) + "\n")
        ran = run("evaluate", "model", "docword.x.txt", "-n", 4, "--json")
        assert ran.code == 0, ran.err
        assert "counts and pictures have no word order" in ran.err
        found.append(json.loads(ran.out)["coherence"])
        assert json.loads(ran.out)["windows"] == "documents"
    assert found[0] == found[1]
    assert found[0]["c_npmi"] == pytest.approx(1.0)
    ran = run("evaluate", "model", "texts.jsonl", "--text", "body", "-n", 4, "--json")
    assert "word order" not in ran.err
    assert json.loads(ran.out)["windows"] == "usual"


def test_data_ls(here: Path, run: Run) -> None:
    ran = run("data", "ls")
    assert (ran.code, ran.err) == (0, "")
    head, *names = (line.split("\t")[0] for line in ran.out.splitlines())
    assert head == "name"
    assert {"kos", "nips", "20newsgroups", "arxiv", "neurips-cvpr", "enron", "novels", "scenes"} <= set(names)
    told = json.loads(run("data", "ls", "--json").out)
    assert [one["name"] for one in told] == names
    assert {"name", "present", "description", "where"} <= set(told[0])


def test_demo(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.corpus import datasets, read

    many(here)
    small = read("many.jsonl", text="body", group="who")
    monkeypatch.setattr(datasets, "docstrings", lambda **_: small)
    before = everything_in(here)
    ran = run("demo", "--quick")
    assert ran.code == 0, ran.err
    assert "1,800 docstrings to train on, 200 held out" in ran.out
    assert re.search(r"guarantee: ε = 3\.9\d*, δ = 1e-06 for one document .*: proven", ran.out)
    assert re.search(r"\d words selected and 2 topics trained in [\d.]+ s", ran.out)
    private, unigram = map(float, re.search(r"docstrings: (\d+); .*: (\d+) \(lower", ran.out).groups())
    assert private < unigram
    report = here / "discreet-demo.html"
    assert f"report: {report.resolve()}" in ran.out
    assert "What is promised" in report.read_text("utf-8")
    report.unlink()
    assert everything_in(here) == before
    ran = run("demo", "--quick", "-o", "none/x.html")
    assert (ran.code, ran.out) == (2, "")  # before anything is read


def test_output_that_was_closed_is_no_error(here: Path) -> None:
    """``discreet topics model >&-``: nobody is listening, and nothing is wrong."""
    command = f"{sys.executable} -m discreet topics model >&-"
    ran = subprocess.run(["bash", "-c", command], cwd=here, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 0
    assert ran.stderr == f"guarantee: {Guarantee.none(EXACT_COUNTS).summary()}\n"


def test_a_paid_run_survives_a_full_disk(here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint goes only when the model is written; the same command then repeats the last rounds, not all."""
    run("budget", "b", "--create", "--epsilon", 50, "--delta", "1e-6")
    fit = ("fit", "texts.jsonl", "--text", "body", "-k", 2, "--epsilon", 20, "-o", "new", "-q", "--vocabulary", "w")
    Path("w").write_text("rain\nwind\npiano\n")
    fit = (*fit, "--budget", "b", "--checkpoint", "c")

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(release_folder, "_sync", fail)
        assert run(*fit).code == 2
    assert Path("c").is_dir()
    paid = len(BudgetFile(here / "b").charges())
    assert run(*fit).code == 0
    assert len(BudgetFile(here / "b").charges()) == paid + 1
    assert not Path("c").exists()


def test_a_closed_pipe_is_quiet(here: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with start("data", "ls", "--json", stdout=writer) as process:
        os.close(writer)
        _, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == 1


# --- bad input: one line, exit code 2, nothing written ---------------------------------------------------------------

FIT = ("fit", "-o", "new", "--sweeps", "1", "-k", "2")


def uci(folder: Path, body: str, words: str = "rain\nwind\n") -> None:
    (folder / "docword.x.txt").write_text(body)
    (folder / "vocab.x.txt").write_text(words)


def jsonl(*lines: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "bad.jsonl").write_text("\n".join(lines) + "\n")


def raw(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def counts(body: str) -> Callable[[Path], object]:
    return lambda folder: uci(folder, body)


def nothing(_: Path) -> None:
    """The folder is bad enough as it is."""


PRIVATE = ("fit", "-o", "new", "-k", "2", "texts.jsonl", "--text", "body", "-q", "--epsilon", "1")
WORDS = ("--vocabulary", "words.txt")


def words(folder: Path) -> None:
    """A public word list, and a budget of users that is smaller than what is asked for."""
    (folder / "words.txt").write_text("rain\nwind\nstorm\npiano\nviolin\n")
    BudgetFile.create(folder / "users.budget", 0.9, 1e-6, "user")


JUNK = bytes(range(256)) * 40
GOOD_LINE = '{"text": "rain and wind"}'

MALFORMED: dict[str, tuple[Callable[[Path], object], tuple[str, ...], str]] = {
    "unknown file": (nothing, (*FIT, "text.jsonl"), r"no file or folder text.jsonl. Did you mean 'texts.jsonl'\?"),
    "name of a data set": (nothing, (*FIT, "kos"), "write dataset:kos"),
    "unknown data set": (nothing, (*FIT, "dataset:kso"), "no data set 'kso'.*Did you mean 'kos'"),
    "no input": (nothing, FIT, "no documents were given"),
    "two inputs": (nothing, (*FIT, "texts.jsonl", "--dataset", "kos"), "both FILE"),
    "columns of a data set": (nothing, (*FIT, "dataset:kos", "--text", "a"), "has fixed columns. Leave --text out"),
    "no collections in lines": (
        raw("lines.txt", b"rain\nwind\n"),
        (*FIT, "lines.txt", "--method", "cross-lda"),
        r"cross-lda needs --collection COLUMN.*; lines.txt has no columns. Give CSV or JSON lines\.",
    ),
    "no columns in lines": (
        raw("lines.txt", b"rain\nwind\n"),
        (*FIT, "lines.txt", "--method", "cross-lda", "--collection", "who"),
        "lines.txt has no columns, so --collection 'who' cannot be used. Give CSV or JSON lines",
    ),
    "no collections in a data set": (
        nothing,
        (*FIT, "dataset:docstrings", "--method", "cross-lda"),
        "cross-lda compares collections, and the data set 'docstrings' has none. Use neurips-cvpr",
    ),
    "epsilon of a model that compares": (
        nothing,
        (*FIT, "texts.jsonl", "--method", "cross-lda", "--epsilon", "1"),
        "cross-lda takes no epsilon .*Use --method private-cross for a private model .or hybrid-cross",
    ),
    "laplace-cross without its form": (
        nothing,
        (*FIT, "texts.jsonl", "--method", "laplace-cross", "--epsilon", "1"),
        "Add --as-published to reproduce the papers. Use --method private-cross for a private model",
    ),
    "a model in the way": (nothing, (*FIT[:1], "texts.jsonl", "-o", "model"), r"another place, or pass --overwrite\."),
    "wrong column": (nothing, (*FIT, "texts.jsonl", "--text", "bodi"), "bodi.*Did you mean 'body'"),
    "no text column": (nothing, (*FIT, "texts.jsonl"), "column 'text'"),
    "wrong group column": (nothing, (*FIT, "texts.jsonl", "--text", "body", "--group", "wo"), "Did you mean 'who'"),
    "broken json": (jsonl(*[GOOD_LINE] * 16, '{"text": "rain', GOOD_LINE), (*FIT, "bad.jsonl"), "line 17 is not JSON"),
    "json that is no object": (jsonl("[1, 2]"), (*FIT, "bad.jsonl"), "line 1 is not a JSON object"),
    "text that is no string": (jsonl('{"text": 5}'), (*FIT, "bad.jsonl"), "line 1: the text is not a string"),
    "header against body": (
        counts("2\n2\n5\n1 1 1\n2 2 1\n"),
        (*FIT, "docword.x.txt"),
        "counts 5 entries, but 2 follow",
    ),
    "header against words": (counts("2\n3\n1\n1 1 1\n"), (*FIT, "docword.x.txt"), "counts 3 words, but .* lists 2"),
    "negative count": (counts("1\n2\n1\n1 1 -4\n"), (*FIT, "docword.x.txt"), "line 4: the count must be .*found .*-4"),
    "fractional count": (counts("1\n2\n1\n1 1 0.5\n"), (*FIT, "docword.x.txt"), "line 4 must hold three whole numbers"),
    "word out of range": (counts("1\n2\n1\n1 3 1\n"), (*FIT, "docword.x.txt"), "line 4: the word"),
    "empty file": (raw("bad.jsonl", b""), (*FIT, "bad.jsonl"), "bad.jsonl is empty"),
    "empty bag": (raw("docword.x.txt", b""), (*FIT, "docword.x.txt"), "vocab|empty"),
    "only stop words": (
        jsonl('{"text": "the and of"}'),
        (*FIT, "bad.jsonl"),
        "no word was found .* other than stop words",
    ),
    "empty word list": (raw("w.txt", b"\n"), (*FIT, "texts.jsonl", "--text", "body", "--vocabulary", "w.txt"), "w.txt"),
    "no word list": (
        nothing,
        (*FIT, "texts.jsonl", "--text", "body", "--vocabulary", "w.txt"),
        "no file or folder w.txt",
    ),
    "no stop list": (nothing, (*FIT, "texts.jsonl", "--stop-words", "englsh"), "no file or folder englsh"),
    "binary junk": (raw("bad.jsonl", JUNK), (*FIT, "bad.jsonl"), "not UTF-8"),
    "binary junk as csv": (raw("bad.csv", JUNK), (*FIT, "bad.csv"), "not UTF-8"),
    "binary junk as parquet": (raw("bad.parquet", JUNK), (*FIT, "bad.parquet"), "not a whole Parquet file"),
    "binary junk as matrix": (raw("bad.npz", JUNK), (*FIT, "bad.npz"), "holds no matrix"),
    "bad encoding": (
        raw("bad.csv", "text\ncafé\n".encode("latin-1")),
        (*FIT, "bad.csv"),
        "line 2, byte 4 .0xe9. is not UTF-8",
    ),
    "cut gzip": (
        raw("bad.jsonl.gz", gzip.compress(os.urandom(9999))[:5000]),
        (*FIT, "bad.jsonl.gz"),
        "cannot be unpacked",
    ),
    "other kind of file": (raw("bad.docx", b"x"), (*FIT, "bad.docx"), "not a kind of file that can be read"),
    "too many topics": (nothing, (*FIT, "texts.jsonl", "--text", "body", "-k", "1000000"), "1,?000,?000"),
    "more topics than tokens": (
        nothing,
        (*FIT, "texts.jsonl", "--text", "body", "-k", "5000"),
        "--topics 5,000 is more than the corpus has tokens: 200",
    ),
    "no topics": (nothing, (*FIT, "texts.jsonl", "-k", "0"), "--topics"),
    "negative alpha": (nothing, (*FIT, "texts.jsonl", "--text", "body", "--alpha", "-1"), "alpha"),
    "nan beta": (nothing, (*FIT, "texts.jsonl", "--text", "body", "--beta", "nan"), "beta"),
    "negative seed": (nothing, (*FIT, "texts.jsonl", "--text", "body", "--seed", "-1"), "seed"),
    "unknown method": (nothing, (*FIT, "texts.jsonl", "--method", "lad"), "no method 'lad'; did you mean 'lda'"),
    "far from any method": (nothing, (*FIT, "texts.jsonl", "--method", "x"), "this version has lda, private"),
    "epsilon for lda": (
        nothing,
        (*FIT, "texts.jsonl", "--method", "lda", "--epsilon", "1"),
        "lda takes no epsilon .*promises nothing",
    ),
    "no file name": (nothing, ("fit", "", "-o", "out"), "the name of the file is empty"),
    "the beginning of an option": (nothing, (*FIT, "texts.jsonl", "--eps", "1"), "Did you mean --epsilon?"),
    "delta for lda": (
        nothing,
        (*FIT, "texts.jsonl", "--delta", "1e-6"),
        "--delta is for private models. Add",
    ),
    "budget for lda": (
        nothing,
        (*FIT, "texts.jsonl", "--budget", "x"),
        "--budget is for private models. Add",
    ),
    "no epsilon": (nothing, ("fit", "-o", "new", "texts.jsonl", "--method", "private"), "needs --epsilon"),
    "sweeps of a private model": (nothing, (*FIT, "texts.jsonl", "--epsilon", "1"), "private takes no --sweeps"),
    "beta of a private model": (nothing, (*PRIVATE, "--beta", "1"), "private takes no --beta"),
    "no word stands out": (
        nothing,
        PRIVATE,
        r"no word stood out of the noise.*The attempt has been charged: ε = 0\.2\d*\.",
    ),
    "too small a budget for words and topics": (
        words,
        (*PRIVATE, "--group", "who", "--budget", "users.budget"),
        "the budget is ε = 0.9",
    ),
    "a text column that is not there": (nothing, (*PRIVATE, "--group", "wo"), "Did you mean 'who'"),
    "delta above one over the units": (
        nothing,
        (*PRIVATE, "--units", "40", "--delta", "0.03"),
        "--delta 0.03 is not below 0.025, one over --units 40:",
    ),
    "no units": (nothing, (*PRIVATE, "--units", "0"), "--units"),
    "units of lda": (nothing, (*FIT, "texts.jsonl", "--units", "9"), "--units is for private models. Add --epsilon"),
    "no epsilon at all": (nothing, (*PRIVATE[:-1], "0"), "--epsilon must be a positive number; found 0. "),
    "epsilon of nothing": (nothing, (*PRIVATE[:-1], "nan"), "--epsilon must be a positive number; found nan"),
    "infinite epsilon": (nothing, (*PRIVATE[:-1], "inf"), "--epsilon must be a positive number; found inf"),
    "most frequent words of a matrix": (
        counts("2\n2\n2\n1 1 3\n2 2 4\n"),
        ("fit", "-o", "new", "docword.x.txt", "--epsilon", "1", "--max-words", "1"),
        "can identify that person. Leave --max-words out",
    ),
    "negative epsilon": (words, (*PRIVATE[:-1], "-1", *WORDS), "--epsilon must be a positive number; found -1"),
    "epsilon that is a word": (words, (*PRIVATE[:-1], "one", *WORDS), "Invalid value for '?--epsilon'?.*number"),
    "delta of one": (words, (*PRIVATE, *WORDS, "--delta", "1"), "--delta must lie between 0 and 1.*found 1"),
    "delta of nothing": (words, (*PRIVATE, *WORDS, "--delta", "nan"), "--delta must lie between 0 and 1.*found nan"),
    "laplace as it is": (words, (*PRIVATE, *WORDS, "--method", "laplace"), "no form that is proved.*--as-published"),
    "laplace-plus too": (words, (*PRIVATE, *WORDS, "--method", "laplace-plus"), "no form that is proved.*--as-publ"),
    "private as published": (
        words,
        (*PRIVATE, *WORDS, "--as-published"),
        "private takes no --as-published. Leave it out. It goes with --method subsampled, spectral, hybrid",
    ),
    "lda as published": (nothing, (*FIT, "texts.jsonl", "--as-published"), "lda takes no --as-published"),
    "adaptive private": (
        words,
        (*PRIVATE, *WORDS, "--adaptive"),
        "private takes no --adaptive. Leave it out. It goes with --method subsampled",
    ),
    "budget of a claim": (
        words,
        (*PRIVATE, *WORDS, "--method", "subsampled", "--as-published", "--budget", "users.budget"),
        "subsampled --as-published takes no --budget: its epsilon is only claimed",
    ),
    "hybrid as published with a total": (
        words,
        (*PRIVATE, *WORDS, "--method", "hybrid", "--as-published"),
        "hybrid --as-published takes no --epsilon .found 1.0.. .*--epsilon-inherent, and --epsilon-laplace",
    ),
    "hybrid as published with nothing": (
        words,
        (*PRIVATE[:-2], *WORDS, "--method", "hybrid", "--as-published"),
        "'hybrid --as-published' needs --epsilon-inherent, the paper's bound",
    ),
    "parts of the sound hybrid": (
        words,
        (*PRIVATE, *WORDS, "--method", "hybrid", "--epsilon-inherent", "2"),
        "hybrid takes no --epsilon-inherent .found 2.0.. Leave it out. It goes with --as-published",
    ),
    "delta of plain spectral": (
        words,
        (*PRIVATE[:-2], *WORDS, "--method", "spectral", "--delta", "1e-7"),
        "--delta is for private models. Add",
    ),
    "budget of a configuration": (
        words,
        (
            *PRIVATE,
            *WORDS,
            "--method",
            "spectral",
            "--as-published",
            "--configuration",
            "2",
            "--budget",
            "users.budget",
        ),
        "spectral --as-published takes no --budget: its epsilon is only claimed",
    ),
    "configuration without epsilon": (
        words,
        (*PRIVATE[:-2], *WORDS, "--method", "spectral", "--as-published", "--configuration", "2"),
        "'spectral --as-published' needs --epsilon",
    ),
    "configuration of another method": (
        words,
        (*PRIVATE, *WORDS, "--configuration", "2"),
        "private takes no --configuration .found 2.. Leave it out. It goes with --method spectral",
    ),
    "fifth configuration": (words, (*PRIVATE, *WORDS, "--method", "spectral", "--configuration", "5"), "configuration"),
    "checkpoint of a claim": (
        words,
        (*PRIVATE, *WORDS, "--method", "subsampled", "--as-published", "--checkpoint", "c"),
        "subsampled --as-published takes no --checkpoint",
    ),
    "no budget file": (words, (*PRIVATE, *WORDS, "--budget", "no.budget"), "no.budget"),
    "budget of another unit": (
        words,
        (*PRIVATE, *WORDS, "--budget", "users.budget"),
        "the budget file counts per user .*Use a budget file of unit 'document' .*, or give --group",
    ),
    "too small a budget": (words, (*PRIVATE, *WORDS, "--group", "who", "--budget", "users.budget"), "the budget is ε"),
    "seed with a budget": (words, (*PRIVATE, *WORDS, "--seed", "1", "--budget", "users.budget"), "promises nothing"),
    "output exists": (nothing, ("fit", "texts.jsonl", "--text", "body", "-o", "model"), "model exists already"),
    "output is no release": (nothing, (*FIT[:1], "texts.jsonl", "-o", "texts.jsonl", "--overwrite"), "exists already"),
    "no place for output": (nothing, ("fit", "texts.jsonl", "-o", "no/such/model"), "does not exist. Create it first"),
    "output where nothing can be written": (
        words,
        ("fit", "texts.jsonl", *PRIVATE[6:], *WORDS, "-o", "/proc/new"),
        "/proc/new cannot be written: /proc permits no new folder",
    ),
    "no output": (nothing, ("fit", "texts.jsonl"), "Missing option '--output'"),
    "unknown option": (nothing, ("fit", "texts.jsonl", "--topcs", "3"), "option: --topcs. Did you mean --topics\\?"),
    "epslon": (nothing, (*PRIVATE, "--epslon", "3"), r"No such option: --epslon\. Did you mean --epsilon\? See"),
    "an option like no other": (nothing, (*PRIVATE, "--clip"), r"No such option: --clip\. See 'discreet fit --help'"),
    "alpha beyond any use": (words, (*PRIVATE, *WORDS, "--alpha", "1e9"), "--alpha must be .* at most 1e.06; found 1e"),
    "topics beyond any use": (words, (*PRIVATE[:3], "-k", "99999", *PRIVATE[5:], *WORDS), "--topics must .* 65,535"),
    "usable topics": (
        words,
        (*FIT[:3], "texts.jsonl", *PRIVATE[6:8], "--method", "spectral"),
        "so 20 topics cannot be",
    ),
    "table where nothing can be written": (
        nothing,
        ("transform", "model", "texts.jsonl", "--text", "body", "-o", "/proc/x.csv"),
        "^discreet: /proc/x.csv cannot be written: [^.]*. Choose another place.$",
    ),
    "unknown command": (nothing, ("fti",), "No such command 'fti'. Did you mean 'fit'"),
    "no subcommand": (nothing, ("data",), "Missing command: ls. See"),
    "no subcommand of several": (nothing, ("collect",), "Missing command: serve, .* or backup. See"),
    "no model": (nothing, ("topics", "modle"), "modle does not exist"),
    "foreign folder": (nothing, ("topics", "."), "not a model folder"),
    "damaged release": (raw("model/topics.npy", JUNK), ("topics", "model"), "damaged release: topics.npy has changed"),
    "no words": (nothing, ("topics", "model", "-n", "0"), "--words"),
    "other language": (
        jsonl('{"text": "sonne mond"}'),
        ("evaluate", "model", "bad.jsonl"),
        "no document holds a word of",
    ),
    "too short": (jsonl('{"text": "rain wind"}'), ("evaluate", "model", "bad.jsonl"), "no document has 4 tokens"),
    "other ending": (
        nothing,
        ("transform", "model", "texts.jsonl", "-o", "x.xls"),
        "must end in .csv, .jsonl or .npy, which",
    ),
    "table exists": (
        raw("x.csv", b"mine"),
        ("transform", "model", "texts.jsonl", "-o", "x.csv"),
        "x.csv exists already",
    ),
    "table over the input": (
        nothing,
        ("transform", "model", "texts.jsonl", "--text", "body", "-o", "texts.jsonl", "--overwrite"),
        "texts.jsonl is not an earlier result",
    ),
    "table in a model": (
        nothing,
        ("transform", "model", "texts.jsonl", "--text", "body", "-o", "model/x.csv"),
        "meant to be given away",
    ),
    "checkpoint where the model goes": (
        nothing,
        (*PRIVATE, "--checkpoint", "new"),
        "private, --output new is to be given away",
    ),
    "nothing finished": (
        nothing,
        ("reproduce", "huang2021", "figure4", "--only-show", "--work", "empty"),
        "nothing of huang2021 figure4 is finished yet in empty",
    ),
    "a pattern that is none": (nothing, (*FIT, "texts.jsonl", "--token-pattern", "["), "is not a regular expression"),
    "a pattern of nothing": (nothing, (*FIT, "texts.jsonl", "--token-pattern", "x*"), "also matches empty text"),
    "a budget that is none": (
        raw("b.budget", b"one\ntwo\nthree"),
        ("budget", "b.budget"),
        "b.budget is not a budget file",
    ),
    "too many threads": (nothing, (*FIT, "texts.jsonl", "--text", "body", "--threads", "10000"), "--threads.*256"),
    "no place for table": (
        nothing,
        ("transform", "model", "texts.jsonl", "-o", "no/x.csv"),
        "its folder does not exist",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_bad_input_is_one_line_and_exit_code_2(here: Path, run: Run, name: str) -> None:
    make, arguments, message = MALFORMED[name]
    make(here)
    before = everything_in(here)
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1, ran.err
    assert ran.err.startswith("discreet: ")
    assert re.search(message, ran.err), ran.err
    assert everything_in(here) == before


def test_bad_input_in_a_real_process(here: Path) -> None:
    """The same wall stands when the program runs alone, with warnings as errors."""
    with start(*FIT, "text.jsonl", stdout=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err == "discreet: there is no file or folder text.jsonl. Did you mean 'texts.jsonl'?\n"


def test_every_message_is_one_line_whatever_it_quotes(here: Path, run: Run) -> None:
    ran = run(*FIT, "a\nb\x1b[31m.jsonl")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert "\x1b" not in ran.err


def test_topics_of_many_collections_on_a_narrow_terminal(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each topic's number once, an empty line between topics, and long labels by their beginning and end."""
    rng = np.random.default_rng(0)
    labels = [*(f"Conference on Vision and Pattern Recognition {year}" for year in range(2005, 2019)), "rest"]
    made = Release(
        topics=rng.dirichlet(np.ones(30), 2),
        vocabulary=tuple(f"convolution{i}" for i in range(30)),
        alpha=np.ones(2),
        beta=0.1,
        method="cross-lda",
        parameters={},
        guarantee=Guarantee.none(EXACT_COUNTS),
        collections=tuple(labels),
        collection_topics=rng.dirichlet(np.ones(30), (15, 2)),
        switch=rng.uniform(size=(2, 15)),
    )
    folder = made.save(tmp_path / "model")
    piped = [line.split("\t") for line in run("topics", folder, "-n", 4).out.splitlines()[1:]]
    assert [line[:2] for line in piped] == [[str(k), label] for k in range(2) for label in ("common", *labels)]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.rstrip() for line in run("topics", folder, "-n", 4).out.splitlines()]
    assert max(map(len, lines)) <= 80
    assert [line.split()[:2] for line in lines if line[:5].strip().isdigit()] == [["0", "common"], ["1", "common"]]
    assert lines.count("") == 1
    for year in range(2005, 2019):
        assert sum(f"Conference o…nition {year}" in line for line in lines) == 2
