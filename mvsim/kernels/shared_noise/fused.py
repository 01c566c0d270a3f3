"""The loss of all pairs and its gradient, when neurons are summed by moments and the loss is the cross-entropy: the main job."""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.threads import run_together
from mvsim.kernels.shared_noise.layout import Layout, PairBlocks
from mvsim.kernels.shared_noise.loops.fused import Constants, Memory, pair_gradient
from mvsim.kernels.shared_noise.loops.softmax import LARGEST_OUTPUT
from mvsim.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.kernels.shared_noise.sums_direct import Neurons
from mvsim.kernels.shared_noise.tables import Derivatives, Exponentials, Values


class PairGradient:
    """The compiled call with its constants and its memory.

    Parameters
    ----------
    layout : Layout
        The data.
    pairs : PairBlocks
        The pairs.
    neurons : Neurons
        The activation.
    sums : MomentSums
        Sums over neurons.
    targets : Derivatives
        Of the mean of soft label times output.
    values : Values
        Memory to work in.
    """

    def __init__(self, layout: Layout, pairs: PairBlocks, neurons: Neurons, sums: MomentSums, targets: Derivatives, values: Values) -> None:
        k, N, blocks = neurons.k, len(layout.labels), len(pairs.blocks)
        self._threads = min(neurons.threads, k)  # one that finds nothing to do only takes time from the others
        self._constants = Constants(
            patterns=layout.patterns,
            over_scale=1.0 / neurons.scale,
            activation=neurons.activation,
            terms=sums.terms,
            first=sums.tables[0],
            second=sums.tables[-1],
            unmixed=sums.unmixed.table,
            corrections=sums.corrections,
            pairs=pairs,
            targets=targets,
        )
        columns = (k, layout.features + len(layout.patterns), neurons.m)
        self._memory = Memory(
            columns=np.empty(columns),
            out=np.empty(columns),
            values=values,
            exponentials=Exponentials(*values),
            derivatives=Derivatives(*values),
            own=np.empty((k, N)),
            largest=np.empty(k),
            linear=np.empty(k),
            sums=np.empty(blocks),
        )

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return both at c (k, m, F), or None if the outputs are too large for exponentials."""
        memory, gradient = self._memory, np.empty_like(c)
        run_together(self._threads, lambda counters: pair_gradient(counters, c, self._constants, memory, gradient))
        if not (memory.largest < LARGEST_OUTPUT).all():
            return None
        return float(memory.sums.sum() - memory.linear.sum()), gradient
