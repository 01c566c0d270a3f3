"""The rule against steps that damp what grows."""

from itertools import pairwise

import numpy as np
import pytest

import mvsim
from mvsim.flow import Escaping, Field, GradientFlow, State, Units, system
from mvsim.flow.growth import outruns_growth
from mvsim.flow.interface import Motion
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of


@pytest.mark.parametrize(
    ("rate", "y", "refused"),
    [(0.9, 1.0, False), (1.1, 1.0, True), (3.0, 1.0, True), (3.0, -1.0, True), (-1e6, 1.0, False), (3.0, 1e-3, False), (0.0, 1.0, False)],
)
def test_a_step_of_backward_euler_is_refused_if_it_is_longer_than_the_growth_time(rate, y, refused):
    """Of one among three coordinates; the others relax, or move by less than they may err."""
    rates, start = np.array([-5.0, rate, 2.0]), np.array([4.0, y, 1e-4])
    before, end = Motion(start, rates * start), start / (1.0 - rates)
    assert outruns_growth(1.0, before, Motion(end, rates * end), np.full(3, 1e-2)) == refused


def test_a_coordinate_that_starts_from_rest_is_refused_until_it_moves_by_no_more_than_it_may_err():
    assert outruns_growth(1.0, Motion(np.zeros(1), np.zeros(1)), Motion(np.full(1, 0.5), np.ones(1)), np.full(1, 0.1))
    assert not outruns_growth(0.4, Motion(np.zeros(1), np.zeros(1)), Motion(np.full(1, 0.08), np.full(1, 0.4)), np.full(1, 0.1))


S = 1e3
"""How slowly the balance at x = 0 becomes unstable, in relaxation times."""


def escape_time(rtol):
    """When x leaves the balance near 0, which the slow s makes unstable at t = S, for about sqrt(s / S - 1); inf if it does not until 2 S.

    J = (1 - s / S) x^2 / 2 + x^4 / 4 - 1e-4 x - s.
    """

    def loss_and_gradient(step, c):
        x, s = c
        loss = 0.5 * (1.0 - s / S) * x**2 + 0.25 * x**4 - 1e-4 * x - s + 5.0 * S
        return loss, np.array([(1.0 - s / S) * x + x**3 - 1e-4, -0.5 * x**2 / S - 1.0])

    unit = np.array([1.0, 0.3 * S])
    field = Field(loss_and_gradient, lambda c: None, lambda c: Units(unit, unit), Escaping(np.zeros(0, int), np.zeros(0), 8.0), str)
    for visit in GradientFlow(field, rtol).trajectory(State(0, 0.0, np.array([1e-4, 0.0])), 2.0 * S):
        if visit.state.c[0] > 0.2:
            return visit.state.time
    return np.inf


def test_an_escape_off_the_chart_is_not_passed_over(monkeypatch):
    """Without the rule steps follow the unstable balance for as long as one looks."""
    reference = escape_time(1e-6)
    assert reference == pytest.approx(1.1 * S, rel=0.02)
    assert escape_time(1e-3) == pytest.approx(reference, rel=0.02)
    monkeypatch.setattr(system, "outruns_growth", lambda *step: False)
    assert escape_time(1e-3) == np.inf


@pytest.mark.slow
def test_a_flow_that_starts_anew_without_its_past_has_the_same_escapes():
    """From two saved states, in the middle and shortly before the first escape."""
    p, t_end = mvsim.Parameters(k=10), 1e7
    field = field_of(mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0)))

    def escapes_from(start):
        states = [start, *(visit.state for visit in GradientFlow(field, 1e-3).trajectory(start, t_end))]
        log = EscapeLog.started(own_correlations(start.c), p.rho)
        for before, after in pairwise(states):
            log.observe(before, after)
        return states, np.sort(log.time[log.step >= 0])

    states, times = escapes_from(State(0, 0.0, mvsim.initial_correlations(p, 0)))
    assert len(times) >= 2
    for until in (0.5 * times[0], 0.98 * times[0]):
        saved = next(state for state in reversed(states) if state.time < until)
        _, again = escapes_from(State(saved.step, saved.time, saved.c))
        assert again == pytest.approx(times, rel=2e-3)
