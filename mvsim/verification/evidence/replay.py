"""A run made again in parts: from a saved state to records that follow it, with a tolerance that is ten times finer.

What a file says of a run is tied to the flow in this way: times, parameters, labels or correlations that do not belong together lead elsewhere. It is
the whole run only where that is affordable (`Budget`). Of a record between two saved states the own correlations, the loss and the learned features
are compared, of a saved state all correlations, the loss and the learned features; nothing else that is recorded is.

Differences are measured in the coordinates y of `mvsim.integrators.flow.chart.EscapeChart`, in which correlations on their way to an escape move at
constant speed, and in units of the tolerance that the time-stepper allows in a single step
(`mvsim.integrators.flow.system.ChartedField.coarser_tolerance`).
Two runs of the same flow differ by an error of the clock, too, and the speed of an escape magnifies it: a neuron that escapes a little later is far
from where it should be. Where several escape at once each has an error of its own. So a recorded coordinate Y_i at time T is compared with all values
that the path takes at times close to T, and so is the recorded loss:

    max_i dist(Y_i, {y_i(t): |t - T| <= w (T - T_0)}) / tolerance_i,        dist(ln J, {ln J(y(t)): |t - T| <= w (T - T_0)}),

the fraction of fresh draws on which a view suffices likewise, with the fractions at the steps next to those times;
own correlations C_i that are dormant besides relative to their own size, because their tolerance can be as large as a third of it,

    max_i dist(C_i, {c_i(t): |t - T| <= w (T - T_0)}) / max(|c_i(T)|, s),        s = `SIZE` / sqrt(d),  a part of the size at which they start,

T_0 where the replay starts, w = `CLOCK` rtol; or within `ROUNDED` T, if that is more. The path is known at T itself and at the steps of the replay,
between which it is taken as linear in y; it is continuous, so that it takes all values between the least and the largest.
Late in training a state hardly moves while its loss falls as 1 / t: then the loss tells the time. A state at rest is the same at all later times,
and a record of it is right at any of them to which the replay finds it at rest.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mvsim.errors import DivergedError, StalledError
from mvsim.integrators import Field, GradientDescent, GradientFlow, State, Visit
from mvsim.integrators.flow.chart import EscapeChart
from mvsim.integrators.flow.system import ChartedField
from mvsim.simulation.field import field_of
from mvsim.verification.evidence.evidence import Evidence, Snapshot

FINER = 0.1
"""Tolerance of the replay over that of the run."""

LEAST_RTOL = 1e-10
"""The finest tolerance there is."""

AT_LEAST, PER_STEP = 100, 10
"""A replay is given up after `AT_LEAST` steps and `PER_STEP` for each step of the run: states that do not belong together may lead to tiny steps."""

CLOCK, WIDEST_CLOCK = 50.0, 0.05
"""Error of the clock that is allowed, in units of rtol and relative to the time that is replayed; and the most of it."""


DORMANT = 0.5
"""Part of the threshold of escape below which an own correlation is dormant, as recorded and on the path at all times close to the record, if it is
above 0 where the stretch starts. The others do not grow, and a step may err by tolerances of them that are not relative to their size."""

SIZE = 0.3
"""Part of 1 / sqrt(d), the standard deviation of the initial correlations, below which a difference is not measured relative to the correlation: one
that passes through 0 has no size of its own."""

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
    rise: float
    steps: int


class Budget:
    """The work that replays may take in all. Once it is spent, no replay goes on beyond its first record, and none is begun.

    Parameters
    ----------
    steps : float
        Steps of replays that spend all of it by themselves.
    gradients : float
        Gradients that do.
    """

    def __init__(self, steps: float, gradients: float) -> None:
        self._step, self._gradient, self._spent = 1.0 / steps, 1.0 / gradients, 0.0

    def spend(self, gradients: int) -> None:
        """Take note of a step."""
        self._spent += self._step + gradients * self._gradient

    @property
    def is_left(self) -> bool:
        """Whether there is any of it."""
        return self._spent < 1.0


@dataclass(frozen=True, eq=False)
class Stretch:
    """A saved state and the records that are to be met from there, as far as the next saved state.

    Attributes
    ----------
    snapshot : Snapshot
        Where the replay starts.
    records : tuple of int
        Indices of the records.
    steps : tuple of int
        Steps that the run made from the saved state to each of them.
    """

    snapshot: Snapshot
    records: tuple[int, ...]
    steps: tuple[int, ...]


def stretches(evidence: Evidence) -> list[Stretch]:
    """Return what can be replayed: first the end, from the last saved state but one to the last, on which verdicts rest; then all others in order."""
    steps, found = evidence.run.dataset["step"].to_numpy(), []
    for here, then in pairwise(evidence.snapshots):
        follow = np.flatnonzero((steps > here.step) & (steps <= then.step))
        if len(follow):
            found.append(Stretch(here, tuple(follow.tolist()), tuple((steps[follow] - here.step).tolist())))
    return found[-1:] + found[:-1]


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
        self._path = _Path(field, start.c, rtol, evidence.parameters.d)
        self._waiting = [
            _Met(time, window, log_loss, learned, *recorded)
            for time, window, log_loss, learned, recorded in zip(
                self._times, self._windows, evidence.log_loss[list(stretch.records)], evidence.learned_fractions[list(stretch.records)],
                _recorded(evidence, stretch), strict=True,
            )
        ]  # fmt: skip
        self._integrator = GradientFlow(field, max(FINER * rtol, LEAST_RTOL))
        self._descent, self._resumable = _Descent(evidence, start.c), State(start.step, start.time, start.c)
        self._learned = evidence.feature_test.fraction_learned
        self._resumed = _Point(start.time, start.c, self._descent.log_loss, self._learned)
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
                after = _Point(visit.state.time, visit.state.c, self._descent.last_log_loss, self._learned)
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
        errors, sizes, losses, features = zip(*(one.errors(self._path) for one in met), strict=True)
        return Replayed(tuple(one.time for one in met), errors, sizes, losses, features, self._descent.rise, self._descent.steps)


class DescentReplay(Replay):
    """The steps of gradient descent along a stretch, which are the same up to round-off."""

    def __init__(self, evidence: Evidence, stretch: Stretch) -> None:
        super().__init__(evidence, stretch)
        self._integrator = GradientDescent(field_of(evidence.objective).on_host(), evidence.run.provenance["integrator"]["learning_rate"])
        start = stretch.snapshot
        self._times = [float(evidence.times[record]) for record in stretch.records]
        self._recorded, self._fractions = _recorded(evidence, stretch), evidence.learned_fractions[list(stretch.records)]
        self._learned = evidence.feature_test.fraction_learned
        self._state, self._descent = State(start.step, start.time, start.c), _Descent(evidence, start.c)
        self._errors, self._features, self._taken = list[float](), list[float](), 0

    def go_on(self, records: int, budget: Budget | None = None) -> None:
        """See `Replay`."""
        while self.reached < records and (budget is None or budget.is_left or not self.reached):
            (own, whole), error, apart = self._recorded[self.reached], math.inf, math.inf
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
                    error = float(np.abs(_completed(c, own, whole) - c).max() / max(float(np.abs(c).max()), 1e-300))
                    apart = float(np.abs(self._learned(c) - self._fractions[self.reached]).max())
            except DivergedError:
                pass  # the record was not met
            self._errors.append(error)
            self._features.append(apart)
            self.reached += 1

    @property
    def result(self) -> Replayed:
        """See `Replay`."""
        times, nothing = tuple(self._times[: self.reached]), (0.0,) * self.reached
        return Replayed(times, tuple(self._errors), nothing, nothing, tuple(self._features), self._descent.rise, self._descent.steps)


class _Descent:
    """Looks at the loss after every step. A step that was cut short at a record is followed by the whole one, from the same state."""

    def __init__(self, evidence: Evidence, c: np.ndarray) -> None:
        self._loss = evidence.objective.loss
        self.log_loss = _logarithm(self._loss(c))
        self.last_log_loss = self.log_loss
        self.rise, self.steps = -math.inf, 0

    def look(self, visit: Visit) -> None:
        """Take the state after a step."""
        self.last_log_loss = _logarithm(self._loss(visit.state.c))
        if math.isfinite(self.last_log_loss) and math.isfinite(self.log_loss):
            self.rise = max(self.rise, self.last_log_loss - self.log_loss)
        self.log_loss, self.steps = self.last_log_loss if visit.resumable else self.log_loss, self.steps + 1


def _logarithm(loss: float) -> float:
    return math.log(loss) if loss > 0.0 else -math.inf


class _Path:
    """The coordinates in which states are compared, and the tolerances there; and which correlations are dormant, and how large at least."""

    def __init__(self, field: Field, c: np.ndarray, rtol: float, d: int) -> None:
        self._chart = EscapeChart.at(c.ravel(), *field.escaping)  # empty where there is no blow-up, so that nothing is dormant
        self._dormant_below = np.full(c.size, -np.inf)
        self._dormant_below[self._chart.index] = DORMANT * self._chart.threshold
        self._least_size = SIZE / math.sqrt(d)
        self._system = ChartedField(field, self._chart, c.shape, rtol, float(np.abs(c).max()))

    def coordinates(self, c: np.ndarray) -> np.ndarray:
        """Return y of c."""
        return self._chart.to_y(c.ravel())

    def dormant_apart(self, y: np.ndarray, low: np.ndarray, high: np.ndarray, c: np.ndarray) -> float:
        """Return how far dormant correlations at y lie outside those from ``low`` to ``high``, at most, relative to their size at c."""
        recorded, least, most = (self._chart.to_c(at) for at in (y, low, high))
        apart = np.maximum(np.maximum(least - recorded, recorded - most), 0.0) / np.maximum(np.abs(c), self._least_size)
        return float(apart[np.maximum(recorded, most) < self._dormant_below].max(initial=0.0))

    def tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return the tolerances at y."""
        return self._system.coarser_tolerance(y)


