"""Every registered objective on every backend: against the loops in R^{P x d}, against differences, and under the symmetries of the theory.

Nothing here names an objective except where the statement is about one. A new one is registered in OBJECTIVES, gets its definition in
tests/reference.py, and is tested.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import problems
import pytest
import reference
from compare import assert_close, assert_components_close
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import (
    CENTRAL_DIFFERENCE,
    CENTRAL_DIFFERENCE_STEP,
    COMPONENT_ABSOLUTE,
    HESSIAN_ROUNDOFF,
    OUTSIDE_SPAN,
    ROUNDOFF,
)

import mvsim
from mvsim.data import sample_points
from mvsim.kernels import BACKENDS
from mvsim.losses import AllPairs, CrossEntropy, ListedPairs
from mvsim.objectives import OBJECTIVES, Objective
from mvsim.random_streams import stream

MIXING = {name for name, definition in reference.REFERENCES.items() if definition.equals_erm_on_copies}
every_objective = pytest.mark.parametrize("name", sorted(OBJECTIVES))
every_backend = pytest.mark.parametrize("backend", BACKENDS[1:])
every_problem = pytest.mark.parametrize("case", sorted(problems.PARAMETERS))


def objective(name, problem, backend, **options):
    """The objective with the options of its reference; without a reference, with its defaults."""
    if name in reference.REFERENCES:
        options |= reference.reference(name).options
    return mvsim.objective(name, problem.parameters, problem.data, backend=backend, **options)


# ---- against the loops in R^{P x d} -------------------------------------------------------------------------------------------------


@cache
def expected(name, case):
    """Loss, gradient, Hessian-vector product and outputs of the reference, the middle two in R^d."""
    return reference_values(name, problems.problem(case))


def reference_values(name, problem):
    loss, gradient = reference.reference(name)[:2]
    direction = reference.embed(problem.direction, problem.features, np.random.default_rng(13))
    return (
        loss(problem.weights, *problem.arguments),
        gradient(problem.weights, *problem.arguments),
        reference.hessian_vector_product(gradient, problem.weights, direction, *problem.arguments),
        np.array([reference.outputs(problem.weights, x, *problem.arguments[2:]) for x in problem.points]).T,
    )


def assert_agrees(tested, problem, values):
    """Assert that loss, gradient, Hessian-vector product and outputs are those of the reference."""
    loss, gradient, product, outputs = values
    assert_close(tested.loss(problem.c), loss, ROUNDOFF)
    projected = reference.correlations(gradient, problem.features)
    assert_close(tested.gradient(problem.c), projected, ROUNDOFF)
    assert_components_close(tested.gradient(problem.c), projected, ROUNDOFF, COMPONENT_ABSOLUTE * np.max(np.abs(projected)))
    both = tested.loss_and_gradient(problem.c)
    assert_close(both[0], loss, ROUNDOFF)
    assert_close(both[1], projected, ROUNDOFF)
    product = reference.correlations(product, problem.features)
    # Where the softmax is saturated the product is 0, as a difference of terms as large as the gradient.
    scale = max(np.max(np.abs(product)), np.max(np.abs(projected)))
    assert_components_close(tested.hessian_vector_product(problem.c, problem.direction), product, 0, HESSIAN_ROUNDOFF * scale)
    assert_close(tested.outputs(problem.c), outputs, ROUNDOFF)


@every_objective
@every_backend
@every_problem
def test_agrees_with_the_loops(name, backend, case):
    problem = problems.problem(case)
    assert_agrees(objective(name, problem, backend), problem, expected(name, case))


@every_objective
@every_problem
def test_the_reference_gradient_lies_in_the_span_of_the_features(name, case):
    """The reduction to correlations: the part of w orthogonal to the features gets no gradient and no curvature."""
    problem = problems.problem(case)
    _, gradient, product, _ = expected(name, case)
    for vector in (gradient, product):
        rest = reference.orthogonal_part(vector, problem.features)
        assert np.max(np.abs(rest)) <= OUTSIDE_SPAN * np.max(np.abs(vector))


def own(p, value):
    """Correlations that are ``value`` on the own class and -0.3 value elsewhere."""
    c = np.full((p.k, p.m, p.k, 2), -0.3 * value)
    for y in range(p.k):
        c[y, :, y] = value
    return c


STATES = {
    "initial": lambda p, rng: problems.random_correlations(p, rng, 0.05),  # far inside the polynomial part
    "spread": lambda p, rng: problems.spread_correlations(p, rng),  # neurons of every size between rho/1000 and 10 rho
    "learned": lambda p, rng: own(p, 3.0) + 0.1 * rng.standard_normal((p.k, p.m, p.k, 2)),
    "unlearned": lambda p, rng: own(p, -3.0) + 0.1 * rng.standard_normal((p.k, p.m, p.k, 2)),  # confident and wrong
    "huge": lambda p, rng: problems.random_correlations(p, rng, 1e5),  # exp of an output overflows, of a difference underflows
}


@cache
def in_state(case, state):
    """A problem at one of `STATES`."""
    problem = problems.problem(case)
    return problems.with_data(problem, problem.data, STATES[state](problem.parameters, np.random.default_rng(21)))


@cache
def expected_in_state(name, case, state):
    """The reference there, once for all backends."""
    return reference_values(name, in_state(case, state))


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "sparse", "weak noise", "weak noise, power 3", "random patch noise"])
@pytest.mark.parametrize("state", STATES)
def test_agrees_with_the_loops_in_other_states(name, backend, case, state):
    problem = in_state(case, state)
    assert_agrees(objective(name, problem, backend), problem, expected_in_state(name, case, state))


@cache
def exact_gradient(name, case, state):
    """Correlations and the gradient there by the loops, once for all backends.

    Features are along the axes of R^{2k}: scalar products with them are exact, so that the oracle has all digits of small neurons too.
    """
    problem = problems.problem(case)
    c = STATES[state](problem.parameters, np.random.default_rng(23))
    k, m = c.shape[:2]
    points = problem.data.to_patches().reshape(problem.parameters.N, -1, 2 * k)
    return c, reference.reference(name).gradient(c.reshape(k, m, 2 * k), points, *problem.arguments[1:]).reshape(c.shape)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "weak noise", "weak noise, power 3", "weak noise, power 2.5", "random patch noise"])
@pytest.mark.parametrize("state", ["initial", "spread"])
def test_small_neurons_keep_their_digits(name, backend, case, state):
    """The escape of a neuron multiplies its relative error, so a small gradient must be as good as the largest one."""
    problem = problems.problem(case)
    c, gradient = exact_gradient(name, case, state)
    tested = objective(name, problem, backend).gradient(c)
    sizes = np.max(np.abs(gradient), axis=(2, 3))
    assert sizes.max() > 10 * sizes.min()
    for of_neuron, expected_of_neuron in zip(np.concatenate(tested), np.concatenate(gradient), strict=True):
        assert_close(of_neuron, expected_of_neuron, ROUNDOFF)


HARD = sorted(name for name, cls in OBJECTIVES.items() if not cls.mixes and type(cls.pointwise) is CrossEntropy)
"""Objectives whose residuals vanish where every point is learned: single points, the label of which counts alone."""


@pytest.mark.parametrize("name", HARD)
@every_backend
@pytest.mark.parametrize("noise", ["codebook", "point", "patch"])
def test_tiny_softmax_gaps_keep_their_digits(name, backend, noise):
    """Long after learning 1 - phi is 1e-20 and less: computed as 1 - phi it would be 0, and the laggards would stand still.

    All points are of one class, so that no larger gap hides the small ones. Not asked of mixing, where pairs of two classes always have
    gaps of order one and dominate, nor of other pointwise losses, whose gaps need not vanish.
    """
    p = mvsim.Parameters(**{**problems.BASE, "noise": noise})
    rng = np.random.default_rng(22)
    c = 0.1 * rng.standard_normal((p.k, p.m, p.k, 2))
    c[1, :, 1] = 15.0
    data = mvsim.data.sample_points(p, rng, [1] * p.N)
    settled = problems.Problem("settled", p, data, c, rng.standard_normal(c.shape))
    values = reference_values(name, settled)
    assert 1e-60 < np.max(np.abs(values[1])) < 1e-18
    assert_agrees(objective(name, settled, backend), settled, values)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "random patch noise"])
def test_weights_zero(name, backend, case):
    """All outputs are 0 there: the loss is log k, and no neuron moves because R'(0) = 0."""
    problem = problems.problem(case)
    zero = np.zeros_like(problem.c)
    tested = objective(name, problem, backend)
    assert_close(tested.loss(zero), np.log(problem.parameters.k), ROUNDOFF)
    np.testing.assert_array_equal(tested.gradient(zero), zero)
    np.testing.assert_array_equal(tested.outputs(zero), 0.0)


