"""Every pointwise loss, by its own derivatives: a new one is registered in LOSSES, and is tested."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from compare import assert_close
from looping import looping
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
def test_large_outputs_give_finite_numbers(loss):
    """Margins grow to hundreds at d = k^20; an exponential of them is no double."""
    _, targets, direction = problem()
    outputs = np.tile(np.array([1000.0, -1000.0, 999.0, 0.0])[:, None], POINTS)
    for found in (loss.value(outputs, targets), loss.residual(outputs, targets), loss.curvature(outputs, targets, direction)):
        assert np.isfinite(found).all()


CLOSED_FORMS = {
    "cross_entropy": lambda g, t: [phi - of for phi, of in zip(softmax(g), t, strict=True)],
    "squared_error": lambda g, t: [one - of for one, of in zip(g, t, strict=True)],
}
"""Residuals of the losses that come with the package, written again in numbers of 60 digits."""


def softmax(g):
    powers = [one.exp() for one in g]
    return [one / sum(powers) for one in powers]


@looping("name", CLOSED_FORMS)
@looping("scale", [1.0, 30.0])
def test_the_residual_is_the_closed_form(name, scale):
    """To a few units in the last place of the largest entry of a point, which a difference quotient does not see."""
    outputs, targets, _ = problem()
    outputs = scale * outputs
    found = LOSSES[name]().residual(outputs, targets)
    with localcontext() as context:
        context.prec = 60
        for i in range(POINTS):
            exact = CLOSED_FORMS[name]([Decimal(float(g)) for g in outputs[:, i]], [Decimal(float(t)) for t in targets[:, i]])
            np.testing.assert_allclose(found[:, i], [float(one) for one in exact], rtol=1e-13, atol=1e-15)


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
