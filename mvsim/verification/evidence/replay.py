"""A run made again in parts: from a saved state to records that follow it, with a tolerance that is ten times finer.

What a file says of a run is tied to the flow in this way: times, parameters, labels or correlations that do not belong together lead elsewhere.

Differences are measured in the coordinates y of `mvsim.integrators.flow.chart.EscapeChart`, in which correlations on their way to an escape move at
constant speed, and in units of the tolerance that the time-stepper allows in a single step (`mvsim.integrators.flow.system.ChartedField.tolerance`).
An error of the clock counts for nothing where a neuron escapes, and the speed of the escape would magnify it there. So a recorded state Y at time T
is compared with the path of the replay at times close to T:

    min over |t - T| <= w (T - T_0) of max_i |Y_i - y_i(t)| / tolerance_i,

T_0 where the replay starts, w = `CLOCK` rtol; or within `ROUNDED` T, if that is more. The path is known at T itself, where it is continued along its
velocity, and at the steps of the replay, between which it is taken as linear in y. On each of these lines t is the one with the least sum of squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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

CLOCK, WIDEST_CLOCK = 50.0, 0.1
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
    rise : float
        Largest rise of ln J in one step of the replay.
    steps : int
        Steps of the replay.
    """

    times: tuple[float, ...]
    errors: tuple[float, ...]
    rise: float
    steps: int


@dataclass(frozen=True, eq=False)
class Stretch:
    """A saved state and the records that are to be met from there.

    Attributes
    ----------
    snapshot : Snapshot
        Where the replay starts.
    records : tuple of int
        Indices of the records.
    steps : int
        Steps that the run made in between.
    """

    snapshot: Snapshot
    records: tuple[int, ...]
    steps: int


def stretches(evidence: Evidence, most_steps: float) -> list[Stretch]:
    """Return what is to be replayed: from every saved state to the next one, or as far as a number of steps allows in all.

    First the end: from the last saved state but one to the last, on which verdicts rest. Then from each saved state to the record that follows, those
    at the start before the others; then, in the same order, on to the next saved state. The first is there in any case.
    """
    steps, saved, between = evidence.run.dataset["step"].to_numpy(), evidence.snapshots, []
    for here, then in pairwise(saved):
        follow = np.flatnonzero((steps > here.step) & (steps <= then.step))
        if len(follow):
            between.append((here, follow.tolist()))
    order = sorted(range(len(between)), key=lambda i: (i != len(between) - 1, i))
    taken, left = dict.fromkeys(range(len(between)), 0), most_steps
    for i, whole in [(i, True) for i in order[:1]] + [(i, whole) for whole in (False, True) for i in order]:
        here, records = between[i]
        wanted = len(records) if whole else max(1, taken[i])
        cost = _until(steps, here, records, wanted) - _until(steps, here, records, taken[i])
        if cost <= left or (i == 0 and not taken[0]):
            taken[i], left = wanted, left - cost
    return [Stretch(between[i][0], tuple(between[i][1][:n]), _until(steps, *between[i], n)) for i, n in taken.items() if n]


def _until(steps: np.ndarray, here: Snapshot, follow: list[int], n: int) -> int:
    """Return how many steps the run made from a saved state to the n-th of the records that follow."""
    return int(steps[follow[n - 1]]) - here.step if n else 0


def replay_flow(evidence: Evidence, stretch: Stretch) -> Replayed:
    """Follow the gradient flow along one stretch and compare the records on its way.

    A record between two saved states has the own correlations of every neuron; where it is a saved state itself, all correlations are compared.
    """
    field, rtol = field_of(evidence.objective), evidence.run.provenance["integrator"]["rtol"]
    relative = min(CLOCK * rtol, WIDEST_CLOCK)
    start, times = stretch.snapshot, [float(evidence.times[record]) for record in stretch.records]
    path = _Path(field, start.c, rtol)
    windows = [max(relative * (time - start.time), ROUNDED * time) for time in times]
    waiting = [_Met(time, window, *recorded) for time, window, recorded in zip(times, windows, _recorded(evidence, stretch), strict=True)]
    integrator = GradientFlow(field, max(FINER * rtol, LEAST_RTOL))
    descent, resumable = _Descent(evidence, start.c), State(start.step, start.time, start.c)
    before = resumable
    try:
        for end in (*waiting, None):
            for visit in integrator.trajectory(resumable, times[-1] + waiting[-1].window if end is None else end.time):
                after, resumable = visit.state, visit.state if visit.resumable else resumable
                descent.look(visit)
                for met in waiting:
                    met.compare(path, before, after)
                before = after
                if descent.steps > AT_LEAST + PER_STEP * stretch.steps:
                    return Replayed(tuple(times), tuple(met.error for met in waiting), descent.rise, descent.steps)
            if end is not None:
                end.arrive(path, before)
            before = resumable
    except (DivergedError, StalledError):
        pass  # the records that were not met have infinite errors
    return Replayed(tuple(times), tuple(met.error for met in waiting), descent.rise, descent.steps)