# ---- against differences: needs no reference ----------------------------------------------------------------------------------------


def central_difference(function, c, direction):
    h = CENTRAL_DIFFERENCE_STEP
    return (function(c + h * direction) - function(c - h * direction)) / (2 * h)


@every_objective
@every_backend
@every_problem
def test_gradient_is_the_slope_of_the_loss(name, backend, case):
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    gradient = tested.gradient(problem.c)
    rng = np.random.default_rng(31)
    for _ in range(3):
        direction = rng.standard_normal(problem.c.shape)
        error = central_difference(tested.loss, problem.c, direction) - np.vdot(gradient, direction)
        assert abs(error) <= CENTRAL_DIFFERENCE * np.linalg.norm(gradient) * np.linalg.norm(direction)


@every_objective
@every_backend
@every_problem
def test_hessian_vector_product_is_the_slope_of_the_gradient(name, backend, case):
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    difference = central_difference(tested.gradient, problem.c, problem.direction)
    assert_close(tested.hessian_vector_product(problem.c, problem.direction), difference, CENTRAL_DIFFERENCE)


# ---- properties ---------------------------------------------------------------------------------------------------------------------

both_backends = settings(max_examples=12)


def everything(tested, problem):
    return [
        np.asarray(tested.loss(problem.c)),
        tested.gradient(problem.c),
        tested.outputs(problem.c),
        tested.hessian_vector_product(problem.c, problem.direction),
    ]


