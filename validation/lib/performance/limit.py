"""The machine's own limit: what the operations that a loss and gradient need would cost in the best loops we can write, on one core.

An activation is counted where the exact factorisation of the pairs needs one, forward R and backward R'; a pair of points costs k
exponentials. The engine does less than that: it sums most neurons by moments and most exponentials by matrix products. `needed` counts the
first, `done` the second.
"""

# ruff: noqa: D103 - the loops have the names of their shapes

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numba import njit

import mvsim
from lib.timing import Candidate
from mvsim.losses.points import AllPairs
from mvsim.multi_view.kernels.shared_noise.loops.moments import OTHER, regimes_of
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import MomentSums

ALPHA, RHO = 8, 0.1
IN_CACHE = 2**15
"""Doubles in the long axis: 256 KiB, in the level-2 cache of any machine of today."""

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}

# ---- R(z) = (rho / alpha) u^alpha + max(z - rho, 0), u = clip(z / rho, 0, 1): the same sum in several shapes --------------------------


@njit(**_OPTIONS)
def as_written(z, rho):
    total = 0.0
    for i in range(len(z)):
        u = min(max(z[i] / rho, 0.0), 1.0)
        total += rho / ALPHA * u**ALPHA + max(z[i] - rho, 0.0)
    return total


@njit(**_OPTIONS)
def by_reciprocal(z, rho, reciprocal):
    total = 0.0
    for i in range(len(z)):
        u = min(max(z[i] * reciprocal, 0.0), 1.0)
        total += rho * (1.0 / ALPHA) * u**ALPHA + max(z[i] - rho, 0.0)
    return total


@njit(**_OPTIONS)
def powers_and_rest_apart(z, rho, reciprocal):
    powers, rest = 0.0, 0.0
    for i in range(len(z)):
        x = z[i] * reciprocal
        powers += min(max(x, 0.0), 1.0) ** ALPHA
        rest += max(x, 1.0)
    return rho * (powers * (1.0 / ALPHA) + (rest - len(z)))


@njit(**_OPTIONS)
def scaled_at_the_end(z, rho):
    powers, rest = 0.0, 0.0
    for i in range(len(z)):
        powers += min(max(z[i], 0.0), rho) ** ALPHA
        rest += max(z[i], rho)
    return powers / (ALPHA * rho ** (ALPHA - 1)) + (rest - rho * len(z))


# ---- R'(z) = u^(alpha - 1) ------------------------------------------------------------------------------------------------------------


@njit(**_OPTIONS)
def slope_as_written(z, rho):
    total = 0.0
    for i in range(len(z)):
        total += min(max(z[i] / rho, 0.0), 1.0) ** (ALPHA - 1)
    return total


@njit(**_OPTIONS)
def slope_by_reciprocal(z, reciprocal):
    total = 0.0
    for i in range(len(z)):
        total += min(max(z[i] * reciprocal, 0.0), 1.0) ** (ALPHA - 1)
    return total


@njit(**_OPTIONS)
def slope_scaled_at_the_end(z, rho):
    total = 0.0
    for i in range(len(z)):
        total += min(max(z[i], 0.0), rho) ** (ALPHA - 1)
    return total / rho ** (ALPHA - 1)


def loops() -> dict[str, tuple[str, Callable[[], float]]]:
    """Return the loops, bound to one array: name -> ("R" or "R'", call)."""
    z = RHO * np.random.default_rng(0).normal(0.5, 1.0, IN_CACHE)
    return {
        "as written": ("R", lambda: as_written(z, RHO)),
        "by a reciprocal": ("R", lambda: by_reciprocal(z, RHO, 1 / RHO)),
        "powers and rest apart": ("R", lambda: powers_and_rest_apart(z, RHO, 1 / RHO)),
        "scaled at the end": ("R", lambda: scaled_at_the_end(z, RHO)),
        "slope, as written": ("R'", lambda: slope_as_written(z, RHO)),
        "slope, by a reciprocal": ("R'", lambda: slope_by_reciprocal(z, 1 / RHO)),
        "slope, scaled at the end": ("R'", lambda: slope_scaled_at_the_end(z, RHO)),
    }


def loop_errors() -> dict[str, float]:
    """Return how far each loop is from `mvsim.smoothed_relu` and its derivative (relative)."""
    z = RHO * np.random.default_rng(0).normal(0.5, 1.0, IN_CACHE)
    expected = {"R": mvsim.smoothed_relu(z, RHO, ALPHA).sum(), "R'": mvsim.smoothed_relu_derivative(z, RHO, ALPHA).sum()}
    return {name: float(abs(call() / expected[kind] - 1.0)) for name, (kind, call) in loops().items()}


