"""A run made again in parts: from a saved state to records that follow it, with a tolerance that is ten times finer.

What a file says of a run is tied to the flow in this way: times, parameters, labels or correlations that do not belong together lead elsewhere. It is
the whole run only where that is affordable (`Budget`). Of a record between two saved states the own correlations, the loss, the learned features,
the training accuracy and the least margins are compared, of a saved state and of the end all correlations and the same; nothing else is.

How records are compared: `mvsim.papers.midpoint_mixup.run_checks.closeness`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError, StalledError
from mvsim.flow import GradientDescent, GradientFlow, State, Visit
from mvsim.numerics.logarithms import logarithm
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.closeness import Distance, Met, Path, Point, completed
from mvsim.papers.midpoint_mixup.run_checks.stretches import Budget, Stretch, apart, measure_of, waypoints
from mvsim.runs.simulation.field import field_of

FINER = 0.1
"""Tolerance of the replay over that of the run."""

LEAST_RTOL = 1e-10
"""The finest tolerance there is."""

AT_LEAST, PER_STEP = 1000, 10
"""A replay is given up after `AT_LEAST` steps and `PER_STEP` for each step of the run: states that do not belong together may lead to tiny steps.
From escape to escape a run takes few steps where the flow that replays it takes many."""

CLOCK, WIDEST_CLOCK = 50.0, 0.05
"""Error of the clock that is allowed, in units of rtol and relative to the time that is replayed; and the most of it."""

ROUNDED = 8.0 * float(np.finfo(float).eps)
"""The same relative to the time itself, which rounding does not resolve: at t = 10^30 an escape is over within one unit of it."""


class Replayed(NamedTuple):
    """What came of one stretch."""

    times: tuple[float, ...]  # times of the points that were compared
    distances: tuple[Distance, ...]  # of each of them from the replay; infinite from where that went astray
    rise: float  # largest rise of ln J in one step of the replay
    steps: int


def replayed_within(replays: Sequence[Replay], budget: Budget) -> list[Replay]:
    """Replay what a budget allows, and return what was begun.

    First each goes to its first point, then each on to its last one: the one that leads to the end of the run first, the others in the same order.
    The first goes to its first point in any case.
    """
    begun: list[Replay] = []
    for replay in replays:
        if budget.is_left or not begun:
            replay.go_on(1, budget)
            begun.append(replay)
    for replay in sorted(begun, key=lambda replay: replay.stretch.end is None):
        replay.go_on(len(replay.stretch.steps), budget)
    return begun


class Replay(ABC):
    """A stretch as it is replayed, from one of its points, records and perhaps the end, to the next; ``reached`` of these are met, or missed."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        self.stretch, self.reached = stretch, 0

    @abstractmethod
    def go_on(self, points: int, budget: Budget | None = None) -> None:
        """Follow the stretch until so many points are met, or, beyond the first, the budget is spent; without one, in any case."""

    @property
    @abstractmethod
    def result(self) -> Replayed:
        """What came of it so far."""


