"""The kernel for namespaces of the array API standard, on the strict one: nothing but the standard is used, and no array leaves its device unasked.

`array_api_strict` has no functions beyond the standard. Its ``device1`` is one that NumPy cannot read, and that does not mix with its processor.
That NumPy itself gives the right numbers is tested with all other backends (`test_network`, tests/objectives).
"""

import math
from dataclasses import replace

import array_api_strict
import numpy as np
import problems
import pytest
from compare import assert_close
from looping import looping
from objective_cases import LARGER, assert_everything_close, every_objective, everything, larger, objective
from strict_device import PLACE, STRICT, fetched
from tolerances import ENGINE, HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.losses import LOSSES, AllPairs, CrossEntropy
from mvsim.multi_view.activations import ACTIVATIONS, Identity
from mvsim.multi_view.kernels import make_kernel
from mvsim.multi_view.kernels.array import device as devices
from mvsim.multi_view.kernels.array.array_kernel import ArrayPatchesKernel
from mvsim.multi_view.kernels.array.device import host
from mvsim.multi_view.kernels.array.exponential_sums import PairSoftmax
from mvsim.multi_view.kernels.array.pairs import Values
from mvsim.multi_view.kernels.array.term_sums import PaddedSum
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.sums import GenericSum


@pytest.fixture
def strict(monkeypatch):
    """Put the arrays of the backend on ``device1``."""
    monkeypatch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: STRICT))


@pytest.fixture
def few_fetches(monkeypatch):
    """Count what comes from the device."""
    fetches = []
    counting = replace(STRICT, fetch=lambda array: fetches.append(array.shape) or fetched(array))
    monkeypatch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: counting))
    return fetches


def test_numpy_cannot_read_the_device_and_it_does_not_mix():
    there = STRICT.put(np.ones(3))
    with pytest.raises((RuntimeError, TypeError, BufferError)):
        np.asarray(there)
    with pytest.raises(ValueError, match="device"):
        there + array_api_strict.ones(3)
    np.testing.assert_array_equal(STRICT.fetch(there), np.ones(3))


@every_objective
@looping("case", sorted(problems.PARAMETERS))
def test_the_standard_is_enough(name, case, strict):
    problem = problems.problem(case)
    assert_everything_close(*(everything(objective(name, problem, backend), problem) for backend in ("array", "numpy")))


@pytest.mark.parametrize("kind", LARGER)
@pytest.mark.parametrize("largest", [30.0, 1500.0])
def test_the_standard_is_enough_in_pieces_and_at_large_outputs(kind, largest, strict):
    problem = larger(kind)
    outputs = objective("erm", problem, "numpy").outputs(problem.c)
    problem = problems.with_data(problem, problem.data, problem.c * largest / np.max(outputs))
    found, expected = (everything(objective("midpoint", problem, backend), problem) for backend in ("array", "numpy"))
    scales = [largest, problem.reach, problem.output_reach, problem.reach**2]
    for one, other, rtol, scale in zip(found, expected, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], scales, strict=True):
        assert_close(one, other, rtol, scale)


@every_objective
def test_results_alone_leave_the_device(name, few_fetches):
    """A loss is one number, a gradient one array of the size of the correlations, for each set of points."""
    problem = larger("codebook")
    tested = objective(name, problem, "array")
    tested.loss_and_gradient(problem.c)
    assert [math.prod(shape) for shape in few_fetches] == [problem.c.size] * len(tested.points)
    few_fetches.clear()
    tested.hessian_vector_product(problem.c, problem.direction)
    assert [math.prod(shape) for shape in few_fetches] == [problem.c.size] * len(tested.points)


