"""The gradient flow beside CVODE: two solvers, one flow."""

from itertools import pairwise

import numpy as np
import pytest
from lib.cvode import FailedError, crossing_times, follow

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

SMALL = mvsim.Parameters(k=3, m=3, N=30, P=16, d=300)
START = mvsim.initial_correlations(SMALL, 0)
T_END = {"erm": 1e4, "midpoint": 1e6}
"""Until after several escapes."""


def objective(method):
    return mvsim.objective(method, SMALL, mvsim.sample_dataset(SMALL, 0))


def states_of_flow(method, rtol):
    states = [State(0, 0.0, START)]
    states += [visit.state for visit in GradientFlow(field_of(objective(method)), rtol).trajectory(states[0], T_END[method])]
    return states


@pytest.mark.slow
@pytest.mark.parametrize("method", T_END)
def test_the_flow_is_that_of_cvode_through_escapes(method):
    """At the default tolerance it ends within ten of them, at 1e-5 within 15, of which CVODE's own error is five; escapes come within 50."""
    times, log_of = np.geomspace(1.0, T_END[method], 400), {}
    for rtol, most in ((1e-3, 1e-2), (1e-5, 1.5e-4)):
        states = states_of_flow(method, rtol)
        log = log_of[rtol] = EscapeLog.started(own_correlations(START), SMALL.rho)
        for before, after in pairwise(states):
            log.observe(before, after)
        if rtol == 1e-3:
            times = np.sort(np.concatenate([times, log.time[log.step >= 0]]))
            others = follow(objective(method).gradient, START, times)
            reference = others[-1]
            assert own_correlations(reference).max() > 4 * SMALL.rho  # something has escaped
        difference = np.max(np.abs(states[-1].c - reference) / (np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)))
        assert 1e-9 < difference <= most  # not 0: the solvers are two
    crossings = crossing_times(np.array([own_correlations(c) for c in others]), times, SMALL.rho)
    escaped = np.isfinite(crossings)
    assert escaped.any()
    for rtol, log in log_of.items():
        assert np.array_equal(escaped, log.step >= 0)
        assert log.time[escaped] == pytest.approx(crossings[escaped], rel=max(50 * rtol, 2e-3))  # crossings are read off a grid


def test_cvode_knows_a_flow_with_an_escape_in_closed_form():
    """c' = (c / b)^7, whose solution is c_0 (1 - 6 (c_0 / b)^6 t / b)^(-1/6) below b."""
    b, start = 0.1, np.array([[0.05, 0.04]])
    times = [0.3, 0.7, 1.0]
    states = follow(lambda c: -((c / b) ** 7), start, times)
    expected = [start * (1.0 - 6.0 * (start / b) ** 6 * t / b) ** (-1.0 / 6.0) for t in times]
    np.testing.assert_allclose(states, expected, rtol=1e-4)


def test_when_a_threshold_is_passed():
    states = np.array([[0.0, 5.0, 0.0], [1.0, 6.0, 0.0], [3.0, 7.0, 0.5]])
    assert crossing_times(states, [1.0, 2.0, 4.0], 2.0).tolist() == [3.0, 1.0, np.inf]


def test_values_that_are_not_finite_are_named():
    with pytest.raises(FailedError, match="the gradient is not finite at t = "):
        follow(lambda c: np.full_like(c, np.nan), np.ones(2), [1.0])
