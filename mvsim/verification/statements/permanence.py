"""How long the theorems are foretold to stay true in a run: "for all later t = O(poly(k))" as a time and a power of k.

What is said here is foretold from trends over the last factor of time (`mvsim.verification.evidence.permanence`), with the error of the fit. It is
measured, and decides nothing: up to its end a run has been followed, beyond it has not.
"""

from __future__ import annotations

import numpy as np

from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.evidence.permanence import FEWEST, foretold_escapes, trend
from mvsim.verification.statements.definition import Learned
from mvsim.verification.statements.theorems import ONE_FEATURE
from mvsim.verification.verdict import Verdict, constant, not_applicable


def permanence(evidence: Evidence, learned: Learned, theorem: str) -> list[Verdict]:
    """Return how long what a theorem says of a run is foretold to stay true."""
    undone = [nothing_undoes_it(evidence, theorem)]
    return [one_feature_stays(evidence, learned), *undone] if theorem == "4.6" else undone


def one_feature_stays(evidence: Evidence, learned: Learned) -> Verdict:
    """Theorem 4.6: the power C of k such that exactly one feature is foretold to stay learned in (1 - o(1)) k classes up to t = k^C.

    That ends when one class more than there may be has learned both. The detail has the first escape of any unlearned view.
    """
    name = "Theorem 4.6 (permanence)"
    statement = f"the power C of k such that the views that are not learned are foretold to stay so, in {ONE_FEATURE:g} k classes, up to t = k^C"
    p = evidence.parameters
    if p.alpha <= 2.0:
        return not_applicable(name, statement, "at alpha <= 2 there is no dormant view whose escape could be foretold")
    foretold = foretold_escapes(evidence)
    if foretold.records < FEWEST:
        return not_applicable(name, statement, f"{foretold.records} records since things settled; {FEWEST} are needed")
    one = learned.by_definition.sum(axis=1) == 1
    if not one.any():
        return not_applicable(name, statement, "no class has exactly one feature")
    waiting = np.where(~learned.by_definition & ~np.isnan(foretold.log_time), foretold.log_time, np.inf)[one].min(axis=1)
    order, classes = np.argsort(waiting), np.flatnonzero(one)
    allowed = int(one.sum() - np.ceil(ONE_FEATURE * p.k - 1e-9))
    last = float(waiting[order[max(allowed, 0)]]) if allowed < len(order) else np.inf
    first = int(classes[order[0]])
    view = int(np.nanargmin(np.where(np.isnan(foretold.log_time[first]), np.inf, foretold.log_time[first])))
    error = float(foretold.error[first, view]) / np.log(10.0)
    decades = float(waiting[order[0]]) / np.log(10.0)
    escape = f"the first escapes at t = 10^{decades:.4g}, +- {error:.2g} decades by the fit, class {first}"
    escape = escape if np.isfinite(decades) else "none is on its way to escape"
    detail = f"{int(one.sum())} classes have one feature; {escape}; {_reached(evidence)}; {foretold.records} records fitted"
    return constant(name, statement, last / evidence.log_k, detail=detail)


def nothing_undoes_it(evidence: Evidence, theorem: str) -> Verdict:
    """Theorems 4.6 and 4.7: the power C of k up to which nothing is foretold to undo training accuracy.

    The least own output on a training point of a class minus the largest other output on one, the smallest of all classes, is followed in ln t. While
    it is positive, training accuracy is 1. The detail follows V Q delta4 max c / rho, too: above 1 a patch of noise enters the linear regime and
    speaks for its own classes, and that is what could turn the trend.
    """
    name = f"Theorem {theorem} (what could undo it)"
    statement = "the power C of k such that outputs on training points are foretold to keep their order up to t = k^C"
    p = evidence.parameters
    margin = np.nanmin(evidence.own_output_min - evidence.other_output_max, axis=1)
    largest = np.maximum(evidence.max_correlation.max(axis=(1, 2)), evidence.off_diagonal_max.max(axis=1))
    noise = p.V * p.Q * p.delta4 * largest / p.rho
    if not margin[-1] > 0.0:
        return not_applicable(name, statement, f"they do not have it now: the least margin is {margin[-1]:.4g}")
    fitted = trend(evidence, np.stack([margin, noise], axis=1))
    if np.isnan(fitted.slope).any():
        return not_applicable(name, statement, f"{fitted.records} records since things settled; {FEWEST} are needed")
    lost, loud = float(fitted.crossing(0.0)[0][0]), float(fitted.crossing(1.0)[0][1]) if noise[-1] < 1.0 else -np.inf
    detail = (
        f"least margin {margin[-1]:.4g}, changing by {fitted.slope[0]:.3g} per factor e of time, gone {_when(lost)}; "
        f"V Q delta4 max c / rho = {noise[-1]:.3g}, changing by {fitted.slope[1]:.3g}, above 1 {_when(loud)}; {_reached(evidence)}"
    )
    return constant(name, statement, lost / evidence.log_k, detail=detail)


def _when(log_time: float) -> str:
    """Say when something is foretold, given ln t."""
    return "already" if log_time == -np.inf else f"at t = 10^{log_time / np.log(10.0):.4g}" if np.isfinite(log_time) else "never"


def _reached(evidence: Evidence) -> str:
    """Say how far the run was followed."""
    decades = np.log10(max(float(evidence.times[-1]), 1e-300))
    return f"followed to t = 10^{decades:.3g} = k^{decades * np.log(10.0) / evidence.log_k:.3g}"
