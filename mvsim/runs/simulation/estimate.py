"""How long a run will take and how much memory it needs, before it starts.

One gradient is timed on the spot, at the initial state; `mvsim.runs.simulation.cost` has the number of gradients and the formula. Let T_1 and T_k be
the times at which the first view of the first and of the last class escapes, as the initial state predicts
(`mvsim.runs.recording.entries.predicted_escape_times`). A run settles about at T(s) = s T_k, s being ``settled_factor``; the formula is for the s
that is the default, 10. A flow that ends elsewhere, at the T(s) of another s or at ``t_end``, is taken to need the part log(end / T_1) / log(T(10) /
T_1) of these gradients, and few if it ends before the first escape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvsim.base.limits import available_bytes
from mvsim.multi_view.initialisation import initial_correlations
from mvsim.runs.recording.observation import Start
from mvsim.runs.simulation.cost import (
    GRADIENTS_OF_A_DECADE,
    GRADIENTS_TO_ESCAPE,
    RANGE,
    gradients_of_flow,
    required_bytes,
    seconds_of_run,
    time_of_gradient,
)
from mvsim.runs.simulation.options import DEFAULTS
from mvsim.runs.simulation.plan import Plan, plan_of
from mvsim.runs.simulation.request import Request
from mvsim.runs.simulation.resuming import restore_run

LONG = 60.0
"""A run that may take more seconds says so before it starts."""

BUSY = 2.0
"""Factor, up and down, between a gradient that was timed and those of a run whose steps are counted; the range of a flow has it in it."""

TIMING = 0.5
"""Seconds for which gradients are repeated to time one."""

LEAST_DECADES = 1.0
"""A run is not taken to end sooner."""


@dataclass(frozen=True)
class Estimate:
    """What a run will take.

    Attributes
    ----------
    memory_bytes : int
        Predicted peak, libraries included.
    available_bytes : int or None
        What the machine can give; None if it does not tell.
    gradient_seconds : float
        Time of one gradient of the training loss at the initial state, measured here and now.
    gradients : tuple of int
        How many are evaluated, at least and at most.
    seconds : tuple of float
        Time of the whole run, at least and at most.
    algorithm : str
        What computes it, in words.
    integrator : str
        What steps it: a key of `mvsim.flow.INTEGRATORS`.
    """

    memory_bytes: int
    available_bytes: int | None
    gradient_seconds: float
    gradients: tuple[int, int]
    seconds: tuple[float, float]
    algorithm: str
    integrator: str


def estimate_run(request: Request, saved: Any = None) -> Estimate:
    """Return what a run will take from its start, without making it; the problem is drawn, so it has to fit in memory."""
    return estimate_of(request, plan_of(request, saved))


def estimate_of(request: Request, plan: Plan) -> Estimate:
    """Time a gradient and predict what a run takes that starts from its beginning."""
    p, options = request.parameters, request.options
    c = initial_correlations(p, options.seed)
    seconds = time_of_gradient(plan.objective, c, TIMING)
    least, most = gradients(plan, c, options.t_end, options.settled_factor)
    follows_flow = plan.integrator.follows_flow
    busy = 1.0 if follows_flow else BUSY
    span = (seconds_of_run(least, seconds, p, follows_flow) / busy, seconds_of_run(most, seconds, p, follows_flow) * busy)
    sized = p if request.data is None else request.data.sized(p)
    memory = required_bytes(sized, options.sums_all_pairs, options.backend, options.n_test, plan.integrator.name)
    return Estimate(memory, available_bytes(), seconds, (least, most), span, plan.objective.describe(), plan.integrator.name)


def nothing_left(request: Request, saved: tuple[Any, dict[str, Any]]) -> bool:
    """Tell whether the saved run, data set and provenance, has finished and goes on to no later end with what is asked for."""
    plan, options = plan_of(request, saved), request.options
    state, _ = restore_run(plan.recorder, saved[0], plan.integrator, options.out)
    return saved[1]["status"] == "finished" and plan.is_over(state.time, options)


def gradients(plan: Plan, c: np.ndarray, t_end: float | None, settled_factor: float) -> tuple[int, int]:
    """Return the least and the largest number of gradients that a run from c is expected to evaluate."""
    first, last = first_escapes(plan, c)
    end = min(settled_factor * last, plan.horizon) if t_end is None else plan.horizon
    steps = plan.integrator.steps_until(plan.horizon)
    if steps is not None:
        return plan.integrator.steps_until(end) or 1, steps
    objective = plan.recorder.objective
    if not objective.has_escapes:
        count = GRADIENTS_OF_A_DECADE * max(LEAST_DECADES, math.log10(end))
    else:
        share = math.log(end / first) / math.log(DEFAULTS.settled_factor * last / first)
        count = GRADIENTS_TO_ESCAPE + max(share, 0.0) * gradients_of_flow(objective.parameters, objective.mixes)
    count *= plan.integrator.relative_gradients(plan.provenance["integrator"].get(plan.integrator.option))
    return round(count / RANGE), round(count * RANGE)


def first_escapes(plan: Plan, c: np.ndarray) -> tuple[float, float]:
    """Return when the first view of the first and of the last class escapes, as predicted at c, at least 1; 1 where none does."""
    times = Start(plan.objective, c, plan.recorder.threshold).predicted_entry_time.min(axis=(1, 2))
    finite = times[np.isfinite(times)]
    return (max(1.0, float(finite.min())), max(1.0, float(finite.max()))) if len(finite) else (1.0, 1.0)
