"""VariationalLDA, and its proof."""
