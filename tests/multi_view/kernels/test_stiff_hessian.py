"""The stiff Hessian of pairs and the softmax on them, against loops over the patches."""

import numpy as np
from compare import assert_close
from looping import looping
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.losses import CrossEntropy
from mvsim.losses.points import AllPairs
from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu_second_derivative
from mvsim.multi_view.kernels.shared_noise import hessian_of_pairs
from mvsim.multi_view.kernels.shared_noise.pair_softmax import probability_and_derivative
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel

P = mvsim.Parameters(k=3, m=4, N=24, P=9, d=10**4)  # with 8 signal patches out of 9, most patches of a pair coincide
ESCAPED = 1
NEURONS = [[ESCAPED, 2], [ESCAPED, -1], [ESCAPED, -1]]  # those of each class that have escaped, -1 for none


def state(p=P, neurons=NEURONS):
    """Neurons beyond the threshold on one feature of their class, and somewhere in all three regimes on the features of other classes."""
    c = np.random.default_rng(0).uniform(-0.2, 0.4, (p.k, p.m, p.k, 2))
    for y, of_class in enumerate(neurons):
        c[y, :, y] = 0.01
        for e, r in enumerate(of_class):
            if r >= 0:
                c[y, r, y, e] = 3.0 - e
    return c


def curvature(p, data, c, lam, threads):
    return SharedNoiseKernel(p, data, threads, SmoothedRelu(p.rho, p.alpha)).curvature(c, AllPairs(lam), CrossEntropy(), c.max(axis=(2, 3)) > 1.0)


def rates_by_patches(p, data, c, lam, neurons):
    """(N, N, 2, 2, 2): for every ordered pair, own and other rates of the escaped neurons of y_i with both views."""
    patches, rates = data.to_patches(), np.zeros((data.N, data.N, 2, 2, 2))
    for i, y in enumerate(data.labels):
        for j, s in enumerate(data.labels):
            z = lam * patches[i] + (1.0 - lam) * patches[j]
            for e, r in enumerate(neurons[y]):
                if r < 0:
                    continue
                slope = mvsim.smoothed_relu_derivative(np.einsum("sl,psl->p", c[y, r], z), p.rho, p.alpha)
                for view in (0, 1):
                    for a in data.signal_patches[i, view]:
                        rates[i, j, 0, e, view] += slope[a] * lam * patches[i, a, y, view]
                    for b in data.signal_patches[j, view]:
                        rates[i, j, 1, e, view] += slope[b] * (1.0 - lam) * patches[j, b, s, view]
    return rates


@looping(("lam", "size"), [(0.5, 1.0), (0.3, 1.0), (0.5, 1e3)])  # the last with outputs whose exponentials do not fit into a double
def test_probabilities_are_those_of_the_patches(lam, size):
    data, c = mvsim.sample_dataset(P, 1), size * state()
    kernel = SharedNoiseKernel(P, data, 2, SmoothedRelu(P.rho, P.alpha))
    pairs, columns = kernel.pairs_of(AllPairs(lam)), kernel.columns.at(c.reshape(P.k, P.m, -1))
    values = pairs.empty_values()
    kernel.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
    probability, _ = probability_and_derivative(pairs, values)
    patches, order = data.to_patches(), kernel.layout.order
    for i in range(data.N):
        for j in range(data.N):
            z = lam * patches[order[i]] + (1.0 - lam) * patches[order[j]]
            g = mvsim.smoothed_relu(np.einsum("yrsl,psl->yrp", c, z), P.rho, P.alpha).sum(axis=(1, 2))
            phi = np.exp(g - np.logaddexp.reduce(g))
            expected = phi[data.labels[order[[i, j]]]]
            assert np.abs([probability.first[i, j], probability.second[j, i]] - expected).max() <= ROUNDOFF * max(1.0, g.max())


@looping(("lam", "size"), [(0.5, 1.0), (0.3, 1.0), (0.5, 1e3)])
def test_probabilities_and_derivative_come_from_one_forward_pass(lam, size):
    """From exponentials where these fit, and from outputs of any size where they do not."""
    data, c = mvsim.sample_dataset(P, 1), size * state().reshape(P.k, P.m, -1)
    kernel, points = SharedNoiseKernel(P, data, 2, SmoothedRelu(P.rho, P.alpha)), AllPairs(lam)
    pairs, columns = kernel.pairs_of(points), kernel.columns.at(c)
    values = pairs.empty_values()
    kernel.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
    of_values, expected = probability_and_derivative(pairs, values)
    probability, derivative = kernel.fused_sum(points, CrossEntropy()).probability_and_derivative(c)
    assert_close(probability.first, of_values.first, ROUNDOFF)
    assert_close(probability.second, of_values.second, ROUNDOFF)
    for array, other in zip(derivative.distinct, expected.distinct, strict=True):
        assert_close(array, other, ROUNDOFF)


