"""The paper's experiments with logistic regression: three methods, a range of strengths of each, several runs, trained by Adam."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvsim.base.errors import StalledError, UsageError
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.minimisers import minimiser

METHODS = ("decay", "smoothing", "mixup")
"""Weight decay, label smoothing, Mixup: the methods of all figures."""


@dataclass(frozen=True)
class Protocol:
    """What is trained and how. Version 1 of the paper has lost its numbers: these are stand-ins, and all of them are options."""

    values: int = 20  # Strengths of each method, evenly spaced from 0 to the largest, which follow
    runs: int = 5  # Runs at each
    decay: float = 0.1
    smoothing: float = 0.75  # Mass of the uniform law in the label, twice that of the flipped label
    alpha: float = 8.0  # Of lambda ~ Beta(alpha, alpha); 0 is no Mixup
    epochs: int = 100
    batch: int = 500  # Points of a step of Adam

    def strengths(self, method: str) -> np.ndarray:
        """Return the strengths of a method, ascending."""
        return np.linspace(0.0, {"decay": self.decay, "smoothing": self.smoothing, "mixup": self.alpha}[method], self.values)

    def train(self, x: np.ndarray, y: np.ndarray, rate: float, bias: bool = False) -> dict[str, np.ndarray]:
        """Return the weights of all runs by method, (values, runs, coordinates, with the bias last).

        x (runs, N, coordinates) and y (runs, N) are the data of each run, with classes +-1; ``rate`` is the learning rate of Adam. With ``bias`` the
        model has a constant term, without weight decay.
        """
        of_run = np.tile(np.arange(self.runs), self.values)
        return {
            method: train(
                x, y, method, np.repeat(self.strengths(method), self.runs), of_run, rate, [self.steps(x.shape[1])], self.batch_of(x.shape[1]), bias
            )[:, 0].reshape(self.values, self.runs, -1)
            for method in METHODS
        }

    def batch_of(self, points: int) -> int:
        """Return the points of a step: a batch, or a tenth of the data if there are fewer than ten batches."""
        return min(self.batch, max(points // 10, 1))

    def steps(self, points: int) -> int:
        """Return the number of steps of all epochs."""
        return self.epochs * (points // self.batch_of(points))


def train(
    x: np.ndarray,
    y: np.ndarray,
    method: str,
    strengths: np.ndarray,
    of_run: np.ndarray,
    rate: float,
    records: list[int],
    batch: int,
    bias: bool = False,
) -> np.ndarray:
    """Return the weights of runs of one method at some steps, (runs, records, coordinates); run i has ``strengths[i]`` and the data ``x[of_run[i]]``.

    Weights begin as those of a linear layer in PyTorch, uniform in +-1 / sqrt(coordinates); runs on the same data begin at the same.
    """
    from mvsim.papers.minimum_variance.adam_loops import adam

    if bias:
        x = np.concatenate([x, np.ones((*x.shape[:2], 1))], axis=2)
    d = x.shape[2]
    start = np.stack([np.random.default_rng(run).uniform(-1.0, 1.0, d) / np.sqrt(d) for run in range(len(x))])[of_run]
    penalty = np.ones(d)
    if bias:
        penalty[-1] = 0.0

    def one(run: int) -> np.ndarray:
        decay, smoothing, alpha = (float(strengths[run]) if method == name else 0.0 for name in METHODS)
        data = of_run[run]
        return np.asarray(
            adam(x[data], (y[data] + 1.0) / 2.0, start[run], decay * penalty, smoothing / 2.0, alpha, rate, batch, np.array(records), run)
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.stack(list(pool.map(one, range(len(strengths)))))


def samples(distribution: Distribution, runs: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the data of runs 0, 1, ...: points (runs, size, coordinates) and classes (runs, size)."""
    drawn = [distribution.sample(size, np.random.default_rng(run)) for run in range(runs)]
    return np.stack([x for x, _ in drawn]), np.stack([y for _, y in drawn])


def exact(distribution: Distribution, method: str, strength: float, bias: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
    """Return w_L, w_H and the bias of the exact minimiser at a strength of a method; NaN where none is to be had."""
    options: dict[str, Any] = {"decay": {"decay": strength}, "smoothing": {"smoothing": strength / 2.0}, "mixup": {}}[method]
    if method == "mixup" and strength > 0.0:
        options = {"mixing": {"distribution": "beta", "args": [strength, strength]}}
    try:
        found = minimiser(distribution, bias=bias, **options)
    except (StalledError, UsageError):  # no convergence, or too many mixed pairs
        found = None
    if found is None or not found.attained:
        sizes = distribution.L[1].dimension, distribution.H[1].dimension
        return np.full(sizes[0], np.nan), np.full(sizes[1], np.nan), np.nan
    return found.w_L, found.w_H, found.bias
