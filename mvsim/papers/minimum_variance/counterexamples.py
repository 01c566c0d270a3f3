"""Distributions and settings in which a theorem of the paper fails as it is written, each with its numbers.

===============  ========================================================================================================================
``CE1``          all of Definition 2.1 holds, and the max-margin solution has w_H = 0: Theorem 3.1 fails at small weight decay
``CE2``          all of Definition 2.1 holds, X_H is separable through the origin, and |w_L| = 2 |w_H| in the max-margin solution
``Bernoulli``    lambda in {0, 1} is no point mass, but no point is mixed: Theorem 3.4 speaks of ERM, whose limit has w_H != 0
``imbalance``    unequal classes, which the paper says change nothing: Mixup without a bias has w_H != 0
``three-classes``  X_L constant in each of k classes, with a bias: W_H != 0 unless the class means of X_H are affine in those of X_L
``decay``        label smoothing beside weight decay, as networks are trained: w_H != 0, and for small data most of w
===============  ========================================================================================================================

The cause of CE1 and CE2: hulls of X_H may be further apart than those of X_L, while the hyperplane half-way between them misses the origin.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from mvsim.judging.statement import Setting
from mvsim.judging.verdict import Verdict, at_most
from mvsim.losses.mixing_laws import law_from
from mvsim.papers.minimum_variance.conditions import check
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.laws import Atoms, Law, Product, Uniform
from mvsim.papers.minimum_variance.margins import max_margin
from mvsim.papers.minimum_variance.minimisers import minimiser
from mvsim.papers.minimum_variance.theorems import EXACT, size

WRITTEN = "contradicted as written"


class OneCoordinate(Setting):
    """A counterexample with one coordinate of X_L and one of X_H."""

    n: Literal[1] = Field(1, description="Coordinates of X_L, and of X_H.")


class WithDecay(OneCoordinate):
    """The same at a weight decay."""

    beta: float = Field(1e-6, gt=0.0, le=1e6, description="Weight decay at which Theorem 3.1 is tested.")


class Smoothed(OneCoordinate):
    """Label smoothing beside weight decay."""

    beta: float = Field(0.01, gt=0.0, le=1e6, description="Weight decay beside label smoothing.")
    eps: float = Field(0.05, gt=0.0, le=0.5, description="Mass of the flipped label.")


class Classes(Setting):
    """Several classes."""

    C: int = Field(3, ge=3, le=12, description="Classes.")
    height: float = Field(2.0, ge=-100.0, le=100.0, description="Mean of X_H in classes 1, 3, ...; it is 0 in the others.")
    smoothing: float = Field(0.1, gt=0.0, lt=1.0, description="Mass of the uniform law in the label.")


def one_coordinate(z: float, plus: tuple[float, float], minus: tuple[float, float], prior: float = 0.5) -> Distribution:
    """Return X_L = y z, and X_H uniform on an interval in each class."""
    high: dict[int, Law] = {1: Product([Uniform(*plus)]), -1: Product([Uniform(*minus)])}
    return Distribution(L={1: Atoms([z]), -1: Atoms([-z])}, H=high, prior=prior)


CE1 = one_coordinate(0.3, (2.0, 4.0), (-7.0, 1.0))
CE2 = one_coordinate(0.2, (0.1, 2.1), (-1.7, -0.5))
D1 = one_coordinate(0.5, (1.0, 3.0), (-3.0, -1.0))
IMBALANCED = one_coordinate(0.5, (1.0, 3.0), (-5.0, -1.0), prior=0.8)


def ratio_at(d: Distribution, decay: float) -> float:
    """Return |w_L| / |w_H| of the minimiser at a weight decay."""
    found = minimiser(d, decay=decay)
    return size(found.w_L) / size(found.w_H)


def largest_failing_decay(d: Distribution) -> float:
    """Return the weight decay at which |w_L| = |w_H|: Theorem 3.1 fails below it."""
    from scipy.optimize import brentq

    return float(10.0 ** brentq(lambda exponent: math.log(ratio_at(d, 10.0**exponent)), -9.0, 1.0, xtol=1e-12))


def decay_prefers_low(d: Distribution, beta: float) -> list[Verdict]:
    """Decide Theorem 3.1 as it is written, |w_L| < |w_H|, at a weight decay, and Corollary 3.2, on a distribution."""
    met = [condition.says for name, condition in check(d).items() if name != "M" and not condition.holds]
    m, found, best = check(d)["M"], minimiser(d, decay=beta), max_margin(d)
    numbers = f"w_L = {found.w_L[0]:.9g}, w_H = {found.w_H[0]:.9g}; it fails for beta < {largest_failing_decay(d):.4g}"
    cause = "not met: " + ", ".join(met) if met else "all of Definition 2.1 holds"
    cause += f"; (M) fails: gamma_H = {m.measured:.4g}, |z| = {m.bound:.4g}"
    ratio = size(best.w_L) / size(best.w_H) if size(best.w_H) else math.inf
    direction = f"max-margin solution ({best.w_L[0]:.6g}, {best.w_H[0]:.6g}), margin {best.margin:.6g}"
    return [
        _as_written("Theorem 3.1", f"|w_L| / |w_H| < 1 at beta = {beta:g}", size(found.w_L) / size(found.w_H), 1.0, f"{numbers}; {cause}"),
        _as_written("Corollary 3.2", "|w_L| / |w_H| < 1 of the max-margin solution", ratio, 1.0, f"{direction}; {cause}"),
    ]


def bernoulli(d: Distribution) -> list[Verdict]:
    """Decide Theorem 3.4 for lambda in {0, 1}, by the limit of minimisers."""
    limit = minimiser(d, mixing={"atoms": [0.0, 1.0], "probabilities": [0.5, 0.5]})
    assert limit.direction is not None
    share = size(limit.direction[d.L[1].dimension :])
    detail = f"no minimiser: {limit.limit}; the law is no point mass and the loss is that of ERM"
    return [_as_written("Theorem 3.4", "|w_H| / |w| = 0 in the limit, lambda in {0, 1}", share, EXACT, detail)]


def imbalance(d: Distribution) -> list[Verdict]:
    """Decide w_H = 0 under Mixup without a bias for unequal classes; with a bias it holds."""
    law = {"distribution": "beta", "args": [1.0, 1.0]}
    without, with_bias = minimiser(d, mixing=law), minimiser(d, mixing=law, bias=True)
    detail = f"w_L = {without.w_L[0]:.9g}, w_H = {without.w_H[0]:.9g}, P(y = +1) = {d.prior:g}, lambda uniform"
    detail += f"; with a bias {with_bias.bias:.8g}: w_L = {with_bias.w_L[0]:.9g}, w_H = {with_bias.w_H[0]:.3g}"
    return [_as_written("Theorem 3.4", "w_H = 0 for classes of unequal size, without a bias", size(without.w_H), EXACT, detail)]


def several_classes(setting: Classes) -> list[Verdict]:
    """Decide W_H = 0 with a bias for k classes in a row, X_L = 0, 1, ..., k - 1 less its mean, and means of X_H that go up and down."""
    laws = {"label smoothing": (setting.smoothing, 1.0), "Mixup, lambda uniform": (0.0, {"distribution": "beta", "args": [1.0, 1.0]})}
    verdicts = []
    for name, (smoothing, law) in laws.items():
        lambdas, shares = np.array(law_from(law).folded_quadrature(64)).T
        norms = []
        for means in (setting.height * (np.arange(setting.C) % 2), setting.height * np.arange(setting.C)):
            z = np.arange(setting.C) - (setting.C - 1) / 2.0
            points = np.array([(z[c], means[c] + step) for c in range(setting.C) for step in (-0.5, 0.5)])
            weights, _ = class_weights(points, np.repeat(np.arange(setting.C), 2), smoothing, lambdas, shares)
            norms.append(size(weights[:, 1]))
        detail = f"{name}: |W_H| = {norms[0]:.6g} for means 0, {setting.height:g}, 0, ...; {norms[1]:.3g} for means affine in X_L"
        verdicts.append(_as_written(name, f"W_H = 0 for k = {setting.C} classes with a bias", norms[0], EXACT, detail))
    return verdicts


def decay_beside(d: Distribution, beta: float, eps: float) -> list[Verdict]:
    """Decide w_H = 0 under label smoothing beside weight decay."""
    found = minimiser(d, decay=beta, smoothing=eps)
    share = size(found.w_H) ** 2 / (size(found.w_H) ** 2 + size(found.w_L) ** 2)
    detail = f"w_L = {found.w_L[0]:.9g}, w_H = {found.w_H[0]:.9g}: a share {share:.3f} of |w|^2, at eps = {eps:g} and beta = {beta:g}"
    return [_as_written("Theorem 3.3", "w_H = 0 under label smoothing beside weight decay", size(found.w_H), EXACT, detail)]


def _as_written(part: str, says: str, measured: float, bound: float, detail: str) -> Verdict:
    """Decide measured <= bound of a statement of the paper as it is written."""
    ending = WRITTEN if measured > bound else "holds here"
    return at_most(part, says, measured, bound, f"{detail}; {ending}", otherwise="contradicted")


MOST_STEPS, SETTLED = 200, 1e-13


def class_weights(points: np.ndarray, classes: np.ndarray, smoothing: float, lambdas: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the minimiser of least norm, (k, D + 1) with the bias last, and the norm of the gradient there.

    It is of softmax regression on atoms of equal weight, ``points`` (n, D) with ``classes`` (n,) from 0 on; ``smoothing`` is the mass of the uniform
    law in the labels, ``lambdas`` and ``shares`` (K,) are the law of lambda, for no Mixup a point mass at 1.
    """
    k = int(classes.max()) + 1
    targets = (1.0 - smoothing) * np.eye(k)[classes] + smoothing / k
    a, t = (
        (lambdas[:, None, None, None] * rows[:, None] + (1.0 - lambdas)[:, None, None, None] * rows).reshape(-1, rows.shape[1])
        for rows in (np.hstack([points, np.ones((len(points), 1))]), targets)
    )
    c = np.repeat(shares, len(points) ** 2) / len(points) ** 2
    w = np.zeros((k, a.shape[1]))
    for _ in range(MOST_STEPS):
        e = np.exp(a @ w.T - (a @ w.T).max(axis=1, keepdims=True))
        g = e / e.sum(axis=1, keepdims=True)
        gradient = ((c[:, None] * (g - t)).T @ a).ravel()
        curvature = np.einsum("n,ni,ij->nij", c, g, np.eye(k)) - np.einsum("n,ni,nj->nij", c, g, g)
        hessian = np.einsum("nij,na,nb->iajb", curvature, a, a, optimize=True).reshape(w.size, w.size)
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        r = 2.0 * np.abs(a @ step.reshape(w.shape).T).max()
        w += (step if r < 0.1 else np.log1p(r) / r * step).reshape(w.shape)  # as in `minimisers`: the loss falls
        if r <= SETTLED * max(1.0, np.abs(w).max()):
            break
    return w, float(np.linalg.norm(gradient))
