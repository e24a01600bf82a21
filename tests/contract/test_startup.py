"""What a command loads: nothing that it can do without, and nothing that is not what it seems."""

from __future__ import annotations

import subprocess
import sys

FIT = """
import sys
from discreet.cli import main
main(["fit", sys.argv[2], "-k", "2", "--sweeps", "1", "-q", "-o", sys.argv[1]])
"""


def run(tmp_path, body: str) -> str:
    (tmp_path / "texts.jsonl").write_text('{"text": "rain and wind"}\n{"text": "wind and storm"}\n')
    done = subprocess.run(
        [sys.executable, "-c", FIT + body, str(tmp_path / "model"), str(tmp_path / "texts.jsonl")],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_fit_does_not_wait_for_scipy_stats(tmp_path):
    assert run(tmp_path, "print('scipy.stats' in sys.modules)") == "False"


def test_whoever_asks_gets_the_real_scipy_stats(tmp_path):
    body = """
import numpy as np
from sklearn.utils.fixes import _mode
print(_mode(np.array([1, 2, 2]))[0], __import__("scipy.stats").stats.norm.cdf(0.0))
"""
    assert run(tmp_path, body) == "[2] 0.5"


def test_the_library_leaves_imports_alone():
    body = "import sys, discreet; discreet.LDA; print(sys.modules['scipy.stats'].norm.name)"
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "norm"


def test_an_ordinary_fit_does_not_wait_for_what_private_ones_need(tmp_path):
    unneeded = ("discreet.models.vectorizer", "discreet.mechanisms.noise", "discreet.evaluation.coherence")
    assert run(tmp_path, f"print([name for name in {unneeded} if name in sys.modules])") == "[]"
