"""The figures of Zhao et al. 2021."""

from discreet.experiments.papers.zhao2021.figure5 import FIGURE_5
from discreet.experiments.papers.zhao2021.local import FIGURE_6
from discreet.experiments.papers.zhao2021.online import FIGURE_8, FIGURE_9, FIGURE_10

EXPERIMENTS = (FIGURE_5, FIGURE_6, FIGURE_8, FIGURE_9, FIGURE_10)
