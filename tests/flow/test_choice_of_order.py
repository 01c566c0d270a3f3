"""The choice of order and step size beside errors found by interpolation, tries after failed ones, and how long what is known near y is kept."""

import math
from dataclasses import replace

import numpy as np
import pytest
from looping import looping
from stepping import Problem

from mvsim.flow.bdf import LEAST_GROWTH, MAX_ORDER, SAFETY_HIGHER, SAFETY_OTHER, SAFETY_SAME, History, coefficients
from mvsim.flow.clock import size_of
from mvsim.flow.stepper import Stepper


def steady():
    """y' = 1, to within 1."""
    return Problem(lambda y: np.ones(1), lambda y: np.zeros((1, 1)), lambda y: np.ones(1))


def choose_stepped(before, after, weight, error=1.0, most_growth=math.inf):
    """The past at the order of the next step, and the factor of its size."""
    return Stepper(steady())._next(before, after, before.coefficients(), error, np.full(1, weight), most_growth)


# Errors ---------------------------------------------------------------------------------------------------------------------------------

SIZES = np.array([0.1, 0.13, 0.08, 0.11, 0.17, 0.09, 0.12])
"""Sizes of the last steps, the last one first."""

SLOPE, NEXT_SLOPE, LAST_SLOPE = 1e3, 1.3, 0.7
"""y^(q), y^(q+1) and y^(q+2) at the end of the last step, at time 0; all other derivatives are 0 there."""


def monomial(order):
    """t^order / order!, the derivative of which of that order is 1."""
    return np.polynomial.Polynomial([*np.zeros(order), 1.0 / math.factorial(order)])


def path(q):
    """That y."""
    return SLOPE * monomial(q) + NEXT_SLOPE * monomial(q + 1) + LAST_SLOPE * monomial(q + 2)


def derivatives(q, h, t):
    """(q + 1, 1): its scaled derivatives at a time."""
    return np.array([[h**j / math.factorial(j) * path(q).deriv(j)(t)] for j in range(q + 1)])


def true_error(order, sizes):
    """The error of one step from exact values and an exact slope if y^(order+1) = 1; ``sizes`` of it and of those before it, the last one first.

    The polynomial p through the last values, with the last slope, is found by linear equations; then h y' = h p' + (1 + .. + 1/order) (y - p).
    """
    h, y, powers = sizes[0], monomial(order + 1), np.arange(order + 1)
    places = -np.cumsum(sizes[:order]) / h  # in units of h from the new time
    slope_at_the_last = powers * (-1.0) ** (powers - 1)
    p = np.linalg.solve(np.vstack([places[:, None] ** powers, slope_at_the_last]), [*y(places), y.deriv()(-1.0)])
    leading = sum(1.0 / j for j in range(1, order + 1))
    return h ** (order + 1) * (p[0] + (y.deriv()(0.0) - p[1]) / leading - y(0.0))


def after_unequal_steps(q):
    """The past before and after a step, when its correction and that of the step before it make the estimated errors of both the true ones."""
    earlier, last = coefficients(q, SIZES[1], SIZES[2:]), coefficients(q, SIZES[0], SIZES[1:])
    Z = derivatives(q, SIZES[0], 0.0)
    first_correction = true_error(q, SIZES[1:]) * (NEXT_SLOPE - SIZES[0] * LAST_SLOPE) / earlier.error
    before = History(Z, SIZES[0], SIZES[1:], 1, np.array([first_correction]), earlier.scale)
    correction = np.array([true_error(q, SIZES) * NEXT_SLOPE / last.error])
    return before, replace(before, past=SIZES[:-1], wait=0, correction=correction, scale=last.scale)


@looping("q", range(1, MAX_ORDER))
def test_at_the_order_above_the_error_becomes_what_is_aimed_at(q):
    """After unequal steps, with all sizes multiplied by what is chosen."""
    weight = 1e3 * abs(true_error(q + 1, SIZES)) * LAST_SLOPE
    end = after_unequal_steps(q)
    after, ratio = choose_stepped(*end, weight)
    assert (after.order, after.wait) == (q + 1, q + 2)
    assert choose_stepped(*end, weight, most_growth=1.7)[1] == 1.7
    assert SAFETY_HIGHER * abs(true_error(q + 1, ratio * SIZES)) * LAST_SLOPE == pytest.approx(weight, rel=1e-4)


