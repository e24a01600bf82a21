"""Pictures as documents: descriptors, codebooks, what is left out, and who may use which codebook."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.model_selection import GroupShuffleSplit

from discreet import (
    Corpus,
    CrossLDA,
    DataNotFound,
    InputError,
    LaplaceCrossLBLA,
    LaplaceLDA,
    PrivateLDA,
    Release,
    Vocabulary,
    WouldLeak,
    read,
)
from discreet.corpus import Codebook, Grid, Patches, image_patches, read_images
from discreet.corpus.kmeans import _first_centres, k_means, nearest
from discreet.corpus.lines import watched_by
from discreet.corpus.readers.images import PicturesLeftOut

cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'discreet[images]'")

SMALL = Grid(step=8, patch=16, max_side=64)


def drawn(kind: str, seed: int, size: int = 64) -> np.ndarray:
    """Stripes that run across, or down, with noise."""
    rng = np.random.default_rng(seed)
    wave = 127 + 80 * np.sin(np.arange(size) * rng.uniform(0.5, 0.7) + rng.uniform(0, 6))
    stripes = np.repeat(wave[None], size, axis=0)
    picture = stripes if kind == "down" else stripes.T
    return np.clip(picture + rng.normal(0, 12, (size, size)), 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Six pictures of each of two kinds; the last of each kind is a copy of the first."""
    for kind in ("across", "down"):
        (tmp_path / "pictures" / kind).mkdir(parents=True)
        for i in range(6):
            cv2.imwrite(str(tmp_path / "pictures" / kind / f"{i}.png"), drawn(kind, i % 5 + 10 * (kind == "down")))
    return tmp_path / "pictures"


@pytest.fixture
def patches(folder) -> Patches:
    return image_patches(folder, SMALL)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_folder_of_pictures_is_a_corpus_of_visual_words(folder):
    corpus = read_images(folder, max_words=20)
    assert corpus.n_documents == 12
    assert corpus.n_words == 20
    assert corpus.vocabulary[7] == "v07"
    assert (corpus.lengths == 25).all()  # (64 − 32) / 8 + 1 = 5 patches each way
    assert corpus.collections.tolist() == ["across"] * 6 + ["down"] * 6
    assert corpus.labels.tolist()[:2] == ["across/0.png", "across/1.png"]
    assert_array_equal(read(folder, max_words=20).words, corpus.words)


def test_descriptors_are_opencvs_at_the_points_of_the_grid(folder, patches):
    """The patch of a key point is 4 × 4 cells of 3 times its scale, which is half its size."""
    pixels = cv2.imread(str(folder / "across" / "0.png"), cv2.IMREAD_GRAYSCALE)
    points = [cv2.KeyPoint(x + 7.5, y + 7.5, 16 / 6, 0.0) for y in range(0, 49, 8) for x in range(0, 49, 8)]
    _, expected = cv2.SIFT_create().compute(pixels, points)
    assert patches.values.dtype == np.uint8
    assert_array_equal(patches.values[:49], expected)
    assert 6 * points[0].size == pytest.approx(SMALL.patch)


def test_each_option_of_the_grid_does_something(folder):
    assert np.diff(image_patches(folder, Grid(16, 16, 64)).offsets).tolist() == [16] * 12
    assert np.diff(image_patches(folder, Grid(8, 32, 64)).offsets).tolist() == [25] * 12
    assert np.diff(image_patches(folder, Grid(8, 16, 32)).offsets).tolist() == [9] * 12  # made smaller first


def test_the_same_on_every_run(folder, patches):
    again = image_patches(folder, SMALL)
    assert_array_equal(again.values, patches.values)
    assert Codebook.learn(again, 10) == Codebook.learn(patches, 10)
    assert Codebook.learn(patches, 10, random_state=1) != Codebook.learn(patches, 10)
    assert hash(Codebook.learn(again, 10)) == hash(Codebook.learn(patches, 10))


def test_unreadable_pictures_are_told_and_left_out(folder):
    (folder / "down" / "bad.jpg").write_bytes(b"no picture")
    (folder / "across" / "empty.png").write_bytes(b"")
    cv2.imwrite(str(folder / "down" / "tiny.png"), np.zeros((8, 200), np.uint8))
    with pytest.warns(PicturesLeftOut) as told:
        corpus = read_images(folder, max_words=5)
    assert [str(one.message) for one in told] == [
        "2 pictures left out (cannot be read as a picture): 'across/empty.png', 'down/bad.jpg'",
        "1 picture left out (has no room for a patch of 32 pixels): 'down/tiny.png'",
    ]
    assert corpus.n_documents == 12
    assert not {"down/bad.jpg", "across/empty.png", "down/tiny.png"} & set(corpus.labels)
    for i in range(5):
        (folder / "down" / f"bad{i}.jpg").write_bytes(b"no picture")
    with pytest.warns(UserWarning, match=r"7 pictures .*'down/bad0.jpg', …|1 picture left out"):
        read_images(folder, max_words=5)


