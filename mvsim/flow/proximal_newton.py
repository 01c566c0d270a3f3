"""The equation of an implicit step, x + gamma grad J(x) = c~, solved by a damped Newton method that copes with kinks.

Its solutions are the stationary points of the proximal objective

    Phi(x) = J(x) + |x - c~|^2 / (2 gamma).

There may be several. The flow leads to the one that descent of Phi reaches from the state before, so that the iteration starts there,
or at an extrapolation where equations have been easy.

*Kinks.* A long step of escaped neurons crosses dozens of kinks, where a correlation passes between the power and the linear part of the activation.
There the Hessian jumps, and full Newton corrections fall into cycles of two. So a correction is taken only if Phi falls or the next correction is
half as large; else it is shortened, twice, and then the Hessian, an arrow matrix that costs several gradients, is made anew.

*Long corrections.* Along directions in which the Hessian is nearly 0 a correction can be a thousand times as long as the largest correlation. So
none moves the positive part of a correlation by more than that: outputs of hundreds have exponentials that underflow, with which a gradient takes
many times as long. Below 0 the activation is 0, and a correction is exact, however long it is.

*What the arrow leaves out.* With the arrow alone corrections shrink by a constant factor only. So between two Hessians the changes of the gradient
correct the last one, as in the L-BFGS method (J. Nocedal, Mathematics of Computation 35, 1980). At a kink Phi may be concave where the arrow is
not, and corrections would be small far from the solution. There the change of the gradient counts as at least a fifth of the expected one (M. J. D.
Powell, Mathematical Programming 14, 1978), so that each correction is up to five times as long as the one before.

This solves equations that secants of single coordinates, Anderson's mixing and averaged Hessians do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.stiff_neurons import NEAR_GAMMA, StiffNeurons

LARGEST_OF_ALL = 30.0
"""How large the last correction of a single correlation may be, over what that of all may be in the root mean square."""

SECANTS, DAMPED = 16, 0.2
"""How many changes of the gradient are remembered within one equation, and as which part of the expected change each counts at least."""

ATTEMPTS, SHORTER = 8, 0.35
"""Attempts at one iterate, and the factor by which each is shorter than the one before."""

BEFORE_HESSIAN = 2
"""How often an iterate is made shorter before a new Hessian is made, which costs several gradients."""


class Accuracy(NamedTuple):
    """When an equation is solved.

    Attributes
    ----------
    unit : numpy.ndarray
        (s,) the change of each correlation that counts as 1.
    rms : float
        How large the root mean square of the last correction may be.
    own : numpy.ndarray
        (s,) bool: the own correlations.
    own_error : float
        Largest error that they may have after the last correction.
    gradients : int
        After how many of them the iteration is given up, so that the step is tried again at a part of its size.
    residual : float
        How large r = x - c~ + gamma grad J(x) may be in any off-diagonal correlation. Where J is convex between x and the solution, |r| bounds the
        error: the eigenvalues of I + gamma H are 1 and more, whatever is known of H. So r shows an error along a valley that the arrow does not
        have, where the correction is small. Own correlations are left out, so that this is a rule of thumb: they are so stiff that r is far larger
        than their error, which ``own_error`` bounds.
    """

    unit: np.ndarray
    rms: float
    own: np.ndarray
    own_error: float
    gradients: int = 25
    residual: float = np.inf

    def size(self, correction: np.ndarray) -> float:
        """Return the root mean square of a correction."""
        return float(np.sqrt(np.mean((correction / self.unit) ** 2)))

    def allows(self, r: np.ndarray, correction: np.ndarray, doubt: float) -> bool:
        """Whether what a correction leaves is small enough, if it is wrong by the part ``doubt`` of itself."""
        if float(np.abs(np.where(self.own, 0.0, r / self.unit)).max()) > self.residual:
            return False
        parts = np.abs(correction / self.unit)
        own = float(parts[self.own].max(initial=0.0)) * doubt
        return self.size(correction) <= self.rms and float(parts.max()) <= LARGEST_OF_ALL * self.rms and own <= self.own_error


class Solution(NamedTuple):
    """The end of an iteration: x (s,), how many it took, whether x is accurate enough, and the gradient (n,) a correction before."""

    x: np.ndarray
    iterations: int
    solved: bool
    gradient: np.ndarray


def longest_part(x: np.ndarray, d: np.ndarray) -> float:
    """Return the part of a correction d (s,) that moves no positive part of x (s,) by more than the largest one."""
    moves = np.abs(np.maximum(x + d, 0.0) - np.maximum(x, 0.0)).max()
    return min(1.0, float(x.max() / moves)) if moves > 0.0 and x.max() > 0.0 else 1.0


def minimise(stiff: StiffNeurons, c: np.ndarray, x: np.ndarray, target: np.ndarray, gamma: float, accuracy: Accuracy) -> Solution:
    """Return the end of the descent of Phi.

    Parameters
    ----------
    stiff : StiffNeurons
        J, and its Hessian so far.
    c : numpy.ndarray
        (n,) all other correlations.
    x, target : numpy.ndarray
        (s,) the start and c~.
    gamma : float
        Weight of the gradient.
    accuracy : Accuracy
        When to stop.
    """

    def evaluated(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Phi, gamma times its gradient (s,), and that of J (n,)."""
        try:
            loss, gradient = stiff.loss_and_gradient(c, x)
        except DivergedError:
            return np.inf, np.full_like(x, np.nan), np.full_like(c, np.nan)
        away = x - target
        return loss + float(away @ away) / (2.0 * gamma), away + gamma * gradient[stiff.index], gradient

    secants: list[tuple[np.ndarray, np.ndarray]] = []

    def correction(r: np.ndarray, near: float = NEAR_GAMMA) -> np.ndarray:
        """Return -B r, where B starts as (I + gamma H)^-1 and takes in each secant as in the BFGS method."""
        q, parts = r.copy(), []
        for s, y in reversed(secants):
            parts.append(float(s @ q) / float(s @ y))
            q -= parts[-1] * y
        q = stiff.solve(q, gamma, near)
        for (s, y), part in zip(secants, reversed(parts), strict=True):
            q += (part - float(y @ q) / float(s @ y)) * s
        return -q

    def learn(s: np.ndarray, y: np.ndarray, expected: np.ndarray) -> None:
        """Take in the change y of r along s, of which ``expected`` is what the Hessian said, and a part of that where y says less."""
        known, told = float(s @ expected), float(s @ y)
        if known > 0.0:
            told_part = (1.0 - DAMPED) * known / (known - told) if told < DAMPED * known else 1.0
            secants.append((s, told_part * y + (1.0 - told_part) * expected))
            del secants[:-SECANTS]

    fresh = not stiff.is_known
    if fresh:
        stiff.linearise(c, x)
    phi, r, gradient = evaluated(x)
    d = correction(r)
    iteration, most = 0, stiff.gradients + accuracy.gradients
    while stiff.gradients <= most:
        iteration += 1
        size = accuracy.size(d)
        if not np.isfinite(size):
            return Solution(x, iteration, False, gradient)
        if accuracy.allows(r, d, stiff.doubt(gamma)):
            return Solution(x + d, iteration, True, gradient)
        part = longest_part(x, d)
        for attempt in range(ATTEMPTS):
            x_next = x + part * d
            phi_next, r_next, gradient_next = evaluated(x_next)
            d_next = -stiff.solve(r_next, gamma)
            size_next = accuracy.size(d_next)
            if np.isfinite(phi_next) and (phi_next <= phi + 1e-13 * abs(phi) or size_next < 0.5 * size):
                break
            if fresh or attempt < BEFORE_HESSIAN or not np.isfinite(phi_next):
                part *= SHORTER
            else:
                stiff.linearise(c, x)
                fresh, part, d = True, 1.0, -stiff.solve(r, gamma)
                size = accuracy.size(d)
        else:
            return Solution(x, iteration, False, gradient)
        learn(x_next - x, r_next - r, -part * r)
        x, phi, r, gradient, fresh = x_next, phi_next, r_next, gradient_next, False
        d = correction(r, 0.05 if size_next > 0.1 * size else NEAR_GAMMA)
    return Solution(x, iteration, False, gradient)