@looping("loss", LOSSES)
def test_losses_are_the_same_in_every_namespace(loss):
    rng = np.random.default_rng(0)
    outputs, tangent = 5.0 * rng.standard_normal((2, 4, 9))
    targets = rng.dirichlet(np.ones(4), 9).T
    arguments = {"value": (outputs, targets), "residual": (outputs, targets), "curvature": (outputs, targets, tangent)}
    for method, arrays in arguments.items():
        function = getattr(LOSSES[loss](), method)
        there = function(*(STRICT.put(array) for array in arrays))
        assert there.device == PLACE
        np.testing.assert_allclose(STRICT.fetch(there), function(*arrays), rtol=1e-14, atol=1e-15)


@looping("name", ACTIVATIONS)
def test_activations_are_the_same_in_every_namespace(name):
    activation = ACTIVATIONS[name].of(mvsim.Parameters(k=3))
    z = np.concatenate([np.linspace(-2.0, 2.0, 101), [0.0, mvsim.Parameters(k=3).rho]])
    there = activation.elementwise(array_api_strict)
    for function, expected in zip(there, activation.elementwise(), strict=True):
        np.testing.assert_array_equal(STRICT.fetch(function(STRICT.put(z))), expected(z))


@looping("device", [host(), STRICT])
def test_padded_sums_are_sums(device):
    rng = np.random.default_rng(1)
    output, values = rng.integers(0, 6, 40) * (rng.random(40) < 0.8), rng.standard_normal((2, 3, 40))
    expected = np.zeros((2, 3, 8))
    for n, at in enumerate(output):
        expected[..., at] += values[..., n]
    np.testing.assert_allclose(device.fetch(PaddedSum(device, output, 8)(device.put(values))), expected, rtol=0.0, atol=1e-14)
    empty = PaddedSum(device, np.zeros(0, np.int64), 4)(device.put(np.zeros((2, 0))))
    np.testing.assert_array_equal(device.fetch(empty), np.zeros((2, 4)))


@looping("share", [0.5, 0.7])
def test_the_fused_sum_is_that_of_outputs(share):
    problem = larger("weak codebook")
    kernel = objective("erm", problem, "array").kernel
    fused, points = kernel.network.fused_sum(AllPairs(share), CrossEntropy()), AllPairs(share)
    c = problem.c.reshape(*problem.c.shape[:2], -1)
    for one, other in zip(fused.loss_and_gradient(c), GenericSum(kernel.network, points, CrossEntropy()).loss_and_gradient(c), strict=True):
        assert_close(one, other, ROUNDOFF)


@looping("part", ["U", "V", "noise", "meetings"])
def test_no_exponential_is_taken_of_an_output_that_is_too_large_in_any_part(part):
    problem = larger("codebook")
    kernel = objective("erm", problem, "array").kernel
    pairs = kernel.network.pairs_of(AllPairs(0.7))
    values = pairs.values(kernel.network.columns(1e-3 * problem.c.reshape(*problem.c.shape[:2], -1)))
    softmax, blocks = PairSoftmax(pairs), len(pairs.plan.blocks)
    assert softmax.fits(values)
    assert values.terms.shape[1] > blocks
    one = {"U": (1, 0, 0), "V": (1, 0, 0), "noise": (1, 0), "meetings": (1, blocks)}[part]
    for size, fits in ((0.9 * LARGEST_OUTPUT, True), (LARGEST_OUTPUT, False)):
        changed = Values(*(array.copy() for array in values))
        {"U": changed.U, "V": changed.V}.get(part, changed.terms)[one] = size / (pairs.plan.repeats if part == "noise" else 1.0)
        assert softmax.fits(changed) is fits


def test_no_exponential_is_taken_where_outputs_may_be_negative():
    problem = larger("codebook")
    kernels = [make_kernel(problem.parameters, problem.data, backend, None, Identity()) for backend in ("array", "numpy")]
    c = -1e5 * np.abs(problem.c)
    assert kernels[1].outputs(c).max() < -1000.0
    for one, other in zip(*(kernel.loss_and_gradient(c, AllPairs(0.5), CrossEntropy()) for kernel in kernels), strict=True):
        assert_close(one, other, ROUNDOFF)


