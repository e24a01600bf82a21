"""Options of models whose clients randomise their own reports, and of streams."""

from __future__ import annotations

from typing import Annotated

import typer

EpsilonBitOption = Annotated[
    float | None,
    typer.Option("--epsilon-bit", metavar="E", help="local, online-local: epsilon of one word of a report."),
]
ReportWordsOption = Annotated[
    int | None,
    typer.Option("--report-words", metavar="L", min=1, help="local, online-local: most different words in a report."),
]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch", metavar="N", min=1, help="online, online-local: documents in a batch; 160 by default."),
]