def arrow_by_patches(p, data, c, lam, neurons):
    """(n, n): the Gauss-Newton Hessian of the outputs of the two classes of each ordered pair, by the escaped neurons' correlations with both."""
    u, v = rates_by_patches(p, data, c, lam, neurons), rates_by_patches(p, data, c, 1.0 - lam, neurons)
    patches, H = data.to_patches(), np.zeros((c.size, c.size))
    for i, y in enumerate(data.labels):
        for j, s in enumerate(data.labels):
            z = lam * patches[i] + (1.0 - lam) * patches[j]
            g = mvsim.smoothed_relu(np.einsum("yrsl,psl->yrp", c, z), p.rho, p.alpha).sum(axis=(1, 2))
            phi = np.exp(g - np.logaddexp.reduce(g))
            first, second = np.zeros_like(c), np.zeros_like(c)
            for which, rates, one, other in ((first, u[i, j], y, s), (second, v[j, i], s, y)):
                for e, r in enumerate(neurons[one]):
                    if r >= 0:
                        which[one, r, one] += rates[0, e]
                        which[one, r, other] += rates[1, e]
            a, b = first.ravel(), second.ravel()
            if y == s:
                H += phi[y] * (1.0 - phi[y]) * np.outer(a, a)
            else:
                H += phi[y] * (1.0 - phi[y]) * np.outer(a, a) + phi[s] * (1.0 - phi[s]) * np.outer(b, b)
                H -= phi[y] * phi[s] * (np.outer(a, b) + np.outer(b, a))
    return H / data.N**2


def blocks_by_patches(p, data, c, lam, neurons):
    """(k, k, 2 E, 2 E): every ordered pair and every patch of it, for the neurons in the places (k, E) of each class, -1 for none."""
    k, places = len(neurons), len(neurons[0])
    patches = data.to_patches()
    signal, of_noise = np.zeros_like(patches), np.zeros((data.N, k, 2))
    for i, s in enumerate(data.labels):
        for view in (0, 1):
            signal[i, data.signal_patches[i, view], s, view] = patches[i, data.signal_patches[i, view], s, view]
        of_noise[i] = np.delete(patches[i], data.signal_patches[i].ravel(), axis=0)[0]  # all patches of noise of a point are equal
    blocks, bends = np.zeros((k, k, 2 * places, 2 * places)), np.zeros((k, k, places, 2))
    for i, j in np.ndindex(data.N, data.N):
        labels, z = data.labels[[i, j]], lam * patches[i] + (1.0 - lam) * patches[j]
        g = mvsim.smoothed_relu(np.einsum("yrsl,psl->yrp", c, z), p.rho, p.alpha).sum(axis=(1, 2))
        phi = np.exp(g - np.logaddexp.reduce(g))
        residual = (phi - lam * np.eye(k)[labels[0]] - (1.0 - lam) * np.eye(k)[labels[1]]) / data.N**2
        signals = lam * signal[i] + (1.0 - lam) * signal[j]
        for y in range(k):
            for e, r in enumerate(neurons[y]):
                if r >= 0:
                    second = smoothed_relu_second_derivative(np.einsum("sl,psl->p", c[y, r], z), p.rho, p.alpha)
                    bends[y, :, e] += residual[y] * np.einsum("psl,p->sl", signals**2, second)
            if y in labels:
                continue
            for (one, other), share in (((i, j), lam), ((j, i), 1.0 - lam)):
                rates = np.zeros((places, 2))
                for e, r in enumerate(neurons[y]):
                    if r >= 0:
                        reads = share * signal[one] + (1.0 - share) * of_noise[other]  # as if no patch of signal lay on another
                        slope = mvsim.smoothed_relu_derivative(np.einsum("sl,psl->p", c[y, r], reads), p.rho, p.alpha)
                        rates[e] = share * slope @ signal[one, :, data.labels[one]]
                blocks[y, data.labels[one]] += phi[y] / data.N**2 * np.outer(rates, rates)
    diagonal = np.arange(2 * places)
    blocks[:, :, diagonal, diagonal] += np.maximum(bends, 0.0).reshape(k, k, -1)
    blocks[np.arange(k), np.arange(k)] = 0.0
    return blocks


