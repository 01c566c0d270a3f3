"""Exact minimisers of the losses over all distributions of `Distribution`, and where there is none.

**Newton's method without a line search.** The third derivative of every term along a direction p is at most max|<a, p>| times its second derivative.
For such losses the step t p, t = log(1 + r) / r with r = max |<a, p>|, always decreases the loss and leads to the minimiser (Sun and Tran-Dinh,
2019, case nu = 2). The full step is taken where the slope along p is still negative at its end: by convexity it has then not gone too far. No
values of the loss are compared, which would stop at an error of 1e-8.

**A minimiser at infinity.** Without weight decay, a direction v along which the loss never grows must have <a, v> = 0 for every mixed point with
a label strictly between 0 and 1, and y <a, v> >= 0 elsewhere.

- Smoothed labels: <x, v> = 0 everywhere, so the minimum is attained.
- Mixup with some lambda outside {0, 1/2, 1}: lambda <x, v> + (1 - lambda) <x', v> = 0, also with x and x' exchanged; the same follows.
- Mixup on {0, 1/2, 1} with mass at 1/2: <x, v> = -<x', v> for all points of different classes, so <x, v> = y constant. If there is such a v (along
  X_L = y z there is), the loss tends to its infimum along v. Only pairs mixed at 1/2 count there, and they are best at score 0: their loss is log 2.
  Their scores vanish only if w is a multiple of v up to what no point sees, so nothing else stays.
- Mixup on {0, 1} is cross-entropy without augmentation, as no point is mixed. It has no minimiser where the classes are separable: the limit of
  minimisers with decay -> 0, and of gradient flow, is along the max-margin direction, and the infimum is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mvsim.base.errors import StalledError, UsageError
from mvsim.base.inputs import check_kind, check_not_negative
from mvsim.losses.mixing_laws import law_from
from mvsim.numerics.blas_threads import one_blas_thread
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.losses import FITS, CrossEntropy, MixupCrossEntropy
from mvsim.papers.minimum_variance.margins import max_margin

POLISHED = 1e-12
"""Gradient norm of a minimiser, for data of size one."""

FIRST_NODES, MOST_DOUBLINGS, SAME = 16, 5, 1e-11
"""Quadrature nodes to begin with; how often they are doubled at most; until the minimiser changes by less than this part of its size."""

MOST_STEPS, SETTLED = 300, 1e-11
"""Most steps of Newton's method; it ends when a step changes no score by more than the second."""


@dataclass(frozen=True)
class Minimiser:
    """The minimiser of a loss, or where it lies if it is at infinity.

    Attributes
    ----------
    w_L, w_H : numpy.ndarray
        Weights. Where the minimiser is not unique, those of one; where it is at infinity, infinite in the coordinates that diverge, with
        their sign, and 0 elsewhere.
    bias : float
        0 unless a bias was asked for.
    loss : float
        The minimum, weight decay included, or the infimum.
    gradient_norm : float
        Norm of the gradient there, 0 at infinity.
    attained : bool
        Whether there is a minimiser.
    limit : str
        Empty if attained; else where minimising sequences go.
    direction : numpy.ndarray or None
        The unit vector (w_L, w_H) along which they go.
    """

    w_L: np.ndarray
    w_H: np.ndarray
    bias: float
    loss: float
    gradient_norm: float
    attained: bool = True
    limit: str = ""
    direction: np.ndarray | None = None


@one_blas_thread()
def minimiser(distribution: Distribution, decay: float = 0.0, smoothing: float = 0.0, mixing: Any = None, bias: bool = False) -> Minimiser:
    """Return the exact minimiser of the population loss.

    Parameters
    ----------
    distribution : Distribution
        The law of the data.
    decay : float
        beta of the term (beta / 2) |w|^2, >= 0; a bias is not penalised.
    smoothing : float
        Mass of the flipped label, from 0 to 1/2: alpha / 2 where targets are mixtures with the uniform law of two classes.
    mixing : None, float, dict or frozen scipy.stats distribution
        The law of lambda of Mixup: a number, ``{"atoms": [...], "probabilities": [...]}``, or e.g. ``scipy.stats.beta(1, 1)``.
    bias : bool
        Whether the model has a constant term.

    Raises
    ------
    UsageError
        If an argument is out of range, or mixed pairs would not fit in memory.
    StalledError
        If Newton's method does not converge: the classes touch without being separable, and the minimiser is at infinity.
    """
    check_kind("distribution", distribution, Distribution, "a Distribution")
    check_kind("bias", bias, bool | np.bool_, "True or False")
    decay, smoothing = check_not_negative("decay", decay), check_not_negative("smoothing", smoothing, most=0.5)
    law = None if mixing is None else law_from(mixing)
    if decay == smoothing == 0.0:
        limit = _at_infinity(distribution, {1.0} if law is None else {lam for lam, _ in law.folded_quadrature()}, law, bias)
        if limit is not None:
            return limit
    exact = distribution.is_discrete and (law is None or not law.needs_quadrature)
    count, w, before = FIRST_NODES, np.zeros(0), np.array(np.inf)
    for _ in range(1 if exact else MOST_DOUBLINGS + 1):
        loss = loss_of(distribution, decay, smoothing, law, bias, count)
        w, norm = newton(loss, w if w.size else _start(distribution, decay, smoothing, law, bias, count))
        if np.abs(w - before).max() <= SAME * max(1.0, np.abs(w).max()):
            break
        count, before = 2 * count, w
    w_L, w_H = distribution.weights(w[:-1] if bias else w)
    return Minimiser(w_L, w_H, float(w[-1]) if bias else 0.0, loss.value(w), norm)


