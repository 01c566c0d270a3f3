"""The loss of all pairs and its gradient in one compiled call, which several threads enter together.

What takes a millisecond cannot be handed from thread to thread by the interpreter, and has no time for a dozen calls from it. The functions called
here are those of `sums_by_moments` and `pair_softmax`, in the same order. An overflow of the exponentials is known only after every class; then
the values are computed again for those classes that hold exponentials.

Only the outermost function is cached, with everything compiled into it (`mvsim.kernels.jit.compiling` sees to it that it is never out of date).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.kernels.jit.compiling import njit
from mvsim.kernels.jit.loops.exponential import exponentiate
from mvsim.kernels.jit.loops.work_list import mark_done, take, wait_for
from mvsim.kernels.shared_noise.loops.coincidences import correction_pull_back, correction_values
from mvsim.kernels.shared_noise.loops.columns import fill_columns, pull_back_columns
from mvsim.kernels.shared_noise.loops.moments import MomentTable, moment_pull_back, moment_values
from mvsim.kernels.shared_noise.loops.moments_without_noise import UnmixedTable, unmixed_pull_back, unmixed_values
from mvsim.kernels.shared_noise.loops.softmax import LARGEST_OUTPUT, linear_part, log_partition_of_pairs
from mvsim.kernels.shared_noise.loops.softmax_large import cross_entropy_of_pairs
from mvsim.kernels.shared_noise.loops.terms import term_pull_back, term_values

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_BLOCKS_AT_ONCE = 8
VALUES, SOFTMAX, ADJOINT, VALUES_AGAIN = 0, 1, 2, 3


class Constants(NamedTuple):
    """What does not depend on the correlations.

    Attributes
    ----------
    patterns, over_rho : numpy.ndarray, float
        See `mvsim.kernels.shared_noise.loops.columns`.
    activation : tuple
        See `mvsim.kernels.shared_noise.loops.terms`.
    terms : tuple
        `mvsim.kernels.shared_noise.layout.Terms` as the loops take them.
    first, second : MomentTable
        Of U and V; the same, and only the first is used, if the pairs are symmetric.
    unmixed : UnmixedTable
        See `mvsim.kernels.shared_noise.loops.moments_without_noise`.
    corrections : tuple
        See `mvsim.kernels.shared_noise.loops.coincidences`.
    blocks, start, repeats, extra_start, extra_pairs, weight, symmetric
        See `mvsim.kernels.shared_noise.loops.softmax.log_partition_of_pairs`.
    targets : tuple
        (U, V, terms): coefficients of the tables in the mean of soft label times output.
    labels, lam
        See `mvsim.kernels.shared_noise.loops.softmax_large.cross_entropy_of_pairs`.
    """

    patterns: np.ndarray
    over_rho: float
    activation: tuple
    terms: tuple
    first: MomentTable
    second: MomentTable
    unmixed: UnmixedTable
    corrections: tuple
    blocks: np.ndarray
    start: np.ndarray
    repeats: float
    extra_start: np.ndarray
    extra_pairs: np.ndarray
    weight: float
    symmetric: bool
    targets: tuple
    labels: np.ndarray
    lam: float


class Memory(NamedTuple):
    """What is written on the way: arrays of `mvsim.kernels.shared_noise.sums_by_moments`, and the sums of every class and of every block."""

    columns: np.ndarray
    out: np.ndarray
    U: np.ndarray
    V: np.ndarray
    terms: np.ndarray
    own: np.ndarray
    largest: np.ndarray
    linear: np.ndarray
    sums: np.ndarray


@njit(**_OPTIONS)
def _largest(x):
    """Return max(0, largest entry); bits of positive numbers are ordered as integers, whose maxima vectorise."""
    bits, found = x.view(np.int64), np.zeros(1, np.int64)
    most = 0
    for i in range(len(bits)):
        most = max(most, bits[i])
    found[0] = most
    return found.view(np.float64)[0]


@njit(**_OPTIONS)
def _repeat_noise(y, constants, at):
    for block in range(len(constants.blocks)):
        at.terms[y, block] *= constants.repeats


@njit(**_OPTIONS)
def _exponentials_of_class(y, constants, at):
    """Put exponentials in the place of the values of a class, if all are small enough, and form the part of the loss that is linear in them."""
    target_U, target_V, target_terms = constants.targets
    at.linear[y] = 0.0
    linear_part(y, y + 1, target_U, at.U, at.linear)
    linear_part(y, y + 1, target_terms, at.terms, at.linear)
    if not constants.symmetric:
        linear_part(y, y + 1, target_V, at.V, at.linear)
    _repeat_noise(y, constants, at)
    terms, blocks = at.terms[y], len(constants.blocks)
    U, V = at.U[y].reshape(at.U[y].size), at.V[y].reshape(at.V[y].size)
    largest = _largest(U) + _largest(V) + _largest(terms[:blocks]) + _largest(terms[blocks:])
    at.largest[y] = largest if np.isfinite(at.linear[y]) else np.inf
    if at.largest[y] < LARGEST_OUTPUT:
        exponentiate(U)
        exponentiate(terms)
        if not constants.symmetric:
            exponentiate(V)


@njit(**_OPTIONS)
def _values_of_class(y, c, constants, at):
    fill_columns(y, y + 1, c, constants.patterns, constants.over_rho, at.columns)
    at.terms[y] = 0.0
    term_values(y, y + 1, at.columns, constants.terms, at.terms, constants.activation)
    moment_values(y, y + 1, at.columns, constants.first, at.U, at.terms, constants.activation)
    if not constants.symmetric:
        moment_values(y, y + 1, at.columns, constants.second, at.V, at.terms, constants.activation)
    unmixed_values(y, y + 1, at.columns, constants.unmixed, at.own, constants.activation)
    own_pair, pattern, block_of_extra, given_back = constants.corrections
    correction_values(y, y + 1, at.own, at.U, at.V, at.terms, own_pair, pattern, block_of_extra, given_back)


@njit(**_OPTIONS)
def _gradient_of_class(y, constants, at, gradient):
    at.out[y] = 0.0
    own_pair, pattern, block_of_extra, given_back = constants.corrections
    correction_pull_back(y, y + 1, at.own, at.U, at.V, at.terms, own_pair, pattern, block_of_extra, given_back)
    unmixed_pull_back(y, y + 1, at.columns, constants.unmixed, at.own, at.out, constants.activation)
    moment_pull_back(y, y + 1, at.columns, constants.first, at.U, at.terms, at.out, constants.activation)
    if not constants.symmetric:
        moment_pull_back(y, y + 1, at.columns, constants.second, at.V, at.terms, at.out, constants.activation)
    term_pull_back(y, y + 1, at.columns, constants.terms, at.terms, at.out, constants.activation)
    pull_back_columns(y, y + 1, at.out, constants.patterns, gradient)


@njit(**_OPTIONS)
def _values_again(y, c, constants, at):
    """Put values back in the place of exponentials of a class, if that is what it has; the loss then has no part of its own that is linear."""
    if at.largest[y] < LARGEST_OUTPUT:
        _values_of_class(y, c, constants, at)
        _repeat_noise(y, constants, at)
    at.linear[y] = 0.0


@njit(**_OPTIONS)
def _derivative_by_exponentials(b0, b1, constants, at):
    target_U, target_V, target_terms = constants.targets
    log_partition_of_pairs(
        b0, b1, constants.blocks, constants.start, at.U, at.V, at.terms, constants.repeats, constants.extra_start, constants.extra_pairs,
        constants.weight, constants.symmetric, target_U, target_V, target_terms, at.sums,
    )  # fmt: skip


@njit(**_OPTIONS)
def _derivative_by_values(b0, b1, constants, at):
    cross_entropy_of_pairs(
        b0, b1, constants.blocks, constants.start, constants.labels, constants.lam, at.U, at.V, at.terms, constants.repeats,
        constants.extra_start, constants.extra_pairs, constants.weight, constants.symmetric, at.sums,
    )  # fmt: skip


@njit(cache=True, **_OPTIONS)
def pair_gradient(counters, c, constants, at, gradient):
    """Take part in filling gradient (k, m, 2k) and the sums of the loss at c (k, m, 2k)."""
    k, blocks = len(c), len(constants.blocks)
    y = take(counters, VALUES)
    while y < k:
        _values_of_class(y, c, constants, at)
        _exponentials_of_class(y, constants, at)
        mark_done(counters, VALUES)
        y = take(counters, VALUES)
    wait_for(counters, VALUES, k)
    fit = True
    for y in range(k):
        fit = fit and at.largest[y] < LARGEST_OUTPUT
    if not fit:
        y = take(counters, VALUES_AGAIN)
        while y < k:
            _values_again(y, c, constants, at)
            mark_done(counters, VALUES_AGAIN)
            y = take(counters, VALUES_AGAIN)
        wait_for(counters, VALUES_AGAIN, k)
    parts = (blocks + _BLOCKS_AT_ONCE - 1) // _BLOCKS_AT_ONCE
    part = take(counters, SOFTMAX)
    while part < parts:
        b0, b1 = part * _BLOCKS_AT_ONCE, min((part + 1) * _BLOCKS_AT_ONCE, blocks)
        if fit:
            _derivative_by_exponentials(b0, b1, constants, at)
        else:
            _derivative_by_values(b0, b1, constants, at)
        mark_done(counters, SOFTMAX)
        part = take(counters, SOFTMAX)
    wait_for(counters, SOFTMAX, parts)
    y = take(counters, ADJOINT)
    while y < k:
        _gradient_of_class(y, constants, at, gradient)
        mark_done(counters, ADJOINT)
        y = take(counters, ADJOINT)
    wait_for(counters, ADJOINT, k)
