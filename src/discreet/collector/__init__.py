"""The collector: a service that receives reports which were randomised before they left the sender's device.

Campaigns, a durable store and the web service around them, which needs ``pip install 'discreet[collector]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.collector.campaign import Campaign as Campaign
    from discreet.collector.service import create_app as create_app
    from discreet.collector.store import Store as Store

_HOMES = {
    "Campaign": "discreet.collector.campaign",
    "Store": "discreet.collector.store",
    "create_app": "discreet.collector.service",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Loaded when first used: campaigns can be had without what the server needs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.collector' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
