"""Two classes of the digits of scikit-learn with an identifying pixel: the paper's experiment on images, at a size that needs no download.

A pixel that varies but tells nothing is overwritten by y gamma in the training data alone; in the test data it stays as it is. Pixels that hardly
vary are dropped: constant ones would act as a second bias, and the covariance of X_H would not be positive definite. All pixels are scaled by one
mean and one deviation, as those of a channel are in the paper.

With the test pixel set to 0 instead, a model with w_H = 0 would answer by the sign of round-off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.base.extras import load_extra
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.laws import Atoms, Law, Product, Uniform

CLASSES = (3, 8)
"""Digits that are class -1 and class +1: as alike as any two."""

TEST_SHARE = 0.3

FEWEST = 10
"""Images in which a pixel differs from its median, at least; others are dropped, so that none is constant in any training data."""


@dataclass(frozen=True)
class Split:
    """Training and test data of one random split; the identifying pixel comes first."""

    x: np.ndarray  # (n, pixels), for training: the identifying pixel is y gamma, with noise if that was asked for
    y: np.ndarray  # (n,) of +-1
    x_test: np.ndarray  # For testing, with the natural pixel
    y_test: np.ndarray
    gamma: float
    noise: float  # Half the width of uniform noise on the identifying pixel

    @property
    def distribution(self) -> Distribution:
        """The law of a training point: noise of the identifying pixel is uniform."""
        ends = {y: (y * self.gamma - self.noise, y * self.gamma + self.noise) for y in (1, -1)}
        low: dict[int, Law] = {y: Product([Uniform(*ends[y])]) if self.noise else Atoms([y * self.gamma]) for y in (1, -1)}
        return Distribution(L=low, H={y: Atoms(self.x[self.y == y, 1:]) for y in (1, -1)}, prior=float((self.y == 1).mean()))

    def test_error(self, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Return the share of test points on the wrong side, for weights (..., pixels) and biases (...)."""
        scores = w @ self.x_test.T + np.asarray(bias)[..., None]
        return (scores * self.y_test <= 0.0).mean(axis=-1)


def split(gamma: float, seed: int, noise: float = 0.0) -> Split:
    """Return a random split of the digits `CLASSES`; `UsageError` if scikit-learn is not installed.

    The identifying pixel is y ``gamma`` in training, with uniform noise of half width ``noise``; other pixels have mean 0 and deviation 1.
    """
    datasets = load_extra("sklearn.datasets", "scikit-learn", "digits", "the figures on images")
    images, labels = datasets.load_digits(return_X_y=True)
    chosen = np.isin(labels, CLASSES)
    x, y = images[chosen], np.where(labels[chosen] == CLASSES[1], 1, -1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    test, train = np.split(order, [round(TEST_SHARE * len(y))])
    x = x[:, (x != np.median(x, axis=0)).sum(axis=0) >= FEWEST]
    x = (x - x[train].mean()) / x[train].std()
    pixel = least_telling(x[train], y[train])
    x = np.concatenate([x[:, [pixel]], np.delete(x, pixel, axis=1)], axis=1)
    marked = x[train].copy()
    marked[:, 0] = y[train] * gamma + noise * rng.uniform(-1.0, 1.0, len(train))
    return Split(marked, y[train], x[test], y[test], gamma, noise)


def least_telling(x: np.ndarray, y: np.ndarray) -> int:
    """Return the pixel that tells least of the class, of those that vary at least a fifth as much as pixels do on average."""
    correlation = np.abs(((x - x.mean(axis=0)) * (y - y.mean())[:, None]).mean(axis=0)) / x.std(axis=0)
    return int(np.where(x.std(axis=0) >= 0.2, correlation, np.inf).argmin())
