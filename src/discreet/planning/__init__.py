"""What to expect of a private model before anything is spent. It reads no document: public facts in, a forecast out.

``law`` is the one law behind every forecast, ``measured`` the table that it was fitted to, ``words`` the forecast of
private selection, ``plan`` the arithmetic, and ``forecast`` the object that people see.
"""

from __future__ import annotations

from discreet.planning.forecast import Plan, plan

__all__ = ["Plan", "plan"]
