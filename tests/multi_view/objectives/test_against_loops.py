"""Every registered objective on every backend against the loops in R^{P x d}."""

from functools import cache

import numpy as np
import problems
import pytest
import reference
from compare import assert_close
from looping import looping
from objective_cases import assert_agrees, every_backend, every_objective, expected, objective, reference_values
from tolerances import OUTSIDE_SPAN, ROUNDOFF

import mvsim
from mvsim.multi_view.objectives import OBJECTIVES


@every_objective
@every_backend
@looping("case", sorted(problems.PARAMETERS))
def test_agrees_with_the_loops(name, backend, case):
    problem = problems.problem(case)
    assert_agrees(objective(name, problem, backend), problem, expected(name, case))


@every_objective
@looping("case", sorted(problems.PARAMETERS))
def test_the_reference_gradient_lies_in_the_span_of_the_features(name, case):
    """The reduction to correlations: the part of w orthogonal to the features gets no gradient and no curvature."""
    problem = problems.problem(case)
    _, gradient, product, _ = expected(name, case)
    for vector in (gradient, product):
        rest = reference.orthogonal_part(vector, problem.features)
        assert np.max(np.abs(rest)) <= OUTSIDE_SPAN * np.max(np.abs(vector))


def own(p, value):
    """Correlations that are ``value`` on the own class and -0.3 value elsewhere."""
    c = np.full(p.correlations_shape, -0.3 * value)
    for y in range(p.k):
        c[y, :, y] = value
    return c


STATES = {
    "initial": lambda p, rng: problems.random_correlations(p, rng, 0.05),  # far inside the polynomial part
    "spread": lambda p, rng: problems.spread_correlations(p, rng),  # neurons of every size between rho/1000 and 10 rho
    "learned": lambda p, rng: own(p, 3.0) + 0.1 * rng.standard_normal(p.correlations_shape),
    "unlearned": lambda p, rng: own(p, -3.0) + 0.1 * rng.standard_normal(p.correlations_shape),  # confident and wrong
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
@looping("case", ["random codebook", "sparse", "weak noise", "weak noise, power 3", "random patch noise"])
@looping("state", STATES)
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
    points = problem.data.to_patches().reshape(problem.parameters.N, -1, problem.parameters.features)
    return c, reference.reference(name).gradient(c.reshape(k, m, -1), points, *problem.arguments[1:]).reshape(c.shape)


@every_objective
@every_backend
@looping("case", ["random codebook", "weak noise", "weak noise, power 3", "weak noise, power 2.5", "random patch noise"])
@looping("state", ["initial", "spread"])
def test_small_neurons_keep_their_digits(name, backend, case, state):
    """The escape of a neuron multiplies its relative error, so a small gradient must be as good as the largest one."""
    problem = problems.problem(case)
    c, gradient = exact_gradient(name, case, state)
    tested = objective(name, problem, backend).gradient(c)
    sizes = np.max(np.abs(gradient), axis=(2, 3))
    assert sizes.max() > 10 * sizes.min()
    for of_neuron, expected_of_neuron in zip(np.concatenate(tested), np.concatenate(gradient), strict=True):
        assert_close(of_neuron, expected_of_neuron, ROUNDOFF)


HARD = sorted(name for name, cls in OBJECTIVES.items() if not cls.mixes)
"""Objectives whose residuals vanish where every point is learned: single points, the label of which counts alone."""


@cache
def settled_problem(name, noise):
    """A learned problem, all points of which are of one class, and its reference, once for all backends."""
    p = mvsim.Parameters(**{**problems.BASE, "noise": noise})
    rng = np.random.default_rng(22)
    c = 0.1 * rng.standard_normal(p.correlations_shape)
    c[1, :, 1] = 15.0
    data = mvsim.multi_view.data.sample_points(p, rng, [1] * p.N)
    settled = problems.Problem("settled", p, data, c, rng.standard_normal(c.shape))
    return settled, reference_values(name, settled)


@pytest.mark.parametrize("name", HARD)
@every_backend
@looping("noise", ["codebook", "point", "patch"])
def test_tiny_softmax_gaps_keep_their_digits(name, backend, noise):
    """Long after learning 1 - phi is 1e-20 and less: computed as 1 - phi it would be 0, and the laggards would stand still.

    All points are of one class, so that no larger gap hides the small ones. Not asked of mixing, where pairs of two classes always have
    gaps of order one and dominate.
    """
    settled, values = settled_problem(name, noise)
    assert 1e-60 < np.max(np.abs(values[1])) < 1e-18
    assert_agrees(objective(name, settled, backend), settled, values)


@every_objective
@every_backend
@looping("case", ["random codebook", "random patch noise"])
def test_weights_zero(name, backend, case):
    """All outputs are 0 there: the loss is log k, and no neuron moves because R'(0) = 0."""
    problem = problems.problem(case)
    zero = np.zeros_like(problem.c)
    tested = objective(name, problem, backend)
    assert_close(tested.loss(zero), np.log(problem.parameters.k), ROUNDOFF)
    np.testing.assert_array_equal(tested.gradient(zero), zero)
    np.testing.assert_array_equal(tested.outputs(zero), 0.0)
