"""Signal-on-noise tables by moments, for whole powers alpha: matrix products in the place of most activations.

In units of rho let A[y, r, s, l] = lam c / rho and B[y, r, h] = mu n / rho, so that z / rho = beta A + B. Over all beta of a feature and all patterns
a neuron is dead, linear, polynomial or other on a feature, as in `mvsim.multi_view.kernels.shared_noise.loops.moments`. So

    U[y, s, h, a] = sum_{l, q} M_q[y, s, l, h] sum_p beta[s, l, p, a]^q + the others
    M_q[y, s, l, h] = (rho/alpha) binom(alpha, q) sum_r A^q B^(alpha - q)           over polynomial neurons: one matrix product for each q
                      + rho sum_r (B - 1 + 1/alpha) for q = 0, + rho sum_r A for q = 1      over linear ones

and the adjoint: with E_q = dM_q = sum_a D[y, s, h, a] sum_p beta^q, each factor of each product gets its derivative by a product.

The others are gathered: of each feature the neurons that are other come first, in their order, as many places as the feature with most of them needs.
Their adjoint goes back to neurons by products with the matrix that says which neuron is in which place. As many classes are done at once as fit into
a piece: a GPU takes about as long for a small call as for a larger one.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

from mvsim.multi_view.activations import Elementwise
from mvsim.multi_view.kernels.array.by_class import ByClass
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.array.neuron_tables import DirectTable
from mvsim.multi_view.kernels.limits import kappa

_AT_ONCE = 4
"""Arrays of the size of a piece that are there at once while neurons are evaluated one by one."""


class _Regimes(NamedTuple):
    """Which neurons are in which regime on which feature, (k, F, m) bool each."""

    polynomial: Any
    linear: Any
    other: Any


class _Others(NamedTuple):
    """The neurons of some classes y that are evaluated one by one."""

    neuron: Any  # (y, F, w) indices
    real: Any  # (y, F, w) doubles, 1 where the place is taken, else 0
    # c, n: (y, F, w) correlation with the feature and (y, F, w, G) pre-activations of patterns
    c: Any
    n: Any


class MomentTable(DirectTable):
    """The table for one weight of the signal; Hessian-vector products are those of `DirectTable`."""

    def __init__(self, device: Device, points: ByClass, lam: float, activation: Elementwise, scale: float, order: int) -> None:
        super().__init__(device, points, lam, activation)
        self._scale, self._order = scale, order
        self._kappa = kappa(order)
        xp = device.xp
        self._seen = device.put((points.low <= points.high).reshape(-1, 1))
        low, high = points.low.copy(), points.high.copy()
        low[points.low > points.high], high[points.low > points.high] = 0.0, 0.0
        self._low, self._high = device.put(low.reshape(-1, 1)), device.put(high.reshape(-1, 1))
        # (s, l q, a): sum_p beta^q; places that are not taken have beta^0 = 1 as well, and are dropped on the way to slots.
        powers = [xp.ones_like(points.signal)]
        for _ in range(order):
            powers.append(powers[-1] * points.signal)
        sums = xp.stack([xp.sum(power, axis=2) for power in powers], axis=2)
        self._powers = xp.reshape(sums, (points.classes, points.views * (order + 1), points.places))

    def values(self, columns: Any) -> Any:
        xp = self._device.xp
        A, B = self._factors(columns)
        regimes = self._regimes(A, B)
        M = self._moments(A, B, regimes)
        table = xp.matmul(M, self._powers[None, ...])
        width = self._width(regimes)
        if width:
            table = table + xp.concat([self._of_others(self._others(columns, regimes, y, width)) for y in self._pieces(B, width)], axis=0)
        return self._points.in_slots(table)

    def pull_back(self, columns: Any, D: Any) -> Any:
        xp, at = self._device.xp, self._points.in_classes(D)
        A, B = self._factors(columns)
        regimes = self._regimes(A, B)
        E = xp.matmul(at, xp.matrix_transpose(self._powers)[None, ...])
        dc, dn = self._pulled_back_through_moments(A, B, regimes, E)
        width = self._width(regimes)
        if width:
            parts = [self._pulled_back_from_others(self._others(columns, regimes, y, width), at[y, ...], B.shape[1]) for y in self._pieces(B, width)]
            dc, dn = dc + xp.concat([c for c, _ in parts], axis=0), dn + xp.concat([n for _, n in parts], axis=0)
        return xp.concat([xp.matrix_transpose(dc), dn], axis=2)

    def _factors(self, columns: Any) -> tuple[Any, Any]:
        """Return A (k, F, m) and B (k, m, G)."""
        F = self._points.classes * self._points.views
        c, n = self._device.xp.matrix_transpose(columns[:, :, :F]), columns[:, :, F:]
        return (self._lam / self._scale) * c, (self._mu / self._scale) * n

    def _regimes(self, A: Any, B: Any) -> _Regimes:
        """Compare with the rules; what compares with nothing, as NaN, is among the others."""
        xp = self._device.xp
        least, most = xp.min(B, axis=2)[:, None, :], xp.max(B, axis=2)[:, None, :]
        at_low, at_high = self._low * A, self._high * A
        first, last = xp.minimum(at_low, at_high), xp.maximum(at_low, at_high)
        tame = xp.where(first >= 0.0, -least <= self._kappa * first, -first <= self._kappa * least)
        dead, linear = last + most <= 0.0, first + least >= 1.0
        polynomial = tame & (last + most <= 1.0) & ~dead & ~linear
        return _Regimes(polynomial & self._seen, linear & ~dead & self._seen, ~(dead | linear | polynomial) & self._seen)

    def _width(self, regimes: _Regimes) -> int:
        """Return how many neurons are other on the feature with most of them."""
        xp = self._device.xp
        return int(xp.max(xp.sum(xp.astype(regimes.other, xp.int64), axis=2)))

    def _moments(self, A: Any, B: Any, regimes: _Regimes) -> Any:
        """Return (k, s, G, l q): M."""
        xp, order, p = self._device.xp, self._order, self._points
        k = A.shape[0]
        powers_A, powers_B = self._powers_of(A, regimes.polynomial), self._powers_of(B)
        M = [(self._scale / order * comb(order, q)) * xp.matmul(powers_A[q], powers_B[order - q]) for q in range(order + 1)]
        linear = xp.astype(regimes.linear, xp.float64)
        M[0] = M[0] + self._scale * (xp.matmul(linear, B) - (1.0 - 1.0 / order) * xp.sum(linear, axis=2)[:, :, None])
        M[1] = M[1] + self._scale * xp.sum(xp.where(regimes.linear, A, xp.zeros_like(A)), axis=2)[:, :, None]
        stacked = xp.reshape(xp.stack(M, axis=3), (k, p.classes, p.views, B.shape[2], order + 1))
        return xp.reshape(xp.permute_dims(stacked, (0, 1, 3, 2, 4)), (k, p.classes, B.shape[2], p.views * (order + 1)))

    def _pulled_back_through_moments(self, A: Any, B: Any, regimes: _Regimes, E: Any) -> tuple[Any, Any]:
        """Return (k, F, m) and (k, m, G): derivatives by correlations and patterns, for E (k, s, G, l q)."""
        xp, order, p = self._device.xp, self._order, self._points
        (k, F), G = A.shape[:2], B.shape[2]
        E = xp.permute_dims(xp.reshape(E, (k, p.classes, G, p.views, order + 1)), (4, 0, 1, 3, 2))
        E = xp.reshape(E, (order + 1, k, F, G))
        powers_A, powers_B = self._powers_of(A, regimes.polynomial), self._powers_of(B)
        by_A, by_B = xp.zeros_like(A), xp.zeros_like(B)
        for q in range(order + 1):
            weighted = comb(order, q) / order * E[q, ...]
            if q > 0:
                by_A = by_A + q * powers_A[q - 1] * xp.matmul(weighted, xp.matrix_transpose(powers_B[order - q]))
            if q < order:
                by_B = by_B + (order - q) * powers_B[order - q - 1] * xp.matmul(xp.matrix_transpose(powers_A[q]), weighted)
        linear = xp.astype(regimes.linear, xp.float64)
        by_A = by_A + linear * xp.sum(E[1, ...], axis=2)[:, :, None]
        by_B = by_B + xp.matmul(xp.matrix_transpose(linear), E[0, ...])
        return self._lam * by_A, self._mu * by_B

    def _powers_of(self, base: Any, where: Any = None) -> list[Any]:
        """Return base^0 .. base^alpha, 0 where a condition is given and does not hold.

        Of the other factor, which has no condition, only what is at most 1 / (1 - kappa) is used: where A is negative, 0 <= -beta A <= kappa B and
        beta A + B <= 1. Larger ones belong to neurons that are nowhere polynomial, and are cut so that their powers are finite.
        """
        xp, most = self._device.xp, 1.0 / (1.0 - self._kappa)
        base = xp.minimum(xp.maximum(base, -most), most) if where is None else xp.where(where, base, xp.zeros_like(base))
        powers = [xp.ones_like(base) if where is None else xp.astype(where, xp.float64)]
        for _ in range(self._order):
            powers.append(powers[-1] * base)
        return powers

    def _pieces(self, B: Any, width: int) -> list[slice]:
        """Return slices of classes, where so many neurons of each are other on a feature."""
        p, (k, _, G) = self._points, B.shape
        return self._device.pieces(k, _AT_ONCE * width * p.classes * p.views * p.patches * p.places * G)

    def _others(self, columns: Any, regimes: _Regimes, y: slice, width: int) -> _Others:
        """Gather the neurons of some classes that are evaluated one by one."""
        xp, F = self._device.xp, self._points.classes * self._points.views
        other = xp.astype(regimes.other[y, :, :], xp.int64)
        neuron = xp.argsort(-other, axis=2, stable=True)[:, :, :width]
        real = xp.take_along_axis(other, neuron, axis=2)
        c = xp.take_along_axis(xp.matrix_transpose(columns[y, :, :F]), neuron, axis=2)
        patterns = columns[y, :, F:]
        classes, m, G = patterns.shape
        of_class = m * xp.arange(classes, device=self._device.place)[:, None, None]
        n = self._device.take(xp.reshape(patterns, (classes * m, G)), neuron + of_class, 0)
        return _Others(neuron, xp.astype(real, xp.float64), c, n)

    def _read_others(self, others: _Others) -> Any:
        """Return (y, w, s, l, p, h, a): z."""
        xp, p = self._device.xp, self._points
        classes, _, width, G = others.n.shape
        c = xp.reshape(xp.matrix_transpose(others.c), (classes, width, p.classes, p.views, 1, 1, 1))
        n = xp.reshape(xp.permute_dims(others.n, (0, 2, 1, 3)), (classes, width, p.classes, p.views, 1, G, 1))
        return (self._lam * self._beta) * c + self._mu * n

    def _real(self, others: _Others) -> Any:
        """Return (y, w, s, l, 1, 1, 1): 1 where a place is taken, else 0."""
        xp, p, (classes, _, width) = self._device.xp, self._points, others.real.shape
        return xp.reshape(xp.matrix_transpose(others.real), (classes, width, p.classes, p.views, 1, 1, 1))

    def _of_others(self, others: _Others) -> Any:
        """Return (y, s, h, a): what they contribute to the table."""
        xp, real = self._device.xp, self._real(others)
        R = self._activation.value(self._read_others(others))
        return xp.sum(xp.where(real > 0.0, R, xp.zeros_like(R)), axis=(1, 3, 4))

    def _pulled_back_from_others(self, others: _Others, D: Any, m: int) -> tuple[Any, Any]:
        """Return (y, F, m) and (y, m, G): their derivatives by correlations and patterns, for D (y, s, h, a)."""
        xp, (classes, F, width) = self._device.xp, others.neuron.shape
        w = self._activation.slope(self._read_others(others)) * D[:, None, :, None, None, :, :] * self._real(others)
        c = self._lam * xp.reshape(xp.sum(w * self._beta, axis=(4, 5, 6)), (classes, width, F, 1))
        n = self._mu * xp.reshape(xp.sum(w, axis=(4, 6)), (classes, width * F, -1))
        neurons = xp.arange(m, device=self._device.place)
        stands = xp.astype(xp.matrix_transpose(others.neuron)[..., None] == neurons, xp.float64)  # (y, w, F, m)
        dn = xp.matmul(xp.matrix_transpose(xp.reshape(stands, (classes, width * F, m))), n)
        return xp.sum(stands * c, axis=1), dn
