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
    "models/private.py",
    "models/private_rounds.py",
    "models/payment.py",
    "models/private_input.py",
    "engines/rounds.py",
    "engines/sums.py",
    "kernels/contributions.py",
    "kernels/residuals.py",
    "mechanisms/release.py",
)
SPECTRAL = (
    "models/spectral.py",
    "models/spectral_private.py",
    "models/spectral_replaced.py",
    "models/spectral_unbiased.py",
    "models/private_input.py",
    "engines/moments.py",
    "kernels/moments.py",
    "kernels/triples.py",
    "mechanisms/release.py",
)
VARIATIONAL = (
    "models/variational.py",
    "models/variational_rounds.py",
    "engines/variational.py",
    "kernels/variational.py",
)
PROOFS = {
    "models/private": Proof(PRIVATE, named=("models/unit_fit.py", "models/checkpoint.py"), least=12),
    "models/spectral": Proof(SPECTRAL, least=12),
    "models/variational": Proof(VARIATIONAL),
    "models/subsampled": Proof(("models/subsampled.py", "models/subsampled_rounds.py", "engines/kept.py")),
    "models/hybrid": Proof(
        ("models/hybrid.py", "models/hybrid_plan.py", "kernels/sweep64.py"),
        ("models/private_input.py", "mechanisms/release.py"),
        ("engines/threads.py",),
        least=20,
    ),
    "mechanisms/vocabulary": Proof(
        ("mechanisms/vocabulary.py", "kernels/vocabulary.py", "models/vectorizer.py"), least=11
    ),
}


def text(name: str) -> str:
    return (HOME / name).read_text("utf-8")


def tags(names: tuple[str, ...]) -> Counter[str]:
    return Counter(tag for name in names for tag in re.findall(r"# \[([a-z-]+)\]", text(name)))


@pytest.mark.parametrize("name", PROOFS)
def test_each_tag_of_a_proof_is_one_line_of_the_code(name):
    proof = PROOFS[name]
    claimed = set(re.findall(r"`\[([a-z-]+)\]`", text(f"{name}.proof.md"))) - {"tag"}  # the word itself
    own = tags(proof.own)
    there = own + tags(proof.shared)
    assert len(claimed) >= proof.least
    assert set(own) <= claimed
    assert {tag: there[tag] for tag in claimed} == dict.fromkeys(claimed, 1)


@pytest.mark.parametrize("name", PROOFS)
def test_the_files_that_are_proved_are_named(name):
    proof = PROOFS[name]
    for path in (*proof.own, *proof.named):
        assert Path(path).name in text(f"{name}.proof.md")


def test_every_proof_is_looked_at():
    found = {path.relative_to(HOME).as_posix().removesuffix(".proof.md") for path in HOME.rglob("*.proof.md")}
    assert found == {*PROOFS, "privacy/accounting"}


def test_every_tag_is_proved():
    """A tag in a file that no proof is about would promise what nobody has shown."""
    proved = {path for proof in PROOFS.values() for path in proof.own}
    tagged = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py") if tags((str(path),))}
    assert tagged - proved == {"privacy/costs.py"}
