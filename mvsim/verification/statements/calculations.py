"""Calculations A.6 to A.10 on a few points of a run: the engine against the formulas, written with explicit patches.

The engine (`mvsim.kernels`) works with tables over noise patterns and moments of coefficients; the right-hand sides here know patches only. Both see
the first `POINTS` training points and their pairs, at the final and at one earlier saved state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mvsim.activations.smoothed_relu import smoothed_relu, smoothed_relu_derivative
from mvsim.data import Dataset, SharedNoiseDataset
from mvsim.kernels import make_kernel
from mvsim.logarithms import LARGEST_LOGARITHM
from mvsim.losses import Unmixed
from mvsim.objectives import objective
from mvsim.verification.evidence.evidence import Evidence, Snapshot
from mvsim.verification.statements.steps import Step
from mvsim.verification.verdict import Verdict, at_most, constant, not_applicable

POINTS = 6

MANY = 1e6
"""Pre-activations of a point, k m P, beyond which half of them have to do: every pair of points is evaluated patch by patch."""

IDENTITY = 1e-12
"""Relative error below which two sides count as equal: some thousand units of round-off, less than any wrong term would make."""

CANCELLED = 1e-15
"""Relative error of the terms of a pre-activation: some units of round-off."""

Slope = Callable[[Any, float, float], np.ndarray]
"""R'(z) as a function of z, rho and alpha."""


