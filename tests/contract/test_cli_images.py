"""Pictures on the command line: trained on, predicted, evaluated, and protected."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.corpus import Codebook, image_patches
from discreet.release.release import Release
from tests.support.command import Run

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'discreet[images]'")


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stripes that run across, and stripes that run down."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for part, n in (("train", 8), ("test", 3)):
        for kind in ("across", "down"):
            (tmp_path / part / kind).mkdir(parents=True)
            for i in range(n):
                stripes = np.repeat(127 + 80 * np.sin(np.arange(64) * 0.6 + rng.uniform(0, 6))[None], 64, axis=0)
                pixels = (stripes if kind == "down" else stripes.T) + rng.normal(0, 12, (64, 64))
                cv2.imwrite(str(tmp_path / part / kind / f"{i}.png"), np.clip(pixels, 0, 255).astype(np.uint8))
    return tmp_path


CROSS = ("--method", "cross-lda", "-k", 2, "--sweeps", 50, "--max-words", 20, "--seed", 1, "-o", "new")


@pytest.mark.filterwarnings("always:.* left out")
def test_a_folder_of_pictures_from_fit_to_predict(pictures: Path, run: Run) -> None:
    ran = run("fit", "train", *CROSS)
    assert ran.code == 0, ran.err
    assert "16 documents, 20 words, 400 tokens" in ran.err
    release = Release.load(pictures / "new")
    assert release.collections == ("across", "down")
    assert release.codebook == Codebook.learn(image_patches(pictures / "train"), 20)
    ran = run("predict", "new", "test")
    assert ran.code == 0, ran.err
    rows = [line.split("\t") for line in ran.out.splitlines()[1:]]
    assert [row[0] for row in rows] == [f"{kind}/{i}.png" for kind in ("across", "down") for i in range(3)]
    assert [row[1] for row in rows] == ["across"] * 3 + ["down"] * 3
    ran = run("evaluate", "new", "test", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["windows"] == "documents"
    assert 0 <= found["coherence"]["mixed_c_v"] <= 1
    assert "counts and pictures have no word order" in ran.err
    assert "mixed C_V" in run("evaluate", "new", "test").out
    (pictures / "test" / "across" / "1.png").write_bytes(b"no picture")
    ran = run("transform", "new", "test", "-o", "rows.csv")
    assert ran.code == 0, ran.err
    assert "warning: 1 picture left out (cannot be read as a picture): 'across/1.png'" in ran.err
    table = list(csv.reader(Path("rows.csv").read_text().splitlines()))
    assert [row[1] for row in table[:3]] == ["id", "across/0.png", "across/2.png"]
    assert run("transform", "new", "test", "-o", "rows.npy").code == 0
    assert np.load("rows.npy").shape == (5, 2)


def test_an_ordinary_model_of_pictures(pictures: Path, run: Run) -> None:
    assert run("fit", "train", "-k", 2, "--sweeps", 5, "--max-words", 9, "-q", "-o", "new").code == 0
    release = Release.load(pictures / "new")
    assert (release.n_words, len(release.codebook or ())) == (9, 9)
    ran = run("transform", "new", "test", "-o", "-")
    assert ran.out.startswith("document,id,topic0,topic1\n0,across/0.png,")


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
def test_a_private_model_needs_public_pictures(pictures: Path, run: Run) -> None:
    fit = ("fit", "train", "--epsilon", 1, "-k", 2, "-q", "-o", "new")
    ran = run(*fit, "--max-words", 20)
    assert ran.code == 2
    assert "learnt from the private pictures" in ran.err
    assert "Name a folder of other pictures, which are public, with --codebook." in ran.err
    for own in ("train", "train/down", "."):  # the same folder, one inside it, one around it
        ran = run(*fit, "--codebook", own, "--max-words", 20)
        assert (ran.code, "learnt from the private pictures, or from some of them" in ran.err) == (2, True), own
    assert not (pictures / "new").exists()
    ran = run(*fit, "--codebook", "test", "--max-words", 20)
    assert ran.code == 0, ran.err
    release = Release.load(pictures / "new")
    assert release.guarantee.basis == "proven"
    assert "if the word list is public" in release.guarantee.summary()
    assert release.codebook == Codebook.learn(image_patches(pictures / "test"), 20)
    Codebook.learn(image_patches(pictures / "test"), 12).save(pictures / "own.npz")
    ran = run(*fit, "--codebook", "own.npz", "--overwrite")  # nobody has called it public
    assert (ran.code, "learnt from the private pictures" in ran.err) == (2, True)
    Codebook.learn(image_patches(pictures / "test"), 12, public=True).save(pictures / "public.npz")
    assert run(*fit, "--codebook", "public.npz", "--overwrite").code == 0
    assert Release.load(pictures / "new").n_words == 12


@pytest.mark.filterwarnings("ignore:these topics are unlikely to be useful")
def test_a_private_fit_names_and_counts_no_picture(pictures: Path, run: Run) -> None:
    (pictures / "train" / "across" / "secret1.png").write_bytes(b"no picture")
    (pictures / "train" / "across" / "secret2.png").write_bytes(b"no picture")
    cv2.imwrite(str(pictures / "train" / "across" / "secret3.png"), np.zeros((8, 200), np.uint8))
    for codebook in (("--codebook", "test"), ()):
        ran = run("fit", "train", "--epsilon", 1, "-k", 2, "-o", "new", "--max-words", 20, *codebook, "--overwrite")
        assert ran.code == (0 if codebook else 2), ran.err
        said = "warning: some pictures cannot be read, or are smaller than a patch, and were left out\n"
        assert ran.err.count(said) == 1
        assert "secret" not in ran.err
        assert "left out (" not in ran.err


def test_a_model_of_pictures_is_given_something_else(pictures: Path, run: Run) -> None:
    assert run("fit", "train", "-k", 2, "--sweeps", 1, "--max-words", 9, "-q", "-o", "model").code == 0
    (pictures / "texts.jsonl").write_text('{"text": "rain and wind, rain and wind"}\n')
    (pictures / "empty").mkdir()
    for documents in ("texts.jsonl", "empty"):
        for command in (("transform", "model", documents, "-o", "rows.csv"), ("evaluate", "model", documents)):
            ran = run(*command)
            said = f"model was trained on pictures, and there are none in {documents}. Give a folder of pictures.\n"
            assert (ran.code, ran.err) == (2, f"discreet: {said}")
    ran = run("transform", "model", "nowhere", "-o", "rows.csv")
    assert (ran.code, "there is no file or folder nowhere" in ran.err) == (2, True)
    ran = run("fit", "empty", "-o", "new")
    assert (ran.code, "or of pictures" in ran.err) == (2, True)


def test_options_of_text_are_refused(pictures: Path, run: Run) -> None:
    (pictures / "words.txt").write_text("rain\n")
    for option in (
        ("--lemmas", "en"),
        ("--token-pattern", "x+"),
        ("--stop-words", "none"),
        ("--vocabulary", "words.txt"),
    ):
        ran = run("fit", "train", "-o", "new", *option)
        assert (ran.code, f"these documents are pictures, not text. Leave {option[0]} out." in ran.err) == (2, True)
    ran = run("fit", "train", "-o", "new", "--text", "body")
    assert (ran.code, "has no columns, so --text" in ran.err) == (2, True)
    (pictures / "texts.jsonl").write_text('{"text": "rain and wind, rain and wind"}\n')
    ran = run("fit", "texts.jsonl", "-o", "new", "--codebook", "train")
    assert (ran.code, "these documents are no pictures" in ran.err) == (2, True)
    assert run("fit", "texts.jsonl", "-k", 1, "--sweeps", 1, "-q", "-o", "model").code == 0
    ran = run("transform", "model", "test", "-o", "rows.csv")
    assert (ran.code, "model was not trained on pictures, and these are." in ran.err) == (2, True)


def test_a_missing_package_is_one_line(pictures: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    ran = run("fit", "train", "-o", "new")
    assert (ran.code, ran.err) == (
        2,
        "discreet: reading pictures needs the package opencv-python-headless, which is not installed. Install it with "
        "pip install 'discreet[images]'.\n",
    )


def test_collections_of_pictures_are_sub_folders(pictures: Path, run: Run) -> None:
    ran = run("fit", "train/across", *CROSS)
    assert ran.code == 2
    assert "cross-lda compares collections, and the pictures of train/across are in no sub-folders. Put" in ran.err
    ran = run("fit", "train", *CROSS, "--collection", "kind")
    assert ran.code == 2
    assert "train has no columns, so --collection 'kind' cannot be used. Leave it out: the sub-folders" in ran.err
    (pictures / "nested").mkdir()
    (pictures / "train").rename(pictures / "nested" / "train")
    ran = run("fit", "nested", *CROSS, "-q")
    assert ran.code == 0, ran.err
    assert "warning: found only one collection, 'train': nothing is compared; give the folder whose" in ran.err
