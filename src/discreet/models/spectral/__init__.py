"""SpectralLDA, and its proof."""
