"""How alike the topics of one model are, and a plane in which similar ones lie close together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet._types import FloatArray
from discreet.evaluation._top_words import topic_matrix


def hellinger(topics: Any) -> FloatArray:
    """Hellinger distances, topic × topic: √(1 − Σ_w √(p_w·q_w)), 0 for equal topics and 1 for those that share no
    word."""
    roots = np.sqrt(topic_matrix(topics, "topics"))
    distances: FloatArray = np.sqrt(np.clip(1.0 - roots @ roots.T, 0.0, 1.0))
    np.fill_diagonal(distances, 0.0)
    return distances


class Plane(NamedTuple):
    """Points of classical scaling."""

    points: FloatArray
    """Topic × 2."""
    kept: float
    """The share of the squared distances that the two directions hold; the rest cannot be drawn."""


def classical_scaling(distances: FloatArray) -> Plane:
    """The plane that keeps most of the squared distances (Torgerson 1952): the two largest eigenvectors of
    −½·J·D²·J.

    Each direction points so that its largest coordinate is positive: the same topics give the same picture everywhere.
    """
    n = len(distances)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ (distances**2) @ centring)
    largest, total = np.clip(values[::-1][:2], 0.0, None), float(np.clip(values, 0.0, None).sum())
    points = np.zeros((n, 2))
    points[:, : min(n, 2)] = vectors[:, ::-1][:, :2] * np.sqrt(largest)
    points *= np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return Plane(points, float(largest.sum()) / total if total > 0 else 1.0)
