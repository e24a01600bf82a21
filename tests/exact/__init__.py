"""Enumeration, recorded runs on neighbouring data, and kernels against their Python bodies."""
