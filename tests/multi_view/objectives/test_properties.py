"""Symmetries of the theory: properties of every objective on random problems, of the oracle; all backends agree with the loops on random problems."""

from dataclasses import replace

import numpy as np
import problems
import pytest
import reference
from compare import assert_close
from hypothesis import given
from hypothesis import strategies as st
from looping import looping
from objective_cases import (
    MIXING,
    READABLE,
    assert_same,
    every_backend,
    every_objective,
    everything,
    few_examples,
    objective,
    reference_values,
    seeds,
)
from tolerances import (
    HESSIAN_ROUNDOFF,
    ROUNDOFF,
)
from usable import RUNNABLE

import mvsim
from mvsim.multi_view.objectives import OBJECTIVES


@every_objective
@few_examples
@given(problem=problems.random_problems())
def test_random_problems_agree_with_the_loops(name, problem):
    """The loops are computed once for all backends."""
    loss, gradient, product, outputs = reference_values(name, problem)
    expected = [loss, reference.correlations(gradient, problem.features), outputs, reference.correlations(product, problem.features)]
    for backend in RUNNABLE[1:]:
        assert_same(everything(objective(name, problem, backend), problem), expected, problem)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_renaming_the_classes_renames_the_gradient(name, problem, seed):
    new = np.random.default_rng(seed).permutation(problem.parameters.k)  # class y becomes class new[y]
    old = np.argsort(new)
    data = problem.data
    if isinstance(data, mvsim.multi_view.data.SharedNoiseDataset):
        renamed = replace(data, labels=new[data.labels], patterns=np.ascontiguousarray(data.patterns[:, old]))
    else:
        renamed = mvsim.Dataset.from_patches(new[data.labels], data.to_patches()[:, :, old])
    np.testing.assert_array_equal(renamed.to_patches(), data.to_patches()[:, :, old])
    before, after = objective(name, problem, READABLE), objective(name, problems.with_data(problem, renamed), READABLE)
    c = problem.c[old][:, :, old]
    renamed_back = [before.loss(problem.c), before.gradient(problem.c)[old][:, :, old], before.outputs(problem.c)[old]]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c)], renamed_back, problem)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_the_order_of_patches_points_and_neurons_does_not_matter(name, problem, seed):
    rng = np.random.default_rng(seed)
    place, order, neurons = (rng.permutation(n) for n in (problem.parameters.P, problem.parameters.N, problem.parameters.m))
    data = problem.data
    if isinstance(data, mvsim.multi_view.data.SharedNoiseDataset):
        reordered = replace(
            data,
            labels=data.labels[order],
            signal_coefficients=data.signal_coefficients[order],
            signal_patches=np.argsort(place)[data.signal_patches[order]],
            pattern_index=data.pattern_index[order],
        )
    else:
        reordered = mvsim.Dataset.from_patches(data.labels[order], data.to_patches()[order][:, place])
    np.testing.assert_array_equal(reordered.to_patches(), data.to_patches()[order][:, place])
    before, after = objective(name, problem, READABLE), objective(name, problems.with_data(problem, reordered), READABLE)
    c = problem.c[:, neurons]
    back_in_order = [before.loss(problem.c), before.gradient(problem.c)[:, neurons], before.outputs(problem.c)[:, order]]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c)], back_in_order, problem)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_a_rotation_of_space_changes_nothing(name, problem, seed):
    """Rotate weights, features and points of R^d together; what mvsim is given are the scalar products after the rotation."""
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((problems.D, problems.D)))[0]
    features, weights, points = (vectors @ rotation.T for vectors in (problem.features, problem.weights, problem.points))
    patches = np.einsum("ipd,sld->ipsl", points, features)
    data = mvsim.Dataset.from_patches(problem.data.labels, patches)
    rotated = problems.with_data(problem, data, reference.correlations(weights, features))
    before, after = objective(name, problem, READABLE), objective(name, rotated, READABLE)
    assert_same(after.loss_and_gradient(rotated.c), before.loss_and_gradient(problem.c), problem)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_a_rotation_among_the_features_rotates_the_gradient(name, problem, seed):
    """Only scalar products of weights and patches count, so any orthonormal basis of the span of the features will do."""
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((problem.parameters.features,) * 2))[0]

    def rotate(array):
        return (array.reshape(*array.shape[:2], -1) @ rotation.T).reshape(array.shape)

    data = mvsim.Dataset.from_patches(problem.data.labels, rotate(problem.data.to_patches()))
    before, after = objective(name, problem, READABLE), objective(name, problems.with_data(problem, data), READABLE)
    c, direction = rotate(problem.c), rotate(problem.direction)
    product = rotate(before.hessian_vector_product(problem.c, problem.direction))
    rotated = [before.loss(problem.c), rotate(before.gradient(problem.c)), before.outputs(problem.c), product]
    assert_same([after.loss(c), after.gradient(c), after.outputs(c), after.hessian_vector_product(c, direction)], rotated, problem)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_a_neuron_common_to_all_classes_is_invisible(name, problem, seed):
    """The softmax sees differences only: sum_y dL/dg_y = 0.

    Give every class one more neuron, the same for all. It adds the same number to every output: loss and gradients of the other neurons
    stay, and its own gradients sum to zero over the classes.
    """
    p = problem.parameters
    common = 6 * p.rho * np.random.default_rng(seed).standard_normal((p.k, p.V))
    extended = np.concatenate([problem.c, np.broadcast_to(common, (p.k, 1, p.k, p.V))], axis=1)
    before = objective(name, problem, READABLE)
    after = objective(name, replace(problem, parameters=p.replace(m=p.m + 1)), READABLE)
    gradient = after.gradient(extended)
    assert_same([after.loss(extended), gradient[:, : p.m]], before.loss_and_gradient(problem.c), problem)
    assert_close(gradient[:, p.m].sum(axis=0), np.zeros((p.k, p.V)), ROUNDOFF, problem.reach)


