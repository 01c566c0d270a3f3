"""Points and losses that no registered objective uses alone: mixtures with any lambda, listed mixtures, a loss of another class."""

from functools import cache

import numpy as np
import problems
import pytest
import reference
from compare import assert_close
from looping import looping
from objective_cases import READABLE, assert_agrees, every_backend, every_objective, expected, objective
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.losses import AllPairs, ListedPairs
from mvsim.multi_view.objectives import Objective

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
        self.name, self.value, self.residual, self.curvature = same.name, same.value, same.residual, same.curvature


def by_loops(problem, loss, gradient, argument):
    """Loss, gradient and Hessian-vector product of the reference, as correlations."""
    direction = reference.embed(problem.direction, problem.features, np.random.default_rng(13))
    arguments = (*problem.arguments, argument)
    vectors = gradient(problem.weights, *arguments), reference.hessian_vector_product(gradient, problem.weights, direction, *arguments)
    return loss(problem.weights, *arguments), *(reference.correlations(vector, problem.features) for vector in vectors)


@cache
def one_lambda_by_loops(case):
    """Once for all backends."""
    return by_loops(problems.problem(case), reference.mixup_loss, reference.mixup_gradient, LAMBDA)


@cache
def listed_by_loops(case):
    """Once for all backends."""
    problem = problems.problem(case)
    mixtures = list(zip(*Listed(problem.parameters, problem.data, READABLE).mixtures(), strict=True))
    return by_loops(problem, reference.listed_loss, reference.listed_gradient, mixtures)


@every_backend
@looping("case", sorted(problems.PARAMETERS))
@pytest.mark.parametrize(("kind", "reference_of"), [(OneLambda, one_lambda_by_loops), (Listed, listed_by_loops)], ids=["one lambda", "listed"])
def test_other_points_agree_with_the_loops(kind, reference_of, backend, case):
    problem = problems.problem(case)
    tested = kind(problem.parameters, problem.data, backend)
    loss, gradient, product = reference_of(case)
    assert_close(tested.loss(problem.c), loss, ROUNDOFF)
    assert_close(tested.gradient(problem.c), gradient, ROUNDOFF)
    assert_close(tested.hessian_vector_product(problem.c, problem.direction), product, HESSIAN_ROUNDOFF)


@every_objective
@every_backend
@looping("case", ["random codebook", "crowded", "random point noise", "random patch noise", "one point"])
def test_a_loss_of_another_class_takes_the_same_values(name, backend, case):
    problem = problems.problem(case)
    tested = objective(name, problem, backend)
    tested.pointwise = AnotherLoss(tested.pointwise)
    assert_agrees(tested, problem, expected(name, case))


@looping("pairs", [None, 5])
@looping("mixing", [0.0, 0.4, 1.0, {"atoms": [0.3, 1.0], "probabilities": [0.5, 0.5]}])
def test_whether_points_are_mixed_is_one_answer(mixing, pairs):
    """The recorder asks the objective; figures and verdicts ask the options in the file of a run."""
    problem = problems.problem("random codebook")
    made = mvsim.objective("mixup", problem.parameters, problem.data, mixing=mixing, pairs=pairs)
    assert made.mixes == made.mixes_with(made.options()) == (mixing not in (0.0, 1.0))
    assert made.sums_all_pairs == (made.mixes and pairs is None)