def assert_same(actual, expected, problem):
    """Assert that losses, gradients and, where given, outputs and Hessian-vector products agree.

    In random problems all points may be of one class and learned: loss and gradient are then tiny differences of large terms. So are
    pre-activations of small neurons in the oracle, whose weights have a part orthogonal to all features.
    """
    largest_output = np.max(np.abs(problem.c)) * problem.reach
    scales = [largest_output, problem.reach, problem.output_reach, problem.reach**2]
    for one, other, rtol, scale in zip(actual, expected, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], scales, strict=False):
        assert_close(one, other, rtol, scale)


seeds = st.integers(0, 2**32 - 1)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems())
def test_random_problems_agree_with_the_loops(name, backend, problem):
    loss, gradient, product, outputs = reference_values(name, problem)
    tested = objective(name, problem, backend)
    expected = [loss, reference.correlations(gradient, problem.features), outputs, reference.correlations(product, problem.features)]
    assert_same(everything(tested, problem), expected, problem)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_renaming_the_classes_renames_the_gradient(name, backend, problem, seed):
    new = np.random.default_rng(seed).permutation(problem.parameters.k)  # class y becomes class new[y]
    old = np.argsort(new)
    data = problem.data
    if isinstance(data, mvsim.data.SharedNoiseDataset):
        renamed = replace(data, labels=new[data.labels], patterns=np.ascontiguousarray(data.patterns[:, old]))
    else:
        renamed = mvsim.Dataset.from_patches(new[data.labels], data.to_patches()[:, :, old])
    np.testing.assert_array_equal(renamed.to_patches(), data.to_patches()[:, :, old])
    before, after = objective(name, problem, backend), objective(name, problems.with_data(problem, renamed), backend)
    c = problem.c[old][:, :, old]
    renamed_back = [before.loss(problem.c), before.gradient(problem.c)[old][:, :, old], before.outputs(problem.c)[old]]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c)], renamed_back, problem)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_the_order_of_patches_points_and_neurons_does_not_matter(name, backend, problem, seed):
    rng = np.random.default_rng(seed)
    place, order, neurons = (rng.permutation(n) for n in (problem.parameters.P, problem.parameters.N, problem.parameters.m))
    data = problem.data
    if isinstance(data, mvsim.data.SharedNoiseDataset):
        moved = replace(
            data,
            labels=data.labels[order],
            signal_coefficients=data.signal_coefficients[order],
            signal_patches=np.argsort(place)[data.signal_patches[order]],
            pattern_index=data.pattern_index[order],
        )
    else:
        moved = mvsim.Dataset.from_patches(data.labels[order], data.to_patches()[order][:, place])
    np.testing.assert_array_equal(moved.to_patches(), data.to_patches()[order][:, place])
    before, after = objective(name, problem, backend), objective(name, problems.with_data(problem, moved), backend)
    c = problem.c[:, neurons]
    moved_back = [before.loss(problem.c), before.gradient(problem.c)[:, neurons], before.outputs(problem.c)[:, order]]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c)], moved_back, problem)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_a_rotation_of_space_changes_nothing(name, backend, problem, seed):
    """Rotate weights, features and points of R^d together; what mvsim is given are the scalar products after the rotation."""
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((problems.D, problems.D)))[0]
    features, weights, points = (vectors @ rotation.T for vectors in (problem.features, problem.weights, problem.points))
    patches = np.einsum("ipd,sld->ipsl", points, features)
    data = mvsim.Dataset.from_patches(problem.data.labels, patches)
    rotated = problems.with_data(problem, data, reference.correlations(weights, features))
    before, after = objective(name, problem, backend), objective(name, rotated, backend)
    assert_same(after.loss_and_gradient(rotated.c), before.loss_and_gradient(problem.c), problem)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_a_rotation_among_the_features_rotates_the_gradient(name, backend, problem, seed):
    """Only scalar products of weights and patches count, so any orthonormal basis of the span of the features will do."""
    k = problem.parameters.k
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((2 * k, 2 * k)))[0]

    def rotate(array):
        return (array.reshape(*array.shape[:2], 2 * k) @ rotation.T).reshape(array.shape)

    data = mvsim.Dataset.from_patches(problem.data.labels, rotate(problem.data.to_patches()))
    before, after = objective(name, problem, backend), objective(name, problems.with_data(problem, data), backend)
    c, direction = rotate(problem.c), rotate(problem.direction)
    product = rotate(before.hessian_vector_product(problem.c, problem.direction))
    rotated = [before.loss(problem.c), rotate(before.gradient(problem.c)), before.outputs(problem.c), product]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c), after.hessian_vector_product(c, direction)], rotated, problem)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_a_neuron_common_to_all_classes_is_invisible(name, backend, problem, seed):
    """The softmax sees differences only: sum_y dL/dg_y = 0.

    Give every class one more neuron, the same for all. It adds the same number to every output: loss and gradients of the other neurons
    stay, and its own gradients sum to zero over the classes.
    """
    p = problem.parameters
    common = 6 * p.rho * np.random.default_rng(seed).standard_normal((p.k, 2))
    extended = np.concatenate([problem.c, np.broadcast_to(common, (p.k, 1, p.k, 2))], axis=1)
    before = objective(name, problem, backend)
    after = objective(name, replace(problem, parameters=p.replace(m=p.m + 1)), backend)
    gradient = after.gradient(extended)
    assert_same([after.loss(extended), gradient[:, : p.m]], before.loss_and_gradient(problem.c), problem)
    assert_close(gradient[:, p.m].sum(axis=0), np.zeros((p.k, 2)), ROUNDOFF, problem.reach)


