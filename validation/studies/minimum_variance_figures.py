"""The figures of the paper on minimum-variance features, how long the high-variance feature is remembered, and how much weight decay brings it back.

Label smoothing forgets w_H at the rate of the least eigenvalue of the Hessian at the minimiser, eps (1 - eps) lambda_min(E x x^T). It is small where
both features have means that are large beside their deviations. Measured is the slope of log |w_H| along the population gradient flow from 0, on
Definition 4.1 with gamma = 0.1 and U[0.2, 1], against that eigenvalue. So is the weight decay at which |w_L| = |w_H| beside label smoothing and
Mixup.

Fails unless the slope is that eigenvalue to 1 %, training at the fast rate ends within 0.1 of the exact minimiser under weight decay, and at the slow
rate does not forget w_H under Mixup. Control: without label smoothing w_H grows. Pictures are figures/minimum-variance-1.png and -2, -3, -6, -7.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from lib.tables import table
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from mvsim.papers.minimum_variance import Distribution, definition_4_1, minimiser
from mvsim.papers.minimum_variance.figures import FAST, GAMMA, HIGH, LOW, POINTS, SLOW, figure_1, figure_2, figure_3, figure_6, figure_7
from mvsim.papers.minimum_variance.minimisers import loss_of
from mvsim.papers.minimum_variance.training import Protocol, exact, samples

TITLE = "Minimum-variance features: figures and times"

SMOOTHINGS = (0.0125, 0.025, 0.05, 0.1, 0.2)
ALPHAS = (0.2, 1.0, 4.0)
FIGURES = {"1": figure_1, "2": figure_2, "3": figure_3, "6": figure_6, "7": figure_7}


def forgetting(d: Distribution, eps: float) -> dict[str, float]:
    """Return the least eigenvalue at the minimiser, and how the population gradient flow from 0 forgets w_H."""
    loss = loss_of(d, 0.0, eps, None, False, 24)
    least = float(np.linalg.eigvalsh(loss.derivatives(np.array([np.linalg.norm(minimiser(d, smoothing=eps).w_L), 0.0]))[1])[0])
    times = np.concatenate([[0.0], np.geomspace(1.0, 12.0 / least, 2000)])
    flow = solve_ivp(
        lambda t, w: -loss.derivatives(w)[0],
        (0.0, times[-1]),
        np.zeros(2),
        method="Radau",
        t_eval=times,
        jac=lambda t, w: -loss.derivatives(w)[1],
        rtol=1e-8,
        atol=1e-12,
    )
    w_H, peak = np.abs(flow.y[1]), int(np.argmax(np.abs(flow.y[1])))
    late = times >= 8.0 / least
    slope = -float(np.polyfit(times[late], np.log(w_H[late]), 1)[0])
    return {"eigenvalue": least, "slope": slope, "peak": float(w_H[peak]), "forgotten": float(times[peak:][w_H[peak:] <= 0.01 * w_H[peak]][0])}


def even_decay(d: Distribution, **augmentation: Any) -> float:
    """Return the weight decay at which |w_L| = |w_H| beside an augmentation; above it w_H is the larger."""

    def difference(exponent: float) -> float:
        found = minimiser(d, decay=10.0**exponent, **augmentation)
        return float(np.linalg.norm(found.w_H) - np.linalg.norm(found.w_L))

    return float(10.0 ** brentq(difference, -8.0, 1.0, xtol=1e-6))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    d, protocol = definition_4_1(GAMMA, LOW, HIGH), Protocol()
    x, y = samples(d, protocol.runs, POINTS)
    ends = {}
    for rate in (SLOW, FAST):
        trained = protocol.train(x, y, rate)
        ends[f"{rate:g}"] = {method: np.linalg.norm(w[..., 5:], axis=-1).mean(axis=1).tolist() for method, w in trained.items()}
    exact_norms = [float(np.linalg.norm(exact(d, "decay", strength)[1])) for strength in protocol.strengths("decay")[1:]]
    for number, draw in FIGURES.items():
        options.figures.save(f"minimum-variance-{number}", draw())
    smoothed = {f"label smoothing, eps = {eps:g}": even_decay(d, smoothing=eps) for eps in SMOOTHINGS}
    mixed = {f"Mixup, Beta({a:g}, {a:g})": even_decay(d, mixing={"distribution": "beta", "args": [a, a]}) for a in ALPHAS}
    return {
        "forgetting": {f"{eps:g}": forgetting(d, eps) for eps in SMOOTHINGS},
        "even_decay": smoothed | mixed,
        "ends": ends,
        "exact_decay": exact_norms,
    }


def judge(results: dict[str, Any]) -> list[str]:
    faults = [
        f"eps = {eps}: w_H is forgotten at {row['slope'] / row['eigenvalue']:.4f} times the least eigenvalue"
        for eps, row in results["forgetting"].items()
        if abs(row["slope"] / row["eigenvalue"] - 1.0) > 0.01
    ]
    off = max(abs(a - b) for a, b in zip(results["ends"][f"{FAST:g}"]["decay"][1:], results["exact_decay"], strict=True))
    if off > 0.1:
        faults.append(f"weight decay: training at rate {FAST:g} ends {off:.3g} from the exact minimiser")
    if min(results["ends"][f"{SLOW:g}"]["mixup"]) < 1.0:
        faults.append(f"Mixup: training at rate {SLOW:g} forgets w_H in 100 epochs")
    if not results["ends"][f"{FAST:g}"]["smoothing"][0] > 5.0:
        faults.append("without label smoothing w_H does not grow")
    return faults


def headline(results: dict[str, Any]) -> str:
    row = results["forgetting"]["0.05"]
    return (
        f"Label smoothing learns w_H first and forgets it at the rate of the least eigenvalue: to 1 % at t = {row['forgotten']:.3g}, eps = 0.05; "
        f"in 100 epochs of Adam at rate {SLOW:g} nothing separates"
    )


def passage(results: dict[str, Any]) -> str:
    heads = ["eps", "least eigenvalue", "slope of log w_H over it", "largest w_H", "t at 1 % of that"]
    rows = [
        [eps, f"{r['eigenvalue']:.4g}", f"{r['slope'] / r['eigenvalue']:.5f}", f"{r['peak']:.3f}", f"{r['forgotten']:.4g}"]
        for eps, r in results["forgetting"].items()
    ]
    even = table(["beside", "weight decay at which w_L and w_H have the same norm"], [[n, f"{v:.3g}"] for n, v in results["even_decay"].items()])
    drawn = "".join(f"![Figure {number}](../figures/minimum-variance-{number}.png)\n\n" for number in ("1", "2", "3"))
    return f"{drawn}Population gradient flow from 0 under label smoothing:\n\n{table(heads, rows)}\nWeight decay brings w_H back:\n\n{even}"
