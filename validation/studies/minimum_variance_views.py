"""Which of two views a two-layer network learns under weight decay, label smoothing, Mixup and Midpoint Mixup, if one view varies less.

The paper on minimum-variance features predicts for linear models that label smoothing and Mixup learn the view of least variance, whatever its mean,
and that weight decay does not. Measured is the share of squared correlations of own classes, of those that are positive, that lies in view 1. There
are ten seeds, and three laws of the coefficients:

  unequal    view 1 has coefficient 1, view 2 is uniform on [0.4, 1.6], drawn for each patch
  stronger   the same with view 2 on [0.7, 2.3]: it varies more and is larger
  mirrored   Definition 4.1: beta_1 uniform, beta_2 = delta2 - beta_1; both views vary alike, their sum does not vary

Fails unless, by 95 % intervals over seeds, label smoothing and Midpoint Mixup have more than 0.6 in view 1 for both unequal laws, weight decay has
less than label smoothing, and no method has less than 0.4 or more than 0.6 where the law is mirrored. The control is the mirrored law itself: what
prefers view 1 there would prefer it by its number. The picture is figures/minimum-variance-views.png.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import t as student

import mvsim
from mvsim.pictures.style import FIRST, MARK, SECOND, styled

TITLE = "Which view is learned: label augmentation in a network"

PROBLEM = {"k": 5, "m": 10, "alpha": 4, "rho": 0.2, "N": 100, "P": 10, "C_P": 1, "d": 100, "G": 25}
ETA, STEPS, SEEDS = 2.0, 1500, 10
LAWS: dict[str, Any] = {
    "unequal": {"kind": "separate", "ranges": [[1.0, 1.0], [0.4, 1.6]]},
    "stronger": {"kind": "separate", "ranges": [[1.0, 1.0], [0.7, 2.3]]},
    "mirrored": {"kind": "uniform"},
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ERM": ("erm", {}),
    "weight decay 0.001": ("erm", {"weight_decay": 1e-3}),
    "label smoothing 0.1": ("erm", {"label_smoothing": 0.1}),
    "Mixup": ("mixup", {"nodes": 8}),
    "Midpoint Mixup": ("midpoint", {}),
}
PREFERS, EVEN = 0.6, (0.4, 0.6)


def share_of_first_view(law: Any, method: str, options: dict[str, Any], seed: int) -> tuple[float, float]:
    """Return the share of squared correlations in view 1, and the training accuracy."""
    p = mvsim.Parameters(**PROBLEM, beta_law=law)
    run = mvsim.simulate(p, method, seed=seed, integrator="gd", eta=ETA, t_end=ETA * STEPS, n_test=2, **options)
    own = np.maximum(run.final_correlations[np.arange(p.k), :, np.arange(p.k)], 0.0)
    of_views = (own**2).sum(axis=(0, 1))
    return float(of_views[0] / of_views.sum()), float(run.dataset["training_accuracy"][-1])


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of each method under each law")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    rows = {}
    for law, of_beta in LAWS.items():
        for name, (method, more) in METHODS.items():
            both = [share_of_first_view(of_beta, method, more, seed) for seed in range(options.seeds)]
            shares = np.array([share for share, _ in both])
            half = float(student.ppf(0.975, len(shares) - 1)) * float(shares.std(ddof=1)) / math.sqrt(len(shares))
            mean = float(shares.mean())
            accuracy = min(accuracy for _, accuracy in both)
            rows[f"{law}, {name}"] = {"shares": shares.tolist(), "mean": mean, "interval": [mean - half, mean + half], "accuracy": accuracy}
    return {"seeds": options.seeds, "rows": rows}


def judge(results: dict[str, Any]) -> list[str]:
    rows, faults = results["rows"], []
    for law in ("unequal", "stronger"):
        for name in ("label smoothing 0.1", "Midpoint Mixup"):
            if not rows[f"{law}, {name}"]["interval"][0] > PREFERS:
                faults.append(f"{law}: {name} does not prefer the view of less variance")
        if not rows[f"{law}, weight decay 0.001"]["interval"][1] < rows[f"{law}, label smoothing 0.1"]["interval"][0]:
            faults.append(f"{law}: weight decay prefers the view of less variance as much as label smoothing")
    for name in METHODS:
        low, high = rows[f"mirrored, {name}"]["interval"]
        if high < EVEN[0] or low > EVEN[1]:
            faults.append(f"mirrored: {name} prefers a view by its number")
    return faults


def headline(results: dict[str, Any]) -> str:
    rows = results["rows"]
    smoothed, midpoint, decayed = (rows[f"unequal, {name}"]["mean"] for name in ("label smoothing 0.1", "Midpoint Mixup", "weight decay 0.001"))
    return (
        f"A network puts {smoothed:.2f} (label smoothing) and {midpoint:.2f} (Midpoint Mixup) of its squared correlations "
        f"into the view of less variance, {decayed:.2f} under weight decay"
    )


def passage(results: dict[str, Any]) -> str:
    lines = ["| share of view 1 | " + " | ".join(LAWS) + " |", "|-" * (len(LAWS) + 1) + "|"]
    for name in METHODS:
        cells = [results["rows"][f"{law}, {name}"] for law in LAWS]
        lines.append(f"| {name} | " + " | ".join(f"{c['mean']:.3f} [{c['interval'][0]:.3f}, {c['interval'][1]:.3f}]" for c in cells) + " |")
    table = "\n".join(lines)
    return (
        "![Share of the view that varies less](../figures/minimum-variance-views.png)\n\n"
        f"Means over {results['seeds']} seeds with 95 % intervals, after {STEPS} steps of gradient descent with eta = {ETA:g}; "
        f"{', '.join(f'{name} = {value:g}' for name, value in PROBLEM.items())}.\n\n{table}\n"
    )


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    colours = {"unequal": FIRST, "stronger": SECOND, "mirrored": MARK}
    labels = {"unequal": "on [0.4, 1.6]", "stronger": "on [0.7, 2.3]", "mirrored": "1 - view 1"}
    with styled():
        figure = Figure(figsize=(3.3, 3.2))
        axes = figure.subplots()
        for number, law in enumerate(LAWS):
            cells = [results["rows"][f"{law}, {name}"] for name in METHODS]
            heights = np.arange(len(METHODS)) + 0.2 * (1 - number)
            errors = [cell["interval"][1] - cell["mean"] for cell in cells]
            means = [cell["mean"] for cell in cells]
            axes.errorbar(means, heights, xerr=errors, fmt="os^"[number], color=colours[law], markersize=4, label=labels[law])
        axes.axvline(0.5, color=MARK, linewidth=0.6, linestyle=":")
        axes.set_yticks(range(len(METHODS)), list(METHODS))
        axes.invert_yaxis()
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("share of squared correlations in view 1\n(coefficient 1, in the mirrored law uniform)")
        axes.legend(loc="lower left", title="View 2:", alignment="left", borderaxespad=0.2, handletextpad=0.2, handlelength=1.2)
        figure.suptitle("Label smoothing and both Mixups prefer\nthe view that varies less", fontsize=9, x=0.01, ha="left")
        return {"minimum-variance-views": figure}
