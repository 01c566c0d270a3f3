"""From feature coordinates to R^d: only needed to check that the reduction to correlations is exact."""

from __future__ import annotations

import numpy as np

from mvsim.data.dataset import Dataset
from mvsim.echo import echo
from mvsim.errors import UsageError
from mvsim.free_memory import available_bytes
from mvsim.inputs import check_integer, real_array
from mvsim.random_streams import stream


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
        If d < 2k, the numbers are not integers, or the features do not fit in memory.
    """
    k = check_integer("k", k, 1)
    d = check_integer("d", d, 2 * k, "so that 2k orthonormal features fit")
    needed, there = 3 * 8 * 2 * k * d, available_bytes()  # what is drawn, its basis and the copy that is returned
    if there is not None and needed > there:
        fits = there // (3 * 8 * 2 * k)
        raise UsageError(f"k={k}, d={d}: would need about {needed:.3g} bytes of memory and {there:.3g} are available; d up to {fits} would fit")
    gaussian = stream(seed, "feature basis").standard_normal((d, 2 * k))
    basis, triangle = np.linalg.qr(gaussian)
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T).reshape(k, 2, d)


def embed(data: Dataset, features: np.ndarray) -> np.ndarray:
    """Return the patches of ``data`` as vectors of R^d, shape (N, P, d), given (k, 2, d) features."""
    if not isinstance(data, Dataset):
        raise UsageError(f"data={echo(data)}: must be a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    features = real_array("features", features)
    if features.ndim != 3 or features.shape[:2] != (data.k, 2):
        raise UsageError(f"features has shape {features.shape}: must be (k, 2, d) with the k = {data.k} classes that data has")
    return np.einsum("ipsl,sld->ipd", data.to_patches(), features, optimize=True)
