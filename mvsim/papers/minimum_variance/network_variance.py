"""Output variance of the two-layer network of the Midpoint Mixup paper on multi-view data, after some gradient descent with each method.

The data set is the distribution: the points of a class have equal weights, as have the pairs of two classes under Mixup. Inputs are mixed patch by
patch, so what the network sees of a mixed input are mixed coefficients of features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from pydantic import Field
from scipy.special import softmax

from mvsim.judging.statement import Setting
from mvsim.losses.mixing_laws import law_from
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.initialisation import initial_correlations
from mvsim.multi_view.objectives import objective
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.minimum_variance.output_variance import OutputVariance, bounds

METHODS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ERM": ("erm", {}, {}),
    "weight decay 0.001": ("erm", {"weight_decay": 1e-3}, {}),
    "label smoothing 0.1": ("erm", {"label_smoothing": 0.1}, {"smoothing": 0.1}),
    "Midpoint Mixup": ("midpoint", {}, {"mixing": 0.5}),
}
"""Objective and its options, and the options of `network_variance`."""

PROBLEM = {"m": 4, "N": 12, "P": 6, "C_P": 1, "d": 100, "alpha": 4, "rho": 0.2}


class Network(Setting):
    """A network; a seed draws its data and initial weights."""

    k: int = Field(3, ge=2, le=10, description="Classes.")
    steps: int = Field(200, ge=0, le=10**5, description="Steps of gradient descent before outputs are looked at.")
    eta: float = Field(2.0, gt=0.0, le=1e3, description="Step size.")


def trained(setting: Network, seed: int, name: str) -> tuple[Parameters, Dataset, np.ndarray]:
    """Return parameters, data and correlations after training by a method."""
    p = Parameters(k=setting.k, **PROBLEM)
    method, options, _ = METHODS[name]
    data, c = sample_dataset(p, seed), initial_correlations(p, seed)
    loss = objective(method, p, data, backend="numpy", **options)
    for _ in range(setting.steps):
        c = c - setting.eta * loss.gradient(c)
    return p, data, c


def by_method(setting: Network, seed: int) -> dict[str, OutputVariance]:
    """Return the bounds for the network that each method has trained."""
    return {name: network_variance(*trained(setting, seed, name), **METHODS[name][2]) for name in METHODS}


def without_condition(setting: Network, seed: int) -> dict[str, OutputVariance]:
    """Return the same for ERM with the variance over all classes together, for which the bounds do not speak."""
    p, data, c = trained(setting, seed, "ERM")
    g = _probabilities(p, data.to_patches(), c)
    variance = float(((g - g.mean(axis=0)) ** 2).sum(axis=1).mean())
    found = network_variance(p, data, c)
    return {"ERM": replace(found, weighted_variance=variance / (2.0 * p.k), squared_error=variance, variance=variance)}


def network_variance(parameters: Parameters, data: Dataset, c: np.ndarray, smoothing: float = 0.0, mixing: Any = None) -> OutputVariance:
    """Return the excess loss of a network with correlations c (k, m, k, 2) on a data set, and what its output variance says of it.

    ``smoothing`` is the mass of the uniform law in the label, ``mixing`` the law of lambda as `mvsim.losses.mixing_laws.law_from` reads it.
    """
    patches, k = data.to_patches(), parameters.k
    labels = (1.0 - smoothing) * np.eye(k) + smoothing / k
    own = {y: np.flatnonzero(data.labels == y) for y in np.unique(data.labels)}
    pairs = {(y, y): [(i, i) for i in own[y]] for y in own} if mixing is None else {(y, s): list(product(own[y], own[s])) for y in own for s in own}
    total = sum(map(len, pairs.values()))

    def conditions() -> Iterator[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
        for lam, probability in [(1.0, 1.0)] if mixing is None else law_from(mixing).folded_quadrature():
            for (y, s), members in pairs.items():
                first, second = np.array(members).T
                g = _probabilities(parameters, lam * patches[first] + (1.0 - lam) * patches[second], c)
                t = lam * labels[y] + (1.0 - lam) * labels[s]
                yield probability * len(members) / total, t, g, np.full(len(members), 1.0 / len(members))

    return bounds(conditions())


def _probabilities(parameters: Parameters, patches: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the probabilities (n, k) of the network on inputs in feature coordinates."""
    inputs = Dataset.from_patches(np.zeros(len(patches), dtype=int), patches)
    return np.asarray(softmax(objective("erm", parameters, inputs, backend="numpy").outputs(c), axis=0).T)
