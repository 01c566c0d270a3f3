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

How far rounding reaches: coordinates of one neuron can relax at rates that differ by many powers of ten, so H is first divided by a scale of each,
D^-1 H D^-1, so that all rows are of size 1. Entries are right to some eps. Singular values below eps count as 0, and with the least that does not,
sigma, directions are right to about eps / sigma: their blur. Sums along a direction that are less than its blur of their terms count as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mvsim.linalg.namespaces import namespace_of
from mvsim.linalg.primitives import primitives_of
from mvsim.linalg.vectors import integers_like, largest, length, numbers

Preconditioner = Callable[[Any, Any], Any]
"""(r, rest) -> P^-1 r, for r = force - rest (s,), or for many, (p, s) each."""

ROUNDING = 1e-13
"""eps, well above the rounding of a sum of few terms, 10^-15. Patterns on which a neuron is active count where they have more than this part of the
weight of another one on the same features."""

SWEEPS = 20
"""Times that each row and column of a symmetric matrix is divided by the root of its largest entry, until that is 1 (Ruiz, RAL-TR-2001-034)."""

SOFT = 1e-30
"""Coordinates of a neuron whose scale, squared, is below this part of its largest are left out, such as features on which the neuron is dormant."""

LOST = 1e10
"""gamma times the stiffness beside a direction from which on P is not trusted along it: of the 1 that it should be six digits are left then."""


@dataclass(frozen=True, eq=False)
class NullDirections:
    """Some such directions.

    Attributes
    ----------
    basis : array
        (s, q) N, a column for each, orthonormal.
    stiffness : array
        (q,) of each the mean size of the entries of H at its coordinates, weighted by its squared components.
    blur : array
        (q,) of each the part of their terms below which sums along it count as 0.
    """

    basis: Any
    stiffness: Any
    blur: Any

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
        xp, (scaled, scale) = namespace_of(H), equilibrated(H)
        every, parts = integers_like(H.shape[0], H), [(H[:, :0], scale[:0], scale[:0])]
        for one in numbers(xp.unique_values(neuron)):
            own = xp.where(neuron == int(one), scale * scale, xp.zeros_like(scale))
            index = xp.nonzero(own > SOFT * largest(own))[0]
            if index.shape[0]:
                found = _of_one_neuron(xp.take(scaled, index, axis=1), xp.take(scale, index))
                placed = found.at_places(primitives_of(index).lookup(index, every))
                parts.append((placed.basis, placed.stiffness, placed.blur))
        return NullDirections(*(xp.concat(part, axis=-1) for part in zip(*parts, strict=True)))

    def only(self, chosen: Any) -> NullDirections:
        """Return those that are chosen (q,)."""
        xp = namespace_of(chosen)
        which = xp.nonzero(chosen)[0]
        return NullDirections(*(xp.take(part, which, axis=-1) for part in (self.basis, self.stiffness, self.blur)))

    def hidden_at(self, gamma: float) -> NullDirections:
        """Return those along which P is lost to rounding."""
        return self.only(gamma * self.stiffness > LOST)

    def at_places(self, place: Any) -> NullDirections:
        """Return them in other coordinates, of which each stood at a place (a,) among those before; -1 for new ones."""
        xp = namespace_of(self.basis)
        rows = primitives_of(place).entries(xp.matrix_transpose(self.basis), place)
        return NullDirections(xp.matrix_transpose(rows), self.stiffness, self.blur)

    def stiffened(self, H: Any) -> Any:
        """Return H' (s, s): H, as stiff along the directions as beside them."""
        xp = namespace_of(H)
        return H + xp.matmul(self.basis * self.stiffness, xp.matrix_transpose(self.basis))

    def inverse(self, solve: Callable[[Any], Any]) -> Preconditioner:
        """Return P^-1, made of (1 + gamma H')^-1. It is linear but for forces along the directions, which count as 0 within rounding."""
        xp, N = namespace_of(self.basis), self.basis

        def along(coefficients: Any) -> Any:
            return xp.matmul(coefficients, xp.matrix_transpose(N))

        def inverse(r: Any, rest: Any) -> Any:
            x, force = solve(r - along(xp.matmul(r, N))), r + rest
            pull = xp.matmul(force, N)
            pull = xp.where(xp.abs(pull) > self.blur * xp.matmul(xp.abs(force), xp.abs(N)), pull, xp.zeros_like(pull))
            return x + along(pull - xp.matmul(rest, N) - xp.matmul(x, N))

        return inverse


def equilibrated(H: Any) -> tuple[Any, Any]:
    """Return D^-1 H D^-1 (s, s), of which the largest entry in each row is about 1, and the diagonal of D (s,), 0 for rows of zeros."""
    xp = namespace_of(H)
    scale = xp.sqrt(xp.max(xp.abs(H), axis=1))
    for _ in range(SWEEPS):
        scale = scale * xp.sqrt(xp.max(xp.abs(_divided(H, scale)), axis=1))
    return _divided(H, scale), scale


def _divided(H: Any, scale: Any) -> Any:
    """Return H / (scale scale^T), where rows and columns of zeros stay so."""
    xp = namespace_of(H)
    by = xp.where(scale > 0.0, scale, xp.ones_like(scale))
    return H / (by[:, None] * by[None, :])


def _of_one_neuron(columns: Any, scale: Any) -> NullDirections:
    """Return those of one neuron in its own coordinates, by its columns (s, p) of D^-1 H D^-1 and its part of D (p,).

    Where D^-1 H D^-1 x = 0, the direction is D^-1 x. A direction is left out if its x is no such vector any more once the directions are orthonormal,
    as can be where scales differ by more than 1 / eps.
    """
    xp = namespace_of(columns)
    null, blur = _null_vectors(columns)
    basis = _orthonormal(null / scale[:, None])
    x = basis * scale[:, None]
    sizes, left = (xp.max(xp.abs(v), axis=0) for v in (x, xp.matmul(columns, x)))
    found = NullDirections(basis, xp.matmul(scale * scale, basis * basis), xp.full_like(sizes, blur))
    return found.only(left <= blur * sizes)


def _null_vectors(columns: Any) -> tuple[Any, float]:
    """Return (p, q) and their blur: an orthonormal basis of the x (p,) for which columns (s, p) x is 0, without entries below the blur."""
    xp = namespace_of(columns)
    _, sizes, right = xp.linalg.svd(columns, full_matrices=False)
    kept = [size for size in numbers(sizes) if not size <= ROUNDING]  # NaN, of a device that does not raise, is kept: then there is no direction
    null, blur = xp.matrix_transpose(right[len(kept) :, :]), ROUNDING / min(kept)
    return xp.where(xp.abs(null) > blur, null, xp.zeros_like(null)), blur


def _orthonormal(columns: Any) -> Any:
    """Return (p, q): an orthonormal basis of what columns (p, q) span, by the method of Gram and Schmidt, each column twice.

    What rounding leaves in a row is small against that row. By reflections (QR) it is small against the largest row alone.
    """
    xp, basis = namespace_of(columns), columns[:, :0]
    for j in range(columns.shape[1]):
        v = columns[:, j]
        for _ in range(2):
            v = v - xp.matmul(basis, xp.matmul(v, basis))
            v = v / (length(v) or 1.0)
        basis = xp.concat([basis, v[:, None]], axis=1)
    return basis
