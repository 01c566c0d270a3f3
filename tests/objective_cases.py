"""What the tests of objectives share: every registered objective, backend and problem, and how results are compared.

A new objective is registered in OBJECTIVES, gets its definition in tests/reference.py, and is tested.
"""

from functools import cache

import numpy as np
import problems
import pytest
import reference
from compare import assert_close, assert_components_close
from hypothesis import settings
from hypothesis import strategies as st
from tolerances import COMPONENT_ABSOLUTE, HESSIAN_ROUNDOFF, ROUNDOFF
from usable import cases

import mvsim
from mvsim.multi_view.kernels import BACKENDS, ORACLE
from mvsim.multi_view.objectives import OBJECTIVES

MIXING = {name for name, definition in reference.REFERENCES.items() if definition.equals_erm_on_copies}


every_objective = pytest.mark.parametrize("name", sorted(OBJECTIVES))


every_backend = pytest.mark.parametrize("backend", cases(BACKENDS[1:]))
READABLE = ORACLE.backend
"""The backend of the oracle, against which the others are compared."""
every_fast_backend = pytest.mark.parametrize("backend", cases(backend for backend in BACKENDS[1:] if backend != READABLE))


every_problem = pytest.mark.parametrize("case", sorted(problems.PARAMETERS))


def objective(name, problem, backend, **options):
    """The objective with the options of its reference; without a reference, with its defaults."""
    if name in reference.REFERENCES:
        options |= reference.reference(name).options
    return mvsim.objective(name, problem.parameters, problem.data, backend=backend, **options)


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


few_examples = settings(max_examples=12)


EVERYTHING_ROUNDOFF = [ROUNDOFF, ROUNDOFF, ROUNDOFF, HESSIAN_ROUNDOFF]
"""Tolerances of what `everything` returns."""


def everything(tested, problem):
    return [
        np.asarray(tested.loss(problem.c)),
        tested.gradient(problem.c),
        tested.outputs(problem.c),
        tested.hessian_vector_product(problem.c, problem.direction),
    ]


def assert_everything_close(actual, expected):
    """Assert that two results of `everything` agree, each in units of its own size."""
    for one, other, rtol in zip(actual, expected, EVERYTHING_ROUNDOFF, strict=True):
        assert_close(one, other, rtol)


def assert_same(actual, expected, problem):
    """Assert that losses, gradients and, where given, outputs and Hessian-vector products agree.

    In random problems all points may be of one class and learned: loss and gradient are then tiny differences of large terms. So are
    pre-activations of small neurons in the oracle, whose weights have a part orthogonal to all features.
    """
    largest_output = np.max(np.abs(problem.c)) * problem.reach
    scales = [largest_output, problem.reach, problem.output_reach, problem.reach**2]
    for one, other, rtol, scale in zip(actual, expected, EVERYTHING_ROUNDOFF, scales, strict=False):
        assert_close(one, other, rtol, scale)


seeds = st.integers(0, 2**32 - 1)


LARGER = {
    "codebook": {"k": 5, "m": 3, "P": 10, "N": 32, "G": 3, "Q": 3},
    "weak codebook": {"k": 3, "m": 2, "P": 40, "N": 40, "G": 2, "Q": 1, "delta3": 0.001, "delta4": 0.002},
    "loud noise": {"k": 5, "m": 3, "P": 400, "N": 16, "G": 3, "Q": 3, "delta3": 0.05, "delta4": 0.1},
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


@cache
def with_outputs_up_to(kind, largest):
    """A larger problem at correlations by that factor larger by which its largest output lies below this one."""
    problem = larger(kind)
    outputs = objective("erm", problem, READABLE).outputs(problem.c)
    return problems.with_data(problem, problem.data, problem.c * largest / np.max(outputs))


@cache
def by_the_oracle(name, kind, largest=None):
    """`everything` of a larger problem by the readable backend, once for all others, which cannot change it."""
    problem = larger(kind) if largest is None else with_outputs_up_to(kind, largest)
    results = everything(objective(name, problem, READABLE), problem)
    for result in results:
        result.flags.writeable = False
    return results