@pytest.mark.parametrize("name", sorted(name for name in OBJECTIVES if name in MIXING))
@every_backend
@both_backends
@given(problem=problems.random_problems(), copies=st.integers(1, 4))
def test_on_copies_of_one_point_mixing_is_erm(name, backend, problem, copies):
    p, data = problem.parameters.replace(N=copies), problem.data
    if isinstance(data, mvsim.data.SharedNoiseDataset):
        first = np.zeros(copies, dtype=np.int64)
        parts = ("labels", "signal_coefficients", "signal_patches", "pattern_index")
        same = replace(data, **{part: getattr(data, part)[first] for part in parts})
    else:
        same = mvsim.Dataset.from_patches(data.labels[[0] * copies], data.to_patches()[[0] * copies])
    copied = replace(problem, parameters=p, data=same)
    assert_same(*(everything(objective(which, copied, backend), copied) for which in (name, "erm")), copied)


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_dead_neurons_stay_dead(name, backend, problem, seed):
    """A neuron whose pre-activation is <= 0 on every patch has gradient and curvature exactly 0, and so never moves."""
    problem = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, np.abs(problem.data.to_patches())))
    check_dead(name, backend, problem, seed)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "random point noise", "crowded", "fixed codebook", "plain ReLU"])
def test_dead_neurons_stay_dead_on_structured_data(name, backend, case):
    check_dead(name, backend, problems.problem(case), seed=0)


