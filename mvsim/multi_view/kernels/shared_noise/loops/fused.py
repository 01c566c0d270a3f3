"""The loss of all pairs and its gradient in one compiled call, which several threads enter together.

What takes a millisecond cannot be handed from thread to thread by the interpreter, and has no time for a dozen calls from it. The functions called
here are those of `sums_by_moments` and `pair_softmax`, in the same order. An overflow of the exponentials is known only after every class; then
the call ends without a gradient.

Only the outermost function is cached, with everything compiled into it (`mvsim.multi_view.kernels.jit.compiling` sees to it that it is never out of
date). Those that are called once are inlined before anything is compiled: LLVM would optimise their bodies again at every level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import njit
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate, largest_entry
from mvsim.multi_view.kernels.jit.loops.work_list import mark_done, take, wait_for
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.layout import Corrections, PairBlocks, Terms
from mvsim.multi_view.kernels.shared_noise.loops.coincidences import correction_pull_back, correction_values
from mvsim.multi_view.kernels.shared_noise.loops.columns import fill_columns, pull_back_columns
from mvsim.multi_view.kernels.shared_noise.loops.moments import MomentTable, moment_pull_back, moment_values
from mvsim.multi_view.kernels.shared_noise.loops.moments_without_noise import UnmixedTable, unmixed_pull_back, unmixed_values
from mvsim.multi_view.kernels.shared_noise.loops.softmax import linear_part, log_partition_of_pairs
from mvsim.multi_view.kernels.shared_noise.loops.terms import term_pull_back, term_values
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Exponentials, Values

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_BLOCKS_AT_ONCE = 8
VALUES, SOFTMAX, ADJOINT = 0, 1, 2


class Constants(NamedTuple):
    """What does not depend on the correlations."""

    # patterns, over_scale: See `mvsim.multi_view.kernels.shared_noise.loops.columns`
    patterns: np.ndarray
    over_scale: float
    activation: tuple  # See `mvsim.multi_view.activations.Activation.compiled`
    terms: Terms  # Noise on noise, and signal on signal
    # first, second: Of U and V; the same, and only the first is used, if the pairs are symmetric
    first: MomentTable
    second: MomentTable
    unmixed: UnmixedTable  # See `mvsim.multi_view.kernels.shared_noise.loops.moments_without_noise`
    corrections: Corrections  # Of pairs with coinciding signal patches
    pairs: PairBlocks  # The pairs
    targets: Derivatives  # Of the mean of soft label times output


class Memory(NamedTuple):
    """What is written on the way."""

    # columns, out: (k, F + G, m) columns, and the derivative by them
    columns: np.ndarray
    out: np.ndarray
    # values, exponentials, derivatives: The same arrays under three names: each takes the place of the one before
    values: Values
    exponentials: Exponentials
    derivatives: Derivatives
    own: np.ndarray  # (k, N) signal part of the outputs on single points
    largest: np.ndarray  # (k,) a bound for the outputs on all pairs
    linear: np.ndarray  # (k,) sums of soft label times output
    sums: np.ndarray  # (B,) sums of log Z over each block


@njit(forceinline=True, **_OPTIONS)
def _add(rows, out):
    rows, out = rows.reshape(rows.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += rows[n]


@njit(inline="always", **_OPTIONS)
def _values_of_class(y, c, others, constants, memory):
    values = memory.values
    fill_columns(y, y + 1, c, constants.patterns, constants.over_scale, memory.columns)
    for t in range(values.terms.shape[1]):
        values.terms[y, t] = 0.0
    term_values(y, y + 1, memory.columns, constants.terms, values.terms, constants.activation)
    moment_values(y, y + 1, memory.columns, constants.first, values.U, values.terms, constants.activation)
    if not constants.pairs.symmetric:
        moment_values(y, y + 1, memory.columns, constants.second, values.V, values.terms, constants.activation)
    unmixed_values(y, y + 1, memory.columns, constants.unmixed, memory.own, constants.activation)
    correction_values(y, y + 1, memory.own, values.U, values.V, values.terms, constants.corrections)
    if others.U.size:
        _add(others.U[y], values.U[y])
        _add(others.terms[y], values.terms[y])
        if not constants.pairs.symmetric:
            _add(others.V[y], values.V[y])


@njit(inline="always", **_OPTIONS)
def _exponentials_of_class(y, constants, memory):
    """Put exponentials in the place of the values of a class, if all are small enough, and form the part of the loss that is linear in them."""
    values, targets, symmetric = memory.values, constants.targets, constants.pairs.symmetric
    terms, U, V = values.terms[y], values.U[y].reshape(values.U[y].size), values.V[y].reshape(values.V[y].size)
    linear = linear_part(targets.U[y].reshape(U.size), U) + linear_part(targets.terms[y], terms)
    if not symmetric:
        linear += linear_part(targets.V[y].reshape(V.size), V)
    memory.linear[y] = linear
    blocks = len(constants.pairs.blocks)
    for block in range(blocks):
        terms[block] *= constants.pairs.repeats
    largest = largest_entry(U) + largest_entry(V) + largest_entry(terms[:blocks]) + largest_entry(terms[blocks:])
    memory.largest[y] = largest if np.isfinite(memory.linear[y]) else np.inf
    if memory.largest[y] < LARGEST_OUTPUT:
        exponentiate(U)
        exponentiate(terms)
        if not symmetric:
            exponentiate(V)


@njit(inline="always", **_OPTIONS)
def _gradient_of_class(y, constants, memory, gradient):
    D, out = memory.derivatives, memory.out
    for n in range(out.shape[1]):
        for r in range(out.shape[2]):
            out[y, n, r] = 0.0
    correction_pull_back(y, y + 1, memory.own, D.U, D.V, D.terms, constants.corrections)
    unmixed_pull_back(y, y + 1, memory.columns, constants.unmixed, memory.own, out, constants.activation)
    moment_pull_back(y, y + 1, memory.columns, constants.first, D.U, D.terms, out, constants.activation)
    if not constants.pairs.symmetric:
        moment_pull_back(y, y + 1, memory.columns, constants.second, D.V, D.terms, out, constants.activation)
    term_pull_back(y, y + 1, memory.columns, constants.terms, D.terms, out, constants.activation)
    pull_back_columns(y, y + 1, out, constants.patterns, gradient)


@njit(cache=True, **_OPTIONS)
def pair_gradient(counters, c, others, constants, memory, gradient):
    """Take part in filling gradient (k, m, F) and the sums of the loss at c (k, m, F); ``others`` are values to be added, or empty.

    If ``memory.largest`` is not below LARGEST_OUTPUT for every class afterwards, exponentials do not fit, and there is neither.
    """
    k, blocks = len(c), len(constants.pairs.blocks)
    y = take(counters, VALUES)
    while y < k:
        _values_of_class(y, c, others, constants, memory)
        _exponentials_of_class(y, constants, memory)
        mark_done(counters, VALUES)
        y = take(counters, VALUES)
    wait_for(counters, VALUES, k)
    for y in range(k):
        if not memory.largest[y] < LARGEST_OUTPUT:
            return
    parts = (blocks + _BLOCKS_AT_ONCE - 1) // _BLOCKS_AT_ONCE
    nowhere = np.empty((0, 0))
    part = take(counters, SOFTMAX)
    while part < parts:
        first, last = part * _BLOCKS_AT_ONCE, min((part + 1) * _BLOCKS_AT_ONCE, blocks)
        log_partition_of_pairs(first, last, constants.pairs, memory.exponentials, constants.targets, memory.sums, nowhere, nowhere)
        mark_done(counters, SOFTMAX)
        part = take(counters, SOFTMAX)
    wait_for(counters, SOFTMAX, parts)
    y = take(counters, ADJOINT)
    while y < k:
        _gradient_of_class(y, constants, memory, gradient)
        mark_done(counters, ADJOINT)
        y = take(counters, ADJOINT)
    wait_for(counters, ADJOINT, k)
