"""Every pointwise loss, by its own derivatives: a new one is registered in LOSSES, and is tested."""

import numpy as np
import pytest
from compare import assert_close
from tolerances import CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE_STEP

from mvsim.losses import LOSSES

K, POINTS = 4, 9

every_loss = pytest.mark.parametrize("loss", [cls() for cls in LOSSES.values()], ids=list(LOSSES))


def problem():
    """Outputs, soft labels of mixed points and of single ones, and a direction, (k, n) each."""
    rng = np.random.default_rng(7)
    targets = rng.dirichlet(np.ones(K), POINTS).T
    targets[:, :K] = np.eye(K)
    return 3.0 * rng.standard_normal((K, POINTS)), targets, rng.standard_normal((K, POINTS))


def slope(function, outputs, direction):
    h = CENTRAL_DIFFERENCE_STEP
    return (function(outputs + h * direction) - function(outputs - h * direction)) / (2.0 * h)


@every_loss
def test_the_residual_is_the_slope_of_the_value(loss):
    outputs, targets, direction = problem()
    expected = slope(lambda g: loss.value(g, targets), outputs, direction)
    assert_close((loss.residual(outputs, targets) * direction).sum(axis=0), expected, CENTRAL_DIFFERENCE)


@every_loss
def test_the_curvature_is_the_slope_of_the_residual_and_symmetric(loss):
    outputs, targets, direction = problem()
    other = direction[:, ::-1]
    found = loss.curvature(outputs, targets, direction)
    assert_close(found, slope(lambda g: loss.residual(g, targets), outputs, direction), CENTRAL_DIFFERENCE)
    assert_close((found * other).sum(axis=0), (loss.curvature(outputs, targets, other) * direction).sum(axis=0), 1e-12)


@every_loss
def test_points_are_taken_one_by_one_and_left_as_they_are(loss):
    outputs, targets, direction = problem()
    kept = outputs.copy(), targets.copy(), direction.copy()
    for function, arguments in ((loss.value, kept[:2]), (loss.residual, kept[:2]), (loss.curvature, kept)):
        whole = function(*arguments)
        parts = [function(*(a[:, i : i + 1] for a in arguments)) for i in range(POINTS)]
        np.testing.assert_array_equal(whole, np.concatenate(parts, axis=-1))
    for before, after in zip(problem(), kept, strict=True):
        np.testing.assert_array_equal(before, after)
