"""What a cross-collection model releases beside its common topics, and the topics of each collection made of both."""

from __future__ import annotations

import numpy as np

from discreet._types import FloatArray


def mixed_topics(common: FloatArray, own: FloatArray, switch: FloatArray) -> FloatArray:
    """(1 − ψ)·φ + ψ·σ, topic × (collection · n_words + word), from topic × word, collection × topic × word and topic ×
    collection. A row sums to 1 in each collection."""
    chance = switch.T[:, :, None]
    mixed = (1.0 - chance) * common + chance * own
    return np.ascontiguousarray(mixed.transpose(1, 0, 2)).reshape(len(common), -1)
