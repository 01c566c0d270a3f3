"""The stiff part of the Hessian where arrays are: that of the compiled kernel on every kind of data, and that of products with the Hessian."""

import numpy as np
import problems
import pytest
from compare import assert_close
from looping import looping
from objective_cases import LARGER, every_objective, larger, objective
from strict_device import STRICT
from tolerances import HESSIAN_ROUNDOFF

import mvsim
from mvsim.multi_view.kernels.array.array_kernel import ArrayPatchesKernel

MIXINGS = [0.3, {"atoms": [0.2, 0.5, 1.0], "probabilities": [0.3, 0.4, 0.3]}]


@pytest.fixture
def strict(monkeypatch):
    """Put the arrays of the backend on ``device1``."""
    monkeypatch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: STRICT))


def assert_same(found, expected, c):
    """Assert that both are None, or the same matrix with the same lifetime."""
    assert (found is None) == (expected is None)
    if expected is not None:
        assert_close(found.dense(c.size), expected.dense(c.size), HESSIAN_ROUNDOFF)
        assert found.lifetime == expected.lifetime


def spread(problem):
    return problems.spread_correlations(problem.parameters, np.random.default_rng(3))


@every_objective
@looping("case", sorted(problems.PARAMETERS))
def test_it_is_that_of_the_compiled_kernel(name, case):
    problem = problems.problem(case)
    there, here = (objective(name, problem, backend) for backend in ("array", "numba"))
    for c in (problem.c, spread(problem)):
        assert_same(there.curvature(c), here.curvature(c), c)


@looping("mixing", MIXINGS)
@looping("kind", LARGER)
def test_it_is_that_of_the_compiled_kernel_at_several_weights(kind, mixing):
    problem = larger(kind)
    there, here = (mvsim.objective("mixup", problem.parameters, problem.data, backend, mixing=mixing) for backend in ("array", "numba"))
    for c in (problem.c, spread(problem), 100.0 * problem.c):
        assert_same(there.curvature(c), here.curvature(c), c)


@pytest.mark.parametrize("method", ["midpoint", "mixup"])
def test_the_standard_is_enough(method, strict):
    problem, options = larger("codebook"), {"mixing": 0.3} if method == "mixup" else {}
    tested = mvsim.objective(method, problem.parameters, problem.data, backend="array", **options)
    expected = mvsim.objective(method, problem.parameters, problem.data, backend="numba", **options).curvature(problem.c)
    assert_same(tested.curvature(problem.c), expected, problem.c)


def test_none_has_escaped():
    problem = larger("codebook")
    for method in ("erm", "midpoint"):
        assert not objective(method, problem, "array").curvature(np.full_like(problem.c, -1.0)).dense(problem.c.size).any()


def test_other_losses_and_listed_pairs_have_none():
    problem = larger("codebook")
    p, data, c = problem.parameters, problem.data, problem.c
    assert mvsim.objective("midpoint", p, data, backend="array", loss="squared_error").curvature(c) is None
    assert mvsim.objective("mixup", p, data, backend="array", pairs=5).curvature(c) is None


@looping("mixing", [0.5, 0.3])
def test_products_with_the_hessian_say_that_little_is_left(mixing):
    """Of (1 + gamma told)^-1 (1 + gamma H), H from products, the eigenvalues are about 1; with half of what is told they are not."""
    p = mvsim.Parameters(k=4, m=3, N=60, P=36, d=10**6)
    tested, c = mvsim.objective("mixup", p, mvsim.sample_dataset(p, 0), backend="array", mixing=mixing), mvsim.initial_correlations(p, 0)
    for y in range(p.k):
        c[y, 1, y], c[y, 1, (y + 1) % p.k] = 3.0, 0.6
    rows = np.arange(c.size).reshape(c.shape)[:, 1].ravel()
    H = np.array([tested.hessian_vector_product(c, e.reshape(c.shape)).ravel()[rows] for e in np.eye(c.size)[rows]])
    told = tested.curvature(c).dense(c.size)[np.ix_(rows, rows)]

    def largest_left(told, gamma=1e4):
        return np.linalg.eigvals(np.linalg.solve(np.eye(len(H)) + gamma * told, np.eye(len(H)) + gamma * H)).real.max()

    assert largest_left(told) < 2.0
    assert largest_left(0.5 * told) > 2.0
