"""Which entries of Assumption 4.3 hold literally in a run, and which with another constant or not at all."""

from __future__ import annotations

from mvsim.run import Run
from mvsim.verification.verdict import Verdict, constant

ASSUMED = {
    "d": "Omega(k^20)",
    "P": "Theta(k^2)",
    "C_P": "Theta(1)",
    "m": "Theta(k)",
    "delta1": "Theta(1)",
    "delta2": "Theta(1)",
    "delta3": "Theta(k^-1.5)",
    "delta4": "Theta(k^-1.5)",
    "rho": "Theta(1/k)",
    "alpha": "8",
    "eta": "O(1/poly(k))",
    "N": "sufficiently large",
}
"""Assumption 4.3, entry by entry."""


def assumption_4_3(run: Run) -> Verdict:
    """Report which entries hold with constant 1, and say of the others by how much they differ.

    Where Theta(1) is assumed any value is literal; for the number of points and the step size there is no scale to compare with, so they are
    listed with their value.
    """
    different = {deviation.name: deviation for deviation in run.regime}
    literal = [name for name in ASSUMED if name not in different]
    statements = "; ".join(deviation.statement for deviation in run.regime) or "nothing"
    detail = f"literal: {', '.join(literal)} (N = {run.parameters.N}); different: {statements}"
    return constant("Assumption 4.3", f"fraction of its {len(ASSUMED)} entries that hold literally", len(literal) / len(ASSUMED), detail=detail)
