"""A run made again in parts: from a saved state to records that follow it, with a tolerance that is ten times finer.

What a file says of a run is tied to the flow in this way: times, parameters, labels or correlations that do not belong together lead elsewhere. It is
the whole run only where that is affordable (`Budget`). Of a record between two saved states the own correlations, the loss, the learned features
and the training accuracy are compared, of a saved state all correlations and the same; nothing else that is recorded is.

How records are compared: `mvsim.verification.evidence.closeness`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mvsim.errors import DivergedError, StalledError
from mvsim.integrators import GradientDescent, GradientFlow, State, Visit
from mvsim.logarithms import logarithm
from mvsim.simulation.field import field_of
from mvsim.verification.evidence.closeness import Met, Path, Point, completed, fractions_of, largest_of_each, recorded, recorded_fractions
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.evidence.stretches import Budget, Stretch

FINER = 0.1
"""Tolerance of the replay over that of the run."""

LEAST_RTOL = 1e-10
"""The finest tolerance there is."""

AT_LEAST, PER_STEP = 100, 10
"""A replay is given up after `AT_LEAST` steps and `PER_STEP` for each step of the run: states that do not belong together may lead to tiny steps."""

CLOCK, WIDEST_CLOCK = 50.0, 0.05
"""Error of the clock that is allowed, in units of rtol and relative to the time that is replayed; and the most of it."""

ROUNDED = 8.0 * float(np.finfo(float).eps)
"""The same relative to the time itself, which rounding does not resolve: at t = 10^30 an escape is over within one unit of it."""


class Replayed(NamedTuple):
    """What came of one stretch.

    Attributes
    ----------
    times : tuple of float
        Times of the records that were compared.
    errors : tuple of float
        Largest difference between each of them and the replay, in units of the tolerance, of gradient descent relative to the largest correlation;
        infinite from where the replay went astray.
    sizes : tuple of float
        The same of the dormant own correlations, each relative to its own size.
    losses : tuple of float
        The same of ln J, as it is.
    features : tuple of float
        The same of the fractions of fresh draws on which a view suffices.
    accuracies : tuple of float
        The same of the fraction of training points that are right.
    rise : float
        Largest rise of ln J in one step of the replay.
    steps : int
        Steps of the replay.
    """

    times: tuple[float, ...]
    errors: tuple[float, ...]
    sizes: tuple[float, ...]
    losses: tuple[float, ...]
    features: tuple[float, ...]
    accuracies: tuple[float, ...]
    rise: float
    steps: int


def replayed_within(replays: Sequence[Replay], budget: Budget) -> list[Replay]:
    """Replay what a budget allows, and return what was begun.

    First each goes to its first record, then each, in the same order, on to its last one. The first goes to its first record in any case.
    """
    begun: list[Replay] = []
    for replay in replays:
        if budget.is_left or not begun:
            replay.go_on(1, budget)
            begun.append(replay)
    for replay in begun:
        replay.go_on(len(replay.stretch.records), budget)
    return begun


class Replay(ABC):
    """A stretch as it is replayed, record by record.

    Attributes
    ----------
    stretch : Stretch
        What is replayed.
    reached : int
        How many of its records have been met, or should have been where the replay has gone astray.
    """

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        self.stretch, self.reached = stretch, 0

    @abstractmethod
    def go_on(self, records: int, budget: Budget | None = None) -> None:
        """Follow the stretch until so many records are met, or, beyond the first, the budget is spent; without one, in any case."""

    @property
    @abstractmethod
    def result(self) -> Replayed:
        """What came of it so far."""


class FlowReplay(Replay):
    """The gradient flow along a stretch. A record between two saved states has the own correlations of every neuron; a saved state all of them."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        super().__init__(evidence, stretch)
        field, rtol = field_of(evidence.objective).on_host(), evidence.run.provenance["integrator"]["rtol"]
        relative, start = min(CLOCK * rtol, WIDEST_CLOCK), stretch.snapshot
        self._times = [float(evidence.times[record]) for record in stretch.records]
        self._windows = [max(relative * (time - start.time), ROUNDED * time) for time in self._times]
        self._path = Path(field, start.c, rtol, evidence.parameters.d)
        self._waiting = [
            Met(time, window, log_loss, fractions, *recorded)
            for time, window, log_loss, fractions, recorded in zip(
                self._times, self._windows, evidence.log_loss[list(stretch.records)], recorded_fractions(evidence, stretch),
                recorded(evidence, stretch), strict=True,
            )
        ]  # fmt: skip
        self._integrator = GradientFlow(field, max(FINER * rtol, LEAST_RTOL))
        self._descent, self._resumable = _Descent(evidence, start.c), State(start.step, start.time, start.c)
        self._measure = fractions_of(evidence)
        self._resumed = Point(start.time, start.c, self._descent.log_loss, self._measure)
        self._astray = False

    def go_on(self, records: int, budget: Budget | None = None) -> None:
        """See `Replay`."""
        before = self.reached
        while self.reached < records and not self._astray:
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
        errors, sizes, losses, features, accuracies = zip(*(one.errors(self._path) for one in met), strict=True)
        times = tuple(one.time for one in met)
        return Replayed(times, errors, sizes, losses, features, accuracies, self._descent.rise, self._descent.steps)


class DescentReplay(Replay):
    """The steps of gradient descent along a stretch, which are the same up to round-off."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        super().__init__(evidence, stretch)
        self._integrator = GradientDescent(field_of(evidence.objective).on_host(), evidence.run.provenance["integrator"]["learning_rate"])
        start = stretch.snapshot
        self._times = [float(evidence.times[record]) for record in stretch.records]
        self._recorded, self._fractions = recorded(evidence, stretch), recorded_fractions(evidence, stretch)
        self._measure = fractions_of(evidence)
        self._state, self._descent = State(start.step, start.time, start.c), _Descent(evidence, start.c)
        self._errors, self._apart, self._taken = list[float](), list[tuple[float, float]](), 0

    def go_on(self, records: int, budget: Budget | None = None) -> None:
        """See `Replay`."""
        while self.reached < records and (budget is None or budget.is_left or not self.reached):
            (own, whole), error, apart = self._recorded[self.reached], math.inf, (math.inf, math.inf)
            try:
                for visit in self._integrator.trajectory(self._state, self._times[self.reached]):
                    self._state, self._taken = visit.state, self._taken + 1
                    self._descent.look(visit)
                    if budget is not None:
                        budget.spend(2)
                    if self._taken > self.stretch.steps[self.reached]:  # more than the file says that there were: the record is not met
                        break
                else:
                    c = self._state.c
                    error = float(np.abs(completed(c, own, whole) - c).max() / max(float(np.abs(c).max()), 1e-300))
                    apart = largest_of_each(np.abs(self._measure(c) - self._fractions[self.reached]))
            except DivergedError:
                pass  # the record was not met
            self._errors.append(error)
            self._apart.append(apart)
            self.reached += 1

    @property
    def result(self) -> Replayed:
        """See `Replay`."""
        times, nothing = tuple(self._times[: self.reached]), (0.0,) * self.reached
        features, accuracies = zip(*self._apart, strict=True)
        return Replayed(times, tuple(self._errors), nothing, nothing, features, accuracies, self._descent.rise, self._descent.steps)


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
