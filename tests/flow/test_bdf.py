"""The formulas: exact for polynomials, of their order on a linear equation, and unchanged by what only rewrites the past."""

import math
import warnings

import numpy as np
import pytest
from looping import looping

from mvsim.flow.bdf import MAX_ORDER, History, coefficients

SIZES = np.array([0.1, 0.13, 0.08, 0.11, 0.17, 0.09])
"""Sizes of the steps before, the last one first."""


def past_of(values, order, h=0.12, t=1.0):
    """The past at time t of a polynomial, for a next step of size h, as steps of unequal sizes would have left it."""
    derivatives = [values.deriv(j)(t) if j else values(t) for j in range(order + 1)]
    factorial = np.cumprod([1.0, *range(1, order + 1)])
    Z = (h ** np.arange(order + 1) * derivatives / factorial)[:, None]
    return History(Z, h, SIZES, 2, np.zeros(1), 0.0)


@looping("order", range(1, MAX_ORDER + 1))
def test_a_polynomial_of_the_order_is_predicted_and_satisfies_the_formula(order):
    values = np.polynomial.Polynomial(np.random.default_rng(order).standard_normal(order + 1))
    history = past_of(values, order)
    assert history.predicted()[0, 0] == pytest.approx(values(1.12), rel=1e-13)
    c = history.coefficients()
    gamma = history.h / c.l[1]
    predicted = history.predicted()
    a = gamma * values.deriv()(1.12) - predicted[1, 0] / c.l[1]  # y' = f(t) needs no solving
    assert abs(a) < 1e-13


@looping("order", range(1, MAX_ORDER + 1))
def test_the_corrected_polynomial_goes_through_the_values_before(order):
    """l vanishes at the q - 1 times before the last: a correction of the new value leaves the older ones alone."""
    h = 0.12
    l = coefficients(order, h, SIZES).l  # noqa: E741
    # In units of h from the new time, earlier values lie at -1, -(1 + past[0] / h), ...
    places = -np.cumsum(np.concatenate([[1.0], SIZES[: order - 2] / h]))[: order - 1] if order > 1 else []
    values = np.polynomial.Polynomial(l)(np.asarray(places))
    assert np.allclose(values, 0.0, atol=1e-12)
    assert l[0] == 1.0


def one_step(history):
    """A step of y' = -y, its equation solved exactly, and its size."""
    c, predicted = history.coefficients(), history.predicted()
    gamma = history.h / c.l[1]
    return history.corrected(predicted, c, (-gamma * predicted[0] - predicted[1] / c.l[1]) / (1.0 + gamma)), history.h


def steps_of(order, steps, uneven=0.2):
    """The past of y' = -y, y(0) = 1, at the end of steps of alternating sizes over about time 1, and that time."""
    sizes = np.tile([1.0 - uneven, 1.0 + uneven], steps // 2) / steps
    factorial = np.cumprod([1.0, *range(1, order + 1)])
    Z = ((-sizes[0]) ** np.arange(order + 1) / factorial)[:, None]  # the exact past
    history = History(Z, sizes[0], np.tile([1.0 + uneven, 1.0 - uneven], 3) / steps, 9, np.zeros(1), 0.0)
    for size in sizes:
        history, _ = one_step(history.rescaled(size))
    return history, sizes.sum()


def error_of(order, steps):
    history, t = steps_of(order, steps)
    return abs(history.Z[0, 0] - np.exp(-t))


@looping("order", range(1, MAX_ORDER + 1))
def test_the_error_falls_as_the_step_to_the_order(order):
    coarse, fine = error_of(order, 40), error_of(order, 80)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35)


@looping("order", range(2, MAX_ORDER + 1))
def test_a_lower_order_is_exact_where_a_lower_degree_is(order):
    values = np.polynomial.Polynomial(np.random.default_rng(order).standard_normal(order))
    lowered = past_of(values, order).lowered()
    assert lowered.order == order - 1
    assert lowered.predicted()[0, 0] == pytest.approx(values(1.12), rel=1e-12)


def at(history, times):
    """The polynomial that is the past, at times from the present on."""
    return np.polynomial.Polynomial(history.Z[:, 0])(np.asarray(times) / history.h)


def slope(history):
    """Its derivative at the present."""
    return history.Z[1, 0] / history.h


def after_some_step(order):
    """A past of whatever values, the one after a step with whatever correction, and how long before its end (q + 1,) values 0 .. q lie."""
    Z, correction = np.random.default_rng(order).standard_normal((order + 1, 1)), np.array([0.7])
    before = History(Z, 0.12, SIZES, 9, np.zeros(1), 0.0)
    after = before.corrected(before.predicted(), before.coefficients(), correction)
    return before, after, np.concatenate([[0.0], np.cumsum(after.past[:order])])


@looping("order", range(2, MAX_ORDER + 1))
def test_a_lower_order_goes_through_one_value_less(order):
    """These values and the slope are all that a polynomial of its degree can meet."""
    _, history, ago = after_some_step(order)
    lowered = history.lowered()
    assert lowered.order == order - 1
    assert at(lowered, -ago[: order - 1]) == pytest.approx(at(history, -ago[: order - 1]), rel=1e-11)
    assert slope(lowered) == pytest.approx(slope(history), rel=1e-12)


