"""Runs that are interrupted after a step, and what is asked of them when they are resumed."""

import pytest
from example_run import assert_same_bits

import mvsim
from mvsim.runs.simulation.progress import Silent


class StopAfter(Silent):
    """A display that is interrupted after a step of which ``says`` is true."""

    def __init__(self, says):
        self.says = says

    def update(self, status):
        if self.says(status["step"]):
            raise KeyboardInterrupt


def assert_resumes(simulate, at, whole, out, monkeypatch):
    """Interrupt a run after a step, resume it, and compare it with the whole; ``simulate`` takes ``out``, ``progress`` and ``resume``."""
    assert int(whole.dataset["final_step"]) > at
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)  # the display is told of every step
    with pytest.raises(mvsim.Interrupted):
        simulate(out, progress=StopAfter(lambda step: step == at))
    assert int(mvsim.open_run(out).dataset["final_step"]) == at
    assert_same_bits(simulate(out, resume=True).dataset, whole.dataset)
