"""The smoothed ReLU of Definition 4.2 and its derivatives, branch-free.

With u = clip(z / rho, 0, 1):

    R(z)   = (rho / alpha) u^alpha + max(z - rho, 0)
    R'(z)  = u^(alpha - 1)
    R''(z) = (alpha - 1) u^(alpha - 2) / rho     for 0 < z < rho, else 0

For z <= 0, u = 0 gives R = 0; on [0, rho], R = z^alpha / (alpha rho^(alpha - 1)); for z >= rho, u = 1 gives
rho / alpha + z - rho = z - (1 - 1/alpha) rho: the three cases of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_positive, real_array
from mvsim.multi_view.activations.base import Activation, Elementwise
from mvsim.multi_view.parameters import Parameters


def smoothed_relu(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R(z) of Definition 4.2.

    Parameters
    ----------
    z : array_like
        Pre-activations, any shape, dimensionless.
    rho : float
        Threshold, > 0.
    alpha : float
        Power, >= 1 (1 is the ordinary ReLU).

    Returns
    -------
    numpy.ndarray
        R(z), the shape of ``z``.

    Raises
    ------
    UsageError
        If rho <= 0 or alpha < 1.
    """
    result: np.ndarray = _checked(rho, alpha).value(real_array("z", z))
    return result