def check_dead(name, backend, problem, seed):
    c = problem.c.copy()
    dead = np.random.default_rng(seed).random(c.shape[:2]) < 0.5
    dead[0, 0] = True
    c[dead] = -np.abs(c[dead])
    tested = objective(name, problem, backend)
    assert np.all(tested.gradient(c)[dead] == 0.0)
    assert np.all(tested.hessian_vector_product(c, problem.direction)[dead] == 0.0)


def test_the_check_of_dead_neurons_fails_for_live_ones():
    problem = problems.problem("random codebook")
    tested = objective("erm", problem, "numpy")
    assert tested.gradient(problem.c).any(axis=(2, 3)).all()


@every_objective
@every_backend
@both_backends
@given(problem=problems.random_problems(), seed=seeds)
def test_the_hessian_is_symmetric_and_linear(name, backend, problem, seed):
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((2, *problem.c.shape))
    tested = objective(name, problem, backend)
    hu, hv = (tested.hessian_vector_product(problem.c, direction) for direction in (u, v))
    assert abs(np.vdot(u, hv) - np.vdot(v, hu)) <= HESSIAN_ROUNDOFF * np.linalg.norm(u) * np.linalg.norm(hv)
    combined = tested.hessian_vector_product(problem.c, 2.0 * u - 3.0 * v)
    assert np.max(np.abs(combined - (2.0 * hu - 3.0 * hv))) <= HESSIAN_ROUNDOFF * max(np.max(np.abs(hu)), np.max(np.abs(hv)))


# ---- backends, threads, calls -------------------------------------------------------------------------------------------------------

LARGER = {
    "codebook": {"k": 5, "m": 3, "P": 10, "N": 32, "G": 3, "Q": 3},
    "weak codebook": {"k": 3, "m": 2, "P": 40, "N": 40, "G": 2, "Q": 1, "delta3": 0.001, "delta4": 0.002},
    "point": {"k": 5, "m": 3, "P": 10, "N": 18, "noise": "point", "Q": 3},
    "patch": {"k": 5, "m": 3, "P": 10, "N": 18, "noise": "patch", "Q": 3},
}


@cache
def larger(kind):
    """Problems too large for the loops, with many points to each noise pattern and several classes to each thread."""
    p = mvsim.Parameters(**{**problems.BASE, **LARGER[kind]})
    rng = np.random.default_rng(41)
    c = problems.random_correlations(p, rng)
    return problems.Problem(kind, p, mvsim.sample_dataset(p, seed=1), c, rng.standard_normal(c.shape))


@every_objective
@pytest.mark.parametrize("kind", LARGER)
def test_backends_agree(name, kind):
    problem = larger(kind)
    results = [everything(objective(name, problem, backend), problem) for backend in ("numpy", "numba")]
    for numpy_result, numba_result, rtol in zip(*results, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], strict=True):
        assert_close(numba_result, numpy_result, rtol)


@every_objective
@pytest.mark.parametrize("kind", LARGER)
@pytest.mark.parametrize("largest", [30.0, 120.0, 280.0, 600.0, 1500.0])
def test_backends_agree_at_large_outputs(name, kind, largest):
    """Exponentials and their products must be taken in an order that does not overflow, whatever the size of the outputs."""
    problem = larger(kind)
    outputs = objective("erm", problem, "numpy").outputs(problem.c)
    problem = problems.with_data(problem, problem.data, problem.c * largest / np.max(outputs))
    results = [everything(objective(name, problem, backend), problem) for backend in ("numpy", "numba")]
    assert_same(*results, problem)


@every_objective
@pytest.mark.parametrize("alpha", [8, 3, 2, 1])
@pytest.mark.parametrize("noise", [0.0, 0.002])
def test_backends_agree_next_to_the_borders_of_the_regimes(name, alpha, noise):
    """The least or largest pre-activation of a neuron on a feature, by which moments decide how to sum it, is next to 0 or rho, on either side."""
    p = larger("weak codebook").parameters.replace(alpha=alpha, delta3=noise / 2, delta4=noise)
    data = mvsim.sample_dataset(p, seed=1)
    rng = np.random.default_rng(43)
    c = np.empty((p.k, p.m, p.k, 2))
    for s, view in np.ndindex(p.k, 2):
        beta = data.own_coefficients(view)[data.labels == s]
        borders = [p.rho / (lam * end) * (1.0 + step) for lam in (0.5, 1.0) for end in (beta.min(), beta.max()) for step in (-1e-9, 1e-9)]
        c[:, :, s, view] = rng.choice([*borders, -1e-9 * p.rho, 1e-9 * p.rho], (p.k, p.m))
    problem = problems.Problem("borders", p, data, c, rng.standard_normal(c.shape))
    results = [everything(objective(name, problem, backend), problem) for backend in ("numpy", "numba")]
    assert_same(*results, problem)


