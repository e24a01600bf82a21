"""Runs the notebooks of ``docs/notebooks``, each in a fresh process and within a time limit.

``python docs/run_notebooks.py`` stores what they print, on real data if ``DISCREET_DATA`` names its folder. ``--check``
stores nothing, and ``--without-data`` hides the data: a notebook must run on every machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

HERE = Path(__file__).parent / "notebooks"
SECONDS = 300
"""Limit of one cell. A notebook takes about half a minute on two cores."""


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with what it printed now, and nothing that says where or when."""
    notebook = nbformat.read(path, as_version=4)
    quiet = ["--log-level=ERROR"]  # it would warn that the kernel is reached by a local socket
    place = {"metadata": {"path": str(HERE)}}
    NotebookClient(notebook, kernel_name="python3", timeout=SECONDS, resources=place, extra_arguments=quiet).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--without-data", action="store_true")
    given = options.parse_args()
    if given.without_data:
        os.environ.pop("DISCREET_DATA", None)
        if not given.check:
            options.error("without data nothing is stored: add --check")
    for path in sorted(HERE.glob("*.ipynb")):
        start = time.monotonic()
        try:
            notebook = run(path)
        except (CellExecutionError, CellTimeoutError) as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            return 1
        if not given.check:
            nbformat.write(notebook, path)
        print(f"{path.name}: {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
