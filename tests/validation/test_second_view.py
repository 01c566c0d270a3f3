"""What predicts the escape of second views (`validation/lib/second_view.py`) agrees with the equations that it states, solved in another way."""

import numpy as np
import pytest
from lib.regimes import with_r0
from lib.second_view import end_of_run, follow_first_view, tensor_power_times
from looping import looping
from scipy.integrate import solve_ivp

import mvsim
from mvsim.multi_view.data import sample_points
from mvsim.multi_view.diagnostics import log_signal_strength

P = with_r0(4, 0.2, N=60)
DATA = mvsim.sample_dataset(P, 0)
LEADERS = 0.4 * P.rho * np.array([[1.0, 0.9], [0.85, 0.95], [0.9, -0.1], [-0.3, -0.2]])
TIMES = tensor_power_times(P, log_signal_strength(P, DATA), LEADERS)


def _by_definition(y, end):
    """Return W at time ``end`` after the first escape in class y, by integrating C' and W' in time with points taken one by one."""
    first = int(TIMES[y].argmin())
    points = [(x[first], x[1 - first]) for x, label in zip(DATA.signal_coefficients, DATA.labels, strict=True) if label == y]
    total = sum((other**P.alpha).sum() for _, other in points)

    def speeds(t, state):
        C, _ = state
        speed = pace = 0.0
        for own, other in points:
            margin = max(0.0, sum(C * beta - (1.0 - 1.0 / P.alpha) * P.rho for beta in own))
            residual = (P.k - 1.0) / (P.k - 1.0 + np.exp(margin))
            speed += residual * own.sum() / P.N
            pace += residual * (other**P.alpha).sum() / total
        return speed, pace / (1.0 - 1.0 / P.k)

    return solve_ivp(speeds, (0.0, end), (0.0, 0.0), method="LSODA", rtol=1e-9, atol=1e-12).y[1, -1]


@looping("y", [0, 1])
@looping("after", [3.0, 1e2, 1e5])
def test_the_time_of_the_second_view_is_the_integral_of_the_residuals(y, after):
    first = follow_first_view(P, DATA, TIMES)
    assert first.passed_by(TIMES[y].min() + after)[y] == pytest.approx(_by_definition(y, after), rel=0.01)


def test_a_second_view_escapes_when_its_time_has_passed():
    first = follow_first_view(P, DATA, TIMES)
    second = first.second_escapes()
    assert np.isfinite(second[:2]).all()
    for y in (0, 1):
        assert first.passed_by(second[y])[y] == pytest.approx(TIMES[y].max() - TIMES[y].min())
    assert second[2] == second[3] == first.time[3] == np.inf  # no positive correlation with the second view, or with any
    assert first.time[2] < np.inf


def test_times_are_those_of_the_power_law():
    rates = np.exp(log_signal_strength(P, DATA)[:2]) * (1.0 - 1.0 / P.k)
    power = P.alpha - 2.0
    np.testing.assert_allclose(TIMES[:2], P.rho / (power * rates) * (P.rho / LEADERS[:2]) ** power, rtol=1e-3)
    assert (np.isinf(TIMES) == (LEADERS < 0.0)).all()


def test_another_start_is_as_if_followed_anew():
    other = tensor_power_times(P, log_signal_strength(P, DATA), 2.0 * LEADERS)
    scaled, anew = follow_first_view(P, DATA, TIMES).started(other), follow_first_view(P, DATA, other)
    np.testing.assert_array_equal(scaled.second_escapes(), anew.second_escapes())


def test_a_class_without_points_never_escapes():
    data = sample_points(P, np.random.default_rng(0), np.arange(P.N) % 3)
    times = tensor_power_times(P, log_signal_strength(P, data), np.abs(LEADERS))
    first = follow_first_view(P, data, times)
    assert (np.isfinite(first.second_escapes()) == [True, True, False, False]).all()  # class 2 is too far apart
    assert first.passed_by(1e9)[3] == 0.0


@looping(
    ("first", "second", "end"),
    [
        ([1.0, 3.0], [np.inf, np.inf], 30.0),
        ([1.0, np.inf], [np.inf, np.inf], 10.0),
        ([1.0, 3.0], [2.0, 29.0], 290.0),
        ([1.0, 3.0], [289.0, 29.0], 2890.0),
        ([1.0, 3.0], [30.0, 31.0], 30.0),
    ],
)
def test_a_run_ends_tenfold_after_its_last_escape(first, second, end):
    assert end_of_run(np.array(first), np.array(second)) == end
