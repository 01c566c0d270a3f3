"""The variable of the steps: it is undone by its inverse, and what rewrites the past in it leaves the past as a function of time alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
from looping import looping
from stepping import Problem

from mvsim.flow.bdf import MAX_ORDER, History
from mvsim.flow.clock import FRESH, LONGEST, MARGIN, SHORT, WORTHWHILE, in_frame, size_of, time_of, with_smaller_clock
from mvsim.flow.stepper import Stepper

every_order = pytest.mark.parametrize("order", range(1, MAX_ORDER + 1))
every_order_above_1 = pytest.mark.parametrize("order", range(2, MAX_ORDER + 1))


@looping("B", [1e-80, 1.0, 1e200])
def test_time_and_size_are_inverses(B):
    for h in (1e-90, 1e-9, 0.1, 1.0, LONGEST):
        assert size_of(time_of(h, B), B) == pytest.approx(h, rel=1e-14, abs=0.0)
    assert time_of(1e-90, B) == pytest.approx(1e-90 * B, abs=0.0)
    assert time_of(math.log(2.0), B) == pytest.approx(B, abs=0.0)
    for longer in (1.001 * time_of(LONGEST, B), 1e300, math.inf):
        assert size_of(longer, B) == LONGEST


def truncated(function, series, order):
    """The power series (order + 1,) of function(u(x)) for the polynomial ``function`` and the series u, without a constant."""
    return np.resize(function(np.polynomial.Polynomial(series)).cutdeg(order).coef, order + 1)


def exponential_minus_1(order, h=1.0):
    """The power series of (e^(h x) - 1) / h."""
    return np.concatenate([[0.0], h ** np.arange(order) / np.cumprod(np.arange(1.0, order + 1))])


def past_of(Z, h, reach):
    """The past with these scaled derivatives (q + 1, n), left by steps of the size ``reach``."""
    return History(Z, h, np.full(MAX_ORDER + 1, reach), 2, np.zeros(Z.shape[1]), 1.0)


def at(history, x):
    """The polynomial that is the past, at x."""
    return ((x / history.h) ** np.arange(history.order + 1)) @ history.Z


@every_order
@pytest.mark.parametrize("B", [1e-40, 2.0])
def test_a_frame_takes_away_what_moves_steadily_to_the_order(order, B):
    history = past_of(np.random.default_rng(order).standard_normal((order + 1, 3)), 0.2, 0.2)
    change = np.array([1.5, 0.0, -0.7]) / B
    kept = history.Z.copy()
    seen = in_frame(history, change, B)
    assert np.array_equal(history.Z, kept)
    assert np.array_equal(seen.Z[:, 1], kept[:, 1])
    assert np.array_equal(seen.Z[0], kept[0])  # at the present both frames see the same
    errors = [np.abs(at(seen, x) - at(history, x) - change * time_of(x, B)).max() for x in (0.1, 0.05)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.1)


def test_the_same_frame_is_the_same_past():
    history = past_of(np.ones((3, 2)), 0.2, 0.2)
    assert in_frame(history, np.zeros(2), 1.0) is history


def relaxing(order, h, B, reach):
    """The past of y = (1 + t / B_new)^-0.3 = exp(-0.3 x'), which is smooth in the variable x' of the smaller B_new, in that of B; and B_new.

    Beside it stands an integral, as a stepper keeps it.
    """
    ratio = math.expm1(h) / FRESH
    binomials = np.cumprod([1.0, *((-0.3 - j) / (j + 1) for j in range(order))])
    series = truncated(np.polynomial.Polynomial(binomials), exponential_minus_1(order, h) * (h / ratio), order)
    return past_of(np.stack([series, SMOOTH[: order + 1]], axis=1), h, reach), B * ratio


SMOOTH = 1e6 * 0.01 ** np.arange(MAX_ORDER + 1)
"""Scaled derivatives at a step size of 0.01 of what is smooth in x, and so in no other variable."""


@every_order_above_1
@pytest.mark.parametrize("h", [1e-90, 1e-20, 1e-5, 0.01])
def test_a_smaller_clock_sees_the_same_function_of_time(order, h):
    history, smaller = relaxing(order, h, 7.0, reach=0.1 * h)
    after, B = with_smaller_clock(history, 7.0, np.ones(1))
    assert pytest.approx(smaller, rel=1e-12, abs=0.0) == B
    assert time_of(after.h, B) == pytest.approx(time_of(h, 7.0), rel=1e-12, abs=0.0)
    expected = (-0.3 * after.h) ** np.arange(order + 1) / np.cumprod([1.0, *range(1, order + 1)])
    assert np.abs(after.Z[:, 0] - expected).max() <= 1e-12
    places, new_places = np.cumsum(history.past[: order + 1]), np.cumsum(after.past[: order + 1])
    assert np.allclose(-B * np.expm1(-new_places), -7.0 * np.expm1(-places), rtol=1e-12, atol=0.0)  # the steps before began when they began
    assert after.scale == 0.0


@looping("order", [2, 4])
def test_the_clock_is_no_smaller_than_the_reach_of_the_past(order):
    history, _ = relaxing(order, 0.001, 1.0, reach=0.03)
    after, B = with_smaller_clock(history, 1.0, np.ones(1))
    assert pytest.approx(MARGIN * -math.expm1(-0.03 * (order + 1))) == B
    assert np.isfinite(after.past).all()


def left_as_they_are(history):
    after, B = with_smaller_clock(history, 1.0, np.ones(1))
    return after is history and B == 1.0


def test_the_clock_stays_where_a_smaller_one_is_of_no_use():
    history, _ = relaxing(3, 0.01, 1.0, reach=0.01)
    assert not left_as_they_are(history)
    assert left_as_they_are(history.rescaled(SHORT))
    assert left_as_they_are(relaxing(1, 0.01, 1.0, reach=0.01)[0])
    far = -math.log1p(-WORTHWHILE / MARGIN) / 4
    assert not left_as_they_are(replace(history, past=np.full(MAX_ORDER + 1, 0.99 * far)))
    assert left_as_they_are(replace(history, past=np.full(MAX_ORDER + 1, 1.01 * far)))
    assert left_as_they_are(replace(history, Z=history.Z[:, ::-1]))  # smooth, and beside it an integral that is not


def drift(steady):
    """By how much the steps after the first one err in a coordinate that moves at speed 1, which another one follows fast."""

    def f(y):
        return np.array([-1e3 * (y[0] - np.cos(y[1])), 1.0])

    problem = Problem(f, lambda y: np.array([[-1e3, -1e3 * np.sin(y[1])], [0.0, 0.0]]), lambda y: np.full(2, 1e-5), steady, stiff=[0])
    stepper, t, errors = Stepper(problem), 0.0, []
    state = stepper.started(np.array([1.0, 0.0]), np.zeros(2), 1e-6, f(np.array([1.0, 0.0])))
    while t < 4.0:
        state, size = stepper.step(state, math.inf, problem.gains)
        t += size
        errors.append(state.history.Z[0, 1] - t)
        assert len(errors) < 500, "steps get ever shorter"
    assert len(errors) > 50
    return abs(errors[-1] - errors[0])


def test_what_moves_at_constant_speed_is_exact_in_its_frame_alone():
    assert drift(steady=[1]) < 1e-12
    assert drift(steady=[]) > 1e-9


class OneOrder(Stepper):
    """Steps of one order and one size."""

    def _next(self, before, after, *rest):
        return after, 1.0


@every_order
def test_steps_in_x_have_the_order_of_the_formula(order, monkeypatch):
    """y' = -y from 0 to e - 1, in steps of constant size in x, from an exact past."""
    monkeypatch.setattr("mvsim.flow.stepper.with_smaller_clock", lambda history, B, weight: (history, B))
    problem = Problem(lambda y: -y, lambda y: -np.eye(1), np.ones_like)
    factorials = np.cumprod([1.0, *range(1, order + 1)])
    start = truncated(np.polynomial.Polynomial((-1.0) ** np.arange(order + 1) / factorials), exponential_minus_1(order), order)

    def error(steps):
        h, stepper = 1.0 / steps, OneOrder(problem)
        state = stepper.started(np.ones(1), np.zeros(2), 1.0, -np.ones(1))
        history = past_of(np.outer(h ** np.arange(order + 1) * start, [1.0, 0.0, 0.0]), h, h)
        state, t = replace(state, history=history, clock=1.0), 0.0
        for _ in range(steps):
            state, size = stepper.step(state, math.inf, problem.gains)
            t += size
        assert t == pytest.approx(math.e - 1.0)
        return abs(state.history.Z[0, 0] - math.exp(-t))

    assert np.log2(error(40) / error(80)) == pytest.approx(order, abs=0.35)


@looping("power", [2, 3, 8])
def test_a_relaxation_takes_as_many_steps_in_each_decade_of_time(power):
    """y' = -y^power, y = (1 + (power - 1) t)^(-1 / (power - 1))."""
    problem = Problem(lambda y: -(y**power), lambda y: -power * np.diag(y ** (power - 1)), lambda y: 1e-5 * y)
    stepper, t, times = Stepper(problem), 0.0, []
    state = stepper.started(np.ones(1), np.zeros(2), 1e-4, -np.ones(1))
    while t < 1e7:
        state, size = stepper.step(state, math.inf, problem.gains)
        t += size
        times.append(t)
        assert state.history.Z[0, 0] == pytest.approx((1.0 + (power - 1) * t) ** (-1.0 / (power - 1)), rel=1e-3)
    in_decade = np.histogram(times, 10.0 ** np.arange(2, 8))[0]
    assert in_decade.max() <= in_decade.min() + 4
    assert in_decade.max() <= 21
