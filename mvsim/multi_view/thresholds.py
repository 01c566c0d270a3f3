"""The three thresholds of a correlation c[y, r, y, l], each defined once.

===============  ================================  ==========================================================================================
`entered_B`      rho / delta1, 2 rho / delta1      the neuron belongs to B_{y,l} of the proofs
                 where points are mixed
`linear_from`    rho / lambda                      a feature with coefficient 1 is in the linear part of the activation: the neuron escapes
`stiff_from`     a part of `linear_from`           the neuron counts as stiff, for the preconditioner
===============  ================================  ==========================================================================================

Where the activation has no threshold (`Activation.escapes`), as in a linear model, every neuron is in B and counts as stiff.
"""

from __future__ import annotations

import math

from mvsim.multi_view.activations import activation_of
from mvsim.multi_view.parameters import Parameters

STIFF = 0.6
"""`stiff_from` as a part of `linear_from`. It is more than initial correlations reach, at r0 = 0.3 and k = 50 more than half of it: if most neurons
of a class count as stiff from the start, none can rest."""


def entered_B(parameters: Parameters, mixes: bool) -> float:
    """Return rho / delta1 (Equation B.1), and 2 rho / delta1 if points are mixed (Equation B.16).

    For ERM a neuron above it is linear on its feature in every point. At midpoints that holds up to the noise of the other point, and for
    other laws of lambda the threshold of midpoints is a convention. For a linear model C_{y,l} is <w_y, v_{y,l}>, as in Section 3.
    """
    if not activation_of(parameters).escapes:
        return -math.inf
    return (2.0 if mixes else 1.0) * parameters.rho / parameters.delta1


def linear_from(parameters: Parameters, largest_weight: float) -> float:
    """Return rho / lambda for the largest weight lambda of a point in a mixture."""
    return parameters.rho / largest_weight


def stiff_from(linear_from: float, escapes: bool) -> float:
    """Return the correlation from which on a neuron counts as stiff; where it is makes no difference to results."""
    return STIFF * linear_from if escapes else -math.inf
