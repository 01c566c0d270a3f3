"""Data sets in feature coordinates.

A patch is a vector of R^d in the span of the F = V k orthonormal features, V for each class, so it is stored as its coefficients.
`SharedNoiseDataset` keeps the structure of Definition 4.1 when all noise patches of a point are equal; `PatchDataset` holds any patches whatever.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from mvsim.base.echo import shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.numbers import MOST_VIEWS

LARGEST = 1e6
"""Largest coefficient of a given patch, the limit of the coefficients of `mvsim.Parameters` as well."""


class Dataset(ABC):
    """Labelled points x_i = (x_i^(1), ..., x_i^(P)) in feature coordinates.

    Attributes
    ----------
    labels : numpy.ndarray
        (N,) int64, classes 0 .. k - 1.
    k, V, P, N : int
        Number of classes, views of a class (2 in Definition 4.1), patches per point, points.
    """

    labels: np.ndarray

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of classes."""

    @property
    @abstractmethod
    def V(self) -> int:
        """Views of a class."""

    @property
    @abstractmethod
    def P(self) -> int:
        """Patches per point."""

    @property
    def N(self) -> int:
        """Number of points."""
        return len(self.labels)

    @property
    def feature_class(self) -> np.ndarray:
        """(F,) class of each feature, in the order in which features are counted: V s + l for v_{s,l}."""
        return np.repeat(np.arange(self.k), self.V)

    @abstractmethod
    def to_patches(self) -> np.ndarray:
        """Return (N, P, k, V) float64: the coefficient of v_{s,l} in each patch. Takes 8 N P k V bytes."""

    @abstractmethod
    def own_coefficients(self, view: int) -> np.ndarray:
        """Return (N, n) coefficients of v_{y_i, view} in the patches of point i that can hold it (0 where it is absent)."""

    @abstractmethod
    def feature_totals(self) -> np.ndarray:
        """Return (k, V): the largest total sum_p |x_i^(p)[s, l]| of the coefficients of a feature in one point."""

    @abstractmethod
    def largest_patch(self) -> float:
        """Return the largest sum of |coefficients| in one patch, max_{i,p} sum_{s,l} |x_i^(p)[s, l]|."""

    @abstractmethod
    def terms(self, point: int) -> Iterator[tuple[int, float, int]]:
        """Yield (feature V s + l, coefficient, number of patches that have it) of one point, which together are the sum of its patches.

        A feature may come several times; coefficients are those stored, to the last bit.
        """

    @abstractmethod
    def keep_view(self, view: int) -> Dataset:
        """Return x' of Definition 4.5: the same points with every instance of v_{y,l}, l != view, replaced by zero."""

    @abstractmethod
    def sized(self, parameters: Parameters) -> Parameters:
        """Return the parameters with the sizes that these points have, which may be others than those of the parameters."""

    def digest(self) -> str:
        """Return a hash of the points: equal for data sets that are stored alike and have the same values."""
        sha256 = hashlib.sha256(type(self).__name__.encode())
        for name, value in vars(self).items():
            sha256.update(f"{name} {getattr(value, 'dtype', '')} {np.shape(value)}".encode())
            sha256.update(np.ascontiguousarray(value).tobytes())
        return sha256.hexdigest()

    @staticmethod
    def from_patches(labels: ArrayLike, patches: ArrayLike) -> PatchDataset:
        """Make a data set from any patches in feature coordinates; no structure is assumed.

        Parameters
        ----------
        labels : array_like of int, shape (N,)
            Classes 0 .. k - 1.
        patches : array_like, shape (N, P, k, V)
            Coefficient of feature v_{s,l} in each patch, dimensionless.

        Returns
        -------
        PatchDataset

        Raises
        ------
        UsageError
            If shapes disagree, a label is out of range or a coefficient is not finite or beyond `LARGEST`.
        """
        try:
            patches = np.asarray(patches)
        except ValueError:  # nested lists of unequal lengths
            raise UsageError("patches: must be numbers in an array of shape (N, P, k, V)") from None
        if patches.dtype.kind not in "iuf":
            raise UsageError(f"patches has dtype {shortened(str(patches.dtype))}: must be real numbers in an array of shape (N, P, k, V)")
        if patches.ndim != 4 or min(patches.shape) < 1 or patches.shape[2] < 2 or patches.shape[3] > MOST_VIEWS:
            raise UsageError(f"patches has shape {patches.shape}: must be (N, P, k, V) with N, P >= 1, k >= 2 and V from 1 to {MOST_VIEWS}")
        N, P, k, V = patches.shape
        labels = check_labels(labels, k, N)
        if not np.isfinite(patches).all():
            raise UsageError("patches: every coefficient must be finite")
        largest = max(abs(float(patches.max())), abs(float(patches.min())))  # as floats: the absolute value of -2^63 is itself
        if largest > LARGEST:
            raise UsageError(f"patches: a coefficient is of size {largest:.3g}; must be at most {LARGEST:g}, in units of features of length 1")
        by_feature = patches.reshape(N, P, V * k).transpose(0, 2, 1)
        point, feature = (np.ascontiguousarray(index) for index in np.nonzero(by_feature.any(axis=2)))
        # Copies: what the caller does to the arrays later stays outside.
        return PatchDataset(labels, k, point, feature, by_feature[point, feature].astype(np.float64, order="C", copy=False), V)


