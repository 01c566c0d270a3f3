"""The distribution D of Definition 4.1, and draws from it.

D is a function of the parameters alone. What the definition leaves open is decided by fields of `Parameters`:

===================  =====================================================================================================
where signals lie    ``signal_layout``: a uniformly random set of 2 C_P positions for each point (the pairing F is then a
                     uniformly random bijection), or always the first 2 C_P positions, view 0 first
noise classes        Q distinct classes without the own one: uniformly at random for each point (``noise="point"``, ``"patch"``), or
                     those of a codebook pattern without own features, chosen uniformly (``"codebook"``; see `codebook`)
noise coefficients   uniform on [delta3, delta4]: for each pattern, for each point, or for each patch of a point
law of beta          ``beta_law``, symmetric about delta2 / 2, one for all classes or one for each
===================  =====================================================================================================
"""

from __future__ import annotations

import numpy as np

from mvsim.data.dataset import Dataset, PatchDataset, SharedNoiseDataset, check_labels
from mvsim.data.memory import check_data_memory
from mvsim.parameters import Parameters, check_parameters
from mvsim.random_streams import stream


def sample_dataset(parameters: Parameters, seed: int) -> Dataset:
    """Draw N i.i.d. points of Definition 4.1.

    Parameters
    ----------
    parameters : Parameters
        They fix D, the noise codebook included.
    seed : int
        Fixes the draw; independent of the initial correlations of the same seed.

    Returns
    -------
    Dataset
        A `SharedNoiseDataset` unless ``noise="patch"``, then a `PatchDataset` (16 (Q + 1) N P bytes).

    Raises
    ------
    UsageError
        If the seed is not an integer >= 0, ``parameters`` are none, or the points do not fit in memory.
    """
    p = check_parameters(parameters)
    check_data_memory(p)
    labels = stream(seed, "labels").integers(p.k, size=p.N)
    return sample_points(p, stream(seed, "points"), labels)


ONE_BY_ONE, AT_ONCE = 10_000, 2**17
"""Noise patterns of the codebook that are drawn one by one; those beyond are drawn together, that many doubles at a time."""


def codebook(parameters: Parameters) -> np.ndarray:
    """Return the (G, k, 2) noise patterns of D: Q classes each, coefficients uniform on [delta3, delta4].

    The classes are dealt to the patterns in turn and a pattern never contains a class dealt to it, so every class has a pattern that it may use;
    otherwise the Q classes of a pattern are uniformly random.

    Raises
    ------
    UsageError
        If the patterns do not fit in memory.
    """
    p = check_parameters(parameters)
    check_data_memory(p, 1)
    rng = stream(p.codebook_seed, "codebook")
    dealt = rng.permutation(p.k)
    patterns = np.zeros((p.G, p.k, 2))
    for g in range(min(p.G, ONE_BY_ONE)):
        allowed = np.setdiff1d(np.arange(p.k), dealt[g :: p.G])
        classes = rng.choice(allowed, size=p.Q, replace=False)
        patterns[g, classes] = rng.uniform(p.delta3, p.delta4, size=(p.Q, 2))
    size = max(1, AT_ONCE // p.k)
    for start in range(ONE_BY_ONE, p.G, size):
        _fill_patterns(p, rng, dealt, patterns[start : start + size], start)
    return patterns


def _fill_patterns(p: Parameters, rng: np.random.Generator, dealt: np.ndarray, patterns: np.ndarray, start: int) -> None:
    """Draw the patterns from number ``start`` on, as many as ``patterns`` has: the Q classes with the least of k random numbers, all at once."""
    keys, pattern = rng.random((len(patterns), p.k)), np.arange(p.k) % p.G - start
    here = (pattern >= 0) & (pattern < len(patterns))
    keys[pattern[here], dealt[here]] = 2.0  # last of all
    classes = np.argpartition(keys, p.Q - 1, axis=1)[:, : p.Q]
    patterns[np.arange(len(patterns))[:, None], classes] = rng.uniform(p.delta3, p.delta4, size=(len(patterns), p.Q, 2))


def sample_points(parameters: Parameters, rng: np.random.Generator, labels: np.ndarray) -> Dataset:
    """Draw one point of D for each of the given labels.

    Parameters
    ----------
    parameters : Parameters
        They fix D.
    rng : numpy.random.Generator
        Source of the draw.
    labels : numpy.ndarray
        (n,) int, the class of each point.

    Returns
    -------
    Dataset
        n points.

    Raises
    ------
    UsageError
        If a label is not a class, or the points do not fit in memory.
    """
    p = check_parameters(parameters)
    labels = check_labels(labels, p.k)
    check_data_memory(p, len(labels))
    coefficients = _signal_coefficients(p, rng, labels)
    positions = _signal_positions(p, rng, len(labels))
    if p.noise == "codebook":
        patterns = codebook(p)
        allowed = {y: np.flatnonzero(~patterns[:, y].any(axis=1)) for y in np.unique(labels)}
        index = np.array([rng.choice(allowed[y]) for y in labels], dtype=np.int64)
        return SharedNoiseDataset(labels, coefficients, positions, patterns, index, p.P)
    if p.noise == "point":
        noise = np.zeros((len(labels), p.k, 2))
        for i, y in enumerate(labels):
            noise[i, _noise_classes(p, rng, y)] = rng.uniform(p.delta3, p.delta4, size=(p.Q, 2))
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
    rows, classes = np.zeros((N, p.Q + 1, 2, p.P)), np.empty((N, p.Q + 1), dtype=np.int64)
    for i, y in enumerate(labels):
        noise = _noise_classes(p, rng, y)
        classes[i] = np.sort(np.append(noise, y))
        rows[i, np.searchsorted(classes[i], noise)] = rng.uniform(p.delta3, p.delta4, size=(p.P, p.Q, 2)).transpose(1, 2, 0)
    points, own = np.arange(N)[:, None], np.argmax(classes == labels[:, None], axis=1)[:, None]
    for view in (0, 1):
        rows[points, :, :, positions[:, view]] = 0.0
    for view in (0, 1):
        rows[points, own, view, positions[:, view]] = coefficients[:, view]
    features = 2 * classes[:, :, None] + np.arange(2)
    return PatchDataset(labels, p.k, np.repeat(np.arange(N), 2 * (p.Q + 1)), features.ravel(), rows.reshape(-1, p.P))


def _signal_coefficients(p: Parameters, rng: np.random.Generator, labels: np.ndarray) -> np.ndarray:
    """Return (n, 2, C_P): beta in view 0 and delta2 - beta in view 1, beta by the law of the own class."""
    unit = np.empty((len(labels), p.C_P))
    if isinstance(p.beta_law, tuple):
        for i, y in enumerate(labels):
            unit[i] = p.beta_law_of(int(y)).sample(rng, p.C_P)
    else:
        unit[:] = p.beta_law.sample(rng, unit.size).reshape(unit.shape)
    beta = p.delta1 + unit * (p.delta2 - 2.0 * p.delta1)
    return np.stack([beta, p.delta2 - beta], axis=1)


def _signal_positions(p: Parameters, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return (n, 2, C_P): the patch that holds each signal coefficient."""
    if p.signal_layout == "fixed":
        return np.tile(np.arange(2 * p.C_P).reshape(2, p.C_P), (n, 1, 1))
    return np.stack([rng.choice(p.P, size=2 * p.C_P, replace=False) for _ in range(n)]).reshape(n, 2, p.C_P).astype(np.int64)