@every_objective
@every_backend
@pytest.mark.parametrize("kind", LARGER)
def test_structure_of_the_noise_is_an_optimisation_only(name, backend, kind):
    """The same points given as plain patches take another path through the code and give the same numbers."""
    problem = larger(kind)
    plain = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, problem.data.to_patches()))
    results = [everything(objective(name, each, backend), each) for each in (plain, problem)]
    for from_patches, from_structure, rtol in zip(*results, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], strict=True):
        assert_close(from_structure, from_patches, rtol)


@every_objective
@every_backend
@pytest.mark.parametrize("kind", LARGER)
def test_bits_do_not_depend_on_the_number_of_threads(name, backend, kind):
    problem = larger(kind)
    one, two = (everything(objective(name, problem, backend, threads=threads), problem) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


@every_objective
@every_backend
@pytest.mark.parametrize("kind", LARGER)
def test_calls_repeat_bit_for_bit_and_leave_their_arguments_alone(name, backend, kind):
    problem = larger(kind)
    c, direction = problem.c.copy(), problem.direction.copy()
    tested = objective(name, problem, backend)
    first = everything(tested, problem)
    kept = [result.copy() for result in first]
    tested.gradient(2.0 * problem.c)  # must not write into what was returned before
    tested.outputs(2.0 * problem.c)
    for result, copy, again in zip(first, kept, everything(tested, problem), strict=True):
        np.testing.assert_array_equal(result, copy)
        np.testing.assert_array_equal(again, copy)
    loss, gradient = tested.loss_and_gradient(problem.c)
    assert_close(loss, first[0], ROUNDOFF)
    assert_close(gradient, first[1], ROUNDOFF)
    np.testing.assert_array_equal(problem.c, c)
    np.testing.assert_array_equal(problem.direction, direction)


@every_objective
@every_backend
def test_memory_layout_of_the_argument_does_not_matter(name, backend):
    problem = larger("codebook")
    tested = objective(name, problem, backend)
    expected_gradient = tested.gradient(problem.c)
    assert isinstance(tested.loss(problem.c), float)
    strided = np.repeat(problem.c, 2, axis=3)[..., ::2]
    for c in (np.asfortranarray(problem.c), strided):
        assert not c.flags.c_contiguous
        np.testing.assert_array_equal(tested.gradient(c), expected_gradient)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "random patch noise"])
def test_correlations_of_a_wrong_shape_are_refused(name, backend, case):
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    for wrong in (problem.c[:, :, :, :1], problem.c[:-1], problem.c[:, :, :-1], problem.c[0], problem.c[0, 0, 0, 0]):
        for function in (tested.loss, tested.gradient, tested.outputs, lambda c: tested.hessian_vector_product(problem.c, c)):
            with pytest.raises(mvsim.UsageError, match="shape"):
                function(wrong)


@pytest.mark.parametrize(("fields", "named"), [({"name": "erm "}, "erm "), ({"backend": "abacus"}, "backend"), ({"threads": 0}, "threads")])
def test_unknown_choices_are_refused(fields, named):
    problem = problems.problem("random codebook")
    options = {"name": "erm", "backend": "auto", "threads": None, **fields}
    with pytest.raises(mvsim.UsageError, match=named) as caught:
        mvsim.objective(options.pop("name"), problem.parameters, problem.data, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "weak noise", "weak noise, power 2.5", "random point noise", "random patch noise"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_not_hidden(name, backend, case, bad):
    """A NaN must not pass for a dead neuron in a kernel, wherever it stands, and an objective says which correlation it is."""
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    seen = problem.data.to_patches().any(axis=(0, 1))
    assert seen.any()
    for s, view in np.argwhere(seen):
        c = problem.c.copy()
        c[0, 1, s, view] = bad
        for _, points in tested.points:
            loss, gradient = tested.kernel.loss_and_gradient(c, points, tested.pointwise)
            assert not (np.isfinite(loss) and np.isfinite(gradient).all())
        assert not np.isfinite(tested.kernel.outputs(c)).all()
        for method in (tested.outputs, tested.loss, tested.gradient, tested.loss_and_gradient, lambda c: tested.hessian_vector_product(c, problem.c)):
            with pytest.raises(mvsim.UsageError, match=rf"^c\[0, 1, {s}, {view}\]={bad}: must be finite"):
                method(c)
        with pytest.raises(mvsim.UsageError, match=r"^v\["):
            tested.hessian_vector_product(problem.c, c)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "weak noise, power 2.5", "random patch noise"])
