"""Distributions of Definition 2.1, drawn at random: the grid over which statements are judged."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from mvsim.judging.statement import Setting
from mvsim.papers.minimum_variance.conditions import check
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.hulls import margin_vector
from mvsim.papers.minimum_variance.laws import Atoms, Law, Product, Uniform


class Drawn(Setting):
    """How distributions are drawn; a seed gives one."""

    n: int = Field(2, ge=1, le=6, description="Coordinates of X_L, and of X_H.")
    ratio: float = Field(0.9, gt=0.0, le=100.0, description="Largest |z| / gamma_H; (M) holds below 1. Drawn from a tenth of it up to it.")
    values: int = Field(5, ge=1, le=200, description="Strengths of weight decay, label smoothing or Mixup.")


def drawn(setting: Drawn, seed: int, noise: float = 0.0) -> Distribution:
    """Return the distribution of a seed, with E X = 0, balanced classes, and noise of half width ``noise`` |z_j| on each coordinate of X_L.

    Seeds take turns: coordinates of X_H are uniform and mirrored as in Definition 4.1; uniform, and wider in one class; or X_H has atoms. Uniform
    coordinates share one law, so that only their sum counts and quadrature is exact in any number of them; atoms have different coordinates.
    """
    rng, n = np.random.default_rng([seed, setting.n]), setting.n
    high: dict[int, Law]
    if seed % 3 == 2:
        centre = rng.uniform(0.5, 3.0, n)
        atoms = {y: _centred_atoms(rng, n) for y in (1, -1)}
        high = {y: Atoms(y * (centre + x), p) for y, (x, p) in atoms.items()}
    else:
        mean = rng.uniform(0.5, 3.0)
        width = rng.uniform(0.1, 0.9) * mean
        widths = {1: width, -1: width if seed % 3 == 0 else rng.uniform(0.1, 0.9) * mean}
        high = {y: Product([Uniform(y * mean - w, y * mean + w)] * n) for y, w in widths.items()}
    direction = rng.normal(size=n)
    size = setting.ratio * rng.uniform(0.1, 1.0) * np.linalg.norm(margin_vector(high))
    return with_constant(high, size * direction / np.linalg.norm(direction), noise)


def with_constant(high: dict[int, Law], z: np.ndarray, noise: float = 0.0) -> Distribution:
    """Return the distribution with X_L = y z, or with uniform noise on each coordinate, relative to that of z."""
    low: dict[int, Law] = {y: Atoms([y * z]) for y in (1, -1)}
    if noise:
        low = {y: Product([Uniform(y * c - noise * abs(c), y * c + noise * abs(c)) for c in z]) for y in (1, -1)}
    return Distribution(L=low, H=high)


def without_m(setting: Drawn, seed: int) -> str:
    """Return by how much premise (M) is missed, nothing if it is met."""
    m = check(drawn(setting, seed))["M"]
    return "" if m.holds else f"premise missing: (M) gamma_H > |z|, but gamma_H = {m.measured:.4g} and |z| = {m.bound:.4g}"


def beyond_m(setting: Drawn) -> Drawn:
    """Return a setting in which (M) fails: |z| is up to ten times gamma_H."""
    return setting.model_copy(update={"ratio": 10.0})


def _centred_atoms(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n + 3 atoms with mean zero and at most 0.3 from it in each coordinate, and their probabilities."""
    p = rng.dirichlet(np.full(n + 3, 2.0))
    x = rng.uniform(-1.0, 1.0, (n + 3, n))
    x -= p @ x
    return 0.3 * x / np.abs(x).max(), p
