"""Every kernel with every activation, on every kind of points, with every loss: against the oracle, and against its own adjoints.

Nothing here names a kernel or an activation: a new one is registered, and is tested. The points are those of `POINTS` below, which must
cover their registry.
"""

from functools import cache

import numpy as np
import pytest
from activation_examples import example, takes_power
from compare import assert_close
from looping import looping
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF
from usable import marks

import mvsim
from mvsim.losses import LOSSES, AllPairs, CrossEntropy, ListedPairs, Points, Unmixed
from mvsim.multi_view.activations import ACTIVATIONS, Identity, SmoothedRelu
from mvsim.multi_view.kernels import KERNELS, ORACLE
from mvsim.multi_view.kernels.one_patch.one_patch_kernel import OnePatchKernel
from mvsim.multi_view.kernels.oracle import OracleKernel
from mvsim.multi_view.kernels.registry import SHARED_NOISE
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import POINT_SETS, SharedNoiseKernel
from mvsim.multi_view.kernels.sums import GenericSum

SIZES = {"k": 3, "m": 2, "P": 9, "C_P": 2, "Q": 2, "N": 7, "G": 4, "d": 2000, "rho": 0.4, "delta3": 0.2, "delta4": 0.6}
NOISE = ["codebook", "patch"]
PAIRS = np.random.default_rng(3).integers(SIZES["N"], size=(2, 12))


POINTS = {
    "unmixed": Unmixed(),
    "midpoints": AllPairs(0.5),
    "midpoints in both orders": AllPairs(0.5, both_orders=True),
    "pairs": AllPairs(0.7),
    "listed": ListedPairs(*PAIRS, np.random.default_rng(4).uniform(size=PAIRS.shape[1])),
}
POWERS = [8.0, 2.5]


def activations():
    for name, kind in ACTIVATIONS.items():
        for alpha in POWERS if takes_power(kind) else POWERS[-1:]:
            yield pytest.param(name, alpha, id=f"{name}-{alpha:g}")


@cache
def problem(noise):
    p = mvsim.Parameters(**SIZES, noise=noise)
    rng = np.random.default_rng(1)
    c, v = 3.0 * p.rho * rng.standard_normal((p.k, p.m, p.k, 2)), rng.standard_normal((p.k, p.m, p.k, 2))
    return p, mvsim.sample_dataset(p, 2), c, v


@cache
def kernel(entry, noise, name, alpha):
    p, data, _, _ = problem(noise)
    return entry.load()(p, data, 2, example(name, alpha))


@cache
def by_the_oracle(noise, name, alpha, points, loss):
    """Loss, gradient and Hessian-vector product, once for all kernels."""
    _, _, c, v = problem(noise)
    oracle = kernel(ORACLE, noise, name, alpha)
    arguments = POINTS[points], LOSSES[loss]()
    return *oracle.loss_and_gradient(c, *arguments), oracle.hessian_vector_product(c, v, *arguments)


TESTED = [
    pytest.param(entry, noise, id=f"{entry.load().__name__}-{noise}", marks=marks(entry.backend))
    for entry in KERNELS
    for noise in NOISE
    if entry.takes.data(problem(noise)[1])
]
every_kernel = pytest.mark.parametrize(("entry", "noise"), TESTED)
every_network = pytest.mark.parametrize(
    ("entry", "noise", "name", "alpha"),
    [
        pytest.param(*tested.values, *activation.values, id=f"{tested.id}-{activation.id}", marks=tested.marks)
        for tested in TESTED
        for activation in activations()
        if not (ACTIVATIONS[activation.values[0]].linear and tested.values[0].takes is SHARED_NOISE)
    ],
)
"""Every kernel with every activation; the linear model has no noise that patches share."""


def test_the_lists_above_are_complete():
    assert {type(points) for points in POINTS.values()} == set(POINT_SETS) == set(Points.__subclasses__())
    assert issubclass(ORACLE.load(), OracleKernel)
    of_one_patch = {entry for entry in KERNELS if entry.load() is OnePatchKernel}  # has a file of its own: `test_one_patch`
    assert {case.values[0] for case in TESTED} == set(KERNELS) - of_one_patch


@every_network
@looping("points", POINTS)
@looping("loss", LOSSES)
def test_sums_are_those_of_the_oracle(entry, noise, name, alpha, points, loss):
    _, _, c, v = problem(noise)
    tested = kernel(entry, noise, name, alpha)
    value, gradient, product = by_the_oracle(noise, name, alpha, points, loss)
    found = tested.loss_and_gradient(c, POINTS[points], LOSSES[loss]())
    assert_close(found[0], value, ROUNDOFF)
    assert_close(found[1], gradient, ROUNDOFF)
    assert_close(tested.loss(c, POINTS[points], LOSSES[loss]()), value, ROUNDOFF)
    assert_close(tested.hessian_vector_product(c, v, POINTS[points], LOSSES[loss]()), product, HESSIAN_ROUNDOFF)


NEURONS = {
    "none": np.zeros((3, 0), int),
    "one": np.array([[1], [0], [1]]),
    "all": np.array([[1, 0], [0, 1], [1, 0]]),
    "of two classes": np.array([[1, -1], [-1, -1], [1, 0]]),
    "of one class": np.array([[-1, -1], [1, -1], [-1, -1]]),
}
"""Of each class, for `SIZES`."""