@pytest.mark.parametrize("size", [1e20, 1e60, 1e200, 1e307])
def test_what_is_computed_at_huge_correlations_is_finite_or_an_error(name, backend, case, size):
    problem = problems.problem(case)
    tested, c = objective(name, problem, backend), problem.c * (size / np.abs(problem.c).max())
    for method in (tested.outputs, tested.loss, tested.gradient, lambda c: tested.hessian_vector_product(c, problem.c)):
        refused = ""
        try:
            found = method(c)
        except mvsim.UsageError as error:
            found, refused = 0.0, str(error)
        assert np.isfinite(found).all()
        assert not refused or size > 1e20
        assert not refused or refused.endswith(f"not finite in double precision (largest correlation |c| = {size:g})")


@every_objective
def test_data_of_another_number_of_classes_are_refused(name):
    problem = problems.problem("random codebook")
    with pytest.raises(mvsim.UsageError, match="k"):
        mvsim.objective(name, problem.parameters.replace(k=4), problem.data)


# ---- parts that no registered objective uses alone ----------------------------------------------------------------------------------

LAMBDA = 0.3


class OneLambda(Objective):
    """Mixup with the point mass at LAMBDA: pairs (i, j) and (j, i) differ, unlike at one half."""

    name = "one lambda"
    mixes = True

    @property
    def points(self):
        return ((1.0, AllPairs(LAMBDA)),)


class Listed(Objective):
    """Given mixtures, among them points alone (lambda 0 and 1), midpoints, points with themselves and repetitions."""

    name = "listed"
    mixes = True

    def mixtures(self):
        rng = np.random.default_rng(51)
        first, second, lam = rng.integers(self.data.N, size=(9, 3)).T, rng.integers(self.data.N, size=(9, 3)).T, rng.random((3, 9))
        first[1] = second[1]
        lam[2] = np.resize([0.0, 0.5, 1.0], 9)
        repeated = np.append(np.arange(27), [3, 3])
        return first.ravel()[repeated], second.ravel()[repeated], lam.ravel()[repeated]

    @property
    def points(self):
        return ((1.0, ListedPairs(*self.mixtures())),)


class AnotherLoss:
    """A pointwise loss under another class, so that kernels cannot recognise it and must take their general path."""

    def __init__(self, same):
        self.value, self.residual, self.curvature = same.value, same.residual, same.curvature


@every_backend
@every_problem
def test_mixing_with_any_lambda_agrees_with_the_loops(backend, case):
    problem = problems.problem(case)
    tested = OneLambda(problem.parameters, problem.data, backend)
    gradient = reference.mixup_gradient(problem.weights, *problem.arguments, LAMBDA)
    direction = reference.embed(problem.direction, problem.features, np.random.default_rng(13))
    product = reference.hessian_vector_product(reference.mixup_gradient, problem.weights, direction, *problem.arguments, LAMBDA)
    assert_close(tested.loss(problem.c), reference.mixup_loss(problem.weights, *problem.arguments, LAMBDA), ROUNDOFF)
    assert_close(tested.gradient(problem.c), reference.correlations(gradient, problem.features), ROUNDOFF)
    projected = reference.correlations(product, problem.features)
    assert_close(tested.hessian_vector_product(problem.c, problem.direction), projected, HESSIAN_ROUNDOFF)


@every_backend
@every_problem
def test_listed_mixtures_agree_with_the_loops(backend, case):
    problem = problems.problem(case)
    tested = Listed(problem.parameters, problem.data, backend)
    arguments = (*problem.arguments, list(zip(*tested.mixtures(), strict=True)))
    gradient = reference.listed_gradient(problem.weights, *arguments)
    direction = reference.embed(problem.direction, problem.features, np.random.default_rng(13))
    product = reference.hessian_vector_product(reference.listed_gradient, problem.weights, direction, *arguments)
    assert_close(tested.loss(problem.c), reference.listed_loss(problem.weights, *arguments), ROUNDOFF)
    assert_close(tested.gradient(problem.c), reference.correlations(gradient, problem.features), ROUNDOFF)
    projected = reference.correlations(product, problem.features)
    assert_close(tested.hessian_vector_product(problem.c, problem.direction), projected, HESSIAN_ROUNDOFF)


