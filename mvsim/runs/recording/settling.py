"""Whether what is measured has stopped changing, by a certificate or by a wait.

A run has settled once time has grown by `growth_to_settle` without a change in training accuracy and learned features, and without an escape of a
view. If a view that has not escaped does so at its present pace before time has grown by that factor again, that is waited for.

Once every view is learned the end of the wait, its horizon, can be told before. The certificate that nothing changes until then has two parts. Both
hold at all records while time has grown by `WINDOW`, since the last change:

1. No correlation comes up. At the present force c' = v a dormant one escapes after (b - y(c)) / (v y'(c)) (`mvsim.flow.chart`), which puts all of v
   down to its power law. Noise that carries a correlation up, from below 0 or far from the threshold, is a part of v that does not grow with c. So
   the time is too short, not too long, as long as forces last. Off-diagonal correlations count as own ones do: they escape by the same law. The
   least of these times is recorded (`dormant_until`); it has to be `SAFETY` times as far away as the horizon.
2. No margin is lost, on training points or on fresh draws with one view alone. The largest fall of each least margin to the present within the
   window, going on in ln t at `SAFETY` times that rate, has to leave it positive at the horizon. Slopes of margins at single states are of no use:
   where neurons slide along kinks of the loss they change sign from step to step.

It is sound where, from the window to the horizon, forces on dormant neurons grow by less than `SAFETY` and margins fall no faster in ln t than that.
It is no proof: nothing bounds what forces do when neurons that have escaped turn over. Dormant neurons do not count for views that are learned: what
they add to their own class does not lower its margin. A neuron that has escaped is seen in the margins alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mvsim.flow.chart import EscapeChart
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.recording.fresh_draws import is_learned

TRAINED = 0.9
"""Part of its first value to which the mean of 1 - phi_y has to fall in every class: the initial network may be right on a few points by chance."""

WINDOW = 1.1
"""Factor of time over which a certificate has to hold, all of it after the last change."""

SAFETY = 2.0
"""How much faster than in the window things may happen up to the horizon."""

FLOOR = 1.0 / 30.0
"""Part of the root mean square of initial correlations, d^(-1/2), up to which a smaller one moves at constant speed: noise carries it, because
its power law alone takes 30^(alpha - 2) times as long as that of others."""

LEAST_ALPHA = 4.0
"""Power of the activation from which on that is so much that it tells the two apart."""


def growth_to_settle(factor: float, learned: np.ndarray) -> float:
    """Return by what factor time has to grow without a change.

    What has not been learned may still come, so that all of ``factor`` is waited for it. Once every view of every class is learned nothing is left to
    come, and the square root of the factor is enough: half of the wait in ln t, on which views escape.
    """
    return math.sqrt(factor) if learned.all() else factor


def dormant_until(time: float, c: np.ndarray, gradient: np.ndarray, parameters: Parameters, threshold: float) -> float:
    """Return the time before which no correlation of a dormant neuron escapes at the present forces -``gradient``; infinite if none does.

    Dormant is a neuron with all correlations below the threshold. Own correlations of views that have escaped are left out. Below `LEAST_ALPHA` it is
    ``time``: nothing is told.
    """
    if threshold == math.inf or parameters.alpha < LEAST_ALPHA:
        return math.inf if threshold == math.inf else time
    y = np.arange(len(c))
    has_escaped = np.asarray((c[y, :, y] >= threshold).any(axis=1))
    counts = np.where((c < threshold).all(axis=(2, 3), keepdims=True), gradient < 0.0, False)
    counts[y, :, y] &= ~has_escaped[:, None]
    x, b = c[counts], np.full(int(counts.sum()), threshold)
    law = EscapeChart(np.arange(x.size), np.minimum(FLOOR / float(parameters.d) ** 0.5, 0.5 * b), b, parameters.alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        times = (b - law.to_y(x)) / (law.slope(x) * -gradient[counts])
    return time + float(np.nan_to_num(times, nan=0.0, posinf=math.inf).min(initial=math.inf))


class Settling(NamedTuple):
    """What decides when a run has settled."""

    records: Mapping[str, Sequence[Any] | np.ndarray]  # The values of each recorded variable, in order of time
    coming: float = math.inf  # When the next view that has not escaped does at its present pace
    last_escape: float = 0.0  # When a view escaped last: what it does to the features may come later

    def since(self) -> float | None:
        """Return since when training accuracy is 1, every class is trained and the learned features are those of now; None if not so now."""
        times, accuracy = self.records["time"], np.asarray(self.records["training_accuracy"])
        learned = is_learned(np.asarray(self.records["feature_learned"]))
        gap = np.asarray(self.records["softmax_gap"])  # NaN for a class without points
        trained = ~(gap > TRAINED * gap[0]).any(axis=1)
        same = (accuracy == 1.0) & (learned == learned[-1]).all(axis=(1, 2)) & trained
        if not same[-1]:
            return None
        changes = np.flatnonzero(~same)
        return times[changes[-1] + 1] if len(changes) else times[0]

    def waits_until(self, factor: float) -> float | None:
        """Return when time will have grown by `growth_to_settle` without a change, if none comes; None before it is trained, or if a view comes."""
        since, times = self.since(), self.records["time"]
        if since is None:
            return None
        growth = growth_to_settle(factor, is_learned(np.asarray(self.records["feature_learned"][-1])))
        wait = growth * max(since, self.last_escape, times[min(1, len(times) - 1)])
        return None if self.coming < growth * max(wait, times[-1]) else wait

    def certified_until(self, factor: float) -> float | None:
        """Return the end of that wait if nothing changes before it by the certificate, None if none can be given."""
        since, horizon, times = self.since(), self.waits_until(factor), np.asarray(self.records["time"])
        if since is None or horizon is None or not is_learned(np.asarray(self.records["feature_learned"][-1])).all():
            return None
        start, now = times[-1] / WINDOW, times[-1]
        window = slice(int(np.searchsorted(times, start, side="right")) - 1, None)
        if not max(since, self.last_escape) <= start or now >= horizon:
            return None
        if not np.min(self.records["dormant_until"][window]) >= now + SAFETY * (horizon - now):
            return None
        margins = [np.reshape(self.records[name][window], (len(times[window]), -1)) for name in ("margin_min", "draw_margin_min")]
        margin = np.concatenate(margins, axis=1)
        fall = (margin.max(axis=0) - margin[-1]) / math.log(now / times[window][0])
        return None if (margin[-1] <= SAFETY * fall * math.log(horizon / now)).any() else horizon  # NaN for a class without points

    def settles_at(self, factor: float) -> float | None:
        """Return when the run will have settled, if nothing changes any more."""
        return self.waits_until(factor) if self.certified_until(factor) is None else self.records["time"][-1]

    def reached(self, factor: float) -> bool:
        """Whether that time has come."""
        settles, times = self.settles_at(factor), self.records["time"]
        return settles is not None and len(times) > 1 and bool(times[-1] >= settles)
