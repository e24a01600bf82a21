"""Compiled loops on bare arrays: no checks, no policy, no ``fastmath``."""
