"""What the recorder says of a run: the faithful step size, the sharpness, and measurements on fresh draws."""

from __future__ import annotations

import numpy as np
import pytest
from looping import looping
from scipy.integrate import solve_ivp
from tiny_run import TINY
from tolerances import FIRST_ORDER

import mvsim
from mvsim.flow import State
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.recording.hessian import faithful_learning_rate
from mvsim.runs.recording.recorder import Recorder


def recorder_of(method, **options):
    p = mvsim.Parameters(**TINY)
    return Recorder(mvsim.objective(method, p, mvsim.sample_dataset(p, 0), **options), FeatureTest(p, 1, 0, None), 0)


@looping("method", ["erm", "midpoint"])
def test_a_step_of_the_faithful_size_departs_from_the_flow_by_the_given_part(method):
    recorder = recorder_of(method)
    loss, p = recorder.objective, recorder.objective.parameters
    c = 3 * p.rho * np.random.default_rng(0).standard_normal((p.k, p.m, p.k, 2))
    recorder.start(State(0, 0.0, c))
    eta = faithful_learning_rate(recorder.records["turning_rate"], 1e-4)
    flow = solve_ivp(lambda t, y: -loss.gradient(y.reshape(c.shape)).ravel(), (0.0, eta), c.ravel(), rtol=1e-12, atol=1e-14).y[:, -1]
    step = -eta * loss.gradient(c).ravel()
    assert np.linalg.norm(c.ravel() + step - flow) / np.linalg.norm(step) == pytest.approx(1e-4, rel=FIRST_ORDER)


def test_the_recorded_sharpness_is_nearly_the_largest_eigenvalue():
    """From below, to a tenth here: products with the Hessian are few."""
    recorder = recorder_of("erm")
    loss, p = recorder.objective, recorder.objective.parameters
    c = 3 * p.rho * np.random.default_rng(0).standard_normal(p.correlations_shape)
    recorder.start(State(0, 0.0, c))
    hessian = [loss.hessian_vector_product(c, e.reshape(c.shape)).ravel() for e in np.eye(c.size)]
    assert 0.9 <= recorder.last("sharpness") / np.linalg.eigvalsh(hessian)[-1] <= 1.0


def test_a_record_is_measured_on_a_draw_on_which_its_state_has_not_been_trained():
    """The draw of the step that comes next, and not the one that led to the state."""
    recorder = recorder_of("mixup", pairs=7, redraw="each step")
    loss = recorder_of("mixup", pairs=7, redraw="each step").objective
    c = 3 * recorder.threshold * np.random.default_rng(0).standard_normal(recorder.objective.parameters.correlations_shape)
    recorder.start(State(0, 0.0, c))
    recorder.record(State(1, 1.0, c))
    losses = []
    for step in (0, 1):
        loss.begin_step(step)
        losses.append(loss.loss_and_gradient(c)[0])
    assert list(recorder.records["loss"]) == losses
    assert losses[0] != losses[1]


def test_the_faithful_step_size_is_that_of_the_fastest_turn_on_record():
    assert faithful_learning_rate([np.nan, 0.5, 4.0, 0.0, np.nan, 2.0], 0.01) == pytest.approx(0.005)
    assert faithful_learning_rate([np.nan, 0.0], 0.01) == np.inf


def test_an_escape_is_told_from_the_last_records_unless_its_time_recedes():
    recorder, b = recorder_of("midpoint"), recorder_of("midpoint").linear_from
    p = recorder.objective.parameters

    def add(time, u):
        """Record one own correlation alone above 0, with (c / b)^(2 - alpha) = u."""
        c = np.full(p.correlations_shape, -0.1 * b)
        c[1, 0, 1, 1] = b * u ** (1.0 / (2.0 - p.alpha))
        (recorder.record if recorder.times else recorder.start)(State(len(recorder.times), time, c))

    for time in (0.0, 1.0, 2.0, 10.0):
        add(time, 100.0 - time)
    expected = np.full((p.k, p.V), np.inf)
    expected[1, 1] = 99.0
    np.testing.assert_allclose(recorder.escape_times(), expected, rtol=1e-9)
    add(40.0, 89.0)  # so much slower that the time is more than a thousand
    assert recorder.escape_times().min() == np.inf
