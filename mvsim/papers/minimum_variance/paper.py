"""The paper on minimum-variance features: all that it states, and what is drawn of it."""

from mvsim.judging.statement import Paper
from mvsim.papers.minimum_variance.figures import figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7
from mvsim.papers.minimum_variance.statements import STATEMENTS

PAPER = Paper(
    "variance",
    "For Better or For Worse? Learning Minimum Variance Features With Label Augmentation",
    "Chidambaram and Ge (2024), arXiv 2402.06855, version 1",
    STATEMENTS,
    figures={"1": figure_1, "2": figure_2, "3": figure_3, "4": figure_4, "5": figure_5, "6": figure_6, "7": figure_7},
)
