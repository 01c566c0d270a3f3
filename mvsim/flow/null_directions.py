"""Directions in which no force acts on a neuron, however its correlations change along them; rounding would hide them.

The force on a neuron is a combination of the patterns of its input on which it is active. Where these are fewer than the features in them, its
correlations can change along some n on which no force depends: H n = 0, and the force along n is 0. Along n, P = 1 + gamma H is 1. In double
precision that 1 is lost once a step takes 10^16 times as long as the coordinates in n take to relax: n^T P n is what is left of entries as large as
gamma H that cancel, which is anything up to 10^-16 gamma H, of either sign. With such a P an iteration jumps along n at random, by more than errors
may be, and steps stay short. With the directions treated apart Midpoint Mixup at d = k^20, k = 20 settles (`validation/run.py flow_runs`).

P and the projection Pi = N N^T on these directions commute, and P is 1 on them. With any H' that differs from H along them alone

    P^-1 r = (1 - Pi) (1 + gamma H')^-1 r + Pi r,

and where H' is as stiff along them as beside them nothing cancels; there Pi (1 + gamma H')^-1 r is next to nothing beside Pi r, and is left out. Of
r = force - rest, Pi force is again what is left of terms that cancel: where it is within their rounding it counts as 0.

How far rounding reaches: coordinates of one neuron can relax at rates that differ by many powers of ten, so H is first divided by a scale of each,
D^-1 H D^-1, so that all rows are of size 1. Its columns are those of U S V^T but for some eps of the largest singular value. Singular values below
that count as 0. Of the vectors x to these, each component i is right to

    blur_i = eps sigma_1 (sum_k V_ki^2 / sigma_k^2)^(1/2),        k over the others,

so that a pattern with little weight blurs components at its own features alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mvsim.numerics.indexing import entries, lookup
from mvsim.numerics.norm import largest, length

Preconditioner = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(r, rest) -> P^-1 r, for r = force - rest (s,), or for many, (p, s) each."""

ROUNDING = 1e-14
"""eps, well above the rounding of a sum of few terms. A pattern on which a neuron is active, and that has less than about this part of the weight of
another one on the same features, is not seen; forces on it still are, once those on the other are balanced."""

SWEEPS = 20
"""Times that each row and column of a symmetric matrix is divided by the root of its largest entry, until that is 1 (Ruiz, RAL-TR-2001-034)."""

SOFT = 1e-30
"""Coordinates of a neuron whose scale, squared, is below this part of its largest are left out, such as features on which the neuron is dormant."""

LOST = 1e10
"""gamma times the stiffness beside a direction from which on P is not trusted along it: of the 1 that it should be six digits are left then."""


@dataclass(frozen=True, eq=False)
class NullDirections:
    """Some such directions."""

    basis: np.ndarray  # (s, q) N, a column for each, orthonormal
    stiffness: np.ndarray  # (q,) of each the mean of the squared scales of its coordinates, weighted by its squared components
    error: np.ndarray  # (s, q) how far each component may be off. A force along a direction counts as 0 where it is no more than such errors make.

    @staticmethod
    def of(H: np.ndarray, neuron: np.ndarray) -> NullDirections:
        """Return those of H (s, s) that lie within one neuron, where ``neuron`` (s,) is that of each coordinate."""
        scaled, scale = equilibrated(H)
        parts = [(H[:, :0], scale[:0], H[:, :0])]
        for number in np.unique(neuron):
            own = np.where(neuron == number, scale * scale, 0.0)
            index = np.flatnonzero(own > SOFT * largest(own))
            if len(index):
                own_part = _of_one_neuron(np.take(scaled, index, axis=1), scale[index]).at_places(lookup(index, np.arange(len(H))))
                parts.append((own_part.basis, own_part.stiffness, own_part.error))
        return NullDirections(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)))

    def only(self, chosen: np.ndarray) -> NullDirections:
        """Return those that are chosen (q,)."""
        return NullDirections(*(np.compress(chosen, part, axis=-1) for part in (self.basis, self.stiffness, self.error)))

    def hidden_at(self, gamma: float) -> NullDirections:
        """Return those along which P is lost to rounding."""
        return self.only(gamma * self.stiffness > LOST)

    def at_places(self, place: np.ndarray) -> NullDirections:
        """Return them in other coordinates, of which each stood at a place (a,) among those before; -1 for new ones."""
        return NullDirections(entries(self.basis.T, place).T, self.stiffness, entries(self.error.T, place).T)

    def stiffened(self, H: np.ndarray) -> np.ndarray:
        """Return H' (s, s): H, as stiff along the directions as beside them."""
        return H + (self.basis * self.stiffness) @ self.basis.T

    def inverse(self, solve: Callable[[np.ndarray], np.ndarray]) -> Preconditioner:
        """Return P^-1, made of (1 + gamma H')^-1. It is linear but for forces along the directions, which count as 0 within rounding."""
        N = self.basis

        def inverse(r: np.ndarray, rest: np.ndarray) -> np.ndarray:
            force = r + rest
            pull = force @ N
            pull = np.where(np.abs(pull) > np.abs(force) @ self.error, pull, 0.0)
            return solve(r) + (pull - rest @ N) @ N.T

        return inverse


def equilibrated(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return D^-1 H D^-1 (s, s), of which the largest entry in each row is about 1, and the diagonal of D (s,), 0 for rows of zeros."""
    scale = np.sqrt(np.abs(H).max(axis=1))
    for _ in range(SWEEPS):
        scale = scale * np.sqrt(np.abs(_divided(H, scale)).max(axis=1))
    return _divided(H, scale), scale


def _divided(H: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return H / (scale scale^T), where rows and columns of zeros stay so."""
    by = np.where(scale > 0.0, scale, 1.0)
    return H / (by[:, None] * by[None, :])


def _of_one_neuron(columns: np.ndarray, scale: np.ndarray) -> NullDirections:
    """Return those of one neuron in its own coordinates, by its columns (s, p) of D^-1 H D^-1 and its part of D (p,).

    Where D^-1 H D^-1 x = 0, the direction is D^-1 x. One is left out if D^-1 H D^-1 x is more than rounding once all are orthonormal, as it
    can be where scales differ by more than 1 / eps, or is no number.
    """
    _, sizes, right = np.linalg.svd(columns, full_matrices=False)
    rounding = ROUNDING * largest(sizes)
    rank = int((sizes > rounding).sum())
    null = right[rank:, :].T
    if not null.shape[1]:
        return NullDirections(null, null[0, :], null)
    blur = rounding * np.sqrt(((right[:rank, :] / sizes[:rank, None]) ** 2).sum(axis=0))
    basis = _orthonormal(null / scale[:, None])
    x = basis * scale[:, None]
    size, left = (np.sqrt((v * v).sum(axis=0)) for v in (x, columns @ x))
    return NullDirections(basis, size * size, (blur / scale)[:, None] * size).only(left <= rounding * size)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Return (p, q): an orthonormal basis of what columns (p, q) span, by the method of Gram and Schmidt, each column twice.

    What rounding leaves in a row is small against that row. By reflections (QR) it is small against the largest row alone.
    """
    basis = columns[:, :0]
    for v in columns.T:
        for _ in range(2):
            v = v - basis @ (v @ basis)
            v = v / (length(v) or 1.0)
        basis = np.concatenate([basis, v[:, None]], axis=1)
    return basis