@every_objective
@every_backend
@pytest.mark.parametrize("case", ["random codebook", "crowded", "random point noise", "random patch noise", "one point"])
def test_a_loss_of_another_class_takes_the_same_values(name, backend, case):
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    tested.pointwise = AnotherLoss(tested.pointwise)
    assert_agrees(tested, problem, expected(name, case))


def test_the_automatic_backend_is_one_of_the_tested_ones():
    for case in ("random codebook", "random patch noise"):
        problem = problems.problem(case)
        words = {backend: objective("midpoint", problem, backend).describe() for backend in ("auto", "numba", "numpy")}
        assert words["auto"] in (words["numba"], words["numpy"])


@every_objective
@pytest.mark.parametrize(("module", "backend"), [("oracle", "numpy"), ("any_patches.kernel", "numba")])
def test_work_in_pieces_gives_the_same_sums(name, module, backend, monkeypatch):
    """Large problems are done a piece at a time; here the pieces are made as small as one row."""
    problem = larger("patch")
    whole = everything(objective(name, problem, backend), problem)
    monkeypatch.setattr(f"mvsim.kernels.{module}._BATCH_BYTES", 1)
    pieces = everything(objective(name, problem, backend), problem)
    for one, other, rtol in zip(pieces, whole, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], strict=True):
        assert_close(one, other, rtol)


@every_objective
def test_a_few_patches_at_a_time_give_the_same_sums(name, monkeypatch):
    """Pre-activations are formed for as many patches at a time as stay in the cache; here for 4, 4 and 2."""
    problem = larger("patch")
    assert problem.parameters.P == 10
    whole = everything(objective(name, problem, "numba"), problem)
    monkeypatch.setattr("mvsim.kernels.any_patches.kernel._MOST_WIDTH", 4)
    parts = everything(objective(name, problem, "numba"), problem)
    for one, other, rtol in zip(parts, whole, [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF], strict=True):
        assert_close(one, other, rtol)
    assert any(np.any(one != other) for one, other in zip(parts, whole, strict=True))


@every_objective
@every_backend
def test_points_without_any_feature(name, backend):
    """All outputs on such points are 0."""
    problem = larger("patch")
    patches = problem.data.to_patches()
    patches[[0, 5, -1]] = 0.0
    some = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, patches))
    for one, other in zip(*(everything(objective(name, some, which), some) for which in (backend, "numpy")), strict=True):
        assert_close(one, other, HESSIAN_ROUNDOFF)
    np.testing.assert_array_equal(objective(name, some, backend).outputs(some.c)[:, [0, 5, -1]], 0.0)
    none = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, 0.0 * patches))
    loss, gradient = objective(name, none, backend).loss_and_gradient(none.c)
    assert_close(loss, np.log(problem.parameters.k), ROUNDOFF)
    np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("largest", [10.0, 20.0, 60.0, 150.0])
@pytest.mark.parametrize("N", [1, 4])
def test_the_gap_of_pairs_of_one_class_keeps_its_digits(N, largest):
    p = mvsim.Parameters(k=3, N=N, G=4)
    points = sample_points(p, stream(0, "points"), np.zeros(N, dtype=int))
    c = 0.01 * np.abs(np.random.default_rng(0).standard_normal((3, 3, 3, 2)))
    c[0, 0, 0] = largest
    fast, slow = (mvsim.objective("midpoint", p, points, backend=backend).gradient(c) for backend in ("auto", "numpy"))
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-10 * np.abs(slow).max())


def test_the_quadrature_of_a_loss_that_is_0_has_no_error():
    p = mvsim.Parameters(k=2, N=1)
    objective = mvsim.objective("mixup", p, mvsim.sample_dataset(p, 0))
    c = np.zeros((p.k, p.m, p.k, 2))
    c[objective.data.labels[0], :, objective.data.labels[0]] = 1e8
    assert objective.loss(c) == 0.0
    assert objective.quadrature_error(c) == (0.0, 0.0)