def test_the_loss_of_points_of_one_class_keeps_its_digits():
    """It is the sum of exp(-margin), which 1 - phi loses: with all points learned it is far below round-off of an output."""
    p = mvsim.Parameters(**{**problems.BASE, "N": 1})
    data, c = mvsim.sample_dataset(p, 0), np.zeros(p.correlations_shape)
    y = int(data.labels[0])
    c[y, :, y] = 40.0
    array, oracle = (mvsim.objective("midpoint", p, data, backend=backend).loss_and_gradient(c) for backend in ("array", "numpy"))
    assert 0.0 < oracle[0] < 1e-20
    assert array[0] == pytest.approx(oracle[0], rel=1e-9)
    np.testing.assert_allclose(array[1], oracle[1], rtol=1e-9)


@looping("share", [0.5, 0.7])
@looping("delta4", [0.02, 0.6])
def test_moments_are_sums_over_neurons(share, delta4):
    """Every regime occurs, and so do neurons that are evaluated one by one."""
    p = larger("codebook").parameters.replace(m=12, delta3=0.5 * delta4, delta4=delta4)
    data, c = mvsim.sample_dataset(p, 2), problems.spread_correlations(p, np.random.default_rng(3)).reshape(p.k, p.m, -1)
    kernel = mvsim.objective("erm", p, data, backend="array").kernel
    pairs, columns = kernel.network.pairs_of(AllPairs(share)), kernel.network.columns(c)
    direct = super(type(pairs.tables[0]), pairs.tables[0])
    regimes = pairs.tables[0]._regimes(*pairs.tables[0]._factors(columns))
    assert min(int(each.sum()) for each in regimes) > 0
    assert_close(pairs.tables[0].values(columns), direct.values(columns), ENGINE)
    D = np.random.default_rng(4).standard_normal(direct.values(columns).shape) * (pairs.point_of_slot >= 0)
    assert_close(pairs.tables[0].pull_back(columns, D), direct.pull_back(columns, D), ENGINE)


def test_moments_where_the_noise_is_beyond_the_threshold_and_the_signal_takes_from_it():
    """Then beta A + B <= 1 with B > 1: polynomial all the same."""
    problem = problems.problem("with three views")
    p, c = problem.parameters, problems.spread_correlations(problem.parameters, np.random.default_rng(3)).reshape(3, 2, -1)
    kernel = mvsim.objective("erm", p, problem.data, backend="array").kernel
    table, columns = kernel.network.pairs_of(AllPairs(0.3)).tables[1], kernel.network.columns(c)
    A, B = table._factors(columns)
    assert np.any(table._regimes(A, B).polynomial & (B.max(axis=2)[:, None, :] > 1.0))
    assert_close(table.values(columns), super(type(table), table).values(columns), ENGINE)


def test_a_gpu_that_is_missing_is_named_in_one_line(monkeypatch):
    devices.gpu.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(mvsim.UsageError, match=r"^backend='cupy': needs CuPy, which is not installed; install it .* or give backend=auto$"):
        mvsim.objective("erm", mvsim.Parameters(k=3), mvsim.sample_dataset(mvsim.Parameters(k=3), 0), backend="cupy")
    devices.gpu.cache_clear()


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_the_stiff_hessian_is_that_of_the_compiled_kernel(method):
    problem = larger("codebook")
    p, data, c = problem.parameters, problem.data, problem.c
    tested, expected = (objective(method, problem, backend).curvature for backend in ("array", "numba"))
    assert np.array_equal(tested(c).dense(c.size), expected(c).dense(c.size))
    assert tested(c).dense(c.size).any()
    assert not tested(np.full_like(c, -1.0)).dense(c.size).any()  # none has escaped
    assert mvsim.objective(method, p, data, backend="array", loss="squared_error").curvature(c) is None
    assert mvsim.objective("mixup", p, data, backend="array", pairs=5).curvature(c) is None
