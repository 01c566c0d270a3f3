"""Bookkeeping of the factored kernel: which patch meets which. Points are sorted by noise pattern throughout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mvsim.multi_view.data import SharedNoiseDataset


class Terms(NamedTuple):
    """A list of terms (see `..shared_noise.loops.terms`): outputs[point] += times * sum_r R(a * column[first] + b * column[second])."""

    point: np.ndarray
    times: np.ndarray
    first: np.ndarray
    a: np.ndarray
    second: np.ndarray
    b: np.ndarray

    @staticmethod
    def join(*parts: Terms) -> Terms:
        """Return the concatenation of several lists."""
        return Terms(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Layout:
    """A `SharedNoiseDataset` sorted by pattern, with unused patterns dropped."""

    order: np.ndarray  # (N,): sorted position -> original index
    # labels, pattern: (N,) of the sorted points
    labels: np.ndarray
    pattern: np.ndarray
    start: np.ndarray  # (G + 1,): points start[g] .. start[g + 1] - 1 have pattern g.
    patterns: np.ndarray  # (G, F) noise vectors
    feature_class: np.ndarray  # (F,) class of each feature; features of one class stand together, classes in their order
    feature: np.ndarray  # (N, S) feature in each of the S signal patches
    signal: np.ndarray  # (N, S) its coefficient
    position: np.ndarray  # (N, S) its patch
    P: int  # Patches per point

    @staticmethod
    def of(data: SharedNoiseDataset) -> Layout:
        """Sort a data set."""
        used, pattern = np.unique(data.pattern_index, return_inverse=True)
        order = np.argsort(pattern, kind="stable")
        N = data.N
        _, views, patches_of_view = data.signal_coefficients.shape
        first_of_class = np.searchsorted(data.feature_class, data.labels[order])
        return Layout(
            order=order,
            labels=data.labels[order],
            pattern=pattern[order],
            start=np.searchsorted(pattern[order], np.arange(len(used) + 1)),
            patterns=np.ascontiguousarray(data.patterns[used].reshape(len(used), -1)),
            feature_class=data.feature_class,
            feature=first_of_class[:, None] + np.repeat(np.arange(views), patches_of_view),
            signal=np.ascontiguousarray(data.signal_coefficients[order].reshape(N, -1)),
            position=np.ascontiguousarray(data.signal_patches[order].reshape(N, -1)),
            P=data.P,
        )

    @property
    def features(self) -> int:
        """The number F of features, and the column of the first noise pattern."""
        return len(self.feature_class)

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.feature_class[-1]) + 1

    @property
    def class_start(self) -> np.ndarray:
        """(k + 1,): features class_start[s] .. class_start[s + 1] - 1 are of class s."""
        return np.searchsorted(self.feature_class, np.arange(self.k + 1))


def unmixed_signal_terms(layout: Layout) -> Terms:
    """Return the signal patches of g(x_i), as points 0 .. N - 1."""
    N, S = layout.signal.shape
    feature = layout.feature.ravel()
    return Terms(np.repeat(np.arange(N), S), np.ones(N * S), feature, layout.signal.ravel(), feature, np.zeros(N * S))


def unmixed_noise_terms(layout: Layout) -> Terms:
    """Return one noise patch of each pattern, as points 0 .. G - 1."""
    G = len(layout.patterns)
    pattern = layout.features + np.arange(G)
    return Terms(np.arange(G), np.ones(G), pattern, np.ones(G), pattern, np.zeros(G))


def listed_terms(layout: Layout, first: np.ndarray, second: np.ndarray, lam: np.ndarray) -> Terms:
    """Return the outputs of given mixed points (sorted points ``first``, ``second``; weights ``lam`` of the first), as points 0 .. M - 1."""
    S, mu, points = layout.signal.shape[1], 1.0 - lam, np.arange(len(first))
    noise_i, noise_j = layout.features + layout.pattern[first], layout.features + layout.pattern[second]
    e, p, q = np.nonzero(layout.position[first][:, :, None] == layout.position[second][:, None, :])
    met_i, met_j = np.zeros((len(first), S), dtype=bool), np.zeros((len(first), S), dtype=bool)
    met_i[e, p], met_j[e, q] = True, True
    a, at_p = np.nonzero(~met_i)
    b, at_q = np.nonzero(~met_j)
    i, j = first, second
    both_noise = layout.P - 2 * S + np.bincount(e, minlength=len(first))
    return Terms.join(
        Terms(a, np.ones(len(a)), layout.feature[i[a], at_p], lam[a] * layout.signal[i[a], at_p], noise_j[a], mu[a]),
        Terms(b, np.ones(len(b)), noise_i[b], lam[b], layout.feature[j[b], at_q], mu[b] * layout.signal[j[b], at_q]),
        Terms(e, np.ones(len(e)), layout.feature[i[e], p], lam[e] * layout.signal[i[e], p], layout.feature[j[e], q], mu[e] * layout.signal[j[e], q]),
        Terms(points, both_noise.astype(np.float64), noise_i, lam, noise_j, mu),
    )


class Meetings(NamedTuple):
    """Signal patch p of point i lies where signal patch q of point j lies, once for each entry; ``pair`` counts the extra pairs.

    All attributes are (n,) arrays of integers.
    """

    pair: np.ndarray
    i: np.ndarray
    p: np.ndarray
    j: np.ndarray
    q: np.ndarray

    def where(self, chosen: np.ndarray) -> Meetings:
        """Return some of the entries."""
        return Meetings(self.pair[chosen], self.i[chosen], self.p[chosen], self.j[chosen], self.q[chosen])


@dataclass(frozen=True)
class PairPlan:
    """All pairs at one lam, in blocks of two patterns."""

    lam: float  # Weight of the first point
    symmetric: bool  # lam = 1/2: only i <= j is visited
    blocks: np.ndarray  # (B, 2) patterns (g, h) of the first and second point
    repeats: float  # P - 2 S, how often noise meets noise in a pair without coincidences (negative if P < 2 S; the corrections make up for it)
    extra_pairs: np.ndarray  # (E, 2) pairs with coinciding signal patches, sorted by block
    extra_start: np.ndarray  # (B + 1,) ranges of extra_pairs
    meetings: Meetings  # The coincidences themselves


class PairBlocks(NamedTuple):
    """A `PairPlan` as the compiled loops over blocks of pairs take it."""

    # blocks, repeats, extra_start, extra_pairs, lam, symmetric: See `PairPlan`
    blocks: np.ndarray
    repeats: float
    extra_start: np.ndarray
    extra_pairs: np.ndarray
    lam: float
    symmetric: bool
    # start, labels: See `Layout`
    start: np.ndarray
    labels: np.ndarray
    weight: float  # 1 / N^2, the weight of one ordered pair

    @staticmethod
    def of(layout: Layout, plan: PairPlan) -> PairBlocks:
        """Take what the loops need."""
        return PairBlocks(
            blocks=plan.blocks,
            repeats=plan.repeats,
            extra_start=plan.extra_start,
            extra_pairs=plan.extra_pairs,
            lam=plan.lam,
            symmetric=plan.symmetric,
            start=layout.start,
            labels=layout.labels,
            weight=1.0 / len(layout.labels) ** 2,
        )


class Corrections(NamedTuple):
    """What corrects pairs with coinciding signal patches, as the loops of `loops.coincidences` take it."""

    own_pair: np.ndarray  # (N,) place of the pair (i, i) among the terms
    pattern: np.ndarray  # See `Layout`
    block_of_extra: np.ndarray  # (E,) block of each extra pair
    given_back: np.ndarray  # (E,) how many noise-on-noise patches its coincidences give back


def plan_pairs(layout: Layout, lam: float, symmetric: bool) -> PairPlan:
    """Lay out all pairs at one lam."""
    N, G, S = len(layout.labels), len(layout.patterns), layout.signal.shape[1]
    g, h = np.triu_indices(G) if symmetric else (np.repeat(np.arange(G), G), np.tile(np.arange(G), G))
    block_of = np.full((G, G), -1)
    block_of[g, h] = np.arange(len(g))

    i, p, j, q = _coincidences(layout, symmetric)
    pairs, which = np.unique(i * N + j, return_inverse=True)
    pairs = np.stack(np.divmod(pairs, N), axis=1)
    block = block_of[layout.pattern[pairs[:, 0]], layout.pattern[pairs[:, 1]]]
    by_block = np.argsort(block, kind="stable")
    rank = np.empty_like(by_block)
    rank[by_block] = np.arange(len(by_block))
    return PairPlan(
        lam=lam,
        symmetric=symmetric,
        blocks=np.stack([g, h], axis=1),
        repeats=float(layout.P - 2 * S),
        extra_pairs=pairs[by_block],
        extra_start=np.searchsorted(block[by_block], np.arange(len(g) + 1)),
        meetings=Meetings(rank[which], i, p, j, q),
    )


def by_classes(layout: Layout, plan: PairPlan) -> tuple[Meetings, np.ndarray]:
    """Return the coincidences of every ordered pair, sorted by the classes y and s of both points and by the first, and where each y k + s begins."""
    meetings = plan.meetings
    if plan.symmetric:
        apart = meetings.where(meetings.i != meetings.j)
        swapped = Meetings(apart.pair, apart.j, apart.q, apart.i, apart.p)
        meetings = Meetings(*map(np.concatenate, zip(meetings, swapped, strict=True)))
    classes = layout.labels[meetings.i] * layout.k + layout.labels[meetings.j]
    order = np.lexsort((meetings.i, classes))
    return meetings.where(order), np.searchsorted(classes[order], np.arange(layout.k**2 + 1))


def block_terms(layout: Layout, plan: PairPlan) -> Terms:
    """Return the noise on noise of each block, as points 0 .. B - 1."""
    g, h = plan.blocks.T
    n = len(g)
    return Terms(np.arange(n), np.ones(n), layout.features + g, np.full(n, plan.lam), layout.features + h, np.full(n, 1.0 - plan.lam))


def signal_terms(layout: Layout, plan: PairPlan, meetings: Meetings) -> Terms:
    """Return the signal on signal of meetings, as points B + pair."""
    at_i, at_j = (meetings.i, meetings.p), (meetings.j, meetings.q)
    return Terms(
        len(plan.blocks) + meetings.pair, np.ones(len(meetings.pair)),
        layout.feature[at_i], plan.lam * layout.signal[at_i], layout.feature[at_j], (1.0 - plan.lam) * layout.signal[at_j],
    )  # fmt: skip


def noise_terms(layout: Layout, plan: PairPlan) -> Terms:
    """Return what the meetings take from the tables and give to noise on noise, as points B + pair."""
    meet, lam, mu = plan.meetings, plan.lam, 1.0 - plan.lam
    n, point = len(meet.pair), len(plan.blocks) + meet.pair
    noise_i, noise_j = layout.features + layout.pattern[meet.i], layout.features + layout.pattern[meet.j]
    at_i, at_j = (meet.i, meet.p), (meet.j, meet.q)
    return Terms.join(
        Terms(point, np.full(n, -1.0), layout.feature[at_i], lam * layout.signal[at_i], noise_j, np.full(n, mu)),
        Terms(point, np.full(n, -1.0), noise_i, np.full(n, lam), layout.feature[at_j], mu * layout.signal[at_j]),
        Terms(point, np.ones(n), noise_i, np.full(n, lam), noise_j, np.full(n, mu)),
    )


def _coincidences(layout: Layout, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, p, j, q): signal p of point i and signal q of point j lie at the same position; i <= j only if symmetric."""
    S = layout.position.shape[1]
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
