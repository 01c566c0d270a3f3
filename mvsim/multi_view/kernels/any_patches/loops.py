"""Numba loops over mixed points of arbitrary patches: no threads, no batches.

Units. The correlations of the neurons, and the outputs, come in units of the scale of the activation
(`mvsim.multi_view.activations.Activation.scale`).

A mixed point is z = share (x_near + ratio x_far), with share >= 1/2 the larger of lam and 1 - lam and ratio = (1 - share) / share. With
x = a_near + ratio a_far for one neuron, the activation gives two parts of R(share x), which are added up apart and multiplied by their weights for
each mixed point: so powers of the share can leave the sum over patches (`mvsim.multi_view.activations.smoothed_relu`).

A neuron's pre-activations are formed for ``width`` patches of the points of a block at a time, few enough to stay in the cache while all pairs
read them. A point mixed with itself (share = 1, ratio = 0) has a loop of its own where results are added to rows: its two rows are one, and
a loop that may find them so does not vectorise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import mixed_bend, mixed_slope, mixed_value


class Mixtures(NamedTuple):
    """Mixed points share (x_near + ratio x_far), one entry of each array for each."""

    # near, far: Indices of the two points
    near: np.ndarray
    far: np.ndarray
    # ratio, share: See above
    ratio: np.ndarray
    share: np.ndarray
    # value_weight, rest_weight, slope_weight: See `mvsim.multi_view.activations.Activation.mixture_weights`
    value_weight: np.ndarray
    rest_weight: np.ndarray
    slope_weight: np.ndarray


class Patches(NamedTuple):
    """The points, and in which parts a loop goes through them."""

    # point, feature, rows: Row n holds the coefficients of feature[n] in the patches of point[n]
    point: np.ndarray
    feature: np.ndarray
    rows: np.ndarray
    blocks: np.ndarray  # (B, 6) i0, i1, n0, n1, e0, e1: the pairs e0 .. e1 - 1 mix points i0 .. i1 - 1, whose rows are n0 .. n1 - 1.
    width: int  # Patches at a time


# Arguments of all loops.
#   weights, moves (k, m, F)    neurons
#   patches, pairs              see `Patches` and `Mixtures`
#   outputs, residual, change   (k, number of pairs)
# Every class y in y0 .. y1 - 1 adds to its own rows of the result only.


@njit(forceinline=True, **SUMS)
def _buffer(patches):
    """Return room for the pre-activations of any block."""
    return np.empty((patches.blocks[:, 1] - patches.blocks[:, 0]).max() * patches.width)


@njit(inline="always", **SUMS)
def _part(buffer, count, columns):
    """Return the beginning of the buffer as a contiguous array (count, columns)."""
    return buffer[: count * columns].reshape((count, columns))


@njit(forceinline=True, **SUMS)
def _pre_activations(neuron, patches, i0, n0, n1, p0, a):
    """Fill a[i, p] with the scalar product of the neuron with patch p0 + p of point i0 + i."""
    point, feature, rows = patches.point, patches.feature, patches.rows
    a[:] = 0.0
    for n in range(n0, n1):
        weight, sums, row = neuron[feature[n]], a[point[n] - i0], rows[n, p0 : p0 + a.shape[1]]
        for p in range(len(sums)):
            sums[p] += weight * row[p]


@njit(forceinline=True, **SUMS)
def _add_scalar_products(out, patches, i0, n0, n1, p0, total):
    """Add to total the adjoint of `_pre_activations` at out: for every feature its coefficients times out, summed over patches p0 + p."""
    point, feature, rows = patches.point, patches.feature, patches.rows
    for n in range(n0, n1):
        weights, row, product = out[point[n] - i0], rows[n, p0 : p0 + out.shape[1]], 0.0
        for p in range(len(weights)):
            product += weights[p] * row[p]
        total[feature[n]] += product


@njit(**SUMS)
def mixed_values(y0, y1, weights, patches, pairs, outputs, activation):
    """Add sum_r sum_p R(z) to outputs."""
    near, far, ratio, share = pairs.near, pairs.far, pairs.ratio, pairs.share
    P, buffer = patches.rows.shape[1], _buffer(patches)
    for y in range(y0, y1):
        for i0, i1, n0, n1, e0, e1 in patches.blocks:
            for p0 in range(0, P, patches.width):
                a = _part(buffer, i1 - i0, min(patches.width, P - p0))
                for r in range(weights.shape[1]):
                    _pre_activations(weights[y, r], patches, i0, n0, n1, p0, a)
                    for e in range(e0, e1):
                        i, j, q, top = near[e] - i0, far[e] - i0, ratio[e], 1.0 / share[e]
                        powers, rest = 0.0, 0.0
                        for p in range(a.shape[1]):
                            of_power, of_rest = mixed_value(a[i, p] + q * a[j, p], share[e], top, activation)
                            powers += of_power
                            rest += of_rest
                        outputs[y, e] += pairs.value_weight[e] / activation.gain * powers + pairs.rest_weight[e] * rest


@njit(**SUMS)
def mixed_pull_back(y0, y1, weights, patches, pairs, residual, gradient, activation):
    """Add the adjoint of `mixed_values` at residual to gradient (k, m, F); there the units cancel."""
    near, far, ratio, share = pairs.near, pairs.far, pairs.ratio, pairs.share
    P, buffer, out_buffer = patches.rows.shape[1], _buffer(patches), _buffer(patches)
    for y in range(y0, y1):
        for i0, i1, n0, n1, e0, e1 in patches.blocks:
            for p0 in range(0, P, patches.width):
                a, out = _part(buffer, i1 - i0, min(patches.width, P - p0)), _part(out_buffer, i1 - i0, min(patches.width, P - p0))
                for r in range(weights.shape[1]):
                    _pre_activations(weights[y, r], patches, i0, n0, n1, p0, a)
                    out[:] = 0.0
                    for e in range(e0, e1):
                        i, j, q, top = near[e] - i0, far[e] - i0, ratio[e], 1.0 / share[e]
                        by_near = pairs.slope_weight[e] * residual[y, e]
                        by_far = q * by_near
                        if i == j:
                            for p in range(a.shape[1]):
                                out[i, p] += by_near * mixed_slope(a[i, p], share[e], top, activation)
                        else:
                            for p in range(a.shape[1]):
                                slope = mixed_slope(a[i, p] + q * a[j, p], share[e], top, activation)
                                out[i, p] += by_near * slope
                                out[j, p] += by_far * slope
                    _add_scalar_products(out, patches, i0, n0, n1, p0, gradient[y, r])


@njit(**SUMS)
def mixed_tangents(y0, y1, weights, moves, patches, pairs, outputs, activation):
    """Add the directional derivative of `mixed_values` along moves, to outputs."""
    near, far, ratio, share = pairs.near, pairs.far, pairs.ratio, pairs.share
    P, buffer, move_buffer = patches.rows.shape[1], _buffer(patches), _buffer(patches)
    for y in range(y0, y1):
        for i0, i1, n0, n1, e0, e1 in patches.blocks:
            for p0 in range(0, P, patches.width):
                a, da = _part(buffer, i1 - i0, min(patches.width, P - p0)), _part(move_buffer, i1 - i0, min(patches.width, P - p0))
                for r in range(weights.shape[1]):
                    _pre_activations(weights[y, r], patches, i0, n0, n1, p0, a)
                    _pre_activations(moves[y, r], patches, i0, n0, n1, p0, da)
                    for e in range(e0, e1):
                        i, j, q, top = near[e] - i0, far[e] - i0, ratio[e], 1.0 / share[e]
                        total = 0.0
                        for p in range(a.shape[1]):
                            total += mixed_slope(a[i, p] + q * a[j, p], share[e], top, activation) * (da[i, p] + q * da[j, p])
                        outputs[y, e] += pairs.slope_weight[e] * total


@njit(**SUMS)
def mixed_pull_back_tangent(y0, y1, weights, moves, patches, pairs, residual, change, product, activation):
    """Add the directional derivative of `mixed_pull_back` along (moves, change of residual) to product (k, m, F)."""
    near, far, ratio, share = pairs.near, pairs.far, pairs.ratio, pairs.share
    P, buffer, move_buffer, out_buffer = patches.rows.shape[1], _buffer(patches), _buffer(patches), _buffer(patches)
    for y in range(y0, y1):
        for i0, i1, n0, n1, e0, e1 in patches.blocks:
            for p0 in range(0, P, patches.width):
                count, columns = i1 - i0, min(patches.width, P - p0)
                a, da, out = _part(buffer, count, columns), _part(move_buffer, count, columns), _part(out_buffer, count, columns)
                for r in range(weights.shape[1]):
                    _pre_activations(weights[y, r], patches, i0, n0, n1, p0, a)
                    _pre_activations(moves[y, r], patches, i0, n0, n1, p0, da)
                    out[:] = 0.0
                    for e in range(e0, e1):
                        i, j, q, top = near[e] - i0, far[e] - i0, ratio[e], 1.0 / share[e]
                        weight, move = pairs.slope_weight[e] * residual[y, e], pairs.slope_weight[e] * change[y, e]
                        if i == j:
                            for p in range(a.shape[1]):
                                out[i, p] += (
                                    move * mixed_slope(a[i, p], share[e], top, activation)
                                    + weight * mixed_bend(a[i, p], share[e], top, activation) * da[i, p]
                                )
                        else:
                            for p in range(a.shape[1]):
                                x, dx = a[i, p] + q * a[j, p], da[i, p] + q * da[j, p]
                                w = move * mixed_slope(x, share[e], top, activation) + weight * mixed_bend(x, share[e], top, activation) * dx
                                out[i, p] += w
                                out[j, p] += q * w
                    _add_scalar_products(out, patches, i0, n0, n1, p0, product[y, r])
