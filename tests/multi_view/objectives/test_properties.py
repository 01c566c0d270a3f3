"""Symmetries of the theory: properties of every objective on random problems, of the oracle; all backends agree with the loops on random problems."""

from dataclasses import replace

import numpy as np
import problems
import pytest
import reference
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
def test_a_rotation_of_space_changes_nothing(name, problem, seed):
    """Rotate weights, features and points of R^d together; what mvsim is given are the scalar products after the rotation."""
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((problems.D, problems.D)))[0]
    features, weights, points = (vectors @ rotation.T for vectors in (problem.features, problem.weights, problem.points))
    patches = np.einsum("ipd,sld->ipsl", points, features)
    data = mvsim.Dataset.from_patches(problem.data.labels, patches)
    rotated = problems.with_data(problem, data, reference.correlations(weights, features))
    before, after = objective(name, problem, READABLE), objective(name, rotated, READABLE)
    assert_same(after.loss_and_gradient(rotated.c), before.loss_and_gradient(problem.c), problem)


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
