"""The figures of Zhao et al. 2021."""

from discreet.experiments.papers.zhao2021.figure4 import FIGURE_4
from discreet.experiments.papers.zhao2021.figure5 import FIGURE_5
from discreet.experiments.papers.zhao2021.figure7 import FIGURE_7
from discreet.experiments.papers.zhao2021.local import FIGURE_6
from discreet.experiments.papers.zhao2021.online import FIGURE_8, FIGURE_9, FIGURE_10

EXPERIMENTS = (FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10)