@every_network
@looping("points", POINTS)
@looping("loss", LOSSES)
@looping("neurons", NEURONS)
def test_the_sum_as_a_function_of_some_neurons_is_that_of_all(entry, noise, name, alpha, points, loss, neurons):
    _, _, c, v = problem(noise)
    tested, which, arguments = kernel(entry, noise, name, alpha), NEURONS[neurons], (POINTS[points], LOSSES[loss]())
    place, present = (np.arange(3)[:, None], which), which >= 0
    classes, slots = np.nonzero(present)
    of_neurons = tested.of_neurons(c, which, *arguments)
    for moved in (c, c + v):
        everywhere = c.copy()
        everywhere[classes, which[classes, slots]] = moved[classes, which[classes, slots]]
        value, gradient = tested.loss_and_gradient(everywhere, *arguments)
        found = of_neurons(moved.reshape(3, 2, -1)[place])
        assert_close(found[0], value, ROUNDOFF)
        expected = np.where(present[:, :, None], gradient.reshape(3, 2, -1)[place], 0.0)
        assert_close(found[1], expected, ROUNDOFF, scale=np.abs(gradient).max())


@looping("points", POINTS)
@looping("loss", LOSSES)
@looping("alpha", POWERS)
def test_fused_sums_are_those_of_outputs_and_pull_backs(alpha, points, loss):
    _, _, c, v = problem("codebook")
    tested = kernel(next(entry for entry in KERNELS if entry.load() is SharedNoiseKernel), "codebook", "smoothed_relu", alpha)
    fused = tested.fused_sum(POINTS[points], LOSSES[loss]())
    kinds = type(POINTS[points]), LOSSES[loss]
    assert (fused is not None) == (kinds == (AllPairs, CrossEntropy))
    generic, c, v = GenericSum(tested, POINTS[points], LOSSES[loss]()), c.reshape(3, 2, -1), v.reshape(3, 2, -1)
    if fused is None:
        fused = tested.sum_of(POINTS[points], LOSSES[loss]())
    for one, other, rtol in zip(fused.loss_and_gradient(c), generic.loss_and_gradient(c), [ROUNDOFF, ROUNDOFF], strict=True):
        assert_close(one, other, rtol)
    assert_close(fused.hessian_vector_product(c, v), generic.hessian_vector_product(c, v), HESSIAN_ROUNDOFF)


@every_network
@looping("points", POINTS)
def test_outputs_and_pull_backs_are_those_of_the_mixed_points(entry, noise, name, alpha, points):
    """Derivatives along a direction are tested with the losses."""
    _, data, c, _ = problem(noise)
    tested, points = kernel(entry, noise, name, alpha), POINTS[points]
    outputs, R = tested.outputs(c, points), example(name, alpha).elementwise()
    first, second = tested.visited(points)
    x = data.to_patches()
    lam = {Unmixed: 1.0, AllPairs: getattr(points, "share", None)}.get(type(points), points.lam)
    lam = np.broadcast_to(lam, first.shape)[:, None, None, None]
    z = lam * x[first] + (1.0 - lam) * x[second]
    a = np.einsum("yrsl,npsl->yrnp", c, z)
    assert_close(outputs, R.value(a).sum(axis=(1, 3)), ROUNDOFF)
    residual = np.random.default_rng(5).standard_normal(outputs.shape)
    assert_close(tested.pull_back(c, points, residual), np.einsum("yn,yrnp,npsl->yrsl", residual, R.slope(a), z), ROUNDOFF)


@every_kernel
def test_every_ordered_pair_is_visited_once_in_both_orders(entry, noise):
    tested, N = kernel(entry, noise, "smoothed_relu", 8.0), SIZES["N"]
    first, second = tested.visited(AllPairs(0.5, both_orders=True))
    assert sorted(first * N + second) == list(range(N * N))


@every_kernel
def test_outputs_without_points_are_in_the_order_of_the_data(entry, noise):
    _, data, c, _ = problem(noise)
    tested = kernel(entry, noise, "smoothed_relu", 8.0)
    expected = SmoothedRelu(0.4, 8.0).elementwise().value(np.einsum("yrsl,npsl->yrnp", c, data.to_patches())).sum(axis=(1, 3))
    assert_close(tested.outputs(c), expected, ROUNDOFF)


@pytest.mark.parametrize(("entry", "noise"), [tested for tested in TESTED if tested.values[0].takes is not SHARED_NOISE])
def test_a_linear_network_is_linear(entry, noise):
    """With the identity outputs are sums over patches of scalar products, and the gradient of an output does not depend on c."""
    _, data, c, _ = problem(noise)
    tested = kernel(entry, noise, "identity", 2.5)
    assert isinstance(tested.activation, Identity)
    assert_close(tested.outputs(c), np.einsum("yrsl,npsl->yn", c, data.to_patches()), ROUNDOFF)
    residual = np.ones((3, SIZES["N"]))
    assert_close(tested.pull_back(c, Unmixed(), residual), tested.pull_back(2.0 * c, Unmixed(), residual), ROUNDOFF)
