"""How long a run will take and how much memory it needs, before it starts.

One gradient is timed on the spot. A run takes as long as so many of them:

    seconds = A + B G (T + a + b n),        n = F k m correlations,

where T is the time of one gradient at the initial state and G how many are evaluated. A is spent on starting and saving, a + b n on the work of the
integrator itself, and B is a range: gradients become cheaper or dearer while the network learns, and machines are more or less busy.

Gradient descent evaluates one gradient for each step: G is the number of steps until time is over, and at least that until the last foretold escape.

The gradient flow evaluates more of them where escapes lie further apart in time, and where there are more classes to escape:

    G = 27 k^0.6 D^1.5,        D = log10(s T_last),  not less than `LEAST_DECADES`.

T_last is the last of the escape times, of the first neuron of each feature, that the initial state foretells
(`mvsim.recording.entries.predicted_escape_times`), and s is ``settled_factor``: a run goes on until time has grown by it without a change. An
earlier ``t_end`` takes the place of s T_last. This fits runs of ERM at k = 4 to 50, and of Midpoint Mixup with P = k^2, with the default d and with
d = k^20, to within a factor of two. With the default P, noise that escaped neurons read makes runs of Midpoint Mixup evaluate up to five times as
many (`python validation/run.py readme_figure`). Where nothing escapes, as in a linear model, it is too large by a factor of three. The range covers
both.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mvsim.free_memory import available_bytes
from mvsim.initialisation import initial_correlations
from mvsim.recording.observation import Start
from mvsim.simulation.memory import required_bytes
from mvsim.simulation.plan import Plan, plan_of
from mvsim.simulation.request import Request

GRADIENTS, CLASSES_POWER, DECADES_POWER = 27.0, 0.6, 1.5

LEAST_DECADES = 3.0

SPREAD = (0.33, 6.0)
"""Least and largest part of that number which a flow evaluates."""

SECONDS_AT_LEAST = 0.3
"""A."""

SECONDS_OF_A_STEP, SECONDS_OF_A_CORRELATION = 1e-3, 4e-8
"""a and b, for each gradient."""

BUSY = (0.8, 2.5)
"""B, least and largest."""

LONG = 60.0
"""A run that may take more seconds says so before it starts."""

REPEATS, ENOUGH_SECONDS = 9, 0.5
"""A gradient is timed that often, or until so much time is spent; the least counts."""


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
    """

    memory_bytes: int
    available_bytes: int | None
    gradient_seconds: float
    gradients: tuple[int, int]
    seconds: tuple[float, float]


def estimate_run(request: Request) -> Estimate:
    """Return what a run will take, without making it; the problem is drawn, so it has to fit in memory."""
    return estimate_of(request, plan_of(request, None))


def estimate_of(request: Request, plan: Plan) -> Estimate:
    """Time a gradient and foretell what a run takes that starts from its beginning; see the formula at the top of this file.

    Parameters
    ----------
    request : Request
        What is asked for.
    plan : Plan
        What it consists of; nothing in it is changed.
    """
    p, options = request.parameters, request.options
    c = initial_correlations(p, options.seed)
    seconds = gradient_seconds(plan, c)
    least, most = gradients(plan, c, options.t_end, options.settled_factor)
    each = seconds + SECONDS_OF_A_STEP + SECONDS_OF_A_CORRELATION * c.size
    span = (SECONDS_AT_LEAST + BUSY[0] * least * each, SECONDS_AT_LEAST + BUSY[1] * most * each)
    sized = p if request.data is None else request.data.sized(p)
    memory = required_bytes(sized, options.sums_all_pairs(), options.backend, options.n_test, options.integrator)
    return Estimate(memory, available_bytes(), seconds, (least, most), span)


def gradient_seconds(plan: Plan, c: np.ndarray) -> float:
    """Return the seconds of one gradient at c, on as many threads as the run will have; kernels are compiled first."""
    plan.objective.begin_step(0)
    plan.objective.loss_and_gradient(c)
    best, spent = np.inf, 0.0
    for _ in range(REPEATS):
        begun = time.perf_counter()
        plan.objective.loss_and_gradient(c)
        took = time.perf_counter() - begun
        best, spent = min(best, took), spent + took
        if spent > ENOUGH_SECONDS:
            break
    return best


def gradients(plan: Plan, c: np.ndarray, t_end: float | None, settled_factor: float) -> tuple[int, int]:
    """Return the least and the largest number of gradients that a run from c is expected to evaluate."""
    settles = settled_factor * last_escape(plan, c)
    steps = plan.integrator.steps_until(plan.horizon)
    if steps is not None:
        early = min(settles, plan.horizon) if t_end is None else plan.horizon
        return plan.integrator.steps_until(early) or 1, steps
    decades = max(LEAST_DECADES, float(np.log10(min(settles, plan.horizon))))
    count = GRADIENTS * plan.recorder.objective.parameters.k**CLASSES_POWER * decades**DECADES_POWER
    return round(count * SPREAD[0]), round(count * SPREAD[1])


def last_escape(plan: Plan, c: np.ndarray) -> float:
    """Return when the first neuron of the slowest feature escapes, foretold at c; features that never do do not count; at least 1."""
    times = Start(plan.objective, c, plan.recorder.threshold).predicted_escape_time.min(axis=1)
    return float(np.max(times, initial=1.0, where=np.isfinite(times)))
