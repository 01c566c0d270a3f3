"""The loss of all pairs and its gradient by a few neurons of each class, beside others that rest: pairs are symmetric, the loss the cross-entropy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.multi_view.kernels.jit.threads import run_together
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairBlocks, PairPlan, Terms, block_terms, noise_terms, signal_terms
from mvsim.multi_view.kernels.shared_noise.loops.few_neurons import (
    PARTS,
    SIGNALS_AT_ONCE,
    WIDTH,
    Columns,
    Constants,
    Memory,
    few_neurons_gradient,
    fill_partition_functions,
    fits,
    put_side_by_side,
)
from mvsim.multi_view.kernels.shared_noise.loops.one_class import Memory as OneClassMemory
from mvsim.multi_view.kernels.shared_noise.loops.one_class import OneClass, one_class_gradient
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Values

FAR_BELOW = -1e100
"""A column on which every activation is 0."""

Partition = tuple[np.ndarray, np.ndarray]
"""What some classes add to the partition functions of all pairs, (pairs,), and to those of the pairs apart, (E,)."""

OfNeurons = Callable[[np.ndarray], tuple[float, np.ndarray] | None]
"""Correlations (k, E, F) -> the loss and its gradient by them, None if outputs are too large for exponentials."""


class FewNeurons:
    """What is laid out once.

    Parameters
    ----------
    layout : Layout
        The data.
    plan : PairPlan
        The pairs.
    neurons : Neurons
        The activation.
    targets : Derivatives
        Of the mean of soft label times output.
    """

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons, targets: Derivatives) -> None:
        pairs = PairBlocks.of(layout, plan)
        points = np.diff(layout.start)
        feature, signal = _padded(layout)
        self._layout, self._targets, self._threads = layout, targets, neurons.threads
        self._last_memory: Memory | None = None
        self._constants = Constants(
            patterns=layout.patterns,
            over_scale=1.0 / neurons.scale,
            activation=neurons.activation,
            feature=feature,
            signal=signal,
            terms=_joined(Terms.join(block_terms(layout, plan), signal_terms(layout, plan, plan.meetings), noise_terms(layout, plan))),
            pairs=pairs,
            offset=np.concatenate([[0], np.cumsum(points[plan.blocks[:, 0]] * points[plan.blocks[:, 1]])]),
            label_weight=pairs.weight * points,
        )

    def beside(self, others: Values, neurons: np.ndarray) -> OfNeurons:
        """Return the loss as a function of neurons (k, E), -1 where a class has fewer, beside neurons whose values are ``others``."""
        moves = (neurons >= 0).any(axis=1)
        moving, resting = np.flatnonzero(moves), np.flatnonzero(~moves)
        partition = self._partition(others, resting)
        if partition is None:
            return lambda moving: None
        linear = sum(float(np.vdot(targets[resting], table[resting])) for targets, table in zip(self._targets.distinct, others.distinct, strict=True))
        if len(moving) == 1:
            return self._of_one_class(others, neurons, int(moving[0]), partition, linear)
        return self._of_classes(others, neurons, partition, linear)

    def _of_classes(self, others: Values, neurons: np.ndarray, partition: Partition, linear: float) -> OfNeurons:
        constants, which = self._constants, self._columns(others, neurons, partition)
        memory = self._memory(len(which.level_start) - 1, which.U.shape[2])

        def loss_and_gradient(moving: np.ndarray) -> tuple[float, np.ndarray] | None:
            rows = np.ascontiguousarray(moving).reshape(-1, moving.shape[2])
            gradient = np.zeros(rows.shape)
            run_together(self._threads, lambda counters: few_neurons_gradient(counters, rows, constants, which, memory, gradient))
            if not fits(memory.largest):
                return None
            return float(memory.sums.sum() - memory.linear.sum() - linear), gradient.reshape(moving.shape)

        return loss_and_gradient

    def _memory(self, levels: int, W: int) -> Memory:
        """Return memory to work in: the last again, if it has the right size."""
        last, pairs, layout = self._last_memory, self._constants.pairs, self._layout
        if last is None or (levels, W) != (len(last.columns), last.U.shape[2]):
            last = self._last_memory = Memory(
                columns=self._no_columns(levels, W),
                U=np.empty((len(layout.patterns), len(layout.labels), W)),
                terms=np.empty((len(pairs.blocks) + len(pairs.extra_pairs), W)),
                out=np.empty((PARTS + 1, levels, self._width, W)),
                linear=np.empty(PARTS + 1),
                largest=np.empty(PARTS + 1),
                sums=np.empty(len(pairs.blocks)),
            )
        return last

    def _of_one_class(self, others: Values, neurons: np.ndarray, y: int, partition: Partition, linear: float) -> OfNeurons:
        constants = self._constants
        rows_of_neurons = neurons.shape[1] * y + np.flatnonzero(neurons[y] >= 0)
        which = OneClass(rows_of_neurons, others.U[y].copy(), others.terms[y].copy(), self._targets.U[y], self._targets.terms[y], *partition)
        memory = OneClassMemory(
            columns=self._no_columns(len(rows_of_neurons)),
            x=np.empty((len(rows_of_neurons), *constants.feature.T.shape)),
            U=np.empty_like(which.U),
            terms=np.empty_like(which.terms),
        )

        def loss_and_gradient(moving: np.ndarray) -> tuple[float, np.ndarray] | None:
            rows = np.ascontiguousarray(moving).reshape(-1, moving.shape[2])
            gradient = np.zeros(rows.shape)
            loss = one_class_gradient(rows, constants, which, memory, gradient)
            return None if np.isnan(loss) else (float(loss - linear), gradient.reshape(moving.shape))

        return loss_and_gradient

    @property
    def _width(self) -> int:
        return self._layout.features + len(self._layout.patterns) + 1

    def _no_columns(self, levels: int, *width: int) -> np.ndarray:
        columns = np.zeros((levels, self._width, *width))
        columns[:, -1] = FAR_BELOW
        return columns

    def _columns(self, others: Values, neurons: np.ndarray, partition: Partition) -> Columns:
        pairs, layout, (k, E) = self._constants.pairs, self._layout, neurons.shape
        count = (neurons >= 0).sum(axis=1)
        order = np.argsort(-count, kind="stable")
        moving = order[: int((count > 0).sum())]
        place = E * np.arange(k)[:, None] + np.argsort(neurons < 0, axis=1, kind="stable")
        levels = [place[order[: int((count > e).sum())], e] for e in range(int(count.max(initial=0)))]
        column = np.full(k, -1)
        column[moving] = np.arange(len(moving))
        noise_target = np.zeros((k, len(layout.patterns)))
        np.add.at(noise_target, (layout.labels, layout.pattern), pairs.weight)
        return Columns(
            rows=np.concatenate([np.zeros(0, np.int64), *levels]),
            level_start=np.cumsum([0, *map(len, levels)]),
            of_label=column[layout.labels],
            used=len(moving),
            U=_side_by_side(others.U, moving),
            terms=_side_by_side(others.terms, moving),
            partition=partition[0],
            extra_partition=partition[1],
            noise_target=_side_by_side(noise_target, moving),
            term_target=_side_by_side(self._targets.terms, moving),
        )

    def _partition(self, values: Values, classes: np.ndarray) -> Partition | None:
        """Return what some classes add to the partition functions of all pairs, and to those of the pairs apart; None if exponentials do not fit."""
        pairs, offset = self._constants.pairs, self._constants.offset
        partition, apart = np.zeros(offset[-1]), np.zeros(len(pairs.extra_pairs))
        if len(classes) == 0:
            return partition, apart
        U, terms = _side_by_side(values.U, classes), _side_by_side(values.terms, classes)
        fit = fill_partition_functions(len(classes), pairs, offset, U, terms, partition, apart)
        return (partition, apart) if fit else None


def _side_by_side(table: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return some rows of a table (k, ...) as (..., W): classes are fastest, and padded with zeros."""
    turned = np.zeros((*table.shape[1:], -(-len(classes) // WIDTH) * WIDTH))
    put_side_by_side(table.reshape(len(table), -1), classes, turned.reshape(table[0].size, turned.shape[-1]))
    return turned


def _padded(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return features and coefficients of the signal patches, with patches of a feature F + G up to a multiple of `SIGNALS_AT_ONCE`."""
    N, S = layout.signal.shape
    more = -S % SIGNALS_AT_ONCE
    nowhere = np.full((N, more), layout.features + len(layout.patterns))
    return np.concatenate([layout.feature, nowhere], axis=1), np.concatenate([layout.signal, np.ones((N, more))], axis=1)


def _joined(terms: Terms) -> Terms:
    """Return the terms with those that are alike counted together, sorted by point."""
    keys = np.stack([terms.point, terms.first, terms.a, terms.second, terms.b]).astype(np.float64)
    swapped = terms.first > terms.second
    keys[1:, swapped] = keys[[3, 4, 1, 2]][:, swapped]
    alike, which = np.unique(keys, axis=1, return_inverse=True)
    times = np.zeros(alike.shape[1])
    np.add.at(times, which.ravel(), terms.times)
    point, first, a, second, b = alike
    kept = times != 0.0
    return Terms(*(each[kept] for each in (point.astype(np.int64), times, first.astype(np.int64), a, second.astype(np.int64), b)))
