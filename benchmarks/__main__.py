"""``python -m benchmarks [--quick] [--strict] [names…]``: every measurement in order, and how many promises hold."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import time
from importlib.metadata import version

from benchmarks.common import SKIPPED, VERDICTS, machine, skip
from discreet import DataNotFound

NAMES = (
    "startup",
    "random_stream",
    "noise",
    "private_cost",
    "cross_cost",
    "spectral",
    "scaling",
    "memory",
    "vocabulary",
    "word_list",
    "english",
    "threads",
    "throughput",
    "sweep_kernels",
    "dense_or_sparse",
    "roofline",
    "algorithms",
    "time_to_perplexity",
    "usefulness",
    "explore",
    "collector",
    "collector_day",
    "spark",
)
SLOW = ("algorithms", "collector", "collector_day", "explore", "spark", "time_to_perplexity", "usefulness")
"""Left out by ``--quick`` unless named."""
PACKAGES = "discreet", "numpy", "numba", "tomotopy", "gensim", "scikit-learn"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what is promised.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help=f"smaller, rougher, without {', '.join(SLOW)}")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a promise is missed or not measured")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no measurement {unknown[0]!r}; there are {', '.join(NAMES)}")
    names = options.names or [name for name in NAMES if not (options.quick and name in SLOW)]
    print(f"{machine()}; Python {platform.python_version()}, " + ", ".join(f"{p} {version(p)}" for p in PACKAGES))
    print(time.strftime("%Y-%m-%d"))
    for name in names:
        measurement = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{name}: {measurement.__doc__.splitlines()[0]}", flush=True)
        started = time.perf_counter()
        try:
            measurement.main(quick=options.quick)
        except (DataNotFound, ModuleNotFoundError) as error:
            skip(name, error)
        print(f"  ({time.perf_counter() - started:.0f} s)")
    skipped = f"; not measured: {', '.join(SKIPPED)}" if SKIPPED else ""
    print(f"\n{sum(VERDICTS)} of {len(VERDICTS)} hold{skipped}")
    return int(options.strict and (not all(VERDICTS) or bool(SKIPPED)))


if __name__ == "__main__":
    sys.exit(main())
