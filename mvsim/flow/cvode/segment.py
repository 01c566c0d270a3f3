"""One start of the solver: its steps, what they dissipate, and where they end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.base import MARKS_PER_DECADE, Field, State
from mvsim.flow.cvode.carried import Memory
from mvsim.flow.cvode.solver import Solver, SolverFailedError
from mvsim.flow.flow import IMBALANCE, RISE
from mvsim.flow.interface import Motion
from mvsim.flow.system import Bounds, ChartedField

MOST_STEPS = 40
"""Steps of one segment."""

APPROACH = 0.5
"""Part of the way to the next escape that one segment may go: the tolerance of a coordinate on the chart halves meanwhile."""

BEGINNING = 0.01
"""The same for the segment that begins at time 0."""

TIGHTER = 0.4
"""A segment ends where the tolerance of a coordinate has become less than this part of that at its start."""

TOO_SHORT = 1e-6
"""A segment ends where a step is shorter than this part of the time since its start: the size of a step is the difference of two times."""

STRETCH = 2.0
"""A segment may take that many times as long as the one before; after an escape, as long as the last step."""

SHRINK = 0.25
"""A segment after a step that failed may take this part of its size."""

ATTEMPTS = 30
"""Attempts at the first step of a segment."""

DEGREE = 3
"""Highest degree of the polynomial through the last values whose derivative is the velocity."""


class Step(NamedTuple):
    """A step of a segment.

    Attributes
    ----------
    elapsed : float
        Time since the start of the segment.
    size : float
        Time that it took.
    y : numpy.ndarray
        (n,) where it ended.
    gains : numpy.ndarray
        (2,): integrals of |c'|^2 and |c'|^2 / J since the start of the segment.
    escaped : bool
        Whether a coordinate passed its threshold.
    longest : float
        Longest time of the next segment, if the segment ends with it.
    last : bool
        Whether it does.
    resumable : bool
        Whether the end of the segment does not depend on when the trajectory ends.
    """

    elapsed: float
    size: float
    y: np.ndarray
    gains: np.ndarray
    escaped: bool
    longest: float
    last: bool = False
    resumable: bool = False


class FailedError(Exception):
    """A step failed; ``size`` is its size, or more."""

    def __init__(self, why: str, size: float) -> None:
        super().__init__(why)
        self.size = size


class Segment:
    """The steps from a state until the solver is started anew.

    Parameters
    ----------
    field : Field
        What is followed.
    rtol : float
        Relative tolerance.
    start : State
        Where it begins.
    memory : Memory
        What the segments before have left.

    Attributes
    ----------
    system : ChartedField
        The field on the chart of the start.
    y, velocity, tolerance : numpy.ndarray
        (n,) the start on the chart, its rate, and the allowed errors; CVODE has one for both uses, so those of equations.
    log_loss : float
        ln J at the start.
    """

    def __init__(self, field: Field, rtol: float, start: State, memory: Memory) -> None:
        self.system = ChartedField(field, memory.chart, start.c.shape, rtol, memory.largest)
        self.y = memory.chart.to_y(start.c.ravel())
        self.velocity, self.tolerance = self.system.rate(self.y), self.system.tolerance(self.y).equation
        self.log_loss = self.system.log_loss(start.c)
        highest = min(memory.lowest, self.log_loss) + RISE * rtol
        self._bounds = Bounds(self.log_loss, highest, self.log_loss, 0.0, IMBALANCE * rtol)
        self._quickest = 1.0 / max(float((np.abs(self.velocity) / self.tolerance).max()), 1e-300)
        self._longest = min(memory.longest, self._natural(start.time, rtol))

    def _natural(self, time: float, rtol: float) -> float:
        """Return how long a segment at a time takes: marks are spaced logarithmically, and no escape is passed over."""
        index = self.system.chart.index
        way = self.system.chart.time_to_escape(self.y[index], self.velocity[index])
        if time > 0.0:
            return min(APPROACH * way, time * (10.0 ** (1.0 / MARKS_PER_DECADE) - 1.0))
        return BEGINNING * way if way < math.inf else self._quickest / rtol

    def steps(self, left: float) -> Iterator[Step]:
        """Yield the steps, each when it is known whether the segment ends with it.

        Parameters
        ----------
        left : float
            Time until the trajectory ends.

        Raises
        ------
        FailedError
            If no attempt at the first step succeeds.
        """
        longest, cut = self._longest, False
        for _ in range(ATTEMPTS):
            span = min(left, longest)
            step, failure = None, None
            try:
                for following in self._taken(span):
                    if step is not None:
                        yield step
                    step = following
            except FailedError as error:
                failure, longest, cut = error, SHRINK * error.size, cut or span == left
            if step is not None:
                longest = longest if failure else step.size if step.escaped else STRETCH * step.elapsed
                whole = not cut and span < left  # CVODE shortens steps towards the end of a span, also those that do not reach it
                yield step._replace(longest=longest, last=True, resumable=whole and step.elapsed < left * (1.0 - 1e-14))
                return
        raise FailedError(f"{failure}, even within {span:.3g}", span)

    def _taken(self, span: float) -> Iterator[Step]:
        """Yield the steps within a span, or raise `FailedError`."""
        system, chart, bounds = self.system, self.system.chart, self._bounds
        track = deque([(0.0, self.y)], DEGREE + 1)
        before = Motion(self.y, self.velocity)
        gains = np.zeros(2)
        waiting = chart.waiting(self.y).sum()
        solver = Solver(system, self.y, self.tolerance, min(self._quickest, span), span)
        for number in range(1, MOST_STEPS + 1):
            try:
                elapsed, y = solver.step()
            except (SolverFailedError, DivergedError, np.linalg.LinAlgError) as error:
                raise FailedError(str(error), track[-1][0] - track[-2][0] if len(track) > 1 else span) from None
            size = elapsed - track[-1][0]
            if number == 2:
                track.popleft()  # the first step goes with the rate at the start, which is no velocity: see `_velocity`
            track.append((elapsed, y))
            after = Motion(y, _velocity(track))
            if number <= 2:  # of order 1: along chords
                before = Motion(before.y, after.velocity)
            gained = system.gains(bounds, size, before, after)
            if gained is None:
                raise FailedError("the loss does not fall as |grad J|^2 says, or a correlation jumps over its threshold", size)
            gains = gains + gained
            bounds = bounds._replace(log_loss=system.log_loss(chart.to_c(y)), integral=float(gains[1]))
            escaped = bool(chart.waiting(y).sum() != waiting)
            yield Step(elapsed, size, y, gains, escaped, longest=math.nan)
            if escaped or self._over(elapsed, size, span) or self._tightened(y):
                return
            before = after

    def _over(self, elapsed: float, size: float, span: float) -> bool:
        return elapsed >= span * (1.0 - 1e-14) or size < TOO_SHORT * elapsed

    def _tightened(self, y: np.ndarray) -> bool:
        return bool((self.system.tolerance(y).equation < TIGHTER * self.tolerance).any())


def _velocity(track: Sequence[tuple[float, np.ndarray]]) -> np.ndarray:
    """Return (n,): the derivative, at the end, of the polynomial through the last values.

    The rate there is of no use for it: it holds what Newton's method leaves of its equation, times the stiffest eigenvalues.
    """
    end, size = track[-1][0], track[-1][0] - track[-2][0]
    times = np.array([(time - end) / size for time, _ in track])
    weights = np.linalg.solve(np.vander(times, increasing=True).T, np.eye(len(times))[1])  # that make t^j to 1 for j = 1 and to 0 for others
    return np.asarray(weights @ np.array([y for _, y in track])) / size
