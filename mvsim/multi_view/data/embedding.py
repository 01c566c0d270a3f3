"""From feature coordinates to R^d: only needed to check that the reduction to correlations is exact."""

from __future__ import annotations

import numpy as np

from mvsim.base.echo import bytes_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer, check_kind, real_array
from mvsim.base.limits import available_bytes
from mvsim.multi_view.data.dataset import Dataset
from mvsim.numerics.random_streams import stream


def random_features(k: int, d: int, seed: int, V: int = 2) -> np.ndarray:
    """Return V k orthonormal features of R^d, uniformly distributed (Haar).

    Parameters
    ----------
    k : int
        Number of classes, >= 1.
    d : int
        Dimension, at least V k.
    seed : int
        Fixes the draw.
    V : int
        Views of a class, >= 1.

    Returns
    -------
    numpy.ndarray
        (k, V, d) float64: v_{s,l} is [s, l].

    Raises
    ------
    UsageError
        If d < V k, the numbers are not integers, or the features do not fit in memory.
    """
    k, V = check_integer("k", k, 1), check_integer("V", V, 1)
    d = check_integer("d", d, V * k, f"so that {V} k orthonormal features fit")
    needed, available = 3 * 8 * V * k * d, available_bytes()  # what is drawn, its basis and the copy that is returned
    if available is not None and needed > available:
        fits = available // (3 * 8 * V * k)
        memory = f"would need about {bytes_text(needed)} of memory and {bytes_text(available)} are available"
        raise UsageError(f"k={k}, d={d}: {memory}; d up to {fits} would fit")
    gaussian = stream(seed, "feature basis").standard_normal((d, V * k))
    basis, triangle = np.linalg.qr(gaussian)
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T).reshape(k, V, d)


def embed(data: Dataset, features: np.ndarray) -> np.ndarray:
    """Return the patches of ``data`` as vectors of R^d, shape (N, P, d), given (k, V, d) features."""
    check_kind("data", data, Dataset, "a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    features = real_array("features", features)
    if features.ndim != 3 or features.shape[:2] != (data.k, data.V):
        raise UsageError(f"features has shape {features.shape}: must be (k, V, d) with k = {data.k} and V = {data.V} as data has")
    return np.einsum("ipsl,sld->ipd", data.to_patches(), features, optimize=True)