@looping("q", range(2, MAX_ORDER + 1))
def test_at_the_order_below_the_error_becomes_what_is_aimed_at(q):
    weight = 1e3 * abs(true_error(q - 1, SIZES)) * SLOPE
    before, after = after_unequal_steps(q)
    end = replace(before, scale=0.0), after  # of the order above nothing is known
    after, ratio = choose_stepped(*end, weight)
    assert (after.order, after.wait) == (q - 1, q)
    assert choose_stepped(*end, weight, most_growth=1.7)[1] == 1.7
    assert SAFETY_OTHER * abs(true_error(q - 1, ratio * SIZES)) * SLOPE == pytest.approx(weight, rel=1e-4)


@looping("wait", [0, 3])
@looping("q", range(1, MAX_ORDER + 1))
def test_at_the_same_order_the_error_becomes_what_is_aimed_at(q, wait):
    """Where the order may change, and while it may not, though the order above would allow far longer steps."""
    weight = 1e3 * abs(true_error(q, SIZES)) * NEXT_SLOPE
    before, after = after_unequal_steps(q)
    end = before if wait else replace(before, scale=0.0), replace(after, wait=wait)
    after, ratio = choose_stepped(*end, weight, error=1e-3)
    assert (after.order, after.wait) == (q, wait or 2)
    assert choose_stepped(*end, weight, error=1e-3, most_growth=1.7)[1] == 1.7
    assert SAFETY_SAME * abs(true_error(q, ratio * SIZES)) * NEXT_SLOPE == pytest.approx(weight, rel=1e-4)


@looping("growth", [0.98 * LEAST_GROWTH, 1.02 * LEAST_GROWTH])
def test_steps_that_can_hardly_grow_are_kept_and_so_is_their_order(growth):
    weight = SAFETY_HIGHER * growth**5 * abs(true_error(4, SIZES)) * LAST_SLOPE  # at order 4 the error is a fifth power
    after, ratio = choose_stepped(*after_unequal_steps(3), weight)
    assert after.order == (3 if growth < LEAST_GROWTH else 4)
    assert ratio == pytest.approx(1.0 if growth < LEAST_GROWTH else growth, rel=1e-4)


@looping("growth", [0.9, 1.0, 1.1])
@looping("q", range(1, MAX_ORDER))
def test_steps_that_keep_growing_or_shrinking_see_the_error_of_the_order_above(q, growth):
    """Real ones, of y' = f(t): each looks like the one before but for its size, so that a constant y^(q+1) leaves nothing of their corrections.

    What y^(q+2) leaves is the error of the order above exactly where sizes are equal, else as well as a choice of the order needs it.
    """
    sizes = 0.05 * growth ** np.arange(-59.0, 1.0)
    t, slope = -sizes.sum(), path(q).deriv()
    after = History(derivatives(q, sizes[0], t), sizes[0], sizes[0] * growth ** -np.arange(1.0, MAX_ORDER + 2), 60, np.zeros(1), 0.0)
    for h in sizes:
        before, t = after.rescaled(h), t + h
        c, predicted = before.coefficients(), before.predicted()
        after = before.corrected(predicted, c, (h * slope(t) - predicted[1]) / c.l[1])
    error = abs(true_error(q + 1, sizes[::-1])) * LAST_SLOPE
    after, ratio = choose_stepped(before, after, 1e3 * error)
    assert after.order == q + 1
    assert SAFETY_HIGHER * ratio ** (q + 2) / 1e3 == pytest.approx(1.0, rel=1e-3 if growth == 1.0 else 0.35)


# After failures -------------------------------------------------------------------------------------------------------------------------


