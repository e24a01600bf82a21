"""Zhao et al., arXiv:2010.04391 (2021)."""
