"""What the results of Section 3 suppose of their points: where that is not so, they say nothing.

Definition 3.1 has points x = beta v_{y,1} + (1 - beta) v_{y,2} with beta uniform on [0.1, 0.9]. Of N it says that it is large: then every class has
points, with probability 1 - k exp(-Theta(N/k)) or more. The derivations use both: coefficients that add up to 1 make all outputs of the optimal
direction equal, beta >= 0.1 fits every point by one feature, and a class without points has no gradient.

Where every class has a point, the bound of Proposition 3.5 holds: it does so for each point by itself. Proposition 3.4 is about a mean over the
points of a class, of which many are needed: see `LEAST_POINTS`.
"""

from __future__ import annotations

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.multi_view.data import sample_dataset
from mvsim.multi_view.parameters import Parameters

LEAST_POINTS = 60
"""Of the smallest class, for Proposition 3.4. With fewer the pull while classes are alike is often negative by chance. At k = 3 and 5, with 50 to 120
points for each class, it was not positive on 38 of 836 data sets whose smallest class has 40 to 59 points, and on 11 of 1513 with 60 or more; at
k = 10 and 20, with 60 or more, on none of 92. With 20 points for each class it was so on 16 of 40 data sets at k = 3 and on 6 of 6 at k = 20.
By default there are 100 for each class: then the smallest has 60 with probability 0.998 or more up to k = 200."""


def points_of_definition_3_1(parameters: Parameters, seed: int) -> str:
    """Return in what the points of a seed are not those that the results speak of; nothing if they are."""
    deviations = [deviation.statement for deviation in parameters.deviations()]
    if deviations:
        return f"it is about the points of Definition 3.1, and here are others: {'; '.join(deviations)}"
    empty = int((np.bincount(sample_dataset(parameters, seed).labels, minlength=parameters.k) == 0).sum())
    return f"N is to be large, and of N = {parameters.N} points {empty} of {parameters.k} classes have none" if empty else ""


def many_points_of_each_class(parameters: Parameters, seed: int) -> str:
    """Return what `points_of_definition_3_1` does, or which class has fewer points than `LEAST_POINTS`."""
    if lack := points_of_definition_3_1(parameters, seed):
        return lack
    sizes = np.bincount(sample_dataset(parameters, seed).labels, minlength=parameters.k)
    y = int(sizes.argmin())
    return f"N is to be large: class {y} has {sizes[y]} of N = {parameters.N} points, fewer than {LEAST_POINTS}" if sizes[y] < LEAST_POINTS else ""


def check_two_views(parameters: Parameters, what: str, where: str = "") -> None:
    """Raise `UsageError` if classes have another number of views than ``what``, a subject with its verb, is about."""
    if parameters.V != 2:
        raise UsageError(f"{where}V={parameters.V}: {what} about two views of a class, V=2")