@dataclass(frozen=True, eq=False)
class _Point:
    """A state of the replay: its time, its correlations and ln J; and how fractions of fresh draws are measured."""

    time: float
    c: np.ndarray
    log_loss: float
    measure: Callable[[np.ndarray], np.ndarray]

    @cached_property
    def learned(self) -> np.ndarray:
        """(k, V): the fraction of fresh draws on which each view suffices."""
        return self.measure(self.c)


@dataclass(eq=False)
class _Met:
    """A record that the replay has to come to, and what the path goes through at times close to it.

    Attributes
    ----------
    time, window : float
        Of the record, and how far from it times are close.
    log_loss : float
        As it was recorded.
    learned : numpy.ndarray
        (k, V) as it was recorded.
    own : numpy.ndarray
        (k, m, V) recorded own correlations.
    whole : numpy.ndarray or None
        (k, m, k, V) all of them, of a saved state.
    low, high : numpy.ndarray or None
        (n,) least and largest coordinates of the path; None before there are any.
    least, most : float
        The same of ln J.
    fewest, most_draws : numpy.ndarray or float
        The same of the fractions of fresh draws.
    c : numpy.ndarray or None
        Correlations of the path, the last that were close.
    """

    time: float
    window: float
    log_loss: float
    learned: np.ndarray
    own: np.ndarray
    whole: np.ndarray | None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    least: float = math.inf
    most: float = -math.inf
    fewest: np.ndarray | float = math.inf
    most_draws: np.ndarray | float = -math.inf
    c: np.ndarray | None = None

    def compare(self, path: _Path, before: _Point, after: _Point) -> None:
        """Take note of the part of one step that is close in time."""
        if before.time > self.time + self.window or after.time < self.time - self.window:
            return
        length = max(after.time - before.time, 1e-300)
        start, end = path.coordinates(before.c), path.coordinates(after.c)
        for bound in (self.time - self.window, self.time + self.window):
            part = min(max((bound - before.time) / length, 0.0), 1.0)
            y, log_loss = start + part * (end - start), _between(before.log_loss, after.log_loss, part)
            self.low = y if self.low is None else np.minimum(self.low, y)
            self.high = y if self.high is None else np.maximum(self.high, y)
            self.least, self.most = min(self.least, log_loss), max(self.most, log_loss)
        for point in (before, after):
            self.fewest, self.most_draws = np.minimum(self.fewest, point.learned), np.maximum(self.most_draws, point.learned)
        self.c = after.c

    def errors(self, path: _Path) -> tuple[float, float, float, float]:
        """Return the largest distance of the recorded state from the path, in units of the tolerance; of dormant correlations, ln J and fractions."""
        if self.c is None or self.low is None or self.high is None:
            return math.inf, math.inf, math.inf, math.inf
        # What was not recorded is as on the path.
        y = path.coordinates(_completed(self.c, self.own, self.whole))
        tolerance = np.maximum(path.tolerance(y), path.tolerance(path.coordinates(self.c)))
        known = np.ones(y.shape, dtype=bool) if self.whole is not None else _is_own(self.c).ravel()
        apart = np.maximum(np.maximum(self.low - y, y - self.high), 0.0) / tolerance
        loss = max(self.least - self.log_loss, self.log_loss - self.most, 0.0) if math.isfinite(self.log_loss) else 0.0
        draws = float(np.maximum(np.maximum(self.fewest - self.learned, self.learned - self.most_draws), 0.0).max())
        return float(apart[known].max(initial=0.0)), path.dormant_apart(y, self.low, self.high, self.c.ravel()), loss, draws


def _between(before: float, after: float, part: float) -> float:
    """Return a value between two, either of which may be -inf."""
    return before if part == 0.0 else after if part == 1.0 else before + part * (after - before)


def _is_own(c: np.ndarray) -> np.ndarray:
    """Return (k, m, k, V) bool: which correlations are own ones."""
    own, classes = np.zeros(c.shape, dtype=bool), np.arange(len(c))
    own[classes, :, classes] = True
    return own


def _recorded(evidence: Evidence, stretch: Stretch) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return of each record of a stretch the own correlations (k, m, V), and all of them (k, m, k, V) if it is a saved state."""
    steps = evidence.run.dataset["step"].to_numpy()
    whole = {snapshot.step: snapshot.c for snapshot in evidence.snapshots}
    return [(evidence.own[record], whole.get(int(steps[record]))) for record in stretch.records]


def _completed(c: np.ndarray, own: np.ndarray, whole: np.ndarray | None) -> np.ndarray:
    """Return the recorded correlations; where only the own ones were recorded, all others are those of c."""
    if whole is not None:
        return whole
    recorded, classes = c.copy(), np.arange(len(c))
    recorded[classes, :, classes] = own
    return recorded
