"""The network on points that share noise patterns, evaluated on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mvsim.losses import AllPairs, CrossEntropy, Points, PointwiseLoss
from mvsim.losses.points import Batch, soft_labels
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import SharedNoiseDataset
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.array.exponential_sums import PairSoftmax
from mvsim.multi_view.kernels.array.pairs import Adjoint, Pairs, Tile
from mvsim.multi_view.kernels.array.term_sums import TermSums
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.shared_noise.layout import Layout, listed_terms
from mvsim.multi_view.kernels.sums import GenericSum, WholeSum


class Piece(NamedTuple):
    """Some of the points: original indices, weights and soft labels (on the device), and the sums that their outputs are."""

    first: np.ndarray
    second: np.ndarray
    weight: Any
    targets: Any
    sums: TermSums


class Listed:
    """Single points, or listed pairs."""

    how = "neuron by neuron"

    def __init__(self, device: Device, layout: Layout, activation: Activation, points: Points, m: int) -> None:
        self._device, self._layout, self._activation = device, layout, activation.elementwise(device.xp)
        N, S = layout.signal.shape
        size = max(1, device.tile_bytes // (8 * 4 * S * m))
        self.pieces = [self._piece(batch) for batch in points.batches(N, size)]

    def _piece(self, batch: Batch) -> Piece:
        layout, place = self._layout, np.argsort(self._layout.order)
        first, second = place[batch.first], place[batch.second]
        terms = listed_terms(layout, first, second, batch.lam)
        targets = soft_labels(layout.k, layout.labels[first], layout.labels[second], batch.lam)
        sums = TermSums(self._device, terms, len(first), layout.features + len(layout.patterns), self._activation)
        return Piece(batch.first, batch.second, self._device.put(batch.weight), self._device.put(targets), sums)


class SharedNoiseNetwork:
    """What is laid out once for one data set."""

    def __init__(self, device: Device, data: SharedNoiseDataset, m: int, activation: Activation) -> None:
        self.device, self.activation, self.m = device, activation, m
        self.layout = Layout.of(data)
        self.features = self.layout.features
        self.patterns = device.put(self.layout.patterns)
        self._pairs: dict[AllPairs, Pairs] = {}
        self._softmax: dict[AllPairs, WholeSum] = {}
        self._listed: tuple[Points, Listed] | None = None

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        summed = self.pairs_of(points).how if isinstance(points, AllPairs) else Listed.how
        return f"shared noise, {len(self.layout.patterns)} patterns, neurons summed {summed}"

    def with_neurons(self, m: int) -> None:
        """See `mvsim.multi_view.kernels.base.Kernel`."""

    def evaluate(self, c: Any, points: Points, v: Any = None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given; all arrays are on the device."""
        if isinstance(points, AllPairs):
            return _OfPairs(self, self.pairs_of(points), c, v)
        return _OfListed(self, self.listed(points), c, v)

    def pairs_of(self, points: AllPairs) -> Pairs:
        """Return what is laid out once for all pairs."""
        if points not in self._pairs:
            self._pairs[points] = Pairs(self.device, self.layout, self.activation, points)
        return self._pairs[points]

    def listed(self, points: Points) -> Listed:
        """Return what is laid out once for single points or listed pairs; of pairs that are drawn afresh, the last ones are kept."""
        if self._listed is None or self._listed[0] != points:
            self._listed = points, Listed(self.device, self.layout, self.activation, points, self.m)
        return self._listed[1]

    def fused_sum(self, points: Points, pointwise: PointwiseLoss) -> WholeSum | None:
        """Return the sum by exponentials for the cross-entropy of all pairs, else None."""
        if not isinstance(points, AllPairs) or type(pointwise) is not CrossEntropy:
            return None
        if points not in self._softmax:
            self._softmax[points] = SoftmaxSum(self, points)
        return self._softmax[points]

    def columns(self, c: Any) -> Any:
        """Return (k, m, F + G): correlations c (k, m, F) with the features, then pre-activations of the noise patterns."""
        xp = self.device.xp
        return xp.concat([c, xp.matmul(c, xp.matrix_transpose(self.patterns))], axis=2)

    def by_correlations(self, by_columns: Any) -> Any:
        """Return (k, m, F): derivatives by c, for those by columns."""
        xp, F = self.device.xp, self.features
        return by_columns[:, :, :F] + xp.matmul(by_columns[:, :, F:], self.patterns)


