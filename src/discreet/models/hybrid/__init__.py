"""HybridLDA, and its proof."""
