"""Luo et al., "Cross-collection latent Beta-Liouville allocation model training with privacy protection" (2023)."""

from __future__ import annotations

from discreet.experiments.papers.luo2023.hybrid import FIGURE_10, SECTION_4_4
from discreet.experiments.papers.luo2023.images import FIGURE_8, FIGURE_9, TABLE_9
from discreet.experiments.papers.luo2023.text import FIGURE_5, FIGURE_6, TABLE_5, TABLE_6
from discreet.experiments.papers.luo2023.topics import FIGURE_1, TABLE_7, TABLE_8

EXPERIMENTS = (
    FIGURE_1,
    FIGURE_5,
    TABLE_5,
    FIGURE_6,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
    SECTION_4_4,
)
