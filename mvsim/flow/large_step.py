"""One implicit step, by backward Euler or the BDF of second order: stiff neurons in their correlations, all others on the chart.

With omega = h / h_before the BDF of second order is

    z1 = (1 + omega)^2 / (1 + 2 omega) z0 - omega^2 / (1 + 2 omega) z_before + gamma z1',     gamma = h (1 + omega) / (1 + 2 omega),

and backward Euler z1 = z0 + h z1'; both are L-stable. For stiff neurons z is c, and the equation is solved (`mvsim.flow.proximal_newton`). All
others are not stiff and move on the chart at almost constant speed: one fixed-point iteration, started with the speed before the step, is enough. So
a smooth step takes one or two gradients, which serve both kinds of neurons.

The error of a step is controlled where something depends on it (`error_of`):

- of a correlation that escapes, relative to the time that it still takes;
- of own correlations, relative to the largest of their view;
- of off-diagonal correlations of stiff neurons loosely, relative to the largest of their neuron.

What the last leaves open can matter. Off-diagonal correlations of stiff neurons are mostly in balance with noise, or below 0, where they add
nothing to outputs. But between escapes one can drift for times of the order of t, from kink to kink, and where it stands when the next class
escapes can decide which of two balances it comes to. Near the threshold, where the activation passes from its power to its linear part, noise can
hold one in a balance no wider than the threshold. Whether one that falls from far above stops there is not resolved: the study `escapes` tells how
many outputs that changes. Clocks stay right also through a transient that is resolved badly, because backward Euler conserves the integral of a
force that relaxes linearly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.base import Field
from mvsim.flow.chart import EscapeChart
from mvsim.flow.forecast import Forecast
from mvsim.flow.growth import outruns_growth
from mvsim.flow.interface import Motion
from mvsim.flow.layout import Layout
from mvsim.flow.moment import Moment
from mvsim.flow.proximal_newton import Accuracy, minimise
from mvsim.flow.stiff_neurons import StiffNeurons

LARGEST_RATIO = 2.4
"""h / h_before up to which the formula of second order is stable."""

SOLVED, OWN_SOLVED, RESIDUAL = 3.0, 1.0, 0.1
"""The equation of a step counts as solved if the last correction of all correlations is at most `SOLVED` in the root mean square and leaves an
error of at most `OWN_SOLVED` in each own one, both in tolerances and units of the field, and if the residual of each off-diagonal one is at most
`RESIDUAL`, in units. Residuals are needed where the Hessian is too stiff, at a kink or along a narrow valley of the loss: there corrections are
small long before an off-diagonal correlation is in balance."""

SETTLED, SETTLED_RESIDUAL = 1e-4, 0.01
"""Bounds, in units, of the last correction and of the residual of off-diagonal correlations for the equation of a step that ends at a mark."""

OWN, OTHERS, OFF = 3.0, 5.0, 10.0
"""Errors, in tolerances, that may be made in own correlations of stiff neurons, in those that are neither own nor on the chart, and in off-diagonal
ones of stiff neurons, relative to the largest of the neuron."""

LOOSE = 30.0
"""So many times less count the errors of clocks that hardly matter: of views that have escaped, and of escapes more than ten times as far away as the
next."""

LEAST_OWN = 0.05
"""Errors of an own correlation of a view that has not escaped are relative to itself, or to this part of its threshold if that is more: others
carry it up from there."""

EARLY = 0.02
"""Part of its threshold from which on an own correlation of a stiff neuron that rises is resolved relative to the time until it escapes."""

MOVES = 0.05
"""Part of its threshold by which a correlation of a stiff neuron has to move for its growth to count."""

REFUSED, OUTGROWN = 50.0, 6.0
"""The errors that a step is said to have if it passes over a threshold, and if it is longer than something takes to grow."""


class Past(NamedTuple):
    """The step before: where it began, and its size."""

    moment: Moment
    h: float


class Equation(NamedTuple):
    """Of an implicit step: c + gamma grad J(c) = target (n,), on stiff neurons."""

    target: np.ndarray
    gamma: float


class Step(NamedTuple):
    """An attempt at a step.

    Attributes
    ----------
    end : Moment, optional
        Where it ends; None if its equation was not solved.
    iterations : int
        How many the equation took.
    error : float
        In tolerances.
    order : int
        1 or 2.
    equation : Equation, optional
        The one that was solved.
    """

    end: Moment | None
    iterations: int = 0
    error: float = 0.0
    order: int = 1
    equation: Equation | None = None


class LargeSteps:
    """Makes attempts.

    Parameters
    ----------
    field, layout, chart
        What is stepped.
    tolerance : float
        Relative error of the time to an escape that one step may make.
    """

    def __init__(self, field: Field, layout: Layout, chart: EscapeChart, tolerance: float) -> None:
        self.field, self.layout, self.chart, self.tolerance = field, layout, chart, tolerance
        self.charted = np.zeros(layout.size, bool)
        self.charted[chart.index] = True
        self.gradients = 0

    def gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and its gradient (n,)."""
        self.gradients += 1
        loss, gradient = self.field.loss_and_gradient(0, c.reshape(self.layout.shape))
        return loss, gradient.ravel()

    def accuracy(self, stiff: StiffNeurons, c: np.ndarray) -> Accuracy:
        """Return how accurately equations of stiff neurons are solved at c."""
        unit = self.field.units(c.reshape(self.layout.shape)).step.ravel()[stiff.index]
        return Accuracy(unit, SOLVED * self.tolerance, self.layout.is_own[stiff.index], OWN_SOLVED * self.tolerance, residual=RESIDUAL)

    def fine_accuracy(self, stiff: StiffNeurons, c: np.ndarray) -> Accuracy:
        """Return how accurately they are solved where a record is made."""
        return self.accuracy(stiff, c)._replace(rms=SETTLED, residual=SETTLED_RESIDUAL)

    def attempt(self, stiff: StiffNeurons, now: Moment, past: Past | None, h: float, easy: bool, forecast: Forecast, learned: np.ndarray) -> Step:
        """Try a step of size h; ``easy`` says that the last equations took few iterations."""
        omega = h / past.h if past is not None else np.inf
        if past is not None and omega <= LARGEST_RATIO:
            order, gamma = 2, h * (1.0 + omega) / (1.0 + 2.0 * omega)
            one, other = (1.0 + omega) ** 2 / (1.0 + 2.0 * omega), omega**2 / (1.0 + 2.0 * omega)
            target, target_u = one * now.c - other * past.moment.c, one * now.u - other * past.moment.u
        else:
            order, gamma, target, target_u = 1, h, now.c, now.u
        c = np.asarray(self.chart.to_c(target_u + gamma * now.w))
        iterations, S = 0, stiff.index
        if S.size:
            x = now.c[S] + (min(omega, 1.0) * (now.c[S] - past.moment.c[S]) if past is not None and easy else 0.0)
            try:
                solution = minimise(stiff, c, x, target[S], gamma, self.accuracy(stiff, now.c))
            except np.linalg.LinAlgError:
                return Step(None)
            if not solution.solved:
                return Step(None, iterations=solution.iterations)
            c[S], iterations, gradient = solution.x, solution.iterations, solution.gradient
        else:
            try:
                _, gradient = self.gradient(c)
            except DivergedError:
                return Step(None)
        speed = -self.chart.slope(c) * gradient
        c = np.where(stiff.mask, c, self.chart.to_c(target_u + gamma * speed))
        end = Moment(self.chart, c, np.where(stiff.mask, (c - target) / gamma, speed / self.chart.slope(c)))
        error = self.error_of(stiff, now, past if order == 2 else None, end, h, forecast, learned)
        return Step(end, iterations, error, order, Equation(target, gamma))

    def error_of(self, stiff: StiffNeurons, now: Moment, past: Past | None, end: Moment, h: float, forecast: Forecast, learned: np.ndarray) -> float:
        """Return the error of a step in tolerances; without ``past`` that of backward Euler.

        The BDF of second order errs by h^2 (h + h') / (3 (2 h + h')) times the second difference of the velocity, where h' is the size of the step
        before; backward Euler by h / 2 times the first difference.
        """
        layout, b = self.layout, self.layout.threshold

        def local(new: np.ndarray, old: np.ndarray, older: np.ndarray | None) -> np.ndarray:
            if past is None or older is None:
                return np.abs(0.5 * h * (new - old))
            before = past.h
            return np.abs(h * h * (h + before) / (3.0 * (2.0 * h + before)) * ((new - old) / h - (old - older) / before))

        waiting = self.chart.index[(now.u < b)[self.chart.index] & ~stiff.mask[self.chart.index]]
        on_chart = local(end.w[waiting], now.w[waiting], None if past is None else past.moment.w[waiting])
        hardly = (layout.is_own & learned[layout.view])[waiting] | (
            end.u[waiting] + 10.0 * min(forecast.next, 1e300) * np.maximum(end.w[waiting], 0.0) < b[waiting]
        )
        errors = [on_chart / (np.abs(end.u[waiting]) + b[waiting]) / np.where(hardly, LOOSE, 1.0)]
        if (now.u[waiting] < -b[waiting]).any() and ((now.u[waiting] < -b[waiting]) & (end.u[waiting] > b[waiting])).any():
            return REFUSED

        error = local(end.v, now.v, None if past is None else past.moment.v)
        scale = 0.1 * layout.largest_of_neurons(end.c)
        dormant = np.flatnonzero(~stiff.mask & ~self.charted)
        errors.append(error[dormant] / np.maximum(scale[dormant], 1e-300) / OTHERS)
        by_law = forecast.index[~forecast.is_free & (forecast.times < 10.0 * forecast.next) & (layout.is_own | ~stiff.mask)[forecast.index]]
        rising = layout.is_own & stiff.mask & ~learned[layout.view] & (end.c > EARLY * b) & (end.v > 0.0)
        by_law = np.union1d(by_law, np.flatnonzero(rising))
        by_law = by_law[end.c[by_law] < b[by_law]]
        law = layout.law(by_law)
        errors.append(
            error[by_law] * law.slope(end.c[by_law]) / (np.abs(law.to_y(end.c[by_law])) + b[by_law]) / np.where(stiff.mask[by_law], OWN, 1.0)
        )
        own = np.flatnonzero(layout.is_own & stiff.mask)
        own = own[np.maximum(now.c[own], end.c[own]) > -2.0 * b[own]]
        view = layout.view[own]
        scale = np.where(learned[view], np.maximum(layout.largest_own(end.c)[view], b[own]), np.maximum(np.abs(end.c[own]), LEAST_OWN * b[own]))
        errors.append(error[own] / scale / OWN)
        off = np.flatnonzero(stiff.mask & ~layout.is_own)
        scale = np.maximum(layout.largest_of_neurons(np.maximum(end.c, 0.0)), b)
        errors.append(error[off] / scale[off] / OFF)
        if self.outgrown(stiff, now, end, h, learned):
            return OUTGROWN
        return max(float(each.max(initial=0.0)) for each in errors) / self.tolerance

    def outgrown(self, stiff: StiffNeurons, now: Moment, end: Moment, h: float, learned: np.ndarray) -> bool:
        """Whether a step is longer than the growth time of a correlation of a stiff neuron, in a class in which a view is still to escape."""
        layout = self.layout
        some = np.flatnonzero(stiff.mask & layout.is_open(learned))
        some = some[(np.maximum(now.c, end.c)[some] > 0.0) & (np.minimum(now.c, end.c)[some] < 2.0 * layout.threshold[some])]
        before, after = (Motion(at.c[some], at.v[some]) for at in (now, end))
        return outruns_growth(h, before, after, MOVES * layout.threshold[some])