@looping("order", range(1, MAX_ORDER))
def test_a_higher_order_goes_through_one_value_more(order):
    """Through the values that the past goes through, and one before them, which only the past before the last step still knows."""
    before, history, ago = after_some_step(order)
    raised = history.raised()
    assert raised.order == order + 1
    assert at(raised, -ago[:order]) == pytest.approx(at(history, -ago[:order]), rel=1e-11)
    oldest = at(before, history.past[0] - ago[order])
    assert at(raised, -ago[order]) == pytest.approx(oldest, rel=1e-11)
    assert order == 1 or abs(at(history, -ago[order]) - oldest) > 0.01  # at order 1 the slope is not bound, and both go through it
    assert slope(raised) == pytest.approx(slope(history), rel=1e-12)


def test_a_step_of_another_size_is_the_same_polynomial():
    values = np.polynomial.Polynomial(np.random.default_rng(1).standard_normal(5))
    assert past_of(values, 4).rescaled(0.3).predicted()[0, 0] == pytest.approx(values(1.3), rel=1e-12)


@looping("order", range(1, MAX_ORDER + 1))
def test_the_estimated_error_is_that_of_the_formula(order):
    """Of BDF it is h^(q+1) y^(q+1) / ((q + 1) (1 + 1/2 + ... + 1/q)) to leading order, and so of y' = -y."""
    history, t = steps_of(order, 200, uneven=0.0)
    after, h = one_step(history)
    expected = h ** (order + 1) * np.exp(-t) / ((order + 1) * sum(1.0 / j for j in range(1, order + 1)))
    assert history.coefficients().error * abs(after.correction[0]) == pytest.approx(expected, rel=0.02)


@looping("order", range(1, MAX_ORDER + 1))
def test_the_errors_of_the_orders_beside_are_those_of_their_formulas(order):
    """As far as a choice of the order needs them: at equal steps, of y' = -y."""
    history, t = steps_of(order, 200, uneven=0.0)
    before, h = one_step(history)
    after, _ = one_step(before)
    c, y = before.coefficients(), np.exp(-t - 2.0 * h)

    def error(q):
        return h ** (q + 1) * y / ((q + 1) * sum(1.0 / j for j in range(1, q + 1)))

    change = after.correction - c.scale / before.scale * (after.past[0] / after.past[1]) ** (order + 1) * before.correction
    assert c.higher * abs(change[0]) == pytest.approx(error(order + 1), rel=0.02)
    if order > 1:
        assert c.lower * abs(after.Z[order, 0]) == pytest.approx(error(order - 1), rel=0.02)


@looping("order", range(1, MAX_ORDER))
def test_at_the_order_above_the_error_is_smaller_after_some_steps(order):
    history, t = steps_of(order, 40)
    start = history.Z[0, 0]
    raised, same = history.raised(), history
    assert raised.order == order + 1
    for _ in range(12):
        (raised, h), (same, _) = one_step(raised), one_step(same)
        t += h
    exact = start * np.exp(-12 * h)
    assert abs(raised.Z[0, 0] - exact) < 0.5 * abs(same.Z[0, 0] - exact)


def amplification(order, rate, sizes):
    """What steps of these sizes, over and over, do to the scaled derivatives of y' = rate y: the matrix of one round."""
    columns = []
    for unit in np.eye(order + 1):
        history = History(unit[:, None], sizes[-1], np.tile(sizes[::-1], 6)[:6], 9, np.zeros(1), 0.0)
        for size in sizes:
            history = history.rescaled(size)
            c, predicted = history.coefficients(), history.predicted()
            gamma = history.h / c.l[1]
            history = history.corrected(predicted, c, (gamma * rate * predicted[0] - predicted[1] / c.l[1]) / (1.0 - gamma * rate))
        columns.append(history.rescaled(sizes[-1]).Z[:, 0])
    return np.array(columns).T


@looping("order", range(1, MAX_ORDER + 1))
@looping("uneven", [0.0, 0.1])
def test_decay_of_any_rate_is_stable(order, uneven):
    """On the whole negative axis what steps carry on is damped, at every order, for equal steps and for ones that alternate by a fifth."""
    for rate in (-1e-2, -0.3, -1.0, -3.0, -10.0, -1e2, -1e4, -1e8):
        radius = np.abs(np.linalg.eigvals(amplification(order, rate, np.array([1.0 - uneven, 1.0 + uneven])))).max()
        assert radius < 1.0
    assert radius < (0.35 if uneven else 4e-4)  # what relaxes at once is all but gone


def test_steps_that_alternate_too_much_are_not_stable():
    """The canary of that test, known of formulas with a fixed leading coefficient: at order 5, sizes that alternate by a factor of 1.5."""
    assert np.abs(np.linalg.eigvals(amplification(5, -1.0, np.array([0.8, 1.2])))).max() > 1.0


@looping("order", range(1, MAX_ORDER + 1))
@looping("longer", [1e120, 1e150, 1e300])
def test_after_steps_longer_than_doubles_tell_no_other_order_is_taken(order, longer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coefficients(order, 1e-200, np.full(MAX_ORDER + 1, longer))
    assert np.isfinite([*found.l, found.error, found.scale]).all()
    assert min(found.higher, found.lower if order > 2 else math.inf) > 1e200
