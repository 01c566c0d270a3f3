"""A run made again in parts: from a saved state to records that follow it, with a tolerance that is ten times finer.

What a file says of a run is tied to the flow in this way: times, parameters, labels or correlations that do not belong together lead elsewhere. It is
the whole run only where that is affordable (`stretches`). Of a record between two saved states the own correlations and the loss are compared, of a
saved state all correlations and the loss; nothing else that is recorded is.

Differences are measured in the coordinates y of `mvsim.integrators.flow.chart.EscapeChart`, in which correlations on their way to an escape move at
constant speed, and in units of the tolerance that the time-stepper allows in a single step (`mvsim.integrators.flow.system.ChartedField.tolerance`).
Two runs of the same flow differ by an error of the clock, too, and the speed of an escape magnifies it: a neuron that escapes a little later is far
from where it should be. Where several escape at once each has an error of its own. So a recorded coordinate Y_i at time T is compared with all values
that the path takes at times close to T, and so is the recorded loss:

    max_i dist(Y_i, {y_i(t): |t - T| <= w (T - T_0)}) / tolerance_i,        dist(ln J, {ln J(y(t)): |t - T| <= w (T - T_0)}),

own correlations C_i that are dormant besides relative to their own size, because their tolerance can be as large as a third of it,

    max_i dist(C_i, {c_i(t): |t - T| <= w (T - T_0)}) / max(|c_i(T)|, s),        s = `SIZE` / sqrt(d),  a part of the size at which they start,

T_0 where the replay starts, w = `CLOCK` rtol; or within `ROUNDED` T, if that is more. The path is known at T itself and at the steps of the replay,
between which it is taken as linear in y; it is continuous, so that it takes all values between the least and the largest.
Late in training a state hardly moves while its loss falls as 1 / t: then the loss tells the time. A state at rest is the same at all later times,
and a record of it is right at any of them to which the replay finds it at rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    rise : float
        Largest rise of ln J in one step of the replay.
    steps : int
        Steps of the replay.
    """

    times: tuple[float, ...]
    errors: tuple[float, ...]
    sizes: tuple[float, ...]
    losses: tuple[float, ...]
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

    That is seldom all: with the work that verdicts allow, of a settled run at k = 4 a quarter to a half of the steps, of the default runs at k = 10 a
    third (ERM) and a tenth (midpoint). Verdicts say how many steps and how many records it was.

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
    field, rtol = field_of(evidence.objective).on_host(), evidence.run.provenance["integrator"]["rtol"]
    relative = min(CLOCK * rtol, WIDEST_CLOCK)
    start, times = stretch.snapshot, [float(evidence.times[record]) for record in stretch.records]
    path, log_losses = _Path(field, start.c, rtol, evidence.parameters.d), evidence.log_loss[list(stretch.records)]
    windows = [max(relative * (time - start.time), ROUNDED * time) for time in times]
    waiting = [
        _Met(time, window, log_loss, *recorded)
        for time, window, log_loss, recorded in zip(times, windows, log_losses, _recorded(evidence, stretch), strict=True)
    ]
    integrator = GradientFlow(field, max(FINER * rtol, LEAST_RTOL))
    descent, resumable = _Descent(evidence, start.c), State(start.step, start.time, start.c)
    before = _Point(start.time, start.c, descent.log_loss)
    resumed = before
    try:
        for end in (*(met.time for met in waiting), times[-1] + windows[-1]):
            for visit in integrator.trajectory(resumable, end):
                descent.look(visit)
                after = _Point(visit.state.time, visit.state.c, descent.last_log_loss)
                for met in waiting:
                    met.compare(path, before, after)
                before = after
                if visit.resumable:
                    resumable, resumed = visit.state, after
                if descent.steps > AT_LEAST + PER_STEP * stretch.steps:
                    return _replayed(path, waiting, descent)
            before = resumed
    except (DivergedError, StalledError):
        pass  # the records that were not met have infinite errors
    return _replayed(path, waiting, descent)


def _replayed(path: _Path, waiting: Sequence[_Met], descent: _Descent) -> Replayed:
    """Return what came of a stretch."""
    errors, sizes, losses = zip(*(met.errors(path) for met in waiting), strict=True)
    return Replayed(tuple(met.time for met in waiting), errors, sizes, losses, descent.rise, descent.steps)


def replay_descent(evidence: Evidence, stretch: Stretch) -> Replayed:
    """Repeat the steps of gradient descent along one stretch, which are the same up to round-off."""
    integrator = GradientDescent(field_of(evidence.objective).on_host(), evidence.run.provenance["integrator"]["learning_rate"])
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
    return Replayed(tuple(times), tuple(errors), (0.0,) * len(times), (0.0,) * len(times), descent.rise, descent.steps)


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
        return self._system.tolerance(y).step


class _Point(NamedTuple):
    """A state of the replay: its time, its correlations and ln J."""

    time: float
    c: np.ndarray
    log_loss: float


@dataclass(eq=False)
class _Met:
    """A record that the replay has to come to, and what the path goes through at times close to it.

    Attributes
    ----------
    time, window : float
        Of the record, and how far from it times are close.
    log_loss : float
        As it was recorded.
    own : numpy.ndarray
        (k, m, V) recorded own correlations.
    whole : numpy.ndarray or None
        (k, m, k, V) all of them, of a saved state.
    low, high : numpy.ndarray or None
        (n,) least and largest coordinates of the path; None before there are any.
    least, most : float
        The same of ln J.
    c : numpy.ndarray or None
        Correlations of the path, the last that were close.
    """

    time: float
    window: float
    log_loss: float
    own: np.ndarray
    whole: np.ndarray | None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    least: float = math.inf
    most: float = -math.inf
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
        self.c = after.c

    def errors(self, path: _Path) -> tuple[float, float, float]:
        """Return the largest distance of the recorded state from the path, in units of the tolerance; that of dormant correlations; that of ln J."""
        if self.c is None or self.low is None or self.high is None:
            return math.inf, math.inf, math.inf
        # What was not recorded is as on the path.
        y = path.coordinates(_completed(self.c, self.own, self.whole))
        tolerance = np.maximum(path.tolerance(y), path.tolerance(path.coordinates(self.c)))
        known = np.ones(y.shape, dtype=bool) if self.whole is not None else _is_own(self.c).ravel()
        apart = np.maximum(np.maximum(self.low - y, y - self.high), 0.0) / tolerance
        loss = max(self.least - self.log_loss, self.log_loss - self.most, 0.0) if math.isfinite(self.log_loss) else 0.0
        return float(apart[known].max(initial=0.0)), path.dormant_apart(y, self.low, self.high, self.c.ravel()), loss


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
