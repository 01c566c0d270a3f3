"""The distribution D of Definition 4.1 or 3.1, and draws from it.

D is a function of the parameters alone. What Definition 4.1 leaves open is decided by fields of `Parameters`:

===================  =====================================================================================================
where signals lie    ``signal_layout``: a uniformly random set of V C_P positions for each point (the pairing F is then a
                     uniformly random bijection), or always the first V C_P positions, view 0 first
noise classes        Q distinct classes without the own one: uniformly at random for each point (``noise="point"``, ``"patch"``), or
                     those of a codebook pattern without own features, chosen uniformly (``"codebook"``; see `codebook`)
noise coefficients   uniform on [delta3, delta4]: for each pattern, for each point, or for each patch of a point
law of beta          ``beta_law``, symmetric about delta2 / 2, one for all classes or one for each
===================  =====================================================================================================

Definition 4.1 has V = 2 views of a class. With another V, which `Parameters` allows, each class has V features, each point C_P groups of V paired
patches, one for each view, whose coefficients are shares of delta2 (`mvsim.multi_view.parameters.beta_laws`), and a noise class brings all of its V
features.

Definition 3.1, which linear models are trained on, has the V features of the own class together in one patch and no noise:
x = sum_l beta_l v_{y,l}, for two views x = beta v_{y,1} + (delta2 - beta) v_{y,2} with delta2 = 1 and beta uniform on [0.1, 0.9].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.multi_view.data.dataset import Dataset, PatchDataset, SharedNoiseDataset, check_labels
from mvsim.multi_view.memory import check_points_fit
from mvsim.multi_view.parameters import Parameters, check_parameters
from mvsim.multi_view.parameters.beta_laws import SeparateLaw
from mvsim.multi_view.parameters.models import LINEAR, NETWORK
from mvsim.numerics.random_streams import stream


def sample_dataset(parameters: Parameters, seed: int) -> Dataset:
    """Draw N independent points of Definition 4.1, or of Definition 3.1 for the linear model.

    Parameters
    ----------
    parameters : Parameters
        They fix D, the noise codebook included.
    seed : int
        Fixes the draw; independent of the initial correlations of the same seed.

    Returns
    -------
    Dataset
        A `SharedNoiseDataset` unless ``noise="patch"``, then a `PatchDataset` (16 (Q + 1) N P bytes), as for the linear model.

    Raises
    ------
    UsageError
        If the seed is not an integer >= 0, ``parameters`` are none, or the points do not fit in memory.
    """
    p = check_parameters(parameters)
    check_points_fit(p)
    labels = stream(seed, "labels").integers(p.k, size=p.N)
    return sample_points(p, stream(seed, "points"), labels)


ONE_BY_ONE, AT_ONCE = 10_000, 2**17
"""Noise patterns of the codebook that are drawn one by one; those beyond are drawn together, that many doubles at a time."""


def codebook(parameters: Parameters) -> np.ndarray:
    """Return the (G, k, V) noise patterns of D: Q classes each, coefficients uniform on [delta3, delta4].

    The classes are dealt to the patterns in turn and a pattern never contains a class dealt to it, so every class has a pattern that it may use;
    otherwise the Q classes of a pattern are uniformly random.
    """
    p = check_parameters(parameters)
    check_points_fit(p, 1)
    rng = stream(p.codebook_seed, "codebook")
    dealt = rng.permutation(p.k)
    patterns = np.zeros((p.G, p.k, p.V))
    for g in range(min(p.G, ONE_BY_ONE)):
        allowed = np.setdiff1d(np.arange(p.k), dealt[g :: p.G])
        classes = rng.choice(allowed, size=p.Q, replace=False)
        patterns[g, classes] = rng.uniform(p.delta3, p.delta4, size=(p.Q, p.V))
    size = max(1, AT_ONCE // p.k)
    for start in range(ONE_BY_ONE, p.G, size):
        _fill_patterns(p, rng, dealt, patterns[start : start + size], start)
    return patterns


def _fill_patterns(p: Parameters, rng: np.random.Generator, dealt: np.ndarray, patterns: np.ndarray, start: int) -> None:
    """Draw the patterns from number ``start`` on, as many as ``patterns`` has: the Q classes with the least of k random numbers, all at once."""
    keys, pattern = rng.random((len(patterns), p.k)), np.arange(p.k) % p.G - start
    in_part = (pattern >= 0) & (pattern < len(patterns))
    keys[pattern[in_part], dealt[in_part]] = 2.0  # last of all
    classes = np.argpartition(keys, p.Q - 1, axis=1)[:, : p.Q]
    patterns[np.arange(len(patterns))[:, None], classes] = rng.uniform(p.delta3, p.delta4, size=(len(patterns), p.Q, p.V))


def sample_points(parameters: Parameters, rng: np.random.Generator, labels: np.ndarray) -> Dataset:
    """Draw one point of D for each of the labels (n,)."""
    p = check_parameters(parameters)
    labels = check_labels(labels, p.k)
    check_points_fit(p, len(labels))
    return SAMPLERS[p.model](p, rng, labels)


def _joined_views(p: Parameters, rng: np.random.Generator, labels: np.ndarray) -> Dataset:
    """Draw points of Definition 3.1: the views of the own class in one patch."""
    coefficients = _signal_coefficients(p, rng, labels)
    features = p.V * labels[:, None] + np.arange(p.V)
    return PatchDataset(labels, p.k, np.repeat(np.arange(len(labels)), p.V), features.ravel(), coefficients.reshape(-1, p.P), p.V)


def _separate_views(p: Parameters, rng: np.random.Generator, labels: np.ndarray) -> Dataset:
    """Draw points of Definition 4.1: each view in patches of its own, and noise in all others."""
    coefficients = _signal_coefficients(p, rng, labels)
    positions = _signal_positions(p, rng, len(labels))
    if p.noise == "codebook":
        patterns = codebook(p)
        allowed = {y: np.flatnonzero(~patterns[:, y].any(axis=1)) for y in np.unique(labels)}
        index = np.array([rng.choice(allowed[y]) for y in labels], dtype=np.int64)
        return SharedNoiseDataset(labels, coefficients, positions, patterns, index, p.P)
    if p.noise == "point":
        noise = np.zeros((len(labels), p.k, p.V))
        for i, y in enumerate(labels):
            noise[i, _noise_classes(p, rng, y)] = rng.uniform(p.delta3, p.delta4, size=(p.Q, p.V))
        return SharedNoiseDataset(labels, coefficients, positions, noise, np.arange(len(labels)), p.P)
    return _noise_of_each_patch(p, rng, labels, coefficients, positions)


def _noise_classes(p: Parameters, rng: np.random.Generator, y: int) -> np.ndarray:
    """Return (Q,) classes other than y."""
    classes = rng.choice(p.k - 1, size=p.Q, replace=False)
    return classes + (classes >= y)


def _noise_of_each_patch(
    p: Parameters, rng: np.random.Generator, labels: np.ndarray, coefficients: np.ndarray, positions: np.ndarray
) -> PatchDataset:
    """Return points whose noise patches share their classes but not their coefficients: (point, class, view, patch) of the classes that occur."""
    N = len(labels)
    rows, classes = np.zeros((N, p.Q + 1, p.V, p.P)), np.empty((N, p.Q + 1), dtype=np.int64)
    for i, y in enumerate(labels):
        noise = _noise_classes(p, rng, y)
        classes[i] = np.sort(np.append(noise, y))
        rows[i, np.searchsorted(classes[i], noise)] = rng.uniform(p.delta3, p.delta4, size=(p.P, p.Q, p.V)).transpose(1, 2, 0)
    points, own = np.arange(N)[:, None], np.argmax(classes == labels[:, None], axis=1)[:, None]
    for view in range(p.V):
        rows[points, :, :, positions[:, view]] = 0.0
    for view in range(p.V):
        rows[points, own, view, positions[:, view]] = coefficients[:, view]
    features = p.V * classes[:, :, None] + np.arange(p.V)
    return PatchDataset(labels, p.k, np.repeat(np.arange(N), p.V * (p.Q + 1)), features.ravel(), rows.reshape(-1, p.P), p.V)


def _signal_coefficients(p: Parameters, rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Return (n, V, C_P): coefficients by the law of the own class; those of paired patches add up to delta2, but for a `SeparateLaw`."""
    laws = p.beta_law if isinstance(p.beta_law, tuple) else (p.beta_law,) * p.k
    if isinstance(laws[0], SeparateLaw):
        return np.array([laws[y].coefficients(rng, p.C_P) for y in labels]).reshape(len(labels), p.V, p.C_P)
    together, shares = np.ones((len(labels), p.C_P)), []
    for views in range(p.V, 1, -1):  # see `mvsim.multi_view.parameters.beta_laws`
        part = together * _parts(p, rng, labels, views)
        shares.append(together - part)
        together = part
    # The first view has what is left in the end; of the last one, what the others leave of delta2 is taken, so that the sum is right.
    beta = [p.delta1 + share * (p.delta2 - p.V * p.delta1) for share in [together, *shares[:0:-1]]][: p.V - 1]
    return np.stack([*beta, p.delta2 - sum(beta, np.zeros_like(together))], axis=1)


def _parts(p: Parameters, rng: np.random.Generator, labels: np.ndarray, views: int) -> np.ndarray:
    """Return (n, C_P): the part of all but the last of the first ``views`` views."""
    if isinstance(p.beta_law, tuple):
        return np.stack([p.beta_law_of(int(y)).sample(rng, p.C_P, views) for y in labels])
    return p.beta_law.sample(rng, len(labels) * p.C_P, views).reshape(len(labels), p.C_P)


def _signal_positions(p: Parameters, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return (n, V, C_P): the patch that holds each signal coefficient."""
    if p.signal_layout == "fixed":
        return np.tile(np.arange(p.signal_patches).reshape(p.V, p.C_P), (n, 1, 1))
    return np.stack([rng.choice(p.P, size=p.signal_patches, replace=False) for _ in range(n)]).reshape(n, p.V, p.C_P).astype(np.int64)


SAMPLERS: dict[str, Callable[[Parameters, np.random.Generator, np.ndarray], Dataset]] = {NETWORK.name: _separate_views, LINEAR.name: _joined_views}
"""How the points of each model are drawn, given their labels."""
