"""Where a run comes from: its first state and its regime, formed again from the parameters and the seed of its file.

Every run starts from c(0) = `mvsim.initial_correlations(parameters, seed)`, which are N(0, 1/d), whatever data it is trained on. That is
the only place where d enters a run, and with it r0: a file with another d has another first state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.judging.verdict import Verdict, at_most, not_applicable
from mvsim.multi_view.initialisation import initial_correlations
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.archive import collect_provenance, revision_text
from mvsim.runs.recording.observation import Start
from mvsim.runs.recording.variables import When, variables_of

ROUND_OFF = 1e-12
"""Most relative difference of a number from the same formed again in the same order."""


def relative_difference(recorded: Any, again: Any, size: Any = None) -> float:
    """Return the largest of |recorded - again| / |again|, each number relative to its own size."""
    one, other = np.asarray(recorded, dtype=np.float64), np.asarray(again, dtype=np.float64)
    if (np.isnan(one) != np.isnan(other)).any():
        return float("inf")
    differs = (one != other) & ~np.isnan(one)
    scale = np.broadcast_to(np.abs(other if size is None else np.asarray(size, dtype=np.float64)), one.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.abs(one - other)[differs] / scale[differs]
    return float(np.where(np.isnan(relative), np.inf, relative).max(initial=0.0))


def largest_at_most(name: str, statement: str, values: np.ndarray, times: np.ndarray, bound: float, detail: str = "at t = {}") -> Verdict:
    """Decide whether the largest of values (n,) at some times is within bound; ``detail`` has a place for the time at which it is the largest."""
    worst, beyond = int(np.argmax(values)), times[~(values <= bound)]
    detail = detail.format(f"{times[worst]:.4g}")
    return at_most(name, statement, float(values[worst]), bound, detail, float(beyond.min()) if len(beyond) else None)


def start(evidence: Evidence) -> Verdict:
    """Draw the initial correlations again, and measure again what is measured of them once: each number relative to its own size."""
    first, dataset = evidence.snapshots[0], evidence.run.dataset
    c = initial_correlations(evidence.parameters, evidence.run.seed)
    again = Start(evidence.objective, c, evidence.threshold)
    differences = [(relative_difference(first.c, c), "correlations")]
    once = [(name, variable) for name, variable in variables_of(When.START).items() if name in dataset]
    differences += [(relative_difference(dataset[name].values, variable.measured(again)), name) for name, variable in once]
    differences.append((relative_difference(np.array([first.step, first.time]), np.zeros(2)), "snapshot_time"))
    difference, name = max(differences)
    statement = "the first state is the draw of initial correlations with the parameters and the seed of the file: largest relative difference"
    return at_most("Records (start)", statement, difference, ROUND_OFF, f"with what is measured of it once; largest in {name}")


def regime(evidence: Evidence) -> Verdict:
    """Compare the departures from Assumption 4.3 that a file names with those of its parameters, its training loss and its stepping.

    Other code may name them otherwise, so that a file of another version, git revision or sources is not compared. No verdict rests on what it names:
    all are labelled with what is formed again.
    """
    name, statement = "Records (regime)", "departures from what the theorems assume that the file names otherwise than its parameters do"
    written, formed = evidence.run.regime, evidence.regime
    made, present = evidence.run.provenance, collect_provenance("")
    if any(made.get(key) != present[key] for key in ("version", "git_revision", "sources")):
        words = f"{made['version']} ({revision_text(made)})"
        return not_applicable(name, statement, f"the file is of version {words}, which may have named them in other words", 0.0)
    different = [one for one in (*written, *formed) if (one in written) != (one in formed)]
    named = ", ".join(dict.fromkeys(one.name for one in different)) or "none"
    return at_most(name, statement, float(len(different)), 0.0, f"of {len(formed)}: {named}; verdicts are labelled with those formed again")


def origin(evidence: Evidence) -> list[Verdict]:
    """Return whether a run comes from where its file says."""
    return [start(evidence), regime(evidence)]
