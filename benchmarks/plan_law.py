"""Fit the law of `discreet.planning.law` to `measured.csv`, and say how well it predicts sets that it has not seen.

    python -m benchmarks.plan_law

prints the constants, the free fit of the powers, and the errors with each data set left out of the fit in turn. A cell
without gain (kept = 0) counts as right wherever the forecast is 0 too.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import least_squares

from discreet.planning import law
from discreet.planning.measured import Measurement, table

START = np.array([law.TOP, law.FLOOR, law.SLOPE, law.MIDDLE])


def features(rows: list[Measurement]) -> np.ndarray:
    """log x, and the logarithms of its parts for a free fit of their powers."""
    parts = [(law.strength(r.facts), r.facts.tokens / 64, r.n_words / 2000, r.n_topics / 20) for r in rows]
    return np.array([[x, *map(math.log, rest)] for x, *rest in parts])


def model(constants: np.ndarray, x: np.ndarray) -> np.ndarray:
    top, floor, slope, middle, *free = constants
    moved = x[:, 0] + (x[:, 1:] @ np.array(free) if free else 0.0)
    return (top + floor) / (1 + np.exp(-np.clip(slope * (moved - middle), -50, 50))) - floor


def fit(rows: list[Measurement], *, free: bool = False) -> np.ndarray:
    """Least squares with large errors counted less. Where nothing was kept, a forecast below 0 is no error."""
    x, kept = features(rows), np.array([r.kept for r in rows])

    def errors(constants: np.ndarray) -> np.ndarray:
        said = model(constants, x)
        wrong = np.maximum(said, 0) - kept + 0.03 * np.minimum(said, 0) * (kept <= 0)
        return np.concatenate([wrong, [0.1 * (constants[1] - 0.3), 0.5 * min(0.985 - constants[0], 0.0)]])

    start = np.concatenate([START, np.zeros(3)]) if free else START
    return np.asarray(least_squares(errors, start, loss="soft_l1", f_scale=0.1).x)


def main() -> None:
    rows = [row for row in table() if row.judges]
    found = fit(rows)
    print(f"{len(rows)} cells; top, floor, slope, middle = {np.round(found, 3)}; in the package {START}")
    powers = np.add(fit(rows, free=True)[4:], (law.TOKEN_POWER, law.WORD_POWER, law.TOPIC_POWER))
    print(f"powers of tokens, words, topics in a free fit: {np.round(powers, 2)}")
    left_out: list[tuple[Measurement, float, float]] = []
    for name in sorted({row.data for row in rows}):
        others = fit([row for row in rows if row.data != name])
        here = [row for row in rows if row.data == name]
        x = features(here)[:, 0]
        said = np.maximum(model(others, features(here)), 0)
        # the spread of x that this cell would need
        moves = [float(needed(others, row.kept, one)) for row, one in zip(here, x, strict=True)]
        left_out += [(row, float(one), move) for row, one, move in zip(here, said, moves, strict=True)]
        wrong = np.abs(said - [row.kept for row in here])
        print(f"  {name:15s} {len(here):3d} cells, mean error {wrong.mean():.2f}, largest {wrong.max():.2f}")
    error = np.array([row.kept - said for row, said, _ in left_out])
    moves = np.array([move for *_, move in left_out])
    print(f"left out: rms {np.sqrt((error**2).mean()):.3f}, within 0.15 {np.mean(np.abs(error) <= 0.15):.0%}")
    print(f"spread of log x that holds 80%, 90%, 95%: {np.round(np.quantile(moves, [0.8, 0.9, 0.95]), 2)}")
    gains()


def needed(constants: np.ndarray, kept: float, x: float) -> float:
    """By how much log x would have to move for the law to be within LEAST_SPREAD of what was kept."""
    for move in np.arange(0, 3, 0.01):
        low, high = np.maximum(model(constants, np.array([[x - move], [x + move]])), 0)
        if low - law.LEAST_SPREAD <= kept <= high + law.LEAST_SPREAD:
            return float(move)
    return 3.0


def gains() -> None:
    """What plain LDA gains: the constants, and the spread between data sets."""
    rows = list({(r.data, r.unit, r.n_units, r.n_words, r.n_topics): r for r in table() if r.judges}.values())
    tokens = np.array([r.n_units * r.facts.tokens / (r.n_words * r.n_topics) for r in rows])
    columns = (np.log([r.n_words / 2000 for r in rows]), 1 / (1 + law.GAIN_TOKENS * tokens))
    design = np.column_stack([np.ones(len(rows)), *columns])
    gain = np.log([r.gain * (r.n_topics + law.GAIN_TOPICS) / r.n_topics for r in rows])
    found = np.linalg.lstsq(design, gain, rcond=None)[0]
    print(f"gain: {math.exp(found[0]):.3f} · K/(K + {law.GAIN_TOPICS:g}) · V^{found[1]:.2f}, lost {-found[2]:.2f}")
    away = []
    for name in {r.data for r in rows}:
        out = np.array([r.data == name for r in rows])
        others = np.linalg.lstsq(design[~out], gain[~out], rcond=None)[0]
        away += list(gain[out] - design[out] @ others)
    print(f"  left out: quantiles of the log error {np.round(np.quantile(away, [0.05, 0.1, 0.5, 0.9, 0.95]), 2)}")


if __name__ == "__main__":
    main()
