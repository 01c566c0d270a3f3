"""The kernel for points with one patch: against loops for the linear model, and against the dense kernels for any activation."""

import linear_loops
import numpy as np
from compare import assert_close, relative_error
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.losses import AllPairs, CrossEntropy, ListedPairs, SquaredError, Unmixed
from mvsim.multi_view.activations import ACTIVATIONS, activation_of
from mvsim.multi_view.kernels import make_kernel
from mvsim.multi_view.kernels.one_patch.linear_pairs import BLOCK, AllPairsSoftmax
from mvsim.multi_view.kernels.one_patch.one_patch_kernel import OnePatchKernel

METHODS = {"erm": ({}, 1.0), "midpoint": ({}, 0.5), "mixup": ({"mixing": 0.3}, 0.3)}
"""Method -> its options, and the lambda that the loops take."""

SIZES = {"small": (3, 7), "two classes": (2, 5), "one point": (4, 1), "more classes than points": (9, 4)}


def linear(k, N, seed=0, spread=2.0, **fields):
    """Parameters, data, correlations and a direction of a linear model."""
    p = mvsim.Parameters(k=k, model="linear", N=N, **fields)
    rng = np.random.default_rng(seed)
    return p, mvsim.sample_dataset(p, seed), spread * rng.standard_normal(p.correlations_shape), rng.standard_normal(p.correlations_shape)


@looping("size", SIZES)
@looping("method", METHODS)
def test_loss_and_gradient_are_those_of_the_loops(method, size):
    p, data, c, _ = linear(*SIZES[size])
    options, lam = METHODS[method]
    points, weights = data.to_patches()[:, 0], c[:, 0]
    loss, gradient = mvsim.objective(method, p, data, **options).loss_and_gradient(c)
    assert_close(loss, linear_loops.mixup_loss(weights, points, data.labels, lam), ROUNDOFF)
    assert_close(gradient[:, 0], linear_loops.mixup_gradient(weights, points, data.labels, lam), ROUNDOFF)


@looping("method", METHODS)
@looping("backend", ["numba", "numpy"])
def test_agrees_with_the_dense_kernels(method, backend):
    p, data, c, v = linear(6, 30, spread=5.0)
    options, _ = METHODS[method]
    fast, dense = (mvsim.objective(method, p, data, backend=name, **options) for name in ("auto", backend))
    assert isinstance(fast.kernel, OnePatchKernel)
    assert not isinstance(dense.kernel, OnePatchKernel)
    for quantity in ("loss", "gradient", "outputs"):
        assert_close(getattr(fast, quantity)(c), getattr(dense, quantity)(c), ROUNDOFF)
    assert_close(fast.hessian_vector_product(c, v), dense.hessian_vector_product(c, v), ROUNDOFF)


@looping("activation", ACTIVATIONS)
@looping("points", [Unmixed(), AllPairs(0.5), AllPairs(0.3), ListedPairs(np.array([0, 2]), np.array([1, 2]), np.array([0.2, 0.7]))])
@looping("pointwise", [CrossEntropy(), SquaredError()])
def test_serves_every_activation_and_several_neurons(activation, points, pointwise):
    rng = np.random.default_rng(3)
    p = mvsim.Parameters(k=3, m=2, alpha=3, rho=0.5)
    data = mvsim.Dataset.from_patches(rng.integers(3, size=6), rng.standard_normal((6, 1, 3, 2)))
    c, v = rng.standard_normal((2, *p.correlations_shape))
    chosen = ACTIVATIONS[activation].of(p)
    fast, oracle = (make_kernel(p, data, backend, None, chosen) for backend in ("auto", "numpy"))
    assert isinstance(fast, OnePatchKernel)
    assert_close(fast.loss(c, points, pointwise), oracle.loss(c, points, pointwise), ROUNDOFF)
    assert_close(fast.loss_and_gradient(c, points, pointwise)[1], oracle.loss_and_gradient(c, points, pointwise)[1], ROUNDOFF)
    assert_close(fast.hessian_vector_product(c, v, points, pointwise), oracle.hessian_vector_product(c, v, points, pointwise), ROUNDOFF)


def test_rows_are_formed_in_blocks(monkeypatch):
    """Blocks of a few rows give what one block gives."""
    p, data, c, v = linear(5, 23)
    objective = mvsim.objective("midpoint", p, data)
    whole = objective.loss_and_gradient(c), objective.hessian_vector_product(c, v)
    monkeypatch.setattr("mvsim.multi_view.kernels.one_patch.linear_pairs.BLOCK", 3 * p.N)
    assert BLOCK >= p.N**2
    parts = objective.loss_and_gradient(c), objective.hessian_vector_product(c, v)
    assert_close(parts[0][0], whole[0][0], ROUNDOFF)
    assert_close(parts[0][1], whole[0][1], ROUNDOFF)
    assert_close(parts[1], whole[1], ROUNDOFF)


def test_outputs_far_apart_are_left_to_the_generic_sum():
    """Beyond the largest spread entries of Z underflow: the product form would give infinite losses."""
    p, data, c, _ = linear(4, 9, spread=1000.0)  # beyond LARGEST_SPREAD
    loss, gradient = mvsim.objective("midpoint", p, data).loss_and_gradient(c)
    expected = linear_loops.mixup_loss(c[:, 0], data.to_patches()[:, 0], data.labels, 0.5)
    assert np.isfinite(loss)
    assert_close(loss, expected, ROUNDOFF)
    assert np.isfinite(gradient).all()


def test_a_slightly_wrong_gradient_is_noticed():
    p, data, c, _ = linear(4, 9)
    gradient = mvsim.objective("midpoint", p, data).gradient(c)
    assert relative_error(gradient * (1.0 + 1e-6), gradient) > ROUNDOFF


def test_the_fast_sum_is_taken_for_linear_activations_only():
    p, data, _, _ = linear(3, 4)
    identity, relu = (make_kernel(p, data, "auto", None, activation) for activation in (activation_of(p), ACTIVATIONS["smoothed_relu"](1.0, 2.0)))
    assert isinstance(identity.fused_sum(AllPairs(0.5), CrossEntropy()), AllPairsSoftmax)
    assert identity.fused_sum(AllPairs(0.5), SquaredError()) is None
    assert identity.fused_sum(Unmixed(), CrossEntropy()) is None
    assert relu.fused_sum(AllPairs(0.5), CrossEntropy()) is None
