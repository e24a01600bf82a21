"""The proof beside the code names lines of the code, and the code no others."""

from __future__ import annotations

import re
from pathlib import Path

import discreet

HOME = Path(discreet.__file__).parent
PROOF = HOME / "models/hybrid.proof.md"
OWN = [HOME / name for name in ("models/hybrid.py", "models/hybrid_plan.py", "kernels/sweep64.py")]
SHARED = [HOME / name for name in ("models/private_input.py", "mechanisms/release.py")]


def tags(path: Path) -> list[str]:
    return re.findall(r"# \[([a-z-]+)\]", path.read_text("utf-8"))


def test_each_tag_of_the_proof_is_one_line_of_the_code() -> None:
    claimed = re.findall(r"`\[([a-z-]+)\]`", PROOF.read_text("utf-8"))
    claimed.remove("tag")  # the word itself
    own = [tag for path in OWN for tag in tags(path)]
    shared = [tag for path in SHARED for tag in tags(path)]
    assert len(claimed) == len(set(claimed)) >= 20
    assert set(own) <= set(claimed)
    assert all((own + shared).count(tag) == 1 for tag in claimed)


def test_the_files_that_are_proved_are_named() -> None:
    text = PROOF.read_text("utf-8")
    for path in [*OWN, *SHARED, HOME / "engines/threads.py"]:
        assert path.name in text
