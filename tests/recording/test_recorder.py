"""What the recorder says of a run: the faithful step size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tiny_run import TINY
from tolerances import FIRST_ORDER

import mvsim
from mvsim.integrators import State
from mvsim.recording.feature_test import FeatureTest
from mvsim.recording.hessian import faithful_learning_rate
from mvsim.recording.recorder import Recorder


def recorder_of(method):
    p = mvsim.Parameters(**TINY)
    return Recorder(mvsim.objective(method, p, mvsim.sample_dataset(p, 0)), FeatureTest(p, 1, 0, None), 0)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_a_step_of_the_faithful_size_departs_from_the_flow_by_the_given_part(method):
    recorder = recorder_of(method)
    loss, p = recorder.objective, recorder.objective.parameters
    c = 3 * p.rho * np.random.default_rng(0).standard_normal((p.k, p.m, p.k, 2))
    recorder.start(State(0, 0.0, c))
    eta = faithful_learning_rate(recorder.records["turning_rate"], 1e-4)
    flow = solve_ivp(lambda t, y: -loss.gradient(y.reshape(c.shape)).ravel(), (0.0, eta), c.ravel(), rtol=1e-12, atol=1e-14).y[:, -1]
    step = -eta * loss.gradient(c).ravel()
    assert np.linalg.norm(c.ravel() + step - flow) / np.linalg.norm(step) == pytest.approx(1e-4, rel=FIRST_ORDER)


def test_the_faithful_step_size_is_that_of_the_fastest_turn_on_record():
    assert faithful_learning_rate([np.nan, 0.5, 4.0, 0.0, np.nan, 2.0], 0.01) == pytest.approx(0.005)
    assert faithful_learning_rate([np.nan, 0.0], 0.01) == np.inf
