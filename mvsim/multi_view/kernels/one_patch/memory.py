"""How much memory the kernel for points with one patch takes, in doubles."""

from __future__ import annotations

from mvsim.multi_view.data.memory import features_of_point
from mvsim.multi_view.kernels.needs import Needs, NeedsOfTest
from mvsim.multi_view.kernels.one_patch.softmax import BLOCK
from mvsim.multi_view.parameters import Parameters


def needs(p: Parameters, mixes: bool) -> Needs:
    """Return what a run takes: the points, first with all features; a dozen (k, N) arrays, and of pairs six blocks of Z."""
    return Needs(p.N * p.features, 12 * p.k * p.m * p.N + (6 * max(p.N, BLOCK) if mixes else 0), 0)


def needs_of_test(p: Parameters, points: int) -> NeedsOfTest:
    """Return what outputs on fresh draws take."""
    return NeedsOfTest(p.V * 2 * features_of_point(p) * points, points * p.features + 6 * p.k * p.m * points)
