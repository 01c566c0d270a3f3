"""How long the runs of a plan may take and how much memory they need; only the memory is exact to a few per cent.

`mvsim.runs.simulation.cost` has the number of gradients of a run and the formula for its time. The time of one gradient depends on the machine:
`Pace` measures it where the plan is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from mvsim.flow import INTEGRATORS
from mvsim.multi_view.data import sample_dataset
from mvsim.multi_view.initialisation import initial_correlations
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.cost import gradients_of_flow, required_bytes, seconds_of_run, time_of_gradient
from mvsim.runs.simulation.options import RunOptions
from mvsim.runs.simulation.plan import AFFORDABLE_GRADIENTS, AFFORDABLE_PAIR_GRADIENTS, LEARNING_RATE_PER_CLASS
from mvsim.sweeps.cell import Cell

_ANY, _NETWORK, _PAIRS, _PAIR = 8e-5, 2.1e-9, 5e-8, 3e-9
"""Seconds of a gradient: of any, for each of N k m outputs of neurons, for each of N^2 pairs, and for each of N^2 k outputs of pairs. They only
bring the time that is measured for one cell to others."""

MEASURING = 0.5
"""Seconds for which gradients of one method are repeated."""

LARGEST = 2.0
"""A gradient that takes about so many seconds is not tried."""


class Pace:
    """How long gradients take on this machine, relative to what was assumed, for each method in a plan.

    The gradient of the cheapest cell of each method is measured on one thread, as runs of a sweep have; the others follow in proportion to what
    is assumed of them.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        cheapest: dict[str, Cell] = {}
        for cell in cells:
            if cell.method not in cheapest or _gradient(cell) < _gradient(cheapest[cell.method]):
                cheapest[cell.method] = cell
        self._factors = {method: measured_gradient(cell) / _gradient(cell) for method, cell in cheapest.items() if _gradient(cell) < LARGEST}

    def seconds_of(self, cell: Cell) -> float:
        """Return about how long the run of a cell takes on one thread, in seconds."""
        return seconds_of(cell, self._factors.get(cell.method, 1.0))


def seconds_of(cell: Cell, factor: float = 1.0) -> float:
    """Return about how long the run of a cell takes on one thread, in seconds."""
    follows_flow = INTEGRATORS[cell.integrator].follows_flow
    return seconds_of_run(count_of(cell), factor * _gradient(cell), cell.parameters, follows_flow)


def count_of(cell: Cell) -> float:
    """Return about how many gradients the run of a cell evaluates.

    Of gradient descent to a given time the number is exact; without one it is the most that is afforded. A flow that has a time to end at is
    predicted like one that settles, an upper bound.
    """
    p, options = cell.parameters, _options_of(cell)
    mixes = options.sums_all_pairs
    if not INTEGRATORS[cell.integrator].follows_flow:
        if options.t_end is not None:
            return float(math.ceil(options.t_end / (options.integrator_option or LEARNING_RATE_PER_CLASS * p.k)))
        return float(AFFORDABLE_PAIR_GRADIENTS if mixes else AFFORDABLE_GRADIENTS)
    return INTEGRATORS[cell.integrator].relative_gradients(options.integrator_option) * gradients_of_flow(p, mixes)


def measured_gradient(cell: Cell, seconds: float = MEASURING) -> float:
    """Return how long a gradient of a cell's loss takes on one thread here, in seconds."""
    options = _options_of(cell)
    data = sample_dataset(cell.parameters, cell.seed)
    objective = OBJECTIVES[options.method](cell.parameters, data, options.backend, 1, **options.objective_options)
    return time_of_gradient(objective, initial_correlations(cell.parameters, cell.seed), seconds)


def bytes_of(cell: Cell) -> int:
    """Return the peak memory of the run of a cell, in bytes, libraries included."""
    options = _options_of(cell)
    return required_bytes(cell.parameters, options.sums_all_pairs, options.backend, options.n_test, cell.integrator)


def _options_of(cell: Cell) -> RunOptions:
    """Return the options of a cell, with defaults."""
    return RunOptions(method=cell.method, seed=cell.seed, **cell.options)


def _gradient(cell: Cell) -> float:
    """Return about how long a gradient takes, in seconds, where it is not measured."""
    p, options = cell.parameters, _options_of(cell)
    mixes = options.sums_all_pairs
    # Of a continuous mixing law, half of the nodes are mirror images of the others.
    nodes = options.nodes / 2 if cell.method == "mixup" and mixes else 1.0
    return _ANY + _NETWORK * p.N * p.k * p.m + (nodes * p.N**2 * (_PAIRS + _PAIR * p.k) if mixes else 0.0)
