"""DeCarolis et al., "An end-to-end Differentially Private LDA Using a Spectral Algorithm", ICML 2020."""

from __future__ import annotations

from discreet.experiments.papers.decarolis2020.error import FIGURE_2
from discreet.experiments.papers.decarolis2020.moments import FIGURE_3
from discreet.experiments.papers.decarolis2020.pure import SECTION_6_1
from discreet.experiments.papers.decarolis2020.rate import LEMMA_25
from discreet.experiments.papers.decarolis2020.search import APPENDIX_J, FIGURE_2_SEARCH
from discreet.experiments.papers.decarolis2020.text import FIGURE_4, TABLE_2
from discreet.experiments.papers.decarolis2020.utility import TABLE_1

EXPERIMENTS = (FIGURE_2, FIGURE_3, FIGURE_4, TABLE_2, SECTION_6_1, FIGURE_2_SEARCH, APPENDIX_J, TABLE_1, LEMMA_25)
