"""The page and the figure of ``collector_day``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet._svg import COLOURS, DASHED, SOLID, axis, figure, marker, stroke, text
from discreet.mechanisms.local import RandomisedResponse
from discreet.privacy.guarantee import rounded_up

WORDS, CAP = 1_000, 50
ROWS = (1_000, 5_000, 10_000, 20_000, 50_000, 100_000)
LEFT, TOP, WIDTH, HEIGHT = 66, 46, 520, 300


def epsilons(epsilon_bit: float) -> tuple[str, str]:
    """ε of one bit and of a whole report."""
    response = RandomisedResponse.for_epsilon(epsilon_bit, WORDS, CAP)
    return rounded_up(response.epsilon_bit, 3), rounded_up(response.epsilon_report, 3)


def picture(result: dict[str, Any]) -> str:
    """Perplexity against reports, a line for each ε, and two dashed lines."""
    curves = {
        float(epsilon): curve for epsilon, curve in sorted(result["curves"].items(), key=lambda item: float(item[0]))
    }
    flat = {"word frequencies": result["frequencies"], "LDA without privacy": result["lda"]}
    seen = [y for curve in curves.values() for _, y in curve] + list(flat.values())
    across = axis([x for curve in curves.values() for x, _ in curve], LEFT, LEFT + WIDTH, True, margin=0.04)
    up = axis(seen, TOP + HEIGHT, TOP, False, margin=0.05)
    parts = [text(LEFT + WIDTH / 2, 22, "Topics of a day", anchor="middle", size=15, weight="bold")]
    for x in across.ticks:
        parts += [stroke(across(x), TOP, across(x), TOP + HEIGHT, "#e6e6e6")]
        parts += [text(across(x), TOP + HEIGHT + 18, f"{x:,.0f}", anchor="middle")]
    for y in up.ticks:
        parts += [
            stroke(LEFT, up(y), LEFT + WIDTH, up(y), "#e6e6e6"),
            text(LEFT - 8, up(y) + 4, f"{y:g}", anchor="end"),
        ]
    parts += [
        stroke(LEFT, TOP + HEIGHT, LEFT + WIDTH, TOP + HEIGHT, "#444"),
        stroke(LEFT, TOP, LEFT, TOP + HEIGHT, "#444"),
    ]
    parts.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, "reports so far", anchor="middle"))
    middle = TOP + HEIGHT / 2
    parts.append(text(16, middle, "perplexity", anchor="middle", more=f'transform="rotate(-90 16 {middle:.0f})"'))
    names = []
    for i, (epsilon, curve) in enumerate(curves.items()):
        corners = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{COLOURS[i]}" stroke-width="1.6"/>')
        parts += [marker(across(x), up(y), i) for x, y in curve]
        bit, whole = epsilons(epsilon)
        names.append((f"ε = {whole} for a report, {bit} per bit", False))
    for i, (name, y) in enumerate(flat.items(), start=len(curves)):
        parts.append(stroke(LEFT, up(y), LEFT + WIDTH, up(y), COLOURS[i], more=DASHED))
        names.append((f"{name} (not private)", True))
    for i, (name, dashed) in enumerate(names):
        x, y = LEFT + (i % 2) * 270, TOP + HEIGHT + 62 + 20 * (i // 2)
        parts.append(stroke(x, y, x + 26, y, COLOURS[i], more=DASHED if dashed else SOLID))
        parts += [*([] if dashed else [marker(x + 13, y, i)]), text(x + 34, y + 4, name)]
    return figure(LEFT + WIDTH + 24, TOP + HEIGHT + 76 + 20 * ((len(names) + 1) // 2), parts)


def table(result: dict[str, Any]) -> list[str]:
    curves = {
        float(epsilon): dict(map(tuple, curve))
        for epsilon, curve in sorted(result["curves"].items(), key=lambda item: float(item[0]))
    }
    rows = [n for n in ROWS if all(n in curve for curve in curves.values())]
    lines = ["| ε of a whole report | ε of one bit | " + " | ".join(f"{n:,}" for n in rows) + " |"]
    lines.append("|---" * (2 + len(rows)) + "|")
    for epsilon, curve in curves.items():
        bit, whole = epsilons(epsilon)
        lines.append(f"| {whole} | {bit} | " + " | ".join(f"{curve[n]:.0f}" for n in rows) + " |")
    return lines


def findings(result: dict[str, Any]) -> list[str]:
    """What the numbers say, in words that are computed from them."""
    lines = []
    for epsilon, curve in sorted(result["curves"].items(), key=lambda item: float(item[0])):
        first, last, before = curve[0][1], curve[-1][1], result["frequencies"]
        better = next((n for n, found in curve if found < before), None)
        than = (
            f"better than word frequencies from {better:,} reports on"
            if better is not None and last < before
            else "and still worse than word frequencies alone: such topics are no use for prediction"
        )
        share = (before - last) / (before - result["lda"])
        kept = f" ({100 * share:.0f}% of what plain LDA gains over them)" if last < before else ""
        ends = f"{first:.0f} after the first window, {last:.0f} at the end"
        lines.append(f"* ε = {float(epsilon):g} per bit: {ends}; {than}{kept}.")
    return lines


def written(result: dict[str, Any], folder: Path, made: str) -> None:
    """``collector-day.md`` and ``collector-day.svg``."""
    chosen = " ".join(f"--epsilon {float(epsilon):g}" for epsilon in sorted(result["curves"], key=float))
    wall, cpu = (sum(times[i] for times in result["seconds"].values()) for i in (0, 1))
    page = [
        "# Topics of a day, collected",
        "",
        f"{result['n']:,} devices, each with one arXiv abstract, report to a collector through the day; a window of "
        "1,000 reports updates the topics. Completion perplexity of 2,000 other abstracts (lower is better), after so "
        "many reports:",
        "",
        *table(result),
        "",
        f"Not private, for comparison: word frequencies {result['frequencies']:.0f}, LDA on 20,000 of the abstracts "
        f"themselves {result['lda']:.0f}.",
        "",
        "![Perplexity against the number of reports](collector-day.svg)",
        "",
        *findings(result),
        "",
        "The ε of a whole report is what most people mean by privacy, and it is large: such reports hide single words, "
        "not the text.",
        "",
        "## How it was made",
        "",
        "* Words: the 1,000 most frequent of NeurIPS and CVPR abstracts, which are public and other text. An abstract "
        f"has {result['words_per_report']:.0f} of them on average; a report is about at most {CAP}. 20 topics.",
        "* Reports went over HTTP into `discreet collect serve` on SQLite, in lists of 500; the training process's own "
        "code trained window by window, in the order of arrival, so the day takes minutes here. Random bits are not "
        "seeded: another run differs a little.",
        "* The constants of the collector's training were chosen on 17,000 abstracts that are not among these "
        "(`collector/training/learner.py`).",
        f"* Command: `python -m benchmarks.collector_day FOLDER {chosen} --write docs/results`.",
        f"* Duration: {wall / 60:.0f} min on the clock beside other work, {cpu / 60:.1f} min of processor time; one "
        "run for each ε (the processor time of the server is not in it).",
        f"* Versions: {made}; source {result['source']}.",
        "",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "collector-day.md").write_text("\n".join(page), "utf-8")
    (folder / "collector-day.svg").write_text(picture(result), "utf-8")
