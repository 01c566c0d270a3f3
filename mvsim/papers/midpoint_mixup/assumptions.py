"""Which entries of Assumption 4.3 hold literally in a run, which with another constant or not at all; and what the proofs use besides."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict, constant
from mvsim.multi_view.parameters import Deviation
from mvsim.multi_view.parameters.models import NETWORK
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

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
}
"""Assumption 4.3, entry by entry. Not counted are those that have no scale to compare with: eta = O(1/poly(k)), and N, which is to be sufficiently
large."""


def assumption_4_3(evidence: Evidence) -> Verdict:
    """Report which entries hold with constant 1, and say of the others by how much they differ.

    Where Theta(1) is assumed any value is literal. The number of points is listed with its value.
    """
    different = {deviation.name: deviation for deviation in evidence.regime}
    literal = [name for name in ASSUMED if name not in different]
    statements = "; ".join(deviation.statement for deviation in evidence.regime) or "nothing"
    detail = f"literal: {', '.join(literal)} (N = {evidence.parameters.N}); different: {statements}"
    statement = f"fraction of its {len(ASSUMED)} entries with a scale to compare with that hold literally"
    return replace(constant("Assumption 4.3", statement, len(literal) / len(ASSUMED), detail=detail), number="4.3", gathered="median")


SMALL = 0.1
"""What counts as much less than 1 in a premise of the proofs."""

FEW_POINTS = 10
"""Points of a class with fewer of which an average over them is none."""


class Premise(NamedTuple):
    """Something that a proof uses, and how a run stands to it."""

    deviation: Deviation  # its name, its value in the run, what is assumed, and both in words
    holds: bool  # whether it holds, with the conventions of this module for "much less"


def premises(evidence: Evidence) -> list[Premise]:
    """Return what the proofs use of a run besides the entries of Assumption 4.3, measured on it.

    `mvsim.Parameters.deviations` lists what parameters alone tell, under names of its own: how they depart from Assumption 4.3 and Definition
    4.1, and why linear models may fit the data ("P delta3", "Q", "G", "N"; Proposition 4.4). None of that is repeated here. What is listed here
    takes the data or the trajectory, except ``r0``: that is what the proofs need of d, rho and m together, and d alone may be smaller than
    assumed.

    =============  ==================================================================================================================
    ``noise``      V Q delta4 max c / rho << 1 at all t: a patch of noise stays in the polynomial part of every neuron (not the parameter ``noise``)
    ``N_y``        every class has points enough for averages over them
    ``r0``         r0^(alpha-2) << rho / log k: a view that is behind has not moved when the first one has been learned
    ``eta``        eta lambda_max << 2: gradient descent follows its flow (not of a flow, which has eta = 0)
    =============  ==================================================================================================================
    """
    of_descent = []
    if step := evidence.run.provenance["integrator"].get("learning_rate"):
        turning = float(step) * float(evidence.sharpness[np.isfinite(evidence.sharpness)].max(initial=0.0))
        of_descent = [_premise("eta", f"{turning:.3g}", "<< 2", f"eta lambda_max reaches {turning:.3g} instead of << 2", turning <= 2.0 * SMALL)]
    if evidence.parameters.model != NETWORK.name:  # a linear model has neither noise nor a threshold
        return of_descent
    p, loud = evidence.parameters, noise(evidence)
    beyond = np.flatnonzero(loud > 1.0)
    when = f", above 1 from t = {evidence.times[beyond[0]]:.3g}" if len(beyond) else ""
    points = int(evidence.class_sizes.min())
    start = p.r0 ** (p.alpha - 2.0) * evidence.log_k / p.rho
    return [
        _premise("noise", f"{loud.max():.3g}", "<< 1", f"V Q delta4 max c / rho reaches {loud.max():.3g} instead of << 1{when}", loud.max() <= SMALL),
        _premise("N_y", f"{points}", "large", f"the smallest class has {points} of {p.N} points", points >= FEW_POINTS),
        _premise("r0", f"{start:.3g}", "<< 1", f"r0^(alpha-2) log k / rho = {start:.3g} instead of << 1 (r0 = {p.r0:.3g})", start <= SMALL),
        *of_descent,
    ]


def noise(evidence: Evidence) -> np.ndarray:
    """Return (T,): V Q delta4 max c / rho, above 1 where a patch of noise can be in the linear part of the activation."""
    p, largest = evidence.parameters, np.maximum(evidence.max_correlation.max(axis=(1, 2)), evidence.off_diagonal_max.max(axis=1))
    return np.asarray(p.V * p.Q * p.delta4 * largest / p.rho)


def _premise(name: str, value: str, assumed: str, statement: str, holds: bool) -> Premise:
    return Premise(Deviation(name, value, assumed, statement), bool(holds))


def departures(evidence: Evidence) -> list[Deviation]:
    """Return all ways in which a run departs from what the theorems and their proofs use: those before it and those measured on it."""
    return [*evidence.regime, *(premise.deviation for premise in premises(evidence) if not premise.holds)]


def premises_of_the_proofs(evidence: Evidence) -> Verdict:
    """Report which of `premises` hold."""
    results = premises(evidence)
    holding = [premise.deviation.name for premise in results if premise.holds]
    others = "; ".join(premise.deviation.statement for premise in results if not premise.holds) or "nothing"
    statement = (
        f"fraction of {len(results)} premises of the proofs, beyond Assumption 4.3, that hold in the run; {SMALL:g} stands for << 1, a convention"
    )
    detail = f"hold: {', '.join(holding) or 'none'}; otherwise: {others}"
    return replace(constant("Premises", statement, len(holding) / len(results), detail=detail), gathered="median")
