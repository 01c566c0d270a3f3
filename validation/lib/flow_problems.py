"""Flows that the studies follow, and how two of them are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import mvsim
from mvsim.flow import Field, GradientFlow, State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.multi_view.objectives import Objective
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of


@dataclass(frozen=True)
class Problem:
    """A loss and how long its flow is followed: through escapes."""

    name: str
    method: str
    parameters: mvsim.Parameters
    t_end: float

    def field(self) -> Field:
        """Return its vector field."""
        return field_of(self.objective())

    def objective(self) -> Objective:
        """Return the loss on the points of seed 0."""
        return mvsim.objective(self.method, self.parameters, mvsim.sample_dataset(self.parameters, 0))

    def start(self) -> np.ndarray:
        """Return the initial correlations."""
        return mvsim.initial_correlations(self.parameters, 0)


def small_problems() -> list[Problem]:
    """Return the problems at k = 4, on which references are affordable, followed beyond all escapes."""
    p = mvsim.Parameters(k=4, d=2000)
    return [Problem("erm", "erm", p, 5e8), Problem("midpoint", "midpoint", p, 3e9)]


def literal_problems() -> list[Problem]:
    """Return the problems at k = 4 and d = k^20, followed beyond all escapes."""
    p = mvsim.Parameters.literal(k=4)
    return [Problem("erm, literal", "erm", p, 1e35), Problem("midpoint, literal", "midpoint", p, 5e35)]


def follow(problem: Problem, rtol: float) -> State:
    """Return the final state of a flow."""
    return follow_escapes(problem, rtol)[0]


def follow_escapes(problem: Problem, rtol: float, budget: float = math.inf) -> tuple[State, np.ndarray]:
    """Return the state of a flow at its end, or once it has taken more gradients than the budget.

    And the (k, V) times at which the first neuron of each view has escaped, infinite where none has.
    """
    before = State(0, 0.0, problem.start())
    log = EscapeLog.started(own_correlations(before.c), problem.parameters.rho)
    for visit in GradientFlow(problem.field(), rtol).trajectory(before, problem.t_end):
        log.observe(before, visit.state)
        before = visit.state
        if before.evaluations > budget:
            break
    return before, np.where(np.isnan(log.time), np.inf, log.time).min(axis=1)


def error(c: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest error of a correlation, relative to it plus a tenth of the largest of its neuron."""
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    return float(np.max(np.abs(c - reference) / size))


def margins(problem: Problem, c: np.ndarray) -> np.ndarray:
    """Return the (N,) margins of the training points."""
    objective = problem.objective()
    outputs, labels = objective.outputs(c), objective.data.labels
    points = np.arange(len(labels))
    own = outputs[labels, points]
    others = outputs.copy()
    others[labels, points] = -math.inf
    return own - others.max(axis=0)
