"""One file of the source at a time."""
