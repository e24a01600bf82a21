"""Measurements, each with the question it answers. ``make bench`` runs them all and prints ratios."""
