"""Kernels count features, not views: data with one view or three views of a class."""

from dataclasses import replace

import numpy as np
from compare import assert_close
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.losses import AllPairs, CrossEntropy, ListedPairs, Unmixed
from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.data import SharedNoiseDataset
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel

K, M, N, C_P, P, G = 3, 2, 8, 2, 11, 3
PARAMETERS = mvsim.Parameters(k=K, m=M, N=N, C_P=C_P, P=P, G=G, Q=2, d=2000, rho=0.4)
POINTS = [Unmixed(), AllPairs(0.5), AllPairs(0.7), ListedPairs(np.array([0, 3, 5]), np.array([1, 3, 2]), np.array([0.2, 0.5, 0.9]))]


def shared(views):
    rng = np.random.default_rng(views)
    positions = np.array([rng.permutation(P)[: views * C_P].reshape(views, C_P) for _ in range(N)])
    labels = rng.integers(K, size=N)
    coefficients = rng.uniform(0.3, 1.0, (N, views, C_P))
    return SharedNoiseDataset(labels, coefficients, positions, 0.1 * rng.uniform(size=(G, K, views)), rng.integers(G, size=N), P)


@looping("views", [1, 2, 3])
@looping("points", POINTS[:3])
def test_views_that_are_not_there_leave_the_stiff_part_of_the_hessian_alone(views, points):
    """Without noise, views with coefficients 0 change nothing, so that the matrix must be that of the first views alone."""
    data, more = shared(views), 1
    none = np.zeros_like(data.patterns)
    data = replace(data, patterns=none)
    free = np.array([np.setdiff1d(np.arange(P), positions)[:C_P] for positions in data.signal_patches.reshape(N, -1)])[:, None]
    wider = replace(
        data,
        signal_coefficients=np.concatenate([data.signal_coefficients, np.zeros((N, more, C_P))], axis=1),
        signal_patches=np.concatenate([data.signal_patches, free], axis=1),
        patterns=np.concatenate([none, none[..., :more]], axis=2),
    )
    c = np.random.default_rng(9).uniform(0.0, 0.2, (K, M, K, views + more))
    for y in range(K):
        c[y, 0, y] = 2.0
    c[..., views:] = 0.0
    matrices = []
    for of, correlations in ((data, np.ascontiguousarray(c[..., :views])), (wider, c)):
        kernel = SharedNoiseKernel(PARAMETERS, of, 1, SmoothedRelu(0.4, 8.0))
        matrices.append(kernel.curvature(correlations, points, CrossEntropy(), correlations.max(axis=(2, 3)) > 0.4).dense(correlations.size))
    there = np.flatnonzero(np.arange(views + more)[None, :].repeat(K * M * K, axis=0).ravel() < views)
    assert np.abs(matrices[0]).max() > 1e-3
    assert_close(matrices[1][np.ix_(there, there)], matrices[0], ROUNDOFF)
    assert_close(np.abs(matrices[1]).sum(), np.abs(matrices[0]).sum(), ROUNDOFF)
