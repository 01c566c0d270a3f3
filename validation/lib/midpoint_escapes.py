r"""The order and the times of all escapes under Midpoint Mixup, predicted from the training points and the initial correlations alone.

Neurons are dormant, with their best own correlation c in the polynomial part of the activation, or have escaped and are linear. Between two escapes
nothing else moves, so the flow alternates between growth and equilibrium.

**Growth.** By Calculation A.10, with z_ij = (x_i + x_j) / 2, s_i = sum_{p in P_{y,l}} beta_{i,p}^alpha and the patches of the two points apart,

    c' = K_{y,l} (c / rho)^(alpha - 1),
    K_{y,l} = (1/N) sum_{i in N_y} s_i { 2^-alpha (1/N) sum_{j != i} (1 + 1[y_j = y] - 2 phi_y(z_ij)) + (1/N) (1 - phi_y(x_i)) },

because mixing halves a pre-activation and its derivative (2^-alpha), every pair occurs in both orders, and z_ii = x_i. While K is constant, the
potential u = (c / rho)^(2 - alpha) falls linearly: u' = -(alpha - 2) K / rho. The neuron escapes where it is 0.

**Equilibrium.** An escaped neuron of class y and view l with correlation C contributes R(beta_{i,p} C / 2) to g_y(z_ij) for each p in P_{y,l}(x_i),
and the same of x_j (the halves are left out for i = j). On midpoints the loss has a minimum at finite C, which is reached in no time beside the
growth of what is dormant. So after each escape all C of escaped views are at the minimum of the midpoint loss over them.

**The constant factor.** Before any escape phi = 1/k, and apart from pairs of one class or one point K = 2^-alpha S_{y,l} (1 - 2/k). Let view w of
class y have escaped, with b_i = sum_{p in P_{y,w}} beta_{i,p} and A_i the mean over j of 1 - 2 phi_y(z_ij). At the minimum the escaped neuron is at
rest: sum_{i in N_y} b_i A_i = 0, where it is linear. A_i falls with b_i, since g_y(z_ij) = C b_i / 2 + ..., so A_i > 0 where b_i is small. There
the other view l is strong, since sum_p beta_{i,p} of the two add up to C_P delta2, and s_i, a power alpha, weighs just these points. The rate of the
other view is thus

    K_{y,l} after / K_{y,l} before = [sum_i s_i A_i / sum_i s_i] / (1 - 2/k) > 0,

a number that depends on the law of beta and on k, not on time. For a point mass, where b_i is the same for all i, it is 0. Rates of other classes
change through phi on midpoints with points of class y.

**Shared patches.** Where a patch of P_{y,w}(x_i) meets one of x_j that holds v_{y,l}, the escaped neuron is linear on the midpoint and learns v_{y,l}
at once, without a power of its own small correlation. With X_{j,p} the coefficient of v_{y,l} in patch p of x_j its correlation c_l obeys

    c_l' = D_{y,l} + K_{y,l} (c_l / rho)^(alpha - 1),
    D_{y,l} = (1 / 2N^2) sum_{i in N_y} sum_{j != i} (1 + 1[y_j = y] - 2 phi_y(z_ij)) sum_{p in P_{y,w}(x_i)} X_{j,p}.

Pairs of one class count most: there 1 + 1[y_j = y] - 2 phi_y = 2 (1 - phi_y) is positive. If D > 0, c_l is at infinity after the time

    T(c) = integral from c to infinity of dx / (D + K (x / rho)^(alpha - 1)),

a hypergeometric function. The second view of a class escapes in the neuron that has the first one, or in the best dormant one, whichever is sooner.
Nothing is fitted. Left out are noise on noise, the change of the equilibrium while c_l is small, and the duration of an escape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import hyp2f1

import mvsim
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu, smoothed_relu_derivative
from mvsim.multi_view.data import Dataset


class Escape(NamedTuple):
    """One escape.

    Attributes
    ----------
    y, view : int
        Which class and view.
    time : float
        When.
    factor : float
        Rate K of that view until then over that at the start.
    shared : bool
        Whether it is in the neuron that has the other view.
    """

    y: int
    view: int
    time: float
    factor: float
    shared: bool


class ReducedMidpoint:
    """The reduced system of one data set.

    Parameters
    ----------
    parameters : Parameters
        Of the run; two views, alpha > 2.
    data : Dataset
        Its training points.
    """

    def __init__(self, parameters: mvsim.Parameters, data: Dataset) -> None:
        self.p, self.labels, self.shape = parameters, data.labels, (parameters.rho, parameters.alpha)
        self.beta = np.stack([_patches(data, view, parameters.C_P) for view in (0, 1)], axis=1)  # (N, 2, C_P)
        self.strength = (self.beta**parameters.alpha).sum(axis=2)  # s_i of both views, (N, 2)
        self.patches = data.to_patches()  # (N, P, k, 2)
        self.is_of = self.labels == np.arange(parameters.k)[:, None]  # (k, N)
        # What all softmax weights are compared with: half of an indicator for each of the two points.
        self.target = 0.5 * (self.is_of[:, :, None].astype(float) + self.is_of[:, None, :])

    def rates(self, C: np.ndarray) -> np.ndarray:
        """Return (k, 2): K_{y,l} while the correlations C (k, 2) of escaped neurons stay, 0 where there are none."""
        p, N = self.p, len(self.labels)
        pull = 2.0 * (self.target - self._softmax(C))  # (k, N, N): 1[y_i = y] + 1[y_j = y] - 2 phi_y
        alone = np.einsum("yii->yi", pull)
        mixed = pull.sum(axis=2) - alone
        weight = self.is_of * (2.0**-p.alpha * mixed + 0.5 * alone)
        return np.asarray(weight @ self.strength / N**2)

    def equilibrium(self, escaped: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return (k, 2): the C of the escaped views (k, 2) bool that minimise the midpoint loss, from a start; 0 elsewhere."""
        chosen = np.flatnonzero(escaped.ravel())
        least = self.p.rho
        C = np.where(escaped, np.maximum(start, 4.0 * least / self.p.delta1), 0.0)

        def loss_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            at = C.copy()
            at.ravel()[chosen] = x
            loss, gradient = self.loss_and_gradient(at)
            return loss, gradient.ravel()[chosen]

        settings = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
        bounds = [(least, None)] * len(chosen)  # below that a neuron is dormant again
        found = minimize(loss_and_gradient, C.ravel()[chosen], jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
        C.ravel()[chosen] = found.x
        return C

    def loss_and_gradient(self, C: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the midpoint loss of the escaped neurons alone, and its gradient (k, 2)."""
        N = len(self.labels)
        g = self._outputs(C)
        highest = g.max(axis=0)
        log_sum = highest + np.log(np.exp(g - highest).sum(axis=0))
        residual = np.exp(g - log_sum) - self.target
        slopes, alone = ((factor * self.beta * smoothed_relu_derivative(z, *self.shape)).sum(axis=2) for factor, z in self._pre_activations(C))
        of_self = np.einsum("yii->yi", residual)
        by_point = 2.0 * (residual.sum(axis=2) - of_self)  # in both orders
        gradient = ((self.is_of * by_point) @ slopes + (self.is_of * of_self) @ alone) / N**2
        return float((log_sum - (self.target * g).sum(axis=0)).mean()), gradient

    def drifts(self, C: np.ndarray) -> np.ndarray:
        """Return (k, 2): D_{y,l} of the view l of each class whose other view has escaped; 0 where none or both have."""
        pull = 2.0 * (self.target - self._softmax(C))
        found = np.zeros(C.shape)
        for y, view in np.argwhere((C == 0.0) & (C[:, ::-1] > 0.0)):
            members = np.flatnonzero(self.is_of[y])
            linear = (self.patches[members, :, y, 1 - view] > 0.0).astype(float)
            met = linear @ self.patches[:, :, y, view].T  # (members, N)
            met[np.arange(len(members)), members] = 0.0
            found[y, view] = 0.5 * (pull[y, members] * met).sum() / len(self.labels) ** 2
        return found

    def escapes(self, own: np.ndarray) -> list[Escape]:
        """Return all escapes in order of time, given the own correlations at the start (k, m, 2)."""
        p, power, classes = self.p, self.p.alpha - 2.0, np.arange(self.p.k)
        leaders = own.max(axis=1)
        with np.errstate(divide="ignore"):
            u = np.where(leaders > 0.0, (np.maximum(leaders, 1e-300) / p.rho) ** -power, np.inf)
        # Of the best neuron of each view its correlation with the other view.
        other = own[classes[:, None], own.argmax(axis=1)[:, ::-1], np.arange(2)]
        C, escaped, time, found = np.zeros_like(u), np.zeros(u.shape, dtype=bool), 0.0, []
        before = self.rates(C)
        while not escaped.all():
            rates, drifts = np.maximum(self.rates(C), 0.0), self.drifts(C)
            with np.errstate(divide="ignore", invalid="ignore"):
                dormant = np.where(escaped | (rates <= 0.0), np.inf, u * p.rho / (power * rates))
            shared = np.full_like(u, np.inf)
            for y, view in np.argwhere(drifts > 0.0):
                shared[y, view] = time_to_escape(other[y, view], drifts[y, view], rates[y, view], p.rho, p.alpha)
            left = np.minimum(dormant, shared)
            y, view = (int(index) for index in np.unravel_index(left.argmin(), left.shape))
            step = float(left[y, view])
            if not np.isfinite(step):
                break
            time, u = time + step, u - step * power * rates / p.rho
            for one, of in np.argwhere((drifts > 0.0) & (shared > step)):
                other[one, of] = grown(other[one, of], step, drifts[one, of], rates[one, of], p.rho, p.alpha)
            escaped[y, view] = True
            found.append(Escape(y, view, time, float(rates[y, view] / before[y, view]), bool(shared[y, view] <= dormant[y, view])))
            C = self.equilibrium(escaped, C)
        return found

    def _pre_activations(self, C: np.ndarray) -> list[tuple[float, np.ndarray]]:
        """Return beta C (N, 2, C_P), halved for a point that is mixed with another one, and as it is for a point by itself; with the factor."""
        z = self.beta * C[self.labels][:, :, None]
        return [(0.5, 0.5 * z), (1.0, z)]

    def _outputs(self, C: np.ndarray) -> np.ndarray:
        half, alone = (smoothed_relu(z, *self.shape).sum(axis=(1, 2)) for _, z in self._pre_activations(C))
        g = (self.is_of * half)[:, :, None] + (self.is_of * half)[:, None, :]
        each = np.arange(len(half))
        g[:, each, each] = self.is_of * alone
        return np.asarray(g)

    def _softmax(self, C: np.ndarray) -> np.ndarray:
        g = self._outputs(C)
        weights = np.exp(g - g.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))


def time_to_escape(c: float, drift: float, rate: float, rho: float, alpha: float) -> float:
    """Return T(c), the time in which c' = drift + rate (max(c, 0) / rho)^(alpha - 1) takes c to infinity; drift > 0, alpha > 2."""
    n = alpha - 1.0
    if rate <= 0.0:
        return np.inf
    scale = rho * (drift / rate) ** (1.0 / n)  # where the two summands are equal
    x = max(c, 0.0) / scale
    # In units of scale / drift: the integral of 1 / (1 + x^n) from x to infinity.
    if x <= 1.0:
        beyond = np.pi / n / np.sin(np.pi / n) - x * hyp2f1(1.0, 1.0 / n, 1.0 + 1.0 / n, -(x**n))
    else:
        beyond = x ** (1.0 - n) / (n - 1.0) * hyp2f1(1.0, 1.0 - 1.0 / n, 2.0 - 1.0 / n, -(x**-n))
    return float(scale / drift * beyond + max(-c, 0.0) / drift)


def grown(c: float, time: float, drift: float, rate: float, rho: float, alpha: float) -> float:
    """Return what c is after a time less than T(c)."""
    total = time_to_escape(c, drift, rate, rho, alpha)
    highest = max(c, 0.0) + rho + drift * time
    while time_to_escape(highest, drift, rate, rho, alpha) > total - time:
        highest *= 2.0
    return float(brentq(lambda x: time_to_escape(x, drift, rate, rho, alpha) - (total - time), c, highest))


def _patches(data: Dataset, view: int, C_P: int) -> np.ndarray:
    coefficients = data.own_coefficients(view)
    patches = np.argsort(coefficients == 0.0, axis=1, kind="stable")[:, :C_P]
    return np.take_along_axis(coefficients, patches, axis=1)