def smoothed_relu_derivative(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R'(z) = clip(z / rho, 0, 1)^(alpha - 1), with R'(z) = 0 for z <= 0; arguments as for `smoothed_relu`."""
    result: np.ndarray = _checked(rho, alpha).slope(real_array("z", z))
    return result


def smoothed_relu_second_derivative(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R''(z), taken as 0 at the kinks z = 0 and z = rho, infinite where no double holds it; arguments as for `smoothed_relu`."""
    with np.errstate(over="ignore"):
        result: np.ndarray = _checked(rho, alpha).bend(real_array("z", z))
        return result


def smoothed_relu_elementwise(xp: Any, rho: float, alpha: float) -> Elementwise:
    """Return R, R' and R'' for float64 arrays of a namespace of the array API standard; rho > 0 and alpha >= 1 are not checked.

    ``xp.clip`` is avoided: for CuPy `array_api_compat` writes it by masks, for which the processor waits.
    """

    def part(z: Any) -> Any:
        return xp.minimum(xp.maximum(z, 0.0), rho) / rho  # cut first: z / rho may be too large for a double

    def value(z: Any) -> Any:
        return (rho / alpha) * _power(xp, part(z), alpha) + xp.maximum(z - rho, 0.0)

    def slope(z: Any) -> Any:
        u = part(z)
        return xp.where(z > 0.0, _power(xp, u, alpha - 1.0), xp.zeros_like(u))

    def bend(z: Any) -> Any:
        inside, u = (z > 0.0) & (z < rho), part(z)
        least = xp.maximum(xp.where(inside, u, xp.ones_like(u)), _TINY)  # below it 1 / u, of which alpha = 1 leaves nothing, is infinite
        return xp.where(inside, (alpha - 1.0) * _power(xp, least, alpha - 2.0) / rho, xp.zeros_like(u))

    return Elementwise(value, slope, bend)


_TINY = float(np.finfo(float).tiny)


def _checked(rho: float, alpha: float) -> Elementwise:
    rho, alpha = check_positive("rho", rho), check_positive("alpha", alpha)
    if alpha < 1.0:
        raise UsageError(f"alpha={echo(alpha)}: must be >= 1")
    return smoothed_relu_elementwise(np, rho, alpha)


def _power(xp: Any, u: Any, exponent: float) -> Any:
    """Return u^exponent: whole exponents by squaring, which is faster than pow."""
    if exponent < 0.0 or not float(exponent).is_integer():
        return u**exponent
    power, n = xp.ones_like(u), int(exponent)
    while n:
        power = power * u if n % 2 else power
        u, n = u * u, n // 2
    return power


@dataclass(frozen=True)
class SmoothedRelu(Activation):
    """The activation of Definition 4.2."""

    rho: float
    alpha: float

    name: ClassVar[str] = "smoothed_relu"
    nonnegative: ClassVar[bool] = True
    escapes: ClassVar[bool] = True

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        return cls(parameters.rho, parameters.alpha)

    def elementwise(self, xp: Any = np) -> Elementwise:
        return smoothed_relu_elementwise(xp, self.rho, self.alpha)

    @property
    def scale(self) -> float:
        return self.rho

    @property
    def compiled(self) -> Any:
        unit = self.rho / self.alpha
        return InUnitsOfRho(unit, self.alpha, self.alpha, power_for_loops(self.alpha))

    def mixture_weights(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        power = share**self.alpha
        return power, share, power

    @property
    def moment_order(self) -> int | None:
        return whole_power(self.alpha)


class InUnitsOfRho(NamedTuple):
    """R(rho x) = unit (u^alpha + alpha (x^+ - u)),   x^+ = max(x, 0),   u = min(x^+, 1),   unit = rho / alpha.

    Mixtures. With x = a + ratio b for one neuron on two points, the first of which has the weight share >= 1/2, and t = min(x^+, 1 / share),

        sum_p R(rho share x) / rho = share^alpha / alpha sum_p t^alpha + share sum_p (x^+ - t)
        sum_p R'(rho share x) y    = share^(alpha - 1) sum_p t^(alpha - 1) y

    so that share leaves the sum over patches. The powers and the rest are added up apart: together they would be reassociated into one long
    product with 1 / alpha, at twice the time. As share >= 1/2, t <= 2 and powers stay in range.
    """

    unit: float
    gain: float
    alpha: float
    power: Any

    @staticmethod
    def value(x, a):  # type: ignore[no-untyped-def]
        """Return R(rho x) / unit."""
        positive = max(x, 0.0)
        u = min(positive, 1.0)
        return to_power(u, a.power, 0) + a.alpha * (positive - u)

    @staticmethod
    def slope(x, a):  # type: ignore[no-untyped-def]
        """Return R'(rho x)."""
        return to_power(min(max(x, 0.0), 1.0), a.power, 1)

    @staticmethod
    def bend(x, a):  # type: ignore[no-untyped-def]
        """Return rho R''(rho x)."""
        return (a.alpha - 1.0) * to_power(min(max(x, 0.0), 1.0), a.power, 2) if 0.0 < x < 1.0 else 0.0

    @staticmethod
    def mixed_value(x, share, top, a):  # type: ignore[no-untyped-def]
        """Return t^alpha and x^+ - t."""
        positive = max(x, 0.0)
        t = min(positive, top)
        return to_power(t, a.power, 0), positive - t

    @staticmethod
    def mixed_slope(x, share, top, a):  # type: ignore[no-untyped-def]
        """Return t^(alpha - 1), and 0 for x <= 0 also if alpha = 1."""
        return to_power(min(max(x, 0.0), top), a.power, 1) if x > 0.0 else 0.0

    @staticmethod
    def mixed_bend(x, share, top, a):  # type: ignore[no-untyped-def]
        """Return (alpha - 1) t^(alpha - 2) between the kinks."""
        return (a.alpha - 1.0) * to_power(min(max(x, 0.0), top), a.power, 2) if 0.0 < x < top else 0.0


LARGEST_WHOLE_POWER = 16
"""Whole powers up to this are products in compiled loops; sums by moments go as far."""

UNROLLED_POWER = 8
"""The default of alpha, known to the compiler as a constant: see `power_for_loops`."""


def whole_power(alpha: float) -> int | None:
    """Return alpha if it is a whole number small enough for products, else None."""
    return int(alpha) if float(alpha).is_integer() and 1 <= alpha <= LARGEST_WHOLE_POWER else None


def power_for_loops(alpha: float) -> tuple[int, ...] | int | float:
    """Return alpha in the form in which compiled loops take it; its type decides how they form powers.

    The default travels in the type itself, a tuple of so many zeros, and the compiler sees a constant exponent. All other whole powers share
    one compiled form, in which the exponent is a number. Any other power costs a call to pow.
    """
    if alpha == UNROLLED_POWER:
        return (0,) * UNROLLED_POWER
    whole = whole_power(alpha)
    return float(alpha) if whole is None else whole


def to_power(u, power, less):  # type: ignore[no-untyped-def]  # compiled in mvsim.multi_view.kernels.jit.loops.activation
    """Return u^(alpha - less) for u >= 0, where ``power`` is alpha in the form of `power_for_loops`; 1 for u > 0, else 0, if alpha <= less."""
    alpha = len(power) if isinstance(power, tuple) else power
    if alpha == less or (alpha < less and float(alpha).is_integer()):
        return 1.0 if u > 0.0 else 0.0
    return u ** (alpha - less)
