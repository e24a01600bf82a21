"""Tables that no paper has published."""
