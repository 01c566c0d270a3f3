"""What an activation is: R with its derivatives, for arrays of any namespace of the array API standard and for compiled loops.

To add one: write a file with a subclass of `Activation` and list it in `mvsim.multi_view.activations.ACTIVATIONS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mvsim.multi_view.parameters import Parameters


class Elementwise(NamedTuple):
    """R, R' and R'' of arrays of one namespace of the array API standard; each returns the shape of its argument.

    At a kink of R, ``slope`` is one of the two slopes and ``bend`` is 0.
    """

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    bend: Callable[[Any], Any]


class Activation(ABC):
    """A function R of the pre-activation, applied to every patch by every neuron."""

    name: ClassVar[str]
    nonnegative: ClassVar[bool] = False  # Whether R >= 0 everywhere. Sums over exponentials of outputs then cannot underflow.
    linear: ClassVar[bool] = False  # Whether R(z) = z: outputs on mixed points are then mixtures of outputs
    # Whether correlations escape: while outputs are near 0, x' = K R'(x) with R'(x) = (x / rho)^(alpha - 1) below rho and 1 above it
    escapes: ClassVar[bool] = False

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """Return the activation with the constants that the parameters give it; by default it has none."""
        return cls()

    @abstractmethod
    def elementwise(self, xp: Any = np) -> Elementwise:
        """Return R, R' and R'' for float64 arrays of the namespace ``xp`` (NumPy, CuPy, ...) of the array API standard."""

    @property
    def scale(self) -> float:
        """The unit s in which compiled loops take pre-activations."""
        return 1.0

    @property
    @abstractmethod
    def compiled(self) -> Any:
        """The constants for compiled loops: a named tuple ``a`` whose class has the functions that go with it, as static methods.

        Its fields are at least ``unit`` and ``gain``. With x in units of `scale` s

            R(s x) = unit value(x, a),      R'(s x) = slope(x, a),      s R''(s x) = bend(x, a),      unit gain = s.

        Where a power of the share of a point in a mixture can be taken out of the sum over patches, the class also has functions of (x, share,
        top, a) with top = 1 / share, and `mixture_weights` says by what their sums are multiplied: ``mixed_value`` gives two numbers p and q,

            R(s share x) = unit (p weight_p + gain q weight_q),      share R'(s share x) = weight mixed_slope,      and so for ``mixed_bend``.
        """

    def mixture_weights(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weight_p, weight_q and weight of `compiled` for shares (n,)."""
        return np.ones_like(share), np.zeros_like(share), share

    @property
    def moment_order(self) -> int | None:
        """The power of a polynomial part z^order on 0 < z < s that is followed by a straight line, small enough for sums by moments; else None."""
        return None
