"""Gradients and Hessian-vector products against differences of losses and gradients: this needs no reference."""

import numpy as np
import problems
from compare import assert_close
from objective_cases import every_backend, every_objective, every_problem, objective
from tolerances import (
    CENTRAL_DIFFERENCE,
    CENTRAL_DIFFERENCE_STEP,
)


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
