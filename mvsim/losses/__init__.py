"""Functions of outputs and soft labels, and the points they are summed over. Nothing here knows neurons."""

from __future__ import annotations

from mvsim.losses.cross_entropy import CrossEntropy
from mvsim.losses.points import AllPairs, ListedPairs, Points, Unmixed
from mvsim.losses.pointwise import PointwiseLoss

__all__ = ["AllPairs", "CrossEntropy", "ListedPairs", "Points", "PointwiseLoss", "Unmixed"]
