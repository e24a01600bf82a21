"""The figures of Zhao et al. 2019."""

from discreet.experiments.papers.zhao2019.figure1 import FIGURE_1
from discreet.experiments.papers.zhao2019.figure2 import FIGURE_2

EXPERIMENTS = (FIGURE_1, FIGURE_2)
