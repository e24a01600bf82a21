"""DeCarolis et al., "An end-to-end Differentially Private LDA Using a Spectral Algorithm", ICML 2020."""

from __future__ import annotations

from discreet.experiments.spectral_error import FIGURE_2
from discreet.experiments.spectral_moments import FIGURE_3
from discreet.experiments.spectral_text import FIGURE_4, TABLE_2

EXPERIMENTS = (FIGURE_2, FIGURE_3, FIGURE_4, TABLE_2)
