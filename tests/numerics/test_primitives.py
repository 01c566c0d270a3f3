"""The operations that NumPy has of its own, and those of the standard: the same results."""

import numpy as np
import pytest
from strict_device import PLACE, STRICT
from tolerances import ROUNDOFF

from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.norm import norm
from mvsim.numerics.primitives import primitives_of

HERE, THERE = primitives_of(np.zeros(1)), primitives_of(STRICT.put(np.zeros(1)))
INDEX = np.array([7, 2, -1, 0, 5])


def both(operation, *arrays, atol=0.0):
    """Ask both for one thing."""
    here = operation(HERE, *arrays)
    there = operation(THERE, *(STRICT.put(array) for array in arrays))
    assert there.device == PLACE
    np.testing.assert_allclose(STRICT.fetch(there), here, rtol=0.0, atol=atol)
    return here


def test_each_namespace_has_its_own():
    assert type(HERE) is not type(THERE)
    assert namespace_of(np.zeros(1)) is np


@pytest.mark.parametrize("shape", [(9,), (3, 9)])
def test_writing_at_places(shape):
    rng = np.random.default_rng(0)
    x, values = rng.standard_normal(shape), rng.standard_normal((*shape[:-1], 5))
    found = both(lambda by, index, x, values: by.places(index).written(x, values), INDEX, x, values)
    expected = x.copy()
    for place, index in enumerate(INDEX):
        if index >= 0:
            expected[..., index] = values[..., place]
    np.testing.assert_array_equal(found, expected)
    if x.ndim == 1:
        alone = both(lambda by, index, x, values: by.places(index).among(1.5, values, x), INDEX, x, values)
        np.testing.assert_array_equal(alone, np.where(np.isin(np.arange(9), INDEX), expected, 1.5))
    none = np.zeros(0, int)
    np.testing.assert_array_equal(both(lambda by, index, x, values: by.places(index).written(x, values), none, x, values[..., :0]), x)


@pytest.mark.parametrize("shape", [(9,), (3, 9), (2, 3, 9), (3, 0)])
def test_reading_at_places(shape):
    x = np.random.default_rng(1).standard_normal(shape)
    place = np.array([[1, -1, 8], [-1, 0, 8]]) if shape[-1] else np.full((2, 3), -1)
    found = both(lambda by, x, place: by.entries(x, place), x, place)
    assert found.shape == (*shape[:-1], 2, 3)
    assert not found[..., 0, 1].any()
    if shape[-1]:
        np.testing.assert_array_equal(found[..., 1, 2], x[..., 8])


def test_looking_up():
    wanted = np.array([[5, 3, -1], [7, 0, 9]])
    np.testing.assert_array_equal(both(lambda by, *arrays: by.lookup(*arrays), INDEX, wanted), [[4, -1, -1], [0, 3, -1]])
    both(lambda by, *arrays: by.lookup(*arrays), np.zeros(0, int), wanted)
    both(lambda by, *arrays: by.lookup(*arrays), INDEX, np.zeros(0, int))


@pytest.mark.parametrize("index", [np.array([0, 3, 3, 1, 3, 3, 0, 3]), np.array([4, 0, 2]), np.zeros(0, int), np.full(6, 2)], ids=str)
def test_sums_by_where_entries_belong(index):
    values = np.random.default_rng(2).standard_normal((2, len(index)))
    found = both(lambda by, index, values: by.spread(index, 5)(values), index, values, atol=ROUNDOFF)
    for place in range(5):
        np.testing.assert_allclose(found[:, place], values[:, index == place].sum(axis=1), atol=ROUNDOFF)


def test_terms_at_rows_and_columns():
    rng = np.random.default_rng(3)
    index, terms = np.array([[0, 2], [2, 3], [0, 3], [2, 1]]), rng.standard_normal((4, 2, 2))
    matrix = rng.standard_normal((5, 5))
    expected = matrix.copy()
    for rows, term in zip(index, terms, strict=True):
        for a, b in np.ndindex(2, 2):
            expected[rows[a], rows[b]] -= term[a, b]
    less = both(lambda by, *arrays: by.less_at(*arrays), matrix, index, terms, atol=10 * ROUNDOFF)
    np.testing.assert_allclose(less, expected, rtol=0.0, atol=10 * ROUNDOFF)


