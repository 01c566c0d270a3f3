"""Points and losses that no registered objective uses alone: mixtures with any lambda, listed mixtures, a loss of another class."""

import numpy as np
import problems
import pytest
import reference
from compare import assert_close
from objective_cases import assert_agrees, every_backend, every_objective, every_problem, expected, objective
from tolerances import (
    HESSIAN_ROUNDOFF,
    ROUNDOFF,
)

from mvsim.losses import AllPairs, ListedPairs
from mvsim.objectives import Objective

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
