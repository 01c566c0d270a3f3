"""Functions of outputs and soft labels, and the points they are summed over. Nothing here knows neurons.

To add a loss: write a file with a subclass of `PointwiseLoss` and list it in `LOSSES`.
"""

from __future__ import annotations

from mvsim.losses.cross_entropy import CrossEntropy
from mvsim.losses.points import AllPairs, ListedPairs, Points, Unmixed
from mvsim.losses.pointwise import PointwiseLoss
from mvsim.losses.squared_error import SquaredError

LOSSES: dict[str, type[PointwiseLoss]] = {cls.name: cls for cls in (CrossEntropy, SquaredError)}

__all__ = ["LOSSES", "AllPairs", "CrossEntropy", "ListedPairs", "Points", "PointwiseLoss", "SquaredError", "Unmixed"]