@pytest.mark.parametrize("name", sorted(name for name in OBJECTIVES if name in MIXING))
@few_examples
@given(problem=problems.random_problems(), copies=st.integers(1, 4))
def test_on_copies_of_one_point_mixing_is_erm(name, problem, copies):
    p, data = problem.parameters.replace(N=copies), problem.data
    if isinstance(data, mvsim.multi_view.data.SharedNoiseDataset):
        first = np.zeros(copies, dtype=np.int64)
        parts = ("labels", "signal_coefficients", "signal_patches", "pattern_index")
        same = replace(data, **{part: getattr(data, part)[first] for part in parts})
    else:
        same = mvsim.Dataset.from_patches(data.labels[[0] * copies], data.to_patches()[[0] * copies])
    copied = replace(problem, parameters=p, data=same)
    assert_same(*(everything(objective(which, copied, READABLE), copied) for which in (name, "erm")), copied)


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_dead_neurons_stay_dead(name, problem, seed):
    """A neuron whose pre-activation is <= 0 on every patch has gradient and curvature exactly 0, and so never moves."""
    problem = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, np.abs(problem.data.to_patches())))
    check_dead(name, READABLE, problem, seed)


@every_objective
@every_backend
@looping("case", ["random codebook", "random point noise", "crowded", "fixed codebook", "plain ReLU"])
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
    tested = objective("erm", problem, READABLE)
    assert tested.gradient(problem.c).any(axis=(2, 3)).all()


@every_objective
@few_examples
@given(problem=problems.random_problems(), seed=seeds)
def test_the_hessian_is_symmetric_and_linear(name, problem, seed):
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((2, *problem.c.shape))
    tested = objective(name, problem, READABLE)
    hu, hv = (tested.hessian_vector_product(problem.c, direction) for direction in (u, v))
    assert abs(np.vdot(u, hv) - np.vdot(v, hu)) <= HESSIAN_ROUNDOFF * np.linalg.norm(u) * np.linalg.norm(hv)
    combined = tested.hessian_vector_product(problem.c, 2.0 * u - 3.0 * v)
    assert np.max(np.abs(combined - (2.0 * hu - 3.0 * hv))) <= HESSIAN_ROUNDOFF * max(np.max(np.abs(hu)), np.max(np.abs(hv)))
