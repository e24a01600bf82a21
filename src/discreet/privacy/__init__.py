"""What a release costs and promises: no data, no randomness."""

from __future__ import annotations

from discreet.privacy.events import Entry, Event
from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED, Basis, Guarantee, Observer, Relation, Unit
from discreet.privacy.ledger import Budget, Ledger, Reservation

__all__ = [
    "EXACT_COUNTS",
    "SEEDED",
    "Basis",
    "Budget",
    "Entry",
    "Event",
    "Guarantee",
    "Ledger",
    "Observer",
    "Relation",
    "Reservation",
    "Unit",
]
