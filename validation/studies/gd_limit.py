"""Gradient descent tends to the gradient flow as eta -> 0, with an error of first order in eta, through an escape.

Fails unless the slope of log error over log eta is 1 +- 0.1 for ERM and midpoint, and unless the flow's own estimate of the eta that keeps
gradient descent within 1 % does what it says: at that eta, the escape comes within 1 % of its time. Control: against a flow that is wrong by
1 % the errors do not fall with eta, and the slope is not 1. The picture is figures/gd-limit.png.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import mvsim
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.style import MARK, METHODS, styled

TITLE = "Gradient descent and the flow"

PARAMETERS = mvsim.Parameters(k=3, m=3, N=60, P=25, d=20)
T_END = {"erm": 400.0, "midpoint": 9500.0}
ETAS = (4.0, 2.0, 1.0, 0.5, 0.25)
SLOPE = (0.9, 1.1)


def final(method: str, **options: Any) -> mvsim.Run:
    """Return a run to the end that its method has here."""
    return mvsim.simulate(PARAMETERS, method, t_end=T_END[method], n_test=4, **options)


def compare(method: str) -> dict[str, Any]:
    """Compare gradient descent at several step sizes with the flow."""
    flow = final(method, rtol=1e-8)
    reference = flow.final_correlations
    descents = [final(method, integrator="gd", eta=eta).final_correlations for eta in ETAS]
    errors, slope = _convergence(descents, reference)
    control = _convergence(descents, 1.01 * reference)[1]
    escaped = int(np.isfinite(flow.dataset["entry_time"]).sum())
    estimate = float(flow.provenance["faithful_eta"])
    first = float(np.nanmin(flow.dataset["entry_time"]))
    descent = final(method, integrator="gd", eta=T_END[method] / np.ceil(T_END[method] / estimate))
    relative = abs(float(np.nanmin(descent.dataset["entry_time"])) / first - 1.0)
    row = {
        "t_end": T_END[method],
        "escaped": escaped,
        "etas": ETAS,
        "errors": errors,
        "slope": slope,
        "control_slope": control,
        "faithful_eta": estimate,
        "first_escape": first,
        "first_escape_at_faithful_eta_off_by": relative,
    }
    return row | {"ok": not faults(method, row)}


def faults(method: str, row: dict[str, Any]) -> list[str]:
    """Return what is wrong with one method."""
    conditions = {
        f"the slope {row['slope']:.3f} lies outside {SLOPE}": SLOPE[0] <= row["slope"] <= SLOPE[1],
        f"the control has slope {row['control_slope']:.3f}, as if the flow were right": not SLOPE[0] <= row["control_slope"] <= SLOPE[1],
        "no neuron escapes": row["escaped"] > 0,
        f"the first escape is off by {row['first_escape_at_faithful_eta_off_by']:.2g} at the faithful eta": row["first_escape_at_faithful_eta_off_by"]
        <= 0.01,
    }
    return [f"{method}: {fault}" for fault, holds in conditions.items() if not holds]


def _convergence(descents: list[np.ndarray], reference: np.ndarray) -> tuple[list[float], float]:
    """Return the distance of each from the reference, relative, and the slope of its logarithm over that of eta, for the small ones."""
    errors = [float(np.linalg.norm(c - reference) / np.linalg.norm(reference)) for c in descents]
    return errors, float(np.polyfit(np.log(ETAS[2:]), np.log(errors[2:]), 1)[0])


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    with styled():
        figure = Figure(figsize=(3.3, 2.9))
        axes = figure.subplots()
        for method, marker in (("erm", "o"), ("midpoint", "s")):
            row, colour = results[method], METHODS[method]
            axes.loglog(row["etas"], row["errors"], color=colour, marker=marker, markersize=3.5)
            place, style = (row["etas"][2], row["errors"][2]), {"fontsize": 7, "color": colour, "ha": "right", "va": "bottom"}
            axes.annotate(f"{METHOD_NAMES[method]}\nslope {row['slope']:.2f}", place, xytext=(-2, 5), textcoords="offset points", **style)
        axes.margins(y=0.12)
        axes.set_xticks(ETAS, [f"{eta:g}" for eta in ETAS])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(r"step size $\eta$ of gradient descent")
        axes.set_ylabel("relative distance from the flow")
        figure.suptitle("Gradient descent departs from the flow\nin proportion to its step size", fontsize=9, x=0.01, ha="left")
        (k, m, N) = (PARAMETERS.k, PARAMETERS.m, PARAMETERS.N)
        note = f"$k$ = {k}, $m$ = {m}, $N$ = {N}; all correlations\nat t = {T_END['erm']:g} (ERM), {T_END['midpoint']:g} (Midpoint Mixup)."
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return {"gd-limit": figure}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results = {method: compare(method) for method in T_END}
    return {"ok": all(row["ok"] for row in results.values()), **results}


def judge(results: dict[str, Any]) -> list[str]:
    return [fault for method in T_END for fault in faults(method, results[method])]


def headline(results: dict[str, Any]) -> str:
    slopes = " and ".join(f"eta^{results[method]['slope']:.2f} ({METHOD_NAMES[method]})" for method in T_END)
    return f"The distance of gradient descent from the flow goes as {slopes}"


def passage(results: dict[str, Any]) -> str:
    off = max(results[method]["first_escape_at_faithful_eta_off_by"] for method in T_END)
    return (
        "![Distance of gradient descent from the flow](../figures/gd-limit.png)\n\n"
        f"At the step size at which a flow run says that gradient descent follows it to 1 %, the first escape is off by at most {100 * off:.2g} %.\n"
    )
