"""AdaptedLDA, and its proof."""
