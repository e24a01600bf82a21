"""Audits: a lower bound on ε from attacks on canaries, of every method that promises something.

>>> from discreet.attacks.audit import audit
>>> print(audit("private", epsilon=1.0, n_runs=200, seed=0))  # doctest: +SKIP

An audit runs the method on made-up text and spends no budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.attacks.audit.result import Audit as Audit
    from discreet.attacks.audit.run import audit as audit
    from discreet.attacks.audit.run import audit_target as audit_target

_HOMES = {"Audit": "result", "audit": "run", "audit_target": "run"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
