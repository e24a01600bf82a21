"""The proof beside the code names lines of the code, and the code no others."""

from __future__ import annotations

import re
from pathlib import Path

import discreet

HOME = Path(discreet.__file__).parent
PROOF = HOME / "models/private.proof.md"
PROVED = [
    HOME / name
    for name in (
        "models/private.py",
        "models/private_rounds.py",
        "models/checkpoint.py",
        "models/private_input.py",
        "engines/rounds.py",
        "engines/sums.py",
        "kernels/contributions.py",
        "kernels/residuals.py",
        "mechanisms/release.py",
    )
]


def test_each_tag_of_the_proof_is_one_line_of_the_code() -> None:
    claimed = re.findall(r"`\[([a-z-]+)\]`", PROOF.read_text("utf-8"))
    claimed.remove("tag")  # the word itself
    there = [tag for path in PROVED for tag in re.findall(r"# \[([a-z-]+)\]", path.read_text("utf-8"))]
    assert len(claimed) == len(set(claimed)) >= 12
    assert sorted(there) == sorted(claimed)


def test_the_files_that_are_proved_are_named() -> None:
    text = PROOF.read_text("utf-8")
    for path in PROVED:
        assert path.name in text
