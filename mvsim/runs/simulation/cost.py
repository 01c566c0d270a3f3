"""What a run costs: how many gradients it evaluates, how long it takes then, and how much memory.

    seconds = A + G (T + a + b n),        n = F k m correlations,

where T is the time of one gradient, measured on the machine, and G how many are evaluated. A is spent on starting and saving, a + b n on the work of
the integrator itself; a is smaller for gradient descent, which evaluates one gradient for each step.

The gradient flow takes few steps to the first escape, and then follows one class after another until it settles:

    G = g k^p (1 + log(1 / r0)),

with (g, p) fitted by hand to one run of each method with every default: ERM at k = 20, 50 and 100, Midpoint Mixup at k = 10, 20 and 50
(``python validation/run.py flow_runs`` and ``main_job``). ``python validation/run.py sweeps --only predicted`` compares other runs. Where nothing
escapes, as in a linear model, it is a number for each decade of time. In a large network most gradients are of a few neurons
(`mvsim.flow.resting`) and take less than T, which the formula does not know. Another tolerance or integrator takes
`mvsim.flow.base.Integrator.relative_gradients` times as many.
"""

from __future__ import annotations

import math
import time

import numpy as np

from mvsim.multi_view.kernels import check_device_memory, memory_of
from mvsim.multi_view.memory import bytes_of_run, check_fits
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.simulation.auto import CHOICES
from mvsim.runs.simulation.options import DEFAULTS

SECONDS_AT_LEAST = 0.3
"""A."""

SECONDS_OF_A_STEP, SECONDS_OF_A_CORRELATION = 1e-3, 4e-8
"""a and b of the flow, on a core that does nothing else."""

SECONDS_OF_A_DESCENT = 1e-4
"""a of gradient descent; its b is 0."""

GRADIENTS = {False: (170.0, 0.72), True: (136.0, 1.44)}
"""(g, p) without and with sums over pairs."""

GRADIENTS_TO_ESCAPE, GRADIENTS_OF_A_DECADE = 40.0, 40.0
"""Gradients of a flow until the first escape, and for each decade of time in a model without escapes: by hand, of some runs at k = 4 to 20."""

LEAST_RECORDS, GRADIENTS_OF_A_RECORD = 600, 52
"""Of a flow: it records every twentieth step, and takes about 2.6 gradients a step (``python validation/run.py flow_runs``)."""

RANGE = 3.0
"""Factor, up and down, within which the times of nine runs of ten are to lie."""


def gradients_of_flow(p: Parameters, mixes: bool) -> float:
    """Return about how many gradients a flow evaluates until it settles."""
    factor, power = GRADIENTS[mixes]
    return factor * float(p.k) ** power * (1.0 + max(-math.log(p.r0), 0.0))


def seconds_of_run(gradients: float, gradient_seconds: float, p: Parameters, follows_flow: bool = True) -> float:
    """Return how long a run takes that evaluates so many gradients of so many seconds each; the formula stands at the top of this file."""
    own = SECONDS_OF_A_STEP + SECONDS_OF_A_CORRELATION * p.k * p.m * p.features if follows_flow else SECONDS_OF_A_DESCENT
    return SECONDS_AT_LEAST + gradients * (gradient_seconds + own)


def time_of_gradient(objective: Objective, c: np.ndarray, within: float) -> float:
    """Return the seconds of one gradient at c, the least of those tried within some seconds; kernels are compiled first."""
    objective.begin_step(0)
    objective.loss_and_gradient(c)
    best, begun = math.inf, time.perf_counter()
    while True:
        start = time.perf_counter()
        objective.loss_and_gradient(c)
        now = time.perf_counter()
        best = min(best, now - start)
        if now - begun > within:
            return best


def required_bytes(
    p: Parameters, mixes: bool, backend: str = DEFAULTS.backend, n_test: int = DEFAULTS.n_test, integrator: str = DEFAULTS.integrator
) -> int:
    """Predict the peak memory of a run in bytes, libraries included; ``mixes`` says whether all pairs are summed."""
    records = None
    if CHOICES[integrator].follows_flow:
        records = max(LEAST_RECORDS, round(gradients_of_flow(p, mixes) / GRADIENTS_OF_A_RECORD))
    return bytes_of_run(p, mixes, memory_of(p, backend), n_test, records)


def check_memory(
    p: Parameters, mixes: bool, backend: str = DEFAULTS.backend, n_test: int = DEFAULTS.n_test, integrator: str = DEFAULTS.integrator
) -> int:
    """Return the predicted bytes of a run, or raise `UsageError` if they are not there."""
    check_device_memory(p, mixes, backend)
    return check_fits(p, lambda p: required_bytes(p, mixes, backend, n_test, integrator), "")
