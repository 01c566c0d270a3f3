"""How long a view that has not been learned will stay so: the decay of its potential in ln t, and when that leads to its escape.

Late in training on single points 1 - phi_y falls as 1 / t. The best correlation c of a view that has not been learned is in the polynomial part
of the activation, so it obeys c' = (K / t) (c / rho)^(alpha-1) with a constant K, and its potential

    u = (c / rho)^(2-alpha)    falls linearly in ln t,    du / d ln t = -(alpha - 2) K / rho.

It escapes where u would be 0, at the time t* = t exp(u / |du / d ln t|): `mvsim.papers.midpoint_mixup.theorems.trends` has the slope, its error, and
a time before which nothing escapes. K drifts: as time goes on, fewer and fewer points decide; why it grows far beyond the end of a run is not known.

Where u changes by less than doubles resolve over the fitted time, the slope is that of the flow at the end, from c' = -grad J there,

    du / d ln t = -(alpha - 2) u t c' / c;

how it drifts is not known then, and t exp(u / |du / d ln t|) is told as a time before which the view does not escape. Where u is very large, as at
d = k^20, that is so. The time before which a fit says that nothing escapes is no later than this, either: records alone do not put off an escape that
the final state of the flow has coming.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.diagnostics import own_correlations
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR
from mvsim.papers.midpoint_mixup.theorems.trends import FEWEST, Moment, trend

RESOLVED = 10.0 * float(np.finfo(float).eps)
"""Relative change of a potential over the fitted time from which it is more than rounding."""


class Predicted(NamedTuple):
    """When the views that have not escaped will; `moment` has it of one view."""

    # (k, V) ln t* of the first neuron of each view to escape; infinite if none is on its way, NaN for views that have escaped or if there are too
    # few records
    log_time: np.ndarray
    error: np.ndarray  # (k, V) of it, in ln t
    not_before: np.ndarray  # (k, V) ln of a time before which no neuron of the view escapes; as ``log_time`` where there is none to say
    records: int  # how many records were fitted

    def moment(self, y: int, view: int, log_end: float) -> Moment:
        """Return when one view escapes, given ln t at the end of the run."""
        return Moment(float(self.log_time[y, view]), float(self.error[y, view]), float(self.not_before[y, view]), log_end)


def predicted_escapes(evidence: Evidence) -> Predicted:
    """Return when each view that has not escaped will escape, by the first of its neurons; alpha > 2."""
    neurons = _escapes_of_neurons(evidence)
    first = np.where(np.isnan(neurons.log_time), np.inf, neurons.log_time).argmin(axis=1)[:, None]
    log_time = np.take_along_axis(neurons.log_time, first, axis=1)[:, 0]
    error = np.where(np.isinf(log_time), neurons.error.max(axis=1), np.take_along_axis(neurons.error, first, axis=1)[:, 0])
    waiting = ~np.isfinite(evidence.entry_time)
    log_time, error, not_before = (np.where(waiting, values, np.nan) for values in (log_time, error, neurons.not_before.min(axis=1)))
    return Predicted(log_time, error, not_before, neurons.records)


def _escapes_of_neurons(evidence: Evidence) -> Predicted:
    """Return the same of each neuron (k, m, V), from the decay of its potential; infinite where that is infinite at times."""
    u = _potential(evidence.own, evidence.parameters)
    window = np.flatnonzero(evidence.times >= evidence.times[-1] / FACTOR)
    usable = np.isfinite(u[window]).all(axis=0) if len(window) else np.zeros(u.shape[1:], dtype=bool)
    fitted = trend(evidence, np.where(usable, u, 0.0))
    prediction = Predicted(*fitted.crossing(), fitted.not_before(), fitted.records)
    if fitted.records >= FEWEST:
        prediction = _with_the_end(prediction, _at_end(evidence), usable, usable & _is_still(u, fitted.records))
    log_time = np.where(usable | np.isnan(prediction.log_time), prediction.log_time, np.inf)
    return prediction._replace(log_time=log_time, not_before=np.where(usable, prediction.not_before, log_time))


def _with_the_end(by_fit: Predicted, at_end: Predicted, usable: np.ndarray, still: np.ndarray) -> Predicted:
    """Return what the flow at the end says where the fit resolves nothing, and elsewhere the fit, without what the end of the flow speaks against."""
    log_time = np.where(still, at_end.log_time, by_fit.log_time)
    error = np.where(still, at_end.error, by_fit.error)
    not_before = np.where(still, at_end.not_before, by_fit.not_before)
    on_its_way = usable & np.isfinite(at_end.log_time)
    error = np.where(on_its_way & np.isinf(log_time), np.inf, error)
    not_before = np.where(on_its_way, np.minimum(not_before, at_end.not_before), not_before)
    return Predicted(log_time, error, not_before, by_fit.records)


def _potential(own: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Return u of own correlations, infinite where they are not above 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(own > 0.0, np.where(own > 0.0, own / parameters.rho, 1.0) ** (2.0 - parameters.alpha), np.inf)


def _is_still(u: np.ndarray, records: int) -> np.ndarray:
    """Return (k, m, V) bool: where u (T, k, m, V) does not change over the last records by more than its rounding."""
    last = u[-records:]
    with np.errstate(invalid="ignore"):
        return np.asarray(last.max(axis=0) - last.min(axis=0) <= RESOLVED * last[-1])


def _at_end(evidence: Evidence) -> Predicted:
    """Return when neurons (k, m, V) escape by the speeds of the flow at the end, for which no record is fitted.

    What moves away from its escape never comes there. Of the others the error is not known, and told as infinite.
    """
    c, end = evidence.own[-1], evidence.snapshots[-1]
    speed, log_end = -own_correlations(evidence.gradient(end)), float(np.log(evidence.times[-1]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # u / |du / d ln t| = c / ((alpha - 2) t c'), in which u, which may be beyond any double, cancels.
        way = np.where(speed > 0.0, c / ((evidence.parameters.alpha - 2.0) * evidence.times[-1] * np.where(speed > 0.0, speed, 1.0)), np.inf)
    return Predicted(log_end + way, np.where(np.isfinite(way), np.inf, 0.0), log_end + way, 0)
