"""Any activation in compiled loops: they call `value`, `slope` and `bend`, and the type of ``a`` decides which functions these are.

``a`` is what `mvsim.multi_view.activations.Activation.compiled` gives, and its class has the functions. For mixtures share (x + ratio x') of two
points, where x is what stands in the brackets in units of the scale, loops of `mvsim.multi_view.kernels.any_patches` call `mixed_value`,
`mixed_slope` and `mixed_bend`, with top = 1 / share; without functions of their own these are value, slope and bend at share x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload

from mvsim.multi_view.activations.smoothed_relu import to_power
from mvsim.multi_view.kernels.jit.compiling import SUMS, njit


def value(x, a):
    """Return R / unit."""
    return type(a).value(x, a)


def slope(x, a):
    """Return R'."""
    return type(a).slope(x, a)


def bend(x, a):
    """Return s R''."""
    return type(a).bend(x, a)


def mixed_value(x, share, top, a):
    """Return the two parts of which sums over patches are multiplied by their weights."""
    raise NotImplementedError


def mixed_slope(x, share, top, a):
    """Return R' but for its weight."""
    raise NotImplementedError


def mixed_bend(x, share, top, a):
    """Return s R'' but for its weight."""
    raise NotImplementedError


_SMALL = {name: SUMS[name] for name in ("fastmath", "error_model")}
"""Options of functions that LLVM puts into the loops that call them."""


@overload(value, jit_options=_SMALL)
def _value_of(x, a):
    return a.instance_class.value


@overload(slope, jit_options=_SMALL)
def _slope_of(x, a):
    return a.instance_class.slope


@overload(bend, jit_options=_SMALL)
def _bend_of(x, a):
    return a.instance_class.bend


def _own_or(name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """Return what chooses the function called ``name`` of the class of a, and ``general`` if it has none."""
    return lambda x, share, top, a: getattr(a.instance_class, name, general)


overload(mixed_value, jit_options=_SMALL)(_own_or("mixed_value", lambda x, share, top, a: (value(share * x, a), 0.0)))
overload(mixed_slope, jit_options=_SMALL)(_own_or("mixed_slope", lambda x, share, top, a: slope(share * x, a)))
overload(mixed_bend, jit_options=_SMALL)(_own_or("mixed_bend", lambda x, share, top, a: share * bend(share * x, a)))


@overload(to_power, jit_options=_SMALL, prefer_literal=True)
def _compile_to_power(u, power, less):
    if isinstance(power, types.BaseTuple):
        exponent = power.count - less.literal_value
        return lambda u, power, less: u**exponent
    if isinstance(power, types.Integer):
        return _product
    return lambda u, power, less: u ** (power - less)


@njit(forceinline=True, **_SMALL)
def _factor(u, bit):
    """Return u if bit is 1 and 1 if it is 0, without a choice: loops over it vectorise."""
    return bit * u + (1.0 - bit)


def _product(u, power, less):
    n = max(power - less, 0)
    u2 = u * u
    u4 = u2 * u2
    u8 = u4 * u4
    low = _factor(u, float(n & 1)) * _factor(u2, float(n >> 1 & 1))
    high = _factor(u4, float(n >> 2 & 1)) * _factor(u8, float(n >> 3 & 1)) * _factor(u8 * u8, float(n >> 4 & 1))
    some = float(min(n, 1))
    return some * (low * high) + (1.0 - some) * (1.0 if u > 0.0 else 0.0)
