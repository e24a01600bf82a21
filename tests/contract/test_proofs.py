"""Each proof beside the code names lines of the code by tags, and what it proves has no tag that it leaves out.

Whoever moves a tagged line reads the proof again. (``accounting.proof.md`` is bound to its code by a hash instead:
``tests/unit/test_accounting.py``.)
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import discreet

HOME = Path(discreet.__file__).parent


class Proof(NamedTuple):
    own: tuple[str, ...]
    """Files all of whose tags belong to this proof."""
    shared: tuple[str, ...] = ()
    """Files whose other tags belong to other proofs."""
    named: tuple[str, ...] = ()
    """Files that are proved, too, and have no tags."""
    least: int = 7


PRIVATE = (
    "models/private/model.py",
    "models/private/rounds.py",
    "training/payment.py",
    "training/inputs.py",
    "engines/threads/units.py",
    "engines/threads/sums.py",
    "kernels/sums/contributions.py",
    "kernels/sums/residuals.py",
    "mechanisms/release.py",
)
SPECTRAL = (
    "models/spectral/model.py",
    "models/spectral/private.py",
    "models/spectral/published/replaced.py",
    "models/spectral/unbiased.py",
    "training/inputs.py",
    "engines/threads/moments.py",
    "kernels/sums/moments.py",
    "kernels/sums/triples.py",
    "mechanisms/release.py",
)
VARIATIONAL = (
    "models/variational/model.py",
    "models/variational/rounds.py",
    "engines/threads/variational.py",
    "kernels/sums/variational.py",
)
PROOFS = {
    "models/private/proof.md": Proof(PRIVATE, named=("training/private_fit.py", "training/checkpoint.py"), least=12),
    "models/adapted/proof.md": Proof(
        (
            "models/adapted/model.py",
            "models/adapted/adapting.py",
            "models/adapted/senses.py",
            "engines/threads/proportions.py",
            "kernels/sums/clipped.py",
        ),
        (
            "training/inputs.py",
            "engines/threads/units.py",
            "engines/threads/variational.py",
            "engines/threads/sums.py",
            "kernels/sums/residuals.py",
            "mechanisms/release.py",
        ),
        least=12,
    ),
    "trends/proof.md": Proof(
        ("trends/model.py", "trends/slices.py", "engines/threads/slices.py"),
        ("kernels/sums/clipped.py", "training/inputs.py", "mechanisms/release.py"),
        least=12,
    ),
    "models/spectral/proof.md": Proof(SPECTRAL, least=12),
    "models/variational/proof.md": Proof(VARIATIONAL),
    "models/subsampled/proof.md": Proof(
        ("models/subsampled/model.py", "models/subsampled/rounds.py", "engines/threads/kept.py")
    ),
    "models/hybrid/proof.md": Proof(
        ("models/hybrid/model.py", "models/hybrid/plan.py", "kernels/sweeps/exact.py"),
        ("training/inputs.py", "mechanisms/release.py"),
        ("engines/threads/sweeps.py", "training/private_fit.py", "training/payment.py"),
        least=20,
    ),
    "models/cross/hybrid.proof.md": Proof(
        ("models/cross/hybrid.py",),
        (
            "models/hybrid/model.py",
            "models/hybrid/plan.py",
            "kernels/sweeps/exact.py",
            "training/inputs.py",
            "mechanisms/release.py",
        ),
        least=20,
    ),
    "models/cross/private.proof.md": Proof(
        ("models/cross/private.py", "models/cross/rounds.py", "models/cross/units.py"), PRIVATE, least=12
    ),
    "engines/spark/proof.md": Proof(
        tuple(f"engines/spark/{name}.py" for name in ("units", "jobs", "shards", "ingest")), least=8
    ),
    "mechanisms/local.proof.md": Proof(("mechanisms/local.py",), named=("kernels/noise/flips.py",), least=9),
    "mechanisms/vocabulary.proof.md": Proof(
        ("mechanisms/vocabulary.py", "kernels/sums/word_weights.py", "models/vectorizer.py"), least=11
    ),
}


def text(name: str) -> str:
    return (HOME / name).read_text("utf-8")


def tags(names: tuple[str, ...]) -> Counter[str]:
    return Counter(tag for name in names for tag in re.findall(r"# \[([a-z-]+)\]", text(name)))


@pytest.mark.parametrize("name", PROOFS)
def test_each_tag_of_a_proof_is_one_line_of_the_code(name):
    proof = PROOFS[name]
    claimed = set(re.findall(r"`\[([a-z-]+)\]`", text(name))) - {"tag"}  # the word itself
    own = tags(proof.own)
    there = own + tags(proof.shared)
    assert len(claimed) >= proof.least
    assert set(own) <= claimed
    assert {tag: there[tag] for tag in claimed} == dict.fromkeys(claimed, 1)


@pytest.mark.parametrize("name", PROOFS)
def test_the_files_that_are_proved_are_named(name):
    proof = PROOFS[name]
    for path in (*proof.own, *proof.named):
        assert f"`{path}`" in text(name)


def test_every_proof_is_looked_at():
    found = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*proof.md")}
    assert found == {*PROOFS, "privacy/accounting.proof.md"}


def test_every_tag_is_proved():
    """A tag in a file that no proof is about would promise what nobody has shown."""
    proved = {path for proof in PROOFS.values() for path in proof.own}
    tagged = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py") if tags((str(path),))}
    assert tagged - proved == {"privacy/costs.py"}