def check_labels(labels: ArrayLike, k: int, N: int | None = None) -> np.ndarray:
    """Return labels 0 .. k - 1 of N points (of any number, without N) as a new (N,) int64 array, or raise `UsageError`."""
    try:
        array = np.asarray(labels)
    except ValueError:  # nested lists of unequal lengths
        raise UsageError(f"labels: must be a list of integers 0 .. {k - 1}") from None
    if array.ndim != 1 or len(array) == 0 or N not in (None, len(array)):
        raise UsageError(f"labels has shape {array.shape}: must be ({'N' if N is None else N},), one label for each point, N >= 1")
    if array.dtype.kind not in "iu":
        raise UsageError(f"labels has dtype {shortened(str(array.dtype))}: must be integers 0 .. {k - 1}")
    if array.min() < 0 or array.max() >= k:
        raise UsageError(f"labels range from {array.min()} to {array.max()}: must lie in 0 .. {k - 1}")
    return array.astype(np.int64)


@dataclass(frozen=True, eq=False)
class SharedNoiseDataset(Dataset):
    """Points of Definition 4.1 whose noise patches are all the same vector, one of G patterns."""

    labels: np.ndarray  # (N,) int64
    # (N, V, C_P) float64: [i, l, p] = beta_p of view l; for two views [i, 1, p] = delta2 - [i, 0, p] (0 where a view has been removed)
    signal_coefficients: np.ndarray
    signal_patches: np.ndarray  # (N, V, C_P) int64: the position of that patch; the patches [i, :, p] are paired, for two views by the bijection F
    patterns: np.ndarray  # (G, k, V) float64: noise vectors
    pattern_index: np.ndarray  # (N,) int64: which of them point i has in its P - V C_P noise patches
    patch_count: int  # P

    @property
    def k(self) -> int:
        return self.patterns.shape[1]

    @property
    def V(self) -> int:
        return self.patterns.shape[2]

    @property
    def P(self) -> int:
        return self.patch_count

    def sized(self, parameters: Parameters) -> Parameters:
        sizes = {"V": self.V, "N": self.N, "P": self.P, "C_P": self.signal_patches.shape[2], "G": len(self.patterns)}
        return parameters.model_copy(update=sizes | ({"noise": "codebook"} if parameters.noise == "patch" else {}))

    def to_patches(self) -> np.ndarray:
        patches = np.repeat(self.patterns[self.pattern_index][:, None], self.P, axis=1)
        points = np.arange(self.N)[:, None]
        for view in range(self.V):
            position = self.signal_patches[:, view]
            patches[points, position] = 0.0
            patches[points, position, self.labels[:, None], view] = self.signal_coefficients[:, view]
        return patches

    def own_coefficients(self, view: int) -> np.ndarray:
        check_integer("view", view, 0, "(the views of a class)", self.V - 1)
        return self.signal_coefficients[:, view]

    def feature_totals(self) -> np.ndarray:
        totals = (self.P - self.V * self.signal_patches.shape[2]) * np.abs(self.patterns[np.unique(self.pattern_index)]).max(axis=0)
        np.maximum.at(totals, self.labels, np.abs(self.signal_coefficients).sum(axis=2))
        return totals

    def largest_patch(self) -> float:
        noise = np.abs(self.patterns[self.pattern_index]).sum(axis=(1, 2)).max()
        return float(max(noise, np.abs(self.signal_coefficients).max()))

    def terms(self, point: int) -> Iterator[tuple[int, float, int]]:
        for view, coefficients in enumerate(self.signal_coefficients[point]):
            for coefficient in coefficients:
                yield self.V * int(self.labels[point]) + view, float(coefficient), 1
        noise = self.patterns[self.pattern_index[point]].ravel()
        for feature in np.flatnonzero(noise):
            yield int(feature), float(noise[feature]), self.P - self.V * self.signal_patches.shape[2]

    def keep_view(self, view: int) -> SharedNoiseDataset:
        check_integer("view", view, 0, "(the views of a class)", self.V - 1)
        of_view = np.zeros_like(self.signal_coefficients)
        of_view[:, view] = self.signal_coefficients[:, view]
        return replace(self, signal_coefficients=of_view)


