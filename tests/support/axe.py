"""axe-core, which looks for what people with a screen reader, a keyboard or weak eyes stumble over.

It is a package of npm under another licence (MPL-2.0), so it is not part of this repository: ``DISCREET_AXE`` names an
``axe.min.js``, which ``.ci/run`` installs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

VARIABLE = "DISCREET_AXE"

THEMES = ("light", "dark")


def script() -> str | None:
    """The text of ``axe.min.js``, if the variable names one."""
    place = os.environ.get(VARIABLE)
    return Path(place).read_text("utf-8") if place else None


def violations(driver: Any, axe: str) -> list[str]:
    """What axe finds in the page that is open, in light and in dark: the rule, how bad it is, and where."""
    found = []
    for theme in THEMES:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})  # which the page's policy does not stop
        result = driver.execute_async_script(
            """
            const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ["violations"] }).then(done, (error) => done({ error: String(error) }));
            """
        )
        assert "error" not in result, result
        assert result["passes"], "axe looked at nothing"
        for rule in result["violations"]:
            nodes = "; ".join(node["html"][:120] for node in rule["nodes"][:3])
            found.append(f"{theme}: {rule['impact']} {rule['id']}: {nodes}")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    return found
