"""How many bytes points, kernels and runs take, and what would fit where they are not there: asked before anything is allocated.

Predictions count the large arrays, in doubles unless bytes are named. Letters are those of the parameters; besides

    S    signal patches of a point                      drawn   noise patterns that are drawn for n points
    F    features                                       used    noise patterns that n points have

A run takes most in a Hessian-vector product, which its first record takes already, in the stiff part of the Hessian (counted with two neurons of each
class escaped), or while feature learning is tested on fresh draws.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mvsim.base.echo import bytes_text
from mvsim.base.errors import UsageError
from mvsim.base.limits import available_bytes
from mvsim.multi_view.activations.smoothed_relu import whole_power
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.piece_sizes import BATCH_BYTES, BLOCK, CACHED, HESSIAN_ROWS, LEAST_WIDTH, TILE_BYTES, TILE_BYTES_OF_GPU

VECTORS_OF_FLOW = 32
"""Vectors of the size of the correlations that the gradient flow holds: half of them from step to step, half while a step is solved."""

LIBRARIES, LOADING = 245 * 2**20, 270 * 2**20
"""Bytes of the interpreter and the libraries, and of these while they and the kernels are loaded."""

SNAPSHOTS, COPIES = 20, 2
"""Full states that a run of the flow keeps, and how often: the arrays that hold them are copied when they grow."""


class Needs(NamedTuple):
    """What a kernel takes for a run: what stays, and what a Hessian-vector product and the stiff part of the Hessian take on top."""

    stays: int
    product: int
    stiff_hessian: int


class TestNeeds(NamedTuple):
    """What outputs on fresh draws with each view alone take: what stays, and what drawing them or an evaluation takes on top."""

    stays: int
    once: int


class KernelMemory(NamedTuple):
    """What one kernel takes."""

    run: Callable[[Parameters, bool], Needs]  # (parameters, whether all pairs are summed) -> `Needs` in the memory of the machine
    test: Callable[[Parameters, int], TestNeeds]  # (parameters, points) -> `TestNeeds`
    on_device: Callable[[Parameters, bool], Needs] | None = None  # As ``run``, of a device of its own, as a GPU


# What is there, and what would fit --------------------------------------------------------------------------------------------------------------


def check_fits(parameters: Parameters, bytes_of: Callable[[Parameters], int], purpose: str, free: Callable[[], int | None] | None = None) -> int:
    """Return the predicted bytes, or raise `UsageError` with what would fit; ``free`` says how many there are, by default `available_bytes`."""
    needed, available = bytes_of(parameters), (free or available_bytes)()
    if available is not None and needed > available:
        p = parameters
        fixed = p.described.fixed
        sizes = ", ".join(f"{name}={getattr(p, name)}" for name in ("k", "m", "N", "P", "G", "noise") if name not in fixed)
        others = "" if p.noise == "codebook" or "noise" in fixed else ", or noise=codebook, whose cost does not depend on P"
        advice = _what_fits(p, bytes_of, available) + others
        raise UsageError(f"{sizes}: would need about {bytes_text(needed)} of memory{purpose} and {bytes_text(available)} are available; {advice}")
    return needed


def _what_fits(p: Parameters, bytes_of: Callable[[Parameters], int], available: int) -> str:
    """Say how large one of k, m, N and G may be, the others as they are."""

    def needed(name: str, size: int) -> int:
        return bytes_of(p.model_copy(update={name: size}))

    alternatives = []
    least_of = {"k": p.Q + 1, "m": 1, "N": 1, "G": math.ceil(p.k / (p.k - p.Q))}
    names = [name for name in least_of if name not in p.described.fixed]
    for name in names:
        smaller = range(least_of[name], getattr(p, name))
        fitting = bisect_right(smaller, available, key=partial(needed, name))
        if fitting:
            alternatives.append(f"{name} up to {smaller[fitting - 1]}")
    return (
        f"one of these would fit: {', '.join(alternatives)}" if alternatives else f"make several of {', '.join(names[:-1])} and {names[-1]} smaller"
    )


# Points -----------------------------------------------------------------------------------------------------------------------------------------


def bytes_of_points(p: Parameters, n: int) -> int:
    """Predict the most bytes that drawing n points takes at once."""
    noise = _patches(p, n) if p.noise == "patch" else p.features * _drawn(p, n) + _allowed(p, n)
    return 8 * (noise + n * (35 + 3 * p.signal_patches))


def check_points_fit(p: Parameters, n: int | None = None) -> int:
    """Return the predicted bytes of n points, by default N, or raise `UsageError` if they are not there."""
    return check_fits(p, lambda p: bytes_of_points(p, p.N if n is None else n), "" if n is None else f" for {n} points")


def _drawn(p: Parameters, n: int) -> int:
    return p.G if p.noise == "codebook" else n


def _used(p: Parameters, n: int) -> int:
    return min(_drawn(p, n), n)


def _allowed(p: Parameters, n: int) -> int:
    """Numbers of patterns that are listed while n points are drawn: for each class those that it may use."""
    return p.G * min(p.k, n) * (p.k - p.Q) // p.k if p.noise == "codebook" else 0


def _patches(p: Parameters, n: int, own_views: int | None = None) -> int:
    """Coefficients of n points with noise of each patch: V (Q + 1) features occur in a point, or fewer if it keeps some of its own views alone."""
    return (p.V * p.Q + (p.V if own_views is None else own_views)) * n * p.P


def _most(n: int, kinds: int) -> int:
    """About how many of n points are of the most frequent of some kinds, on which they fall at random."""
    mean = n / kinds
    return math.ceil(mean + math.sqrt(2.0 * mean * math.log(max(kinds, 2))))


def _meetings(p: Parameters) -> tuple[int, int]:
    """How many pairs i <= j have coinciding signal patches, and how many patches coincide; every point meets itself in all of them."""
    S, others = p.signal_patches, p.N * (p.N - 1) // 2
    share, met = (min(1.0, S**2 / p.P), S**2 / p.P) if p.signal_layout == "random" else (1.0, S)
    return p.N + int(others * share), p.N * S + int(others * met)


# Kernels ----------------------------------------------------------------------------------------------------------------------------------------


def _shared_noise(p: Parameters, mixes: bool) -> Needs:
    k, N, S, used, order = p.k, p.N, p.signal_patches, _used(p, p.N), whole_power(p.alpha)
    columns = k * (p.features + used) * p.m
    product = 3 * columns + 3 * p.features * k * p.m + 10 * k * N
    if not mixes:
        rows = min(p.m, 2) * k * p.features
        hessian = N * min(p.m, 2) * k * (2 * p.features + 7 * S) + 2 * rows**2 if rows <= HESSIAN_ROWS else 0
        return Needs(_shared_points(p, N), product, hessian)
    extra, meetings = _meetings(p)
    blocks, apart = used * (used + 1) // 2, meetings - N * S
    tables = k * used * N + k * (blocks + extra)
    terms = 6 * (blocks + apart) if order is not None else 6 * (blocks + meetings + 3 * apart)
    plan = 2 * blocks + 4 * extra + 5 * meetings + 6 * apart
    # Derivatives of soft labels stay, and the tables; their changes are there in a product. Before any of that, coincidences are sorted.
    moments = 0 if order is None else 2 * used * ((order + 1) * (p.features + p.m) + N)
    # Coincidences are sorted once more, by classes; then there are sums over pairs with what they are made of, then the matrix.
    rates = min(p.m, 2) * p.V
    of_points = N * N + rates * N * used * (k + 4) // k
    hessian = 10 * meetings + max(of_points + max(16 * meetings, 9 * (k * rates) ** 2), 20 * (k * rates) ** 2)
    return Needs(_shared_points(p, N) + 2 * tables + terms + plan, max(product + tables + moments, 22 * apart - 2 * tables), hessian)


def _shared_points(p: Parameters, n: int) -> int:
    return p.features * (_drawn(p, n) + _used(p, n)) + n * (10 * p.signal_patches + 2 * int(p.alpha) + 10)


def _shared_noise_test(p: Parameters, n: int) -> TestNeeds:
    columns = p.k * (p.features + _used(p, n)) * p.m
    return TestNeeds(_shared_points(p, n), 5 * p.k * n + 2 * columns + 2 * p.features * p.k * p.m)


def _batch(p: Parameters, mixes: bool) -> int:
    # the arrays of a batch of mixed points
    points = BATCH_BYTES // 8 // p.k
    return (10 * p.k + 7) * (min(p.N * (p.N + 1) // 2, max(p.N, points)) if mixes else min(p.N, max(1, points)))


def _any_patches(p: Parameters, mixes: bool) -> Needs:
    return Needs(_patches(p, p.N), _batch(p, mixes) + 3 * p.N * min(p.P, max(CACHED // p.N, LEAST_WIDTH)), 0)


def _any_patches_test(p: Parameters, n: int) -> TestNeeds:
    return TestNeeds(p.V * _patches(p, n, 1), _patches(p, n))


def _oracle(p: Parameters, mixes: bool) -> Needs:
    return Needs(_patches(p, p.N) + p.features * p.N * p.P, _batch(p, mixes) + 8 * max(BATCH_BYTES // 8, p.P * p.k * (p.V + p.m)), 0)


def _oracle_test(p: Parameters, n: int) -> TestNeeds:
    views = p.V * (_patches(p, n, 1) if p.noise == "patch" else 2 * p.signal_patches * n)
    one_point = p.P * p.k * (p.V + p.m)
    return TestNeeds(p.V * p.features * n * p.P, max(views + bytes_of_points(p, n) // 8, 4 * min(n * one_point, max(BATCH_BYTES // 8, one_point))))


def _one_patch(p: Parameters, mixes: bool) -> Needs:
    return Needs(p.N * p.features, 12 * p.k * p.m * p.N + (6 * max(p.N, BLOCK) if mixes else 0), 0)


def _one_patch_test(p: Parameters, n: int) -> TestNeeds:
    return TestNeeds(p.V * 2 * p.V * (p.Q + 1) * n, n * p.features + 6 * p.k * p.m * n)


def _array(p: Parameters, mixes: bool, tile_bytes: int = TILE_BYTES) -> Needs:
    k, N, S, used = p.k, p.N, p.signal_patches, _used(p, p.N)
    columns = k * p.m * (p.features + used)
    if not mixes:
        terms = N * (S + 1)
        return Needs(_array_points(p, N), 8 * columns + min(tile_bytes // 16, 6 * terms * p.m * k), 0)
    width = 1 if p.noise == "point" else _most(N, used)  # of the rows in which points of one pattern stand
    slots = used * width
    table, pairs = k * used * slots, (slots + width) * slots // 2
    extra, meetings = _meetings(p)
    terms = 4 * meetings + used * (used + 1) // 2
    by_column = int(1.2 * terms * (p.features + used) / min(p.features, used))
    corrections = 8 * terms + by_column + (2 * k + 8) * extra + 2 * (2 if p.signal_layout == "random" else width) * used**2 * width
    one_class = p.m * k * _most(N, k) * S * used
    pieces = max(4 * min(tile_bytes // 8, 2 * max(one_class, k * pairs)), p.m * (6 * terms + by_column))
    return Needs(_array_points(p, N) + 3 * pairs + table + corrections, 7 * table + 8 * columns + pieces, 0)


def _with_stiff_hessian(p: Parameters, mixes: bool, arrays: Needs) -> Needs:
    """Add the compiled kernel, which forms the stiff part of the Hessian for the one of these arrays."""
    compiled = _shared_noise(p, mixes)
    return Needs(arrays.stays, arrays.product, compiled.stays + compiled.stiff_hessian)


def _array_points(p: Parameters, n: int) -> int:
    """Points and their terms, with the tables by which these are summed."""
    S, used = p.signal_patches, _used(p, n)
    by_column = (p.features + used) * 2 * max(n * p.C_P // p.k, n // used)
    return p.features * (_drawn(p, n) + used) + n * (14 * S + p.k + 16) + by_column


def _array_test(p: Parameters, n: int) -> TestNeeds:
    pieces = min(TILE_BYTES // 8, 6 * n * (p.signal_patches + 1) * p.m * p.k)
    return TestNeeds(p.V * _array_points(p, n), 2 * p.k * p.m * (p.features + _used(p, n)) + pieces)


def _array_patches(p: Parameters, mixes: bool, tile_bytes: int = TILE_BYTES) -> Needs:
    one_point = p.P * (p.features + p.k * p.m)
    pieces = max(min(tile_bytes // 8, p.N * (p.N if mixes else 1) * one_point), one_point)
    return Needs(_patches(p, p.N) + p.features * p.N * p.P, 5 * pieces, 0)


def _array_patches_test(p: Parameters, n: int) -> TestNeeds:
    pieces = 4 * min(TILE_BYTES // 8, n * p.P * (p.features + p.k * p.m))
    return TestNeeds(p.V * p.features * n * p.P, max(2 * _patches(p, n), pieces))


SHARED_NOISE = KernelMemory(_shared_noise, _shared_noise_test)
ANY_PATCHES = KernelMemory(_any_patches, _any_patches_test)
ONE_PATCH = KernelMemory(_one_patch, _one_patch_test)
ORACLE = KernelMemory(_oracle, _oracle_test)
ARRAY = KernelMemory(lambda p, mixes: _with_stiff_hessian(p, mixes, _array(p, mixes)), _array_test)
ARRAY_PATCHES = KernelMemory(_array_patches, _array_patches_test)
GPU = KernelMemory(
    lambda p, mixes: _with_stiff_hessian(p, mixes, Needs(_array_points(p, p.N), 4 * p.k * p.m * p.features, 0)),
    _array_test,
    lambda p, mixes: _array(p, mixes, TILE_BYTES_OF_GPU),
)
GPU_PATCHES = KernelMemory(
    lambda p, mixes: Needs(_patches(p, p.N), p.features * p.N * p.P, 0),
    _array_patches_test,
    lambda p, mixes: _array_patches(p, mixes, TILE_BYTES_OF_GPU),
)


# Runs -------------------------------------------------------------------------------------------------------------------------------------------


def bytes_of_objective(p: Parameters, mixes: bool, kernel: KernelMemory) -> int:
    """Return the bytes of an objective and what it evaluates."""
    stays, product, _ = kernel.run(p, mixes)
    return 8 * (stays + product)


def bytes_on_device(p: Parameters, mixes: bool, kernel: KernelMemory) -> int:
    """Return the bytes that a run takes on a device of its own; 0 for a kernel without one."""
    stays, product, _ = kernel.on_device(p, mixes) if kernel.on_device else Needs(0, 0, 0)
    return 8 * (stays + product)


def bytes_of_test(p: Parameters, kernel: KernelMemory, n_test: int) -> int:
    """Return the bytes of a test of feature learning with so many fresh draws of each class."""
    return 8 * sum(_test(p, kernel, n_test))


def _test(p: Parameters, kernel: KernelMemory, n_test: int) -> TestNeeds:
    stays, once = kernel.test(p, p.k * n_test)
    return TestNeeds(stays, max(once, _allowed(p, p.k * n_test)))


def bytes_of_arrays(p: Parameters, mixes: bool, kernel: KernelMemory, n_test: int) -> int:
    """Return the most bytes that the arrays of a run take at once, without those of the gradient flow."""
    needs, test = kernel.run(p, mixes), _test(p, kernel, n_test)
    return 8 * (8 * p.features * p.k * p.m + needs.stays + test.stays + max(needs.product, test.once))


def bytes_of_run(p: Parameters, mixes: bool, kernel: KernelMemory, n_test: int, records: int | None) -> int:
    """Return the peak memory of a run, libraries included; ``records`` is how many the gradient flow keeps, None for gradient descent."""
    flow = 0
    if records is not None:
        state, record = p.features * p.k * p.m, p.k * (p.m * p.V + 4 * p.V + 9) + 9
        flow = 8 * (VECTORS_OF_FLOW * state + kernel.run(p, mixes).stiff_hessian + COPIES * (SNAPSHOTS * state + records * record))
    return max(LOADING, LIBRARIES + bytes_of_arrays(p, mixes, kernel, n_test) + flow)