# ---- nanoseconds for one operation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Units:
    """Seconds for one operation on one core, each the best of its kind: R, R', one exponential, one multiply-add of a matrix product."""

    R: float
    slope: float
    exponential: float
    multiply_add: float


class UnitTimes:
    """The loops as candidates that take turns with whatever else is timed, and the units from their times."""

    def __init__(self) -> None:
        self._loops = loops()
        values = np.random.default_rng(1).normal(size=IN_CACHE // 2)  # in and out in the level-2 cache
        out = np.empty_like(values)
        self._size = 384
        a = np.random.default_rng(2).normal(size=(self._size, self._size))
        product = np.empty_like(a)
        self._others = {
            "exp": (len(values), lambda: np.exp(values, out=out)),
            "matrix product": (self._size**3, lambda: np.matmul(a, a, out=product)),
        }

    def candidates(self) -> dict[str, Candidate]:
        """Return what is to be timed, on one thread."""
        loops = {name: Candidate(call) for name, (_, call) in self._loops.items()}
        return loops | {name: Candidate(call) for name, (_, call) in self._others.items()}

    def each(self, seconds: dict[str, float]) -> dict[str, float]:
        """Return seconds for one operation in each loop."""
        return {name: seconds[name] / IN_CACHE for name in self._loops} | {name: seconds[name] / n for name, (n, _) in self._others.items()}

    def units(self, seconds: dict[str, float]) -> Units:
        """Return the best of each kind."""
        each = self.each(seconds)
        best = {kind: min(each[name] for name, (of, _) in self._loops.items() if of == kind) for kind in ("R", "R'")}
        return Units(best["R"], best["R'"], each["exp"], each["matrix product"])


# ---- what one loss and gradient needs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """Operations of one loss and gradient: activations (each once forward, once backward), exponentials, multiply-adds of matrix products."""

    activations: int
    exponentials: int
    multiply_adds: int = 0

    def seconds(self, units: Units) -> float:
        """Return what they would take on one core."""
        return self.activations * (units.R + units.slope) + self.exponentials * units.exponential + self.multiply_adds * units.multiply_add

    def as_dict(self) -> dict[str, int]:
        """Return the counts as a plain dict."""
        return asdict(self)


def needed(p: mvsim.Parameters, kernel: SharedNoiseKernel) -> Counts:
    """Return what the exact factorisation of all pairs at lambda = 1/2 needs, every activation and every exponential evaluated by itself."""
    layout, plan = kernel.layout, kernel.pairs_of(AllPairs(0.5)).plan
    (N, S), G = layout.signal.shape, len(layout.patterns)
    return Counts(p.k * p.m * (N * G * S + G * (G + 1) // 2 + len(plan.meetings.pair)), p.k * N * N // 2)


def needed_densely(k: int, m: int, N: int, P: int) -> Counts:
    """Return what all pairs of arbitrary patches need."""
    return Counts(N * (N + 1) // 2 * P * k * m, k * N * (N + 1) // 2)


def done(p: mvsim.Parameters, kernel: SharedNoiseKernel, c: np.ndarray) -> Counts:
    """Return what the engine does at c: the activations left over by the moments, the exponentials of tables, the multiply-adds in their place."""
    pairs, layout = kernel.pairs_of(AllPairs(0.5)), kernel.layout
    sums, plan = pairs.sums, pairs.plan
    assert isinstance(sums, MomentSums)
    N, G, F, order = len(layout.labels), len(layout.patterns), layout.features, int(p.alpha)
    (table,), unmixed = sums.tables, sums.unmixed.table
    activations = p.k * p.m * len(sums.terms.point)
    for columns in kernel.columns.at(c.reshape(p.k, p.m, -1)):
        features, noise = columns[:F], columns[F:]
        for one_table, lam, patterns in ((table, table.lam, noise), (unmixed, 1.0, np.zeros((1, p.m)))):
            regimes = regimes_of(features, patterns, lam, one_table.low, one_table.high, order)
            activations += int((regimes == OTHER).sum(axis=1) @ np.diff(one_table.start)) * len(patterns)
    # Matrix products of all neurons, once forward and twice backward; of the powers of signal patches with what they give, once each way.
    moments = 3 * p.k * F * G * p.m * (order + 1) + 2 * p.k * layout.signal.size * G * (order + 1)
    pairs_of_points = 3 * p.k * N * (N + 1) // 2
    return Counts(activations, p.k * (N * G + len(plan.blocks) + len(plan.extra_pairs)), moments + pairs_of_points)