def test_identical_pictures_share_a_group(patches):
    assert patches.groups.tolist() == [0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 5]
    split = GroupShuffleSplit(20, test_size=0.3, random_state=0)
    for train, test in split.split(patches.names, groups=patches.groups):
        assert not set(patches.groups[train]) & set(patches.groups[test])


def test_some_of_the_pictures(patches):
    part = patches[[7, 0]]
    assert part.names.tolist() == ["down/1.png", "across/0.png"]
    assert part.collections.tolist() == ["down", "across"]
    assert_array_equal(part.values[49:], patches.values[:49])
    assert part.groups.tolist() == [6, 0]
    assert len(patches[patches.collections == "down"]) == 6


def test_progress_is_told(folder):
    told = []
    with watched_by(lambda done, total, what: told.append((done, total, what))):
        read_images(folder, max_words=5)
    size = sum(file.stat().st_size for file in folder.rglob("*.png"))
    assert (size, size, "reading") in told
    assert told[-1][2] == "learning visual words"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: cv2.imwrite(str(f / "top.png"), drawn("down", 0)), {}, "'top.png' lies in no sub-folder"),
        (lambda f: None, {"max_words": 0}, "n_words must be a whole number from 1"),
        (lambda f: None, {"grid": Grid(0, 16, 64)}, "step must be a whole number of pixels from 1"),
        (lambda f: None, {"grid": Grid(8, 2.5, 64)}, "patch must be a whole number"),
        (lambda f: None, {"codebook": "nowhere.npz"}, "there is no file or folder nowhere.npz"),
    ],
)
def test_bad_requests(folder, change, options, message):
    change(folder)
    with pytest.raises(InputError, match=message) as caught:
        read_images(folder, **options)
    assert "\n" not in str(caught.value)


def test_folders_without_a_usable_picture(tmp_path):
    with pytest.raises(DataNotFound, match="no picture was found"):
        read_images(tmp_path)
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(InputError, match=r"none of the files can be used: each cannot be read as a picture\."):
        read_images(tmp_path)
    cv2.imwrite(str(tmp_path / "b.png"), np.zeros((8, 200), np.uint8))
    both = "each cannot be read as a picture or has no room for a patch of 32 pixels"
    with pytest.raises(InputError, match=both):
        read_images(tmp_path)
    (tmp_path / "b.png").unlink()
    (tmp_path / "a.txt").write_text("some text beside it")
    assert read(tmp_path).vocabulary == ("text",)  # a folder with as many texts is one of texts


def test_a_readme_may_lie_beside_pictures(folder):
    (folder / "README.txt").write_text("Two kinds of stripes.")
    assert read(folder, max_words=5).n_documents == 12


def test_pictures_without_sub_folders_have_no_collections(folder):
    assert read_images(folder / "down", max_words=5).collections is None


def test_a_missing_package_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(InputError, match=r"opencv-python-headless, .* pip install 'discreet\[images\]'") as caught:
        read_images(folder)
    assert "\n" not in str(caught.value)


# --- k-means ----------------------------------------------------------------------------------------------------------


def blobs(n=3_000, k=12, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 200, (k, 128))
    return np.clip(centres[rng.integers(k, size=n)] + rng.normal(0, 20, (n, 128)), 0, 255).astype(np.uint8)


def test_the_nearest_centre_is_exact():
    vectors, centres = blobs(), blobs(40, seed=1)
    centres[7] = centres[3]  # a tie goes to the first
    exact = ((vectors[:, None].astype(np.int64) - centres[None]) ** 2).sum(axis=2)
    choice, distance = nearest(vectors, centres)
    assert_array_equal(choice, exact.argmin(axis=1))
    assert_array_equal(distance, exact.min(axis=1))
    assert 7 not in choice


def test_products_of_bytes_are_exact_in_float32():
    """The largest that there are: whatever order they are added in, no partial sum is rounded."""
    full = np.full((2, 128), 255, np.uint8)
    assert nearest(full, full)[1].tolist() == [0, 0]
    assert 2 * 128 * 255**2 < 2**24
    assert nearest(full, np.zeros((1, 128), np.uint8))[1].tolist() == [128 * 255**2] * 2


