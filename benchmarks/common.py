"""What the measurements share: the data, the clock and the table."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from discreet.corpus import Corpus, load


def uci_split(name: str) -> tuple[Corpus, Corpus]:
    """KOS or NIPS as in the papers: 1,000 most frequent words, the first 3,000 or 1,350 documents for training."""
    corpus = load(name).most_frequent(1000)
    n_train = {"kos": 3000, "nips": 1350}[name]
    return corpus[:n_train], corpus[n_train:]


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The fastest of several: on a shared machine the others measure the neighbours."""
    return min(seconds(work) for _ in range(repeats))


def median(values: Iterable[float]) -> float:
    return float(statistics.median(values))


def machine() -> str:
    """The kind of processor and its cores."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def verdict(name: str, found: float, wanted: float, *, at_least: bool, unit: str = "") -> bool:
    """Print one line: what was found, what is wanted, and whether it holds."""
    holds = found >= wanted if at_least else found <= wanted
    sign = "≥" if at_least else "≤"
    word = "holds " if holds else "MISSED"
    print(f"  {word}  {name}: {found:.3g}{unit} (wanted {sign} {wanted:g}{unit})", flush=True)
    return holds
