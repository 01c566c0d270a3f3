"""No activation at all: the network is linear in its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mvsim.multi_view.activations.base import Activation, Elementwise


@dataclass(frozen=True)
class Identity(Activation):
    """R(z) = z."""

    name: ClassVar[str] = "identity"
    linear: ClassVar[bool] = True

    def elementwise(self, xp: Any = np) -> Elementwise:
        return Elementwise(lambda z: z, xp.ones_like, xp.zeros_like)

    @property
    def compiled(self) -> Any:
        return Linear(1.0, 1.0)


class Linear(NamedTuple):
    """R(x) = x."""

    unit: float
    gain: float

    @staticmethod
    def value(x, a):  # type: ignore[no-untyped-def]
        """Return R(x)."""
        return x

    @staticmethod
    def slope(x, a):  # type: ignore[no-untyped-def]
        """Return R'(x)."""
        return 1.0

    @staticmethod
    def bend(x, a):  # type: ignore[no-untyped-def]
        """Return R''(x)."""
        return 0.0
