"""How long a run may take and how much memory it needs, foretold for a plan; only the memory is exact to a few per cent."""

from __future__ import annotations

import math

from mvsim.integrators import INTEGRATORS
from mvsim.simulation.all_options import AllRunOptions
from mvsim.simulation.memory import required_bytes
from mvsim.simulation.plan import AFFORDABLE_GRADIENTS, AFFORDABLE_PAIR_GRADIENTS, LEARNING_RATE_PER_CLASS
from mvsim.sweep.cell import Cell

SECONDS_AT_LEAST = 0.3
"""Of any run: recording, testing and saving."""

_NETWORK, _PAIR = 2.0e-7, 1.5e-8
"""Seconds of a gradient for each of N k m outputs of neurons, and for each of N^2 k outputs of pairs: of runs with default parameters at k = 6 to 20,
on one thread of a busy machine. Between machines, and between seeds, they differ by a factor of several."""

_GRADIENTS = {False: (350.0, 140.0), True: (1000.0, 400.0)}
"""Gradients of a flow until it settles, a + b k, at default parameters: without and with pairs."""


def seconds_of(cell: Cell) -> float:
    """Return about how long the run of a cell takes on one thread, in seconds; a plan needs the order of magnitude."""
    p, asked = cell.parameters, AllRunOptions(method=cell.method, seed=cell.seed, **cell.options)
    mixes = asked.sums_all_pairs()
    # Of a continuous mixing law, half of the nodes are mirror images of the others.
    nodes = asked.model_dump(include={"nodes"})["nodes"] / 2 if cell.method == "mixup" and mixes else 1.0
    gradient = _NETWORK * p.N * p.k * p.m + (_PAIR * nodes * p.N**2 * p.k if mixes else 0.0)
    if INTEGRATORS[asked.integrator].follows_flow:
        first, each = _GRADIENTS[mixes]
        count = first + each * p.k
    else:
        count = float(AFFORDABLE_PAIR_GRADIENTS if mixes else AFFORDABLE_GRADIENTS)
        if asked.t_end is not None:
            count = math.ceil(asked.t_end / (asked.integrator_option() or LEARNING_RATE_PER_CLASS * p.k))
    return SECONDS_AT_LEAST + count * gradient


def bytes_of(cell: Cell) -> int:
    """Return the peak memory of the run of a cell, in bytes, libraries included."""
    asked = AllRunOptions(method=cell.method, seed=cell.seed, **cell.options)
    return required_bytes(cell.parameters, asked.sums_all_pairs(), asked.backend, asked.n_test, asked.integrator)