@dataclass(frozen=True, eq=False)
class PatchDataset(Dataset):
    """Points with arbitrary patches; of the V k features only those that occur in a point are stored for it.

    By Definition 4.1 these are the noise classes and the own class, V (Q + 1) features, whatever k. Points are in order, and within a point features.
    """

    labels: np.ndarray  # (N,) int64
    class_count: int  # k
    # point, feature: (n,) int64: feature V s + l, that is v_{s,l}, occurs in a point
    point: np.ndarray
    feature: np.ndarray
    rows: np.ndarray  # (n, P) float64: its coefficient in each patch of that point
    view_count: int = 2  # V

    @property
    def k(self) -> int:
        return self.class_count

    @property
    def V(self) -> int:
        return self.view_count

    @property
    def P(self) -> int:
        return self.rows.shape[1]

    def sized(self, parameters: Parameters) -> Parameters:
        Q = max(1, math.ceil(len(self.rows) / (self.V * self.N)) - 1)
        return parameters.model_copy(update={"V": self.V, "N": self.N, "P": self.P, "Q": Q, "noise": "patch"})

    def to_patches(self) -> np.ndarray:
        patches = np.zeros((self.N, self.P, self.V * self.k))
        patches[self.point, :, self.feature] = self.rows
        return patches.reshape(self.N, self.P, self.k, self.V)

    def own_coefficients(self, view: int) -> np.ndarray:
        check_integer("view", view, 0, "(the views of a class)", self.V - 1)
        own = self._is_own(view)
        coefficients = np.zeros((self.N, self.P))
        coefficients[self.point[own]] = self.rows[own]
        return coefficients

    def feature_totals(self) -> np.ndarray:
        totals = np.zeros(self.V * self.k)
        np.maximum.at(totals, self.feature, np.abs(self.rows).sum(axis=1))
        return totals.reshape(self.k, self.V)

    def largest_patch(self) -> float:
        sums = np.zeros((self.N, self.P))
        np.add.at(sums, self.point, np.abs(self.rows))
        return float(sums.max())

    def terms(self, point: int) -> Iterator[tuple[int, float, int]]:
        for row in np.flatnonzero(self.point == point):
            for coefficient in self.rows[row][self.rows[row] != 0.0]:
                yield int(self.feature[row]), float(coefficient), 1

    def keep_view(self, view: int) -> PatchDataset:
        check_integer("view", view, 0, "(the views of a class)", self.V - 1)
        remaining = (self.feature // self.V != self.labels[self.point]) | self._is_own(view)
        return replace(self, point=self.point[remaining], feature=self.feature[remaining], rows=self.rows[remaining])

    def _is_own(self, view: int) -> np.ndarray:
        return self.feature == self.V * self.labels[self.point] + view
