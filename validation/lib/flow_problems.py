"""Flows that the studies follow, and how two of them are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mvsim
from mvsim.integrators import Field, GradientFlow, State
from mvsim.simulation.field import field_of


@dataclass(frozen=True)
class Problem:
    """A loss and how long its flow is followed: through escapes, to where something is learned and something is not."""

    name: str
    method: str
    parameters: mvsim.Parameters
    t_end: float

    def field(self) -> Field:
        """Return its vector field."""
        return field_of(mvsim.objective(self.method, self.parameters, mvsim.sample_dataset(self.parameters, 0)))

    def start(self) -> np.ndarray:
        """Return the initial correlations."""
        return mvsim.initial_correlations(self.parameters, 0)


def small_problems() -> list[Problem]:
    """Return the problems at k = 4, on which references are affordable."""
    p = mvsim.Parameters(k=4, d=2000)
    return [Problem("erm", "erm", p, 1e6), Problem("midpoint", "midpoint", p, 3e7)]


def follow(problem: Problem, rtol: float) -> State:
    """Return the final state of a flow."""
    for visit in GradientFlow(problem.field(), rtol).trajectory(State(0, 0.0, problem.start()), problem.t_end):
        state = visit.state
    return state


def error(c: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest error of a correlation, relative to it plus a tenth of the largest of its neuron."""
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    return float(np.max(np.abs(c - reference) / size))