class _OfPairs(Evaluation):
    """Values are formed at once; outputs are put together from them tile by tile, and derivatives by the values are added up."""

    def __init__(self, network: SharedNoiseNetwork, pairs: Pairs, c: Any, v: Any) -> None:
        self._network, self._pairs, self._columns = network, pairs, network.columns(c)
        self._values, self._D = pairs.values(self._columns), Adjoint(pairs)
        self._moves = None if v is None else network.columns(v)
        if self._moves is not None:
            self._tangents, self._dD = pairs.tangents(self._columns, self._moves), Adjoint(pairs)

    def batches(self) -> Iterator[Tile]:
        return iter(self._pairs.tiles)

    def targets(self, batch: Tile) -> Any:
        return self._pairs.targets(batch)

    def outputs(self, batch: Tile) -> Any:
        return self._pairs.gather(self._values, batch)

    def tangents(self, batch: Tile) -> Any:
        return self._pairs.gather(self._tangents, batch)

    def pull_back(self, batch: Tile, residual: Any) -> None:
        self._D.add(batch, residual)

    def pull_back_tangent(self, batch: Tile, residual: Any, change: Any) -> None:
        self._D.add(batch, residual)
        self._dD.add(batch, change)

    def visited(self, batch: Tile) -> Any:
        return self._network.device.fetch(batch.weight) > 0.0

    def gradient(self) -> Any:
        pairs, D = self._pairs, self._D.values()
        if self._moves is None:
            return self._network.by_correlations(pairs.pull_back(self._columns, D))
        return self._network.by_correlations(pairs.pull_back_tangent(self._columns, self._moves, D, self._dD.values()))


class _OfListed(Evaluation):
    """Outputs of a piece are formed when they are asked for; what is pulled back is added up."""

    def __init__(self, network: SharedNoiseNetwork, listed: Listed, c: Any, v: Any) -> None:
        self._network, self._listed, self._columns = network, listed, network.columns(c)
        self._moves = None if v is None else network.columns(v)
        self._by_columns = network.device.zeros(*self._columns.shape)

    def batches(self) -> Iterator[Piece]:
        return iter(self._listed.pieces)

    def targets(self, batch: Piece) -> Any:
        return batch.targets

    def outputs(self, batch: Piece) -> Any:
        return batch.sums.values(self._columns)

    def tangents(self, batch: Piece) -> Any:
        return batch.sums.tangents(self._columns, self._moves)

    def pull_back(self, batch: Piece, residual: Any) -> None:
        self._by_columns = self._by_columns + batch.sums.pull_back(self._columns, residual)

    def pull_back_tangent(self, batch: Piece, residual: Any, change: Any) -> None:
        self._by_columns = self._by_columns + batch.sums.pull_back_tangent(self._columns, self._moves, residual, change)

    def gradient(self) -> Any:
        return self._network.by_correlations(self._by_columns)


class SoftmaxSum:
    """The mean cross-entropy of all pairs: by products of exponentials where these fit, else from the outputs."""

    def __init__(self, network: SharedNoiseNetwork, points: AllPairs) -> None:
        self._network, self._pairs = network, network.pairs_of(points)
        self._generic = GenericSum(network, points, CrossEntropy())
        self._by_exponentials = network.activation.nonnegative and len(np.unique(network.layout.labels)) > 1
        self._softmax = PairSoftmax(self._pairs)

    def loss(self, c: Any) -> float:
        values = self._pairs.values(self._network.columns(c))
        if not self._by_exponentials or not self._softmax.fits(values):
            return self._generic.loss(c)
        return self._softmax.loss_and_derivative(values)[0]

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        columns = self._network.columns(c)
        values = self._pairs.values(columns)
        if not self._by_exponentials or not self._softmax.fits(values):
            return self._generic.loss_and_gradient(c)
        loss, D = self._softmax.loss_and_derivative(values)
        return loss, self._network.by_correlations(self._pairs.pull_back(columns, D))

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        return self._generic.hessian_vector_product(c, v)
