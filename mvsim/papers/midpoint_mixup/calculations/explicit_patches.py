"""A few training points as explicit patches, and the formulas of Calculations A.6, A.9 and A.10 on them.

The engine (`mvsim.multi_view.kernels`) works with tables over noise patterns and moments of coefficients; what is here knows patches only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mvsim.losses import Unmixed
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu
from mvsim.multi_view.data import Dataset, SharedNoiseDataset
from mvsim.multi_view.kernels import make_kernel
from mvsim.multi_view.objectives import objective
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

IDENTITY = 1e-12
"""Relative error below which two sides count as equal: some thousand units of round-off, less than any wrong term would make."""

CANCELLED = 1e-15
"""Relative error of the terms of a pre-activation: some units of round-off."""

Slope = Callable[[Any, float, float], np.ndarray]
"""R'(z) as a function of z, rho and alpha."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample points and a state: c (k, m, k, V), labels (n,), patches (n, P, k, V)."""

    evidence: Evidence
    c: np.ndarray
    labels: np.ndarray
    patches: np.ndarray

    def network_gradient(self, x: np.ndarray, slope: Slope) -> tuple[np.ndarray, np.ndarray]:
        """Return (k, m, k, V): sum_p R'(<w_{y,r}, x^(p)>) x^(p) for patches x (P, k, V), and the sum of the absolute values.

        A pre-activation is a sum, too. Where its terms nearly cancel, its round-off moves R' by more than R' has of its own; then R' counts with as
        much as it moves if the terms are off by `CANCELLED`, in units of `IDENTITY`.
        """
        p, (patches, times) = self.evidence.parameters, _distinct(x)
        magnitudes = abs(patches)
        step, size = np.empty((2, *self.c.shape))
        for y, z in enumerate(self._pre_activations(patches)):
            slopes, error = slope(z, p.rho, p.alpha), CANCELLED * (magnitudes @ np.abs(self.c[y].reshape(len(self.c[y]), -1)).T)
            moved = 0.5 * np.abs(slope(z + error, p.rho, p.alpha) - slope(z - error, p.rho, p.alpha))
            step[y] = (patches.T @ (times * slopes)).T.reshape(step[y].shape)
            size[y] = (magnitudes.T @ (times * np.maximum(np.abs(slopes), moved / IDENTITY))).T.reshape(size[y].shape)
        return step, size

    def _pre_activations(self, patches: csr_array) -> Iterator[np.ndarray]:
        """Yield (u, m) <w_{y,r}, x^(p)> of each class: one fits the caches, all do not. A patch has few features, so that most of it is zeros."""
        return (patches @ weights.reshape(len(weights), -1).T for weights in self.c)

    def soft_gap(self, x: np.ndarray, one: int, other: int, sums: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return (k,): (1[one = y] + 1[other = y]) / 2 - phi_y(g(x)), and the sum of the absolute values of what is added.

        1 - phi_y, if both are y, is the sum of the others, which keeps its digits; ``sums`` says whether the engine adds it up in this way, too, or
        takes phi_y from 1.

        Outputs g_s are sums of terms >= 0, so their errors are at most u g_s for some units u of round-off. From
        d phi_y = phi_y sum_s phi_s (dg_y - dg_s), the terms s = y being 0, phi_y has the error u phi_y sum_{s != y} phi_s (g_y + g_s) besides its
        own round-off. In units of u phi_y is counted with just that, which is as much as it moves if every output is off by u.
        """
        p, (patches, times) = self.evidence.parameters, _distinct(x)
        g = np.array([(times * smoothed_relu(z, p.rho, p.alpha)).sum() for z in self._pre_activations(patches)])
        weights = np.exp(g - g.max())
        phi = weights / weights.sum()
        error = np.array([phi[y] * (1.0 + (np.delete(phi, y) * (g[y] + np.delete(g, y))).sum()) for y in range(len(g))])
        target = np.bincount([one, other], minlength=len(g)) / 2.0
        if one != other:
            return target - phi, target + error
        gap = -phi
        gap[one] = np.delete(phi, one).sum()
        if sums:
            error[one] = np.delete(error, one).sum()
        return gap, error if sums else target + error

    def engine_gradients(self, i: int) -> list[np.ndarray]:
        """Return grad g_y(x_i), (k, m, k, V), from each form of the data."""
        gradients = []
        for data in self._forms([i]):
            kernel = make_kernel(self.evidence.parameters, data, "auto", self.evidence.threads)
            gradients.append(kernel.pull_back(self.c, Unmixed(), np.ones((len(self.c), 1))))
        return gradients

    def engine_losses(self, name: str) -> list[np.ndarray]:
        """Return the gradient of a loss on the few points, from each form of the data."""
        forms = self._forms(np.arange(len(self.labels)))
        return [objective(name, self.evidence.parameters, data, "auto", self.evidence.threads).gradient(self.c) for data in forms]

    def _forms(self, points: Any) -> list[Dataset]:
        data = self.evidence.data
        forms: list[Dataset] = [Dataset.from_patches(self.labels[points], self.patches[points])]
        if isinstance(data, SharedNoiseDataset):
            forms.append(some_points(data, points))
        return forms


def _distinct(x: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Return the different patches (u, k V) among x (P, k, V), and how often each stands there, (u, 1): noise patches of a point are often alike."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1))
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()  # rows as numbers would be sorted a hundred times more slowly
    _, first, times = np.unique(as_bytes, return_index=True, return_counts=True)
    return csr_array(rows[first]), times[:, None]


def some_points(data: SharedNoiseDataset, points: Any) -> SharedNoiseDataset:
    """Return some of the points, by an index or a slice, with the noise patterns of all."""
    names = ("labels", "signal_coefficients", "signal_patches", "pattern_index")
    return replace(data, **{name: getattr(data, name)[points] for name in names})


def patches_of_first(data: Dataset, n: int) -> np.ndarray:
    """Return (n, P, k, V): the patches of the first points, without writing out those of the others if that can be."""
    return some_points(data, slice(n)).to_patches() if isinstance(data, SharedNoiseDataset) else data.to_patches()[:n]
