"""The collector: a service that receives reports which were randomised before they left the sender's device.

Campaigns, a durable store, clients in Python and for browsers, and a training process. The web service needs
``pip install 'discreet[collector]'``; `Client` needs nothing more than discreet itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.collector.campaign import Campaign as Campaign
    from discreet.collector.client.client import Client as Client
    from discreet.collector.service.app import create_app as create_app
    from discreet.collector.store.store import Store as Store

_HOMES = {
    "Campaign": "discreet.collector.campaign",
    "Client": "discreet.collector.client.client",
    "Store": "discreet.collector.store.store",
    "create_app": "discreet.collector.service.app",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """A client does not need what the server needs, so names are loaded when they are first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.collector' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
