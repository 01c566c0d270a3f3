"""The smoothed ReLU with a leak: a slope that is never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from mvsim.base.errors import UsageError
from mvsim.multi_view.activations.base import Activation, Elementwise
from mvsim.multi_view.activations.power import power_for_loops, to_power
from mvsim.multi_view.activations.smoothed_relu import (
    smoothed_relu,
    smoothed_relu_derivative,
    smoothed_relu_elementwise,
    smoothed_relu_second_derivative,
)
from mvsim.multi_view.parameters import Parameters


@dataclass(frozen=True)
class LeakySmoothedRelu(Activation):
    """leak z + (1 - leak) R(z) with the smoothed ReLU R of Definition 4.2.

    Parameters
    ----------
    rho, alpha : float
        See `smoothed_relu`.
    leak : float
        Slope for z <= 0, from 0 to 1.

    Raises
    ------
    UsageError
        If leak is out of its range.
    """

    rho: float
    alpha: float
    leak: float = 0.01

    name: ClassVar[str] = "leaky_smoothed_relu"

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """Return the activation with rho and alpha of the parameters, and the default leak."""
        return cls(parameters.rho, parameters.alpha)

    def __post_init__(self) -> None:
        if not 0.0 <= self.leak <= 1.0:
            raise UsageError(f"leak={self.leak!r}: must be a number from 0 to 1")

    def value(self, z: ArrayLike) -> np.ndarray:
        """Return leak z + (1 - leak) R(z)."""
        return self.leak * np.asarray(z, dtype=np.float64) + (1.0 - self.leak) * smoothed_relu(z, self.rho, self.alpha)

    def derivative(self, z: ArrayLike) -> np.ndarray:
        """Return leak + (1 - leak) R'(z)."""
        return self.leak + (1.0 - self.leak) * smoothed_relu_derivative(z, self.rho, self.alpha)

    def second_derivative(self, z: ArrayLike) -> np.ndarray:
        """Return (1 - leak) R''(z)."""
        return (1.0 - self.leak) * smoothed_relu_second_derivative(z, self.rho, self.alpha)

    def elementwise(self, xp: Any) -> Elementwise:
        """See `Activation`."""
        smoothed, leak = smoothed_relu_elementwise(xp, self.rho, self.alpha), self.leak
        return Elementwise(
            lambda z: leak * z + (1.0 - leak) * smoothed.value(z),
            lambda z: leak + (1.0 - leak) * smoothed.slope(z),
            lambda z: (1.0 - leak) * smoothed.bend(z),
        )

    @property
    def scale(self) -> float:
        """Compiled loops take pre-activations in units of rho."""
        return self.rho

    @property
    def compiled(self) -> Any:
        """See `Activation`."""
        return Leaky(self.rho, 1.0, self.leak, self.alpha, power_for_loops(self.alpha))


class Leaky(NamedTuple):
    """R(rho x) = rho (leak x + (1 - leak) (u^alpha / alpha + x^+ - u)),   x^+ = max(x, 0),   u = min(x^+, 1)."""

    unit: float
    gain: float
    leak: float
    alpha: float
    power: Any

    @staticmethod
    def value(x, a):  # type: ignore[no-untyped-def]
        """Return R(rho x) / rho."""
        positive = max(x, 0.0)
        u = min(positive, 1.0)
        return a.leak * x + (1.0 - a.leak) * (to_power(u, a.power, 0) / a.alpha + positive - u)

    @staticmethod
    def slope(x, a):  # type: ignore[no-untyped-def]
        """Return R'(rho x)."""
        return a.leak + (1.0 - a.leak) * to_power(min(max(x, 0.0), 1.0), a.power, 1)

    @staticmethod
    def bend(x, a):  # type: ignore[no-untyped-def]
        """Return rho R''(rho x)."""
        return (1.0 - a.leak) * (a.alpha - 1.0) * to_power(min(max(x, 0.0), 1.0), a.power, 2) if 0.0 < x < 1.0 else 0.0