def replay_descent(evidence: Evidence, stretch: Stretch) -> Replayed:
    """Repeat the steps of gradient descent along one stretch, which are the same up to round-off."""
    integrator = GradientDescent(field_of(evidence.objective), evidence.run.provenance["integrator"]["learning_rate"])
    start, times = stretch.snapshot, [float(evidence.times[record]) for record in stretch.records]
    state, errors, descent = State(start.step, start.time, start.c), [], _Descent(evidence, start.c)
    try:
        for time, (own, whole) in zip(times, _recorded(evidence, stretch), strict=True):
            for visit in integrator.trajectory(state, time):
                state = visit.state
                descent.look(visit)
            errors.append(float(np.abs(_completed(state.c, own, whole) - state.c).max() / max(float(np.abs(state.c).max()), 1e-300)))
    except DivergedError:
        errors += [math.inf] * (len(times) - len(errors))
    return Replayed(tuple(times), tuple(errors), descent.rise, descent.steps)


class _Descent:
    """Looks at the loss after every step. A step that was cut short at a record is followed by the whole one, from the same state."""

    def __init__(self, evidence: Evidence, c: np.ndarray) -> None:
        self._loss = evidence.objective.loss
        self._before = self._loss(c)
        self.rise, self.steps = -math.inf, 0

    def look(self, visit: Visit) -> None:
        """Take the state after a step."""
        after = self._loss(visit.state.c)
        if after > 0.0 and self._before > 0.0:
            self.rise = max(self.rise, math.log(after / self._before))
        self._before, self.steps = after if visit.resumable else self._before, self.steps + 1


class _Path:
    """The coordinates in which states are compared, and the tolerances there."""

    def __init__(self, field: Field, c: np.ndarray, rtol: float) -> None:
        self._chart = EscapeChart.at(c.ravel(), *field.escaping)
        self._system = ChartedField(field, self._chart, c.shape, rtol, float(np.abs(c).max()))

    def coordinates(self, c: np.ndarray) -> np.ndarray:
        """Return y of c."""
        return self._chart.to_y(c.ravel())

    def tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return the tolerances at y."""
        return self._system.tolerance(y)

    def velocity(self, c: np.ndarray) -> np.ndarray:
        """Return y' at c."""
        self._system.largest = max(self._system.largest, float(np.abs(c).max()))
        return self._system.rate(self.coordinates(c))


@dataclass(eq=False)
class _Met:
    """A record that the replay has to come to: the least difference so far."""

    time: float
    window: float
    own: np.ndarray
    whole: np.ndarray | None
    error: float = math.inf

    def compare(self, path: _Path, before: State, after: State) -> None:
        """Compare the record with one step of the replay, as far as it is close in time."""
        if before.time > self.time + self.window or after.time < self.time - self.window:
            return
        length = max(after.time - before.time, 1e-300)
        least, most = ((self.time + sign * self.window - before.time) / length for sign in (-1.0, 1.0))
        start = path.coordinates(before.c)
        self._approach(path, after.c, start, path.coordinates(after.c) - start, max(least, 0.0), min(most, 1.0))

    def arrive(self, path: _Path, state: State) -> None:
        """Compare the record with the replay at its time, and along its velocity."""
        self._approach(path, state.c, path.coordinates(state.c), self.window * path.velocity(state.c), -1.0, 1.0)

    def _approach(self, path: _Path, c: np.ndarray, start: np.ndarray, step: np.ndarray, least: float, most: float) -> None:
        """Compare the record with y = start + part step, part from ``least`` to ``most``; what was not recorded is as in c."""
        tolerance = path.tolerance(path.coordinates(c))
        step = step / tolerance
        away = (path.coordinates(_completed(c, self.own, self.whole)) - start) / tolerance
        part = min(max(float(away @ step) / max(float(step @ step), 1e-300), least), most)
        self.error = min(self.error, float(np.abs(away - part * step).max()))


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