def test_k_means_is_as_good_as_scikit_learns():
    vectors = blobs(n=4_000, k=30)
    ours = nearest(vectors, k_means(vectors, 60, np.random.default_rng(0)))[1].sum()
    theirs = KMeans(60, n_init=1, max_iter=30, random_state=0).fit(vectors.astype(float)).inertia_
    assert ours < 1.02 * theirs


def test_a_centre_moves_to_the_mean_of_its_vectors():
    vectors = blobs(n=500, k=5)
    centres = k_means(vectors, 5, np.random.default_rng(0))
    choice, _ = nearest(vectors, centres)
    means = np.array([vectors[choice == k].mean(axis=0) for k in range(5)])
    assert np.abs(means - centres).max() <= 0.5


def test_an_empty_cluster_is_filled():
    vectors = np.repeat(np.array([[0], [10], [200]], np.uint8), [50, 50, 1], axis=0)
    centres = k_means(vectors, 3, np.random.default_rng(0))
    assert sorted(centres.ravel().tolist()) == [0, 10, 200]


def test_first_centres_are_different_vectors():
    vectors = np.repeat(np.arange(4, dtype=np.uint8)[:, None], [97, 1, 1, 1], axis=0)
    for seed in range(20):
        assert len(np.unique(_first_centres(vectors, 4, np.random.default_rng(seed)))) == 4


# --- codebooks --------------------------------------------------------------------------------------------------------


def test_words_are_learnt_from_training_pictures_only(patches):
    train, test = patches[::2], patches[1::2]
    book = Codebook.learn(train, 15)
    changed = replace(test, values=255 - test.values)
    assert Codebook.learn(train, 15) == book
    assert_array_equal(book.corpus(test).words, nearest(test.values, book.centres)[0])
    assert not np.array_equal(book.corpus(changed).words, book.corpus(test).words)


def test_fewer_words_than_asked_for_where_descriptors_repeat(patches):
    flat = replace(patches, values=np.repeat(patches.values[:5], [100, 100, 100, 100, 188], axis=0))
    assert len(Codebook.learn(flat, 50)) == len(np.unique(patches.values[:5], axis=0))


def test_a_codebook_is_saved_and_loaded(patches, folder, tmp_path):
    book = Codebook.learn(patches, 10, public=True)
    file = book.save(tmp_path / "book.npz")
    again = Codebook.load(file)
    assert again == book
    assert again.public
    assert not again.centres.flags.writeable
    assert_array_equal(read_images(folder, codebook=file).words, book.corpus(patches).words)
    with pytest.raises(InputError, match="exists already"):
        book.save(file)
    book.save(file, overwrite=True)
    with pytest.raises(InputError, match=r"is a \.npz file"):
        book.save(tmp_path / "book.bin")
    with pytest.raises(InputError, match="leave max_words out"):
        read_images(folder, codebook=file, max_words=3)
    with pytest.raises(InputError, match="Leave grid out"):
        read_images(folder, codebook=file, grid=Grid(4, 16, 64))


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"format": np.array("other"), "centres": np.zeros((2, 128), np.uint8)},
        {"centres": np.full((2, 128), 300)},
        {"centres": np.full((2, 128), 0.5)},
        {"centres": np.zeros((2, 129), np.uint8)},
        {"centres": np.zeros((2, 2, 2), np.uint8)},
        {"centres": np.array([object()])},
        {"grid": np.array([8, 16])},
        {"grid": np.array([0, 16, 64])},
        {"public": np.array(1)},
        {"learnt_from": np.zeros((1, 31), np.uint8)},
        {"learnt_from": np.zeros(32, np.uint8)},
        {"learnt_from": np.zeros((1, 32))},
    ],
)
def test_damaged_codebooks_are_refused(arrays, tmp_path, patches):
    whole = {"format": np.array("discreet codebook 1"), "centres": np.zeros((2, 128), np.uint8)}
    whole |= {"grid": np.array([8, 16, 64]), "public": np.array(False), "learnt_from": np.zeros((1, 32), np.uint8)}
    np.savez(tmp_path / "whole.npz", **whole)
    assert len(Codebook.load(tmp_path / "whole.npz")) == 2
    np.savez(tmp_path / "book.npz", **({**whole, **arrays} if arrays else {"nothing": np.zeros(1)}))
    with pytest.raises(InputError) as caught:
        Codebook.load(tmp_path / "book.npz")
    assert "\n" not in str(caught.value)
    (tmp_path / "text.npz").write_text("no zip")
    with pytest.raises(InputError, match="is no codebook"):
        Codebook.load(tmp_path / "text.npz")


