"""Engines on the threads of this machine."""
