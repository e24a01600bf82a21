"""Hellinger distances and classical scaling, against closed forms and planted points."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.evaluation import classical_scaling, hellinger


def test_distances_of_known_topics() -> None:
    topics = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0], [0.25, 0.75, 0.0]])
    found = hellinger(topics)
    np.testing.assert_allclose(np.diag(found), 0)
    np.testing.assert_allclose(found, found.T)
    assert found[0, 1] == 1  # no word in common
    assert found[0, 2] == 0
    assert found[0, 3] == pytest.approx(np.sqrt(1 - np.sqrt(0.25)))


def test_scaling_finds_planted_points() -> None:
    """Points of a plane have distances that a plane can hold: all of them are kept, up to turning and mirroring."""
    planted = np.random.default_rng(3).normal(size=(9, 2)) * [3, 1]
    distances = np.linalg.norm(planted[:, None] - planted[None], axis=2)
    points, kept = classical_scaling(distances)
    assert kept == pytest.approx(1)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points[None], axis=2), distances, atol=1e-9)
    assert (points[np.abs(points).argmax(axis=0), [0, 1]] > 0).all()


def test_what_a_plane_cannot_hold_is_told() -> None:
    """Five points at equal distances span four equal directions: two of them hold half."""
    assert classical_scaling(np.ones((5, 5)) - np.eye(5)).kept == pytest.approx(0.5)


@pytest.mark.parametrize("n", [1, 2])
def test_few_topics(n: int) -> None:
    points, kept = classical_scaling(hellinger(np.eye(n, 3)))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    assert kept == pytest.approx(1)
