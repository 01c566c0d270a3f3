"""Gradient descent tends to the gradient flow as eta -> 0, with an error of first order in eta, through an escape.

    python validation/gd_limit.py        # writes validation/results/gd_limit.json and figures/gd-limit.png

Exits 1 unless the slope of log error over log eta is 1 +- 0.1 for ERM and midpoint, and unless the flow's own estimate of the eta that keeps
gradient descent within 1 % does what it says: at that eta, the escape comes within 1 % of its time. Control: against a flow that is wrong by
1 % the errors do not fall with eta, and the slope is not 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

import mvsim
from mvsim.plotting import save_figure
from mvsim.plotting.style import STRONG, WEAK, styled

HERE = Path(__file__).resolve().parent
PARAMETERS = mvsim.Parameters(k=3, m=3, N=60, P=25, d=20)
T_END = {"erm": 400.0, "midpoint": 9500.0}
ETAS = (4.0, 2.0, 1.0, 0.5, 0.25)
SLOPE = (0.9, 1.1)


def final(method: str, **options: Any) -> mvsim.Run:
    """Return a run to the end that its method has here."""
    return mvsim.simulate(PARAMETERS, method, t_end=T_END[method], n_test=4, **options)


def study(method: str) -> dict[str, Any]:
    """Compare gradient descent at several step sizes with the flow."""
    flow = final(method, rtol=1e-8)
    reference = flow.final_correlations
    found = [final(method, integrator="gd", eta=eta).final_correlations for eta in ETAS]
    errors, slope = _convergence(found, reference)
    control = _convergence(found, 1.01 * reference)[1]
    escaped = int(np.isfinite(flow.dataset["escape_time"]).sum())
    estimate = float(flow.provenance["faithful_eta"])
    first = float(np.nanmin(flow.dataset["escape_time"]))
    descent = final(method, integrator="gd", eta=T_END[method] / np.ceil(T_END[method] / estimate))
    relative = abs(float(np.nanmin(descent.dataset["escape_time"])) / first - 1.0)
    return {
        "t_end": T_END[method],
        "escaped": escaped,
        "etas": ETAS,
        "errors": errors,
        "slope": slope,
        "control_slope": control,
        "faithful_eta": estimate,
        "first_escape": first,
        "first_escape_at_faithful_eta_off_by": relative,
        "ok": bool(SLOPE[0] <= slope <= SLOPE[1] and not SLOPE[0] <= control <= SLOPE[1] and escaped > 0 and relative <= 0.01),
    }


def _convergence(found: list[np.ndarray], reference: np.ndarray) -> tuple[list[float], float]:
    """Return the distance of each from the reference, relative, and the slope of its logarithm over that of eta, for the small ones."""
    errors = [float(np.linalg.norm(c - reference) / np.linalg.norm(reference)) for c in found]
    return errors, float(np.polyfit(np.log(ETAS[2:]), np.log(errors[2:]), 1)[0])


def picture(found: dict[str, Any]) -> Figure:
    """Draw errors over eta."""
    with styled():
        figure = Figure(figsize=(3.4, 2.6))
        axes = figure.subplots()
        for (method, result), colour, marker in zip(found.items(), (WEAK, STRONG), "os", strict=True):
            label = f"{method}: slope {result['slope']:.3f}"
            axes.loglog(result["etas"], result["errors"], color=colour, marker=marker, markersize=3.5, label=label)
        axes.set_xticks(ETAS, [f"{eta:g}" for eta in ETAS])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("step size of gradient descent")
        axes.set_ylabel("relative distance from the flow")
        axes.legend()
        return figure


def main() -> int:
    """Measure, draw, write, and return the exit code."""
    found = {method: study(method) for method in T_END}
    ok = all(result["ok"] for result in found.values())
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "gd_limit.json").write_text(json.dumps({"ok": ok, **found}, indent=1) + "\n", encoding="utf-8")
    save_figure(picture(found), HERE.parent / "figures" / "gd-limit.png", force=True)
    (HERE.parent / "figures" / "gd-limit.txt").write_text("gd-limit.png is made by: python validation/gd_limit.py\n", encoding="utf-8")
    for method, result in found.items():
        print(f"{method}: slope {result['slope']:.3f}, errors {result['errors']}, faithful eta {result['faithful_eta']:.3g}: "
              f"first escape off by {result['first_escape_at_faithful_eta_off_by']:.1e}")  # fmt: skip
    print(f"first order in eta, and as faithful as foretold: {'holds' if ok else 'FAILS'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
