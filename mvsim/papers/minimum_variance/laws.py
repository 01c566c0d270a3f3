"""Laws of one block of coordinates given the class: atoms, or a product of one-dimensional uniform laws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer, check_kind, real_array


@dataclass(frozen=True, eq=False)
class Atoms:
    """Finitely many points with their probabilities.

    Parameters
    ----------
    points : array_like
        (n, dimension), or (n,) for one coordinate.
    weights : array_like, optional
        (n,), not negative, adding up to 1; all equal by default.

    Raises
    ------
    UsageError
        If there are no points, numbers are not finite, or the weights are no probabilities.
    """

    points: np.ndarray
    weights: np.ndarray

    def __init__(self, points: ArrayLike, weights: ArrayLike | None = None) -> None:
        points = real_array("points", points)
        points = points.reshape(-1, 1) if points.ndim < 2 else points
        if points.ndim > 2 or points.size == 0:
            raise UsageError(f"points: has shape {points.shape}; give one atom or more, as an array of shape (atoms, coordinates)")
        if not np.isfinite(points).all():
            raise UsageError(f"points={echo(points[~np.isfinite(points)][0])}: every coordinate of an atom must be finite")
        weights = np.full(len(points), 1.0 / len(points)) if weights is None else np.atleast_1d(real_array("weights", weights))
        if weights.shape != (len(points),):
            raise UsageError(f"weights: has shape {weights.shape}; give one weight for each of the {len(points)} atoms, shape ({len(points)},)")
        if not (np.isfinite(weights).all() and (weights >= 0.0).all() and math.isclose(weights.sum(), 1.0, abs_tol=1e-9)):
            raise UsageError(f"weights: add up to {weights.sum():.12g}, the least is {weights.min():.6g}; must be >= 0 and add up to 1")
        object.__setattr__(self, "points", points[weights > 0.0])
        object.__setattr__(self, "weights", weights[weights > 0.0] / weights.sum())

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.points.shape[1]

    def mean(self) -> np.ndarray:
        """Return the mean, (dimension,)."""
        return self.weights @ self.points

    def covariance(self) -> np.ndarray:
        """Return the covariance, (dimension, dimension)."""
        centred = self.points - self.mean()
        return (centred.T * self.weights) @ centred

    def nodes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (n, dimension) and weights (n,), whatever the ``count``."""
        return self.points, self.weights

    def lowest(self, direction: np.ndarray) -> np.ndarray:
        """Return a point of the support with the least product with ``direction``."""
        return self.points[np.argmin(self.points @ direction)]

    def column(self, j: int) -> Hashable:
        """Return what two coordinates share if and only if exchanging them leaves the law as it is."""
        return self.points[:, j].tobytes()

    def merged(self, groups: Sequence[Sequence[int]]) -> Atoms:
        """Return the law of (sum of the coordinates of g) / sqrt(number of them) over ``groups`` g of exchangeable coordinates."""
        return Atoms(np.stack([math.sqrt(len(group)) * self.points[:, group[0]] for group in groups], axis=1), self.weights)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` points, (size, dimension)."""
        return self.points[rng.choice(len(self.points), size=size, p=self.weights)]


@dataclass(frozen=True)
class Uniform:
    """U[a, b]; with ``terms`` = m the law of (U_1 + ... + U_m) / sqrt(m) of independent U_i ~ U[a, b].

    The density of a sum of m uniforms is a polynomial of degree m - 1 on each of m intervals (Irwin and Hall). Quadrature therefore goes
    interval by interval and is exact for polynomials of a degree that grows with the number of nodes.

    Raises
    ------
    UsageError
        Unless a < b are finite numbers.
    """

    a: float
    b: float
    terms: int = 1

    def __post_init__(self) -> None:
        check_integer("terms", self.terms, 1, most=1000)
        ends = real_array("Uniform(a, b)", [self.a, self.b])
        if not (np.isfinite(ends).all() and ends[0] < ends[1]):
            raise UsageError(f"Uniform(a={echo(self.a)}, b={echo(self.b)}): a < b must be finite numbers; a constant is an atom")

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the support."""
        return math.sqrt(self.terms) * self.a, math.sqrt(self.terms) * self.b

    @property
    def mean(self) -> float:
        """Mean."""
        return math.sqrt(self.terms) * (self.a + self.b) / 2.0

    @property
    def variance(self) -> float:
        """Variance, that of one term."""
        return (self.b - self.a) ** 2 / 12.0

    def nodes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return at least ``count`` Gauss-Legendre nodes, and weights that add up to 1."""
        from scipy.interpolate import BSpline

        x, weights = np.polynomial.legendre.leggauss(max(count // self.terms, self.terms // 2 + 4) if self.terms > 1 else count)
        sums = (np.arange(self.terms)[:, None] + (x + 1.0) / 2.0).ravel()
        density = np.ones_like(sums) if self.terms == 1 else BSpline.basis_element(np.arange(self.terms + 1), extrapolate=False)(sums)
        weights = np.tile(weights / 2.0, self.terms) * density
        return (self.terms * self.a + (self.b - self.a) * sums) / math.sqrt(self.terms), weights / weights.sum()


@dataclass(frozen=True)
class Product:
    """Independent coordinates, each with its `Uniform` law."""

    laws: Sequence[Uniform]

    def __post_init__(self) -> None:
        if not isinstance(self.laws, Sequence) or not self.laws:
            raise UsageError(f"laws={echo(self.laws)}: must be a list of one-dimensional laws, e.g. [Uniform(1.0, 3.0)]")
        for j, law in enumerate(self.laws):
            check_kind(f"laws[{j}]", law, Uniform, "a Uniform(a, b)")
        object.__setattr__(self, "laws", tuple(self.laws))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.laws)

    def mean(self) -> np.ndarray:
        """Return the mean, (dimension,)."""
        return np.array([law.mean for law in self.laws])

    def covariance(self) -> np.ndarray:
        """Return the covariance, (dimension, dimension)."""
        return np.diag([law.variance for law in self.laws])

    def nodes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points (n, dimension) and weights (n,) of a Gauss quadrature of ``count`` nodes a coordinate."""
        each = [law.nodes(count) for law in self.laws]
        points = np.stack([grid.ravel() for grid in np.meshgrid(*(x for x, _ in each), indexing="ij")], axis=1)
        weights = np.ones(1)
        for _, own in each:
            weights = np.multiply.outer(weights, own).ravel()
        return points, weights

    def lowest(self, direction: np.ndarray) -> np.ndarray:
        """Return a point of the support with the least product with ``direction``."""
        ends = np.array([law.ends for law in self.laws])
        return np.where(direction >= 0.0, ends[:, 0], ends[:, 1])

    def column(self, j: int) -> Hashable:
        """Return what two coordinates share if and only if exchanging them leaves the law as it is."""
        return self.laws[j]

    def merged(self, groups: Sequence[Sequence[int]]) -> Product:
        """Return the law of (sum of the coordinates of g) / sqrt(number of them) over ``groups`` g of exchangeable coordinates."""
        return Product([Uniform(self.laws[g[0]].a, self.laws[g[0]].b, self.laws[g[0]].terms * len(g)) for g in groups])

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw ``size`` points, (size, dimension)."""
        return np.stack([sum(rng.uniform(law.a, law.b, size) for _ in range(law.terms)) / math.sqrt(law.terms) for law in self.laws], axis=1)


Law = Atoms | Product
