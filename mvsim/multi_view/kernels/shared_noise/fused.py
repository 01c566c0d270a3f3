"""The loss of all pairs and its gradient, when neurons are summed by moments and the loss is the cross-entropy: the main job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.multi_view.kernels.jit.threads import run_together
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairBlocks
from mvsim.multi_view.kernels.shared_noise.loops.fused import Constants, Memory, pair_gradient
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Exponentials, Values


class PairGradient:
    """The compiled call with its constants and its memory."""

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
        self._width = layout.features + len(layout.patterns)
        self._memory = Memory(
            columns=np.empty((k, self._width, neurons.m)),
            out=np.empty((k, self._width, neurons.m)),
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
        return self._summed(c, _NOBODY, self._memory)

    def beside(self, others: Values, count: int) -> Callable[[np.ndarray], tuple[float, np.ndarray] | None]:
        """Return the function of `loss_and_gradient` for c of fewer neurons, (k, count, F), beside neurons whose values are ``others``."""
        shape = len(self._memory.columns), self._width, count
        memory = self._memory._replace(columns=np.empty(shape), out=np.empty(shape))
        return lambda c: self._summed(c, others, memory)

    def _summed(self, c: np.ndarray, others: Values, memory: Memory) -> tuple[float, np.ndarray] | None:
        gradient = np.empty_like(c)
        run_together(self._threads, lambda counters: pair_gradient(counters, c, others, self._constants, memory, gradient))
        if not (memory.largest < LARGEST_OUTPUT).all():
            return None
        return float(memory.sums.sum() - memory.linear.sum()), gradient


_NOBODY = Values(np.empty((0, 0, 0)), np.empty((0, 0, 0)), np.empty((0, 0)))
