"""How long does one wait before anything happens?

``discreet --help``, and a small fit: 200 documents in a JSONL file, 10 topics, 50 sweeps, on the command line and in
Python, each in a new process, imports included. The first process of each kind is not timed: it fills numba's cache on
disk. The fastest of five counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import best, verdict
from discreet.corpus import lda_corpus

IN_PYTHON = """
import sys, discreet
discreet.LDA(10, n_sweeps=50).fit(discreet.read(sys.argv[1], text="text"))
"""


def write_documents(path: Path) -> None:
    corpus = lda_corpus(200, 500, 10).corpus
    spelled = ["".join(chr(97 + int(digit)) for digit in f"{w:04d}") for w in range(corpus.n_words)]
    with path.open("w") as file:
        for d in range(len(corpus)):
            tokens = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
            file.write(json.dumps({"text": " ".join(spelled[w] for w in tokens)}) + "\n")


def waited(repeats: int, *command: str) -> float:
    """Seconds in a second process."""

    def run() -> None:
        subprocess.run(command, check=True, capture_output=True)

    run()
    return best(run, repeats)


def main(quick: bool = False) -> bool:
    repeats = 2 if quick else 5
    discreet = [sys.executable, "-m", "discreet"]
    with tempfile.TemporaryDirectory() as folder:
        documents, model = Path(folder) / "documents.jsonl", Path(folder) / "model"
        write_documents(documents)
        fit = ["fit", str(documents), "-k", "10", "--sweeps", "50", "-o", str(model), "--overwrite"]
        found = [
            verdict("discreet --help", waited(repeats, *discreet, "--help"), 0.5, at_least=False, unit=" s"),
            verdict("a small discreet fit", waited(repeats, *discreet, *fit), 2, at_least=False, unit=" s"),
            verdict(
                "the same in Python",
                waited(repeats, sys.executable, "-c", IN_PYTHON, str(documents)),
                2,
                at_least=False,
                unit=" s",
            ),
        ]
    return all(found)


if __name__ == "__main__":
    main()
