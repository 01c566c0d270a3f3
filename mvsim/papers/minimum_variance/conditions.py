"""What Definition 2.1 and the proofs ask of a distribution, each with its number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.base.inputs import check_kind
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.hulls import gap_vector, margin_vector
from mvsim.papers.minimum_variance.laws import Atoms

ZERO = 1e-12
"""What is 0 up to round-off, relative to the size of the data."""


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes
    ----------
    says : str
        The condition.
    measured, bound : float
        The number that decides, and what it is compared with.
    holds : bool
        Whether it holds.
    """

    says: str
    measured: float
    bound: float
    holds: bool


def check(distribution: Distribution) -> dict[str, Condition]:
    """Return the conditions of Definition 2.1, and premise (M) of Theorem 3.1, by name.

    (M), which the proof of Theorem 3.1 uses, is y <v, x> > |z| almost surely for the max-margin direction v of X_H through the origin: its margin
    gamma_H is above |z|. The paper asks that the supports of X_H are further apart than those of X_L. This does not imply (M): the hyperplane
    half-way between them may miss the origin.
    """
    check_kind("distribution", distribution, Distribution, "a Distribution")
    d, p = distribution, distribution.prior
    means = {y: np.concatenate([d.L[y].mean(), d.H[y].mean()]) for y in (1, -1)}
    size = max(np.abs(mean).max() for mean in means.values())
    centre = float(np.linalg.norm(p * means[1] + (1.0 - p) * means[-1]))
    variance = float(max(np.trace(d.L[y].covariance()) for y in (1, -1)))
    offset = float(np.linalg.norm(d.L[1].mean() + d.L[-1].mean())) / 2.0
    least = float(min(np.linalg.eigvalsh(d.H[y].covariance())[0] for y in (1, -1)))
    scattered = max(len(law.points) for law in d.H.values() if isinstance(law, Atoms)) if any(isinstance(law, Atoms) for law in d.H.values()) else 1
    gap_L, gap_H = (float(np.linalg.norm(gap_vector(laws))) for laws in (d.L, d.H))
    z, gamma_H = float(np.linalg.norm(d.z)), float(np.linalg.norm(margin_vector(d.H)))
    return {
        "balanced": _condition("P(y = +1) = 1/2", p, 0.5, p == 0.5),
        "mean zero": _condition("|E X| = 0", centre, 0.0, centre <= ZERO * size),
        "constant L": _condition("X_L = y z: |variance of X_L given y| = 0", variance, 0.0, variance <= ZERO * size**2),
        "opposite L": _condition("X_L = y z: |mean of X_L given +1, plus that given -1| / 2 = 0", offset, 0.0, offset <= ZERO * size),
        "H varies": _condition("least eigenvalue of Cov(X_H | y) > 0", least, 0.0, least > ZERO * size**2),
        "convex H": _condition("support of X_H given y is convex (atoms in it, 1 if it is)", scattered, 1.0, scattered == 1),
        "disjoint H": _condition("distance of the hulls of X_H > 0", gap_H, 0.0, gap_H > 0.0),
        "separable H": _condition("dist_H > dist_L", gap_H, gap_L, gap_H > gap_L),
        "M": _condition("(M): margin of X_H through the origin > |z|", gamma_H, z, gamma_H > z),
    }


def _condition(says: str, measured: float, bound: float, holds: bool) -> Condition:
    return Condition(says, float(measured), float(bound), bool(holds))
