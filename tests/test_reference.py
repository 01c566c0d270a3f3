"""The oracle is checked against itself by independent routes before anything is checked against the oracle."""

import numpy as np
import problems
import pytest
import reference
from compare import assert_close, assert_components_close
from looping import looping
from tolerances import (
    CENTRAL_DIFFERENCE,
    CENTRAL_DIFFERENCE_STEP,
    COMPONENT_ABSOLUTE,
    FEW_OPERATIONS,
    HESSIAN_ROUNDOFF,
    ORTHONORMAL,
    OUTSIDE_SPAN,
    ROUNDOFF,
)

NAMES = ["random codebook", "random patch noise", "random point noise", "no structure", "smallest"]
LAMBDA = 0.3


def functions(name):
    if name == "mixup":
        return (lambda *a: reference.mixup_loss(*a, LAMBDA)), (lambda *a: reference.mixup_gradient(*a, LAMBDA))
    return reference.REFERENCES[name].loss, reference.REFERENCES[name].gradient


@looping("name", sorted(problems.PARAMETERS))
def test_every_problem_hits_every_part_of_the_activation(name):
    problems.assert_every_regime_is_hit(problems.problem(name), least=0.02)


def test_the_check_of_the_regimes_fails_where_one_is_missed():
    problem = problems.problem("random codebook")
    with pytest.raises(AssertionError, match="linear"):
        problems.assert_every_regime_is_hit(problems.with_data(problem, problem.data, 0.01 * problem.c))


@looping("objective", sorted(reference.REFERENCES))
@looping("name", NAMES)
def test_gradient_is_the_complex_step_derivative_of_the_loss(objective, name):
    problem = problems.problem(name)
    loss, gradient = functions(objective)
    direction = np.random.default_rng(5).standard_normal(problem.weights.shape)
    step = reference.COMPLEX_STEP
    slope = np.imag(loss(problem.weights + 1j * step * direction, *problem.arguments)) / step
    assert_close(np.vdot(gradient(problem.weights, *problem.arguments), direction), slope, ROUNDOFF)


@looping("objective", sorted(reference.REFERENCES))
@looping("name", NAMES)
def test_hessian_vector_product_is_the_difference_of_gradients(objective, name):
    problem = problems.problem(name)
    gradient = functions(objective)[1]
    direction = np.random.default_rng(6).standard_normal(problem.weights.shape)
    h = CENTRAL_DIFFERENCE_STEP
    ahead, behind = (gradient(problem.weights + sign * h * direction, *problem.arguments) for sign in (1, -1))
    difference = (ahead - behind) / (2 * h)
    assert_close(reference.hessian_vector_product(gradient, problem.weights, direction, *problem.arguments), difference, CENTRAL_DIFFERENCE)


@looping("name", NAMES)
def test_midpoint_is_mixup_at_one_half_and_erm_at_one(name):
    problem = problems.problem(name)
    for lam, objective in ((0.5, "midpoint"), (1.0, "erm"), (0.0, "erm")):
        loss, gradient = functions(objective)
        arguments = (problem.weights, *problem.arguments)
        assert_close(reference.mixup_loss(*arguments, lam), loss(*arguments), ROUNDOFF)
        assert_close(reference.mixup_gradient(*arguments, lam), gradient(*arguments), ROUNDOFF)


def test_three_nodes_integrate_powers_up_to_five():
    for power in range(6):
        assert_close(sum(weight * lam**power for lam, weight in reference.THREE_NODES), 1 / (power + 1), FEW_OPERATIONS)


def test_softmax_by_hand_and_without_overflow():
    assert_components_close(reference.softmax(np.log(np.array([1.0, 2.0, 5.0]))), [0.125, 0.25, 0.625], FEW_OPERATIONS, 0)
    assert_components_close(reference.softmax(np.array([1e6, 0.0])), [1.0, 0.0], 0, 0)
    assert_components_close(reference.log_softmax(np.array([1e6, 0.0])), [0.0, -1e6], 0, 0)


def test_embedding_has_the_given_correlations_and_an_orthogonal_part():
    problem = problems.problem("random codebook")
    v = problem.features.reshape(-1, problems.D)
    assert np.max(np.abs(v @ v.T - np.eye(len(v)))) <= ORTHONORMAL
    assert_close(reference.correlations(problem.weights, problem.features), problem.c, ROUNDOFF)
    rest = reference.orthogonal_part(problem.weights, problem.features)
    assert np.min(np.sum(rest**2, axis=2)) > 0.05  # what is left of N(0, 1/d) in 10 of 16 dimensions is about 0.6
    assert np.max(np.abs(reference.correlations(rest, problem.features))) <= OUTSIDE_SPAN * np.max(np.abs(problem.c))


def test_one_point_by_hand():
    """k = 2, m = 1, two patches: g = (R(1.5), R(0.25) + R(-1)) with rho = 0.5, alpha = 2, worked out on paper."""
    features = np.eye(4).reshape(2, 2, 4)
    weights = np.array([[[3.0, 0.0, 0.0, 0.0]], [[0.5, -2.0, 0.0, 0.0]]])
    x = np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0]])
    g = np.array([1.5 - 0.25, 0.0625])  # 1.5 is linear: z - rho/2; 0.25 is polynomial: z^2 / (2 rho) = 0.0625; -1 is dead
    assert_components_close(reference.outputs(weights, x, 0.5, 2), g, FEW_OPERATIONS, 0)
    loss = np.log(1 + np.exp(g[1] - g[0]))
    assert_close(reference.erm_loss(weights, [x], [0], 0.5, 2), loss, FEW_OPERATIONS)
    assert_close(reference.midpoint_loss(weights, [x], [0], 0.5, 2), loss, FEW_OPERATIONS)
    phi = 1 / (1 + np.exp(g[0] - g[1]))
    expected = np.array([[[-phi * 0.5, 0, 0, 0]], [[phi * 0.5 * 0.5, 0, 0, 0]]])  # R' = 1 and 0.5, coefficient 0.5
    assert_components_close(reference.erm_gradient(weights, [x], [0], 0.5, 2), expected, FEW_OPERATIONS, 0)
    assert reference.feature_is_learned(weights, x, 0, 0, features, 0.5, 2)
    assert not reference.feature_is_learned(weights, x, 0, 1, features, 0.5, 2)  # both outputs are zero: a tie is not a win


def test_diagnostics_by_hand():
    c = np.zeros((2, 3, 2, 2))
    c[0, :, 0, 0] = [0.5, 2.0, 3.0]
    c[0, :, 1, 0] = 9.0  # off-diagonal: must not be seen
    assert reference.max_correlation(c, 0, 0) == 3.0
    assert reference.active_neurons(c, 0, 0, 2.0) == {1, 2}
    assert reference.total_correlation(c, 0, 0, 2.0) == 5.0
    patches = np.zeros((2, 2, 2, 2))
    patches[0, 0, 0, 0], patches[0, 1, 0, 0], patches[1, 0, 0, 0] = 0.5, -4.0, 7.0
    assert reference.signal_strength(patches, [0, 1], 0, 0, 2) == 0.125


def test_component_slack_is_below_every_gradient_entry_that_matters():
    """COMPONENT_ABSOLUTE must not swallow whole gradients: their largest entries are far above it."""
    for name in NAMES:
        problem = problems.problem(name)
        assert np.max(np.abs(reference.erm_gradient(problem.weights, *problem.arguments))) > 1e6 * COMPONENT_ABSOLUTE


def test_the_tolerances_are_ordered():
    assert FEW_OPERATIONS <= ROUNDOFF <= HESSIAN_ROUNDOFF < 1e-6
