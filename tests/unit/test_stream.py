"""The random stream: ChaCha20 to the letter, and a draw that depends on its own place only."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2, ncx2

from discreet._errors import InputError
from discreet._random import Key, Purpose
from discreet.kernels.lanes import LANES
from discreet.kernels.stream import BLOCK, GROUP, fill_document, fill_group
from discreet.kernels.sweeps.slots import BITS_SIZE, SLOTS_SIZE, WINDOW
from discreet.kernels.sweeps.starts import first_topics

# --- an independent oracle ------------------------------------------------------------------------------------------


def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    """RFC 8439, section 2.3, with Python's integers."""
    state = [
        *struct.unpack("<4I", b"expand 32-byte k"),
        *struct.unpack("<8I", key),
        counter,
        *struct.unpack("<3I", nonce),
    ]
    x = list(state)

    def add_then_rotate(a: int, b: int, c: int, n: int) -> None:
        x[a] = (x[a] + x[b]) % 2**32
        mixed = x[c] ^ x[a]
        x[c] = (mixed << n | mixed >> (32 - n)) % 2**32

    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            add_then_rotate(a, b, d, 16)
            add_then_rotate(c, d, b, 12)
            add_then_rotate(a, b, d, 8)
            add_then_rotate(c, d, b, 7)
    return struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(x, state, strict=True)))


