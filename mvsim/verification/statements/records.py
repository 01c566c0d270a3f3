"""Records that belong to each other and to the states that were saved.

What is recorded of a saved state is evaluated again from its correlations, with the parameters and the seed of the file. What is a function of own
correlations, which every record has, is formed again at every record.
"""

from __future__ import annotations

import numpy as np

from mvsim.integrators import State
from mvsim.recording.feature_test import FeatureTest
from mvsim.recording.observation import Observation
from mvsim.recording.variables import When, variables_of
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.verdict import Verdict, at_most, not_applicable

RECOMPUTED = 1e-4
"""Most relative difference between what is recorded and what is evaluated again. Another kernel or number of threads changes round-off alone, which
cancellation in the gradient of mixed points raises to 1e-7 at most in what was seen."""

ROUND_OFF = 1e-12
"""The same of sums and maxima of recorded own correlations."""

NOT_OF_THE_STATE = ("time", "step", "dissipation", "log_dissipation", "sharpness", "turning_rate")
"""What a state alone does not tell, or only with many products with the Hessian."""


def recomputed(evidence: Evidence) -> Verdict:
    """Evaluate all that was recorded of saved states again: the largest difference, relative to the largest value, at most `RECOMPUTED`."""
    run, p = evidence.run, evidence.parameters
    name, statement = "Records (recomputed)", "what was recorded of saved states, evaluated again: largest relative difference"
    steps = run.dataset["step"].to_numpy()
    test = FeatureTest(p, run.provenance["options"]["n_test"], run.seed, evidence.threads)
    variables = {name: variable for name, variable in variables_of(When.RECORD).items() if name not in NOT_OF_THE_STATE}
    worst, count, broken = (0.0, "loss", 0.0), 0, []
    for snapshot in evidence.snapshots:
        if not (steps == snapshot.step).any():
            continue
        record, count = int(np.argmax(steps == snapshot.step)), count + 1
        evidence.objective.begin_step(snapshot.step)
        observation = Observation(State(snapshot.step, snapshot.time, snapshot.c), evidence.objective, test, evidence.threshold, None)
        found = [(_difference(run.dataset[of].values[record], variable.measured(observation)), of) for of, variable in variables.items()]
        difference, of = max(found)
        worst = max(worst, (difference, of, snapshot.time))
        if not difference <= RECOMPUTED:
            broken.append(snapshot.time)
    if not count:
        return not_applicable(name, statement, "no saved state has a record", RECOMPUTED)
    detail = f"{len(variables)} variables at {count} states; largest in {worst[1]} at t = {worst[2]:.4g}"
    return at_most(name, statement, worst[0], RECOMPUTED, detail, broken[0] if broken else None)


def consistent(evidence: Evidence) -> Verdict:
    """Form all that follows from own correlations again at every record, and look whether escapes lie between the right records."""
    own, threshold, dataset = evidence.own, evidence.threshold, evidence.run.dataset
    active = own >= threshold
    totals = np.where(active, own, 0.0).sum(axis=2)
    formed = {
        "max_correlation": own.max(axis=2),
        "total_correlation": totals,
        "active_neurons": active.sum(axis=2),
        "view_gap": totals.max(axis=2) - totals.min(axis=2),
    }
    found = [(_difference(dataset[name].values, values), name) for name, values in formed.items()]
    steps, escaped = dataset["step"].to_numpy()[:, None, None, None], dataset["escape_step"].to_numpy()
    wrong = active & ((escaped < 0) | (steps < escaped))
    found.append((float(wrong.any()) + float((~active & (steps == escaped)).any()), "escape_step"))
    difference, name = max(found)
    statement = "what follows from recorded own correlations, formed again at every record: largest relative difference"
    return at_most("Records (consistent)", statement, difference, ROUND_OFF, f"{len(found)} variables at {len(own)} records; largest in {name}")


def records(evidence: Evidence) -> list[Verdict]:
    """Return whether records belong to each other and to the saved states."""
    return [recomputed(evidence), consistent(evidence)]


def _difference(recorded: np.ndarray, again: np.ndarray) -> float:
    """Return the largest difference relative to the largest value; infinite where only one of them is a number."""
    one, other = np.asarray(recorded, dtype=np.float64), np.asarray(again, dtype=np.float64)
    known = ~np.isnan(one) & ~np.isnan(other)
    if (np.isnan(one) != np.isnan(other)).any():
        return float("inf")
    largest = float(np.abs(other[known]).max(initial=0.0))
    difference = float(np.abs(one[known] - other[known]).max(initial=0.0))
    return 0.0 if difference == 0.0 else difference / max(largest, 1e-300)
