"""What a run says of how fast it goes, what it waits for, and how long it will take."""

from types import SimpleNamespace

import numpy as np
import pytest
from tiny_run import TINY, simulate

import mvsim
from mvsim.runs.simulation import pace, session
from mvsim.runs.simulation.pace import EscapeProgress, Pace, escape_progress


class Told:
    """A display that keeps what it is told."""

    def __init__(self):
        self.starts, self.statuses = [], []

    def start(self, info):
        self.starts.append(info)

    def update(self, status):
        self.statuses.append(status)

    def finish(self, summary):
        pass


@pytest.fixture
def clock(monkeypatch):
    """A clock in seconds, for a test to move."""
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


def test_what_is_left_of_a_flow_is_counted_in_decades_of_the_last_seconds(clock):
    flow = Pace(0)
    assert flow.seconds_to(10.0, 1e6) is None  # nothing is known yet
    for second in range(1, 61):  # a decade in 10 s, and after 30 s a decade in 20 s
        clock[0] = 100.0 + second
        decades = second / 10.0 if second <= 30 else 3.0 + (second - 30) / 20.0
        left = flow.seconds_to(10.0 ** (1.0 + decades), 1e8)
    assert decades == 4.5
    assert left == pytest.approx(20.0 * 2.5, rel=1e-9)  # from 10^5.5 to 10^8
    assert flow.seconds_to(10.0**5.5, None) is None
    assert flow.seconds_to(1e9, 1e8) == 0.0


def test_no_time_left_is_told_while_the_pace_changes(clock):
    flow, told = Pace(0), []
    for second in range(81):  # steady for 30 s, then an escape, after which each second passes more decades than the one before, then steady again
        clock[0] = 100.0 + second
        decades = second / 10.0 if second <= 30 else 3.0 + 1e-4 * 2.0 ** (min(second, 41) - 31) + max(0.0, second - 41) / 10.0
        told.append(flow.seconds_to(10.0 ** (1.0 + decades), 1e12) is not None)
    assert all(told[4:31])
    assert not any(told[34:50])
    assert all(told[62:])


def test_steps_per_second_are_those_since_the_beginning(clock):
    steady = Pace(40)
    clock[0] += 4.0
    assert steady.steps_per_second(60) == 5.0


def test_the_escapes_to_come_are_told():
    escaped = np.array([[False, False], [True, False]])
    recorder = SimpleNamespace(objective=SimpleNamespace(has_escapes=True), escapes=SimpleNamespace(views=lambda: escaped))
    recorder.escape_times = lambda: np.array([[50.0, 300.0], [np.inf, 8.0]])
    assert escape_progress(recorder, 12.0) == EscapeProgress(1, 4, 12.0, 300.0)
    recorder.escape_times = lambda: np.array([[50.0, np.inf], [np.inf, 80.0]])
    assert escape_progress(recorder, 12.0) == EscapeProgress(1, 4, 50.0, None)  # one of them never comes


def test_a_linear_model_waits_for_no_escape():
    told = Told()
    session_of = mvsim.simulate(mvsim.Parameters(k=3, model="linear", N=30), "erm", t_end=5.0, progress=told)
    assert session_of.status == "finished"
    assert all(status["escapes"] is None for status in told.statuses)


@pytest.mark.parametrize(("long", "said"), [(0.0, True), (1e9, False)])
def test_a_run_that_takes_long_says_so_before_it_starts(long, said, monkeypatch):
    monkeypatch.setattr(session, "LONG", long)
    told = Told()
    simulate("midpoint", progress=told)
    spans = [info["seconds"] for info in told.starts if "seconds" in info]
    assert len(spans) == said
    assert all(0.0 < least < most for least, most in spans)


def test_an_estimate_is_of_the_run_that_would_be_made():
    p = mvsim.Parameters(**TINY)
    found = mvsim.estimate(p, "erm", integrator="gd", eta=2.0, t_end=11.0)
    assert found.gradients == (6, 6)
    assert found.memory_bytes > 0
    with pytest.raises(mvsim.UsageError, match="t_end"):
        mvsim.estimate(p, t_end=-1.0)
    near, far = (mvsim.estimate(p, "erm", t_end=t_end).gradients for t_end in (1e3, 1e9))
    assert near[0] <= far[0]


def test_a_smaller_step_needs_more_gradients_and_a_later_end_more_of_a_flow():
    p = mvsim.Parameters(k=4)
    few, many = (mvsim.estimate(p, "erm", integrator="gd", eta=eta, t_end=1e4).seconds for eta in (10.0, 0.1))
    assert many[0] > 10.0 * few[0] - 3.0
    short, literal = (mvsim.estimate(one, "erm").gradients for one in (p, p.replace(d=4**20)))
    assert literal[0] > 5 * short[0]
