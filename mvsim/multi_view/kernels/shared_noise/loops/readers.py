"""The escaped neurons and the points that they read, as compiled loops take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Readers(NamedTuple):
    """See `mvsim.multi_view.kernels.shared_noise.stiff_hessian.escaped.Escaped` and `Layout`.

    order, place, labels, pattern, feature, signal: Of the points.
    real, c, noise: Of the neurons.
    over_scale: 1 / scale of the activation.
    activation: See `mvsim.multi_view.activations.Activation.compiled`.
    """

    order: np.ndarray
    place: np.ndarray
    labels: np.ndarray
    pattern: np.ndarray
    feature: np.ndarray
    signal: np.ndarray
    real: np.ndarray
    c: np.ndarray
    noise: np.ndarray
    over_scale: float
    activation: tuple
