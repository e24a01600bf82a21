"""Words on the command line: languages, stop words, word lists and phrases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.corpus import Tokenizer
from discreet.release.release import Release
from tests.support.command import Run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with forty short texts of two kinds."""
    monkeypatch.chdir(tmp_path)
    kinds = ("Rain and wind, then a storm; dark clouds", "A violin and a piano opened the concert")
    Path("texts.txt").write_text("".join(f"{kinds[i % 2]}\n" for i in range(40)))
    return tmp_path


LANGUAGES = {
    "de": ("Die Häuser und die Gärten: Straßen und Häuser", "häuser gärten straßen"),
    "ru": ("Мы слушаем музыку, потому что музыка и концерт", "слушаем музыку музыка концерт"),
    "hi": ("यह पानी और वह किताब, किताब में शब्द", "पानी किताब शब्द"),
    "zh": ("我们 去 公园 散步 , 公园 很 大", "我们 公园 散步"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_language_from_text_to_topics(here: Path, run: Run, language: str) -> None:
    """Its letters are read, its stop words are left out, and new text is read in the same way."""
    text, words = LANGUAGES[language]
    Path("other.txt").write_text(f"{text}\nhttp://www.example.com/page {text}\n" * 10)
    ran = run("fit", "other.txt", "--stop-words", language, "--sweeps", 20, "-k", 2, "--seed", 1, "-q", "-o", "new")
    assert (ran.code, ran.err) == (0, "")
    release = Release.load(here / "new")
    assert set(release.vocabulary) == set(words.split())
    Path("more.txt").write_text(text + "\n")
    text_words = Tokenizer()(text)
    assert run("transform", "new", "more.txt", "-o", "topics.npy").code == 0
    np.testing.assert_allclose(
        np.load("topics.npy"), release.transform([[w for w in text_words if w in release.vocabulary]])
    )
    assert json.loads(run("evaluate", "new", "other.txt", "--json").out)["coverage"] == 1.0


@pytest.mark.filterwarnings("always:some text has no spaces")
def test_text_without_spaces_gets_one_line(here: Path, run: Run) -> None:
    Path("chinese.txt").write_text("今天天气很好我们去公园散步吧\n" * 5)
    ran = run("fit", "chinese.txt", "-q", "-o", "new")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "some text has no spaces between its words (Chinese, " in ran.err
    Path("mixed.txt").write_text("今天天气很好我们去公园散步吧 rain storm\nrain cloud\n" * 5)
    ran = run("fit", "mixed.txt", "-q", "--sweeps", 2, "-k", 2, "-o", "new")
    assert (ran.code, ran.err.count("warning: some text has no spaces between its words")) == (0, 1)
    assert set(Release.load(here / "new").vocabulary) == {"rain", "storm", "cloud"}


def test_stop_words_of_no_language(here: Path, run: Run) -> None:
    ran = run("fit", "texts.txt", "--stop-words", "klingon", "-o", "new")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "there is no file or folder klingon, and no such language with stop words (there are en, ar, bg" in ran.err
    assert "Did you mean 'german'?" in run("fit", "texts.txt", "--stop-words", "germn", "-o", "new").err
    Path("docword.x.txt").write_text("1\n2\n2\n1 1 2\n1 2 3\n")
    Path("vocab.x.txt").write_text("und\nregen\n")
    assert run("fit", "docword.x.txt", "-q", "-k", 1, "--stop-words", "german", "-o", "counts").code == 0
    assert Release.load(here / "counts").vocabulary == ("regen",)


def test_the_word_list_of_a_language(here: Path, run: Run) -> None:
    pytest.importorskip("wordfreq", reason="wordfreq is not installed: pip install 'discreet[words]'")
    fit = ("fit", "texts.txt", "-k", 2, "--sweeps", 2)
    ran = run(*fit, "--vocabulary", "english", "--max-words", 8_000, "-o", "new")
    assert ran.code == 0, ran.err
    assert "the words are the 8,000 most frequent words of English, wordfreq " in ran.err
    release = Release.load(here / "new")
    assert (release.n_words, "the" in release.vocabulary, "piano" in release.vocabulary) == (8_000, False, True)
    assert run(*fit, "--vocabulary", "en", "-q", "-o", "usual").code == 0
    assert Release.load(here / "usual").n_words == 5_000
    Path("german.txt").write_text("Die Häuser und die Straßen\n" * 20)
    ran = run("fit", "german.txt", "-k", 2, "--vocabulary", "german", "--max-words", 5_000, "-q", "-o", "german")
    assert (ran.code, ran.err) == (0, "")
    assert {"häuser", "straßen"} < set(Release.load(here / "german").vocabulary)
    assert "und" not in Release.load(here / "german").vocabulary
    ran = run(*fit, "--vocabulary", "englsh", "-o", "none")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "there is no file or folder englsh, and no such language with a word list (there are ar, bg" in ran.err
    assert "Did you mean 'english'?" in ran.err


def test_a_private_model_over_the_word_list_of_a_language(here: Path, run: Run) -> None:
    pytest.importorskip("wordfreq", reason="wordfreq is not installed: pip install 'discreet[words]'")
    ran = run("fit", "texts.txt", "-k", 2, "--epsilon", 1, "--vocabulary", "en", "--max-words", 50, "-o", "new")
    assert ran.code == 0, ran.err
    assert "proven, if the word list is public (the 50 most frequent words of English, wordfreq " in ran.out


def test_phrases_of_a_list(here: Path, run: Run) -> None:
    Path("texts.txt").write_text("New York and wind\nA storm in New York; new rain\n" * 20)
    Path("phrases.txt").write_text("new york\nwind storm\n")
    fit = ("fit", "texts.txt", "-k", 2, "--sweeps", 2, "-q")
    assert run(*fit, "--phrases", "phrases.txt", "-o", "new").code == 0
    assert Release.load(here / "new").vocabulary == ("new", "new_york", "rain", "storm", "wind")
    Path("words.txt").write_text("rain\nwind\n")
    ran = run(
        "fit",
        "texts.txt",
        "-k",
        2,
        "--epsilon",
        1,
        "--vocabulary",
        "words.txt",
        "--phrases",
        "phrases.txt",
        "-o",
        "over",
    )
    assert ran.code == 0, ran.err
    assert "cannot be found" not in ran.err
    assert "the list of phrases is public" in ran.out
    assert Release.load(here / "over").vocabulary == ("rain", "wind", "new_york", "wind_storm")
    ran = run("evaluate", "new", "texts.txt", "--json")
    assert json.loads(ran.out)["coverage"] == 1.0
    assert run("transform", "new", "texts.txt", "-o", "topics.npy").code == 0


def test_selected_phrases(here: Path, run: Run) -> None:
    Path("texts.txt").write_text("New York has wind and rain\nA storm in New York\n" * 1_000)
    ran = run("fit", "texts.txt", "-k", 2, "--epsilon", 8, "--phrases", 2, "-q", "-o", "private")
    assert ran.code == 0, ran.err
    assert "new_york" in Release.load(here / "private").vocabulary
    assert run("fit", "texts.txt", "-k", 2, "--phrases", 2, "--max-words", 5, "-q", "-o", "plain").code == 0
    assert "new_york" in Release.load(here / "plain").vocabulary
    Path("words.txt").write_text("rain\nwind\n")
    Path("docword.x.txt").write_text("1\n2\n2\n1 1 2\n1 2 3\n")
    Path("vocab.x.txt").write_text("rain\nwind\n")
    refused = {
        ("texts.txt", "--phrases", 2): "--phrases 2 makes each phrase of the text a word, and lda does not",
        ("texts.txt", "--phrases", 9): "phrases must have 2 to 5 words; found --phrases 9",
        ("texts.txt", "--phrases", "none.txt"): "there is no file or folder none.txt",
        ("texts.txt", "--phrases", 2, "--vocabulary", "words.txt"): "phrases are selected only where words are",
        ("docword.x.txt", "--phrases", 2, "--max-words", 2): "already word counts. Leave --phrases out.",
    }
    for arguments, message in refused.items():
        ran = run("fit", *arguments, "-o", "none")
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert message in ran.err
        assert not Path("none").exists()
