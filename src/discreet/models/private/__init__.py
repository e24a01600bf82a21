"""PrivateLDA, and its proof."""
