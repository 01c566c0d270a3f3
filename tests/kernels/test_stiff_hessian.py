"""What the stiff Hessian of pairs is made of, against loops: the rates at which escaped neurons move outputs, and how their slopes change."""

import numpy as np
import pytest
from compare import assert_close
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.activations import SmoothedRelu
from mvsim.activations.smoothed_relu import smoothed_relu_second_derivative
from mvsim.kernels.shared_noise.kernel import SharedNoiseKernel
from mvsim.kernels.shared_noise.layout import Layout, plan_pairs
from mvsim.kernels.shared_noise.loops.second_derivative import table_second_derivatives
from mvsim.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.kernels.shared_noise.stiff_hessian.escaped import Escaped
from mvsim.kernels.shared_noise.stiff_hessian.probability import PairProbability
from mvsim.kernels.shared_noise.stiff_hessian.rates import both_orders, pair_rates
from mvsim.losses import CrossEntropy
from mvsim.losses.points import AllPairs

P = mvsim.Parameters(k=3, m=4, N=24, P=9, d=10**4)  # with 8 signal patches out of 9, most patches of a pair coincide
ESCAPED = 1


def state():
    """One neuron of each class beyond the threshold on its first feature, and somewhere in all three regimes on the features of other classes."""
    c = np.random.default_rng(0).uniform(-0.2, 0.4, (P.k, P.m, P.k, 2))
    for y in range(P.k):
        c[y, :, y] = 0.01
        c[y, ESCAPED, y, 0] = 3.0
    return c


def rates_by_patches(data, c, lam):
    """(N, N, 2, 2): for every ordered pair, own and other rates of the escaped neuron of y_i with both views."""
    patches, rates = data.to_patches(), np.zeros((data.N, data.N, 2, 2))
    for i, y in enumerate(data.labels):
        for j, s in enumerate(data.labels):
            z = lam * patches[i] + (1.0 - lam) * patches[j]
            slope = mvsim.smoothed_relu_derivative(np.einsum("sl,psl->p", c[y, ESCAPED], z), P.rho, P.alpha)
            for view in (0, 1):
                for p in data.signal_patches[i, view]:
                    rates[i, j, 0, view] += slope[p] * lam * patches[i, p, y, view]
                for q in data.signal_patches[j, view]:
                    rates[i, j, 1, view] += slope[q] * (1.0 - lam) * patches[j, q, s, view]
    return rates


@pytest.mark.parametrize("lam", [0.5, 0.3])
def test_rates_are_those_of_the_patches(lam):
    data, c = mvsim.sample_dataset(P, 1), state()
    layout = Layout.of(data)
    plan = plan_pairs(layout, lam, symmetric=lam == 0.5)
    escaped = Escaped(SmoothedRelu(P.rho, P.alpha), layout, c.reshape(P.k, P.m, -1), beyond=1.0)
    order = layout.order[np.argsort(layout.labels, kind="stable")]  # points of one class together
    rates = pair_rates(escaped, lam, both_orders(plan), 2).reshape(data.N, data.N, 2, 2)
    expected = rates_by_patches(data, c, lam)[np.ix_(order, order)]
    assert escaped.places == 1
    assert_close(rates, expected, ROUNDOFF)
    without = pair_rates(escaped, lam, plan.meetings.where(np.zeros(len(plan.meetings.i), bool)), 2).reshape(rates.shape)
    assert np.abs(without - expected).max() > 0.1 * np.abs(expected).max()  # so coincidences matter here


@pytest.mark.parametrize(("lam", "size"), [(0.5, 1.0), (0.3, 1.0), (0.5, 1e3)])  # the last with outputs whose exponentials do not fit into a double
def test_probabilities_are_those_of_the_patches(lam, size):
    data, c = mvsim.sample_dataset(P, 1), size * state()
    kernel = SharedNoiseKernel(P, data, 2, SmoothedRelu(P.rho, P.alpha))
    pairs, columns = kernel.pairs_of(AllPairs(lam)), kernel.columns.at(c.reshape(P.k, P.m, -1))
    values = pairs.empty_values()
    kernel.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
    probability = PairProbability.of(kernel.layout, pairs.plan, values, 2)
    patches, order = data.to_patches(), kernel.layout.order
    for i in range(data.N):
        for j in range(data.N):
            z = lam * patches[order[i]] + (1.0 - lam) * patches[order[j]]
            g = mvsim.smoothed_relu(np.einsum("yrsl,psl->yrp", c, z), P.rho, P.alpha).sum(axis=(1, 2))
            phi = np.exp(g - np.logaddexp.reduce(g))
            expected = phi[data.labels[order[[i, j]]]]
            assert np.abs([probability.first[i, j], probability.second[i, j]] - expected).max() <= ROUNDOFF * max(1.0, g.max())


@pytest.mark.parametrize(("lam", "size"), [(0.5, 1.0), (0.3, 1.0), (0.5, 1e3)])
def test_probabilities_and_derivative_come_from_one_forward_pass(lam, size):
    """From exponentials where these fit, and from outputs of any size where they do not."""
    data, c = mvsim.sample_dataset(P, 1), size * state().reshape(P.k, P.m, -1)
    kernel, points = SharedNoiseKernel(P, data, 2, SmoothedRelu(P.rho, P.alpha)), AllPairs(lam)
    pairs, columns = kernel.pairs_of(points), kernel.columns.at(c)
    values = pairs.empty_values()
    kernel.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
    of_values, softmax_sum = PairProbability.of(kernel.layout, pairs.plan, values, 2), SoftmaxSum(kernel, points, CrossEntropy())
    expected = [array.copy() for array in softmax_sum.loss_and_derivative(c)[1].distinct]
    probability, derivative = softmax_sum.probability_and_derivative(c)
    assert_close(probability.first, of_values.first, ROUNDOFF)
    assert_close(probability.second, of_values.second, ROUNDOFF)
    for array, other in zip(derivative.distinct, expected, strict=True):
        assert np.array_equal(array, other)


@pytest.mark.parametrize("power", [0, 6, 0.5])
def test_the_second_derivative_by_one_correlation_is_that_of_each_patch(power):
    rng, rho, lam = np.random.default_rng(0), 0.4, 0.3
    owner, features, noise = np.array([0, 1]), rng.uniform(-0.5, 2.0, (2, 4)), rng.uniform(-0.2, 0.5, (2, 3))
    feature, signal, residual = rng.integers(0, 4, (5, 2)), rng.uniform(0.3, 1.0, (5, 2)), rng.standard_normal((2, 3, 5))
    expected, out = np.zeros((2, 4)), np.zeros((2, 4))
    for e in range(2):
        for g in range(3):
            for i, p in np.ndindex(feature.shape):
                z = lam * signal[i, p] * features[e, feature[i, p]] + (1.0 - lam) * noise[e, g]
                bend = smoothed_relu_second_derivative(z, rho, power + 2.0)
                expected[e, feature[i, p]] += residual[owner[e], g, i] * (lam * signal[i, p]) ** 2 * bend
    table_second_derivatives(0, 2, owner, features, noise, lam, feature, signal, residual, rho, power, out)
    assert_close(out, expected, HESSIAN_ROUNDOFF)
