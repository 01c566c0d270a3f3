"""The loss of all midpoints as a function of a few neurons: any number of each class, on any number of threads."""

from functools import cache

import numpy as np
import pytest
from compare import assert_close
from tolerances import ROUNDOFF

import mvsim
from mvsim.multi_view.kernels.sums import GenericSum, neuron_sum

SIZES = {"k": 9, "m": 3, "P": 20, "N": 40, "G": 5, "rho": 0.4}
CLASSES = {"all": range(9), "some": (0, 2, 5, 8), "one": (4,), "none": ()}


@cache
def problem(C_P=2, threads=1, **sizes):
    p = mvsim.Parameters(**SIZES | sizes, C_P=C_P)
    return p, mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0), backend="numba", threads=threads)


def correlations(p, scale=3.0):
    return scale * p.rho * np.random.default_rng(1).standard_normal(p.correlations_shape)


def some_neurons(p, classes, most=2):
    """Of every second class one, of the others ``most``, in any order."""
    neurons = np.full((p.k, most), -1)
    for y in classes:
        count = most if y % 2 else 1
        neurons[y, :count] = np.random.default_rng(y).permutation(p.m)[:count]
    return neurons


def rows_of(c, neurons):
    return np.take_along_axis(c.reshape(*c.shape[:2], -1), neurons[:, :, None], axis=1)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("C_P", [1, 2, 3])
def test_sums_are_those_of_outputs_and_pull_backs(classes, C_P):
    """With C_P = 1 and 3 a point has not a multiple of four signal patches."""
    p, objective = problem(C_P)
    c, neurons = correlations(p), some_neurons(p, CLASSES[classes])
    ((_, points),) = objective.points
    generic = neuron_sum(GenericSum(objective.kernel, points, objective.pointwise), c.reshape(p.k, p.m, -1), neurons)
    moving = rows_of(c + 0.1 * correlations(p)[::-1], neurons)
    loss, gradient = objective.of_neurons(c, neurons)(moving)
    expected_loss, expected = generic(moving)
    assert_close(loss, expected_loss, ROUNDOFF)
    assert_close(gradient, expected, ROUNDOFF, scale=np.abs(expected).max(initial=1e-3))


@pytest.mark.parametrize("classes", CLASSES)
def test_bits_do_not_depend_on_threads_or_on_what_was_asked_before(classes):
    results = []
    for threads in (1, 2, 5):
        p, objective = problem(threads=threads)
        c, neurons = correlations(p), some_neurons(p, CLASSES[classes])
        of_neurons = objective.of_neurons(c, neurons)
        for asked in range(threads):
            of_neurons(rows_of(c, neurons) + 0.01 * asked)
        results.append(of_neurons(rows_of(c, neurons)))
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_bits_do_not_depend_on_sums_over_other_neurons_of_as_many_classes():
    """Both take the same memory; the first has a second neuron in more of its classes."""
    p, objective = problem()
    c = correlations(p)
    of_first, of_second = (some_neurons(p, classes) for classes in ((1, 3, 5, 7), (1, 2, 4, 6)))
    expected = objective.of_neurons(c, of_second)(rows_of(c, of_second))
    objective.of_neurons(c, of_first)(rows_of(c, of_first))
    found = objective.of_neurons(c, of_second)(rows_of(c, of_second))
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("classes", ["all", "one"])
@pytest.mark.parametrize("what", ["moving", "resting"])
def test_outputs_that_are_too_large_for_exponentials(classes, what):
    p, objective = problem()
    c, neurons = correlations(p), some_neurons(p, CLASSES[classes])
    moving = rows_of(c, neurons)
    if what == "moving":
        moving *= 1e4
    else:
        c *= 1e4
    found = objective.of_neurons(c, neurons)(moving)
    everywhere = c.reshape(p.k, p.m, -1).copy()
    for y, r in zip(*np.nonzero(neurons >= 0), strict=True):
        everywhere[y, neurons[y, r]] = moving[y, r]
    loss, gradient = objective.loss_and_gradient(everywhere.reshape(c.shape))
    assert objective.outputs(everywhere.reshape(c.shape)).max() > 300.0
    assert_close(found[0], loss, ROUNDOFF)
    expected = np.where(neurons[:, :, None] >= 0, rows_of(gradient, neurons), 0.0)
    assert_close(found[1], expected, ROUNDOFF, scale=np.abs(gradient).max())
