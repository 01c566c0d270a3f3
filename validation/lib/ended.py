"""Runs that go on until nothing that is asked of their classes can change any more, and to a last time at most.

What is asked is which features of each class are learned. A run ends

====================  ==============================================================================================================
``all learned``       when it has settled with every view of every class learned: what is learned stays so
``at rest``           when its gradient is 0
``views stay``        under ERM, when it has settled and no view that has not escaped is predicted to do so before the last time, by the trend of its
                      potential, of which half the way is counted on (`mvsim.papers.midpoint_mixup.theorems.trends`)
``last time``         at the last time
``gradients``         of a flow, after `MOST_GRADIENTS` for each class: it has not been followed to where one of these holds, and counts as it
                      stands
``lost``              where it stalls or diverges
====================  ==============================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mvsim
from lib.runs import on_all_cores
from mvsim.flow import INTEGRATORS
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.theorems.predicted_escapes import predicted_escapes
from mvsim.runs.recording.fresh_draws import is_learned
from mvsim.runs.simulation.identity import run_name
from mvsim.runs.simulation.run_cache import try_kept_run

STAGE, STAGES = 10.0, 2
"""Factor between two times at which a run is looked at, and how many of them there are before the last time: to take a run up again costs as much as
a hundred steps at small k."""

MOST_GRADIENTS = 5_000
"""Times k, this is more than twice what Midpoint Mixup takes at k = 4, r0 = 0.15 until it has settled."""


class Job(NamedTuple):
    """A run to be made, kept in a folder.

    Attributes
    ----------
    folder, parameters, method, seed
        Of the run.
    last : float
        The time at which it ends at the latest.
    options : dict
        Others of the run.
    """

    folder: Path
    parameters: mvsim.Parameters
    method: str
    seed: int
    last: float
    options: dict[str, Any]


class Ended(NamedTuple):
    """A run, None if it is lost, and why it ended."""

    run: mvsim.Run | None
    why: str


def ended(jobs: Sequence[Job]) -> list[Ended]:
    """Make runs on all cores, and return them."""
    return [
        Ended(None if why == "lost" else mvsim.open_run(job.folder / run_name(job.parameters, job.method, job.seed, job.options)), why)
        for job, why in zip(jobs, on_all_cores(followed, jobs), strict=True)
    ]


def followed(job: Job) -> str:
    """Make one run, in stages, and return why it ended."""
    reached = interrupted_at(job)
    for stage in reversed(range(STAGES + 1)):
        until = job.last / STAGE**stage
        if stage and until < reached:
            continue
        run = try_kept_run(job.folder, job.parameters, job.method, job.seed, threads=1, until=until, **job.options)
        if not isinstance(run, mvsim.Run):
            return "lost"
        if why := why_over(run, job.last):
            return why
    return "last time"


def interrupted_at(job: Job) -> float:
    """Return the time that an interrupted run has reached, which cannot go back; 0 if there is none, or it has ended."""
    path = job.folder / run_name(job.parameters, job.method, job.seed, job.options)
    run = mvsim.open_run(path) if path.exists() else None
    return float(run.dataset["final_time"]) if run is not None and run.status != "finished" else 0.0


def why_over(run: mvsim.Run, last: float) -> str:
    """Return why a run may end before a last time; nothing if it may not."""
    learned = is_learned(run.dataset["feature_learned"].to_numpy()[-1])
    if run.settled and learned.all():
        return "all learned"
    if float(run.dataset["gradient_norm"][-1]) == 0.0:
        return "at rest"
    if run.settled and not OBJECTIVES[run.method].mixes_with(run.provenance["options"]) and _stay(run, last):
        return "views stay"
    is_flow = INTEGRATORS[run.provenance["integrator"]["name"]].follows_flow
    return "gradients" if is_flow and int(run.dataset["final_evaluations"]) > MOST_GRADIENTS * run.parameters.k else ""


def _stay(run: mvsim.Run, last: float) -> bool:
    evidence = Evidence(run)
    predicted, log_end = predicted_escapes(evidence), float(np.log(evidence.times[-1]))
    waiting = np.argwhere(~np.isfinite(evidence.entry_time))
    return all(predicted.moment(int(y), int(view), log_end).counted_on >= math.log(last) for y, view in waiting)
