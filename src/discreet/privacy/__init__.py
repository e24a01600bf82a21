"""What a release costs and promises: no data, no randomness."""

from __future__ import annotations

from discreet.privacy.guarantee import EXACT_COUNTS, SEEDED, Basis, Guarantee, Observer, Relation, Unit

__all__ = ["EXACT_COUNTS", "SEEDED", "Basis", "Guarantee", "Observer", "Relation", "Unit"]
