"""DeCarolis et al., ICML 2020 (spectral LDA)."""
