"""New topics for tokens."""
