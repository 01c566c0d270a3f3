"""Variable-order, variable-step backward differentiation formulas (BDF) in Nordsieck form: the past of a trajectory and its next step.

The past of y at the present time is the array Z of scaled derivatives of the polynomial that interpolates it,

    Z[j] = h^j y^(j) / j!,   j = 0 .. q,

q the order and h the step size. A step predicts Z at t + h by Pascal's triangle and corrects it by one vector a,

    Z_new[j] = (P Z)[j] + l_j a,   P[j, i] = binomial(i, j),

where l makes the corrected polynomial interpolate the q last values and satisfy y' = f(t + h, y): with gamma = h / l_1 that is the equation

    a + (P Z)[1] / l_1 = gamma f((P Z)[0] + a).

The leading coefficient is kept fixed when the step size varies (Jackson and Sacks-Davis, ACM TOMS 6, 1980), and errors are estimated from a, as
in VODE and CVODE (Byrne and Hindmarsh, ACM TOMS 1, 1975; Hindmarsh et al., ACM TOMS 31, 2005), whose formulas and constants these are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

MAX_ORDER = 5

SAFETY_SAME, SAFETY_OTHER, SAFETY_HIGHER = 6.0, 6.0, 10.0
"""The next step aims at an error of the tolerance divided by this: at the same order, the order below, the order above."""

LEAST_GROWTH = 1.5
"""Step sizes are kept unless they can grow by this factor: every change of some size needs a new preconditioner."""

_PASCAL = np.array([[comb(i, j) for i in range(MAX_ORDER + 1)] for j in range(MAX_ORDER + 1)], dtype=float)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What a step of one order and one past of step sizes needs."""

    # (q + 1,): how the correction a changes Z
    l: np.ndarray  # noqa: E741 - the letter of the formulas above
    error: float  # Estimated local error is this times a
    lower: float  # lower, higher: The same for the order below (times Z[q]; 1 at order 1, where there is none) and above (times the change of a)
    higher: float
    scale: float  # Makes corrections of two steps comparable; 0 where steps before were longer by factors that no double holds: then nothing does


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # where step sizes differ by more than doubles hold, errors of other orders are inf
def coefficients(order: int, h: float, past: np.ndarray) -> Coefficients:
    """Return the coefficients of one step of size h at order q, where ``past`` (q at least) has the sizes of the steps before, the last one first."""
    q = order
    l = np.zeros(q + 1)  # noqa: E741
    l[0] = l[1] = 1.0
    alpha0 = alpha0_hat = -1.0
    xi_inverse = xi_star_inverse = 1.0
    distance = h
    for j in range(2, q):
        distance += past[j - 2]
        xi_inverse = h / distance
        alpha0 -= 1.0 / j
        l[1 : j + 1] += l[:j] * xi_inverse
    if q > 1:
        alpha0 -= 1.0 / q
        xi_star_inverse = -l[1] - alpha0
        distance += past[q - 2]
        xi_inverse = h / distance
        alpha0_hat = -l[1] - xi_inverse
        l[1 : q + 1] += l[:q] * xi_star_inverse
    A1 = 1.0 - alpha0_hat + alpha0
    A2 = 1.0 + q * A1
    error = abs(A1 / (alpha0 * A2))
    scale = abs(A2 * xi_star_inverse / (l[q] * xi_inverse))
    lower = 1.0
    if q > 1:
        A3 = alpha0 + 1.0 / q
        A4 = alpha0_hat + xi_inverse
        lower = abs(xi_star_inverse / l[q] * (1.0 - A4 + A3) / A3)
    distance += past[q - 1]
    xi_inverse = h / distance
    A5 = alpha0 - 1.0 / (q + 1)
    A6 = alpha0_hat - xi_inverse
    higher = abs((1.0 - A6 + A5) / A2 / (xi_inverse * (q + 2) * A5))
    return Coefficients(l, float(error), float(lower), float(higher), float(scale) if np.isfinite(scale) else 0.0)


@dataclass(frozen=True, eq=False)
class History:
    """The past of a trajectory, never written to."""

    Z: np.ndarray  # (q + 1, n) scaled derivatives
    h: float  # Step size that scales Z
    past: np.ndarray  # (`MAX_ORDER` + 1,) sizes of the steps before, the last one first; 0 where there was none
    wait: int  # Steps until the order may change
    correction: np.ndarray  # (n,) a of the last step
    scale: float  # `Coefficients.scale` of that step; 0 if there was none

    @staticmethod
    def started(y: np.ndarray, velocity: np.ndarray, h: float) -> History:
        """Return a past of order 1 from one value and its derivative."""
        return History(np.stack([y, h * velocity]), h, np.zeros(MAX_ORDER + 1), 2, np.zeros_like(y), 0.0)

    @property
    def order(self) -> int:
        """The order q."""
        return len(self.Z) - 1

    def rescaled(self, h: float) -> History:
        """Return the same past for another step size."""
        if h == self.h:
            return self
        return replace(self, Z=self.Z * ((h / self.h) ** np.arange(self.order + 1))[:, None], h=h)

    def predicted(self) -> np.ndarray:
        """Return (q + 1, n): P Z, the same polynomial one step later."""
        q = self.order
        return np.asarray(_PASCAL[: q + 1, : q + 1] @ self.Z)

    def coefficients(self) -> Coefficients:
        """Return those of the next step."""
        return coefficients(self.order, self.h, self.past)

    def corrected(self, predicted: np.ndarray, c: Coefficients, correction: np.ndarray) -> History:
        """Return the past after a step."""
        past = np.concatenate([[self.h], self.past[:-1]])
        return History(predicted + c.l[:, None] * correction, self.h, past, self.wait - 1, correction, c.scale)

    def lowered(self) -> History:
        """Return the past at the order below."""
        q = self.order
        l = np.zeros(q + 1)  # noqa: E741
        l[2] = 1.0
        distance = 0.0
        for j in range(1, q - 1):
            distance += self.past[j - 1]
            xi = distance / self.h
            l[2 : j + 3] = l[2 : j + 3] * xi + l[1 : j + 2]
        return replace(self, Z=self.Z[:q] - l[:q, None] * self.Z[q], wait=q)

    def raised(self) -> History:
        """Return the past at the order above."""
        q = self.order
        l = np.zeros(q + 2)  # noqa: E741
        l[2] = alpha1 = product = before = 1.0
        alpha0, distance = -1.0, self.h
        for j in range(1, q):
            distance += self.past[j]
            xi = distance / self.h
            product *= xi
            alpha0 -= 1.0 / (j + 1)
            alpha1 += 1.0 / xi
            l[2 : j + 3] = l[2 : j + 3] * before + l[1 : j + 2]
            before = xi
        last = float((-alpha0 - alpha1) / product) * self.correction
        Z = np.vstack([self.Z, last])
        Z[2 : q + 1] += l[2 : q + 1, None] * last
        return replace(self, Z=Z, wait=q + 2)