@pytest.mark.parametrize("many", [(), (4,)])
def test_products_and_solutions(many):
    rng = np.random.default_rng(4)
    matrices = rng.standard_normal((3, 4, 2))
    x, y, r = rng.standard_normal((*many, 3, 2)), rng.standard_normal((*many, 3, 4)), rng.standard_normal((*many, 6))
    products = both(lambda by, *arrays: by.products(*arrays), matrices, x, atol=10 * ROUNDOFF)
    transposed = both(lambda by, *arrays: by.transposed_products(*arrays), matrices, y, atol=10 * ROUNDOFF)
    for b, matrix in enumerate(matrices):
        np.testing.assert_allclose(products[..., b, :], x[..., b, :] @ matrix.T, rtol=0.0, atol=10 * ROUNDOFF)
        np.testing.assert_allclose(transposed[..., b, :], y[..., b, :] @ matrix, rtol=0.0, atol=10 * ROUNDOFF)
    square = 3.0 * np.eye(6) + 0.3 * rng.standard_normal((6, 6))
    solution = both(lambda by, matrix, r: by.solver(matrix)(r), square, r, atol=10 * ROUNDOFF)
    np.testing.assert_allclose(solution @ square.T, r, rtol=0.0, atol=100 * ROUNDOFF)


def test_least_squares_of_deficient_rank():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((3, 20))
    rows = np.concatenate([rows, rows[:1] + rows[1:2]])
    gram = rows @ rows.T
    found = both(lambda by, gram, target: by.least_squares(gram, target, 1e-12), gram, gram @ rng.standard_normal(4), atol=1e-12)
    np.testing.assert_allclose(found @ [1.0, 1.0, 0.0, -1.0], 0.0, atol=1e-12)  # the shortest


def test_sums_by_labels():
    label, values = np.array([2, 0, 2, 1]), np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(both(lambda by, label, values: by.sums_by(label, values, 4), label, values), [2.0, 8.0, 5.0, 0.0])


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 0.0])
def test_norms(size):
    v = size * np.array([[3.0, 0.0], [0.0, 4.0]])
    assert norm(STRICT.put(v)) == norm(v) == pytest.approx(5.0 * size)


def arrow(rng):
    """Three blocks of two with a border of four, one place of which is not taken."""
    order, square = rng.permutation(12), rng.standard_normal((12, 12))
    spd, taken = square @ square.T, np.arange(4) != 2
    sides = np.array([[0, 1], [1, 3], [0, 2]])
    blocks = np.array([spd[b : b + 2, b : b + 2] for b in (4, 6, 8)])
    border = spd[:4, :4] * np.outer(taken, taken)
    return Curvature(
        np.where(taken, order[:4], -1), border, order[4:10].reshape(3, 2), blocks, sides, 0.1 * rng.standard_normal((3, 2, 2)) * (sides != 2)[:, None]
    )


@pytest.mark.parametrize("shape", [(12,), (3, 12)])
def test_an_arrow_is_inverted_on_the_device(shape):
    rng = np.random.default_rng(6)
    here = arrow(rng)
    there, r = here.with_arrays(STRICT.put), rng.standard_normal(shape)
    x = there.shifted(0.7).solve(STRICT.put(r))
    assert x.device == PLACE
    np.testing.assert_allclose(STRICT.fetch(x), here.shifted(0.7).solve(r), atol=100 * ROUNDOFF)
    index = np.array([7, 2, 11, 0, 4])
    within = there.shifted(0.7).within(STRICT.put(index)).solve(STRICT.put(r[..., :5]))
    np.testing.assert_allclose(STRICT.fetch(within), here.shifted(0.7).within(index).solve(r[..., :5]), atol=100 * ROUNDOFF)


@pytest.mark.parametrize("index", [np.arange(12), np.array([11, 3]), np.array([12, 13])], ids=str)
def test_arrows_are_added_on_the_device(index):
    rng = np.random.default_rng(7)
    square = rng.standard_normal((len(index), len(index)))
    parts = [arrow(rng), Curvature.of_border(index, square @ square.T, lifetime=3)]
    here, there = Curvature.mean([0.25, 0.5], parts), Curvature.mean([0.25, 0.5], [part.with_arrays(STRICT.put) for part in parts])
    assert there.border.device == PLACE
    np.testing.assert_allclose(there.with_arrays(STRICT.fetch).dense(14), here.dense(14), atol=10 * ROUNDOFF)
    assert there.lifetime == 3
