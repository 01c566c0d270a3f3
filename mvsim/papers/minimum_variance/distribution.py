"""Data with a block of coordinates of low variance and one of high variance: Definition 2.1 without its premises, and Definition 4.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_between, check_integer, check_kind
from mvsim.papers.minimum_variance.hulls import TOUCHING, gap_vector
from mvsim.papers.minimum_variance.laws import Atoms, Law, Product, Uniform

MOST_NODES = 4_000_000
"""Points of a quadrature over all coordinates; more would fill the memory."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """A law of (X, y) with X = (X_L, X_H), where X_L and X_H are independent given y = +1 or -1.

    Parameters
    ----------
    L, H : dict
        The law of X_L and of X_H for each class: ``{+1: law, -1: law}`` with `Atoms` or `Product`.
    prior : float
        P(y = +1), strictly between 0 and 1.

    Raises
    ------
    UsageError
        If a class is missing, the two laws of a block differ in dimension, the class means of X_L coincide (z = 0), or the convex hulls of the
        supports of X_H meet.

    Notes
    -----
    Theorems of the paper need more: see `check`.
    """

    L: Mapping[int, Law]
    H: Mapping[int, Law]
    prior: float = 0.5

    def __post_init__(self) -> None:
        if check_between("prior", self.prior, 0.0, 1.0) == 1.0:
            raise UsageError("prior=1: must be the probability of class +1, strictly between 0 and 1")
        for name, laws in (("L", self.L), ("H", self.H)):
            if not isinstance(laws, Mapping) or set(laws) != {1, -1}:
                raise UsageError(f"{name}={echo(laws)}: must be {{+1: law, -1: law}}, one law for each class")
            for y in (1, -1):
                check_kind(f"{name}[{y:+d}]", laws[y], (Atoms, Product), "Atoms(points, weights) or Product([Uniform(a, b), ...])")
            if laws[1].dimension != laws[-1].dimension:
                raise UsageError(f"{name}: has {laws[1].dimension} coordinates in class +1 and {laws[-1].dimension} in class -1; must be as many")
            object.__setattr__(self, name, {1: laws[1], -1: laws[-1]})
        means = [self.L[y].mean() for y in (1, -1)]
        if np.abs(means[0] - means[1]).max() <= TOUCHING * np.abs(means).max():
            raise UsageError("L: both classes have the same mean, so z = 0; X_L must tell the classes apart")
        if not gap_vector(self.H).any():
            raise UsageError("H: the convex hulls of the two supports overlap or touch; they must be disjoint")

    @property
    def z(self) -> np.ndarray:
        """Half the difference of the class means of X_L; X_L = y z where Definition 2.1 holds."""
        return (self.L[1].mean() - self.L[-1].mean()) / 2.0

    @cached_property
    def groups(self) -> tuple[list[list[int]], list[list[int]]]:
        """Groups of exchangeable coordinates of X_L, and of X_H.

        A permutation of a group leaves the law of (X, y) as it is. The losses are convex in w and weight decay does not see permutations, so
        the mean of a minimiser over all permutations is a minimiser too: it has equal weights within each group, and where the minimiser is
        unique it has them itself. With weights t in a group of m coordinates, <w, x> = u (sum of the group) / sqrt(m) for u = sqrt(m) t, and
        |u| is the norm of those weights. Each group therefore counts as one coordinate, and independent uniforms as their sum.
        """

        def of(laws: Mapping[int, Law]) -> list[list[int]]:
            found: dict[object, list[int]] = {}
            for j in range(laws[1].dimension):
                found.setdefault((laws[1].column(j), laws[-1].column(j)), []).append(j)
            return list(found.values())

        return of(self.L), of(self.H)

    def nodes(self, count: int, grouped: bool = True, low_only: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points (n, groups), classes (n,) and weights (n,) adding up to 1: a quadrature of ``count`` nodes for each uniform coordinate.

        Without ``grouped`` the points have all coordinates, with ``low_only`` those of X_L alone.
        """
        points, classes, weights = [], [], []
        for y, share in ((1, self.prior), (-1, 1.0 - self.prior)):
            laws = [self.L[y]] if low_only else [self.L[y], self.H[y]]
            if grouped:
                laws = [law.merged(groups) for law, groups in zip(laws, self.groups, strict=False)]
            uniforms = sum(law.dimension for law in laws if isinstance(law, Product))
            if count**uniforms > MOST_NODES:
                raise UsageError(f"distribution: {uniforms} different uniform coordinates need {count}^{uniforms} points; at most {MOST_NODES}")
            own, own_weights = np.zeros((1, 0)), np.array([share])
            for law in laws:
                further, further_weights = law.nodes(count)
                own = np.hstack([np.repeat(own, len(further), axis=0), np.tile(further, (len(own), 1))])
                own_weights = np.outer(own_weights, further_weights).ravel()
            points.append(own)
            weights.append(own_weights)
            classes.append(np.full(len(own), y))
        return np.vstack(points), np.concatenate(classes), np.concatenate(weights)

    @property
    def is_discrete(self) -> bool:
        """Whether all laws have atoms, so that every quadrature is the sum itself."""
        return all(isinstance(laws[y], Atoms) for laws in (self.L, self.H) for y in (1, -1))

    def weights(self, reduced: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return w_L and w_H of a vector with one entry for each group."""
        low, high = self.groups
        blocks = []
        for groups, values in ((low, reduced[: len(low)]), (high, reduced[len(low) :])):
            w = np.empty(sum(map(len, groups)))
            for group, value in zip(groups, values, strict=True):
                w[group] = value / np.sqrt(len(group))
            blocks.append(w)
        return blocks[0], blocks[1]

    def sample(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw points (size, coordinates), those of X_L first, and classes +-1 (size,)."""
        y = np.where(rng.random(size) < self.prior, 1, -1)
        x = np.empty((size, self.L[1].dimension + self.H[1].dimension))
        for label in (1, -1):
            rows = np.flatnonzero(y == label)
            x[rows] = np.hstack([self.L[label].sample(rng, len(rows)), self.H[label].sample(rng, len(rows))])
        return x, y


def definition_4_1(gamma: float, a: float, b: float, dimensions: tuple[int, int] = (5, 5), noise: float = 0.0) -> Distribution:
    """Return Definition 4.1: X_L = y (gamma, ..., gamma), and y X_H has independent coordinates from U[a, b].

    Parameters
    ----------
    gamma : float
        Size of the coordinates of X_L, > 0.
    a, b : float
        0 <= a < b: ends of the uniform law.
    dimensions : tuple of int
        Numbers of coordinates of X_L and X_H.
    noise : float
        Figure 6: every coordinate of X_L gets independent noise from U[-noise, noise], whatever the class.

    Returns
    -------
    Distribution
        With balanced classes.
    """
    gamma = check_between("gamma", gamma, 0.0, 1e100)
    if not 0.0 <= a < b:
        raise UsageError(f"a={echo(a)}, b={echo(b)}: must be 0 <= a < b, or the supports of the classes overlap")
    low, high = (check_integer(f"dimensions[{i}]", n, 1) for i, n in enumerate(dimensions))
    if noise:
        check_between("noise", noise, 0.0, 1e100)
        low_laws: dict[int, Law] = {y: Product([Uniform(y * gamma - noise, y * gamma + noise)] * low) for y in (1, -1)}
    else:
        low_laws = {y: Atoms(np.full((1, low), y * gamma)) for y in (1, -1)}
    return Distribution(L=low_laws, H={1: Product([Uniform(a, b)] * high), -1: Product([Uniform(-b, -a)] * high)})
