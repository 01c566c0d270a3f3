"""The Hessian of single points by the correlations of the escaped neurons, against that of the oracle."""

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from tolerances import HESSIAN_ROUNDOFF

import mvsim
from mvsim.losses import CrossEntropy, Unmixed
from mvsim.multi_view import piece_sizes
from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.data import SharedNoiseDataset
from mvsim.multi_view.kernels.oracle import OracleKernel
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel

K, M, N, C_P, P = 3, 2, 12, 2, 11
RHO, OWN, BEYOND = 0.4, 1.5, 1.0
PARAMETERS = mvsim.Parameters(k=K, m=M, N=N, C_P=C_P, P=P, G=K, Q=2, d=2000, rho=RHO)
ESCAPED = [(0, 0), (0, 1), (1, 0), (2, 0)]  # class and neuron
POINTS, POINTWISE = Unmixed(), CrossEntropy()


def problem(views, noise_of_own_class):
    """Neurons are linear on their own signal; every class has a noise pattern of its own, which holds so much of all features of the class."""
    rng = np.random.default_rng(views)
    positions = np.array([rng.permutation(P)[: views * C_P].reshape(views, C_P) for _ in range(N)])
    labels = np.arange(N) % K
    patterns = 0.05 * rng.uniform(0.2, 1.0, (K, K, views))
    patterns[np.arange(K), np.arange(K)] = noise_of_own_class / views
    data = SharedNoiseDataset(labels, rng.uniform(0.3, 1.0, (N, views, C_P)), positions, patterns, labels, P)
    c = rng.uniform(0.05, 0.2, (K, M, K, views))
    for y, r in ESCAPED:
        c[y, r, y] = OWN
    return data, c


def coordinates(c):
    return np.concatenate([np.arange(c.size).reshape(c.shape)[y, r].ravel() for y, r in ESCAPED])


def exact(data, c):
    """The Hessian of the oracle by the correlations of the escaped neurons."""
    oracle, at = OracleKernel(PARAMETERS, data, 1, SmoothedRelu(RHO, 8.0)), coordinates(c)
    columns = [oracle.hessian_vector_product(c, e.reshape(c.shape), POINTS, POINTWISE).ravel()[at] for e in np.eye(c.size)[at]]
    return np.array(columns).T


def curvature(data, c):
    return SharedNoiseKernel(PARAMETERS, data, 1, SmoothedRelu(RHO, 8.0)).curvature(c, POINTS, POINTWISE, c.max(axis=(2, 3)) > BEYOND)


@looping("views", [1, 2, 3])
def test_it_is_the_hessian_where_neurons_are_linear_on_the_points_of_their_class(views):
    """Then R'' is 0 wherever its weight phi - 1 is negative, and some is left where it is positive."""
    data, c = problem(views, noise_of_own_class=0.3)
    assert 0.3 * OWN > RHO
    found, at = curvature(data, c).dense(c.size), coordinates(c)
    assert_close(found[np.ix_(at, at)], exact(data, c), HESSIAN_ROUNDOFF)
    assert not np.delete(found, at, axis=0).any()
    others = np.delete(found[np.ix_(at, at)], np.flatnonzero(c.ravel()[at] == OWN), axis=0)
    assert np.abs(others).max() > 1e-6  # so the noise of other classes is felt


@looping("backend", ["numba", "array"])
def test_it_is_right_where_residuals_are_far_below_rounding(backend):
    """Without noise it is (1/N) sum phi (1 - phi) B^2 by own correlations, B the signal of the feature in a point; not what rounding leaves."""
    data, c = problem(2, noise_of_own_class=0.0)
    data = SharedNoiseDataset(data.labels, data.signal_coefficients, data.signal_patches, 0.0 * data.patterns, data.pattern_index, P)
    for y, r in ESCAPED:
        c[y, r, y] = 100.0
    objective = mvsim.objective("erm", PARAMETERS, data, backend=backend)
    found, outputs, signal = objective.curvature(c).dense(c.size), objective.outputs(c), data.signal_coefficients.sum(axis=2)  # (K, N), (N, V)
    residual = np.array([np.exp(np.delete(outputs[:, i], y) - outputs[y, i]).sum() for i, y in enumerate(data.labels)])
    assert 0.0 < residual.max() < 1e-40
    for y in range(K):
        of_class = data.labels == y
        expected = np.einsum("i,ia,ib->ab", residual[of_class], signal[of_class], signal[of_class]) / N
        own = np.ravel_multi_index((y, 0, y, np.arange(2)), c.shape)
        assert_close(found[np.ix_(own, own)], expected, HESSIAN_ROUNDOFF)


@looping("views", [1, 2, 3])
def test_what_is_left_out_is_growth(views):
    """Neurons that are not linear on the noise of their own class grow there: the Hessian is less than what is kept, and by nothing but that."""
    data, c = problem(views, noise_of_own_class=0.2)
    assert 0.2 * OWN < RHO
    at = coordinates(c)
    left_out = np.linalg.eigvalsh(curvature(data, c).dense(c.size)[np.ix_(at, at)] - exact(data, c))
    assert left_out.max() > 1e-3
    assert left_out.min() > -HESSIAN_ROUNDOFF * left_out.max()
    assert np.sum(left_out > HESSIAN_ROUNDOFF * left_out.max()) == len(ESCAPED)  # one pattern for each neuron


@pytest.mark.parametrize("views", [1, 2, 3])
def test_larger_ones_are_left_to_the_own_correlations(views, monkeypatch):
    data, c = problem(views, noise_of_own_class=0.3)
    at = coordinates(c)
    whole = curvature(data, c)
    monkeypatch.setattr(piece_sizes, "HESSIAN_ROWS", len(at) - 1)
    arrow = curvature(data, c)
    own = np.flatnonzero(c.ravel() == OWN)
    assert set(arrow.border_index) - {-1} == set(own)
    assert set(whole.border_index) == set(at)
    assert whole.lifetime < arrow.lifetime
    monkeypatch.setattr(piece_sizes, "HESSIAN_ROWS", len(at))
    assert np.array_equal(curvature(data, c).border, whole.border)
