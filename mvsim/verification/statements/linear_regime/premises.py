"""What the results of Section 3 suppose of their points: where that is not so, they say nothing.

Definition 3.1 has points x = beta v_{y,1} + (1 - beta) v_{y,2} with beta uniform on [0.1, 0.9]. Of N it says that it is large: then every class has
points, with probability 1 - k exp(-Theta(N/k)) or more. The derivations use both: coefficients that add up to 1 make all outputs of the optimal
direction equal, beta >= 0.1 fits every point by one feature, and a class without points has no gradient.
"""

from __future__ import annotations

import numpy as np

from mvsim.data import sample_dataset
from mvsim.parameters import Parameters


def points_of_definition_3_1(parameters: Parameters, seed: int) -> str:
    """Return in what the points of a seed are not those that the results speak of; nothing if they are."""
    deviations = [deviation.statement for deviation in parameters.deviations()]
    if deviations:
        return f"it is about the points of Definition 3.1, and here are others: {'; '.join(deviations)}"
    empty = int((np.bincount(sample_dataset(parameters, seed).labels, minlength=parameters.k) == 0).sum())
    return f"N is to be large, and of N = {parameters.N} points {empty} of {parameters.k} classes have none" if empty else ""