def calculations(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> list[Verdict]:
    """Check every calculation.

    Parameters
    ----------
    evidence : Evidence
        A run.
    slope : callable
        R' of the right-hand sides; another than that of Definition 4.2 must make the identities fail.

    Returns
    -------
    list of Verdict
    """
    return [step.verdict(evidence, slope) for step in CALCULATIONS.values()]


def network_gradient(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.6: grad_{w_{y,r}} g_y(x) = sum_p R'(<w_{y,r}, x^(p)>) x^(p), for every y, r and point."""
    error = 0.0
    for sample in _cases(evidence):
        for i in range(len(sample.labels)):
            formula, size = sample.network_gradient(sample.patches[i], slope)
            error = _worst(error, *(_difference(gradient, formula, size) for gradient in sample.engine_gradients(i)))
    return at_most("Calculation A.6", "grad g_y(x) = sum_p R'(<w_{y,r}, x^(p)>) x^(p): relative difference", error, IDENTITY, _where(evidence))


def own_correlation(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.7, first line: <grad_{w_{y,r}} g_y(x), v_{y,l}> = sum_{p in P_{y,l}(x)} beta_p^alpha c^(alpha-1) / rho^(alpha-1).

    Here c = <w_{y,r}, v_{y,l}> and y = y_i. It needs max_u <w_{y,r}, v_{u,l}> < rho / (delta2 - delta1). A correlation c < 0 counts as 0: R'
    vanishes there, which the paper leaves unsaid.
    ``slope`` replaces beta^(alpha-1) c^(alpha-1) / rho^(alpha-1), which is R'(beta c).
    """
    p = evidence.parameters
    error, count = 0.0, 0
    for sample in _cases(evidence):
        for i, y in enumerate(sample.labels):
            poly = sample.c[y].max(axis=1) < evidence.poly_end  # (m, V): over u
            beta = sample.patches[i, :, y]  # (P, V)
            c = sample.c[y, :, y]  # (m, V)
            formula = (beta * slope(beta * c[:, None], p.rho, p.alpha)).sum(axis=1)
            for gradient in sample.engine_gradients(i):
                error = _worst(error, _componentwise(gradient[y, :, y][poly], formula[poly]))
            count += int(poly.sum())
    name, statement = "Calculation A.7 (own feature)", "<grad g_y(x), v_{y,l}> = sum beta^alpha (c / rho)^(alpha-1) below rho / (delta2 - delta1)"
    return _decided(name, statement, error, count, evidence)


def other_correlations(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.7, second line: <grad_{w_{y,r}} g_y(x), v_{s,l}> <= Theta(P delta4^alpha max_u <w_{y,r}, v_{u,l'}>^(alpha-1) / rho^(alpha-1)) for s != y.

    Measured: the largest constant over the same neurons, u != y. The V Q features of a patch of noise add up, so it is up to (V Q)^(alpha-1); V = 2.
    """
    p, name = evidence.parameters, "Calculation A.7 (other features)"
    statement = "<grad g_y(x), v_{s,l}> rho^(alpha-1) / (P delta4^alpha max_u <w, v_u>^(alpha-1)) is bounded, s != y"
    ratios: list[float] = []
    for sample in _cases(evidence):
        for i, y in enumerate(sample.labels):
            off = np.delete(sample.c[y], y, axis=1)  # (m, k - 1, V)
            gradient = np.delete(sample.engine_gradients(i)[0][y], y, axis=1).max(axis=(1, 2))
            top = off.max(axis=(1, 2))
            counted = (sample.c[y].max(axis=(1, 2)) < evidence.poly_end) & (top > 0.0)
            scale = p.P * p.delta4 * (p.delta4 * np.where(counted, top, 0.0) / p.rho) ** (p.alpha - 1.0)
            counted &= scale > np.finfo(float).tiny  # below that the gradient has lost its digits, too
            ratios += (gradient[counted] / scale[counted]).tolist()
    if not ratios:
        return constant(name, statement, None, detail="no noise, or too little for a double, or no neuron below rho / (delta2 - delta1)")
    log_bound = (p.alpha - 1.0) * np.log(p.V * p.Q)
    bound = float(p.V * p.Q) ** (p.alpha - 1.0) if log_bound < LARGEST_LOGARITHM else np.inf
    return constant(name, statement, max(ratios), bound, detail=f"{len(ratios)} neurons and points; {_where(evidence)}")


def linear_correlation(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.8: <grad_{w_{y,r}} g_y(x), v_{y,l}> = sum_{p in P_{y,l}(x)} beta_p if <w_{y,r}, v_{y,l}> >= rho / delta1, y = y_i.

    ``slope`` replaces 1, which is R'(beta c) there.
    """
    p = evidence.parameters
    error, count = 0.0, 0
    for sample in _cases(evidence):
        for i, y in enumerate(sample.labels):
            c = sample.c[y, :, y]
            linear = c >= p.rho / p.delta1
            beta = sample.patches[i, :, y]
            formula = (beta * slope(beta * c[:, None], p.rho, p.alpha)).sum(axis=1)
            if slope is smoothed_relu_derivative:
                formula = np.broadcast_to(beta.sum(axis=0), c.shape)
            for gradient in sample.engine_gradients(i):
                error = _worst(error, _componentwise(gradient[y, :, y][linear], formula[linear]))
            count += int(linear.sum())
    return _decided("Calculation A.8", "<grad g_y(x), v_{y,l}> = sum beta at correlations >= rho / delta1", error, count, evidence)


def erm_gradient(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.9: grad_{w_{y,r}} J = -(1/N) sum_i (1[y_i = y] - phi_y(g(x_i))) grad_{w_{y,r}} g_y(x_i)."""
    error = 0.0
    for sample in _cases(evidence):
        n = len(sample.labels)
        formula, size = np.zeros_like(sample.c), np.zeros_like(sample.c)
        for i in range(n):
            gap, added = sample.soft_gap(sample.patches[i], sample.labels[i], sample.labels[i], sums=True)
            step, weight = sample.network_gradient(sample.patches[i], slope)
            formula -= gap[:, None, None, None] * step / n
            size += added[:, None, None, None] * weight / n
        error = _worst(error, *(_difference(gradient, formula, size) for gradient in sample.engine_losses("erm")))
    statement = "grad J = -(1/N) sum_i (1[y_i = y] - phi_y) grad g_y(x_i): relative difference"
    return at_most("Calculation A.9", statement, error, IDENTITY, _where(evidence))


def midpoint_gradient(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> Verdict:
    """A.10: grad_{w_{y,r}} J_MM = -(1/2N^2) sum_{i,j} (1[y_i = y] + 1[y_j = y] - 2 phi_y(g(z_ij))) grad_{w_{y,r}} g_y(z_ij), i = j included.

    Training makes 2 phi_y(g(z_ij)) equal to 1 for the two classes of a pair, and the round-off of g is all that is left of the difference, on
    either side of the identity. So the error is relative to what is added: the targets and the softmax count each by itself, also for two points of
    one class, because the engine sums the softmax over all partners of a point before it takes the targets away.
    """
    error = 0.0
    for sample in _cases(evidence):
        n = len(sample.labels)
        formula, size = np.zeros_like(sample.c), np.zeros_like(sample.c)
        for i in range(n):
            for j in range(i + 1):  # z_ij = z_ji
                z = (sample.patches[i] + sample.patches[j]) / 2.0
                gap, added = sample.soft_gap(z, sample.labels[i], sample.labels[j], sums=False)
                step, weight = sample.network_gradient(z, slope)
                share = (1 if i == j else 2) / n**2
                formula -= share * gap[:, None, None, None] * step
                size += share * added[:, None, None, None] * weight
        error = _worst(error, *(_difference(gradient, formula, size) for gradient in sample.engine_losses("midpoint")))
    statement = "grad J_MM = -(1/2N^2) sum_{i,j} (1[y_i = y] + 1[y_j = y] - 2 phi_y) grad g_y(z_ij): difference relative to what is added"
    return at_most("Calculation A.10", statement, error, IDENTITY, _where(evidence))


CALCULATIONS: dict[str, Step] = {
    "Calculation A.6": Step("A.6", network_gradient),
    "Calculation A.7 (own feature)": Step("A.7", own_correlation),
    "Calculation A.7 (other features)": Step("A.7", other_correlations),
    "Calculation A.8": Step("A.8", linear_correlation),
    "Calculation A.9": Step("A.9", erm_gradient),
    "Calculation A.10": Step("A.10", midpoint_gradient),
}
"""By the name of the verdict."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample points and a state: c (k, m, k, V), labels (n,), patches (n, P, k, V)."""

    evidence: Evidence
    c: np.ndarray
    labels: np.ndarray
    patches: np.ndarray

    def network_gradient(self, x: np.ndarray, slope: Slope) -> tuple[np.ndarray, np.ndarray]:
        """Return (k, m, k, V): sum_p R'(<w_{y,r}, x^(p)>) x^(p) for patches x (P, k, V), and the sum of the absolute values.

        A pre-activation is a sum, too. Where its terms nearly cancel, its round-off moves R' by more than R' has of its own; then R' counts with as
        much as it moves if the terms are off by `CANCELLED`, in units of `IDENTITY`.
        """
        p, (patches, times) = self.evidence.parameters, _distinct(x)
        magnitudes = abs(patches)
        step, size = np.empty((2, *self.c.shape))
        for y, z in enumerate(self._pre_activations(patches)):
            slopes, error = slope(z, p.rho, p.alpha), CANCELLED * (magnitudes @ np.abs(self.c[y].reshape(len(self.c[y]), -1)).T)
            moved = 0.5 * np.abs(slope(z + error, p.rho, p.alpha) - slope(z - error, p.rho, p.alpha))
            step[y] = (patches.T @ (times * slopes)).T.reshape(step[y].shape)
            size[y] = (magnitudes.T @ (times * np.maximum(np.abs(slopes), moved / IDENTITY))).T.reshape(size[y].shape)
        return step, size

    def _pre_activations(self, patches: csr_array) -> Iterator[np.ndarray]:
        """Yield (u, m) <w_{y,r}, x^(p)> of each class: one fits the caches, all do not. A patch has few features, so that most of it is zeros."""
        return (patches @ weights.reshape(len(weights), -1).T for weights in self.c)

    def soft_gap(self, x: np.ndarray, one: int, other: int, sums: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return (k,): (1[one = y] + 1[other = y]) / 2 - phi_y(g(x)), and the sum of the absolute values of what is added.

        1 - phi_y, if both are y, is the sum of the others, which keeps its digits; ``sums`` says whether the engine adds it up in this way, too, or
        takes phi_y from 1.

        Outputs g_s are sums of terms >= 0, so their errors are at most u g_s for some units u of round-off. From
        d phi_y = phi_y sum_s phi_s (dg_y - dg_s), the terms s = y being 0, phi_y has the error u phi_y sum_{s != y} phi_s (g_y + g_s) besides its
        own round-off. In units of u phi_y is counted with just that, which is as much as it moves if every output is off by u.
        """
        p, (patches, times) = self.evidence.parameters, _distinct(x)
        g = np.array([(times * smoothed_relu(z, p.rho, p.alpha)).sum() for z in self._pre_activations(patches)])
        weights = np.exp(g - g.max())
        phi = weights / weights.sum()
        error = np.array([phi[y] * (1.0 + (np.delete(phi, y) * (g[y] + np.delete(g, y))).sum()) for y in range(len(g))])
        target = np.bincount([one, other], minlength=len(g)) / 2.0
        if one != other:
            return target - phi, target + error
        gap = -phi
        gap[one] = np.delete(phi, one).sum()
        if sums:
            error[one] = np.delete(error, one).sum()
        return gap, error if sums else target + error

    def engine_gradients(self, i: int) -> list[np.ndarray]:
        """Return grad g_y(x_i), (k, m, k, V), from each form of the data."""
        gradients = []
        for data in self._forms([i]):
            kernel = make_kernel(self.evidence.parameters, data, "auto", self.evidence.threads)
            gradients.append(kernel.pull_back(self.c, Unmixed(), np.ones((len(self.c), 1))))
        return gradients

    def engine_losses(self, name: str) -> list[np.ndarray]:
        """Return the gradient of a loss on the few points, from each form of the data."""
        forms = self._forms(np.arange(len(self.labels)))
        return [objective(name, self.evidence.parameters, data, "auto", self.evidence.threads).gradient(self.c) for data in forms]

    def _forms(self, points: Any) -> list[Dataset]:
        """Return some of the points as they are, and as patches without structure."""
        data = self.evidence.data
        forms: list[Dataset] = [Dataset.from_patches(self.labels[points], self.patches[points])]
        if isinstance(data, SharedNoiseDataset):
            names = ("labels", "signal_coefficients", "signal_patches", "pattern_index")
            forms.append(replace(data, **{name: getattr(data, name)[points] for name in names}))
        return forms


def _distinct(x: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Return the different patches (u, k V) among x (P, k, V), and how often each stands there, (u, 1): noise patches of a point are often alike."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1))
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()  # rows as numbers would be sorted a hundred times more slowly
    _, first, times = np.unique(as_bytes, return_index=True, return_counts=True)
    return csr_array(rows[first]), times[:, None]


def _cases(evidence: Evidence) -> Iterator[Sample]:
    data = evidence.data
    labels = data.labels[: _count(evidence)]
    patches = _patches_of_first(data, len(labels))
    for snapshot in _states(evidence):
        yield Sample(evidence, snapshot.c, labels, patches)


def _patches_of_first(data: Dataset, n: int) -> np.ndarray:
    """Return (n, P, k, V): the patches of the first points, without writing out those of the others if that can be."""
    if isinstance(data, SharedNoiseDataset):
        names = ("labels", "signal_coefficients", "signal_patches", "pattern_index")
        return replace(data, **{name: getattr(data, name)[:n] for name in names}).to_patches()
    return data.to_patches()[:n]


def _states(evidence: Evidence) -> list[Snapshot]:
    """Return the last saved state before the final one, unless that is the first, and the final one."""
    return [*evidence.snapshots[1:-1][-1:], evidence.snapshots[-1]]


def _difference(actual: np.ndarray, formula: np.ndarray, size: np.ndarray) -> float:
    """Return max |actual - formula| over the size of what is added."""
    scale = float(size.max())
    return float(np.abs(actual - formula).max()) / (scale if scale > 0.0 else 1.0)


def _worst(*errors: float) -> float:
    """Return the largest error, NaN if any is: max() would lose it."""
    return float(np.max(errors))


def _componentwise(actual: np.ndarray, formula: np.ndarray) -> float:
    """Return the largest relative difference of a component: both are sums of non-negative terms."""
    if not actual.size:
        return 0.0
    scale = np.maximum(np.abs(actual), np.abs(formula))
    return float((np.abs(actual - formula) / np.where(scale > np.finfo(float).tiny, scale, 1.0)).max())


def _decided(name: str, statement: str, error: float, count: int, evidence: Evidence) -> Verdict:
    if not count:
        return not_applicable(name, statement, f"no neuron is in that regime; {_where(evidence)}", IDENTITY)
    return at_most(name, statement, error, IDENTITY, f"{count} neurons, views and points; {_where(evidence)}")


def _where(evidence: Evidence) -> str:
    times = ", ".join(f"{snapshot.time:.4g}" for snapshot in _states(evidence))
    return f"the first {_count(evidence)} training points at t = {times}"


def _count(evidence: Evidence) -> int:
    """Return how many points are taken."""
    p = evidence.parameters
    return min(POINTS if p.k * p.m * p.P <= MANY else POINTS // 2, evidence.data.N)
