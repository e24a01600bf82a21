"""Help in panels: the options that nearly everybody needs come first.

typer has such panels, but draws them with rich, which takes as long to load as everything else of ``--help`` together.
"""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperCommand

OTHER = "Other options"


class InPanels(TyperCommand):
    """A command whose options are shown under headings, in the order of ``panels``: heading → names of parameters."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        shown: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{panel: [] for panel in self.panels}, OTHER: []}
        place = {name: i for names in self.panels.values() for i, name in enumerate(names)}
        of = {name: panel for panel, names in self.panels.items() for name in names}
        for parameter in sorted(self.get_params(ctx), key=lambda one: place.get(one.name or "", len(place))):
            record = parameter.get_help_record(ctx)
            if record is not None:
                panel = "Arguments" if parameter.param_type_name == "argument" else of.get(parameter.name or "", OTHER)
                shown[panel].append(record)
        for panel, records in shown.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records, col_max=30)