class FlowReplay(Replay):
    """The gradient flow along a stretch. A record between two saved states has the own correlations of every neuron; a saved state all of them."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        super().__init__(evidence, stretch)
        field, rtol = field_of(evidence.objective), evidence.rtol
        relative, start = min(CLOCK * rtol, WIDEST_CLOCK), stretch.snapshot
        points = waypoints(evidence, stretch)
        self._times = [waypoint.time for waypoint in points]
        self._windows = [max(relative * (time - start.time), ROUNDED * time) for time in self._times]
        self._path = Path(field, start.c, rtol, evidence.parameters.d)
        self._waiting = [Met(waypoint, window) for waypoint, window in zip(points, self._windows, strict=True)]
        self._integrator = GradientFlow(field, max(FINER * rtol, LEAST_RTOL))
        self._descent, self._resumable = _Descent(evidence, start.c), State(start.step, start.time, start.c)
        self._measure = measure_of(evidence)
        self._resumed = Point(start.time, start.c, self._descent.log_loss, self._measure)
        self._astray = False

    def go_on(self, points: int, budget: Budget | None = None) -> None:
        """See `Replay`."""
        before = self.reached
        while self.reached < points and not self._astray:
            if not self._follow(self._times[self.reached], budget if self.reached else None, budget):
                break
            self.reached += 1
        if self.reached > before and not self._astray:
            self._follow(self._times[self.reached - 1] + self._windows[self.reached - 1], None, budget)

    def _follow(self, end: float, limit: Budget | None, budget: Budget | None) -> bool:
        """Go on to a time; return whether it was reached, or missed because the replay has gone astray, before a limit was."""
        before, evaluations = self._resumed, self._resumable.evaluations
        most = AT_LEAST + PER_STEP * self.stretch.steps[min(self.reached, len(self.stretch.steps) - 1)]
        try:
            for visit in self._integrator.trajectory(self._resumable, end):
                self._descent.look(visit)
                after = Point(visit.state.time, visit.state.c, self._descent.last_log_loss, self._measure)
                for met in self._waiting:
                    met.compare(self._path, before, after)
                before = after
                if budget is not None:
                    budget.spend(visit.state.evaluations - evaluations + 1)
                evaluations = visit.state.evaluations
                if visit.resumable:
                    self._resumable, self._resumed = visit.state, after
                if self._descent.steps > most:
                    self._astray = True
                    return True
                if limit is not None and not limit.is_left:
                    return False
        except (DivergedError, StalledError):
            self._astray = True  # the records that were not met have infinite errors
        return True

    @property
    def result(self) -> Replayed:
        """See `Replay`."""
        met = self._waiting[: self.reached]
        distances = tuple(one.distance(self._path) for one in met)
        return Replayed(tuple(one.waypoint.time for one in met), distances, self._descent.rise, self._descent.steps)


class DescentReplay(Replay):
    """The steps of gradient descent along a stretch, which are the same up to round-off."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        super().__init__(evidence, stretch)
        self._integrator = GradientDescent(field_of(evidence.objective), evidence.run.provenance["integrator"]["learning_rate"])
        start = stretch.snapshot
        self._waiting, self._measure = waypoints(evidence, stretch), measure_of(evidence)
        self._state, self._descent = State(start.step, start.time, start.c), _Descent(evidence, start.c)
        self._distances, self._taken = list[Distance](), 0

    def go_on(self, points: int, budget: Budget | None = None) -> None:
        """See `Replay`."""
        while self.reached < points and (budget is None or budget.is_left or not self.reached):
            waypoint, distance = self._waiting[self.reached], Distance.astray()
            try:
                for visit in self._integrator.trajectory(self._state, waypoint.time):
                    self._state, self._taken = visit.state, self._taken + 1
                    self._descent.look(visit)
                    if budget is not None:
                        budget.spend(2)
                    if self._taken > self.stretch.steps[self.reached]:  # more than the file says that there were: the point is not met
                        break
                else:
                    c = self._state.c
                    state = float(np.abs(completed(c, waypoint.own, waypoint.whole) - c).max() / max(float(np.abs(c).max()), 1e-300))
                    differences = np.abs(self._measure(c) - waypoint.measured)
                    distance = Distance(state, 0.0, 0.0, *apart(differences, waypoint.measured, len(c)))
            except DivergedError:
                pass  # the point was not met
            self._distances.append(distance)
            self.reached += 1

    @property
    def result(self) -> Replayed:
        """See `Replay`."""
        times = tuple(waypoint.time for waypoint in self._waiting[: self.reached])
        return Replayed(times, tuple(self._distances), self._descent.rise, self._descent.steps)


class _Descent:
    """Looks at the loss after every step. A step that was cut short at a record is followed by the whole one, from the same state."""

    def __init__(self, evidence: Evidence, c: np.ndarray) -> None:
        self._loss = evidence.objective.loss
        self.log_loss = float(logarithm(self._loss(c)))
        self.last_log_loss = self.log_loss
        self.rise, self.steps = -math.inf, 0

    def look(self, visit: Visit) -> None:
        """Take the state after a step."""
        self.last_log_loss = float(logarithm(self._loss(visit.state.c)))
        if math.isfinite(self.last_log_loss) and math.isfinite(self.log_loss):
            self.rise = max(self.rise, self.last_log_loss - self.log_loss)
        self.log_loss, self.steps = self.last_log_loss if visit.resumable else self.log_loss, self.steps + 1