ONE_RESTS = [[ESCAPED, 2], [ESCAPED, -1], [-1, -1]]
TWO_CLASSES = mvsim.Parameters(k=2, m=4, N=60, P=9, d=10**4)  # so many pairs of points that not all are summed at once


@looping(("p", "neurons", "lam"), [(*case, lam) for case in ((P, NEURONS), (P, ONE_RESTS), (TWO_CLASSES, NEURONS[:2])) for lam in (0.5, 0.3)])
def test_the_matrix_is_put_together_as_the_patches_say(p, neurons, lam):
    """The pairs of each two classes, and what is added for correlations with other classes."""
    data, c = mvsim.sample_dataset(p, 1), state(p, neurons)
    found = curvature(p, data, c, lam, 2).dense(c.size)
    blocks = np.zeros((c.size, c.size))
    for (y, s), block in zip(np.ndindex(p.k, p.k), blocks_by_patches(p, data, c, lam, neurons).reshape(-1, 4, 4), strict=True):
        place = [2 * e + view for e in (0, 1) for view in (0, 1) if neurons[y][e] >= 0]
        at = [np.ravel_multi_index((y, neurons[y][n // 2], s, n % 2), c.shape) for n in place]
        blocks[np.ix_(at, at)] += block[np.ix_(place, place)]
    expected = arrow_by_patches(p, data, c, lam, neurons) + blocks
    assert_close(found, expected, HESSIAN_ROUNDOFF)
    assert_close(found - expected + blocks, blocks, HESSIAN_ROUNDOFF)  # these are small
    of_two_classes = np.ix_(*(np.ravel_multi_index((y, ESCAPED, 1 - y, np.arange(2)), c.shape) for y in (0, 1)))
    assert np.abs(expected[of_two_classes]).max() > 1e-3 * np.abs(expected).max()  # c[0, e, 1, l] and c[1, e, 0, l] are coupled
    of_two_neurons = np.ix_(*(np.ravel_multi_index((0, r, 1, np.arange(2)), c.shape) for r in NEURONS[0]))
    assert np.abs(blocks[of_two_neurons]).max() > 0.0


@looping("lam", [0.5, 0.3])
def test_bits_do_not_depend_on_the_number_of_threads(lam):
    data, c = mvsim.sample_dataset(P, 1), state()
    one, three = (curvature(P, data, c, lam, threads) for threads in (1, 3))
    for name in ("border", "blocks", "sides"):
        assert np.array_equal(getattr(one, name), getattr(three, name))


def test_what_is_left_for_the_iteration_is_small(monkeypatch):
    """Once neurons have escaped: the eigenvalues of P^-1 (1 + gamma H), H from products, P = 1 + gamma H~ with what is told of H, are about 1."""
    p = mvsim.Parameters(k=4, m=4, N=40, P=16, d=1000)
    objective, c = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0)), mvsim.simulate(p, "midpoint", t_end=3e7, n_test=2).final_correlations
    stiff = np.flatnonzero(np.broadcast_to(objective.escaped(c)[..., None, None], c.shape))
    assert len(stiff) == p.k * p.k * 2  # four neurons
    exact = np.array([objective.hessian_vector_product(c, e.reshape(c.shape)).ravel()[stiff] for e in np.eye(c.size)[stiff]])

    def left(gamma):
        told = objective.curvature(c).dense(c.size)[np.ix_(stiff, stiff)]
        return np.linalg.eigvals(np.linalg.solve(np.eye(len(stiff)) + gamma * told, np.eye(len(stiff)) + gamma * exact)).real

    largest = float(np.linalg.eigvalsh(exact)[-1])
    assert left(10.0 / largest).min() > 0.5
    assert left(10.0 / largest).max() < 2.0
    assert left(1000.0 / largest).min() > 0.5
    assert left(1000.0 / largest).max() < 10.0
    all_sums = hessian_of_pairs.sums_of_pairs

    def of_two_classes(y0, y1, readers, pairs, sums):
        all_sums(y0, y1, readers, pairs, sums)
        sums.others[:] = sums.bends[:] = 0.0

    monkeypatch.setattr(hessian_of_pairs, "sums_of_pairs", of_two_classes)
    monkeypatch.setattr(hessian_of_pairs, "bends_at_meetings", lambda *rest: None)
    assert left(1000.0 / largest).max() > 30.0
