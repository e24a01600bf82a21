"""Estimators, and what they may give away."""
