"""What the theorems and the claims of their proofs speak of: two views of a class, trained by the cross-entropy."""

from __future__ import annotations

from mvsim.errors import UsageError
from mvsim.losses import CrossEntropy
from mvsim.parameters import Parameters
from mvsim.run import Run
from mvsim.verification.statements.theorems import THEOREMS
from mvsim.verification.verdict import Verdict, constant


def check_two_views(parameters: Parameters, where: str = "") -> None:
    """Raise `UsageError` if classes have another number of views than the theorems speak of."""
    if parameters.V != 2:
        raise UsageError(f"{where}V={parameters.V}: Theorems {' and '.join(THEOREMS)} are about two views of a class, V=2")


def check_premises(run: Run, where: str = "") -> None:
    """Raise `UsageError` if the theorems do not speak of a run."""
    check_two_views(run.parameters, where)
    if run.loss != CrossEntropy.name:
        raise UsageError(f"{where}loss={run.loss}: Theorems {' and '.join(THEOREMS)} are about the loss {CrossEntropy.name}")


def beside(run: Run) -> str | None:
    """Return how a run differs from all that the theorems speak of, None if it does not."""
    differences = [f"V = {run.parameters.V}"] if run.parameters.V != 2 else []
    differences += [f"loss = {run.loss}"] if run.loss != CrossEntropy.name else []
    return ", ".join(differences) or None


def not_applicable(theorem: str, why: str) -> Verdict:
    """Report that a theorem and the claims of its proof say nothing about a run."""
    statement = "it and the claims of its proof are about two views of a class, trained by the cross-entropy"
    return constant(f"Theorem {theorem}", statement, None, detail=f"not applicable: {why}")
