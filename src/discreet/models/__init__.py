"""Estimators, and the releases they make."""
