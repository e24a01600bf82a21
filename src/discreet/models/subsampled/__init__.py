"""SubsampledLDA, and its proof."""
