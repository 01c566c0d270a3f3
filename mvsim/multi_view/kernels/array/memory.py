"""How much memory the kernels for namespaces of the array API standard take, in doubles.

What is worked on in pieces takes a few arrays of `TILE_BYTES` each, on a GPU of `TILE_BYTES_OF_GPU`, or less where the whole is smaller.
"""

from __future__ import annotations

import math

from mvsim.multi_view.data.memory import drawn_patterns, used_patterns
from mvsim.multi_view.kernels.any_patches.memory import stored
from mvsim.multi_view.kernels.devices import TILE_BYTES, TILE_BYTES_OF_GPU
from mvsim.multi_view.kernels.limits import HESSIAN_ROWS
from mvsim.multi_view.kernels.needs import Needs, NeedsOfTest
from mvsim.multi_view.parameters import Parameters

_OF_PAIRS, _OF_TERMS, _OF_PATCHES = 4, 6, 5
"""Arrays of the size of a piece that are there at once while an activation or a loss is evaluated."""

_UNEVEN = 1.2
"""The largest number of terms of a column over their mean."""


def needs(p: Parameters, mixes: bool, tile_bytes: int = TILE_BYTES) -> Needs:
    """Return what a run takes on points that share noise patterns, where arrays are in the memory of the machine."""
    columns = p.k * p.m * (p.features + used_patterns(p, p.N))
    if not mixes:
        return Needs(_points(p, p.N), 8 * columns + min(tile_bytes // 16, _OF_TERMS * _terms(p) * p.m * p.k), _hessian_of_points(p))
    slots = used_patterns(p, p.N) * _width(p)
    table = p.k * used_patterns(p, p.N) * slots
    pairs = (slots + _width(p)) * slots // 2
    one_class = p.m * p.k * _most(p.N, p.k) * p.signal_patches * used_patterns(p, p.N)
    terms, by_column = _terms_of_pairs(p)
    pieces = max(min(_OF_PAIRS * tile_bytes // 8, 2 * _OF_PAIRS * max(one_class, p.k * pairs)), p.m * (_OF_TERMS * terms + by_column))
    # Weights, once without the pairs that are written out, and places of corrections; soft labels. Of tables: values and tangents, residuals and
    # their changes, and as much while they are laid out by class.
    return Needs(_points(p, p.N) + 3 * pairs + table + _extra(p), 7 * table + 8 * columns + pieces, _hessian_of_pairs(p))


def needs_on_gpu(p: Parameters, mixes: bool) -> Needs:
    """Return what the arrays of a run take on a GPU."""
    return needs(p, mixes, TILE_BYTES_OF_GPU)


def needs_beside_gpu(p: Parameters, mixes: bool) -> Needs:
    """Return what a run takes in the memory of the machine while its arrays are on a GPU: the layout, and results."""
    return Needs(_points(p, p.N), 4 * p.k * p.m * p.features, 0)


def _hessian_of_pairs(p: Parameters) -> int:
    """Return the doubles of the stiff part of the Hessian of all pairs with two neurons of a class escaped.

    They are rates, once or twice, and as many while they are put together or multiplied, probabilities and indices. All classes have as many places
    as the largest.
    """
    rates = min(p.m, 2) * 2 * p.V
    return (3 * rates + 8) * (p.k * _most(p.N, p.k)) ** 2


def _hessian_of_points(p: Parameters) -> int:
    """Return the doubles of the stiff part of the Hessian of single points with two neurons of a class escaped: the matrix, and gradients."""
    size = min(p.m, 2) * p.k * p.features
    return 4 * size**2 + 3 * p.N * size if size <= HESSIAN_ROWS else 0


def needs_of_patches(p: Parameters, mixes: bool, tile_bytes: int = TILE_BYTES) -> Needs:
    """Return what a run takes on points of any patches: explicit patches, mixed in pieces."""
    whole = p.N * (p.N if mixes else 1) * p.P * (p.features + p.k * p.m)
    largest = max(min(tile_bytes // 8, whole), p.P * (p.features + p.k * p.m))
    return Needs(stored(p, p.N) + p.features * p.N * p.P, _OF_PATCHES * largest, 0)


def needs_of_patches_on_gpu(p: Parameters, mixes: bool) -> Needs:
    """Return what the arrays of such a run take on a GPU."""
    return needs_of_patches(p, mixes, TILE_BYTES_OF_GPU)


def needs_of_patches_beside_gpu(p: Parameters, mixes: bool) -> Needs:
    """Return what such a run takes in the memory of the machine: patches, before they are copied."""
    return Needs(stored(p, p.N), p.features * p.N * p.P, 0)


def needs_of_test(p: Parameters, points: int) -> NeedsOfTest:
    """Return what outputs on fresh draws take."""
    terms = points * (p.signal_patches + 1)
    pieces = min(TILE_BYTES // 8, _OF_TERMS * terms * p.m * p.k)
    return NeedsOfTest(p.V * _points(p, points), 2 * p.k * p.m * (p.features + used_patterns(p, points)) + pieces)


def needs_of_test_of_patches(p: Parameters, points: int) -> NeedsOfTest:
    """Return what outputs on fresh draws of any patches take: explicit patches of each view alone."""
    pieces = (_OF_PATCHES - 1) * min(TILE_BYTES // 8, points * p.P * (p.features + p.k * p.m))  # outputs alone
    return NeedsOfTest(p.V * p.features * points * p.P, max(2 * stored(p, points), pieces))


def _width(p: Parameters) -> int:
    """Return about how many points share the pattern that most share."""
    return 1 if p.noise == "point" else _most(p.N, used_patterns(p, p.N))


def _most(points: int, kinds: int) -> int:
    """Return about how many points are of the most frequent of so many kinds, on which they fall at random."""
    mean = points / kinds
    return math.ceil(mean + math.sqrt(2.0 * mean * math.log(max(kinds, 2))))


def _terms(p: Parameters) -> int:
    """Return the terms of all points: their signal patches, and their noise."""
    return p.N * (p.signal_patches + 1)


def _points(p: Parameters, points: int) -> int:
    """Return the doubles that describe points and their terms, with the tables by which these are summed."""
    S, patterns = p.signal_patches, used_patterns(p, points)
    by_column = (p.features + patterns) * 2 * max(points * p.C_P // p.k, points // patterns)
    layout = p.features * (drawn_patterns(p, points) + patterns) + points * (6 * S + 8)
    return layout + points * (8 * (S + 1) + p.k) + by_column


def _extra(p: Parameters) -> int:
    """Return the doubles of the pairs with coinciding signal patches: terms of every meeting, and the tables by which they are summed."""
    pairs = _meetings(p)[0]
    terms, by_column = _terms_of_pairs(p)
    per_slot = 2 if p.signal_layout == "random" else _width(p)
    return 8 * terms + by_column + (2 * p.k + 8) * pairs + 2 * per_slot * used_patterns(p, p.N) ** 2 * _width(p)


def _meetings(p: Parameters) -> tuple[int, int]:
    """Return how many pairs have coinciding signal patches, and how many patches coincide."""
    S = p.signal_patches
    share, met = (min(1.0, S**2 / p.P), S**2 / p.P) if p.signal_layout == "random" else (1.0, S)
    others = p.N * (p.N - 1) // 2
    return p.N + int(others * share), p.N * S + int(others * met)


def _terms_of_pairs(p: Parameters) -> tuple[int, int]:
    """Return how many terms the blocks and meetings of all pairs have, and the entries of the table by which they are summed by column."""
    patterns = used_patterns(p, p.N)
    terms = 4 * _meetings(p)[1] + patterns * (patterns + 1) // 2
    return terms, int(_UNEVEN * terms * (p.features + patterns) / min(p.features, patterns))