def tried(monkeypatch, q, wait, refused, error=2.0):
    """The state after a step of y' = 1 from a past of order q, the first tries at which are refused as if they had the error, and all sizes in x."""
    monkeypatch.setattr("mvsim.flow.stepper.CLEARLY_UNSOUND", error)
    stepper, sizes = Stepper(steady()), []
    Z = np.array([[1.0 / math.factorial(j), 0.0, 0.0] for j in range(q + 1)])  # y = e^x, and steps of size 1
    start = stepper.started(np.zeros(1), np.zeros(2), 1.0, np.ones(1))
    start = replace(start, history=History(Z, 1.0, np.ones(MAX_ORDER + 1), wait, np.zeros(3), 0.0), clock=1.0)

    def judge(size, *ends):
        sizes.append(size_of(size, 1.0))
        return Problem.gains(size, *ends) if len(sizes) > refused else None

    end, _ = stepper.step(start, math.inf, judge)
    return end, sizes


@pytest.mark.parametrize("q", range(1, MAX_ORDER + 1))
def test_after_two_failures_steps_become_five_times_shorter_and_after_four_the_past_is_dropped(q, monkeypatch):
    """The first time as the error asks, a power q + 1 of the size, but no more than ten times; from the fourth on they take a tenth of the time."""
    end, sizes = tried(monkeypatch, q, 1, refused=5)
    assert 2.0 * (sizes[1] / sizes[0]) ** (q + 1) == pytest.approx(1.0 / SAFETY_SAME, rel=1e-4)
    assert np.divide(sizes[2:4], sizes[1:3]) == pytest.approx([0.2, 0.2], rel=1e-12)
    assert np.divide(np.expm1(sizes[4:]), np.expm1(sizes[3:-1])) == pytest.approx([0.1, 0.1], rel=1e-9)
    assert (end.history.order, end.history.wait) == (1, 2)
    assert tried(monkeypatch, q, 1, refused=1, error=1e9)[1] == pytest.approx([1.0, 0.1], rel=1e-12)
    assert tried(monkeypatch, q, 1, refused=1, error=math.nan)[1] == pytest.approx([1.0, 0.1], rel=1e-12)


@pytest.mark.parametrize("refused", [1, 2, 3])
@pytest.mark.parametrize(("wait", "left"), [(1, 2), (2, 2), (3, 2), (4, 3), (7, 6)])
def test_after_a_step_with_failures_its_size_stays_and_the_order_for_two_steps_at_least(wait, left, refused, monkeypatch):
    end, sizes = tried(monkeypatch, 3, wait, refused)
    assert len(sizes) == refused + 1
    assert (end.history.order, end.history.wait) == (3, left)
    assert refused == 3 or end.history.h == pytest.approx(sizes[-1], rel=1e-12)  # the third is so short that the variable of the steps changes


# What is known near y -------------------------------------------------------------------------------------------------------------------


def test_the_system_is_linearised_anew_when_the_clock_has_grown_since_it_was_least(monkeypatch):
    """It falls at jumps of the van der Pol oscillator, where steps are short, and grows after them."""
    monkeypatch.setattr("mvsim.flow.linearisation_cache.OUTGROWN", 2.0)  # so that it happens often
    problem = Problem(
        lambda y: np.array([y[1], 5.0 * (1.0 - y[0] ** 2) * y[1] - y[0]]),
        lambda y: np.array([[0.0, 1.0], [-10.0 * y[0] * y[1] - 1.0, 5.0 * (1.0 - y[0] ** 2)]]),
        lambda y: 1e-6 * (np.abs(y) + 1.0),
    )
    stepper, y = Stepper(problem), np.array([2.0, 0.0])
    state, t, only_by_the_least = stepper.started(y, np.zeros(2), 1e-6, problem.rate(y)), 0.0, 0
    first = least = state.clock
    while t < 50.0:
        before = state
        state, size = stepper.step(before, math.inf, problem.gains)
        t += size
        if state.linearised is not before.linearised:
            only_by_the_least += 2.0 * least < before.clock <= 2.0 * first
            first = least = before.clock
        else:
            assert before.clock <= 2.0 * least
        least = min(least, state.clock)
    assert only_by_the_least >= 3
