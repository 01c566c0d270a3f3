"""Gradients and Hessian-vector products of the oracle against differences of losses and gradients; the other backends are compared with it."""

import numpy as np
import problems
import pytest
from compare import assert_close
from looping import looping
from objective_cases import READABLE, every_objective, objective
from tolerances import CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE_STEP

import mvsim
from mvsim.losses import LOSSES


def central_difference(function, c, direction):
    h = CENTRAL_DIFFERENCE_STEP
    return (function(c + h * direction) - function(c - h * direction)) / (2 * h)


@every_objective
@looping("loss", LOSSES)
@looping("case", ["random codebook", "random patch noise"])
def test_derivatives_of_every_loss(name, loss, case):
    problem = problems.problem(case)
    tested = objective(name, problem, READABLE, loss=loss)
    value, gradient = tested.loss_and_gradient(problem.c)
    assert tested.loss(problem.c) == pytest.approx(value, rel=1e-12)
    slope = central_difference(tested.loss, problem.c, problem.direction)
    assert abs(slope - np.vdot(gradient, problem.direction)) <= CENTRAL_DIFFERENCE * np.linalg.norm(gradient) * np.linalg.norm(problem.direction)
    product = central_difference(tested.gradient, problem.c, problem.direction)
    assert_close(tested.hessian_vector_product(problem.c, problem.direction), product, CENTRAL_DIFFERENCE)
    assert len({objective(name, problem, READABLE, loss=other).loss(problem.c) for other in LOSSES}) == len(LOSSES)


def test_an_unknown_loss_is_refused():
    with pytest.raises(mvsim.UsageError, match=f"loss='hinge': must be one of {', '.join(LOSSES)}"):
        objective("erm", problems.problem("random codebook"), "numpy", loss="hinge")
