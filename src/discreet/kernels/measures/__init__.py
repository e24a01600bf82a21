"""Numbers that judge topics, tokens and draws."""
