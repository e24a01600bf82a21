"""Fit the law of `discreet.planning.law` to `measured.csv`, and say how well it predicts sets that it has not seen.

    python -m benchmarks.plan_law

prints the constants, the free fit of the powers, and the errors with each data set left out of the fit in turn. A cell
without gain (kept = 0) counts as right wherever the forecast is 0 too.

    python -m benchmarks.plan_law --results docs/results

writes the page ``plan.md`` there, with how often the plan was right and every cell, and the figures of
``docs/enough.md``.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from discreet._svg import COLOURS, Axis, figure, marker, stroke, text
from discreet.planning import law
from discreet.planning.measured import Measurement, table
from discreet.planning.picture import Point, draw
from discreet.planning.plan import Outcome, known, outcome

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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan_law")
    parser.add_argument("--results", type=Path, default=None, help="write the page and the figures here instead")
    options = parser.parse_args()
    if options.results is not None:
        write(options.results)
        return
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
    print(*right(), sep="\n")


# --- how often the plan was right -------------------------------------------------------------------------------------

LENGTHS = {
    "arxiv": 154,
    "neurips-cvpr": 157,
    "novels": 1000,
    "enron": 291,
    "arxiv-titles": 9,
    "arxiv-first-15": 30,
    "20newsgroups": 171,
    "kos": 273,
    "nips": 2577,
    "docstrings": 128,
}
"""Words of a document as a word processor counts them: all that a plan is told of a text. Of the sets in the last line,
which are not running text, twice the words that are no stop words."""

HEAD = (
    "| set | cells | kept in its range | ratio in its range | sure verdicts | wrong of these | likely or not: right |"
)


class Told(NamedTuple):
    """A cell, and what the plan says of it from public facts."""

    row: Measurement
    said: Outcome

    @property
    def ratio(self) -> float:
        """Perplexity over plain LDA's; not above that of word frequencies."""
        return min(self.row.private, self.row.unigram) / self.row.lda

    @property
    def truth(self) -> str:
        if self.row.kept >= law.USEFUL:
            return "useful"
        return "nothing" if self.row.kept < law.USELESS else "between"


def told() -> list[Told]:
    found = []
    for row in table():
        if row.data in LENGTHS and row.unit == "document" and row.judges:
            words, share = (row.n_words, None) if row.words == "public" else (None, 0.05)
            length = {"documents": row.n_units, "words_per_document": LENGTHS[row.data], "words": words, "share": share}
            found.append(Told(row, outcome(known(**length, epsilon=row.epsilon, topics=row.n_topics))))
    return found


def right() -> list[str]:
    """The table of how often the plan was right, of each set and of all."""
    cells = told()
    lines = [HEAD, "|---" * 7 + "|"]
    for name in [*sorted({one.row.data for one in cells}), "all"]:
        here = [one for one in cells if name in ("all", one.row.data)]
        kept = sum(one.said.kept.low <= one.row.kept <= one.said.kept.high for one in here)
        ratio = sum(one.said.ratio.low <= one.ratio <= one.said.ratio.high for one in here)
        sure = [one for one in here if one.said.verdict != "uncertain"]
        wrong = sum({one.truth, one.said.verdict} == {"useful", "nothing"} for one in sure)
        clear = [one for one in here if one.truth != "between"]
        likely = sum((one.truth == "useful") == one.said.likely for one in clear)
        counts = f"{len(here)} | {kept} | {ratio} | {len(sure)} | {wrong} | {likely} of {len(clear)}"
        lines.append(f"| {name} | {counts} |")
    return lines


def write(folder: Path) -> None:
    """The page and the figures."""
    rows = table()
    columns = ["source", "set", "units", "words", "topics", "ε", "tokens", "private", "LDA", "unigram", "kept", "law"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        said = law.kept(row.facts)
        cells = (
            *(row.source, row.data, f"{row.n_units:,} {row.unit}s", f"{row.n_words:,} {row.words}", str(row.n_topics)),
            *(f"{row.epsilon:g}", f"{row.facts.tokens:.0f}", f"{row.private:.0f}", f"{row.lda:.0f}"),
            *(f"{row.unigram:.0f}", f"{row.kept:.2f}", f"{said.expected:.2f} ({said.low:.2f}–{said.high:.2f})"),
        )
        lines.append("| " + " | ".join(cells) + " |")
    page = (folder / "plan.md").read_text("utf-8") if (folder / "plan.md").exists() else "\n## Right\n\n## Cells\n"
    head = page.split("## How often")[0]
    body = ["## How often the plan was right", "", *right(), "", "## Every cell", "", *lines, ""]
    (folder / "plan.md").write_text(head + "\n".join(body), "utf-8")
    shown = known(documents=30_000, words_per_document=LENGTHS["arxiv"], words=2_000)
    points = [
        Point(row.n_units, row.kept, row.epsilon)
        for row in rows
        if (row.data, row.unit, row.n_words, row.n_topics) == ("arxiv", "document", 2_000, 20)
    ]
    title = "What 20 private topics of abstracts keep of what plain LDA learns"
    (folder / "plan-units.svg").write_text(draw(shown, points, title=title), "utf-8")
    (folder / "plan-cells.svg").write_text(scatter([row for row in rows if row.judges]), "utf-8")


def scatter(rows: list[Measurement]) -> str:
    """Measured against expected, one mark per data set."""
    size, left, top = 340, 62, 48
    across, up = Axis(0, 1, left, left + size, False, []), Axis(0, 1, top + size, top, False, [])
    parts = [text(left + size / 2, 22, "Kept: measured against expected", anchor="middle", size=15)]
    parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>')
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(text(across(tick), top + size + 18, f"{tick:.0%}", anchor="middle"))
        parts.append(text(left - 6, up(tick) + 4, f"{tick:.0%}", anchor="end"))
    parts.append(stroke(across(0), up(0), across(1), up(1), "#888", 'stroke-dasharray="6 4"'))
    parts.append(text(left + size / 2, top + size + 38, "expected", anchor="middle"))
    middle = top + size / 2
    parts.append(text(14, middle, "measured", anchor="middle", more=f'transform="rotate(-90 14 {middle})"'))
    for i, name in enumerate(sorted({row.data for row in rows})):
        here = [row for row in rows if row.data == name]
        y = top + 12 + 18 * i
        marks = [marker(across(law.kept(row.facts).expected), up(row.kept), i) for row in here]
        marks.append(marker(left + size + 20, y, i))
        parts += [one.replace('fill="', 'fill="white" stroke="') for one in marks] if i >= len(COLOURS) else marks
        parts += [text(left + size + 32, y + 4, f"{name} ({len(here)})")]
    return figure(left + size + 190, top + size + 56, parts)


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
