"""From feature coordinates to R^d: only needed to check that the reduction to correlations is exact."""

from __future__ import annotations

import numpy as np

from mvsim.arrays import real_array
from mvsim.checks import check_integer
from mvsim.data.dataset import Dataset
from mvsim.echo import echo
from mvsim.errors import UsageError
from mvsim.streams import stream


def random_features(k: int, d: int, seed: int) -> np.ndarray:
    """Return 2k orthonormal features of R^d, uniformly distributed (Haar).

    Parameters
    ----------
    k : int
        Number of classes, >= 1.
    d : int
        Dimension, at least 2k.
    seed : int
        Fixes the draw.

    Returns
    -------
    numpy.ndarray
        (k, 2, d) float64: v_{s,l} is [s, l].

    Raises
    ------
    UsageError
        If d < 2k or the numbers are not integers.
    """
    check_integer("k", k, 1)
    check_integer("d", d, 2 * int(k), "so that 2k orthonormal features fit")
    gaussian = stream(seed, "feature basis").standard_normal((d, 2 * k))
    basis, triangle = np.linalg.qr(gaussian)
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T).reshape(k, 2, d)


def embed(data: Dataset, features: np.ndarray) -> np.ndarray:
    """Return the patches of ``data`` as vectors of R^d, shape (N, P, d), given (k, 2, d) features."""
    if not isinstance(data, Dataset):
        raise UsageError(f"data={echo(data)}: must be a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    features = real_array("features", features)
    if features.ndim != 3 or features.shape[:2] != (data.k, 2):
        raise UsageError(f"features has shape {features.shape}: must be ({data.k}, 2, d)")
    return np.einsum("ipsl,sld->ipd", data.to_patches(), features, optimize=True)
