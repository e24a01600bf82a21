"""The command line's ways in and out: standard input, lines, arrays, ids, and rows that are too large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import scipy.sparse as sp

from discreet.cli import main
from discreet.corpus import lda_corpus


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def call(*arguments: object) -> Ran:
        code = main([str(a) for a in arguments])
        return Ran(code, *capfd.readouterr())

    return call


def test_a_huge_row_of_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Two thousand million tokens in one row: 8 GB, if they were expanded. It must not stop a private run."""
    monkeypatch.chdir(tmp_path)
    counts = lda_corpus(40, 8, 2, mean_length=20, seed=1).corpus.to_counts()
    huge = sp.csr_matrix(([1_999_999_000, 1_000], ([0, 0], [0, 1])), shape=counts.shape)
    sp.save_npz("counts.npz", sp.csr_matrix(counts + huge))
    ran = run("fit", "counts.npz", "-k", 2, "--epsilon", 2, "-q", "-o", "private")
    assert ran.code == 0, ran.err
    ran = run("fit", "counts.npz", "-k", 2, "-q", "-o", "plain")
    assert ran.code == 2
    assert "counts.npz: row 0 holds 2,000,000,0" in ran.err
    assert not Path("plain").exists()
