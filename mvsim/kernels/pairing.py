"""Bookkeeping of the factored kernel: which patch meets which. Points are sorted by noise pattern throughout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.data import SharedNoiseDataset


@dataclass(frozen=True)
class Terms:
    """A list of terms (see `mvsim.kernels._compiled`): outputs[point] += count * sum_r R(a * column[first] + b * column[second])."""

    point: np.ndarray
    count: np.ndarray
    first: np.ndarray
    a: np.ndarray
    second: np.ndarray
    b: np.ndarray

    @staticmethod
    def join(*parts: Terms) -> Terms:
        """Return the concatenation of several lists."""
        return Terms(*(np.concatenate([getattr(part, name) for part in parts]) for name in Terms.__dataclass_fields__))


@dataclass(frozen=True)
class Layout:
    """A `SharedNoiseDataset` sorted by pattern, with unused patterns dropped.

    Attributes
    ----------
    order : numpy.ndarray
        (N,): sorted position -> original index.
    labels, pattern : numpy.ndarray
        (N,) of the sorted points.
    start : numpy.ndarray
        (G + 1,): points start[g] .. start[g + 1] - 1 have pattern g.
    patterns : numpy.ndarray
        (G, 2k) noise vectors.
    feature : numpy.ndarray
        (N, S) index 2 s + l of the feature in each of the S = 2 C_P signal patches.
    signal : numpy.ndarray
        (N, S) its coefficient.
    position : numpy.ndarray
        (N, S) its patch.
    P : int
        Patches per point.
    """

    order: np.ndarray
    labels: np.ndarray
    pattern: np.ndarray
    start: np.ndarray
    patterns: np.ndarray
    feature: np.ndarray
    signal: np.ndarray
    position: np.ndarray
    P: int

    @staticmethod
    def of(data: SharedNoiseDataset) -> Layout:
        """Sort a data set."""
        used, pattern = np.unique(data.pattern_index, return_inverse=True)
        order = np.argsort(pattern, kind="stable")
        N = data.N
        view = np.repeat(np.arange(2), data.signal_coefficients.shape[2])
        return Layout(
            order=order,
            labels=data.labels[order],
            pattern=pattern[order],
            start=np.searchsorted(pattern[order], np.arange(len(used) + 1)),
            patterns=np.ascontiguousarray(data.patterns[used].reshape(len(used), -1)),
            feature=2 * data.labels[order, None] + view,
            signal=np.ascontiguousarray(data.signal_coefficients[order].reshape(N, -1)),
            position=np.ascontiguousarray(data.signal_patches[order].reshape(N, -1)),
            P=data.P,
        )

    @property
    def base(self) -> int:
        """Column of the first noise pattern: 2k."""
        return self.patterns.shape[1]


def unmixed_terms(layout: Layout) -> Terms:
    """Return g(x_i): the signal patches, and the noise pattern P - S times."""
    N, S = layout.signal.shape
    signals = Terms(
        np.repeat(np.arange(N), S), np.ones(N * S), layout.feature.ravel(), layout.signal.ravel(), layout.feature.ravel(), np.zeros(N * S)
    )  # fmt: skip
    noise = layout.base + layout.pattern
    rest = Terms(np.arange(N), np.full(N, float(layout.P - S)), noise, np.ones(N), noise, np.zeros(N))
    return Terms.join(signals, rest) if layout.P > S else signals


@dataclass(frozen=True)
class PairPlan:
    """All pairs at one lam, in blocks of two patterns.

    Attributes
    ----------
    lam : float
        Weight of the first point.
    symmetric : bool
        lam = 1/2: only i <= j is visited.
    blocks : numpy.ndarray
        (B, 2) patterns (g, h) of the first and second point.
    repeats : float
        P - 2 S, how often noise meets noise in a pair without coincidences (negative if P < 2 S; the corrections make up for it).
    extra_pairs : numpy.ndarray
        (E, 2) pairs with coinciding signal patches, sorted by block.
    extra_start : numpy.ndarray
        (B + 1,) ranges of extra_pairs.
    terms : Terms
        Points 0 .. B - 1 are noise on noise of the blocks, points B .. B + E - 1 the corrections of the extra pairs.
    """

    lam: float
    symmetric: bool
    blocks: np.ndarray
    repeats: float
    extra_pairs: np.ndarray
    extra_start: np.ndarray
    terms: Terms


def plan_pairs(layout: Layout, lam: float, symmetric: bool) -> PairPlan:
    """Lay out all pairs at one lam."""
    G, S = len(layout.patterns), layout.signal.shape[1]
    g, h = np.triu_indices(G) if symmetric else (np.repeat(np.arange(G), G), np.tile(np.arange(G), G))
    block_of = np.full((G, G), -1)
    block_of[g, h] = np.arange(len(g))

    i, p, j, q = _coincidences(layout, symmetric)
    key = i * len(layout.labels) + j
    pairs, which = np.unique(key, return_inverse=True)
    pairs = np.stack(np.divmod(pairs, len(layout.labels)), axis=1)
    block = block_of[layout.pattern[pairs[:, 0]], layout.pattern[pairs[:, 1]]]
    by_block = np.argsort(block, kind="stable")
    rank = np.empty_like(by_block)
    rank[by_block] = np.arange(len(by_block))
    point = len(g) + rank[which]

    def meet(count: float, first: np.ndarray, a: np.ndarray | float, second: np.ndarray, b: np.ndarray | float) -> Terms:
        n = len(first)
        return Terms(point, np.full(n, count), first, np.broadcast_to(a, n).copy(), second, np.broadcast_to(b, n).copy())

    mu = 1.0 - lam
    signal_i, beta_i, noise_i = layout.feature[i, p], lam * layout.signal[i, p], layout.base + layout.pattern[i]
    signal_j, beta_j, noise_j = layout.feature[j, q], mu * layout.signal[j, q], layout.base + layout.pattern[j]
    terms = Terms.join(
        Terms(np.arange(len(g)), np.ones(len(g)), layout.base + g, np.full(len(g), lam), layout.base + h, np.full(len(g), mu)),
        meet(1.0, signal_i, beta_i, signal_j, beta_j),
        meet(-1.0, signal_i, beta_i, noise_j, mu),
        meet(-1.0, noise_i, lam, signal_j, beta_j),
        meet(1.0, noise_i, lam, noise_j, mu),
    )
    return PairPlan(
        lam=lam,
        symmetric=symmetric,
        blocks=np.stack([g, h], axis=1),
        repeats=float(layout.P - 2 * S),
        extra_pairs=pairs[by_block],
        extra_start=np.searchsorted(block[by_block], np.arange(len(g) + 1)),
        terms=terms,
    )


def _coincidences(layout: Layout, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, p, j, q): signal p of point i and signal q of point j lie at the same position; i <= j only if symmetric."""
    N, S = layout.position.shape
    by_position = np.argsort(layout.position.ravel(), kind="stable")
    sizes = np.unique(layout.position.ravel(), return_counts=True)[1]
    left, right = [], []
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        slots = by_position[end - size : end]
        a, b = np.triu_indices(size) if symmetric else (np.repeat(np.arange(size), size), np.tile(np.arange(size), size))
        left.append(slots[a])
        right.append(slots[b])
    (i, p), (j, q) = np.divmod(np.concatenate(left), S), np.divmod(np.concatenate(right), S)
    return i, p, j, q
