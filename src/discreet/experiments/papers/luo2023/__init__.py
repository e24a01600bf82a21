"""Luo et al. 2023: cross-collection models of text and of images."""