def loss_of(distribution: Distribution, decay: float, smoothing: float, law: Any, bias: bool, count: int, low_only: bool = False) -> CrossEntropy:
    """Return the loss over the groups of coordinates (`Distribution.groups`), by a quadrature of ``count`` nodes a coordinate; a bias comes last.

    With ``low_only`` it is that of models with w_H = 0.
    """
    points, classes, weights = distribution.nodes(count, low_only=low_only)
    targets = np.where(classes > 0, 1.0 - smoothing, smoothing)
    penalty = np.full(points.shape[1] + bias, decay)
    if bias:
        points = np.hstack([points, np.ones((len(points), 1))])
        penalty[-1] = 0.0
    if law is None:
        return CrossEntropy(points, targets, weights, penalty)
    lambdas, shares = np.array(law.folded_quadrature(2 * count)).T
    if len(points) ** 2 * len(lambdas) > FITS:
        raise UsageError(f"distribution: {len(points)} points make {len(points) ** 2 * len(lambdas):.3g} mixed points; at most {FITS:.3g} fit")
    return MixupCrossEntropy(points, targets, weights, penalty, lambdas, shares)


def _start(distribution: Distribution, decay: float, smoothing: float, law: Any, bias: bool, count: int) -> np.ndarray:
    """Return where Newton's method begins: without weight decay the minimiser with w_H = 0, which often is that of all models; else 0."""
    low, high = (len(groups) for groups in distribution.groups)
    start = np.zeros(low + high + bias)
    if decay == 0.0 and (smoothing > 0.0 or law is not None):
        loss = loss_of(distribution, decay, smoothing, law, bias, count, low_only=True)
        of_low, _ = newton(loss, np.zeros(low + bias))
        start[:low], start[low + high :] = of_low[:low], of_low[low:]
    return start


def newton(loss: CrossEntropy, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the minimiser and the norm of the gradient there; the module says how."""
    last, most = np.inf, POLISHED * max(1.0, np.abs(loss.points).max())
    gradient, hessian = loss.derivatives(w)
    for _ in range(MOST_STEPS):
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        r = np.abs(loss.points @ step).max()
        norm = float(np.linalg.norm(gradient))
        if norm <= most and (r <= SETTLED or (r < 1e-4 and r >= last / 2.0)):
            return w, norm
        w, before, last = w + step, w, r
        gradient, hessian = loss.derivatives(w)
        if gradient @ step > 0.0 and r > SETTLED:
            w = before + np.log1p(r) / r * step
            gradient, hessian = loss.derivatives(w)
    trouble = f"the gradient has norm {norm:.3g}, above {most:.3g}"
    if r > 1e-4:
        trouble = f"scores still change by {r:.3g}: the minimiser is at infinity"
    raise StalledError(f"after {MOST_STEPS} steps of Newton's method {trouble}; add weight decay")


def _at_infinity(distribution: Distribution, lambdas: set[float], law: Any, bias: bool) -> Minimiser | None:
    """Return the limit if the loss without weight decay and smoothing has no minimiser, else None."""
    if not lambdas <= {0.5, 1.0}:
        return None
    low = distribution.L[1].dimension
    if lambdas == {1.0}:
        try:
            best = max_margin(distribution, bias)
        except UsageError:
            return None
        direction = np.concatenate([best.w_L, best.w_H])
        limit = f"the infimum 0 is approached along the max-margin direction, at margin {best.margin:.6g}"
        return Minimiser(*_infinite(direction, low), best.bias * np.inf if best.bias else 0.0, 0.0, 0.0, False, limit, direction)
    points, classes, _ = distribution.nodes(4)
    columns = np.hstack([points, np.ones((len(points), 1))]) if bias else points
    v = np.linalg.lstsq(columns, classes.astype(float), rcond=1e-12)[0]
    if np.abs(columns @ v - classes).max() > 1e-9:
        return None
    direction = np.concatenate(distribution.weights(v[:-1] if bias else v))
    direction[np.abs(direction) <= 1e-10 * np.abs(direction).max()] = 0.0
    direction /= np.linalg.norm(direction)
    half = dict(law.folded_quadrature())[0.5]
    loss = 2.0 * distribution.prior * (1.0 - distribution.prior) * half * np.log(2.0)
    limit = "pairs mixed at lambda = 1/2 are best at score 0, all others at infinite margin: w_H tends to 0 and |w_L| to infinity"
    offset = float(v[-1]) if bias and abs(v[-1]) > 1e-10 * np.abs(v).max() else 0.0
    return Minimiser(*_infinite(direction, low), offset * np.inf if offset else 0.0, float(loss), 0.0, False, limit, direction)


def _infinite(direction: np.ndarray, low: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the blocks of a vector that is infinite along a direction."""
    w = np.where(direction != 0.0, np.copysign(np.inf, direction), 0.0)
    return w[:low], w[low:]
