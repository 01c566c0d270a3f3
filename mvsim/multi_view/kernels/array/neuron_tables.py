"""Signal-on-noise tables, neuron by neuron: for any activation.

With lam the weight of the signal, mu = 1 - lam, beta[s, l, p, a] the signal (`by_class`), c[y, r, s, l] a correlation and n[y, r, h] what the neuron
reads in pattern h,

    U[y, s, h, a]   = sum_{l, p} sum_r R(z),        z = lam beta[s, l, p, a] c[y, r, s, l] + mu n[y, r, h]
    dU              = sum_{l, p} sum_r R'(z) dz
    adjoint at D    : dc[y, r, s, l] = lam sum_{p, h, a} D[y, s, h, a] R'(z) beta[s, l, p, a]
                      dn[y, r, h]    = mu sum_{s, l, p, a} D[y, s, h, a] R'(z)

and the derivative of the adjoint has dD R'(z) + D R''(z) dz in the place of D R'(z).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mvsim.multi_view.activations import Elementwise
from mvsim.multi_view.kernels.array.by_class import ByClass
from mvsim.multi_view.kernels.array.device import Device


class DirectTable:
    """The table for one weight of the signal, with its derivatives. Columns are (k, m, F + G): correlations, then pre-activations of patterns."""

    def __init__(self, device: Device, points: ByClass, lam: float, activation: Elementwise) -> None:
        self._device, self._points, self._activation = device, points, activation
        self._lam, self._mu = lam, 1.0 - lam
        self._beta = points.signal[None, :, :, :, None, :]

    def values(self, columns: Any) -> Any:
        """Return (k, G, slots): U."""
        return self._summed(columns, lambda y, r: self._activation.value(self._read(columns[y : y + 1, r, :])))

    def tangents(self, columns: Any, moves: Any) -> Any:
        """Return (k, G, slots): dU where the columns move."""

        def of_neurons(y: int, r: slice) -> Any:
            return self._activation.slope(self._read(columns[y : y + 1, r, :])) * self._read(moves[y : y + 1, r, :])

        return self._summed(columns, of_neurons)

    def pull_back(self, columns: Any, D: Any) -> Any:
        """Return (k, m, F + G): the adjoint at D (k, G, slots)."""
        at = self._points.in_classes(D)
        return self._spread(columns, lambda y, r: self._activation.slope(self._read(columns[y : y + 1, r, :])) * _each(at, y))

    def pull_back_tangent(self, columns: Any, moves: Any, D: Any, dD: Any) -> Any:
        """Return (k, m, F + G): the derivative of `pull_back` along (moves, dD)."""
        at, change = self._points.in_classes(D), self._points.in_classes(dD)

        def by_pre_activation(y: int, r: slice) -> Any:
            z, dz = self._read(columns[y : y + 1, r, :]), self._read(moves[y : y + 1, r, :])
            return self._activation.slope(z) * _each(change, y) + self._activation.bend(z) * dz * _each(at, y)

        return self._spread(columns, by_pre_activation)

    def _read(self, columns: Any) -> Any:
        """Return (r, s, l, p, h, a): z of the neurons of one class, for columns (1, r, F + G)."""
        xp, p = self._device.xp, self._points
        F = p.classes * p.views
        c = xp.reshape(columns[0, :, :F], (columns.shape[1], p.classes, p.views, 1, 1, 1))
        n = columns[0, :, F:][:, None, None, None, :, None]
        return (self._lam * self._beta) * c + self._mu * n

    def _neurons(self, columns: Any) -> Iterator[tuple[int, slice]]:
        """Yield classes, and slices of their neurons."""
        p = self._points
        patterns = columns.shape[2] - p.classes * p.views
        doubles = p.classes * p.views * p.patches * p.places * patterns
        for y in range(columns.shape[0]):
            for r in self._device.pieces(columns.shape[1], doubles):
                yield y, r

    def _summed(self, columns: Any, of_neurons: Callable[[int, slice], Any]) -> Any:
        xp = self._device.xp
        rows: dict[int, Any] = {}
        for y, r in self._neurons(columns):
            part = xp.sum(of_neurons(y, r), axis=(0, 2, 3))
            rows[y] = rows[y] + part if y in rows else part
        return self._points.in_slots(xp.stack(list(rows.values())))

    def _spread(self, columns: Any, by_pre_activation: Callable[[int, slice], Any]) -> Any:
        xp, (k, m, width) = self._device.xp, columns.shape
        parts = []
        for y, r in self._neurons(columns):
            w = by_pre_activation(y, r)
            c = self._lam * xp.sum(w * self._beta, axis=(3, 4, 5))
            n = self._mu * xp.sum(w, axis=(1, 2, 3, 5))
            parts.append(xp.concat([xp.reshape(c, (c.shape[0], -1)), n], axis=1))
        return xp.reshape(xp.concat(parts, axis=0), (k, m, width))


def _each(values: Any, y: int) -> Any:
    """Return (1, s, 1, 1, h, a): values (k, s, h, a) of one class for all neurons, views and patches."""
    return values[y, :, :, :][None, :, None, None, :, :]
