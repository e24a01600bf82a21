"""Whole-number noise, drawn exactly."""
