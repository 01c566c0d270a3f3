"""Calculations A.6 to A.10 on a few points of a run: the engine against the formulas, written with explicit patches.

Both see the first `POINTS` training points and their pairs, at the final and at one earlier saved state. The right-hand sides know patches only
(`mvsim.papers.midpoint_mixup.calculations.explicit_patches`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mvsim.judging.verdict import Verdict, at_most, constant, not_applicable
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu_derivative
from mvsim.numerics.logarithms import LARGEST_LOGARITHM
from mvsim.papers.midpoint_mixup.calculations.explicit_patches import IDENTITY, Sample, Slope, patches_of_first
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot
from mvsim.papers.midpoint_mixup.steps import Step, by_name

POINTS = 6

MANY = 1e6
"""Pre-activations of a point, k m P, beyond which half of them have to do: every pair of points is evaluated patch by patch."""


def calculations(evidence: Evidence, slope: Slope = smoothed_relu_derivative) -> list[Verdict]:
    """Check every calculation."""
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
    """A.7, first line: if no <w_{y,r}, v_{u,l}> reaches rho / (delta2 - delta1), <grad g_y(x), v_{y,l}> = sum_p beta_p^alpha (c / rho)^(alpha-1).

    Here c = <w_{y,r}, v_{y,l}>, y = y_i, and p in P_{y,l}(x). A correlation c < 0 counts as 0: R' vanishes there, which the paper leaves unsaid.
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


CALCULATIONS = by_name(
    Step("calculation", "A.6", network_gradient),
    Step("calculation", "A.7", own_correlation, "own feature"),
    Step("calculation", "A.7", other_correlations, "other features"),
    Step("calculation", "A.8", linear_correlation),
    Step("calculation", "A.9", erm_gradient),
    Step("calculation", "A.10", midpoint_gradient),
)
"""By the name of the verdict."""


def _cases(evidence: Evidence) -> Iterator[Sample]:
    data = evidence.data
    labels = data.labels[: _count(evidence)]
    patches = patches_of_first(data, len(labels))
    for snapshot in _states(evidence):
        yield Sample(evidence, snapshot.c, labels, patches)


def _states(evidence: Evidence) -> list[Snapshot]:
    """Return the last saved state before the final one, unless that is the first, and the final one."""
    return [*evidence.snapshots[1:-1][-1:], evidence.snapshots[-1]]


def _difference(actual: np.ndarray, formula: np.ndarray, size: np.ndarray) -> float:
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
    p = evidence.parameters
    return min(POINTS if p.k * p.m * p.P <= MANY else POINTS // 2, evidence.data.N)
