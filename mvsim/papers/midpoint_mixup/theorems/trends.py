"""Values that are linear in ln t late in a run: their slopes, by least squares, and when they come to a level.

A value v(t) is fitted over the last factor `mvsim.papers.midpoint_mixup.evidence.persistence.FACTOR` of time, from the last escape on. The slope s
has a standard error e. It drifts, too: s' per unit of ln t is what it changes by between the two halves of the fitted time. On the way v* - v to a
level, over X = ln t* / t, that changes the mean slope by s' X / 2, so that ln t* has the error

    X (e + |s'| X / 2) / |s|.

Where that is as large as X itself the fit does not say when the level is reached. What it does say is a time before which it is not, as long as the
slope goes on to change as it has done: the least x > 0 with (|s| + e) x + |s'| x^2 / 2 = w, w = |v* - v|,

    x = 2 w / (|s| + e + sqrt((|s| + e)^2 + 2 |s'| w)).

Far beyond the end of a run the slope can change by more than it has done so far: in the study permanence, views escape before the end of that x. So
only the part `COUNTED_ON` of x is counted on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR

FEWEST = 6
"""Records from which a trend is fitted."""

AFTER_ESCAPE = 2.0
"""Factor of time after an escape from which the others count as settled."""

SOON = 1000.0
"""Factor of time after the end of a run within which what is predicted is said as a multiple of that end, too."""

COUNTED_ON = 0.5
"""Part of the predicted time without events, in ln t, that is relied on: in the study permanence some escapes came before its end, none before three
quarters of it."""

TESTED = 4.0
"""Decades of time after the end of a run over which that study compared what was predicted with what came; what lies beyond is extrapolated."""

FAR_BEYOND = 1000.0
"""Power of ten from which on times are not told."""


class Trend(NamedTuple):
    """Values as linear functions of ln t; arrays (...) unless `records` is less than `FEWEST`, where they are NaN."""

    log_time: float  # ln t at the end
    value: np.ndarray  # the value there
    slope: np.ndarray  # of the value over ln t
    error: np.ndarray  # Standard error of the slope
    drift: np.ndarray  # Change of the slope over ln t, >= 0
    records: int  # how many records were fitted

    def crossing(self, level: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return ln of the time at which the value comes to a level, and its error in ln t.

        The time is infinite if the value does not go there beyond the error of the slope; the error is, too, if the slope is within its own.
        """
        way = level - self.value
        with np.errstate(divide="ignore", invalid="ignore"):
            later = np.where((np.sign(way) * np.sign(self.slope) > 0.0) & (np.abs(self.slope) > self.error), way / self.slope, np.inf)
            later = np.where(np.isnan(self.slope), np.nan, later)
            error = np.where(np.isfinite(later), later * (self.error + 0.5 * self.drift * later) / np.abs(self.slope), 0.0)
            error = np.where((np.abs(self.slope) <= self.error) & (self.error > 0.0), np.inf, error)
        return self.log_time + later, error

    def moment(self, index: int, level: float = 0.0) -> Moment:
        """Return when one of the values comes to a level."""
        log_time, error = self.crossing(level)
        return Moment(float(log_time[index]), float(error[index]), float(self.not_before(level)[index]), self.log_time)

    def not_before(self, level: float = 0.0) -> np.ndarray:
        """Return ln of a time before which the value does not come to a level if it bends no more than it has done."""
        way = np.abs(level - self.value)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            speed = np.maximum(np.sign(level - self.value) * self.slope, 0.0) + self.error
            # In units of the way, so that no square leaves the range of doubles.
            relative, bend = speed / way, self.drift / way
            return self.log_time + 2.0 / (relative + np.sqrt(relative**2 + 2.0 * bend))


def trend(evidence: Evidence, values: np.ndarray) -> Trend:
    """Fit values (T, ...) over the last factor `FACTOR` of time, from `AFTER_ESCAPE` times the last escape on."""
    times = evidence.times
    escapes = evidence.entry_time[np.isfinite(evidence.entry_time)]
    start = max(times[-1] / FACTOR, AFTER_ESCAPE * float(escapes.max(initial=0.0)))
    chosen = np.flatnonzero((times >= start * (1.0 - 1e-12)) & (times > 0.0))
    log_times = np.log(times[chosen])
    if len(chosen) < FEWEST or log_times[-1] - log_times[0] < 0.5 * np.log(AFTER_ESCAPE):
        nothing = np.full(values.shape[1:], np.nan)
        return Trend(float(np.log(max(times[-1], 1e-300))), nothing, nothing, nothing, nothing, len(chosen))
    y = values[chosen].reshape(len(chosen), -1)
    unit = np.abs(y).max(axis=0)  # at large alpha the squares of potentials are beyond any double
    unit = np.where(unit > 0.0, unit, 1.0)
    y = y / unit
    slope, residuals = _line(log_times, y)
    middle = 0.5 * (log_times[0] + log_times[-1])
    halves = [_line(log_times[half], y[half])[0] for half in (log_times <= middle, log_times >= middle) if half.sum() > 1]
    drift = np.abs(halves[0] - halves[-1]) / (0.5 * (log_times[-1] - log_times[0]))
    spread = log_times - log_times.mean()
    standard = np.sqrt((residuals**2).sum(axis=0) / (len(chosen) - 2) / (spread**2).sum())
    shape = values.shape[1:]
    slope, standard, drift = ((unit * of).reshape(shape) for of in (slope, standard, drift))
    return Trend(float(log_times[-1]), values[-1], slope, standard, drift, len(chosen))


def _line(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes (n,) of least squares of y (T, n) over x (T,), and the residuals (T, n)."""
    dx, dy = x - x.mean(), y - y.mean(axis=0)
    slope = dx @ dy / max(float(dx @ dx), 1e-300)
    return slope, dy - np.outer(dx, slope)


class Moment(NamedTuple):
    """When something is predicted to happen."""

    log_time: float  # ln t; infinite if it is not on its way
    error: float  # of it, by the fit
    not_before: float  # ln of a time before which it does not happen
    log_end: float  # ln t at the end of the run

    @property
    def is_resolved(self) -> bool:
        """Whether the fit says when: its error is less than the time that is left."""
        return self.error < self.log_time - self.log_end

    @property
    def known(self) -> float:
        """The ln t before which it does not happen by the fit; infinite where things move away from it beyond the error."""
        return np.inf if self.log_time == np.inf and self.error < np.inf else self.not_before

    @property
    def counted_on(self) -> float:
        """The ln t up to which it is counted on not to happen."""
        return self.log_end + COUNTED_ON * (self.known - self.log_end)

    @property
    def is_extrapolated(self) -> bool:
        """Whether that is later than what such predictions were tested on."""
        return self.counted_on - self.log_end > TESTED * np.log(10.0)

    def __str__(self) -> str:
        """Say when; where the fit does not resolve that, up to when it is counted on not to happen."""
        if self.known == np.inf:
            return "never by its trend"
        if not self.is_resolved:
            return f"not before t = {power_of_ten(self.counted_on)} (when, the fit does not tell)"
        words = f"at t = {power_of_ten(self.log_time)}, +- {self.error / np.log(10.0):.2g} decades by the fit"
        factor = self.log_time - self.log_end
        return f"{words}, {np.exp(factor):.3g} times its end" if factor < np.log(SOON) else words


def power_of_ten(log_time: float) -> str:
    """Return exp(log_time) as a power of ten, up to that which is far beyond anything that was followed."""
    power = log_time / np.log(10.0)
    return f"10^{power:.4g}" if power < FAR_BEYOND else f"10^{FAR_BEYOND:.0f} and far beyond"
