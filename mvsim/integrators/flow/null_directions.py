"""Directions in which no force acts on a neuron, however its correlations change along them; rounding would hide them.

The force on a neuron is a combination of the patterns of its input on which it is active. Where these are fewer than the features in them, its
correlations can change along some n on which no force depends: H n = 0, and the force along n is 0. Along n, P = 1 + gamma H is 1. In double
precision that 1 is lost once a step takes 10^16 times as long as the coordinates in n take to relax: n^T P n is what is left of entries as large as
gamma H that cancel, which is anything up to 10^-16 gamma H, of either sign. With such a P an iteration jumps along n at random, by more than errors
may be, and steps stay short. Midpoint Mixup at d = k^20, k = 20 had not settled after 1.2 million gradients; with the directions treated apart it
settles after 426,000.

P and the projection Pi = N N^T on these directions commute, and P is 1 on them. With any H' that differs from H along them alone

    P^-1 r = (1 - Pi) (1 + gamma H')^-1 (1 - Pi) r + Pi r,

and where H' is as stiff along them as beside them nothing cancels. Of r = force - rest, Pi force is again what is left of terms that cancel: where it
is within their rounding it counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mvsim.linalg.namespaces import namespace_of
from mvsim.linalg.primitives import primitives_of
from mvsim.linalg.vectors import flat, largest, like, numbers

Preconditioner = Callable[[Any, Any], Any]
"""(r, rest) -> P^-1 r, for r = force - rest (s,), or for many, (p, s) each."""

ROUNDING = 1e-10
"""Part of its terms below which what is left of a sum counts as 0, well above the rounding of the terms, 10^-15. A pattern on which a neuron is
active, and that has less than this part of the weight of another one on the same features, is taken for rounding; so is its force where forces on the
other are not yet balanced."""

SWEEPS = 20
"""Times that each row and column of a symmetric matrix is divided by the root of its largest entry, until that is 1 (Ruiz, RAL-TR-2001-034)."""

SOFT = 1e-30
"""Coordinates with entries below this part of the largest are left out, such as those of features on which the neuron is dormant."""

LOST = 1e10
"""gamma times the stiffness beside a direction from which on P is not trusted along it: of the 1 that it should be six digits are left then."""


@dataclass(frozen=True, eq=False)
class NullDirections:
    """Some such directions.

    Attributes
    ----------
    basis : array
        (s, q) N, a column for each, orthonormal.
    stiffness : tuple of float
        (q,) of each the mean size of the entries of H at its coordinates, weighted by its squared components.
    """

    basis: Any
    stiffness: tuple[float, ...]

    @staticmethod
    def of(H: Any, neuron: Any) -> NullDirections:
        """Return those that lie within one neuron; others, of several neurons together, are not looked for.

        Parameters
        ----------
        H : array
            (s, s) symmetric.
        neuron : array
            (s,) integers: the neuron of each coordinate.
        """
        xp, scale = namespace_of(H), equilibrating(H)
        used = xp.where(scale > 0.0, scale, xp.ones_like(scale))
        scaled, stiff = H / (used[:, None] * used[None, :]), scale * scale > SOFT * largest(flat(H))
        columns, stiffness = [H[:, :0]], list[float]()
        for one in numbers(xp.unique_values(neuron)):
            at = xp.nonzero(stiff & (neuron == int(one)))[0]
            null = _null_vectors(xp.take(scaled, at, axis=1)) / xp.take(scale, at)[:, None]
            if null.shape[1]:
                orthonormal = xp.linalg.qr(null)[0]
                rows = xp.zeros_like(H[: null.shape[1], :])
                columns.append(xp.matrix_transpose(primitives_of(at).places(at).written(rows, xp.matrix_transpose(orthonormal))))
                stiffness += numbers(xp.matmul(xp.take(scale, at) ** 2, orthonormal**2))
        return NullDirections(xp.concat(columns, axis=1), tuple(stiffness))

    def hidden_at(self, gamma: float) -> NullDirections:
        """Return those along which P is lost to rounding."""
        hidden = [j for j, stiffness in enumerate(self.stiffness) if gamma * stiffness > LOST]
        columns = [self.basis[:, j : j + 1] for j in hidden]
        basis = namespace_of(self.basis).concat([self.basis[:, :0], *columns], axis=1)
        return NullDirections(basis, tuple(self.stiffness[j] for j in hidden))

    def moved(self, place: Any) -> NullDirections:
        """Return them in other coordinates, of which each stood at a place (a,) among those before; -1 for new ones."""
        xp = namespace_of(self.basis)
        rows = primitives_of(place).entries(xp.matrix_transpose(self.basis), place)
        return NullDirections(xp.matrix_transpose(rows), self.stiffness)

    def stiffened(self, H: Any) -> Any:
        """Return H' (s, s): H, as stiff along the directions as beside them."""
        xp = namespace_of(H)
        return H + xp.matmul(self.basis * like(self.stiffness, H), xp.matrix_transpose(self.basis))

    def inverse(self, solve: Callable[[Any], Any]) -> Preconditioner:
        """Return P^-1, made of (1 + gamma H')^-1. It is linear but for forces along the directions, which count as 0 within rounding."""
        xp, N = namespace_of(self.basis), self.basis

        def along(coefficients: Any) -> Any:
            return xp.matmul(coefficients, xp.matrix_transpose(N))

        def inverse(r: Any, rest: Any) -> Any:
            x, force = solve(r - along(xp.matmul(r, N))), r + rest
            pull = xp.matmul(force, N)
            pull = xp.where(xp.abs(pull) > ROUNDING * xp.matmul(xp.abs(force), xp.abs(N)), pull, xp.zeros_like(pull))
            return x + along(pull - xp.matmul(rest, N) - xp.matmul(x, N))

        return inverse


def equilibrating(H: Any) -> Any:
    """Return (s,): d such that the largest entry of H / (d d^T) in each row is about 1; 0 for rows of zeros."""
    xp, entries = namespace_of(H), abs(H)
    scale = xp.sqrt(xp.max(entries, axis=1))
    there = scale > 0.0
    for _ in range(SWEEPS):
        used = xp.where(there, scale, xp.ones_like(scale))
        scale = scale * xp.sqrt(xp.max(entries / (used[:, None] * used[None, :]), axis=1))
    return scale


def _null_vectors(columns: Any) -> Any:
    """Return (p, q): an orthonormal basis of the x (p,) for which columns (s, p) x is 0, without what rounding has put into it."""
    xp = namespace_of(columns)
    if not columns.shape[1]:
        return columns[:0, :]
    _, sizes, right = xp.linalg.svd(columns, full_matrices=False)
    null = xp.matrix_transpose(right[sum(size > ROUNDING for size in numbers(sizes)) :, :])
    return xp.where(xp.abs(null) > ROUNDING, null, xp.zeros_like(null))