def oracle(key: Key, purpose: int, sweep: int, document: int, n: int) -> np.ndarray:
    """The first ``n`` draws of a document."""
    nonce = struct.pack("<3I", purpose, sweep, document)
    blocks = (chacha20_block(key.words.astype("<u4").tobytes(), i, nonce) for i in range(-(-n // BLOCK)))
    return np.frombuffer(b"".join(blocks), "<u4")[:n]


NOUGHT = bytes(12)
RFC_8439 = {
    "2.3.2": (
        bytes(range(32)),
        1,
        bytes.fromhex("000000090000004a00000000"),
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    "A.1 #1": (
        bytes(32),
        0,
        NOUGHT,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "A.1 #2": (
        bytes(32),
        1,
        NOUGHT,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "A.1 #3": (
        bytes(31) + b"\x01",
        1,
        NOUGHT,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    "A.1 #4": (
        b"\x00\xff" + bytes(30),
        2,
        NOUGHT,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "A.1 #5": (
        bytes(32),
        0,
        bytes(11) + b"\x02",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
}


@pytest.mark.parametrize("fill", [fill_group, fill_group.py_func], ids=["compiled", "python"])
@pytest.mark.parametrize(("key", "counter", "nonce", "published"), RFC_8439.values(), ids=list(RFC_8439))
def test_published_vectors(fill, key, counter, nonce, published):
    """The oracle and the kernel give the RFC's bytes; the kernel in every lane, beside other blocks."""
    assert chacha20_block(key, counter, nonce).hex() == published
    purpose, sweep, document = (np.uint32(n) for n in struct.unpack("<3I", nonce))
    words = np.frombuffer(key, "<u4").astype(np.uint32)
    for lane in (0, 7, 15):
        places = np.arange(2 * LANES, dtype=np.uint32)
        places[[lane, LANES + lane]] = document, counter
        out = np.zeros(GROUP + 3, np.uint32)
        fill(words, purpose, sweep, places, 0, out, 3)
        at = 3 + lane * BLOCK
        assert out[at : at + BLOCK].astype("<u4").tobytes().hex() == published


# --- compiled and Python --------------------------------------------------------------------------------------------


def test_compiled_group_equals_its_python_body():
    rng = np.random.default_rng(3)
    for _ in range(5):
        key, places = (rng.integers(0, 2**32, n, dtype=np.uint32) for n in (8, 2 * LANES + 1))
        purpose, sweep = np.uint32(rng.integers(2**32)), np.uint32(rng.integers(2**32))
        compiled, python = np.zeros(GROUP + 5, np.uint32), np.zeros(GROUP + 5, np.uint32)
        fill_group(key, purpose, sweep, places, 1, compiled, 5)
        fill_group.py_func(key, purpose, sweep, places, 1, python, 5)
        assert_array_equal(compiled, python)
        assert compiled[5:].any()
        assert not compiled[:5].any()


def test_compiled_document_equals_its_python_body_and_the_oracle():
    key = Key.from_seed(1)
    compiled, python = np.zeros(2 * GROUP, np.uint32), np.zeros(2 * GROUP, np.uint32)
    where = (key.words, np.uint32(3), np.uint32(8), np.uint32(5))
    fill_document(*where, 2, np.zeros(32, np.uint32), 0, compiled, 0, 2 * GROUP)
    fill_document.py_func(*where, 2, np.zeros(32, np.uint32), 0, python, 0, 2 * GROUP)
    assert_array_equal(compiled, python)
    assert_array_equal(compiled, oracle(key, 3, 8, 5, 2 * GROUP + 2 * BLOCK)[2 * BLOCK :])


def test_large_coordinates_are_not_cut_short():
    key = Key.from_seed(2)
    assert_array_equal(key.bits(Purpose.NOISE, 2**32 - 1, 2**32 - 2, 40), oracle(key, 17, 2**32 - 1, 2**32 - 2, 40))


# --- a draw and its place -------------------------------------------------------------------------------------------


def test_a_draw_depends_on_its_own_coordinates_only():
    """Asked for alone, first, or in company, a draw is the same; with one coordinate changed all draws are others.

    Two unrelated lists of 300 draws agree somewhere with probability below 300 · 2^-32 = 7e-8 each.
    """
    key = Key.from_seed(4)
    draws = key.bits(Purpose.SWEEP, 5, 6, 300)
    for n in (0, 1, 16, 17, 256, 257):
        assert_array_equal(key.bits(Purpose.SWEEP, 5, 6, n), draws[:n])
    for first in (0, 1, 15, 16, 33, 255, 256, 299):
        assert_array_equal(key.bits(Purpose.SWEEP, 5, 6, 300 - first, first), draws[first:])
    others = [
        Key.from_seed(5).bits(Purpose.SWEEP, 5, 6, 300),
        key.bits(Purpose.FIRST_TOPICS, 5, 6, 300),
        key.bits(Purpose.SWEEP, 6, 6, 300),
        key.bits(Purpose.SWEEP, 5, 7, 300),
        np.roll(draws, 1),
    ]
    assert all((draws != other).all() for other in others)


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_documents_in_slots_read_their_own_stream(python):
    """Whatever the neighbours, their lengths and the share of a thread: token i of document d reads draw i of d.

    With 65,535 topics a first topic shows the high sixteen bits of its draw.
    """
    lengths = [0, 1, 16, 17, 0, WINDOW + 80, 5, WINDOW, 2 * WINDOW + 3, 0, *range(30), 0]
    if python:
        lengths = [*lengths[:7], 0, *lengths[20:26]]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    key, n_topics = Key.from_seed(6), 65_535
    expected = np.concatenate([key.bits(Purpose.FIRST_TOPICS, 9, d, n) for d, n in enumerate(lengths)])
    expected = (expected.astype(np.uint64) * n_topics >> 32).astype(np.uint16)
    draw, numbers = first_topics.py_func if python else first_topics, np.arange(len(lengths), dtype=np.uint32)
    for cut in (0, 1, 6, len(lengths)):
        topics = np.zeros(offsets[-1], np.uint16)
        bits, slots = np.zeros(BITS_SIZE, np.uint32), np.zeros(SLOTS_SIZE, np.uint64)
        for first, last in ((cut, len(lengths)), (0, cut)):
            draw(offsets, numbers, topics, first, last, n_topics, key.words, np.uint32(2), np.uint32(9), bits, slots)
        assert_array_equal(topics, expected)


def pearson(seen: np.ndarray) -> float:
    expected = seen.sum() / seen.size
    return float(((seen - expected) ** 2).sum() / expected)


def test_bytes_are_uniform():
    """Chi-square over 2^20 bytes: a uniform stream fails with probability 1e-6.

    One whose bytes are odd with probability 0.51 is caught with probability above 0.9999 (computed below).
    """
    key, n = Key.from_seed(7), 2**18
    seen = np.bincount(key.bits(Purpose.SWEEP, 1, 1, n).view(np.uint8), minlength=256)
    limit = chi2.isf(1e-6, df=255)
    assert pearson(seen) < limit
    assert ncx2.sf(limit, 255, 4 * n * (2 * 0.01) ** 2) > 0.9999


@pytest.mark.parametrize("step", [(1, 0, 0), (0, 1, 0), (0, 0, 1)], ids=["purpose", "sweep", "document"])
def test_neighbouring_streams_are_independent(step):
    """High four bits of a draw against those of the same position one place on, 2^14 pairs, 256 cells.

    Independent streams fail with probability 1e-6; streams that agree in one draw of ten, and are independent
    otherwise, are caught with probability above 0.9999 (computed below).
    """
    key, n = Key.from_seed(8), 2**14
    one, other = (key.bits(3 + i * step[0], 4 + i * step[1], 5 + i * step[2], n) >> 28 for i in (0, 1))
    seen = np.bincount(16 * one + other, minlength=256)
    limit = chi2.isf(1e-6, df=255)
    assert pearson(seen) < limit
    agreeing = 0.9 / 256 + 0.1 * np.eye(16).ravel() / 16
    assert ncx2.sf(limit, 255, n * ((agreeing - 1 / 256) ** 2 * 256).sum()) > 0.9999


# --- purposes and keys ----------------------------------------------------------------------------------------------


def test_purposes_keep_their_numbers():
    """A number that changed hands would change every seeded result; two purposes with one number would share draws."""
    numbers = [purpose.value for purpose in Purpose.__members__.values()]
    assert len(set(numbers)) == len(numbers)
    known = {
        "TOKEN_ORDER": 1,
        "FIRST_TOPICS": 2,
        "SWEEP": 3,
        "COMPLETION_SPLIT": 5,
        "ROUND_START": 6,
        "RECONSTRUCTION": 8,
        "CORRELATION": 9,
        "INCLUSION": 16,
        "NOISE": 17,
        "FLIPS": 19,
        "FLIPS_FURTHER": 20,
        "KEPT_WORDS": 21,
    }
    assert {name: Purpose[name].value for name in known} == known


def test_fresh_keys_differ_and_are_not_seeded():
    keys = [Key.fresh() for _ in range(100)]
    assert len({key.words.tobytes() for key in keys}) == 100
    assert not any(key.seeded for key in keys)
    assert all(key.words.shape == (8,) and key.words.dtype == np.uint32 for key in keys)


def test_a_seed_gives_the_same_key_everywhere():
    digest = hashlib.sha256(b"discreet seed 42").digest()
    key = Key.from_seed(42)
    assert key.words.astype("<u4").tobytes() == digest
    assert key.seeded
    assert len({Key.from_seed(seed).words.tobytes() for seed in range(-50, 50)}) == 100


def test_open_takes_what_scikit_learn_calls_a_random_state():
    assert not Key.open().seeded
    assert Key.open().words.tobytes() != Key.open(None).words.tobytes()
    for same in (3, np.int64(3), np.uint8(3)):
        assert_array_equal(Key.open(same).words, Key.from_seed(3).words)
    for make in (np.random.RandomState, np.random.default_rng):
        one, again, other = Key.open(make(1)), Key.open(make(1)), Key.open(make(2))
        assert one.seeded
        assert_array_equal(one.words, again.words)
        assert (one.words != other.words).any()
        generator = make(1)
        assert (Key.open(generator).words != Key.open(generator).words).any()  # each opening takes a new number


@pytest.mark.parametrize("wrong", ["seed", 1.5, [1], b"0" * 32])
def test_open_refuses_anything_else(wrong):
    with pytest.raises(InputError, match="random_state must be None, an integer or a numpy generator") as caught:
        Key.open(wrong)
    assert "\n" not in str(caught.value)


def test_a_generator_is_seeded_by_bits_of_its_purpose_and_not_by_the_key():
    key = Key.from_seed(4)
    first, again, later, other = (
        key.generator(purpose, sweep).integers(2**63, size=4)
        for purpose, sweep in [(Purpose.NOISE, 1), (Purpose.NOISE, 1), (Purpose.NOISE, 2), (Purpose.SWEEP, 1)]
    )
    assert_array_equal(first, again)
    assert (first != later).any()
    assert (first != other).any()
    by_key = np.random.Generator(np.random.PCG64(key.words.tolist())).integers(2**63, size=4)
    by_bits = np.random.Generator(np.random.PCG64(key.bits(Purpose.NOISE, 1, 0, 8).tolist())).integers(2**63, size=4)
    assert (first != by_key).any()
    assert_array_equal(first, by_bits)


def test_a_key_is_not_printed():
    key = Key.from_seed(1)
    assert str(key.words[0]) not in repr(key)