def test_patches_of_another_grid_are_refused(patches, folder):
    book = Codebook.learn(patches, 10)
    with pytest.raises(InputError, match="Take both with the same"):
        book.corpus(image_patches(folder, Grid(4, 16, 64)))


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_of_pictures_keeps_its_codebook(patches, tmp_path):
    train, test = patches[patches.groups % 5 < 3], patches[patches.groups % 5 >= 3]
    book = Codebook.learn(train, 20)
    model = CrossLDA(2, n_sweeps=60, n_average=2, random_state=0).fit(book.corpus(train))
    assert model.predict(book.corpus(test)).tolist() == test.collections.tolist()
    release = Release.load(model.release().save(tmp_path / "model"))
    assert release.codebook == book
    new = release.codebook.corpus(test)
    assert_array_equal(release.predict_proba(new), model.predict_proba(new))
    other = Codebook.learn(train, 20, random_state=5).corpus(test)
    for use in (model.predict, release.predict_proba):
        with pytest.raises(InputError, match="another codebook than the model's"):
            use(other)
    model.fit(Corpus.from_counts(np.eye(4, dtype=int), collections=["a", "a", "b", "b"]))
    assert model.release().codebook is None


def test_a_private_model_takes_public_codebooks_only(patches, folder):
    private = PrivateLDA(2, epsilon=1, n_rounds=2)
    with pytest.raises(WouldLeak, match="learnt from the private pictures"):
        private.fit(Codebook.learn(patches, 20).corpus(patches))
    own = read_images(folder, max_words=20)
    for corpus in (own, own.restrict(Vocabulary(own.vocabulary, "public"))):  # public names do not make it public
        with pytest.raises(WouldLeak, match="learnt from the private pictures"):
            private.fit(corpus)
    public = folder.parent / "public"
    public.mkdir()
    for i in range(4):
        cv2.imwrite(str(public / f"{i}.png"), drawn("down", 100 + i))
    corpus = read_images(folder, codebook=public, max_words=20)  # whoever names it as codebook= says that it is public
    assert corpus.vocabulary.origin == "public"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        private.fit(corpus)
    assert private.guarantee_.basis == "proven"
    assert any("public" in reason for reason in private.guarantee_.reasons)
    assert "if the word list is public" in private.guarantee_.summary()


@pytest.mark.parametrize("public", ["same", "inside", "around", "one copy", "another file format"])
def test_a_codebook_of_private_pictures_is_not_public(folder, public, tmp_path):
    """Whatever was said: it was learnt from a picture that is to be protected."""
    training, source = folder, folder
    if public == "inside":
        source = folder / "down"
    elif public == "around":
        training = folder / "down"
    elif public != "same":
        source = tmp_path / "public"
        source.mkdir()
        for i in range(4):
            cv2.imwrite(str(source / f"{i}.png"), drawn("down", 100 + i))
        name = "copy.png" if public == "one copy" else "copy.pgm"
        cv2.imwrite(str(source / name), cv2.imread(str(folder / "across" / "2.png"), cv2.IMREAD_GRAYSCALE))
    book = Codebook.learn(image_patches(source), 20, public=True)
    saved = Codebook.load(book.save(tmp_path / "book.npz"))
    for given in ({"codebook": source, "max_words": 20}, {"codebook": book}, {"codebook": saved}):
        corpus = read_images(training, **given)
        assert corpus.codebook == book
        assert not corpus.codebook.public
        for part in (corpus, corpus.restrict(Vocabulary(corpus.vocabulary, "public"))):
            with pytest.raises(WouldLeak, match="learnt from the private pictures, or from some of them"):
                PrivateLDA(2, epsilon=1, n_rounds=2).fit(part)
    others = image_patches(training)[:1]  # across/0.png, or down/0.png
    if public in ("one copy", "another file format"):
        assert saved.corpus(others).codebook.public


def test_a_codebook_of_private_pictures_keeps_no_digests(patches):
    assert Codebook.learn(patches, 5).learnt_from == frozenset()
    assert len(Codebook.learn(patches, 5, public=True).learnt_from) == 10  # two of the twelve are copies


@pytest.mark.parametrize("public", [True, False])
def test_a_claim_says_that_visual_words_are_of_the_private_pictures(patches, public):
    """The published forms promise nothing proven, so they are not refused."""
    codebook = replace(Codebook.learn(patches, 20), public=public)
    corpus = codebook.corpus(patches)
    for model in (LaplaceCrossLBLA(2, n_sweeps=1, as_published=True), LaplaceLDA(2, n_sweeps=1, as_published=True)):
        guarantee = str(model.fit(corpus).guarantee_)
        assert ("the visual words were learnt from the private pictures" in guarantee) == (not public)
        assert "private text" not in guarantee
